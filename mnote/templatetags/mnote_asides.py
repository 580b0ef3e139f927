"""`{% asides %}`: what apps show beside a document page."""

from __future__ import annotations

from django import template
from django.template.context import Context
from django.utils.safestring import SafeString, mark_safe

from mnote import asides as registry

register = template.Library()


@register.simple_tag(takes_context=True)
def asides(context: Context) -> SafeString:
    """Render the registered templates with the context of the page."""
    engine = context.template.engine  # type: ignore[union-attr]
    parts = [engine.get_template(name).render(context) for name in registry.templates()]
    return mark_safe("".join(parts))  # noqa: S308 each part is a rendered template
