"""The lock, environment.yml and the ranges of pyproject.toml agree; nothing names a machine."""

import re
import subprocess
import tomllib
from pathlib import Path

import pytest
import yaml
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name
from packaging.version import Version

import chunking_lib

ROOT = Path(__file__).resolve().parent.parent
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
LOCKS = ("requirements.lock", "requirements-nodeps.lock")


def pins(name: str) -> list[str]:
    lines = (ROOT / name).read_text(encoding="utf-8").splitlines()
    return [line for line in lines if line and not line.startswith("#")]


@pytest.mark.parametrize("name", LOCKS)
def test_every_line_of_a_lock_is_one_public_version(name):
    for line in pins(name):
        requirement = Requirement(line)
        (specifier,) = requirement.specifier
        assert specifier.operator == "==" and "*" not in specifier.version, line
        assert Version(specifier.version).local is None, line
        assert requirement.url is None and not requirement.extras, line


@pytest.mark.parametrize("name", LOCKS)
def test_no_lock_holds_cuda_or_options(name):
    for line in pins(name):
        assert not re.match(r"(-|nvidia|cuda|triton)", line), line


def test_no_package_is_pinned_twice_for_one_system():
    seen: dict[str, list[str]] = {}
    for line in pins("requirements.lock"):
        requirement = Requirement(line)
        seen.setdefault(canonicalize_name(requirement.name), []).append(str(requirement.marker))
    for name, markers in seen.items():
        assert len(set(markers)) == len(markers), name
        assert len(markers) == 1 or "None" not in markers, name


def test_environment_yml_has_the_versions_of_the_lock():
    environment = yaml.safe_load((ROOT / "environment.yml").read_text(encoding="utf-8"))
    assert environment["name"] == "chunking-course"
    assert environment["channels"] == ["conda-forge", "nodefaults"]
    *conda, from_pip = environment["dependencies"]
    python = next(item for item in conda if item.startswith("python="))
    assert "pip" in conda
    assert re.fullmatch(r"python=3\.1[1-3]", python)
    assert from_pip == {"pip": pins("requirements.lock")}, "run `python tests/make_lock.py`"


def test_binder_installs_what_pip_must_install_without_dependencies():
    script = ROOT / "postBuild"
    assert "--no-deps -r requirements-nodeps.lock" in script.read_text(encoding="utf-8")
    assert script.stat().st_mode & 0o111, "postBuild must be executable"
    assert (ROOT / ".ci" / "run").stat().st_mode & 0o111


def declared() -> list[Requirement]:
    extras = PROJECT["optional-dependencies"].values()
    lines = [*PROJECT["dependencies"], *(line for lines in extras for line in lines)]
    requirements = [Requirement(line) for line in lines]
    return [r for r in requirements if r.name != PROJECT["name"]]


@pytest.mark.parametrize("requirement", declared(), ids=lambda requirement: requirement.name)
def test_the_lock_lies_in_the_range(requirement):
    locked = [Requirement(line) for line in pins("requirements.lock")]
    versions = [
        str(pin.specifier).removeprefix("==")
        for pin in locked
        if canonicalize_name(pin.name) == canonicalize_name(requirement.name)
    ]
    assert versions and all(version in requirement.specifier for version in versions)


def test_every_dependency_says_what_it_is_for():
    text = (ROOT / "pyproject.toml").read_text(encoding="utf-8")
    pdf = False
    for line in text.partition("[tool.")[0].splitlines():
        # One comment stands for the run of packages that unstructured[pdf] asks for.
        pdf = (pdf or "here and below" in line) and line != "]"
        if re.match(r'    "[\w.-]+(\[\w+\])?[=<>]', line):
            assert "#" in line or pdf, line


def test_one_version_stands_everywhere():
    citation = yaml.safe_load((ROOT / "CITATION.cff").read_text(encoding="utf-8"))
    assert PROJECT["version"] == chunking_lib.__version__ == citation["version"]


def tracked() -> list[str]:
    command = ["git", "ls-files", "-z"]
    try:
        listed = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)
    except (OSError, subprocess.CalledProcessError):
        pytest.skip("not a git clone")
    return [name for name in listed.stdout.split("\0") if name and (ROOT / name).is_file()]


# Put together from parts, so that this file does not name them either.
REGISTRIES = ("pypi" + ".org", "python" + "hosted", "download." + "pytorch", "conda." + "anaconda")
MACHINE = tuple("/" + path + "/" for path in ("work", "tmp/env", "root", "opt/pypi", "etc/xdg"))


def test_no_file_names_a_registry_or_this_machine():
    for name in tracked():
        content = (ROOT / name).read_bytes().decode("utf-8", errors="ignore").lower()
        for forbidden in (*REGISTRIES, "registry.npm" + "js", "deb." + "debian"):
            assert forbidden not in content, f"{name} names {forbidden}"
        for path in MACHINE:
            found = re.search(rf"(?<![\w.~*/}}|]){re.escape(path)}", content)
            assert not found, f"{name} names the path {path}"


def test_no_file_is_large():
    for name in tracked():
        assert (ROOT / name).stat().st_size < 5_000_000, name
