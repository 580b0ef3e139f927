"""Hybrid search of a WeKnora stub: real ranking over letters and characters, with the server's quirks."""

from __future__ import annotations

import math
import re
import unicodedata
from collections import Counter, OrderedDict, defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

from knowledge.providers.han import FOLD
from tests.stubs.weknora_kbs import seen_kb
from tests.stubs.weknora_replies import Ask, Reply, failure, not_found, success
from tests.stubs.weknora_world import EMBEDDER_TEXTS, KB, Document, Passage, World

_WORD = re.compile(r"[^\W_]+")
_HAN = re.compile(r"[\u3400-\u9fff]")
_TOKEN = re.compile(rf"{_HAN.pattern}+|(?:(?!{_HAN.pattern})[^\W_])+")
_MAX_VARIABLES = 32_760
_MAX_HITS = 500
_KEPT = 8
_VECTOR, _KEYWORD, _NEIGHBOUR = 0, 1, 2


@dataclass(slots=True)
class _Candidate:
    document: Document
    passage: Passage
    cosine: float = 0.0
    words: float = 0.0
    score: float = 0.0
    match_type: int = _VECTOR


def hybrid_search(world: World, ask: Ask) -> Reply:
    kb = seen_kb(world, ask, ask.parts["kb"])
    body = ask.json()
    count = body.get("match_count") or 0
    if not isinstance(count, int):
        details = "json: cannot unmarshal string into Go struct field SearchParams.match_count of type int"
        return failure(400, 1000, "Invalid request parameters", details)
    query = str(body.get("query_text") or "")
    if not query.strip():
        return failure(400, 1000, "query_text is required")
    failed = _failed(world, kb, body, query)
    if failed is not None:
        return failed
    if body.get("tag_ids") or body.get("scope_tag_ids"):  # documents do not have their tags in the index
        return success(None)
    found = _rank(world, _candidates(world, kb, body), query, body)
    found = [None] * kb.orphans + found
    primary = [each for each in found[: min(count if count > 0 else 50, _MAX_HITS)] if each is not None]
    rows = [_view(each) for each in primary]
    if not body.get("skip_context_enrichment"):
        rows += _neighbours(world, primary)
    return success(rows or None)


def _failed(world: World, kb: KB, body: dict[str, Any], query: str) -> Reply | None:
    """What goes wrong before anything is found."""
    if not kb.model_id:
        return success(None)
    if not body.get("disable_keywords_match"):
        if not any(character.isalnum() for character in query):
            return failure(500, 1007, 'FTS5 query failed: fts5: syntax error near ""')
        if "\x00" in query:
            return failure(500, 1007, "FTS5 query failed: unterminated string")
        if len(body.get("knowledge_ids") or []) > _MAX_VARIABLES:
            return failure(500, 1007, "FTS5 query failed: too many SQL variables")
    if body.get("disable_vector_match"):
        return None
    model = world.model_of(kb)
    if model is None:
        return failure(500, 1007, "model not found")
    if model.behaviour == "short":
        return success(None)
    if model.behaviour in EMBEDDER_TEXTS:
        return failure(500, 1007, EMBEDDER_TEXTS[model.behaviour])
    return None


def _candidates(world: World, kb: KB, body: dict[str, Any]) -> list[_Candidate]:
    """All passages in reach, whatever the state of their document. Unknown knowledge bases are passed over."""
    kb_ids = body.get("knowledge_base_ids") or [kb.id]
    if kb.id not in kb_ids:
        raise not_found("kb")
    wanted = set(body.get("knowledge_ids") or [])
    return [
        _Candidate(document=document, passage=passage)
        for document in world.documents.values()
        if document.kb_id in kb_ids and (not wanted or document.id in wanted)
        for passage in document.passages
    ]


def _rank(world: World, found: list[_Candidate], query: str, body: dict[str, Any]) -> list[_Candidate | None]:
    """One retriever alone gives its own scores; two are fused by rank. Equal scores come in any order."""
    index = _index([each.passage for each in found])
    if not body.get("disable_vector_match"):
        for at, cosine in index.near(query).items():
            found[at].cosine = cosine
    for at, words in index.worded(query).items():
        found[at].words = words
    threshold = float(body.get("vector_threshold") or 0)
    world.random.shuffle(found)
    near = [each for each in found if each.cosine >= threshold] if not body.get("disable_vector_match") else []
    near.sort(key=lambda each: -each.cosine)
    worded = [each for each in found if each.words] if not body.get("disable_keywords_match") else []
    worded.sort(key=lambda each: -each.words)
    return list(_fuse(near, worded))


class _Index:
    """What passages hold, by what they hold."""

    def __init__(self, texts: Sequence[str]) -> None:
        self._lengths: list[float] = []
        self._features: defaultdict[str, list[tuple[int, int]]] = defaultdict(list)
        self._words: defaultdict[str, list[tuple[int, int]]] = defaultdict(list)
        self._sizes: list[int] = []
        for at, text in enumerate(texts):
            vector, words = _vector(text), Counter(_tokens(text))
            self._sizes.append(words.total())
            self._lengths.append(math.sqrt(sum(count * count for count in vector.values())))
            for postings, counts in ((self._features, vector), (self._words, words)):
                for name, count in counts.items():
                    postings[name].append((at, count))

    def near(self, query: str) -> dict[int, float]:
        """The nearness of meaning of each passage that has something in common with the query."""
        wanted = _vector(query)
        length = math.sqrt(sum(count * count for count in wanted.values()))
        shared: defaultdict[int, int] = defaultdict(int)
        for feature, times in wanted.items():
            for at, count in self._features.get(feature, ()):
                shared[at] += times * count
        return {at: total / (length * self._lengths[at]) for at, total in shared.items()}

    def worded(self, query: str) -> dict[int, float]:
        """BM25 of each passage that holds a word of the query, in the large numbers of the server."""
        scores: defaultdict[int, float] = defaultdict(float)
        usual = sum(self._sizes) / max(1, len(self._sizes))
        for word in set(_tokens(query)):
            postings = self._words.get(word, [])
            rarity = math.log(1 + (len(self._sizes) - len(postings) + 0.5) / (len(postings) + 0.5))
            for at, count in postings:
                length = 1.2 * (0.25 + 0.75 * self._sizes[at] / usual)
                scores[at] += 1e6 * rarity * count * 2.2 / (count + length)
        return scores


_indexes: OrderedDict[tuple[int, ...], _Index] = OrderedDict()


def _index(passages: Sequence[Passage]) -> _Index:
    """Return the index of some passages, kept until they are others."""
    key = tuple(hash(each.content) for each in passages)
    if key not in _indexes:
        _indexes[key] = _Index([each.content for each in passages])
        while len(_indexes) > _KEPT:
            _indexes.popitem(last=False)
    return _indexes[key]


def _fuse(near: list[_Candidate], worded: list[_Candidate]) -> list[_Candidate]:
    if not near or not worded:
        for each in near or worded:
            each.score, each.match_type = (each.cosine, _VECTOR) if near else (each.words, _KEYWORD)
        return near or worded
    ranks: dict[str, _Candidate] = {}
    for weight, ranked, match_type in ((0.7, near, _VECTOR), (0.3, worded, _KEYWORD)):
        for rank, each in enumerate(ranked, 1):
            if each.passage.id not in ranks:
                ranks[each.passage.id] = each
                each.match_type = match_type
            each.score += weight / (60 + rank)
    return sorted(ranks.values(), key=lambda each: -each.score)


def _neighbours(world: World, primary: list[_Candidate]) -> list[dict[str, Any]]:
    shown = {each.passage.id for each in primary}
    rows = []
    for each in primary:
        texts = [passage for passage in each.document.passages if passage.type == "text"]
        at = texts.index(each.passage) if each.passage in texts else 0
        for passage in texts[max(0, at - 1) : at + 2]:
            if passage.id not in shown:
                shown.add(passage.id)
                rows.append(_view(_Candidate(document=each.document, passage=passage, match_type=_NEIGHBOUR)))
    world.random.shuffle(rows)
    return rows


def _view(found: _Candidate) -> dict[str, Any]:
    document, passage = found.document, found.passage
    metadata = document.metadata or {}
    matched = [document.name, *([passage.breadcrumb, ""] if passage.breadcrumb else []), passage.content.strip()]
    return {
        "id": passage.id,
        "content": passage.content,
        "knowledge_id": document.id,
        "chunk_index": passage.index,
        "knowledge_title": document.name,
        "start_at": passage.start,
        "end_at": passage.end,
        "seq": passage.index,
        "score": found.score,
        "match_type": found.match_type,
        "sub_chunk_id": None,
        "metadata": {name: value if isinstance(value, str) else f"map[{value}]" for name, value in metadata.items()},
        "chunk_type": passage.type,
        "parent_chunk_id": passage.parent_id,
        "image_info": passage.image_info,
        "knowledge_filename": document.name,
        "knowledge_source": "",
        "knowledge_channel": document.channel,
        "matched_content": "\n".join(matched),
        "knowledge_base_id": document.kb_id,
    }


def _tokens(text: str) -> tuple[str, ...]:
    """Words as the keyword index has them: whole words without accents, Han characters in pairs, one that stands alone
    by itself. Neither widths nor writings are folded."""
    marks_off = "".join(each for each in unicodedata.normalize("NFD", text) if not unicodedata.combining(each))
    found: list[str] = []
    for word in _TOKEN.findall(marks_off.lower()):
        is_run = len(word) > 1 and _HAN.match(word)
        found += [first + second for first, second in pairwise(word)] if is_run else [word]
    return tuple(found)


def _vector(text: str) -> Counter[str]:
    """What an embedding model makes of a text: parts of words, so that inflection matters little, in one writing."""
    features: Counter[str] = Counter()
    for word in _WORD.findall(unicodedata.normalize("NFKC", text).casefold().translate(FOLD)):
        if _HAN.search(word):
            features.update(_HAN.findall(word))
        marked = f"^{word}$"
        features.update(marked[at : at + 3] for at in range(len(marked) - 2) if not _HAN.search(marked[at : at + 3]))
    return features
