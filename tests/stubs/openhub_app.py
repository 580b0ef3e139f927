"""OpenHub's built pages in small: see tests/data/openhub/app/assets for what they do."""

from __future__ import annotations

import shutil
from pathlib import Path

BUNDLE = "index-StubAb12.js"
_FILES = Path(__file__).parent.parent / "data" / "openhub" / "app"


def write_app(folder: Path) -> Path:
    """Write the files as a build does, and return the folder."""
    shutil.copytree(_FILES, folder)
    return folder
