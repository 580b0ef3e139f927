"""Reading the files of claimed documents: open, hash, take what was made of the content before, or parse.

Nothing is written here, and nothing is raised for what is wrong with one file.
"""

from __future__ import annotations

import logging
import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime
from typing import IO, TypeVar

from django.utils import timezone

from knowledge.models import Document
from knowledge.parsing.base import ParseCode, ParseError
from knowledge.parsing.registry import kind_for_name
from knowledge.parsing.source_map import ResourceKind, SourceMap
from knowledge.providers.base import OriginalChanged
from knowledge.scanner.fingerprint import ChangedWhileReading, Fingerprint, sha256_of
from knowledge.services import parsing
from knowledge.services.documents import MAX_ATTEMPTS, Step
from mnote.files.errors import FilesError, RootGone
from mnote.services import files

T = TypeVar("T")

log = logging.getLogger(__name__)

#: A file whose parser died may have had bad luck; one whose parser dies each time is what kills it.
_TRIES_OF_A_DEATH = 3
#: What keeps us from reading a file and need not keep others.
_OTHERS_MAY_READ = frozenset({ParseCode.NO_TEXT, ParseCode.PARSE_FAILED, ParseCode.PARSE_TIMEOUT})
#: A file that lost its text keeps no old text in the index; other failures leave the older version searchable.
_TEXT_IS_GONE = frozenset({ParseCode.EMPTY, ParseCode.NO_TEXT})


@dataclass(frozen=True, slots=True, kw_only=True)
class Original:
    """A file that was read. `is_new` says that its content was parsed just now and is kept nowhere yet."""

    document: Document
    source_map: SourceMap
    is_new: bool
    step: Step


@dataclass(frozen=True, slots=True, kw_only=True)
class Refusal:
    """A file that could not be read: a reason code, whether another try can help (None: as the code's reason says) and
    how many there are. `is_text_gone`: what is indexed of it is no longer its text."""

    document: Document
    code: str
    retry: bool | None = None
    at_most: int = MAX_ATTEMPTS
    is_text_gone: bool = False
    is_root_gone: bool = False


@dataclass(frozen=True, slots=True)
class _Hashed:
    document: Document
    source_hash: str
    started_at: datetime

    @property
    def key(self) -> tuple[str, str]:
        return self.source_hash, self.document.name


def read_all(
    claimed: Sequence[Document], beat: Callable[[], None], *, by_provider: bool = False
) -> Iterator[Original | Refusal]:
    """Read files of one workspace in order; `beat` is called before each. `by_provider`: the provider reads them too,
    so that what gives us no text is none yet without one."""
    hashed: list[_Hashed] = []
    for document in claimed:
        beat()
        one = _guarded(document, _hashed)
        if isinstance(one, Refusal):
            yield one
        else:
            hashed.append(one)
    if not hashed:
        return
    known = parsing.known_all(workspace_id=claimed[0].workspace_id, wanted=[each.key for each in hashed])
    for one in hashed:
        beat()
        yield _original(one, known.get(one.key), by_provider=by_provider)


@contextmanager
def stream(document: Document) -> Iterator[IO[bytes]]:
    """Open the file of a document for handing it over as it is. Raises OriginalChanged where it cannot be read."""
    try:
        with (
            files.open_for_indexing(root=document.root, path=document.source_path) as opened,
            os.fdopen(os.dup(opened.fd), "rb") as file,
        ):
            file.seek(0)
            yield file
    except (FilesError, OSError) as error:
        raise OriginalChanged("the file cannot be read any more") from error


def _original(hashed: _Hashed, known: SourceMap | None, *, by_provider: bool) -> Original | Refusal:
    source_map = known if known is not None else _guarded(hashed.document, _parsed)
    if isinstance(source_map, Refusal):
        if not by_provider or source_map.code not in _OTHERS_MAY_READ:
            return source_map
        source_map = known = _unread(hashed)
    elif not source_map.blocks:
        return _refusal(hashed.document, ParseError(ParseCode.NO_TEXT, "nothing to index"))
    facts = {"blocks": len(source_map.blocks), "parser": source_map.provider}
    step = Step(stage="reading", started_at=hashed.started_at, finished_at=timezone.now(), facts=facts)
    return Original(document=hashed.document, source_map=source_map, is_new=known is None, step=step)


def _unread(hashed: _Hashed) -> SourceMap:
    kind = kind_for_name(hashed.document.name) or ResourceKind.TEXT
    return SourceMap(provider="", model_version="", kind=kind, source_hash=hashed.source_hash, text="", blocks=())


def _hashed(document: Document) -> _Hashed:
    started = timezone.now()
    with files.open_for_indexing(root=document.root, path=document.source_path) as opened:
        return _Hashed(document, f"sha256:{sha256_of(opened.fd)}", started)


def _parsed(document: Document) -> SourceMap:
    """Parse the file as it is now, which may be another content than the one hashed before. Raises
    ChangedWhileReading also where a parser failed on bytes that somebody was writing."""
    with files.open_for_indexing(root=document.root, path=document.source_path) as opened:
        before = Fingerprint.of(os.fstat(opened.fd))
        try:
            source_map = parsing.parse(fd=opened.fd, name=document.name)
        except ParseError:
            _check_same(opened.fd, before)
            raise
        _check_same(opened.fd, before)
    return source_map


def _check_same(fd: int, before: Fingerprint) -> None:
    if not before.is_same_state(Fingerprint.of(os.fstat(fd))):
        raise ChangedWhileReading


def _guarded(document: Document, read: Callable[[Document], T]) -> T | Refusal:
    try:
        return read(document)
    except ParseError as error:
        return _refusal(document, error)
    except ChangedWhileReading:
        return Refusal(document=document, code="source_changed_while_parsing")
    except FilesError as error:
        return Refusal(document=document, code=error.code, is_root_gone=isinstance(error, RootGone))
    except OSError as error:
        log.warning("a file could not be read", extra={"document_id": document.id, "errno": error.errno})
        return Refusal(document=document, code="unreadable")
    except Exception:  # its siblings must go on
        log.exception("a document could not be read", extra={"document_id": document.id})
        return Refusal(document=document, code="internal")


def _refusal(document: Document, error: ParseError) -> Refusal:
    return Refusal(
        document=document,
        code=error.code.value,
        retry=error.retryable,
        at_most=_TRIES_OF_A_DEATH,
        is_text_gone=error.code in _TEXT_IS_GONE,
    )
