"""What is never indexed, whatever the user's patterns say, and the reason code shown for every entry left out."""

from __future__ import annotations

import re
from collections.abc import Container
from enum import StrEnum

from mnote.files.writing import TEMPORARY_PREFIX


class SkipReason(StrEnum):
    """Why an entry is left out. The value is public: pages and the API translate it."""

    HIDDEN = "hidden"
    SYSTEM = "system"
    TEMPORARY = "temporary"
    SIDECAR = "sidecar"
    SECRET = "secret"  # noqa: S105 a reason, not a password
    EXCLUDED = "excluded"
    NOT_INCLUDED = "not_included"
    UNSUPPORTED_TYPE = "unsupported_type"
    TOO_LARGE = "too_large"
    TOO_DEEP = "too_deep"
    EMPTY = "empty"
    LINK = "link"
    SPECIAL = "special"
    UNREADABLE = "unreadable"
    LOOP = "loop"


SIDECAR_FOLDER = ".mnote"
OCR_SUFFIX = ".ocr"
NOTE_EXTENSIONS = (".md", ".markdown")

_SYSTEM = frozenset(
    {
        ".git", ".hg", ".svn", ".obsidian", ".logseq", ".trash", ".trashes", "node_modules", "__pycache__", ".venv",
        ".idea", ".vscode", ".ds_store", ".spotlight-v100", ".fseventsd", ".stfolder", ".stversions", ".directory",
        "thumbs.db", "ehthumbs.db", "desktop.ini", "$recycle.bin", "system volume information", "lost+found",
        "@eadir", "#recycle", "#snapshot",
    }
)  # fmt: skip
_SYSTEM_STARTS = ("._", ".trash-")
_TEMPORARY = frozenset({"4913"})  # Vim asks with this name whether it may create files
_TEMPORARY_STARTS = (TEMPORARY_PREFIX, "~$", ".~", ".#", ".goutputstream-", ".fuse_hidden", ".nfs0")
_TEMPORARY_ENDS = (".tmp", ".temp", ".swp", ".swo", ".swx", "~", ".part", ".partial", ".crdownload")
_TEMPORARY_FORMS = re.compile(r"#.*#|.*\.sb-[0-9a-f]{8}-\w{6}|~wr[adfl]\d+\..*", re.DOTALL)
_SECRET = frozenset(
    {
        ".env", ".netrc", ".pgpass", ".npmrc", ".pypirc", ".htpasswd", ".git-credentials", ".ssh", ".gnupg", ".aws",
        ".kube", "id_rsa", "id_dsa", "id_ecdsa", "id_ed25519", "id_ecdsa_sk", "id_ed25519_sk",
    }
)  # fmt: skip
_SECRET_STARTS = (".env.",)
_SECRET_ENDS = (".env", ".pem", ".key", ".p12", ".pfx", ".jks", ".keystore", ".kdbx", ".ppk")


def ignore_reason(name: str, *, is_folder: bool) -> SkipReason | None:
    """Say why an entry of this name (text form) is never indexed; `None` if the name alone is no reason."""
    folded = name.casefold()
    if folded == SIDECAR_FOLDER:
        return SkipReason.SIDECAR
    if folded in _SYSTEM or folded.startswith(_SYSTEM_STARTS):
        return SkipReason.SYSTEM
    if folded in _SECRET or (not is_folder and _is_secret_file(folded)):
        return SkipReason.SECRET
    if not is_folder and _is_temporary(folded):
        return SkipReason.TEMPORARY
    return SkipReason.HIDDEN if folded.startswith(".") else None


def is_note_sidecar(name: str, siblings: Container[str]) -> bool:
    """Say whether the folder `name` holds what was read from pictures of a note of that stem beside it."""
    if not name.endswith(OCR_SUFFIX):
        return False
    stem = name.removesuffix(OCR_SUFFIX)
    return any(stem + extension in siblings for extension in NOTE_EXTENSIONS)


def extension_of(name: str) -> str:
    """Give the extension as types are looked up by: lower-case, with its dot, `""` without one."""
    stem, dot, extension = name.rpartition(".")
    return f".{extension.casefold()}" if dot and stem else ""


def _is_secret_file(folded: str) -> bool:
    return folded.startswith(_SECRET_STARTS) or folded.endswith(_SECRET_ENDS)


def _is_temporary(folded: str) -> bool:
    return (
        folded in _TEMPORARY
        or folded.startswith(_TEMPORARY_STARTS)
        or folded.endswith(_TEMPORARY_ENDS)
        or _TEMPORARY_FORMS.fullmatch(folded) is not None
    )
