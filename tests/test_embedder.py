"""Text to vectors: the real MiniLM, a toy in its place, a server that speaks OpenAI's protocol."""

import copy
import json
import os
import subprocess
import sys
import threading
import zlib
from concurrent.futures import ThreadPoolExecutor
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import nbclient
import nbformat
import numpy as np
import pytest
import torch
from corpus import read_eight
from hypothesis import given
from hypothesis import strategies as st
from strategies import texts as any_texts
from toy_model import ToyModel

from chunking_lib import embedder as embedder_module
from chunking_lib import models
from chunking_lib.embedder import Embedder, OpenAIEmbedder
from chunking_lib.models import load_embedder, load_tokenizer
from chunking_lib.service import SAID

SEVEN = "one two three four five six seven"


@pytest.fixture(autouse=True)
def own_vectors(tmp_path, monkeypatch):
    """The weights of this computer, and an empty cache of vectors."""
    monkeypatch.setattr("chunking_lib.vectors.cache_folder", lambda: tmp_path / "vectors")


def toy(max_tokens: int = 5, *, name: str = "toy", cache: bool = False) -> Embedder:
    return Embedder(name, ToyModel(max_tokens), fingerprint=name, cache=cache)


@pytest.fixture(scope="module")
def reader() -> Embedder:
    """For many texts: to make one takes a moment."""
    return toy(500)


# --- what every embedder does -----------------------------------------------------------


def test_tok_blank_in_batch():
    embedder = toy()
    vectors = embedder.encode(["alpha", "", "  \n", "beta"])
    assert set(embedder._model.read) == {"alpha", "beta"}
    assert vectors.shape == (4, 8) and vectors.dtype == np.float32
    assert np.flatnonzero(vectors.any(axis=1)).tolist() == [0, 3]


@pytest.mark.parametrize(
    "blank", ["", " ", "\u3000\t", "\u200b", "\ufeff\u2060 \xad", "\u200d\ufe0f"]
)
@pytest.mark.parametrize("pool", [False, True])
def test_what_shows_nothing_is_blank(blank, pool):
    embedder = toy()
    assert not embedder.encode([blank], pool=pool).any()
    assert embedder._model.read == [] and embedder.calls == 0


def test_an_empty_batch_has_no_rows():
    assert toy().encode([]).shape == toy().encode([], pool=True).shape == (0, 8)


def test_one_string_is_not_a_batch():
    with pytest.raises(ValueError, match=r"texts='alpha' .* list of strings"):
        toy().encode("alpha")


@pytest.mark.parametrize(
    "wrong", [None, 5, b"abc", [None], ["a", 5], [b"abc"], [["a"]], {"a": 1}, {"a"}]
)
def test_what_is_no_list_of_strings_is_refused(wrong):
    with pytest.raises(ValueError, match=r"texts.* must be a list of strings"):
        toy().encode(wrong)


@pytest.mark.parametrize("texts", [("a", "b"), np.array(["a", "b"]), (t for t in "ab")])
def test_strings_in_anything_ordered_are_a_batch(texts):
    assert (toy().encode(texts) == toy().encode(["a", "b"])).all()


@pytest.mark.parametrize("text", ["\0", "\x01\x02", "\ue000 \uf0b7", "\ufffd", "\ud800"], ids=ascii)
@pytest.mark.parametrize("pool", [False, True])
def test_a_text_that_the_model_has_no_token_for_has_no_meaning(text, pool):
    embedder = toy()
    assert embedder.count(text) == 0
    vectors = embedder.encode([text, "!", "猫", "🦥", f"{text}a"], pool=pool)
    assert vectors.any(axis=1).tolist() == [False, True, True, True, True]


def test_lone_surrogates_reach_neither_tokenizer_nor_model():
    embedder = toy()
    vectors = embedder.encode(["a\ud800b", "a\ufffdb"])
    assert (vectors[0] == vectors[1]).all()
    assert embedder.count("a\ud800b") == embedder.count("a\ufffdb") > 0
    assert embedder.encode_tokens("a\ud800b").offsets.max() == 3


def test_one_warning_says_how_much_is_not_read():
    embedder = toy()
    assert (embedder.count(SEVEN), embedder.unseen(SEVEN)) == (7, 2)
    assert embedder.unseen("one two three four five") == 0
    texts = [SEVEN, "one", "one two three four five six"]
    with pytest.warns(
        UserWarning, match="2 of 3 texts .* 5 tokens that toy reads: 3 tokens were not read"
    ) as caught:
        embedder.encode(texts)
    assert len(caught) == 1 and caught[0].filename == __file__
    assert embedder.encode(["one two three four five"]).any()  # and no warning, which would raise


def test_a_long_text_is_read_up_to_the_limit():
    embedder = toy()
    with pytest.warns(UserWarning):
        vectors = embedder.encode([SEVEN, "one two three four five"])
    assert (vectors[0] == vectors[1]).all()


def test_pooling_reads_all_and_weighs_windows_by_their_tokens():
    embedder = toy()
    pooled = embedder.encode([SEVEN, "one"], pool=True)
    assert embedder.calls == 3
    parts = embedder.encode(["one two three four five", "six seven", "one"])
    expected = 5 * parts[0] + 2 * parts[1]
    np.testing.assert_allclose(pooled[0], expected / np.linalg.norm(expected), atol=1e-6)
    assert (pooled[1] == parts[2]).all()


@given(any_texts, st.integers(1, 6))
def test_windows_hold_all_tokens_and_each_can_be_read(reader, text, size):
    embedder = copy.copy(reader)
    embedder.max_tokens = size
    text = models.without_surrogates(text)
    parts = embedder._windows(text)
    total = embedder.count(text)
    assert sum(tokens for _, tokens in parts) == max(1, total)
    position = 0
    for part, tokens in parts:
        # By itself, one token from inside a word can count two; nothing smaller can be sent.
        assert embedder.count(part) <= size or tokens == 1
        position = text.index(part, position)  # in order: no part begins before the last one


def test_texts_given_twice_are_embedded_once():
    embedder = toy()
    vectors = embedder.encode(["a", "b", "a"])
    assert embedder.calls == 2 and embedder._model.read.count("a") == embedder._model.read.count(
        "b"
    )
    assert (vectors[0] == vectors[2]).all() and (vectors[0] != vectors[1]).any()


@given(st.lists(any_texts, max_size=8), st.randoms(use_true_random=False))
def test_neither_batch_nor_order_changes_a_bit(reader, texts, random):
    order = random.sample(range(len(texts)), len(texts))
    together = reader.encode([texts[i] for i in order])
    for row, i in zip(together, order, strict=True):
        assert (row == reader.encode([texts[i]])[0]).all()
        assert np.linalg.norm(row) == pytest.approx(1, abs=1e-5) or not row.any()


def test_long_work_shows_a_bar_and_short_work_does_not():
    script = (
        "from chunking_lib import embedder\n"
        "embedder._LONG_WORK = 3\n"
        "list(embedder._progress([1, 2, 3], int(__import__('sys').argv[1])))\n"
    )
    for texts, disabled, shown in (("2", "", False), ("3", "", True), ("3", "1", False)):
        run = subprocess.run(
            [sys.executable, "-c", script, texts],
            env=os.environ | {"TQDM_DISABLE": disabled},
            capture_output=True,
            text=True,
            check=True,
        )
        assert ("embedding" in run.stderr) == shown, (texts, disabled)


@pytest.mark.slow
@pytest.mark.parametrize("disabled", ["", "1"])
def test_a_notebook_shows_a_bar_unless_bars_are_hidden(disabled, monkeypatch):
    """tqdm's bar for notebooks is another class, which does not look at `TQDM_DISABLE`."""
    monkeypatch.setenv("TQDM_DISABLE", disabled)
    script = (
        "from chunking_lib import embedder\n"
        "embedder._LONG_WORK = 3\n"
        "for _ in embedder._progress([1, 2, 3], 3): pass\n"
    )
    notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(script)])
    nbclient.NotebookClient(notebook, kernel_name="python3").execute()
    assert bool(notebook.cells[0].outputs) == (not disabled)


def test_an_error_of_the_model_is_passed_on_and_torch_is_as_before():
    embedder, before = toy(), torch.get_num_threads()
    embedder._model.dimensions = 0
    embedder._model.tokenizer.model_input_names = None
    with pytest.raises(TypeError):
        embedder.encode(["a", "b c"])
    assert torch.get_num_threads() == before
    assert toy().encode(["a"]).any()


def test_several_threads_may_encode_at_once(reader):
    texts = [f"{i} ferry" + " word" * (i % 7) for i in range(40)]
    expected, before = reader.encode(texts), torch.get_num_threads()
    with ThreadPoolExecutor(4) as pool:
        for found in pool.map(reader.encode, [texts] * 8):
            np.testing.assert_array_equal(found, expected)
    assert torch.get_num_threads() == before


def test_a_model_without_a_fast_tokenizer_is_refused():
    model = ToyModel(5)
    model.tokenizer.backend_tokenizer = None
    with pytest.raises(ValueError, match="name='slow' has no fast tokenizer"):
        Embedder("slow", model, fingerprint="slow", cache=False)


# --- tokens of one text -----------------------------------------------------------------

ODD = (
    "The café: naïve façade, e\u0301tude — 12.50 €.",
    "เรือเฟอร์รี่ออกเวลาเก้าโมง",
    "Ferry 🦥 at 👩\u200d👩\u200d👧 nine ❤\ufe0f!",
    "猫が船に乗る。 한국어",
    "\x00\ufeffodd\r\n\u200bspaces\xad",
    "half \ud83d of a pair",
)


@pytest.mark.parametrize("text", ODD, ids=ascii)
def test_offsets_point_at_the_characters_of_each_token(text):
    embedder = toy(100)
    found = embedder.encode_tokens(text)
    assert len(found.vectors) == len(found.offsets) == len(found.special)
    assert found.special.tolist() == [True, *[False] * (len(found.special) - 2), True]
    encoding = embedder.tokenizer.encode(models.without_surrogates(text))
    normalise = embedder.tokenizer.normalizer.normalize_str
    for (start, end), token in list(zip(found.offsets, encoding.tokens, strict=True))[1:-1]:
        if token != "[UNK]":
            part = normalise(models.without_surrogates(text[start:end])).strip()
            # A Korean syllable is one character and up to three tokens.
            assert token.removeprefix("##") == part or (token[2:] in part and end - start == 1)
    inside = found.offsets[~found.special]
    assert (inside[:, 0] < inside[:, 1]).all() and (np.diff(inside, axis=0) >= 0).all()


def test_tokens_of_a_text_that_is_too_long():
    with pytest.raises(ValueError, match="text has 7 tokens; toy reads 5"):
        toy().encode_tokens(SEVEN)


def test_a_blank_text_has_no_tokens_but_the_models_own():
    found = toy().encode_tokens("")
    assert found.special.tolist() == [True, True] and found.offsets.tolist() == [[0, 0], [0, 0]]


# --- the cache --------------------------------------------------------------------------


def test_a_second_embedder_makes_no_call():
    texts = ["a ferry", "a tram", SEVEN]
    first, second = toy(cache=True), toy(cache=True)
    with pytest.warns(UserWarning):
        made = first.encode(texts)
    with pytest.warns(UserWarning, match="2 tokens were not read"):  # cached, and still said
        found = second.encode(texts)
    assert (first.calls, second.calls) == (3, 0) and second._model.read == []
    assert (made == found).all()


def test_pooled_and_cut_texts_are_kept_apart():
    embedder = toy(cache=True)
    pooled = embedder.encode([SEVEN], pool=True)
    with pytest.warns(UserWarning):
        cut = embedder.encode([SEVEN])
    assert (pooled != cut).any()
    assert (toy(cache=True).encode([SEVEN], pool=True) == pooled).all()


def test_another_model_or_limit_does_not_find_them():
    toy(cache=True).encode(["a ferry"])
    for other in (toy(name="other", cache=True), toy(6, cache=True), toy(cache=False)):
        other.encode(["a ferry"])
        assert other.calls == 1


# --- the real model ---------------------------------------------------------------------


@pytest.fixture(scope="module")
def minilm() -> Embedder:
    return load_embedder(cache=False)


@pytest.fixture(scope="module")
def passages(minilm) -> list[str]:
    """Texts of all lengths that the model reads whole, in several scripts."""
    documents = list(read_eight().values())
    cut = [d.text[i * 700 : i * 700 + 90 * i + 40] for d in documents for i in range(1, 6)]
    return [text for text in [*cut, *ODD[:4], "x"] if not minilm.unseen(text)]


@pytest.mark.slow
def test_vectors_are_those_of_sentence_transformers(minilm, passages):
    expected = minilm._model.encode(
        passages, normalize_embeddings=True, show_progress_bar=False, batch_size=7
    )
    found = minilm.encode(passages)
    np.testing.assert_allclose(found, expected, atol=1e-6)
    assert minilm._model.tokenizer.backend_tokenizer.padding is not None  # its own is left alone


@pytest.mark.slow
def test_no_bit_depends_on_the_batch_or_the_order(minilm, passages):
    whole = minilm.encode(passages)
    np.testing.assert_array_equal(minilm.encode(passages[::-1])[::-1], whole)
    np.testing.assert_array_equal(minilm.encode(passages[::3]), whole[::3])
    for i in (0, 17, len(passages) - 1):
        np.testing.assert_array_equal(minilm.encode([passages[i]])[0], whole[i])


@pytest.mark.slow
@pytest.mark.parametrize("threads", [1, 2, 5])
def test_no_bit_depends_on_how_many_are_alike_or_on_the_cores(minilm, monkeypatch, threads):
    """Short texts of few lengths, where torch would share its sums between threads."""
    words = ["ferry", "tram", "quay", "pier", "lamp", "rain", "seal", "gull", "rope", "crew"]
    texts = [" ".join(words[i % 10 - n :][:n]) for n in range(1, 9) for i in range(10)]
    texts = list(dict.fromkeys(texts))
    alone = np.concatenate([minilm.encode([text]) for text in texts])
    before = torch.get_num_threads()
    torch.set_num_threads(threads)
    try:
        for batch in (1, 2, 3, 32):
            monkeypatch.setattr(embedder_module, "_BATCH", batch)
            np.testing.assert_array_equal(minilm.encode(texts), alone)
        assert torch.get_num_threads() == threads
    finally:
        torch.set_num_threads(before)


@pytest.mark.slow
def test_the_real_embedder(minilm):
    assert (minilm.dimensions, minilm.max_tokens) == (384, 254)
    assert repr(minilm) == "Embedder('all-MiniLM-L6-v2', 384 dimensions, 254 tokens)"
    vectors = minilm.encode(
        ["The ferry is late.", "", "The boat is delayed.", "A recipe for apple cake.", "a\udfff"]
    )
    assert vectors.shape == (5, 384) and vectors.dtype == np.float32
    np.testing.assert_allclose(np.linalg.norm(vectors, axis=1), [1, 0, 1, 1, 1], atol=1e-5)
    assert vectors[0] @ vectors[2] > 0.6 > 0.3 > vectors[0] @ vectors[3]


@pytest.mark.slow
def test_the_real_embedder_reads_254_tokens_and_no_more(minilm):
    full = "word " * 254
    with pytest.warns(UserWarning, match="1 of 2 texts .* 1 tokens were not read"):
        same = minilm.encode([full, full + "ferry"])
    np.testing.assert_allclose(same[0], same[1], atol=1e-6)
    shorter = minilm.encode(["word " * 253, "word " * 253 + "ferry"])
    assert abs(shorter[0] - shorter[1]).max() > 1e-3
    pooled = minilm.encode([full + "ferry"], pool=True)
    assert abs(pooled[0] - same[0]).max() > 1e-4


@pytest.mark.slow
@pytest.mark.parametrize(
    "text", [*ODD, "The ferry sails at nine. " * 20], ids=lambda t: ascii(t)[:20]
)
def test_the_mean_of_token_vectors_is_the_vector(minilm, text):
    found = minilm.encode_tokens(text)
    assert found.vectors.shape == (len(found.offsets), 384)
    mean = found.vectors.mean(axis=0)
    np.testing.assert_allclose(mean / np.linalg.norm(mean), minilm.encode([text])[0], atol=1e-6)


@pytest.mark.slow
def test_minilm_can_read_510_tokens():
    embedder = load_embedder(max_tokens=510, cache=False)
    assert embedder.max_tokens == 510 == embedder.count("word " * 510)
    text = "word " * 509 + "ferry"
    vectors = embedder.encode([text, "word " * 510])  # no warning, which would raise
    assert abs(vectors[0] - vectors[1]).max() > 1e-4
    assert len(embedder.encode_tokens(text).vectors) == 512


@pytest.mark.slow
@pytest.mark.parametrize("number", [0, -1, 511])
def test_minilm_cannot_read_any_number_of_tokens(number):
    with pytest.raises(ValueError, match=f"max_tokens={number} must be 1 to 510"):
        load_embedder(max_tokens=number)


@pytest.mark.slow
def test_the_real_embedder_opens_no_connection():
    script = (
        "import sys\n"
        "sys.addaudithook(lambda event, _: event == 'socket.connect' and sys.exit(event))\n"
        "from chunking_lib.models import load_embedder\n"
        "print(load_embedder(cache=False).encode(['a ferry']).shape)"
    )
    run = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True)
    assert (run.stdout, run.stderr) == ("(1, 384)\n", "")


@pytest.mark.slow
def test_a_folder_is_a_model_too(minilm):
    same = load_embedder(str(models.fetch(models.MINILM)), cache=False)
    text = ["The ferry sails at nine."]
    np.testing.assert_array_equal(same.encode(text), minilm.encode(text))


@pytest.mark.slow
def test_the_fingerprint_of_a_folder_tells_weights_tokenizer_and_pooling(minilm):
    model = minilm._model
    before = embedder_module._hash_weights(model)
    assert before == embedder_module._hash_weights(model)
    pooling = model[1]
    mode, pooling.pooling_mode = pooling.pooling_mode, "cls"
    try:
        assert embedder_module._hash_weights(model) != before
    finally:
        pooling.pooling_mode = mode


@pytest.mark.slow
def test_a_model_that_is_nowhere(monkeypatch):
    # huggingface_hub reads the variable once, when it is imported.
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_OFFLINE", True)
    with pytest.raises(RuntimeError, match="cannot load the model 'no-such/model-anywhere': "):
        load_embedder("no-such/model-anywhere")


# --- OpenAI's protocol ------------------------------------------------------------------

KEY = "sk-secret-0123456789"


class Service(ThreadingHTTPServer):
    """`/v1/embeddings` on 127.0.0.1. Vectors are made from the text; the reply is out of order."""

    def __init__(self):
        super().__init__(("127.0.0.1", 0), Handler)
        self.requests: list[dict] = []
        self.keys: list[str] = []
        self.failure: tuple[int, object] | None = None
        self.short = False

    @property
    def texts(self) -> list[str]:
        return [text for request in self.requests[1:] for text in request["input"]]


class Handler(BaseHTTPRequestHandler):
    def do_POST(self):
        service = self.server
        request = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        service.requests.append(request)
        service.keys.append(self.headers["Authorization"])
        status, reply = 200, None
        if self.path != "/v1/embeddings":
            status, reply = 404, {"error": {"message": self.path}}
        elif service.failure:
            status, reply = service.failure
        else:
            rows = [
                {"object": "embedding", "index": i, "embedding": vector_of(text)}
                for i, text in enumerate(request["input"])
            ]
            usage = {"prompt_tokens": 1, "total_tokens": 1}
            data = rows[::-1][1:] if service.short else rows[::-1]
            reply = {"object": "list", "data": data, "model": request["model"], "usage": usage}
        body = json.dumps(reply).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_):
        pass


def vector_of(text: str) -> list[float]:
    return [2.0 + zlib.crc32(f"{i}{text}".encode()) % 97 for i in range(6)]


def unit(text: str) -> np.ndarray:
    vector = np.array(vector_of(text), dtype=np.float32)
    return vector / np.linalg.norm(vector)


@pytest.fixture
def service(monkeypatch):
    with Service() as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.01,))
        thread.start()
        monkeypatch.setenv("OPENAI_BASE_URL", f"http://127.0.0.1:{server.server_port}/v1")
        monkeypatch.setenv("OPENAI_API_KEY", KEY)
        try:
            yield server
        finally:
            server.shutdown()
            thread.join()


@pytest.fixture
def hosted(service) -> OpenAIEmbedder:
    found = load_embedder("openai:toy-embedding", cache=False)
    yield found
    found._client.close()


def test_vectors_of_a_service_come_back_in_order(service, hosted):
    texts = ["a ferry", "", "a tram", "a\ud800b", "a ferry"]
    vectors = hosted.encode(texts)
    expected = [unit("a ferry"), np.zeros(6), unit("a tram"), unit("a\ufffdb"), unit("a ferry")]
    np.testing.assert_allclose(vectors, expected, atol=1e-6)
    assert vectors.dtype == np.float32 and hosted.calls == 3
    assert service.texts == ["a ferry", "a tram", "a\ufffdb"]
    assert {request["model"] for request in service.requests} == {"toy-embedding"}
    assert set(service.keys) == {f"Bearer {KEY}"}


@pytest.mark.parametrize("name", ["text-embedding-3-small", "openai:text-embedding-3-small"])
def test_names_of_hosted_models(service, name):
    embedder = load_embedder(name)
    assert repr(embedder) == ("OpenAIEmbedder('text-embedding-3-small', 6 dimensions, 8191 tokens)")
    assert service.requests[0]["model"] == "text-embedding-3-small"
    embedder._client.close()


def test_a_request_holds_no_more_than_the_service_takes(service, hosted):
    texts = [f"text {i}" for i in range(5000)]
    np.testing.assert_allclose(hosted.encode(texts)[4999], unit("text 4999"), atol=1e-6)
    assert [len(request["input"]) for request in service.requests[1:]] == [2048, 2048, 904]
    service.requests[1:] = []
    hosted.encode([f"{i} " + "word " * 5000 for i in range(60)])
    for request in service.requests[1:]:
        assert sum(map(hosted.count, request["input"])) <= 300_000
    assert len(service.texts) == 60


def test_long_texts_are_cut_before_they_are_sent(service, hosted):
    hosted.max_tokens = 5
    assert hosted.count(SEVEN) == 7 and hosted.unseen(SEVEN) == 2
    with pytest.warns(UserWarning, match="1 of 2 texts .* 2 tokens were not read"):
        vectors = hosted.encode([SEVEN, "one"])
    assert service.texts == ["one two three four five", "one"]
    np.testing.assert_allclose(vectors[0], unit("one two three four five"), atol=1e-6)


def test_long_texts_are_pooled_over_windows(service, hosted):
    hosted.max_tokens = 5
    vectors = hosted.encode([SEVEN], pool=True)
    assert service.texts == ["one two three four five", " six seven"]
    expected = 5 * unit("one two three four five") + 2 * unit(" six seven")
    np.testing.assert_allclose(vectors[0], expected / np.linalg.norm(expected), atol=1e-6)


def test_emoji_of_several_tokens_can_be_pooled(service, hosted):
    hosted.max_tokens = 2
    hosted.encode(["🦥🦥🦥 猫犬"], pool=True)
    assert all(text for text in service.texts)
    assert set("🦥猫犬") <= set("".join(service.texts))


def test_vectors_of_a_service_are_cached(service):
    first, second = (load_embedder("openai:toy-embedding") for _ in range(2))
    assert (first.encode(["a ferry"]) == second.encode(["a ferry"])).all()
    assert (first.calls, second.calls) == (1, 0) and service.texts.count("a ferry") == 1
    other = load_embedder("openai:other-embedding")
    other.encode(["a ferry"])
    assert other.calls == 1
    for embedder in (first, second, other):
        embedder._client.close()


def test_without_a_key_the_error_says_what_to_set(monkeypatch):
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    monkeypatch.delenv("OPENAI_BASE_URL", raising=False)
    with pytest.raises(RuntimeError, match="set OPENAI_API_KEY, or OPENAI_BASE_URL"):
        load_embedder("text-embedding-3-small")


def test_a_server_of_ones_own_needs_no_key(service, monkeypatch):
    monkeypatch.delenv("OPENAI_API_KEY")
    embedder = load_embedder("openai:toy-embedding", cache=False)
    assert embedder.dimensions == 6
    embedder._client.close()


def test_without_its_package_the_error_says_what_to_install(service, monkeypatch):
    monkeypatch.setitem(sys.modules, "openai", None)
    with pytest.raises(RuntimeError, match="pip install openai"):
        load_embedder("text-embedding-3-small")


def test_hosted_models_have_a_limit_of_their_own():
    with pytest.raises(ValueError, match="max_tokens=100 must be None"):
        load_embedder("text-embedding-3-small", max_tokens=100)


@pytest.mark.parametrize(
    ("failure", "said"),
    [
        ((401, {"error": {"message": f"Incorrect API key provided: {KEY}"}}), "Incorrect API key"),
        ((404, {"error": {"message": "no such model"}}), "no such model"),
        ((400, {"error": {"message": "bad input"}}), "bad input"),
        ((401, {"error": {"message": f"Bad key {KEY[:-2]}."}}), "Bad key …."),
        ((401, {"error": {"message": f"Bad key {KEY.replace('-', '%2D')}."}}), "Bad key …."),
        ((400, {"error": {"message": "x" * 10**6}}), f"x{{100,{SAID}}}…$"),
        ((200, {"object": "list", "data": None}), "does not hold 1 vectors"),
        ((200, "not an object"), "does not hold 1 vectors"),
    ],
)
def test_what_a_service_says_is_passed_on_without_the_key(service, hosted, failure, said):
    service.failure = failure
    with pytest.raises(RuntimeError, match=said) as raised:
        hosted.encode(["a ferry"])
    error = raised.value
    assert "toy-embedding" in str(error) and "127.0.0.1" in str(error)
    assert KEY[3:14] not in str(error) and KEY not in repr(hosted)
    assert error.__cause__ is error.__context__ is None


NO_VECTORS = (
    [1, None, 2, 3, 4, 5],
    [float("nan")] * 6,
    [float("inf"), 1, 1, 1, 1, 1],
    [0] * 6,
    [3.0],
    [3.0, 1.0],
    [[1.0]] * 6,
    1.0,
    [],
    ["a"] * 6,
)


@pytest.mark.parametrize("wrong", NO_VECTORS, ids=str)
def test_what_is_no_vector_is_refused_and_not_kept(service, wrong):
    embedder = load_embedder("openai:toy-embedding")
    rows = [{"object": "embedding", "index": i, "embedding": wrong} for i in range(2)]
    service.failure = (200, {"object": "list", "data": rows, "model": "m"})
    with pytest.raises(RuntimeError, match="does not hold 2 vectors of 6 finite numbers"):
        embedder.encode(["a ferry", "a tram"])
    service.failure = None
    np.testing.assert_allclose(embedder.encode(["a ferry"])[0], unit("a ferry"), atol=1e-6)
    embedder._client.close()


@pytest.mark.parametrize("wrong", [[], [0, 0], [None, 1], 1.0])
def test_the_first_vector_of_a_service_is_looked_at_too(service, wrong):
    data = [{"object": "embedding", "index": 0, "embedding": wrong}]
    service.failure = (200, {"object": "list", "data": data, "model": "m"})
    with pytest.raises(RuntimeError, match="does not hold 1 vectors of finite numbers"):
        load_embedder("openai:toy-embedding")


@pytest.mark.parametrize("key", ["sk-“quoted”", "sk-é", "sk abc", "sk-a\nb"])
def test_a_key_that_cannot_be_one(service, monkeypatch, key):
    monkeypatch.setenv("OPENAI_API_KEY", key)
    with pytest.raises(RuntimeError, match="OPENAI_API_KEY has a character") as raised:
        load_embedder("openai:toy-embedding")
    assert key not in str(raised.value) and service.requests == []


def test_white_space_around_a_key_is_not_part_of_it(service, monkeypatch):
    for key, sent in ((f" {KEY}\r\n", KEY), (" ", "no-key")):
        monkeypatch.setenv("OPENAI_API_KEY", key)
        load_embedder("openai:toy-embedding")._client.close()
        assert service.keys[-1] == f"Bearer {sent}"


def test_a_reply_with_too_few_vectors(service, hosted):
    service.short = True
    with pytest.raises(RuntimeError, match="does not hold 2 vectors"):
        hosted.encode(["a ferry", "a tram"])


@pytest.mark.slow
def test_a_service_that_is_not_there(monkeypatch):
    monkeypatch.setenv("OPENAI_BASE_URL", "http://127.0.0.1:9/v1")
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    with pytest.raises(RuntimeError, match=r"from 127\.0\.0\.1: Connection error"):
        load_embedder("text-embedding-3-small")


def test_counts_of_a_hosted_model_are_openais(hosted):
    assert hosted.count("tiktoken is great!") == load_tokenizer("cl100k_base").count(
        "tiktoken is great!"
    )
