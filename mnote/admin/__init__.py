"""The admin's pages, one module a noun. Importing them registers them."""

from mnote.admin import audit, jobs, tokens, users, workspaces

__all__ = ["audit", "jobs", "tokens", "users", "workspaces"]
