"""Where the links of a note lead: to a place in it, to another file below the same root, or outside."""

from __future__ import annotations

import re
from dataclasses import dataclass
from enum import StrEnum
from urllib.parse import unquote, unquote_to_bytes

from mnote.files.errors import InvalidPath
from mnote.files.names import path_to_text

_SCHEME = re.compile(r"[a-zA-Z][a-zA-Z0-9+.-]*:|//")
_OUTSIDE = re.compile(r"(https?|mailto|tel):", re.IGNORECASE)
_PICTURE = re.compile(r"data:image/(png|jpe?g|gif|webp);base64,[A-Za-z0-9+/=\s]+$", re.IGNORECASE)
_MAX_PICTURE = 300_000


class TargetKind(StrEnum):
    HERE = "here"
    FILE = "file"
    OUTSIDE = "outside"
    PICTURE = "picture"
    NOWHERE = "nowhere"


@dataclass(frozen=True, slots=True, kw_only=True)
class Target:
    """A link's target. `path` is root-relative text of a FILE, `address` that of an OUTSIDE or PICTURE link;
    `fragment` is the place within it, decoded."""

    kind: TargetKind
    path: str = ""
    fragment: str = ""
    address: str = ""


_NOWHERE = Target(kind=TargetKind.NOWHERE)


def read_target(written: str, note_path: str) -> Target:
    """Return what `written` means in the note at `note_path`. What leaves the root or is no address leads nowhere."""
    written = written.strip()
    if _OUTSIDE.match(written):
        return Target(kind=TargetKind.OUTSIDE, address=written)
    if written.startswith("//"):
        return Target(kind=TargetKind.OUTSIDE, address=f"https:{written}")
    if _PICTURE.match(written) and len(written) <= _MAX_PICTURE:
        return Target(kind=TargetKind.PICTURE, address=written)
    if _SCHEME.match(written):
        return _NOWHERE
    place, _, fragment = written.partition("#")
    place = place.partition("?")[0]
    if not place:
        return Target(kind=TargetKind.HERE, fragment=unquote(fragment))
    path = resolve(unquote_to_bytes(place), note_path)
    return Target(kind=TargetKind.FILE, path=path, fragment=unquote(fragment)) if path is not None else _NOWHERE


def resolve(place: bytes, note_path: str) -> str | None:
    """Return the root-relative path of `place` as seen from the note, or None when it leaves the root."""
    place = place.replace(b"\\", b"/")
    folder = [] if place.startswith(b"/") else note_path.split("/")[:-1]
    for name in place.split(b"/"):
        if name in {b"", b"."}:
            continue
        if name == b"..":
            if not folder:
                return None
            folder.pop()
            continue
        try:
            folder.append(path_to_text(name))
        except InvalidPath:
            return None
    return "/".join(folder)


def is_remote(written: str) -> bool:
    """Say whether an image of this source would be loaded from elsewhere."""
    return read_target(written, "").kind is TargetKind.OUTSIDE
