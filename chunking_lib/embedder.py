"""Text to vectors: a model on this computer, or OpenAI's.

Three things go wrong with embeddings and are handled here: a text longer than the model reads is
cut without a word, a batch changes the result of what is in it, and the same text is embedded again
and again.
"""

from __future__ import annotations

import hashlib
import os
import re
import threading
import warnings
from collections import defaultdict, deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence, Set
from concurrent.futures import ThreadPoolExecutor
from itertools import islice
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from chunking_lib.chunk import is_blank
from chunking_lib.models import bars_are_hidden, without_surrogates
from chunking_lib.service import read_key, redact
from chunking_lib.vectors import VectorCache

if TYPE_CHECKING:
    from tokenizers import Encoding, Tokenizer

__all__ = [
    "Embedder",
    "OpenAIEmbedder",
    "TokenVectors",
    "UnseenWarning",
    "open_model",
    "open_openai",
]

Vectors = NDArray[np.float32]

_BATCH = 32
_ROWS = 16  # tokens in a batch, at least
_HELD = 1024  # tokens in a batch of which each token's vector is kept; more are no faster
_ONE_AT_A_TIME = threading.Lock()  # torch has one number of threads for all
_LONG_WORK = 500  # texts to embed, before a progress bar shows
_WORD = re.compile(r"\w")


class UnseenWarning(UserWarning):
    """Texts were longer than the model reads."""


class TokenVectors(NamedTuple):
    """The tokens of one text, as the model sees them in its context.

    Attributes:
        vectors: float32, tokens × dimensions; not normalised.
        offsets: int64, tokens × 2: the characters of each token, end exclusive.
        special: bool, tokens: True for what the model adds, such as [CLS] and [SEP].
    """

    vectors: Vectors
    offsets: NDArray[np.int64]
    special: NDArray[np.bool_]


class _Embedder:
    """What both kinds share: blank texts, long texts, the cache."""

    def __init__(
        self, name: str, *, dimensions: int, max_tokens: int, fingerprint: str, cache: bool
    ) -> None:
        #: The model's name.
        self.name = name
        #: The length of a vector.
        self.dimensions = dimensions
        #: How many tokens of a text the model reads, beside those that it adds.
        self.max_tokens = max_tokens
        #: How many texts the model itself has embedded: what the cache gave is not counted.
        self.calls = 0
        #: Where vectors are kept, or None.
        self.cache = VectorCache(fingerprint, dimensions) if cache else None

    def __repr__(self) -> str:
        return (
            f"{type(self).__name__}({self.name!r}, {self.dimensions} dimensions, "
            f"{self.max_tokens} tokens)"
        )

    def count(self, text: str) -> int:
        """Return the number of tokens in `text`, without those that the model adds."""
        raise NotImplementedError

    def _offsets(self, text: str) -> list[tuple[int, int]]:
        """Return where each of the tokens that `count` counts lies in `text`."""
        raise NotImplementedError

    def _embed(self, texts: list[str]) -> Vectors:
        """Return a vector of length 1 for each text, which is read as far as the model can."""
        raise NotImplementedError

    def _windows(self, text: str) -> list[tuple[str, int]]:
        """Return parts of a long text, each short enough to be read, and their tokens."""
        offsets = self._offsets(text)
        if len(offsets) <= self.max_tokens:
            return [(text, max(1, len(offsets)))]
        parts, first = [], 0
        while first < len(offsets):
            last = min(first + self.max_tokens, len(offsets))
            # By itself, a window cut inside a word can count more tokens than it had here.
            while True:
                part = text[offsets[first][0] : offsets[last - 1][1]]
                if last == first + 1 or self.count(part) <= self.max_tokens:
                    break
                last -= 1
            parts.append((part, last - first))
            first = last
        return parts

    def unseen(self, text: str) -> int:
        """Return how many tokens at the end of `text` the model does not read.

        What the model's vocabulary has no tokens for, such as a word of more than 100 letters for
        MiniLM, is one unknown token. It counts as read, though the model learns nothing from it.
        """
        return max(0, self.count(text) - self.max_tokens)

    def encode(self, texts: Sequence[str], *, pool: bool = False) -> Vectors:
        """Return one vector of length 1 for each text.

        1. A text that is blank, or that the model has no token for, such as a private sign of a
           font, has no meaning to embed: its row is zero.
        2. A text longer than `max_tokens` is read up to there, and one warning says how much was
           left out. With `pool` it is read in windows instead, and their vectors are averaged,
           weighted by their tokens.
        3. The vectors of texts that were embedded before come from the cache on disk.

        Args:
            texts: the texts, any number.
            pool: read long texts whole.
        Returns:
            float32, texts × dimensions.
        Raises:
            ValueError: anything but strings in a list, a tuple, an array or the like.
        """
        texts = [without_surrogates(text) for text in _listed(texts)]
        vectors = np.zeros((len(texts), self.dimensions), dtype=np.float32)
        filled = [i for i, text in enumerate(texts) if self._has_tokens(text)]
        if not filled:
            return vectors
        if not pool:
            self._warn([texts[i] for i in filled], len(texts))
            vectors[filled] = self._embed_once([texts[i] for i in filled])
            return vectors
        parts = [(i, part, size) for i in filled for part, size in self._windows(texts[i])]
        found = self._embed_once([part for _, part, _ in parts])
        for (i, _, size), vector in zip(parts, found, strict=True):
            vectors[i] += size * vector
        vectors[filled] = _normalise(vectors[filled])
        return vectors

    def _has_tokens(self, text: str) -> bool:
        # A letter or digit has one, be it for what is unknown: most texts need no counting.
        return not is_blank(text) and (_WORD.search(text) is not None or self.count(text) > 0)

    def _warn(self, texts: list[str], total: int) -> None:
        # No token is shorter than a byte: most texts need no counting.
        long = [text for text in texts if len(text.encode()) > self.max_tokens]
        unseen = [n for text in long if (n := self.unseen(text))]
        if unseen:
            warnings.warn(
                f"{len(unseen):,} of {total:,} texts are longer than the {self.max_tokens} "
                f"tokens that {self.name} reads: {sum(unseen):,} tokens were not read",
                UnseenWarning,
                stacklevel=3,
            )

    def _embed_once(self, texts: list[str]) -> Vectors:
        """Embed each distinct text once, unless the cache has it."""
        distinct = list(dict.fromkeys(texts))
        known = self.cache.get(distinct) if self.cache else {}
        missing = [text for text in distinct if text not in known]
        if missing:
            made = self._embed(missing)
            self.calls += len(missing)
            new = dict(zip(missing, made, strict=True))
            if self.cache:
                self.cache.put(new)
            known |= new
        return np.stack([known[text] for text in texts])


class Embedder(_Embedder):
    """A sentence-transformers model on this computer. Made by `load_embedder`."""

    def __init__(self, name: str, model: Any, *, fingerprint: str, cache: bool) -> None:
        backend = getattr(model.tokenizer, "backend_tokenizer", None)
        if backend is None:
            raise ValueError(f"name={name!r} has no fast tokenizer, and offsets need one")
        self._model = model
        #: The model's own tokenizer, which neither truncates nor pads here.
        self.tokenizer: Tokenizer = type(backend).from_str(backend.to_str())
        self.tokenizer.no_truncation()
        self.tokenizer.no_padding()
        self._cutting: Tokenizer = type(backend).from_str(self.tokenizer.to_str())
        positions = model.max_seq_length or 512
        self._cutting.enable_truncation(positions)
        super().__init__(
            name,
            dimensions=model.get_embedding_dimension(),
            max_tokens=positions - self.tokenizer.num_special_tokens_to_add(is_pair=False),
            fingerprint=f"{fingerprint} {positions}",
            cache=cache,
        )

    def count(self, text: str) -> int:
        encoding = self.tokenizer.encode(without_surrogates(text), add_special_tokens=False)
        return len(encoding.ids)

    def encode_tokens(self, text: str) -> TokenVectors:
        """Return a vector for each token of `text`, in the context of all the others.

        Args:
            text: a text of at most `max_tokens` tokens.
        Raises:
            ValueError: a longer text.
        """
        text = without_surrogates(text)
        encoding = self.tokenizer.encode(text)
        special = np.array(encoding.special_tokens_mask, dtype=bool)
        if (size := int((~special).sum())) > self.max_tokens:
            raise ValueError(f"text has {size} tokens; {self.name} reads {self.max_tokens}")
        offsets = np.array(encoding.offsets, dtype=np.int64).reshape(-1, 2)
        return TokenVectors(self._forward([encoding], "token_embeddings")[0], offsets, special)

    def _offsets(self, text: str) -> list[tuple[int, int]]:
        found: list[tuple[int, int]] = self.tokenizer.encode(text, add_special_tokens=False).offsets
        return found

    def _embed(self, texts: list[str]) -> Vectors:
        """Embed texts of the same number of tokens together, each batch in one thread.

        So a text's vector does not depend, to the last bit, on what else is in its batch: nothing
        is padded, and no sum is split between threads, which is done in ways that depend on the
        size of the batch and on the computer. All cores have work all the same, with a batch each.
        """
        encodings = self._cutting.encode_batch(texts)
        vectors = np.zeros((len(texts), self.dimensions), dtype=np.float32)
        batches = _alike(encodings, lambda _: _BATCH)
        for batch, rows in self._run(encodings, batches, "sentence_embedding"):
            vectors[batch] = rows
        return _normalise(vectors)

    def encode_parts(self, parts: Sequence[Encoding]) -> Iterator[tuple[int, Vectors]]:
        """Yield the vectors of the tokens of each part, in its context, as the model makes them.

        The vectors of a few thousand tokens are in memory at a time, however many the parts are.

        Args:
            parts: encodings of `tokenizer`, special tokens included, which the model can read.
        Yields:
            the number of a part, and float32, tokens × dimensions, special tokens too; the parts
            in any order, each once.
        """
        batches = _alike(parts, lambda tokens: min(_BATCH, max(1, _HELD // tokens)))
        for batch, rows in self._run(parts, batches, "token_embeddings"):
            self.calls += len(batch)
            yield from zip(batch, rows, strict=True)

    def _run(
        self, encodings: Sequence[Encoding], batches: list[list[int]], output: str
    ) -> Iterator[tuple[list[int], Vectors]]:
        """Run the model on batches of encodings of one length."""

        def run(batch: list[int]) -> Vectors:
            rows = [encodings[i] for i in batch]
            # A matrix of very few rows is multiplied in another way: fill it up.
            copies = -(-_ROWS // (len(rows) * len(rows[0].ids)))
            return self._forward(rows * copies, output)[: len(rows)]

        return zip(batches, _in_threads(run, batches, len(encodings)), strict=True)

    def _forward(self, encodings: list[Encoding], output: str) -> Vectors:
        import torch

        features = {
            "input_ids": torch.tensor([encoding.ids for encoding in encodings]),
            "attention_mask": torch.tensor([encoding.attention_mask for encoding in encodings]),
        }
        if "token_type_ids" in self._model.tokenizer.model_input_names:
            features["token_type_ids"] = torch.tensor([one.type_ids for one in encodings])
        with torch.inference_mode():
            found: Vectors = self._model(features)[output].float().numpy()
        return found


class OpenAIEmbedder(_Embedder):
    """Embeddings of a server that speaks OpenAI's protocol. Made by `load_embedder`.

    It has no vectors of single tokens.
    """

    def __init__(self, name: str, client: Any, *, cache: bool) -> None:
        from chunking_lib.models import load_tokenizer

        self._client = client
        self.dimensions = 0  # not known yet
        #: OpenAI's vocabulary, offline.
        self.tokenizer = load_tokenizer("cl100k_base")
        super().__init__(
            name,
            dimensions=self._request(name, ["."]).shape[1],
            max_tokens=8191,
            fingerprint=f"openai {client.base_url} {name}",
            cache=cache,
        )

    def count(self, text: str) -> int:
        return self.tokenizer.count(text)

    def _offsets(self, text: str) -> list[tuple[int, int]]:
        return self.tokenizer.offsets(text)

    def _embed(self, texts: list[str]) -> Vectors:
        texts = [self._windows(text)[0][0] if self.unseen(text) else text for text in texts]
        # A request may hold 2,048 texts and 300,000 tokens.
        step = min(2048, max(1, 250_000 // max(map(self.count, texts))))
        starts = list(range(0, len(texts), step))
        rows = [
            self._request(self.name, texts[i : i + step]) for i in _progress(starts, len(texts))
        ]
        return _normalise(np.concatenate(rows))

    def _request(self, name: str, texts: list[str]) -> Vectors:
        import openai

        try:
            reply = self._client.embeddings.create(model=name, input=texts, encoding_format="float")
            rows = {item.index: item.embedding for item in reply.data}
            vectors = np.array([rows[i] for i in range(len(texts))], dtype=np.float32)
            # Before they reach the cache. NaN and infinity have no length that is finite.
            lengths = np.linalg.norm(vectors, axis=1)
            fits = vectors.ndim == 2 and self.dimensions in (0, vectors.shape[1])
            if fits and (lengths > 0).all() and np.isfinite(lengths).all():
                return vectors
            raise ValueError(vectors.shape)
        except openai.OpenAIError as error:
            problem = redact(str(error), self._client.api_key)
        except (AttributeError, IndexError, KeyError, TypeError, ValueError):
            wanted = f"{self.dimensions} finite numbers" if self.dimensions else "finite numbers"
            problem = f"the reply does not hold {len(texts)} vectors of {wanted}, not all zero"
        # Not chained: a service may repeat the key in what it says.
        raise RuntimeError(
            f"no embeddings of {name!r} from {self._client.base_url.host}: {problem}"
        )


def _listed(texts: Sequence[str]) -> list[str]:
    if isinstance(texts, str):
        raise ValueError(f"texts={texts[:20]!r} is one string and must be a list of strings")
    if isinstance(texts, bytes | Mapping | Set) or not isinstance(texts, Iterable):
        raise ValueError(f"texts={texts!r:.40} must be a list of strings")
    listed = list(texts)
    for text in listed:
        if not isinstance(text, str):
            raise ValueError(f"texts has {text!r:.40} and must be a list of strings")
    return listed


def _normalise(vectors: Vectors) -> Vectors:
    lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
    unit: Vectors = np.divide(vectors, np.where(lengths > 0, lengths, 1), dtype=np.float32)
    return unit


def _alike(encodings: Sequence[Encoding], most: Callable[[int], int]) -> list[list[int]]:
    """Return batches of encodings of the same number of tokens, at most `most` of it in each."""
    alike: dict[int, list[int]] = defaultdict(list)
    for i, encoding in enumerate(encodings):
        alike[len(encoding.ids)].append(i)
    return [
        numbers[i : i + most(tokens)]
        for tokens, numbers in sorted(alike.items())
        for i in range(0, len(numbers), most(tokens))
    ]


def _in_threads(
    run: Callable[[list[int]], Vectors], batches: list[list[int]], texts: int
) -> Iterator[Vectors]:
    """Run batches in as many threads as torch would use, and torch itself in one.

    No more than two batches a thread are ahead of what was taken: results do not pile up.
    """
    import torch

    with _ONE_AT_A_TIME:
        threads = torch.get_num_threads()
        torch.set_num_threads(1)
        pool = ThreadPoolExecutor(threads, initializer=torch.set_num_threads, initargs=(1,))
        try:
            rest = iter(batches)
            started = deque(pool.submit(run, batch) for batch in islice(rest, 2 * threads))
            for _ in _progress(batches, texts):
                yield started.popleft().result()
                started.extend(pool.submit(run, batch) for batch in islice(rest, 1))
        finally:
            pool.shutdown(cancel_futures=True)  # Ctrl-C: not the rest, too
            torch.set_num_threads(threads)


def _progress(batches: list[Any], texts: int) -> Iterable[Any]:
    """Show how far long work is, unless `TQDM_DISABLE` is set, as it is in tests."""
    if texts < _LONG_WORK or bars_are_hidden():
        return batches
    from tqdm.auto import tqdm

    bar: Iterable[Any] = tqdm(batches, "embedding", leave=False)
    return bar


def open_model(
    name: str, source: str, *, fingerprint: str, local: bool, max_tokens: int | None, cache: bool
) -> Embedder:
    """Load a sentence-transformers model from a folder or, if it is not local, from the hub."""
    try:
        from sentence_transformers import SentenceTransformer
        from transformers.utils import logging
    except ImportError as error:
        raise RuntimeError(
            "embeddings need the package sentence-transformers, which is not installed: "
            "pip install sentence-transformers"
        ) from error
    bars: Any = logging  # its functions have no types
    was_on = bars.is_progress_bar_enabled()
    bars.disable_progress_bar()  # "Loading weights": it would stand in every notebook
    try:
        model = SentenceTransformer(source, device="cpu", local_files_only=local)
    except Exception as error:  # what it raises for a broken folder has no common base class
        reason = f"{type(error).__name__}: {error}".split("\n")[0]
        raise RuntimeError(
            f"cannot load the model {name!r}: {reason}. It must be a folder, or a name on the "
            "model hub and a network the first time"
        ) from error
    finally:
        if was_on:
            bars.enable_progress_bar()
    if max_tokens is not None:
        _read_more(model, max_tokens)
    return Embedder(name, model, fingerprint=fingerprint or _hash_weights(model), cache=cache)


def _read_more(model: Any, max_tokens: int) -> None:
    """Set how many tokens of a text the model reads."""
    backend = model.tokenizer.backend_tokenizer
    positions = max_tokens + backend.num_special_tokens_to_add(is_pair=False)
    most = getattr(model[0].auto_model.config, "max_position_embeddings", None)
    if max_tokens < 1 or (most is not None and positions > most):
        limit = f"1 to {most - positions + max_tokens}" if most else "1 or more"
        raise ValueError(f"max_tokens={max_tokens!r} must be {limit} for this model")
    model.max_seq_length = positions


def _hash_weights(model: Any) -> str:
    # The parts too, such as the pooling, and the tokenizer make a vector what it is.
    digest = hashlib.sha256(repr(model).encode())
    digest.update(model.tokenizer.backend_tokenizer.to_str().encode())
    for name, tensor in sorted(model.state_dict().items()):
        digest.update(name.encode())
        digest.update(tensor.float().numpy().tobytes())
    return digest.hexdigest()


def open_openai(name: str, *, cache: bool) -> OpenAIEmbedder:
    """Connect to OpenAI, or to the server that `OPENAI_BASE_URL` names."""
    key = read_key()
    if not (key or os.environ.get("OPENAI_BASE_URL")):
        raise RuntimeError(
            f"name={name!r} needs OpenAI's service: set OPENAI_API_KEY, or OPENAI_BASE_URL for a "
            "server of your own"
        )
    try:
        import openai
    except ImportError as error:
        raise RuntimeError("the package openai is not installed: pip install openai") from error
    client = openai.OpenAI(api_key=key or "no-key")
    return OpenAIEmbedder(name, client, cache=cache)
