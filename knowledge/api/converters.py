"""Identifiers in addresses: what cannot be one of ours is no address at all, and never reaches the database."""

from __future__ import annotations

from django.urls import register_converter


class PublicIdConverter:
    """An id as `mnote.ids.new_id` makes it."""

    regex = "[a-z]{2,5}_[0-9a-z]{18}"

    def to_python(self, value: str) -> str:
        return value

    def to_url(self, value: str) -> str:
        return value


def register() -> None:
    """Make the converter known as `public_id`."""
    register_converter(PublicIdConverter, "public_id")
