"""Documents of every kind: a loader for each format, and `load_document`, which picks one.

A loader makes a `Document` whose `text` reads from top to bottom; all offsets refer to that text.
"""

from chunking_lib.formats.load import load_document

__all__ = ["load_document"]
