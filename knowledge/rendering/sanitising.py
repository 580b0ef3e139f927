"""What of a note's HTML may reach a page. Everything we put in ourselves carries a sign that no note can know."""

from __future__ import annotations

import re
import secrets
from collections.abc import Callable

import nh3

_TAG_NAMES = (
    "a abbr b blockquote br caption center cite code col colgroup dd del details dfn div dl dt em figcaption figure "
    "h1 h2 h3 h4 h5 h6 hr i img ins kbd li mark ol p pre q rp rt ruby s samp section small span strong sub summary sup "
    "table tbody td tfoot th thead tr u ul var wbr"
)
_TAGS = set(_TAG_NAMES.split())
_CONTENT_GONE = {"script", "style", "template", "noscript", "title", "textarea", "select", "iframe", "object"}
_EVERYWHERE = {"class", "id", "lang", "dir", "title", "data-lines"}
_ATTRIBUTES = {
    "a": {"href", "target"},
    "col": {"span"},
    "details": {"open"},
    "div": {"tabindex", "role", "aria-label"},
    "img": {"src", "alt", "width", "height", "loading"},
    "li": {"value"},
    "mark": {"tabindex"},
    "ol": {"start"},
    "td": {"colspan", "rowspan"},
    "th": {"colspan", "rowspan", "scope"},
    "tr": {"tabindex"},
}
_SCHEMES = {"http", "https", "mailto", "tel", "data"}
_NUMBER = re.compile(r"\d{1,5}%?$")
_LINES = re.compile(r"\d+-\d+$")
_NUMBERS = frozenset({"width", "height", "colspan", "rowspan", "start", "value", "span"})
#: Values that only we may give: a note that could would fake a citation, or an element that scripts act upon.
_OURS = frozenset({"class", "tabindex", "role", "aria-label", "target", "loading", "scope"})
#: Before every id that a note may choose.
ID_PREFIX = "s-"


class Sanitiser:
    """Cleans the HTML of one page. `href` and `src` give the address for what is written in a link or an image, or
    None to drop it."""

    def __init__(self, href: Callable[[str], str | None], src: Callable[[str], str | None]) -> None:
        self.sign = f"m{secrets.token_hex(8)}-"
        self._addresses = {("a", "href"): href, ("img", "src"): src}
        self._ids: set[str] = set()

    def clean(self, html: str) -> str:
        """Return `html` with what is allowed only, closed tags included."""
        return nh3.clean(
            html,
            tags=_TAGS,
            clean_content_tags=_CONTENT_GONE,
            attributes={tag: _ATTRIBUTES.get(tag, set()) | _EVERYWHERE for tag in _TAGS},
            attribute_filter=self._attribute,
            url_schemes=_SCHEMES,
            link_rel="noopener noreferrer",
        )

    def balanced(self, html: str) -> str:
        """Return `html` with every tag closed, so that it can be put inside an element; not yet cleaned of the rest."""
        allowed = {tag: _ATTRIBUTES.get(tag, set()) | _EVERYWHERE for tag in _TAGS}
        return nh3.clean(html, tags=_TAGS, clean_content_tags=_CONTENT_GONE, attributes=allowed, link_rel=None)

    def _attribute(self, tag: str, name: str, value: str) -> str | None:
        if (address := self._addresses.get((tag, name))) is not None:
            return address(value)
        if name == "id":
            return self._id(value)
        if name in _OURS:
            return value.removeprefix(self.sign) if value.startswith(self.sign) else None
        if name in _NUMBERS:
            return value if _NUMBER.match(value) else None
        if name == "data-lines":
            return value if _LINES.match(value) else None
        return value

    def _id(self, value: str) -> str | None:
        own = value.removeprefix(self.sign) if value.startswith(self.sign) else ID_PREFIX + value
        if own in self._ids:
            return None
        self._ids.add(own)
        return own
