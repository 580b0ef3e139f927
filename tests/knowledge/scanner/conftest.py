import os

import pytest

from knowledge.scanner.ignore import extension_of
from knowledge.scanner.result import ScanRules

EXTENSIONS = frozenset({".md", ".txt", ".pdf", ".docx"})


@pytest.fixture
def root(tmp_path):
    """An empty folder to be a root, as bytes, with something beside it that must not be reached."""
    folder = tmp_path / "root"
    folder.mkdir()
    (tmp_path / "beside").mkdir()
    (tmp_path / "beside" / "secret.md").write_text("outside")
    return os.fsencode(folder)


@pytest.fixture
def put(root):
    """Write a file below the root, with its folders."""

    def write(path: bytes, content: bytes = b"text") -> bytes:
        full = os.path.join(root, path)
        os.makedirs(os.path.dirname(full), exist_ok=True)
        with open(full, "wb") as file:
            file.write(content)
        return full

    return write


def rules(**wanted) -> ScanRules:
    """Rules for four types of file."""
    return ScanRules(takes=lambda name: extension_of(name) in EXTENSIONS, **wanted)
