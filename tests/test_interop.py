import sys
from functools import partial

import pytest
from hypothesis import given
from hypothesis import strategies as st
from langchain_core.documents import Document as LangChainDocument
from langchain_text_splitters import (
    CharacterTextSplitter,
    MarkdownHeaderTextSplitter,
    RecursiveCharacterTextSplitter,
    TextSplitter,
)

from chunking_lib.character import split_characters
from chunking_lib.chunk import Chunk, Document, check_chunks, is_blank, realised_overlap
from chunking_lib.interop import (
    as_node_parser,
    as_text_splitter,
    from_langchain,
    from_llama_index,
    from_text_splitter,
    to_langchain,
    to_llama_index,
)
from chunking_lib.recursive import split_recursive

# Lone surrogates are no valid text for pydantic, on which both libraries are built.
words = st.text(st.characters(exclude_categories=["Cs"]), max_size=30)
plain = st.one_of(words, st.integers(), st.booleans(), st.sampled_from(['["a"]', '"', "{", "[x"]))


@st.composite
def chunks(draw):
    text = draw(words.filter(lambda text: not is_blank(text)))
    start = draw(st.integers(0, 99))
    derived = draw(st.booleans())
    end = draw(st.integers(start, 200)) if derived else start + len(text)
    metadata = draw(
        st.dictionaries(
            st.sampled_from(["path", "page", "kind", "oversize", "fallback", "keywords"]),
            plain | st.lists(plain, max_size=3),
        )
    )
    return Chunk(text, start, end, draw(words), draw(words), derived, metadata)


@given(st.lists(chunks(), max_size=4))
def test_chunks_come_back_from_langchain_as_they_went(some):
    assert from_langchain(to_langchain(some)) == some


@given(st.lists(chunks(), max_size=4))
def test_metadata_is_what_every_vector_store_takes(some):
    for document in to_langchain(some):
        assert document.metadata
        assert all(isinstance(value, str | int | float) for value in document.metadata.values())


@pytest.mark.slow
def test_chroma_takes_it():
    chromadb = pytest.importorskip("chromadb")
    chunk = Chunk("a", 0, 1, metadata={"path": ["x"], "page": 2, "keywords": [], "kind": None})
    documents = to_langchain([chunk, Chunk("a", 2, 3)])
    settings = chromadb.Settings(anonymized_telemetry=False)
    collection = chromadb.EphemeralClient(settings).create_collection(
        "interop", embedding_function=None
    )
    collection.add(
        ids=[document.id for document in documents],
        embeddings=[[1.0, 0.0], [0.0, 1.0]],
        documents=[document.page_content for document in documents],
        metadatas=[document.metadata for document in documents],
    )
    assert collection.count() == 2
    found = collection.get(ids=[documents[0].id])["metadatas"][0]
    back = from_langchain([LangChainDocument(page_content="a", metadata=found)])
    assert back == [Chunk("a", 0, 1, metadata={"path": ["x"], "page": 2, "keywords": []})]


def test_ids_are_the_same_in_every_run_and_differ_for_equal_texts():
    ids = [d.id for d in to_langchain([Chunk("Fees.", 0, 5, "a"), Chunk("Fees.", 6, 11, "a")])]
    assert ids == ["9d822a06-ebec-5b55-bba0-91d5632aef7a", "308f0c1a-f156-5975-925e-4e9dd0228d02"]


repetitive = st.lists(
    st.sampled_from(["a", "ab", "aba", " ", "  ", "\n\n", ". ", "猫。"]), max_size=40
)


@given(repetitive.map("".join), st.integers(1, 12), st.data())
def test_a_langchain_splitter_gets_exact_offsets_on_texts_that_repeat_themselves(text, size, data):
    overlap = data.draw(st.integers(0, size - 1))
    splitter = RecursiveCharacterTextSplitter(chunk_size=size, chunk_overlap=overlap)
    found = from_text_splitter(splitter)(Document(text, id="x"))
    assert [chunk.text for chunk in found] == [t for t in splitter.split_text(text) if t.strip()]
    for chunk in found:
        assert chunk.source == "x"
        assert chunk.derived or text[chunk.start : chunk.end] == chunk.text
    if overlap == 0 and not any(chunk.derived for chunk in found):
        assert check_chunks(text, found, size=size, overlap=0) == []


@given(repetitive.map("".join), st.integers(1, 12), st.data())
def test_offsets_of_our_own_chunks_are_found_again(text, size, data):
    overlap = data.draw(st.integers(0, size - 1))
    mine = split_characters(text, size=size, overlap=overlap)
    documents = [LangChainDocument(page_content=chunk.text) for chunk in mine]
    found = from_langchain(documents, text)
    assert check_chunks(text, found) == []
    assert [chunk.text for chunk in found] == [chunk.text for chunk in mine]


def test_start_index_in_tokens_is_corrected():
    # The fault of LangChain's token splitter: the overlap in tokens is taken off characters.
    text = "alpha beta gamma delta alpha beta gamma delta alpha beta"
    right = [(0, 22), (10, 33), (22, 45), (33, 56)]
    for wrong in ([0, 32, 22, -1], [0, -1, -1, -1]):
        documents = [
            LangChainDocument(page_content=text[start:end], metadata={"start_index": index})
            for (start, end), index in zip(right, wrong, strict=True)
        ]
        found = from_langchain(documents, text)
        assert [(chunk.start, chunk.end) for chunk in found] == right


def test_a_start_index_at_another_copy_of_the_same_words_is_corrected():
    text = "Pay now. Rest. Pay now. Walk. Pay now."
    parts = ["Pay now. Rest.", "Pay now.", "Walk. Pay now."]
    documents = [
        LangChainDocument(page_content=part, metadata={"start_index": index})
        for part, index in zip(parts, [0, 30, 24], strict=True)
    ]
    assert [chunk.start for chunk in from_langchain(documents, text)] == [0, 15, 24]


def test_a_right_start_index_stands_in_any_order_and_selection():
    text = "Pay now. Rest. Pay now. Walk. Pay now."
    documents = [
        LangChainDocument(page_content="Pay now.", metadata={"start_index": index})
        for index in (30, 15)
    ]
    assert [chunk.start for chunk in from_langchain(documents, text)] == [30, 15]


def test_words_that_are_not_there_as_they_stand_are_derived():
    text = "Mind  the\nstep. (Stand back,\n\nplease.) Thank you."
    parts = ["Mind the step.", "a model's words", "(Stand back, please.)", "Thank you."]
    documents = [LangChainDocument(page_content=part) for part in parts]
    found = from_langchain(documents, text)
    assert [chunk.derived for chunk in found] == [True, True, True, False]
    shown = [text[chunk.start : chunk.end] for chunk in found]
    assert shown[0] == "Mind  the\nstep."
    assert shown[2] == "(Stand back,\n\nplease.)"
    assert shown[3] == "Thank you."
    assert "(Stand back,\n\nplease.)" in shown[1]  # between the neighbours that were found


def test_no_text_and_no_offset_is_an_error_that_says_so():
    for metadata in ({}, {"start_index": -1}):
        with pytest.raises(ValueError, match="give the text that the documents were cut from"):
            from_langchain([LangChainDocument(page_content="a", metadata=metadata)])


def test_sources_and_foreign_metadata():
    document = LangChainDocument(
        page_content="ab", metadata={"source": "f.txt", "author": "Li", "path": "[not JSON"}
    )
    blank = LangChainDocument(page_content=" \n")
    [chunk] = from_langchain([document, blank], "ab")
    assert chunk == Chunk("ab", 0, 2, "f.txt", metadata={"author": "Li", "path": "[not JSON"})
    assert from_langchain([document], Document("ab", id="id"))[0].source == "id"
    assert from_langchain([document], Document("ab", id="id"), source="me")[0].source == "me"


def test_a_chunker_as_a_text_splitter():
    text = "Pay now. Rest. Pay now. Walk. Pay now."
    chunker = partial(split_recursive, size=10)
    expected = chunker(text)
    splitter = as_text_splitter(chunker, add_start_index=True)
    assert isinstance(splitter, TextSplitter)
    assert splitter.split_text(text) == [chunk.text for chunk in expected]
    document = LangChainDocument(page_content=text, metadata={"source": "f.txt", "tags": ["a"]})
    for made in (splitter.split_documents([document]), splitter.transform_documents([document])):
        assert [d.metadata["start_index"] for d in made] == [chunk.start for chunk in expected]
        assert all(d.metadata["source"] == "f.txt" for d in made)
        made[0].metadata["tags"].append("b")
        assert document.metadata["tags"] == made[1].metadata["tags"] == ["a"]
    plain = as_text_splitter(chunker).create_documents([text, "b"])
    assert [d.metadata for d in plain] == [{}] * (len(expected) + 1)


def test_a_chunker_keeps_what_it_knows_as_a_text_splitter():
    chunk = Chunk("a", 0, 1, context="Fares", metadata={"path": ["Fares"]})
    [document] = as_text_splitter(lambda text: [chunk]).create_documents(["a"], [{"x": 1}])
    assert document.metadata == {"x": 1, "context": "Fares", "path": '["Fares"]'}


def test_there_and_back_through_a_text_splitter():
    text = "Pay now. Rest. Pay now. Walk. Pay now. " * 5
    chunker = partial(split_characters, size=20, overlap=7)
    assert from_text_splitter(as_text_splitter(chunker))(text) == chunker(text)


def test_a_splitter_that_drops_separators_or_returns_documents():
    text = "One.Two.One.Two."
    splitter = CharacterTextSplitter(separator=".", chunk_size=4, chunk_overlap=0)
    found = from_text_splitter(splitter)(text)
    assert [(c.text, c.start) for c in found] == [("One", 0), ("Two", 4), ("One", 8), ("Two", 12)]
    assert realised_overlap(found) == [-1, -1, -1]
    markdown = MarkdownHeaderTextSplitter([("#", "title")])
    [chunk] = from_text_splitter(markdown)("# A\n\nb\n\nc")
    # LangChain joins the lines in its own way.
    assert (chunk.derived, chunk.start, chunk.end) == (True, 5, 9)
    assert chunk.metadata == {"title": "A"}
    with pytest.raises(ValueError, match="must have a method split_text"):
        from_text_splitter(len)


@pytest.mark.parametrize(
    ("module", "call", "package"),
    [
        ("langchain_core.documents", lambda: to_langchain([]), "langchain-core"),
        ("langchain_text_splitters", lambda: as_text_splitter(list), "langchain-text-splitters"),
        ("llama_index.core.schema", lambda: to_llama_index([]), "llama-index-core"),
        ("llama_index.core.node_parser", lambda: as_node_parser(list), "llama-index-core"),
    ],
)
def test_a_missing_package_is_named(monkeypatch, module, call, package):
    monkeypatch.setitem(sys.modules, module, None)
    with pytest.raises(RuntimeError, match=f"pip install {package}"):
        call()


@pytest.mark.slow
@given(st.lists(chunks(), max_size=3))
def test_chunks_come_back_from_llama_index_as_they_went(some):
    pytest.importorskip("llama_index.core")
    nodes = to_llama_index(some)
    assert from_llama_index(nodes) == some
    for node, chunk in zip(nodes, some, strict=True):
        if chunk.context.strip() == chunk.context and chunk.text.strip() == chunk.text:
            assert node.get_content("embed") == chunk.embedding_text


@pytest.mark.slow
def test_a_chunker_as_a_node_parser():
    core = pytest.importorskip("llama_index.core")
    text = "xy xy xy xy"
    chunker = partial(split_characters, size=3)
    document = core.Document(text=text, metadata={"file": "f.txt"}, doc_id="doc")
    nodes = as_node_parser(chunker).get_nodes_from_documents([document])
    assert [(node.start_char_idx, node.text) for node in nodes] == [
        (chunk.start, chunk.text) for chunk in chunker(text)
    ]
    assert all(node.metadata == {"file": "f.txt"} for node in nodes)
    assert nodes[1].prev_node.node_id == nodes[0].node_id
    back = from_llama_index(nodes, text)
    assert [(chunk.start, chunk.source) for chunk in back] == [(n, "doc") for n in (0, 3, 6, 9)]


@pytest.mark.slow
def test_a_llama_index_splitter_as_a_chunker():
    parsers = pytest.importorskip("llama_index.core.node_parser")
    text = "Pay now. Rest. Pay now. Walk. Pay now."
    splitter = parsers.TokenTextSplitter(
        chunk_size=4, chunk_overlap=0, tokenizer=str.split, include_metadata=False
    )
    found = from_text_splitter(splitter)(text)
    assert check_chunks(text, found) == []


def test_some_of_our_own_documents_keep_their_places_among_copies_of_their_words():
    text = "la la la la la la"
    chunks = split_characters(text, size=5, overlap=2)
    some = chunks[1::2]
    assert from_langchain(to_langchain(some), text) == some
