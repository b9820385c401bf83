"""A chat client's replies for programs that speak OpenAI's protocol, recorded replies too."""

from __future__ import annotations

import json
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from chunking_lib.llm import Chat
from chunking_lib.replies import check_llm

__all__ = ["serve_llm"]


def serve_llm(llm: Chat) -> str:
    """Start a server that hands each question on to `llm`; return its address.

    It listens on 127.0.0.1 and a free port, needs no key, and ends with the process. Give the
    address as `base_url` to any client of OpenAI's chat completions. It passes on messages, JSON
    schema, temperature (0 if none is given) and the most tokens to write; one reply at a time, not
    streamed. An error of `llm` is status 400.

    Args:
        llm: what answers; see `load_llm`.
    Raises:
        ValueError: `llm` has no method chat.

    >>> from chunking_lib.llm import load_llm
    >>> serve_llm(load_llm()).endswith("/v1")
    True
    """
    check_llm(llm)

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            asked = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            try:
                status, said = 200, _answer(llm, asked)
            except Exception as error:  # whatever it is, the client is to hear of it
                status, said = 400, {"error": {"message": str(error), "type": "chunking_lib"}}
            body = json.dumps(said).encode()
            self.send_response(status)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: object) -> None:
            """Say nothing: it would stand in a notebook."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    return f"http://127.0.0.1:{server.server_port}/v1"


def _answer(llm: Chat, asked: dict[str, Any]) -> dict[str, Any]:
    if asked.get("stream"):
        raise ValueError("stream=true is not served here")
    schema = (asked.get("response_format") or {}).get("json_schema", {}).get("schema")
    most = asked.get("max_completion_tokens") or asked.get("max_tokens") or 512
    temperature = asked.get("temperature") or 0
    messages = [{name: one[name] for name in ("role", "content")} for one in asked["messages"]]
    reply = llm.chat(messages, schema=schema, temperature=temperature, max_tokens=most)
    message = {"role": "assistant", "content": reply.text}
    return {
        "id": "reply",
        "object": "chat.completion",
        "created": 0,
        "model": reply.model,
        "choices": [{"index": 0, "finish_reason": "stop", "message": message}],
        "usage": {
            "prompt_tokens": reply.prompt_tokens,
            "completion_tokens": reply.completion_tokens,
            "total_tokens": reply.prompt_tokens + reply.completion_tokens,
        },
    }
