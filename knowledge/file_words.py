"""The words people read for types of files. One place, as for reasons."""

from __future__ import annotations

from django.utils.functional import Promise
from django.utils.translation import gettext_lazy as _
from django.utils.translation import pgettext_lazy

from knowledge.parsing.file_types import type_for_name

TYPE_WORDS: dict[str, str | Promise] = {
    "markdown": _("Markdown"),
    "text": pgettext_lazy("type of file", "Text"),
    "log": pgettext_lazy("type of file", "Log"),
    "code": pgettext_lazy("type of file", "Source code"),
    "data": pgettext_lazy("type of file", "Data"),
    "pdf": _("PDF"),
    "word": _("Word document"),
    "spreadsheet": _("Spreadsheet"),
    "slides": pgettext_lazy("type of file", "Slides"),
    "web_page": _("Web page"),
    "ebook": _("E-book"),
    "table": pgettext_lazy("type of file", "Table"),
    "mail": pgettext_lazy("type of file", "Mail"),
    "image": pgettext_lazy("type of file", "Picture"),
}


def type_word(name: str) -> str | Promise:
    """Return the word for what a file of this base name is; its extension where we have none."""
    found = type_for_name(name)
    if found is not None:
        return TYPE_WORDS[found.key]
    extension = name.rpartition(".")[2] if "." in name else ""
    return extension.upper() if 0 < len(extension) <= 8 else pgettext_lazy("type of file", "Other")
