"""Documents and questions to measure chunkers on: the course's, the public layout, or your own."""

from __future__ import annotations

import csv
import io
import json
import sys
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from difflib import get_close_matches
from pathlib import Path
from typing import Any, NoReturn

from chunking_lib.chunk import Document
from chunking_lib.files import find_files
from chunking_lib.formats.source import decode, read_file
from chunking_lib.metrics import Span

__all__ = ["Benchmark", "Question", "load_benchmark", "locate", "read_questions"]


@dataclass(frozen=True)
class Question:
    """A question and where its answer stands.

    Args:
        id: a name.
        text: the question.
        excerpts: all that is needed to answer. Each excerpt has one place or more: the first is
            where it was marked, the others say the same. Empty if no document answers.
        type: what makes the question hard, for tables.
        split: "dev" or "test", if there are such.
    """

    id: str
    text: str
    excerpts: tuple[tuple[Span, ...], ...] = ()
    type: str = ""
    split: str = ""

    @property
    def document(self) -> str:
        """The id of the first document that answers; "" if none does."""
        return self.excerpts[0][0].document if self.excerpts else ""


@dataclass(frozen=True)
class Benchmark:
    """Documents by id, and questions on them.

    Raises:
        ValueError: a document under another name than its id, two questions of one id, an excerpt
            without a place, or a place outside its document.
    """

    documents: Mapping[str, Document]
    questions: tuple[Question, ...]

    def __post_init__(self) -> None:
        for name, document in self.documents.items():
            if document.id != name:
                raise ValueError(f"documents has a document of the id {document.id!r} as {name!r}")
        seen = set()
        for question in self.questions:
            if question.id in seen:
                raise ValueError(f"two questions have the id {question.id!r}")
            seen.add(question.id)
            if not all(question.excerpts):
                raise ValueError(f"question {question.id}: an excerpt has no place")
            for place in (place for places in question.excerpts for place in places):
                if place.document not in self.documents:
                    raise ValueError(f"question {question.id}: no document {place.document!r}")
                size = len(self.documents[place.document].text)
                if not 0 <= place.start < place.end <= size:
                    raise ValueError(
                        f"question {question.id}: {place.start} to {place.end} does not lie in "
                        f"{place.document}, which has {size} characters"
                    )

    def part(self, split: str) -> Benchmark:
        """Return the questions of one split, on all documents; ValueError if it has none."""
        chosen = tuple(question for question in self.questions if question.split == split)
        if not chosen:
            known = sorted({question.split for question in self.questions})
            raise ValueError(f"split={split!r} must be one of {known!r}")
        return replace(self, questions=chosen)


def load_benchmark(path: str | Path, *, split: str | None = None) -> Benchmark:
    """Read a benchmark from a folder, in one of two layouts.

    1. The course's: `questions.jsonl`, which `read_questions` explains, and the documents in
       `corpus/`, and in the folders in it. `load_document` reads them, but for those whose text
       stands in `canonical/` (`page.html.txt` for `page.html`). A document's id is its path in
       `corpus/`.
    2. The public one of Chroma's evaluation: `questions_df.csv` with the columns `question`,
       `references` (a JSON list of `{content, start_index, end_index}`) and `corpus_id`, and the
       documents in `corpora/*.md`.

    A passage that the same document repeats word for word counts as found at either place.

    ```python
    benchmark = load_benchmark("data", split="dev")
    ```

    Args:
        path: the folder.
        split: "dev" or "test"; all questions if None.
    Raises:
        ValueError: a folder of neither layout; a document that cannot be read; a question that is
            incomplete; a place outside its document; a quote that is not in the text; a split that
            does not exist.
    """
    path = Path(path)
    if (path / "questions.jsonl").is_file():
        if not (path / "corpus").is_dir():
            raise ValueError(f"path={str(path)!r} has questions.jsonl and no folder corpus/")
        documents = dict(_read_corpus(path))
        questions = read_questions(path / "questions.jsonl", documents)
    elif (path / "questions_df.csv").is_file():
        documents = {
            # Every line end is read as one character, as the public code does: its offsets are so.
            file.stem: Document(_unix(decode(read_file(file), str(file))), id=file.stem)
            for file in sorted((path / "corpora").glob("*.md"))
        }
        questions = list(_read_public(path / "questions_df.csv", documents))
    else:
        raise ValueError(f"path={str(path)!r} has neither questions.jsonl nor questions_df.csv")
    benchmark = Benchmark(documents, tuple(questions))
    return benchmark.part(split) if split else benchmark


def _read_corpus(path: Path) -> Iterator[tuple[str, Document]]:
    from chunking_lib.formats.load import load_document  # it needs packages that scoring does not

    for file in find_files(path / "corpus", failed=_refuse):
        name = file.relative_to(path / "corpus").as_posix()
        canonical = path / "canonical" / f"{name}.txt"
        document = load_document(canonical if canonical.is_file() else file)
        yield name, Document(document.text, name, document.metadata)


def _refuse(error: OSError) -> NoReturn:
    raise ValueError(f"{error.filename}: {error.strerror}") from error


def _unix(text: str) -> str:
    return text.replace("\r\n", "\n").replace("\r", "\n")


def read_questions(path: str | Path, documents: Mapping[str, Document]) -> list[Question]:
    """Read questions, a JSON object a line, on documents by id.

    Each has a `question` and `excerpts`, a list of objects with `document` and either `start` and
    `end`, or a `quote`, which is searched for, or all three, which must agree. A question that no
    document answers has `[]` there. Optional are `id`, `type`, `split`, and `also`: other places,
    given in the same way, that answer as well as the excerpt. If there are several excerpts, these
    places are checked but not used: nobody said which of the excerpts they stand for. Other keys
    are notes of your own.

    ```json
    {"question": "What is the fee?", "excerpts": [{"document": "faq.md", "quote": "The fee is"}]}
    ```

    Args:
        path: the file.
        documents: the documents by id.
    Raises:
        ValueError: a file that cannot be read, a line that is not such an object, or a quote that
            is not in its document; the message names file and line.
    """
    questions = []
    # Not splitlines(): JSON may hold U+2028 and the like, which that takes for the end of a line.
    lines = decode(read_file(path), str(path)).split("\n")
    for number, line in enumerate(lines, 1):
        if line.strip():
            try:
                row = json.loads(line, object_pairs_hook=_object)
                questions.append(make_question(row, str(number), documents))
            except (ValueError, RecursionError) as error:
                raise ValueError(f"{path}, line {number}: {_reason(error)}") from error
    return questions


def _reason(error: Exception) -> str:
    if isinstance(error, json.JSONDecodeError):
        return f"{error.msg} at character {error.pos + 1}; a line must be one JSON object"
    if isinstance(error, RecursionError):
        return "nested too deeply"
    return f"no {error}" if isinstance(error, KeyError) else str(error)


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Make an object of JSON; the standard library would keep the last of two values of a key."""
    found: dict[str, Any] = {}
    for key, value in pairs:
        if key in found:
            raise ValueError(f"{key!r} stands twice in an object")
        found[key] = value
    return found


def _field(row: dict[str, Any], key: str, kind: type, default: Any = None) -> Any:
    """Return what an object has under a key: of the right type, and not blank."""
    if key not in row and default is None:
        raise ValueError(f"no {key!r}")
    value = row.get(key, default)
    # type(): true and false are integers to isinstance.
    blank = isinstance(value, str) and not value.strip()
    if type(value) is not kind or (blank and key in row):
        names = {str: "a text", int: "a whole number", list: "a list"}
        raise ValueError(f"{key!r} is {json.dumps(value, ensure_ascii=False)}, not {names[kind]}")
    return value


def make_question(row: Any, name: str, documents: Mapping[str, Document]) -> Question:
    """Make a question of one row, as `read_questions` explains it; `name` is its id if it has none.

    Raises:
        ValueError: what is wrong with the row.
    """
    if not isinstance(row, dict):
        raise ValueError(f"{row!r} must be an object")
    if "excerpts" not in row:
        raise ValueError(
            "no 'excerpts', the list of what answers; only if no document does, it is []"
        )
    excerpts = [_place(one, documents) for one in _field(row, "excerpts", list)]
    others = [_place(one, documents) for one in _field(row, "also", list, [])]
    if others and not excerpts:
        raise ValueError("'also' has other places, and 'excerpts' none")
    return Question(
        _field(row, "id", str, name),
        _field(row, "question", str),
        _with_copies(excerpts, others, documents),
        _field(row, "type", str, ""),
        _field(row, "split", str, ""),
    )


def _place(excerpt: Any, documents: Mapping[str, Document]) -> Span:
    if not isinstance(excerpt, dict):
        raise ValueError(f"excerpt {excerpt!r} must be an object")
    document = _field(excerpt, "document", str)
    if document not in documents:
        near = get_close_matches(document, documents, n=1, cutoff=0.4)
        meant = f"; is it {near[0]!r}?" if near else ""
        raise ValueError(f"no document {document!r}{meant}")
    text = documents[document].text
    quote = _field(excerpt, "quote", str) if "quote" in excerpt else None
    if "start" in excerpt or "end" in excerpt:
        place = Span(document, _field(excerpt, "start", int), _field(excerpt, "end", int))
        words = text[max(0, place.start) : max(0, place.end)]
        if quote is not None and quote != words:
            raise ValueError(
                f"{place.start} to {place.end} of {document} is {words!r}, not {quote!r}"
            )
        return place
    if quote is None:
        raise ValueError("an excerpt must have a 'quote', or 'start' and 'end'")
    found = locate(quote, text)
    if found is None:
        raise ValueError(f"not in {document}: {quote!r}")
    return Span(document, *found)


def locate(quote: str, text: str) -> tuple[int, int] | None:
    r"""Return where a quote stands in a text: word for word, else whatever the white space.

    It may begin or end inside a word: "fee" stands in "coffee".

    Args:
        quote: the words to look for.
        text: where to look.
    Returns:
        Start and end of the first place; None if there is none, or nothing to look for.

    >>> locate("The fee is 12 EUR.", "The  fee is\n12 EUR. The fee is low.")
    (0, 19)
    """
    if not quote.strip():
        return None
    start = text.find(quote)
    if start >= 0:
        return start, start + len(quote)
    # With all white space the same, count characters that are none: there and here they agree.
    wanted, flat = " ".join(quote.split()), " ".join(text.split())
    start = flat.find(wanted)
    if start < 0:
        return None
    solid = [place for place, character in enumerate(text) if not character.isspace()]
    first = start - flat.count(" ", 0, start)
    last = first + len(wanted) - wanted.count(" ") - 1
    return solid[first], solid[last] + 1


def _with_copies(
    excerpts: list[Span], others: list[Span], documents: Mapping[str, Document]
) -> tuple[tuple[Span, ...], ...]:
    """Give each excerpt all its places: its own, its copies, and what else answers."""
    # Another place answers the question; that of several excerpts it stands for, nobody said.
    others = others if len(excerpts) == 1 else []
    return tuple(
        tuple(dict.fromkeys([place, *_copies(place, documents), *others])) for place in excerpts
    )


def _copies(place: Span, documents: Mapping[str, Document]) -> Iterator[Span]:
    """Return where the words of a place stand in its document, without overlap."""
    text = documents[place.document].text
    words = text[place.start : place.end]
    at = text.find(words) if words else -1
    while at >= 0:
        yield Span(place.document, at, at + len(words))
        at = text.find(words, at + len(words))


def _read_public(path: Path, documents: Mapping[str, Document]) -> Iterable[Question]:
    csv.field_size_limit(min(sys.maxsize, 2**31 - 1))
    table = io.StringIO(decode(read_file(path), str(path)), newline="")
    for number, row in enumerate(csv.DictReader(table)):
        try:
            corpus, text = row["corpus_id"], row["question"]
            if corpus not in documents:
                raise ValueError(f"no document {corpus!r} in corpora/")
            places = [
                Span(corpus, int(one["start_index"]), int(one["end_index"]))
                for one in json.loads(row["references"])
            ]
        except (KeyError, TypeError, ValueError, OverflowError, RecursionError) as error:
            raise ValueError(f"{path}, question {number}: {_reason(error)}") from error
        yield Question(str(number), text, _with_copies(places, [], documents), type=corpus)
