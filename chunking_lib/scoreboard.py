"""Several chunkers on the same questions: a table, a plot, and what the differences are worth."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from html import escape
from numbers import Real
from pathlib import Path
from typing import TYPE_CHECKING, get_args

from chunking_lib.benchmark import Benchmark
from chunking_lib.chunk import Chunk, Document
from chunking_lib.evaluate import BUDGETS, Arm, Result, Tokens, evaluate
from chunking_lib.intervals import (
    FEW_DOCUMENTS,
    Contrast,
    Interval,
    Verdict,
    contrasts,
    mean_interval,
)
from chunking_lib.retrieve import Encoder
from chunking_lib.show import View, html_table

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["Scoreboard", "compare"]


@dataclass(frozen=True)
class Scoreboard:
    """What `compare` found. It shows itself as a table.

    Attributes:
        results: one for each chunker, in the order given.
        contrasts: what each pair named in advance came to.
    Raises:
        ValueError: no results, two of one name, results on other questions or budgets than the
            first, or a figure that is none.
    """

    results: list[Result]
    contrasts: list[Contrast]

    def __post_init__(self) -> None:
        if not self.results:
            raise ValueError("results=[] must hold at least one result")
        names = [result.name for result in self.results]
        if len(set(names)) < len(names):
            raise ValueError(f"results have the names {names!r}, and must have each once")
        for result in self.results:
            _check_result(result, self.results[0])
        for one in self.contrasts:
            _check_contrast(one)

    @property
    def main(self) -> int:
        """The budget of the main score."""
        budgets = sorted(self.results[0].recall)
        return budgets[len(budgets) // 2]

    def recall(self, name: str, budget: int | None = None) -> Interval:
        """Return the mean recall of one chunker, with its interval; at the main budget if None."""
        result = self._result(name)
        budget = self.main if budget is None else budget
        if budget not in result.recall:
            raise ValueError(f"budget={budget!r} must be one of {sorted(result.recall)!r}")
        return mean_interval(result.recall[budget], result.documents)

    def _result(self, name: str) -> Result:
        for result in self.results:
            if result.name == name:
                return result
        raise ValueError(f"name={name!r} must be one of {[one.name for one in self.results]!r}")

    def rows(self) -> list[list[str]]:
        """Return the scores as rows of text, the first of them the heads."""
        budgets = sorted(self.results[0].recall)
        head = ["chunker", *(f"recall at {budget:,}" for budget in budgets), "5 chunks: recall"]
        head += ["tokens", "chunks", "mean", "largest", "unseen", "embedded", "model tokens"]
        rows = [head]
        for result in self.results:
            intervals = [mean_interval(result.recall[b], result.documents) for b in budgets]
            rows.append(
                [
                    result.name,
                    *map(str, intervals),
                    f"{_percent(result.recall_at_5)}",
                    f"{result.tokens_at_5:,.0f}",
                    f"{result.chunks:,}",
                    f"{result.mean_size:,.0f}",
                    f"{result.max_size:,}",
                    f"{100 * result.unseen:.1f}",
                    f"{result.embedded:,}",
                    f"{result.model_tokens:,}",
                ]
            )
        return rows

    def verdict_rows(self) -> list[list[str]]:
        """Return the contrasts as rows of text, the first of them the heads."""
        rows = [["chunker", "against", "points", "p", "verdict"]]
        for one in self.contrasts:
            rows.append([one.name, one.baseline, str(one.difference), _p(one.p), one.verdict])
        return rows

    @property
    def note(self) -> str:
        """What the table is of."""
        return (
            f"{len(self.results[0].questions):,} questions; recall and unseen in %, sizes in tokens"
        )

    def table(self) -> View:
        """Return the scores as a table: recall in % at each budget, and what each chunker costs."""
        return _view(self.rows(), self.note)

    def verdicts(self) -> View:
        """Return the contrasts as a table: points of recall, p, and a verdict."""
        documents = len(set(self.results[0].documents))
        note = f"fewer than {FEW_DOCUMENTS} documents: it holds for them, not for others like them"
        return _view(self.verdict_rows(), note if documents < FEW_DOCUMENTS else "")

    def by(self, groups: Mapping[str, str]) -> View:
        """Return the mean recall at the main budget for each group of questions.

        It describes; with some thirty questions in a group, differences of ten points are chance.

        Args:
            groups: the group of each question, by its id: its type, or the kind of its document.
        Raises:
            ValueError: a question without a group, or a group that is no text.
        """
        asked = self.results[0].questions
        if missing := [question for question in asked if question not in groups]:
            raise ValueError(f"groups has no group of {missing[0]!r}")
        names = sorted({_text("group", groups[question]) for question in asked})
        rows = [["questions", "number", *(result.name for result in self.results)]]
        for name in names:
            chosen = [i for i, question in enumerate(asked) if groups[question] == name]
            means = [
                _percent([result.recall[self.main][i] for i in chosen]) for result in self.results
            ]
            rows.append([name, f"{len(chosen):,}", *means])
        return _view(rows, f"recall at {self.main:,} tokens in %")

    def plot(self) -> Figure:
        """Plot the recall of each chunker at the main budget, with its interval."""
        try:
            from matplotlib import pyplot
        except ImportError as error:
            raise RuntimeError("matplotlib is not installed: pip install matplotlib") from error

        figure, axes = pyplot.subplots(
            layout="constrained", figsize=(7, 1 + 0.4 * len(self.results)), facecolor="white"
        )
        for place, result in enumerate(self.results):
            interval = self.recall(result.name)
            axes.plot(
                [100 * interval.low, 100 * interval.high], [place] * 2, color="#0072B2", linewidth=2
            )
            axes.plot(100 * interval.mean, place, "o", color="#0072B2")
        axes.set_yticks(range(len(self.results)), [result.name for result in self.results])
        axes.invert_yaxis()
        axes.set_xlabel(f"recall at {self.main:,} tokens, %, with 95% interval", color="black")
        axes.set_facecolor("white")
        axes.tick_params(colors="#333333")
        axes.grid(axis="x", color="#dddddd")
        axes.set_axisbelow(True)
        axes.spines[["top", "right"]].set_visible(False)
        pyplot.close(figure)  # or a notebook shows it twice
        return figure

    def _repr_html_(self) -> str:
        return self.table().html + (self.verdicts().html if self.contrasts else "")

    def __repr__(self) -> str:
        tables = [self.table().text]
        if self.contrasts:
            tables.append(self.verdicts().text)
        return "\n\n".join(tables)

    def save(self, path: str | Path) -> None:
        """Write results and contrasts as JSON; seconds are left out, so that two runs agree."""
        results = [asdict(result) for result in self.results]
        for result in results:
            del result["seconds"]
        data = {"results": results, "contrasts": [asdict(one) for one in self.contrasts]}
        text = json.dumps(data, indent=1, ensure_ascii=False)
        Path(path).write_text(text + "\n", encoding="utf-8")

    @classmethod
    def load(cls, path: str | Path) -> Scoreboard:
        """Read what `save` wrote; ValueError if the file holds anything else."""
        try:
            data = json.loads(Path(path).read_text(encoding="utf-8"))
            results = []
            for row in data["results"]:
                row["recall"] = {int(budget): scores for budget, scores in row["recall"].items()}
                results.append(Result(**row, seconds=0.0))
            listed = [
                Contrast(**(row | {"difference": Interval(**row["difference"])}))
                for row in data["contrasts"]
            ]
            return cls(results, listed)
        except (KeyError, TypeError, AttributeError, ValueError, RecursionError) as error:
            raise ValueError(f"{path} is not what Scoreboard.save writes: {error}") from error


def _check_result(result: Result, first: Result) -> None:
    """Raise a `ValueError` unless the figures of a result can be, and compare with the first's."""
    name, values = _text("name", result.name), vars(result)
    for key in ("questions", "documents"):
        if values[key] != vars(first)[key]:
            raise ValueError(f"{name}: {key} must be those of {first.name!r}")
    if not result.recall or result.recall.keys() != first.recall.keys():
        raise ValueError(f"{name}: recall must be at the budgets of {first.name!r}, one or more")
    shares = {f"recall at {budget}": scores for budget, scores in result.recall.items()}
    shares |= {key: found for key, found in values.items() if isinstance(found, list)}
    for key in shares.keys() - {"questions", "documents"}:
        if len(shares[key]) != len(result.questions):
            raise ValueError(f"{name}: {key} must have a score for each question")
        for share in shares[key]:
            _check_number(f"{name}: {key}", share, most=1)
    if result.separation is not None:
        _check_number(f"{name}: separation", result.separation, most=1)
    for key in ("tokens_at_5", "chunks", "mean_size", "max_size", "unseen", "embedded"):
        _check_number(f"{name}: {key}", values[key])
    _check_number(f"{name}: model_tokens", result.model_tokens)


def _check_contrast(one: Contrast) -> None:
    name = f"{_text('name', one.name)} and {_text('baseline', one.baseline)}"
    _check_number(f"{name}: p", one.p, most=1)
    for value in (one.difference.mean, one.difference.low, one.difference.high):
        _check_number(f"{name}: difference", value, least=-math.inf)
    if one.verdict not in get_args(Verdict):
        raise ValueError(f"{name}: verdict={one.verdict!r} must be one of {get_args(Verdict)}")


def _check_number(name: str, value: float, least: float = 0, most: float = math.inf) -> None:
    # A share may be a little over 1, by rounding.
    if not isinstance(value, Real) or not least <= value <= most + 1e-9 or math.isinf(value):
        raise ValueError(f"{name}={value!r} must be a finite number in {least} to {most}")


def _text(name: str, value: object) -> str:
    if not isinstance(value, str):
        raise ValueError(f"{name}={value!r} must be a str")
    return value


def _p(p: float) -> str:
    return f"{p:.3f}" if p >= 0.0005 else "<0.001"


def _percent(values: Sequence[float]) -> str:
    return f"{100 * sum(values) / len(values):.1f}"


def _view(rows: list[list[str]], note: str) -> View:
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    lines = [
        "  ".join(
            cell.ljust(width) if number == 0 else cell.rjust(width)
            for number, (cell, width) in enumerate(zip(row, widths, strict=True))
        ).rstrip()
        for row in rows
    ]
    table = html_table([[escape(cell) for cell in row] for row in rows])
    return View(
        f"{table}<small>{escape(note)}</small>",
        "\n".join(filter(None, [*lines, note])),
    )


def compare(
    arms: Mapping[str, Arm | Callable[[Document], list[Chunk]]],
    benchmark: Benchmark,
    *,
    embedder: Encoder,
    pairs: Sequence[tuple[str, str]] = (),
    budgets: Sequence[int] = BUDGETS,
    tokens: Tokens | None = None,
    worth: float = 0.03,
) -> Scoreboard:
    """Score chunkers on the same questions at equal token budgets.

    Args:
        arms: chunkers by name, or `Arm` for one with its own way to score.
        benchmark: documents and questions.
        embedder: makes the vectors.
        pairs: (name, baseline) to contrast, a handful, named before you look.
        budgets: in tokens; the middle one is the main score.
        tokens: the tokenizer that pays; OpenAI's o200k if None.
        worth: the smallest difference of recall worth having.
    Raises:
        ValueError: no arms, one with a name that is no text, or a pair with a name that is not
            among them.
    """
    pairs = list(pairs)
    if not arms:
        raise ValueError("arms={} must hold at least one chunker")
    for name in arms:
        _text("name", name)
    for name in (name for pair in pairs for name in pair):
        if name not in arms:
            raise ValueError(f"pairs has {name!r}, and arms only {', '.join(arms)}")
    results = [
        evaluate(benchmark, arm, embedder=embedder, name=name, budgets=budgets, tokens=tokens)
        for name, arm in arms.items()
    ]
    board = Scoreboard(results, [])
    if not pairs:
        return board
    scores = {result.name: result.recall[board.main] for result in results}
    return Scoreboard(results, contrasts(scores, pairs, results[0].documents, worth=worth))
