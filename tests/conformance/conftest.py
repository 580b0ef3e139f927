"""The server and the browsers that OpenHub is asked through."""

from __future__ import annotations

from tests.pageai.views.conftest import live, panels

__all__ = ["live", "panels"]
