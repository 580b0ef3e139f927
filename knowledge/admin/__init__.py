"""The admin's pages of the knowledge app, one module a noun. Importing them registers them."""

from knowledge.admin import artifacts, documents, knowledge_bases, profiles, sources

__all__ = ["artifacts", "documents", "knowledge_bases", "profiles", "sources"]
