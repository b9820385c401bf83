"""Make results.md and results.png from the numbers in results.json."""

import re
from pathlib import Path
from typing import Any

from contenders import (
    BLAZECHUNK,
    CHARACTERS,
    CHONKIE,
    COUNTING_CHUNKS,
    COUNTING_TEXT,
    LANGCHAIN,
    OURS,
    SLICING,
    TOKENIZING,
    TOKENS,
    YARDSTICKS,
)

TITLES = {
    "characters": f"Characters, size {CHARACTERS}",
    "tokens": f"Tokens of MiniLM's tokenizer, size {TOKENS}",
    "counting": f"A callable that only counts those tokens (tokie), size {TOKENS}",
}
# What the course asks of `split_recursive`: beside whom, at least so many times as fast, or at most
# so many times as long.
ASKED: tuple[tuple[str, str, str, float | None, float | None], ...] = (
    ("Characters: 2 times as fast as chonkie's recursive", "characters", CHONKIE, 2, None),
    ("Characters: 4 times as fast as LangChain's", "characters", LANGCHAIN, 4, None),
    ("Characters: near blazechunk (Rust), as a share", "characters", BLAZECHUNK, None, None),
    ("Tokens: at most 1.8 times as long as tokenizing alone", "tokens", TOKENIZING, None, 1.8),
    ("Tokens: 20 times as fast as LangChain", "tokens", LANGCHAIN, 20, None),
    ("Tokens: 2.5 times as fast as chonkie", "tokens", CHONKIE, 2.5, None),
    ("Counting: at most 1.3 times as long as the text once", "counting", COUNTING_TEXT, None, 1.3),
    ("… as its own chunks once", "counting", COUNTING_CHUNKS, None, 1.3),
)
INTRODUCTION = """# Speed and memory beside other libraries

Written by `tests/benchmarks/run.py` (`make bench`) from [results.json](results.json).

![Megabytes a second on 1 MB of text, by characters and by tokens](results.png)
"""
METHOD = """## How it was measured

- One process. The contenders take turns, round after round (A B C, A B C, …), each with a fresh
  splitter, so that no round finds a cache full. Best and median round are shown; ratios are of the
  best. The garbage collector is on, and runs once before each call. MB are millions of UTF-8 bytes.
- CPU time is that of all threads. Only tokenizing in batches uses more than one core; there it is
  about twice the time on the wall. Where others use the machine too, it is the steadier of the two.
- The text is made from the course's seven English documents, which are 0.1 MB. Each pass over them
  shuffles the paragraphs, draws each number anew, and makes 5% of the words of four letters or more
  into new words out of two halves, for a text said again and again would favour whoever remembers
  words, as `split_recursive` does with tokens. The table of texts shows what that is worth.
- "Offsets": whether the text at the offset of each chunk is the chunk. Where a library gives no
  offsets, whether the chunks are slices of the text at all.
- No two contenders promise the same. Ours and LangChain's cut at paragraphs, lines and words; the
  others cut at sentences and punctuation as well, which is more work. blazechunk, and most of
  semantic-text-splitter, is Rust; ours is Python. blazechunk counts characters but gives offsets in
  bytes, and its plain `chunk` counts bytes. Each is used as its documentation shows, with its own
  defaults, no overlap, and offsets where one call gives them.
- Memory: one call on 2 MB in a fresh process, the result included. "Python" is the peak that
  `tracemalloc` sees, which is blind to Rust; "resident" is the growth of the whole process, Linux
  only, and misses what fits into memory that was free already. Who is not listed was not measured
  in this run. The text has characters beyond Latin-1, so Python keeps it at 2 bytes a character.
"""


def write(results: dict[str, Any]) -> str:
    """Return the report as Markdown."""
    parts = [INTRODUCTION, about(results["machine"], results["load"], results["others"])]
    parts += [few_rounds(results["races"])]
    parts += ["## Targets\n", table(["Target", "Measured", "In CPU time", "Met"], targets(results))]
    for race in results["races"]:
        parts += [f"## {TITLES[race['unit']]}, {race['megabytes']} MB\n", race_table(results, race)]
    parts += ["## Growth: `split_recursive` on longer texts, MB/s\n", rows_table(results["growth"])]
    parts += ["## Other texts of 1 MB, MB/s\n", rows_table(results["kinds"])]
    parts += [f"## Formats: seconds, size {CHARACTERS}\n", formats_table(results["formats"])]
    memory = [
        [r["unit"], r["name"], number(r["python"]), number(r["rss"])] for r in results["memory"]
    ]
    parts += ["## Memory, in multiples of the text\n"]
    parts += [table(["Unit", "Contender", "Python", "Resident"], memory), METHOD]
    inputs = [
        [
            name,
            *(f"{x[key]:,}" for key in ("bytes", "characters", "words", "distinct")),
            x["sha256"],
        ]
        for name, x in results["inputs"].items()
    ]
    header = ["Text", "Bytes", "Characters", "Words", "Distinct words", "SHA-256"]
    return "\n".join([*parts, table(header, inputs)])


def formats_table(results: dict[str, Any]) -> str:
    """Return seconds for each text in a format, ours beside LangChain's."""
    rows = [
        [
            row["text"],
            number(row["megabytes"]),
            *(number(row[key]) for key in ("ours", "ours cpu", "langchain", "langchain cpu")),
            *(f"{row[key]:,}" for key in ("ours chunks", "langchain chunks")),
        ]
        for row in results["rows"]
    ]
    header = ["Text", "MB", "Ours, s", "CPU s", "LangChain, s", "CPU s", "Our chunks", "Theirs"]
    before, after = results["load"]
    return (
        f"{results['date']}, once each; load average {before:.2f} before and {after:.2f} after. "
        "LangChain's splitters of Markdown and code cut at patterns and do not parse; that of HTML "
        "does not keep a size.\n\n" + table(header, rows)
    )


def about(machine: dict[str, Any], load: list[list[float]], others: list[float | None]) -> str:
    busy = max((x for x in others if x is not None), default=0)
    quiet = load[0][0] < 1.5 and busy < 0.25
    packages = ", ".join(f"{name} {version}" for name, version in machine["packages"].items())
    return (
        f"{machine['date']}, {machine['cpu']}, {machine['cores']} cores, {machine['system']}, "
        f"{machine['python']}; {packages}.\n\n"
        f"{'The machine was quiet' if quiet else '**The machine was not quiet**'}: load average "
        f"{load[0][0]:.2f} before and {load[1][0]:.2f} after (our own work included); other "
        f"processes kept {busy:.2f} cores busy at most, in samples between the tables.\n"
    )


def few_rounds(races: list[dict[str, Any]]) -> str:
    fewest = min(row["rounds"] for race in races for row in race["rows"])
    if fewest >= 3:
        return ""
    times = "once" if fewest == 1 else f"{fewest} times"
    return f"**Few rounds**: some contenders ran only {times}. Read the ratios as rough.\n"


def targets(results: dict[str, Any]) -> list[list[str]]:
    """Return a row for each target: what was asked, what was measured, met or not."""
    rows = []
    for asked, unit, who, least, most in ASKED:
        found: dict[str, list[float]] = {"best": [], "cpu": []}
        sizes = []
        for race in results["races"]:
            if race["unit"] == unit and any(row["name"] == who for row in race["rows"]):
                sizes.append(race["megabytes"])
                for key, values in found.items():
                    ratio = speed(results, race, OURS, key) / speed(results, race, who, key)
                    values.append(1 / ratio if most else ratio)
        wall, cpu = (
            ", ".join(f"{number(x)} ({size} MB)" for x, size in zip(values, sizes, strict=True))
            for values in found.values()
        )
        met = yes(all((least or 0) <= value <= (most or 1e9) for value in found["best"]))
        rows.append([asked, wall, cpu, met if least or most else "no number asked"])

    handed = results["handed"]
    asked = "… characters handed to the callable, in multiples of the text"
    rows.append([asked, f"{handed['characters']:.2f} (1 MB, {handed['calls']:,} calls)", "", ""])

    longest = max(
        row["longest"]
        for race in results["races"]
        for row in race["rows"]
        if race["unit"] != "characters" and row["name"] == OURS
    )
    asked = f"Tokens: no chunk counts more than {TOKENS} by itself"
    rows.append([asked, f"{longest} at most", "", yes(longest <= TOKENS)])

    first, last = results["growth"][0], results["growth"][-1]
    kept = {unit: last[unit] / first[unit] for unit in ("characters", "tokens")}
    measured = ", ".join(f"{value:.2f} ({unit})" for unit, value in kept.items())
    asked = f"Time grows linearly: speed on {last['text']} as a share of that on {first['text']}"
    rows.append([asked, measured, "", yes(min(kept.values()) >= 0.8) + " (0.8 or more)"])

    ours = [row for row in results["memory"] if row["name"] == OURS]
    peaks = {row["unit"]: max(row["python"], row["rss"] or 0) for row in ours}
    measured = ", ".join(f"{number(value)} ({unit})" for unit, value in peaks.items())
    met = yes(all(value < 15 for value in peaks.values()))
    return [*rows, ["Memory: less than 15 times the text", measured, "", met]]


def yes(met: bool) -> str:
    return "met" if met else "**not met**"


def speed(results: dict[str, Any], race: dict[str, Any], name: str, key: str = "best") -> float:
    """Return a contender's megabytes a second."""
    (row,) = [row for row in race["rows"] if row["name"] == name]
    return results["inputs"][f"{race['megabytes']} MB"]["bytes"] / 1e6 / row[key]


def race_table(results: dict[str, Any], race: dict[str, Any]) -> str:
    header = [
        "Contender",
        "MB/s, best",
        "median",
        "Ours is … times as fast",
        "CPU ms a MB",
        "Rounds",
    ]
    header += ["Chunks", "Longest", "Offsets", "What it does"]
    lines = []
    for row in race["rows"]:
        best = speed(results, race, row["name"])
        made = row["name"] not in YARDSTICKS
        lines.append(
            [
                row["name"],
                number(best),
                number(speed(results, race, row["name"], "median")),
                number(speed(results, race, OURS) / best),
                number(1000 / speed(results, race, row["name"], "cpu")),
                row["rounds"],
                f"{row['chunks']:,}" if made else "–",
                row["longest"] if made else "–",
                offsets(row) if made else "–",
                row["note"],
            ]
        )
    return table(header, lines)


def offsets(row: dict[str, Any]) -> str:
    if row["wrong"]:
        return f"**{row['wrong']:,} wrong**"
    return {None: "none; slices", "bytes": "right, in bytes"}.get(row["offsets"], "right")


def rows_table(rows: list[dict[str, Any]]) -> str:
    """Return a table of rows that have the same keys."""
    header = [key.capitalize() for key in rows[0]]
    return table(
        header, [[x if isinstance(x, str) else number(x) for x in row.values()] for row in rows]
    )


def table(header: list[str], rows: list[list[Any]]) -> str:
    """Return a Markdown table; columns of numbers are aligned to the right."""
    digits = [re.fullmatch(r"[\d.,]+", str(cell)) for cell in rows[0]]
    lines = [header, ["---:" if right else "---" for right in digits], *rows]
    return "\n".join("| " + " | ".join(map(str, line)) + " |" for line in lines) + "\n"


def number(value: float | None) -> str:
    """Return a number in three digits."""
    if value is None:
        return "–"
    return f"{value:,.0f}" if value >= 100 else f"{value:.3g}"


def draw(results: dict[str, Any], path: Path) -> None:
    """Draw the speed on the shorter text, by characters and by tokens."""
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    races = [race for race in results["races"] if race["megabytes"] == 1][:2]
    heights = [len(race["rows"]) for race in races]
    figure, axes = plt.subplots(
        2, 1, figsize=(8, 6.6), height_ratios=heights, layout="constrained", facecolor="white"
    )
    for race, ax in zip(races, axes, strict=True):
        rows = sorted(race["rows"], key=lambda row: -row["best"])
        speeds = [speed(results, race, row["name"]) for row in rows]
        colours = [
            "#0b6e99"
            if row["name"].startswith("chunking_lib")
            else "#d0d0d0"
            if row["name"] in (SLICING, *YARDSTICKS)
            else "#8a8f98"
            for row in rows
        ]
        bars = ax.barh([row["name"] for row in rows], speeds, color=colours)
        ax.bar_label(bars, [number(value) for value in speeds], padding=3, fontsize=9)
        ax.set(xscale="log", xlim=(min(speeds) / 2, max(speeds) * 2))
        ax.set_title(TITLES[race["unit"]], loc="left", fontsize=10, weight="bold")
        ax.tick_params(axis="y", length=0, labelsize=9)
        ax.xaxis.set_visible(False)
        ax.spines[:].set_visible(False)
    figure.supxlabel(
        "MB/s on 1 MB of text, log scale. Blue: this library. Light: for comparison only.",
        fontsize=9,
    )
    figure.savefig(path, dpi=110, metadata={"Software": None})
    plt.close(figure)
