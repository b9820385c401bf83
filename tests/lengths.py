"""Ways to measure a text, for splitters of blocks: not all of them add up, or grow with it."""

from chunking_lib.length import token_length
from chunking_lib.models import load_tokenizer

LENGTHS = {
    "bytes": lambda text: len(text.encode("utf-8", "surrogatepass")),
    "quarters": lambda text: len(text) // 4,
    "words": lambda text: len(text.split()),
    "tokens": token_length(load_tokenizer()),
    "not monotone": lambda text: len(text) // 3 + len(text) % 7,
}
