"""Identifiers of knowledge bases, sources, documents, runs, artifacts and profiles."""

from __future__ import annotations

import uuid

from mnote.ids import new_id


def kb_id() -> str:
    return new_id("kb")


def provider_kb_id() -> str:
    """A UUID, because that is what providers take as an id of the caller's choice."""
    return str(uuid.uuid4())


def source_id() -> str:
    return new_id("set")


def document_id() -> str:
    return new_id("src")


def sync_run_id() -> str:
    return new_id("run")


def profile_id() -> str:
    return new_id("pro")


def artifact_id() -> str:
    return new_id("art")
