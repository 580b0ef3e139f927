"""Does a name that opens something also appear so in its folder?

Some mounts take `notes`, `NOTES` and `notes.` for one folder. A rule written for the stored name would not see the
other spelling, so a path that is spelled otherwise is treated as absent. On ordinary file systems this costs one stat.
"""

from __future__ import annotations

import os
import unicodedata


def is_spelled_as_stored(folder: int, name: bytes) -> bool:
    """Say whether `name` may be used as it is below the open folder `folder`. A name that is not there may."""
    if name == b".":
        return True
    if not name.endswith((b".", b" ")) and not any(_is_same(folder, name, twin) for twin in _other_spellings(name)):
        return True
    return _identity(folder, name) is None or name in _stored_names(folder)


def _other_spellings(name: bytes) -> set[bytes]:
    spellings = {name.swapcase()}
    if not name.isascii():
        text = name.decode("utf-8", "surrogateescape")
        forms = (text.swapcase(), unicodedata.normalize("NFC", text), unicodedata.normalize("NFD", text))
        spellings.update(form.encode("utf-8", "surrogateescape") for form in forms)
    return spellings - {name}


def _is_same(folder: int, name: bytes, twin: bytes) -> bool:
    identity = _identity(folder, twin)
    return identity is not None and identity == _identity(folder, name)


def _identity(folder: int, name: bytes) -> tuple[int, int] | None:
    try:
        found = os.stat(name, dir_fd=folder, follow_symlinks=False)
    except OSError:
        return None
    return found.st_dev, found.st_ino


def _stored_names(folder: int) -> set[bytes]:
    """List the names of the folder; none if it may not be listed, so that doubt ends in a refusal."""
    try:
        listed = os.open(b".", os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC, dir_fd=folder)
    except OSError:
        return set()
    try:
        with os.scandir(listed) as found:
            return {os.fsencode(entry.name) for entry in found}
    except OSError:
        return set()
    finally:
        os.close(listed)
