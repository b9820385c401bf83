"""Write requirements.lock and environment.yml anew from the ranges in pyproject.toml.

    pip install uv                            # in any environment; the course does not need it
    python tests/make_lock.py                 # keeps every version that still fits
    python tests/make_lock.py --upgrade       # takes the newest of each
    python tests/make_lock.py --upgrade-package chromadb

Then `make test`: what the notebooks print may have changed with the versions.
"""

import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
LOCK = ROOT / "requirements.lock"
ENVIRONMENT = ROOT / "environment.yml"

HEADER = """\
# Every package of the course, in the versions it was tested with.
# Made by `python tests/make_lock.py` from pyproject.toml; do not edit by hand.
# Markers say which lines are for which system and Python (3.11 and later).
# torch stands without a local version such as +cpu, and its CUDA libraries are left out:
# pip adds them where the build of torch that it takes wants them.
# One package is no wheel: langdetect, pure Python, nothing to compile.
# requirements-nodeps.lock is installed after this file, with --no-deps.
"""

ENVIRONMENT_HEADER = """\
# The course for conda and Binder: the versions of requirements.lock, from pip.
# Made by `python tests/make_lock.py`; do not edit by hand. After
#     conda env create -f environment.yml && conda activate chunking-course
# run the commands of postBuild, which Binder runs by itself.
name: chunking-course
channels:
  - conda-forge
  - nodefaults
dependencies:
  - python=3.11
  - pip
  - pip:
"""

# What torch's wheel for Linux with CUDA asks for.
CUDA = re.compile(r"(nvidia-|cuda-|triton\b)")


def main() -> None:
    command = ["uv", "pip", "compile", "pyproject.toml", "--all-extras", "--universal"]
    command += ["--python-version=3.11", "--no-annotate", "--no-header", "--quiet"]
    command += ["--output-file", LOCK.name, *sys.argv[1:]]
    try:
        subprocess.run(command, cwd=ROOT, check=True)
    except FileNotFoundError:
        sys.exit("make_lock needs uv: pip install uv")
    except subprocess.CalledProcessError as error:
        sys.exit(error.returncode)
    pins = [line for line in LOCK.read_text(encoding="utf-8").splitlines() if not CUDA.match(line)]
    LOCK.write_text(HEADER + "\n".join(pins) + "\n", encoding="utf-8")
    items = [f'      - "{pin}"\n' if ";" in pin else f"      - {pin}\n" for pin in pins]
    ENVIRONMENT.write_text(ENVIRONMENT_HEADER + "".join(items), encoding="utf-8")
    print(f"{len(pins)} pins written to {LOCK.name} and {ENVIRONMENT.name}")


if __name__ == "__main__":
    main()
