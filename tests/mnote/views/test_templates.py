"""What the content policy refuses must not be in any template: the browser would drop it silently."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from django.conf import settings

TEMPLATES = sorted(path for path in (settings.BASE_DIR / "templates").rglob("*.html"))
REFUSED = {
    "an inline style": re.compile(r"<[^>]*\sstyle\s*=", re.IGNORECASE),
    "a style element": re.compile(r"<style\b", re.IGNORECASE),
    "an inline script": re.compile(r"<script(?![^>]*\bsrc=)", re.IGNORECASE),
    "an event attribute": re.compile(r"<[^>]*\son[a-z]+\s*=", re.IGNORECASE),
    "an htmx expression": re.compile(r"hx-on|hx-vals=.js:|hx-vars|hx-trigger=\"[^\"]*\[", re.IGNORECASE),
    "a foreign address": re.compile(r"(?:src|href)=\"https?://", re.IGNORECASE),
}


@pytest.mark.parametrize("path", TEMPLATES, ids=lambda path: str(path.relative_to(settings.BASE_DIR / "templates")))
def test_template_holds_nothing_that_the_content_policy_refuses(path):
    source = path.read_text(encoding="utf-8")

    assert [name for name, pattern in REFUSED.items() if pattern.search(source)] == []


def test_script_is_small():
    script = Path(settings.BASE_DIR, "static/js/mnote.js")

    assert script.stat().st_size < 15_000
