"""Running a learner's function once, and saying in plain words what came of it."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from types import FrameType
from typing import Any

__all__ = ["attempt", "report"]

_MOST_STEPS = 200_000


def attempt(
    call: str, run: Callable[[], Any], endless: str, *, raised: str | None = None
) -> list[Any] | None:
    """Run the learner's function once and return its list; else say why not and return None.

    Args:
        call: how the call is shown.
        run: the call.
        endless: the hint if it does not stop.
        raised: the hint if it raises.

    >>> attempt("double(2)", lambda: None, "")
    Not yet: double(2)
      got       None
      hint      is there a `return`?
    """
    hint = "is there a `return`?"
    try:
        with _limited():
            result = run()
            # A generator runs here. `...` is what an untouched stub may return.
            if result is not None and result is not ...:
                return list(result)
    except _TooLong:
        print(f"Not yet: {call}\n  hint      it does not stop. {endless}")
        return None
    except NotImplementedError:
        print("Not yet: the function is still to be written.")
        return None
    except Exception as error:
        print(f"Not yet: {call}\n  raised    {type(error).__name__}: {error}")
        if raised:
            print(f"  hint      {raised}")
        return None
    print(f"Not yet: {call}\n  got       None\n  hint      {hint}")
    return None


def report(call: str, got: Sequence[Any], hint: str, expected: Sequence[Any] | None = None) -> None:
    """Print a result that is not right yet."""
    print(f"Not yet: {call}\n  got       {_short(got)}")
    if expected is not None:
        print(f"  expected  {_short(expected)}")
    print(f"  hint      {hint}")


def _short(items: Sequence[Any]) -> str:
    shown = repr(list(items))
    return shown if len(shown) <= 80 else f"{shown[:76]} ...]"


class _TooLong(BaseException):
    """A loop that does not end. Not an `Exception`, so that no `except` of the learner keeps it."""


@contextmanager
def _limited() -> Iterator[None]:
    """Stop the code inside after some 200,000 lines: a notebook that hangs teaches nothing.

    Lines of installed packages are not counted: to import one can take more than that.
    """
    steps = 0
    installed = ("<frozen", sys.prefix, sys.base_prefix)

    def count(frame: FrameType, event: str, argument: Any) -> Any:
        nonlocal steps
        if event == "call" and frame.f_code.co_filename.startswith(installed):
            return None
        steps += 1
        if steps > _MOST_STEPS:
            raise _TooLong
        return count

    before = sys.gettrace()
    sys.settrace(count)
    try:
        yield
    finally:
        sys.settrace(before)
