"""Topics of passages: what a topic model finds, with scikit-learn."""

from __future__ import annotations

import re
import warnings
from collections.abc import Collection, Sequence, Set
from dataclasses import dataclass
from importlib import import_module
from itertools import combinations
from typing import Any

import numpy as np
from numpy.typing import NDArray

from chunking_lib.turns import check_whole

__all__ = [
    "TopicModel",
    "check_model",
    "content_words",
    "fit_topics",
    "load_sklearn",
    "read_stop_words",
    "topic_keywords",
    "topic_quality",
]

# What counts as a word: two letters or more; where words have no blanks between them, a letter.
_WORD = r"[\u3040-\u30ff\u3400-\u9fff]|[^\W\d_\u3040-\u30ff\u3400-\u9fff]{2,}"

_MODELS = ("nmf", "lda")
_MOST_TOPICS = 10
_JUDGED = 5  # keywords of a topic that its quality is told by
_DIGITS = 6  # equal on every machine


@dataclass(frozen=True, eq=False, slots=True)
class TopicModel:
    """What a topic model found in passages.

    Args:
        words: the vocabulary, v words.
        weights: how much a word belongs to a topic, float (k, v).
        mixtures: the shares of the topics in each passage, float (n, k), rows add up to 1; a
            passage without a known word has equal shares.
        counts: how often each word occurs in each passage, a sparse table of int (n, v).
    """

    words: list[str]
    weights: NDArray[np.float64]
    mixtures: NDArray[np.float64]
    counts: Any


def fit_topics(
    passages: Sequence[str],
    *,
    topics: int | None = None,
    model: str = "nmf",
    stop_words: str | Sequence[str] | None = "english",
    seed: int = 0,
) -> TopicModel:
    """Find the topics of passages: groups of words that occur together.

    1. Count the words of each passage, without stop words; for NMF, weigh them by tf-idf.
    2. Fit the model. Without a number of topics, fit it with 2 to 10, and keep the one with the
       best `topic_quality`, of equal ones the one with fewer topics.
    3. Number the topics in the order in which they first have the largest share of a passage.

    The model begins from `seed`, and its numbers are rounded to 6 digits: the same every time.

    Args:
        passages: n texts of a few sentences each. Single sentences hold too few words to tell
            which of them belong together.
        topics: how many, 1 to n.
        model: "nmf" (non-negative matrix factorisation) or "lda" (latent Dirichlet allocation),
            which takes several times as long: minutes for a megabyte.
        stop_words: "english", your own list, or None for none.
        seed: of the random numbers, 0 or more.
    Raises:
        ValueError: an argument outside these bounds, or fewer than two different words.
        RuntimeError: scikit-learn is not installed.

    >>> model = fit_topics(["Cats purr. A cat naps.", "Ships sail. A ship left."], topics=2)
    >>> model.mixtures.argmax(axis=1).tolist()
    [0, 1]

    Source: NMF of Lee and Seung (1999), LDA of Blei, Ng and Jordan (2003), by scikit-learn.
    """
    check_model(model, seed)
    words, counts = _count_words(passages, stop_words)
    if topics is not None:
        check_whole("topics", topics, 1)
        if topics > len(passages):
            raise ValueError(f"topics={topics} must be at most {len(passages)}, the passages")
        return _fit(words, counts, topics, model, seed)
    most = min(_MOST_TOPICS, len(passages), len(words))
    fitted = [_fit(words, counts, k, model, seed) for k in range(min(2, most), most + 1)]
    return max(fitted, key=topic_quality)


def content_words(text: str, stop_words: Set[str]) -> list[str]:
    """Return the words of a text that are no stop words, in small letters.

    >>> content_words("The ferry and the 2 trams", {"the", "and"})
    ['ferry', 'trams']
    """
    return [word for word in re.findall(_WORD, text.lower()) if word not in stop_words]


def read_stop_words(stop_words: str | Sequence[str] | None) -> Set[str]:
    """Return a set of stop words: those of scikit-learn for "english", your own, or none."""
    if stop_words is None:
        return frozenset()
    if isinstance(stop_words, str) and stop_words == "english":
        return frozenset(load_sklearn("feature_extraction.text").ENGLISH_STOP_WORDS)
    # A collection, for an iterator would be empty the second time.
    listed = isinstance(stop_words, Collection) and not isinstance(stop_words, str)
    if not listed or not all(isinstance(word, str) for word in stop_words):
        raise ValueError(f"stop_words={stop_words!r} must be 'english', a list of words or None")
    return frozenset(word.lower() for word in stop_words)


def load_sklearn(part: str) -> Any:
    """Return a module of scikit-learn, imported at its first use: that takes a second."""
    try:
        return import_module(f"sklearn.{part}")
    except ImportError as error:
        raise RuntimeError("scikit-learn is not installed: pip install scikit-learn") from error


def check_model(model: str, seed: int) -> None:
    """Raise a `ValueError` unless there is such a model, and such a seed."""
    if model not in _MODELS:
        raise ValueError(f"model={model!r} must be 'nmf' or 'lda'")
    check_whole("seed", seed, 0)
    if seed >= 2**32:
        raise ValueError(f"seed={seed} must be less than 2**32")


def topic_keywords(model: TopicModel, number: int = 8) -> list[list[str]]:
    """Return the words that weigh most in each topic, most first, of equal ones by alphabet."""
    check_whole("number", number, 1)
    found = []
    for weights in model.weights:
        order = sorted(np.flatnonzero(weights), key=lambda i: (-weights[i], model.words[i]))
        found.append([model.words[i] for i in order[:number]])
    return found


def topic_quality(model: TopicModel) -> float:
    """Return how good the topics are, from -1 to 1: coherence times diversity, by 5 keywords each.

    Coherence is the mean NPMI of two keywords of a topic: 1 if they occur in the same passages
    only, 0 if together as often as by chance, -1 if never. Together once is chance. Diversity is
    the share of keywords that are of one topic alone.

    Source: "topic quality" of Dieng, Ruiz and Blei, Topic modeling in embedding spaces (2020).
    """
    keywords = topic_keywords(model, _JUDGED)
    named = [word for words in keywords for word in words]
    place = {word: i for i, word in enumerate(model.words)}
    present = {word: model.counts[:, [place[word]]].toarray()[:, 0] > 0 for word in set(named)}
    pairs = [pair for words in keywords for pair in combinations(words, 2)]
    scores = [_npmi(present[a], present[b]) for a, b in pairs]
    diversity = sum(named.count(word) == 1 for word in named) / len(named) if named else 0.0
    return round(float(np.mean(scores)) * diversity, _DIGITS) if scores else 0.0


def _npmi(one: NDArray[np.bool_], other: NDArray[np.bool_]) -> float:
    times, count = int(np.sum(one & other)), len(one)
    if times == 0:
        return -1.0
    if times in (1, count):  # once may be chance, and what is in every passage says nothing
        return 0.0
    both = times / count
    return float(np.log(both / (one.mean() * other.mean())) / -np.log(both))


def _count_words(
    passages: Sequence[str], stop_words: str | Sequence[str] | None
) -> tuple[list[str], Any]:
    stops = read_stop_words(stop_words)
    found = [content_words(passage, stops) for passage in passages]
    different = len(set().union(*found))
    if different < 2:
        raise ValueError(
            f"the text has {different} different words, stop words apart: topics need 2 or more"
        )
    vectorizer = load_sklearn("feature_extraction.text").CountVectorizer(
        analyzer=lambda words: words
    )
    counts = vectorizer.fit_transform(found)
    return vectorizer.get_feature_names_out().tolist(), counts


def _fit(words: list[str], counts: Any, topics: int, model: str, seed: int) -> TopicModel:
    decomposition = load_sklearn("decomposition")
    if model == "nmf":
        # An SVD to start from is not the same on every machine where topics are equally large.
        fitter = decomposition.NMF(topics, init="random", random_state=seed, max_iter=500)
        table = load_sklearn("feature_extraction.text").TfidfTransformer().fit_transform(counts)
    else:
        fitter = decomposition.LatentDirichletAllocation(topics, random_state=seed, max_iter=50)
        table = counts
    # The error of a perfect fit can come out below 0, and has no root then.
    with warnings.catch_warnings(), np.errstate(invalid="ignore"):
        # Near the end is near enough to tell one topic from the other.
        warnings.simplefilter("ignore", load_sklearn("exceptions").ConvergenceWarning)
        shares = fitter.fit_transform(table)
    total = shares.sum(axis=1, keepdims=True)
    known = (counts.sum(axis=1).reshape(-1, 1) > 0) & (total > 0)
    mixtures = np.where(known, shares / np.where(total > 0, total, 1), 1 / topics)
    weights, mixtures = _rounded(fitter.components_), _rounded(mixtures)
    # The model numbers them by chance.
    leads = mixtures == mixtures.max(axis=1, keepdims=True)
    order = np.argsort(np.where(leads.any(axis=0), leads.argmax(axis=0), len(leads)), kind="stable")
    return TopicModel(words, weights[order], mixtures[:, order], counts)


def _rounded(table: Any) -> NDArray[np.float64]:
    return np.asarray(table, dtype=np.float64).round(_DIGITS)
