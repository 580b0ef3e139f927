"""The admin's pages of Page AI, one module a noun. Importing them registers them."""

from pageai.admin import artifacts, bindings, tool_calls

__all__ = ["artifacts", "bindings", "tool_calls"]
