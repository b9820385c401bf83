"""Documents of every kind: a loader and a splitter for each format.

`load_document` and `split_document` pick the one for a file by the end of its name.

A loader makes a `Document` whose `text` reads from top to bottom; all offsets refer to that text.
"""

from chunking_lib.formats.load import load_document
from chunking_lib.formats.split import split_document

__all__ = ["load_document", "split_document"]
