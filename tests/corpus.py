"""The documents of notebooks 1 and 2: eight of the course's, by name."""

from pathlib import Path

from chunking_lib.chunk import Document

FOLDER = Path(__file__).resolve().parent.parent / "data" / "corpus"
EIGHT = (
    "council_meeting_2024-06-12.txt",
    "essay_waiting.txt",
    "history_of_the_sound.txt",
    "incident_log.txt",
    "notices_multilingual.md",
    "passenger_faq.md",
    "safety_regulations.txt",
    "staff_handbook.md",
)


def read_eight() -> dict[str, Document]:
    """Return the eight by their names without ending, in the order of the notebooks."""
    paths = [FOLDER / name for name in EIGHT]
    return {path.stem: Document(path.read_text(encoding="utf-8"), id=path.name) for path in paths}
