"""Measure speed and memory beside other libraries: `make bench`, about ten minutes.

Writes results.json, and from it results.md and results.png. With --report, only the latter two.
With --formats, measures the splitters of formats anew and keeps the rest.
With --quick, measures a small text once and prints the report; nothing is written.
"""

import argparse
import gc
import hashlib
import json
import os
import platform
import statistics
import subprocess
import sys
import time
import tracemalloc
from collections.abc import Callable
from datetime import date
from importlib.metadata import version
from pathlib import Path
from typing import Any

os.environ["TOKENIZERS_PARALLELISM"] = "true"  # all cores; before tokenizers is imported

from contenders import (
    OURS,
    TOKENIZING,
    TOKENS,
    YARDSTICKS,
    Contender,
    contenders,
    format_pair,
    format_texts,
    load_tokie,
    make_text,
    read_chunks,
)
from report import draw, write

from chunking_lib.models import load_tokenizer
from chunking_lib.recursive import split_recursive

HERE = Path(__file__).resolve().parent
PACKAGES = (
    *("chunking-lib", "langchain-text-splitters", "chonkie", "chonkie-core", "semchunk"),
    *("semantic-text-splitter", "blazechunk", "tokenizers", "tokie"),
)


def say(what: str) -> None:
    print(f"{time.strftime('%H:%M:%S')} {what}", file=sys.stderr, flush=True)


def race(unit: str, text: str, field: list[Contender], rounds: int) -> list[dict[str, Any]]:
    """Let all split `text` in turn, round after round: A B C, A B C, ..."""
    rows = [{"name": one.name, "note": one.note, "wall": [], "cpu": []} for one in field]
    for number in range(rounds):
        for one, row in zip(field, rows, strict=True):
            if one.slow and number > 2:
                continue
            run = one.make()
            if number == 0:
                run(text[:20_000])  # what is set up on first use
                run = one.make()
            result, wall, cpu = clock(run, text)
            row["wall"].append(wall)
            row["cpu"].append(cpu)
            if number == 0:
                row["input"] = fingerprint(text)
                if one.name not in YARDSTICKS:
                    row |= check(text, read_chunks(result), unit != "characters")
            del run, result
    for row in rows:
        wall = row.pop("wall")
        row |= {"rounds": len(wall), "best": min(wall), "median": statistics.median(wall)}
        row["cpu"] = min(row["cpu"])
    return rows


def clock(run: Callable[[str], Any], text: str) -> tuple[Any, float, float]:
    """Return the result of one call, its seconds on the wall, and those of all threads."""
    gc.collect()  # nobody pays for the rubbish of the one before; during the call it is on
    cpu, wall = time.process_time(), time.perf_counter()
    result = run(text)
    wall, cpu = time.perf_counter() - wall, time.process_time() - cpu
    return result, wall, cpu


def check(text: str, chunks: list[tuple[int | None, str | bytes]], tokens: bool) -> dict[str, Any]:
    """Count the chunks, measure the longest, and compare each with the text at its offset."""
    in_bytes, offsets = isinstance(chunks[0][1], bytes), chunks[0][0] is not None
    source: Any = text.encode() if in_bytes else text
    wrong = place = 0
    for start, chunk in chunks:
        if not offsets:  # is it a slice of the text at all, behind the last one?
            start = place = max(place, source.find(chunk, place))
        wrong += source[start : start + len(chunk)] != chunk
    texts = [
        chunk.decode(errors="replace") if isinstance(chunk, bytes) else chunk for _, chunk in chunks
    ]
    if tokens:
        batch = load_tokenizer().encode_batch_fast(texts, add_special_tokens=False)
        longest = max(map(len, batch))
    else:
        longest = max(map(len, texts))
    unit = ("bytes" if in_bytes else "characters") if offsets else None
    return {"chunks": len(chunks), "longest": longest, "offsets": unit, "wrong": wrong}


def fingerprint(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:12]


def describe(text: str) -> dict[str, Any]:
    words = text.split()
    return {
        "bytes": len(text.encode()),
        "characters": len(text),
        "words": len(words),
        "distinct": len(set(words)),
        "sha256": fingerprint(text),
    }


def memory(unit: str, name: str, text: str) -> dict[str, Any]:
    """Measure one contender in a fresh process, in multiples of the text's UTF-8 size."""
    command = [sys.executable, __file__, "--memory", unit, name]
    done = subprocess.run(command, input=text.encode(), stdout=subprocess.PIPE, check=True)
    return {"unit": unit, "name": name, **json.loads(done.stdout)}


def measure_memory(unit: str, name: str) -> dict[str, float | None]:
    """Run one contender on the text that comes in, first by itself, then watched by tracemalloc."""
    data = sys.stdin.buffer.read()
    text, size = data.decode(), len(data)
    del data
    one = next(one for one in contenders(unit, text[:20_000]) if one.name == name)
    one.make()(text[:20_000])
    run = one.make()
    gc.collect()
    try:  # Linux
        Path("/proc/self/clear_refs").write_text("5")  # forget the peak so far
        before = resident("VmRSS")
        result = run(text)
        grown = (resident("VmHWM") - before) / size
        del result
    except OSError:
        grown = None
    run = one.make()
    gc.collect()
    tracemalloc.start()
    run(text)
    return {"python": tracemalloc.get_traced_memory()[1] / size, "rss": grown}


def resident(key: str) -> int:
    """Return the resident memory of this process in bytes, now or at its peak."""
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) * 1024 for line in lines if line.startswith(key))


def machine() -> dict[str, Any]:
    cpu = platform.processor() or platform.machine()
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
        facts = {key.strip(): value.strip() for key, _, value in (x.partition(":") for x in lines)}
        cpu = f"{facts['model name']} (family {facts['cpu family']}, model {facts['model']})"
    except (OSError, KeyError):
        pass
    return {
        "date": date.today().isoformat(),
        "cpu": cpu,
        "cores": os.cpu_count(),
        "system": f"{platform.system()} {platform.machine()}",
        "python": f"{platform.python_implementation()} {platform.python_version()}",
        "packages": {name: version(name) for name in PACKAGES},
    }


def others_busy(seconds: float = 1.0) -> float | None:
    """Return how many cores are busy while this process sleeps; None beside Linux."""

    def spent() -> int:
        user, nice, system, _, _, irq, soft, steal = map(
            int, Path("/proc/stat").read_text().split()[1:9]
        )
        return user + nice + system + irq + soft + steal

    try:
        before = spent()
        time.sleep(seconds)
        return (spent() - before) / os.sysconf("SC_CLK_TCK") / seconds
    except OSError:
        return None


def measure(scale: float = 1.0, *, rounds: int = 15) -> dict[str, Any]:
    """Measure everything; `scale` makes all texts smaller."""
    load, others = [os.getloadavg()], [others_busy()]
    megabyte = int(1_000_000 * scale)
    texts = {size: make_text(size * megabyte) for size in (1, 2, 4, 8, 10, 16)}
    results: dict[str, Any] = {"machine": machine(), "inputs": {}, "races": []}
    for unit in ("characters", "tokens", "counting"):
        for size, text in ((1, texts[1]), (10, texts[10])):
            field = [one for one in contenders(unit, text) if size == 1 or not one.slow]
            say(f"{unit}, {size} MB")
            rows = race(unit, text, field, rounds if size == 1 else max(1, rounds // 3))
            results["races"].append({"unit": unit, "megabytes": size, "rows": rows})
            results["inputs"][f"{size} MB"] = describe(text)
            others.append(others_busy())

    say("other texts, growth, memory")
    results["handed"] = handed(texts[1])
    kinds = {
        "1 MB": texts[1],
        "documents repeated as they are": make_text(megabyte, new=0, shuffle=False),
        "nearly every longer word new": make_text(megabyte, new=1),
        "German, Chinese, Thai, Arabic, emoji": make_text(
            megabyte, documents=("notices_multilingual.md",)
        ),
    }
    results["inputs"] |= {name: describe(text) for name, text in kinds.items()}
    results["kinds"] = by_text(kinds, max(1, rounds // 3), (OURS, TOKENIZING))
    growth = {f"{size} MB": texts[size] for size in (1, 2, 4, 8, 16)}
    results["growth"] = by_text(growth, max(1, rounds // 3), (OURS,))
    results["memory"] = [
        memory(unit, one.name, texts[2])
        for unit in ("characters", "tokens")
        for one in contenders(unit, texts[1])
    ]
    results["formats"] = formats(int(5 * megabyte))
    load.append(os.getloadavg())
    others.append(others_busy())
    return results | {"load": load, "others": others}


def handed(text: str) -> dict[str, float]:
    """Return how often a callable that only counts is called, and how much text it is handed."""
    count, seen = load_tokie().count_tokens, []

    def spy(part: str) -> int:
        seen.append(len(part))
        return count(part)

    split_recursive(text, size=TOKENS, length=spy)
    return {"calls": len(seen), "characters": sum(seen) / len(text)}


def formats(size: int) -> dict[str, Any]:
    """Measure the splitter of each format, and LangChain's of that format, once on each text."""
    load, rows = os.getloadavg()[0], []
    for name, (kind, text) in format_texts(size).items():
        say(name)
        row: dict[str, Any] = {"text": name, "megabytes": len(text.encode()) / 1e6}
        for who, run in zip(("ours", "langchain"), format_pair(kind), strict=True):
            result, row[who], row[f"{who} cpu"] = clock(run, text)
            row[f"{who} chunks"] = len(result)
            del result
        rows.append(row)
    return {"date": date.today().isoformat(), "load": [load, os.getloadavg()[0]], "rows": rows}


def by_text(texts: dict[str, str], rounds: int, names: tuple[str, ...]) -> list[dict[str, Any]]:
    """Measure the same contenders on several texts: MB/s of the best round."""
    fields = {
        unit: [one for one in contenders(unit, "") if one.name in names]
        for unit in ("characters", "tokens")
    }
    rows = {name: {"text": name} for name in texts}
    best: dict[tuple[str, str], float] = {}
    for _ in range(rounds):
        for name, text in texts.items():
            for unit, field in fields.items():
                for one in field:
                    result, wall, _ = clock(one.make(), text)
                    del result
                    key = unit if one.name == OURS else one.name
                    best[name, key] = min(wall, best.get((name, key), wall))
    for (name, key), wall in best.items():
        rows[name][key] = len(texts[name].encode()) / 1e6 / wall
    return list(rows.values())


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--report", action="store_true")
    parser.add_argument("--formats", action="store_true")
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--memory", nargs=2, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.memory:
        print(json.dumps(measure_memory(*options.memory)))
        return
    if options.quick:
        print(write(measure(0.02, rounds=1)))
        return
    path = HERE / "results.json"
    results = (
        json.loads(path.read_text("utf-8")) if options.report or options.formats else measure()
    )
    if options.formats:
        results["formats"] = formats(5_000_000)
    if not options.report:
        path.write_text(json.dumps(results, indent=1, ensure_ascii=False) + "\n", "utf-8")
    (HERE / "results.md").write_text(write(results), "utf-8")
    draw(results, HERE / "results.png")


if __name__ == "__main__":
    main()
