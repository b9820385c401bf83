"""`python -m chunking_lib`: doctor, fetch, chunk, compare."""

from __future__ import annotations

import argparse
import sys

from chunking_lib import doctor, models


def main() -> int:
    """Run the command given on the command line; return the exit code."""
    parser = argparse.ArgumentParser(prog="python -m chunking_lib")
    commands = parser.add_subparsers(dest="command", required=True)
    commands.add_parser("doctor", help="say what is missing and how to mend it")
    fetch = commands.add_parser("fetch", help="download model weights, once")
    fetch.add_argument("names", nargs="*", metavar="NAME", help=", ".join(sorted(models.WEIGHTS)))
    fetch.add_argument("--quiet", action="store_true", help="no progress bar")
    commands.add_parser("chunk", help="split files into chunks", add_help=False)
    commands.add_parser("compare", help="compare ways to split files", add_help=False)
    if len(sys.argv) == 1:
        parser.print_help()
        return 2
    arguments, _ = parser.parse_known_args()
    if arguments.command in ("chunk", "compare"):
        return _run_app()
    arguments = parser.parse_args()  # once more, and this time nothing may be left over
    if arguments.command == "doctor":
        return doctor.main()
    for name in arguments.names or [models.MINILM]:
        try:
            print(f"{name}: {models.fetch(name, quiet=arguments.quiet)}")
        except (RuntimeError, ValueError) as error:
            print(error, file=sys.stderr)
            return 1
    return 0


def _run_app() -> int:
    # The doctor and fetch must run where these packages are missing.
    try:
        from chunking_lib.cli import app
    except ImportError as error:
        print(f"{error.name} is not installed: run the doctor", file=sys.stderr)
        return 1
    app(prog_name="python -m chunking_lib")
    return 0


if __name__ == "__main__":
    sys.exit(main())
