"""Identifiers of bindings, artifact references, tool calls and runs."""

from __future__ import annotations

from mnote.ids import new_id


def binding_id() -> str:
    return new_id("bind")


def artifact_id() -> str:
    return new_id("ref")


def tool_call_id() -> str:
    return new_id("call")


def run_id() -> str:
    return new_id("run")
