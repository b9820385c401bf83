"""Chunking for retrieval: the tested implementations behind the notebooks of the course.

Each module holds one idea and is imported by name, for example
``from chunking_lib.recursive import split_recursive``.
"""

__version__ = "0.1.0"
