"""The small language model of the course, behind llama.cpp's server in this process."""

from __future__ import annotations

import functools
import os
import threading
from typing import Any

from chunking_lib.models import fetch

__all__ = ["SMOLLM", "start_server"]

SMOLLM = "SmolLM2-135M-Instruct"

_ONE_AT_A_TIME = threading.Lock()


def start_server() -> str:
    """Start the server, unless this process has it already; return its address.

    It listens on 127.0.0.1 and a free port, and speaks OpenAI's protocol under /v1. It runs in
    threads of this process, so it ends with it, however that ends. Some 400 MB of memory.

    Raises:
        RuntimeError: the package xllamacpp or the weights are missing.

    Source: llama.cpp's server, as the package xllamacpp carries it.
    """
    with _ONE_AT_A_TIME:
        return f"{_server().listening_address}/v1"


@functools.cache
def _server() -> Any:
    try:
        import xllamacpp
    except ImportError as error:
        raise RuntimeError(
            f"{SMOLLM} needs the package xllamacpp, which is not installed: pip install xllamacpp"
        ) from error
    parameters = xllamacpp.CommonParams()
    parameters.model.path = str(fetch(SMOLLM) / f"{SMOLLM}.Q4_1.gguf")
    parameters.model_alias = {SMOLLM}  # else each reply names the file, with its folder
    parameters.hostnames = ["127.0.0.1"]
    parameters.port = 0  # a free one
    parameters.n_ctx = 8192
    # A prompt that begins like the one before is not read again: 4 s instead of 25 for a long one.
    parameters.cache_prompt = True
    parameters.cache_ram_mib = 256  # its own choice is 8 GB
    # One core stays free: a thread that waits for a busy core holds up all others.
    for threads in (parameters.cpuparams, parameters.cpuparams_batch):
        threads.n_threads = max(1, (os.cpu_count() or 1) - 1)
        threads.poll = 0  # wait asleep
    parameters.warmup = False
    parameters.ui = False
    parameters.verbosity = 1  # errors only
    return xllamacpp.Server(parameters)
