"""The chat client: a service that speaks OpenAI's protocol, recordings, the local model."""

import json
import os
import re
import sqlite3
import subprocess
import sys
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import numpy as np
import pytest

from chunking_lib import local_server
from chunking_lib.agentic import split_agentic
from chunking_lib.chunk import check_chunks
from chunking_lib.llm import NoModelError, Reply, load_llm
from chunking_lib.local_server import SMOLLM
from chunking_lib.models import WEIGHTS, fetch
from chunking_lib.recordings import Recordings, open_recordings, request_key

ROOT = Path(__file__).resolve().parent.parent
KEY = "sk-secret-0123456789"
SCHEMA = {"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]}
ASK = [{"role": "user", "content": "Hi"}]


class Service(ThreadingHTTPServer):
    """`/v1/chat/completions` on 127.0.0.1. `failures` come first, then the echo of the question."""

    def __init__(self):
        super().__init__(("127.0.0.1", 0), Handler)
        self.requests: list[dict] = []
        self.keys: list[str] = []
        self.failures: list[tuple[int, object]] = []


class Handler(BaseHTTPRequestHandler):
    def do_POST(self):
        service = self.server
        request = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        service.requests.append(request)
        service.keys.append(self.headers["Authorization"])
        message = {"role": "assistant", "content": request["messages"][-1]["content"].upper()}
        reply = {
            "id": "1",
            "object": "chat.completion",
            "created": 1,
            "model": f"{request['model']}-2026",
            "choices": [{"index": 0, "finish_reason": "stop", "message": message}],
            "usage": {"prompt_tokens": 7, "completion_tokens": 3, "total_tokens": 10},
        }
        status, body = service.failures.pop(0) if service.failures else (200, reply)
        said = json.dumps(body).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(said)))
        self.send_header("retry-after-ms", "1")
        self.end_headers()
        self.wfile.write(said)

    def log_message(self, *_):
        pass


@pytest.fixture(autouse=True)
def nothing_set(monkeypatch):
    for name in ("OPENAI_API_KEY", "OPENAI_BASE_URL", "CHUNKING_LLM", "CHUNKING_RECORD"):
        monkeypatch.delenv(name, raising=False)
    yield
    open_recordings.cache_clear()


@pytest.fixture
def service(monkeypatch):
    with Service() as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.01,))
        thread.start()
        monkeypatch.setenv(
            "OPENAI_BASE_URL", f"http://user:{KEY}@127.0.0.1:{server.server_port}/v1"
        )
        monkeypatch.setenv("OPENAI_API_KEY", KEY)
        monkeypatch.setenv("CHUNKING_LLM", "toy")
        try:
            yield server
        finally:
            server.shutdown()
            thread.join()


@pytest.fixture
def hosted(service):
    made = []

    def load(**options):
        made.append(load_llm(**options))
        return made[-1]

    yield load
    for client in made:
        if client._made is not None:
            client._made.close()


@pytest.fixture
def no_server(monkeypatch):
    def refuse():
        raise AssertionError("a server was started")

    monkeypatch.setattr("chunking_lib.llm.start_server", refuse)


# --- a service --------------------------------------------------------------------------


def test_a_reply_of_a_service(service, hosted):
    llm = hosted(prices=(1.0, 10.0))
    assert llm.chat("Hi \ud800") == Reply("HI \ufffd", "toy-2026", 7, 3)
    assert llm.chat(ASK, schema=SCHEMA, temperature=None, max_tokens=9).text == "HI"
    first, second = service.requests
    assert first["messages"] == [{"role": "user", "content": "Hi \ufffd"}]
    assert (first["model"], first["temperature"], first["max_tokens"]) == ("toy", 0, 512)
    assert "response_format" not in first
    assert second["max_tokens"] == 9 and "temperature" not in second
    assert second["response_format"]["json_schema"]["schema"] == SCHEMA
    usage = llm.usage
    assert (usage.calls, usage.prompt_tokens, usage.completion_tokens) == (2, 14, 6)
    assert usage.cost == pytest.approx(74e-6) and usage.seconds > 0


@pytest.mark.parametrize("status", [408, 409, 429, 500, 503])
def test_what_may_pass_is_tried_again(service, hosted, status):
    service.failures = [(status, {"error": {"message": "busy"}})] * 3
    assert hosted().chat("Hi").text == "HI" and len(service.requests) == 4
    service.failures = [(status, {"error": {"message": "busy"}})] * 3
    with pytest.raises(RuntimeError, match=r"no reply of 'toy' from 127\.0\.0\.1: .*busy"):
        hosted(retries=2).chat("Hi")
    assert len(service.requests) == 7


@pytest.mark.parametrize(
    ("status", "kind"),
    [(400, RuntimeError), (401, NoModelError), (403, NoModelError), (404, NoModelError)],
)
def test_what_will_not_pass_is_not_tried_again(service, hosted, status, kind):
    service.failures = [(status, {"error": {"message": f"wrong key {KEY} for toy"}})]
    llm = hosted()
    with pytest.raises(RuntimeError, match="wrong key … for toy") as raised:
        llm.chat("Hi")
    assert type(raised.value) is kind and len(service.requests) == 1
    assert raised.value.__cause__ is raised.value.__context__ is None
    assert KEY[3:14] not in f"{raised.value} {llm!r} {vars(llm.usage)}"


@pytest.mark.parametrize("body", [{}, {"choices": []}, {"choices": None}, "text", [1], None])
def test_a_reply_without_a_message_is_none(service, hosted, body):
    service.failures = [(200, body)]
    with pytest.raises(RuntimeError, match="holds no message"):
        hosted().chat("Hi")


def test_a_refusal_is_its_text_and_nothing_is_an_empty_text(service, hosted):
    for message, text in (({"content": None, "refusal": "No."}, "No."), ({"content": None}, "")):
        choice = {"index": 0, "message": {"role": "assistant", **message}}
        service.failures = [(200, {"choices": [choice], "model": None})]
        assert hosted().chat("Hi") == Reply(text, "toy")


def test_the_name_that_a_server_gives_can_be_written(service, hosted, monkeypatch, tmp_path):
    monkeypatch.setenv("CHUNKING_RECORD", "1")
    choice = {"index": 0, "finish_reason": "stop", "message": {"role": "assistant", "content": "a"}}
    service.failures = [(200, {"model": "toy\ud800", "choices": [choice]})]
    assert hosted(recordings=tmp_path / "one.jsonl").chat("Hi").model == "toy\ufffd"


def test_a_server_that_is_not_there(monkeypatch):
    monkeypatch.setenv("OPENAI_BASE_URL", "http://127.0.0.1:9/v1")
    with pytest.raises(RuntimeError, match=r"no reply of 'any' from 127\.0\.0\.1: Connection"):
        load_llm("any", retries=0).chat("Hi")


def test_which_model_is_meant(monkeypatch):
    assert load_llm().model == SMOLLM
    monkeypatch.setenv("CHUNKING_LLM", "toy")
    assert load_llm().model == "toy" and load_llm("other").model == "other"
    with pytest.raises(NoModelError, match="'toy' needs a service: set OPENAI_API_KEY, or"):
        load_llm().chat("Hi")
    monkeypatch.delenv("CHUNKING_LLM")
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    with pytest.raises(NoModelError, match=f"set CHUNKING_LLM .* or to {SMOLLM}"):
        load_llm()
    assert load_llm(SMOLLM).model == SMOLLM
    monkeypatch.setenv("OPENAI_API_KEY", f"{KEY}\u2026")
    with pytest.raises(NoModelError, match="has a character that no key has") as raised:
        load_llm("toy").chat("Hi")
    assert KEY not in str(raised.value)


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"timeout": 0}, "timeout=0 must"),
        ({"timeout": "9"}, "timeout='9' must"),
        ({"retries": -1}, "retries=-1 must"),
        ({"model": ""}, "model='' must"),
        ({"model": 5}, "model=5 must"),
        ({"prices": 5}, "prices=5 must"),
        ({"prices": (1,)}, "prices=.* must be two numbers of 0 or more"),
        ({"prices": "ab"}, "prices='ab' must"),
        ({"prices": (float("nan"), 1)}, "prices=.* must"),
        ({"prices": (1, -1)}, "prices=.* must"),
        ({"recordings": 5}, "recordings=5 must"),
        ({"recordings": ""}, "recordings='' must be the path of a file"),
    ],
)
def test_arguments_of_load_llm(options, said):
    with pytest.raises(ValueError, match=said):
        load_llm(**options)


@pytest.mark.parametrize(
    "messages",
    [
        *([], None, 5, [{}], [{"role": "user"}], ["Hi"], {"a": "b"}),
        [{"role": "user", "content": "Hi", "name": None}],
        [{"role": "user", "content": "Hi", 5: "five"}],
    ],
)
def test_messages_that_are_none(no_server, messages):
    with pytest.raises(ValueError, match="messages"):
        load_llm().chat(messages)


@pytest.mark.parametrize("most", [0, -1, 2.5, True, "9"])
def test_a_number_of_tokens_that_is_none(no_server, most):
    with pytest.raises(ValueError, match="max_tokens="):
        load_llm().chat("Hi", max_tokens=most)


@pytest.mark.parametrize("value", ["hot", -5, float("nan"), float("inf"), True, [1]])
def test_a_temperature_that_is_none(no_server, value):
    with pytest.raises(ValueError, match=r"temperature=.* must be a number of 0 or more"):
        load_llm().chat("Hi", temperature=value)


@pytest.mark.parametrize("schema", [{1}, {"maximum": np.int64(5)}, {"a": object()}])
def test_a_schema_that_json_cannot_hold(no_server, schema):
    with pytest.raises(ValueError, match=r"schema=.* cannot be written as JSON"):
        load_llm().chat("Hi", schema=schema)


# --- recordings -------------------------------------------------------------------------


def test_a_reply_is_recorded_when_told_and_replayed_without_a_server(
    service, hosted, monkeypatch, tmp_path
):
    path = tmp_path / "replies" / "one.jsonl"
    monkeypatch.setenv("CHUNKING_RECORD", "1")
    live = hosted(recordings=path)
    first = live.chat("Hi\u2028there", schema=SCHEMA)
    assert live.chat("Hi\u2028there", schema=SCHEMA) == first
    assert hosted(recordings=path).chat("Ho").text == "HO"  # a second client adds to the file
    assert len(service.requests) == 2
    text = path.read_text(encoding="utf-8")
    rows = [json.loads(line) for line in text.split("\n") if line]
    assert [row["text"] for row in rows] == ["HI\u2028THERE", "HO"]
    assert all(re.fullmatch(r"\d{4}-\d\d-\d\d", row["date"]) for row in rows)
    assert all(row["model"] == "toy-2026" and len(row["key"]) == 64 for row in rows)
    assert KEY[3:12] not in text and "127.0.0.1" not in text

    for name in ("CHUNKING_RECORD", "OPENAI_API_KEY", "OPENAI_BASE_URL"):
        monkeypatch.delenv(name)
    replayed = load_llm(recordings=path)
    assert replayed.chat("Hi\u2028there", schema=SCHEMA) == first
    assert replayed._made is None and replayed.usage.calls == 1
    assert replayed.usage.seconds == rows[0]["seconds"] and len(service.requests) == 2


@pytest.mark.parametrize(
    "other",
    [{"messages": "Ho"}, {"schema": SCHEMA}, {"temperature": 1}, {"max_tokens": 9}],
    ids=lambda other: next(iter(other)),
)
def test_a_request_that_differs_has_no_recording(monkeypatch, tmp_path, no_server, other):
    path = tmp_path / "one.jsonl"
    key = request_key("toy", ASK, schema=None, temperature=0, max_tokens=512)
    Recordings(path).add(key, {"text": "HI", "model": "toy"})
    llm = load_llm("toy", recordings=path)
    assert llm.chat("Hi").text == "HI"
    with pytest.raises(
        NoModelError,
        match=r"^no recording of this request to 'toy' in one.jsonl, and no live model: .*API_KEY",
    ):
        llm.chat(**{"messages": "Hi", **other})
    monkeypatch.setenv("CHUNKING_RECORD", "0")
    with pytest.raises(NoModelError, match="CHUNKING_RECORD=0 allows no live model: run make rec"):
        load_llm("toy", recordings=path).chat(**{"messages": "Hi", **other})


def test_nothing_is_recorded_unless_told(service, hosted, tmp_path):
    assert hosted(recordings=tmp_path / "one.jsonl").chat("Hi").text == "HI"
    assert list(tmp_path.iterdir()) == []


def test_recording_begins_the_file_anew(monkeypatch, service, hosted, tmp_path):
    path = tmp_path / "one.jsonl"
    Recordings(path).add("old", {"text": "old", "model": "toy"})
    monkeypatch.setenv("CHUNKING_RECORD", "1")
    hosted(recordings=path).chat("Hi")
    assert "old" not in path.read_text(encoding="utf-8")


def test_a_reply_that_cannot_be_written_leaves_the_file_as_it_was(monkeypatch, tmp_path):
    path = tmp_path / "one.jsonl"
    Recordings(path).add("old", {"text": "old", "model": "toy"})
    monkeypatch.setenv("CHUNKING_RECORD", "1")
    for row in ({"model": "\ud800"}, {"model": object()}):
        with pytest.raises((UnicodeEncodeError, TypeError)):
            Recordings(path).add("new", {"text": "new", **row})
    monkeypatch.delenv("CHUNKING_RECORD")
    assert Recordings(path).get("old") and list(tmp_path.iterdir()) == [path]


ROW = '{"key": "a", "text": "b", "model": "c", "date": "d", '


@pytest.mark.parametrize(
    "line",
    [
        *("{", "[]", '{"key": "a"}', '{"key": 1, "text": "b"}', "\xff", "[" * 100_000),
        *(ROW + f'"prompt_tokens": {number}}}' for number in ('"5"', "null", "[1]", "-1", "NaN")),
        ROW.replace("b", "\\ud800") + '"seconds": 1}',
    ],
    ids=lambda line: line[-40:],
)
def test_a_row_that_is_not_whole_names_its_line(tmp_path, line):
    path = tmp_path / "one.jsonl"
    Recordings(path).add("a", {"text": "b", "model": "toy"})
    with path.open("ab") as file:
        file.write(line.encode("latin-1"))
    with pytest.raises(RuntimeError, match=r"line 2 of the recordings in one.jsonl|cannot read"):
        load_llm(recordings=path)


def test_recordings_of_the_course_name_their_model():
    for path in (ROOT / "data" / "replies").glob("*.jsonl"):
        assert len(Recordings(path)) > 0, path


def test_no_file_of_the_repository_holds_a_key():
    listed = subprocess.run(
        ["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, check=True
    ).stdout.decode()
    key = re.compile(
        rb"\b(?:sk-(?:proj-|ant-|live-)?[A-Za-z0-9_-]{24,}|hf_[A-Za-z0-9]{30,}|AKIA[0-9A-Z]{16}"
        rb"|gh[pousr]_\w{30,}|xox[baprs]-[\w-]{20,}|AIza[\w-]{35})"
        rb"|-----BEGIN [A-Z ]*PRIVATE KEY|OPENAI_API_KEY *[=:] *['\"]?sk-"
    )
    found = [
        name
        for name in listed.split("\0")
        if name and (ROOT / name).is_file() and key.search((ROOT / name).read_bytes())
    ]
    assert found == []


# --- the cache --------------------------------------------------------------------------


@pytest.fixture
def folder(monkeypatch, tmp_path):
    monkeypatch.setenv("CHUNKING_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache"


def test_what_was_asked_once_is_not_asked_again(service, hosted, folder):
    first = hosted(cache=True).chat("Hi \ud800")
    again = hosted(cache=True)
    assert again.chat("Hi \ud800") == first and len(service.requests) == 1
    assert again.usage.prompt_tokens == 7 and again._made is None
    others = [{"schema": SCHEMA}, {"temperature": 1}, {"max_tokens": 9}]
    for other in others:
        again.chat("Hi \ud800", **other)
    assert len(service.requests) == 4
    assert hosted().chat("Hi \ud800") == first and len(service.requests) == 5
    assert KEY[3:12].encode() not in (folder / "replies.sqlite").read_bytes()


def test_a_failure_is_not_kept_and_what_came_before_it_is(service, hosted, folder):
    llm = hosted(cache=True, retries=0)
    llm.chat("one")
    service.failures = [(500, {"error": {"message": "busy"}})]
    with pytest.raises(RuntimeError, match="busy"):
        llm.chat("two")
    assert [hosted(cache=True).chat(said).text for said in ("one", "two")] == ["ONE", "TWO"]
    assert len(service.requests) == 3


def test_another_server_has_another_cache(service, hosted, folder, monkeypatch):
    hosted(cache=True).chat("Hi")
    monkeypatch.setenv("OPENAI_BASE_URL", f"http://localhost:{service.server_port}/v1")
    hosted(cache=True).chat("Hi")
    assert len(service.requests) == 2


def test_recording_asks_anew_whatever_the_cache_has(service, hosted, folder, monkeypatch, tmp_path):
    hosted(cache=True).chat("Hi")
    monkeypatch.setenv("CHUNKING_RECORD", "1")
    hosted(cache=True, recordings=tmp_path / "one.jsonl").chat("Hi")
    assert len(service.requests) == 2 and (tmp_path / "one.jsonl").is_file()


@pytest.mark.parametrize("row", [None, b"no database", '"x"', "{", '{"text": "x"}'])
def test_a_cache_that_cannot_be_read_is_no_cache(service, hosted, folder, row):
    hosted(cache=True).chat("Hi")
    file = folder / "replies.sqlite"
    if row is None:
        file.unlink()
        file.mkdir()
    elif isinstance(row, bytes):
        file.write_bytes(row * 1000)
    else:
        database = sqlite3.connect(file)
        with database:
            database.execute("UPDATE replies SET row = ?", (row,))
        database.close()
    assert hosted(cache=True).chat("Hi").text == "HI" and len(service.requests) == 2


# --- the model in this process ----------------------------------------------------------


def test_a_missing_package_or_weights_are_named(monkeypatch):
    local_server._server.cache_clear()
    monkeypatch.setitem(sys.modules, "xllamacpp", None)
    with pytest.raises(NoModelError, match="needs the package xllamacpp"):
        load_llm().chat("Hi")


@pytest.fixture(scope="module")
def smollm():
    with pytest.MonkeyPatch.context() as patch:
        for name in ("OPENAI_API_KEY", "OPENAI_BASE_URL", "CHUNKING_LLM"):
            patch.delenv(name, raising=False)
        local_server._server.cache_clear()
        client = load_llm()
        yield client
        client._made.close()


@pytest.mark.slow
def test_the_local_model_answers(smollm):
    reply = smollm.chat("Name a colour.", max_tokens=8)
    assert reply.text.strip() and reply.model == SMOLLM
    assert 0 < reply.completion_tokens <= 8 and reply.prompt_tokens > 3
    assert re.fullmatch(r"http://127\.0\.0\.1:\d+/v1/", smollm.base_url)


@pytest.mark.slow
def test_the_local_model_keeps_to_a_schema(smollm):
    schema = {**SCHEMA, "properties": {"n": {"type": "integer", "minimum": 2, "maximum": 5}}}
    for question in ("How many cats are there?", "Tell me a story.", "1000"):
        found = json.loads(smollm.chat(question, schema=schema, max_tokens=40).text)
        assert list(found) == ["n"] and 2 <= found["n"] <= 5


@pytest.mark.slow
def test_a_document_is_split_with_the_local_model(smollm):
    text = (ROOT / "data/corpus/history_of_swan_bridge.txt").read_text(encoding="utf-8")[:1500]
    assert check_chunks(text, split_agentic(text, llm=smollm, size=600), size=600) == []


SCRIPT = """
import os, sys, threading
from chunking_lib.llm import load_llm
llm = load_llm()
llm.chat("Hi", max_tokens=1)
tasks = os.listdir("/proc/self/task") if os.path.isdir("/proc/self/task") else []
print(llm.base_url, os.cpu_count(), flush=True)
{end}
"""


@pytest.mark.slow
@pytest.mark.parametrize("end", ["", "sys.exit(3)", "os.kill(os.getpid(), 9)", "raise ValueError"])
def test_the_server_ends_with_its_process_however_it_ends(end):
    import socket

    run = subprocess.run(
        [sys.executable, "-c", SCRIPT.format(end=end)],
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert run.returncode == {"": 0, "sys.exit(3)": 3, "raise ValueError": 1}.get(end, -9)
    port = int(re.search(r":(\d+)/", run.stdout)[1])
    with socket.socket() as connection:
        assert connection.connect_ex(("127.0.0.1", port)) != 0
    assert "ValueError" in run.stderr if "raise" in end else run.stderr == ""


@pytest.mark.slow
def test_the_server_takes_no_more_threads_than_cores(monkeypatch):
    import xllamacpp

    taken = []
    monkeypatch.setattr(xllamacpp, "Server", lambda parameters: taken.append(parameters))
    local_server._server.__wrapped__()
    (parameters,) = taken
    for threads in (parameters.cpuparams, parameters.cpuparams_batch):
        assert 1 <= threads.n_threads <= os.cpu_count()
    assert parameters.cache_prompt and parameters.hostnames == ["127.0.0.1"]
    assert parameters.model.path.startswith(str(fetch(SMOLLM)))
    assert Path(parameters.model.path).name in WEIGHTS[SMOLLM].files
