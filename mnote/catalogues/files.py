"""The catalogue files: brought level with the texts in use, checked, and compiled without any system package."""

from __future__ import annotations

import logging
import os
import re
from collections.abc import Iterable, Iterator
from pathlib import Path

import polib
from django.conf import settings

from mnote.catalogues.extraction import Message

logger = logging.getLogger(__name__)

_PLACEHOLDER = re.compile(r"%\(\w+\)[sdif]|%[sd]|\{\w+\}")
_PLURAL_FORMS = {"zh_Hans": "nplurals=1; plural=0;"}


def update(path: Path, messages: Iterable[Message]) -> int:
    """Bring the catalogue at `path` level with `messages`, and give the number of texts that wait for a translation.

    A text that is no longer used is kept as obsolete: when it comes back, so does its translation.
    """
    catalogue = polib.pofile(str(path), wrapwidth=110) if path.exists() else _new(path)
    known = {_key(entry): entry for entry in catalogue}
    wanted = {message.key: message for message in messages}
    for key, entry in known.items():
        entry.obsolete = key not in wanted
        entry.occurrences = [(wanted[key].file, "")] if key in wanted else []
    for key, message in wanted.items():
        if key not in known:
            catalogue.append(_entry(message, forms=_form_count(catalogue)))
    catalogue.sort(key=lambda entry: (entry.obsolete, entry.msgid, entry.msgctxt or "", entry.msgid_plural))
    draft = path.with_suffix(f".{os.getpid()}")
    path.parent.mkdir(parents=True, exist_ok=True)
    catalogue.save(str(draft))
    draft.replace(path)
    return sum(not _is_translated(entry) for entry in catalogue if not entry.obsolete)


def problems(path: Path, messages: Iterable[Message]) -> Iterator[str]:
    """Say what is wrong with a catalogue: texts that are missing, empty, fuzzy, or have other placeholders."""
    if not path.exists():
        yield f"{path.name}: there is no catalogue"
        return
    known = {_key(entry): entry for entry in polib.pofile(str(path)) if not entry.obsolete}
    for message in messages:
        entry = known.get(message.key)
        if entry is None:
            yield f"missing: {message.text!r} ({message.file})"
        elif entry.fuzzy:
            yield f"fuzzy: {message.text!r} ({message.file})"
        elif not _is_translated(entry):
            yield f"empty: {message.text!r} ({message.file})"
        elif wrong := _wrong_placeholders(entry):
            yield f"placeholders differ: {message.text!r} -> {wrong!r} ({message.file})"


def compile_stale(folders: Iterable[Path | str]) -> list[Path]:
    """Compile every catalogue below `folders` that is newer than its compiled form; give what was written.

    Raises:
        OSError: the place beside a catalogue cannot be written.
    """
    sources = sorted(path for folder in folders for path in Path(folder).glob("*/LC_MESSAGES/django.po"))
    return [_compile(path) for path in sources if _is_stale(path)]


def compile_if_possible() -> None:
    """Compile what is stale when a process starts, so that nobody sees texts of yesterday. Read-only code (an image)
    has its catalogues compiled when it is built; there nothing is stale."""
    try:
        compile_stale(settings.LOCALE_PATHS)
    except OSError:
        logger.warning("the catalogues cannot be compiled: run compile_catalogues where the code can be written")


def _is_stale(path: Path) -> bool:
    compiled = path.with_suffix(".mo")
    return not compiled.exists() or compiled.stat().st_mtime_ns < path.stat().st_mtime_ns


def _compile(path: Path) -> Path:
    compiled = path.with_suffix(".mo")
    draft = compiled.with_suffix(f".{os.getpid()}")
    polib.pofile(str(path)).save_as_mofile(str(draft))
    draft.replace(compiled)  # several processes may start at once
    return compiled


def _new(path: Path) -> polib.POFile:
    language = path.parent.parent.name
    catalogue = polib.POFile(wrapwidth=110)
    catalogue.metadata = {
        "Project-Id-Version": "MNote",
        "Language": language,
        "MIME-Version": "1.0",
        "Content-Type": "text/plain; charset=UTF-8",
        "Content-Transfer-Encoding": "8bit",
        "Plural-Forms": _PLURAL_FORMS.get(language, "nplurals=2; plural=(n != 1);"),
    }
    return catalogue


def _form_count(catalogue: polib.POFile) -> int:
    match = re.search(r"nplurals=(\d)", catalogue.metadata["Plural-Forms"])
    return int(match[1]) if match else 2


def _entry(message: Message, *, forms: int) -> polib.POEntry:
    entry = polib.POEntry(msgid=message.text, msgctxt=message.context or None, occurrences=[(message.file, "")])
    if message.plural:
        entry.msgid_plural = message.plural
        entry.msgstr_plural = dict.fromkeys(range(forms), "")
    return entry


def _key(entry: polib.POEntry) -> tuple[str, str, str]:
    return entry.msgctxt or "", entry.msgid, entry.msgid_plural or ""


def _texts(entry: polib.POEntry) -> list[str]:
    return list(entry.msgstr_plural.values()) if entry.msgid_plural else [entry.msgstr]


def _is_translated(entry: polib.POEntry) -> bool:
    return bool(_texts(entry)) and all(_texts(entry))


def _wrong_placeholders(entry: polib.POEntry) -> str:
    """Give a translation whose placeholders are not those of the source. The plural form may leave one out."""
    wanted = sorted(match[0] for match in _PLACEHOLDER.finditer(entry.msgid_plural or entry.msgid))
    for text in _texts(entry):
        if sorted(match[0] for match in _PLACEHOLDER.finditer(text)) != wanted:
            return text
    return ""
