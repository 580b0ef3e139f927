"""The admin's pages of Page AI, one module a noun. Importing them registers them."""

from pageai.admin import artifacts, bindings, panel, runs, runtimes, tool_calls

__all__ = ["artifacts", "bindings", "panel", "runs", "runtimes", "tool_calls"]
