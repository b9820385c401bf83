"""What the README says can be done, can be done."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
README = (ROOT / "README.md").read_text(encoding="utf-8")
PAGES = [path for path in [*ROOT.glob("*.md"), *ROOT.glob("data/*.md")]]
PAGES += ROOT.glob("notebooks/instructors/*.md")


def test_python_of_the_readme_prints_what_it_says() -> None:
    blocks = re.findall(r"```python\n(.*?)```\s*```\n(.*?)```", README, re.DOTALL)
    assert blocks
    for code, output in blocks:
        run = subprocess.run(
            [sys.executable, "-c", code], capture_output=True, text=True, encoding="utf-8"
        )
        assert run.stdout == output, run.stderr


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_make_commands_exist(page: Path) -> None:
    targets = set(re.findall(r"^([a-z]+):", (ROOT / "Makefile").read_text("utf-8"), re.MULTILINE))
    commands = re.findall(r"^make ([a-z]+)", page.read_text("utf-8"), re.MULTILINE)
    commands += re.findall(r"`make ([a-z]+)", page.read_text("utf-8"))
    assert set(commands) <= targets


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_links_of_a_page_exist(page: Path) -> None:
    text = page.read_text(encoding="utf-8")
    links = re.findall(r"\]\(([^)#\s]+)", text) + re.findall(r'(?:src|srcset)="([^"]+)"', text)
    for link in links:
        if "://" not in link:
            assert (page.parent / link).exists(), f"{page.name} links to {link}"


def test_all_notebooks_are_listed() -> None:
    for number in range(1, 9):
        assert re.search(rf"^\| {number} \| ", README, re.MULTILINE)
    for notebook in (ROOT / "notebooks").glob("*.ipynb"):
        assert f"(notebooks/{notebook.name})" in README
