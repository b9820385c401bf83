"""A small model that stands for sentence-transformers' own: MiniLM's tokenizer, vectors by hand."""

from types import SimpleNamespace
from typing import Any

import torch

from chunking_lib.models import load_tokenizer


class ToyModel:
    """Reads `max_tokens`. A token's vector says what it is and where; a text's is their mean."""

    dimensions = 8

    def __init__(self, max_tokens: int) -> None:
        backend = load_tokenizer()
        self.tokenizer = SimpleNamespace(
            backend_tokenizer=backend, model_input_names=["input_ids", "attention_mask"]
        )
        self.max_seq_length = max_tokens + 2
        self.read: list[str] = []  # every text that was embedded, as it came out of the tokenizer

    def get_embedding_dimension(self) -> int:
        return self.dimensions

    def __call__(self, features: dict[str, Any]) -> dict[str, Any]:
        ids = features["input_ids"]
        decode = self.tokenizer.backend_tokenizer.decode
        self.read += [decode(row) for row in ids.tolist()]
        places = torch.arange(ids.shape[1])
        waves = torch.arange(1, self.dimensions + 1)
        vectors = torch.sin(ids[:, :, None] * waves * 0.37 + places[:, None] * 0.01) + 0.1
        return {"token_embeddings": vectors, "sentence_embedding": vectors.mean(dim=1)}
