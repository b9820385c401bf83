"""`python -m chunking_lib doctor` and `python -m chunking_lib fetch [NAME ...]`."""

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
    arguments = parser.parse_args()
    if arguments.command == "doctor":
        return doctor.main()
    for name in arguments.names or [models.MINILM]:
        try:
            print(f"{name}: {models.fetch(name, quiet=arguments.quiet)}")
        except (RuntimeError, ValueError) as error:
            print(error, file=sys.stderr)
            return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
