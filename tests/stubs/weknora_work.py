"""The worker of a WeKnora stub: it takes one step with every document each time somebody looks."""

from __future__ import annotations

import json
import re
import uuid

from tests.stubs.weknora_world import (
    COLLISION,
    EMBEDDER_TEXTS,
    LITE,
    READER_DOWN,
    RESTARTED,
    STANDARD,
    Document,
    Passage,
    World,
)

_PICTURES = re.compile(r"!\[[^\]]*?(?:_page_(?P<page>\d+)[^\]]*)?\]\((?P<url>resource://[^)]+)\)")
#: A document goes on by itself through these; "stall" and "hang" are ends without one, "flap" is a failed try to read.
_USUAL = ["processing", "completed"]


def enqueue(world: World, document: Document) -> None:
    """Put a document at the start of its way."""
    document.steps = list(world.plans.pop(0)) if world.plans else list(_USUAL)
    document.status, document.error = "pending", ""
    document.enable_status, document.processed_at = "disabled", None
    document.updated_at = world.now()


def look(world: World) -> None:
    """Let the worker take one step with every document."""
    if world.is_frozen:
        return
    busy = [each for each in world.documents.values() if each.status == "processing" and each.steps]
    for document in list(world.documents.values()):
        if document.is_to_be_deleted:
            _delete_step(world, document)
        elif document.steps:
            _step(world, document, busy)


def _step(world: World, document: Document, busy: list[Document]) -> None:
    wanted = document.steps[0]
    if wanted == "processing":
        if world.edition == LITE and busy:
            _fail(world, document, COLLISION)
            return
        busy.append(document)
        document.has_started = True
    document.steps.pop(0)
    _STEPS.get(wanted, _be)(world, document, wanted)
    document.updated_at = world.now()


def _be(world: World, document: Document, wanted: str) -> None:
    kb = world.kbs[document.kb_id]
    document.status = wanted
    if wanted != "processing":
        return
    if document.is_image and not document.overrides.get("enable_multimodel", True):
        _fail(world, document, "image file without multimodel is not supported")
        return
    model = world.model_of(kb)
    if model is None:
        document.steps.clear()  # the worker gives up without a word
    elif model.behaviour == "hang":
        document.steps.clear()
        document.passages = []
    elif world.indigestible and world.indigestible in document.body:
        _fail(world, document, EMBEDDER_TEXTS["400"])
    elif model.behaviour in EMBEDDER_TEXTS:
        _fail(world, document, EMBEDDER_TEXTS[model.behaviour])


def _complete(world: World, document: Document, wanted: str) -> None:
    document.passages = [] if document.is_corrupt else passages_of(world, document)
    document.is_corrupt = False
    document.status, document.enable_status = wanted, "enabled"
    document.processed_at = document.processed_at or world.now()
    document.summary_status = "failed" if document.passages else "none"
    document.error = ""


def _flap(world: World, document: Document, wanted: str) -> None:
    document.status, document.error = "failed", READER_DOWN
    document.attempt += 1


def _stall(world: World, document: Document, wanted: str) -> None:
    document.status = "processing"
    document.steps.clear()


def _interrupt(world: World, document: Document, wanted: str) -> None:
    _fail(world, document, RESTARTED)


def _summarise(world: World, document: Document, wanted: str) -> None:
    _complete(world, document, wanted)
    document.summary_status = "processing"


_STEPS = {
    "completed": _complete,
    "finalizing": _summarise,
    "flap": _flap,
    "stall": _stall,
    "interrupt": _interrupt,
}


def _fail(world: World, document: Document, text: str) -> None:
    document.status, document.error = "failed", text
    document.steps.clear()
    document.updated_at = world.now()


def fail(world: World, document: Document, text: str) -> None:
    """End a document as failed with this text."""
    with world.lock:
        _fail(world, document, text)


def _delete_step(world: World, document: Document) -> None:
    """First the row is marked, then it goes. Without a model that resolves it stays marked for ever."""
    if document.status != "deleting":
        document.status = "deleting"
        document.steps.clear()
        document.updated_at = world.now()
        return
    kb = world.kbs[document.kb_id]
    if kb.model_id and kb.model_id not in world.models:
        return
    del world.documents[document.id]


def restart(world: World) -> None:
    """Stop and start: lite forgets what it was doing, standard goes on."""
    with world.lock:
        world.started_at = world.now()
        for document in world.documents.values():
            lost = document.is_in_work and world.edition != STANDARD
            if lost or document.is_to_be_deleted:
                document.is_to_be_deleted = False
                _fail(world, document, RESTARTED)


def passages_of(world: World, document: Document) -> list[Passage]:
    """Return a document's passages, cut as a live server did where that is recorded; of an image its name only. What a
    model makes of pictures comes after them."""
    cuts = world.recorded.get(document.file_hash)
    if cuts is None and document.is_image:
        link = f"![{document.name}](resource://{uuid.uuid4().hex[:22]})"
        cuts = [(0, 0, len(link), link, "")]
    if cuts is None:
        text = document.body.decode("utf-8", "replace").replace("\r\n", "\n").replace("\r", "\n")
        cuts = world.split(text, world.kbs[document.kb_id].body.get("chunking_config") or {})
    found = []
    for index, start, end, content, breadcrumb in cuts:
        world.chunk_seq += 1
        found.append(
            Passage(
                id=str(uuid.uuid4()),
                seq=world.chunk_seq,
                document_id=document.id,
                index=index,
                start=start,
                end=end,
                content=content.replace("\x00", ""),
                breadcrumb=breadcrumb,
            )
        )
    return [*found, *_seen_in_pictures(world, document, found)]


def _seen_in_pictures(world: World, document: Document, texts: list[Passage]) -> list[Passage]:
    """Each picture that a passage names gives two more, without offsets of their own."""
    model = world.vision_of(world.kbs[document.kb_id], document.overrides)
    document.is_unseen = model is not None and model.behaviour != "ok"
    if model is None or document.is_unseen or document.overrides.get("enable_multimodel") is False:
        return []
    found = []
    seen = world.pictures.get(document.file_hash, {})
    for parent in texts:
        for picture in _PICTURES.finditer(parent.content):
            page = 1 if document.is_image else int(picture["page"] or 0)
            words = dict(zip(("image_ocr", "image_caption"), seen.get(page, ("", "")), strict=True))
            info = json.dumps([{"url": picture["url"], "original_url": picture["url"]}])
            for kind in (kind for kind, text in words.items() if text):
                world.chunk_seq += 1
                found.append(
                    Passage(
                        id=str(uuid.uuid4()), seq=world.chunk_seq, document_id=document.id, index=0, start=0, end=0,
                        content=words[kind], type=kind, parent_id=parent.id, image_info=info,
                    )
                )  # fmt: skip
    return found
