"""Writes data/manifest.json: what every document is, and the SHA-256 of every file of the data.

    python data/make/manifest.py

Run it after a change that is meant. Otherwise the data are frozen: every figure of the course
rests on them, and a test compares the files with the manifest.
"""

import hashlib
import json
from pathlib import Path

DATA = Path(__file__).resolve().parent.parent

#: What is shown or tuned in a notebook comes from questions on these; the others are for tests.
DEV = {
    "annual_report_2023.pdf",
    "api_departures.json",
    "council_meeting_2024-06-12.txt",
    "essay_waiting.txt",
    "fare_widget.js",
    "help_lost_property.html",
    "history_of_the_sound.txt",
    "incident_log.txt",
    "notices_multilingual.md",
    "passenger_faq.md",
    "safety_regulations.txt",
    "staff_handbook.md",
}
KINDS = {
    "annual_report": "report",
    "api": "API reply",
    "biography": "history",
    "conditions": "regulations",
    "contract": "contract",
    "council": "minutes",
    "defect": "log",
    "emails": "e-mails",
    "essay": "essay",
    "faq": "questions and answers",
    "fare": "code",
    "ferry_crew": "manual",
    "ferry_log": "log",
    "harbour": "regulations",
    "help": "help page",
    "history": "history",
    "incident": "log",
    "leaflet": "notice",
    "notice": "notice",
    "paper": "research paper",
    "passenger_faq": "questions and answers",
    "safety_committee": "minutes",
    "safety_regulations": "regulations",
    "staff_handbook": "manual",
    "tram_driver": "manual",
    "works_council": "minutes",
    "workshop": "manual",
}
LANGUAGES = {
    "leaflet_visitors.md": ["fr", "ja", "th", "ar", "zh"],
    "notice_construction_mill_lane.md": ["de", "fr", "ar", "th", "ja"],
    "notices_multilingual.md": ["en", "de", "zh", "th", "ar"],
    "notices_winter_2025.md": ["en", "de", "fr", "zh", "ja"],
}


def text_of(path: Path) -> str:
    """The text that offsets refer to: the canonical one, where there is one."""
    canonical = DATA / "canonical" / f"{path.name}.txt"
    return (canonical if canonical.is_file() else path).read_text(encoding="utf-8")


def kind_of(name: str) -> str:
    """The kind of a document, by the longest beginning of its name that is listed."""
    return KINDS[max((start for start in KINDS if name.startswith(start)), key=len)]


def main() -> None:
    """Write the manifest."""
    documents = [
        {
            "id": path.name,
            "kind": kind_of(path.name),
            "languages": LANGUAGES.get(path.name, ["en"]),
            "split": "dev" if path.name in DEV else "test",
            "words": len(text_of(path).split()),
        }
        for path in sorted((DATA / "corpus").iterdir())
    ]
    files = sorted(
        path for pattern in ("corpus/*", "canonical/*", "*.jsonl") for path in DATA.glob(pattern)
    )
    hashes = {
        path.relative_to(DATA).as_posix(): hashlib.sha256(path.read_bytes()).hexdigest()
        for path in files
    }
    text = json.dumps({"documents": documents, "sha256": hashes}, indent=1, ensure_ascii=False)
    (DATA / "manifest.json").write_text(text + "\n", encoding="utf-8", newline="\n")
    print(f"{len(documents)} documents, {len(files)} files")


if __name__ == "__main__":
    main()
