"""Identifiers of bindings and artifact references."""

from __future__ import annotations

from mnote.ids import new_id


def binding_id() -> str:
    return new_id("bind")


def artifact_id() -> str:
    return new_id("ref")


def tool_call_id() -> str:
    return new_id("call")
