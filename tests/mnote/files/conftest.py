import os

import pytest


@pytest.fixture
def root(tmp_path):
    """An empty folder to be a root, as bytes; its parent holds what must not be reachable."""
    folder = tmp_path / "root"
    folder.mkdir()
    (tmp_path / "outside.md").write_text("outside")
    (tmp_path / "root_x").mkdir()
    (tmp_path / "root_x" / "secret.md").write_text("outside")
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
