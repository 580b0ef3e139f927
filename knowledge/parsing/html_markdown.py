"""A web page as readable Markdown: its main part, without navigation, scripts and forms; links made absolute."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from urllib.parse import urljoin, urlsplit

from lxml import etree

from knowledge.parsing.archives import local_name

_DROPPED = frozenset({
    "script", "style", "noscript", "template", "head", "svg", "iframe", "object", "canvas", "form", "button", "input",
    "select", "textarea", "nav", "dialog", "audio", "video",
})  # fmt: skip
#: Left out unless they are inside the main part, where they are headings and notes of the text itself.
_FRAME = frozenset({"header", "footer", "aside"})
_MAIN = ("main", "article")
_HEADINGS = {f"h{level}": "#" * level + " " for level in range(1, 7)}
_BLOCKS = frozenset({
    "p", "div", "section", "article", "main", "header", "footer", "aside", "figure", "figcaption", "address", "details",
    "summary", "dl", "dt", "dd", "body", "html", "center", "fieldset",
})  # fmt: skip
_MAX_DEPTH = 120
_MIN_MAIN_CHARS = 200
_SPACE = re.compile(r"[ \t\r\n\f\u00a0]+")
_BREAK = "\\\n"
_SPACE_RUNS = re.compile(r" {2,}")
_MARKS = re.compile(r"([\\`*_\[\]<>])")
_LINE_START = re.compile(r"^(\d*)([#>+.)-])(?=\s)")
_SCHEMES = frozenset({"http", "https", "mailto"})


@dataclass(frozen=True, slots=True, kw_only=True)
class _Context:
    """Where in the page we are: the page's address, how deep in the tree, and whether inside the main part."""

    base: str
    depth: int = 0
    in_main: bool = False


def to_markdown(root: etree._Element, *, url: str) -> str:
    """Return the main part of a parsed page as Markdown. Text is escaped: it stays text whatever it looks like."""
    main = _main_part(root)
    context = _Context(base=_base(root, url), in_main=main is not root)
    blocks = [block for block in _blocks(main, context) if block.strip()]
    return "\n\n".join(blocks) + "\n" if blocks else ""


def _base(root: etree._Element, url: str) -> str:
    found = next(iter(root.iter("base")), None)
    return urljoin(url, found.get("href") or "") if found is not None else url


def _main_part(root: etree._Element) -> etree._Element:
    """Return <main> or the one <article> when it holds a fair part of the text, else the whole page."""
    for name in _MAIN:
        found = list(root.iter(name))
        if len(found) == 1 and len(_plain(found[0])) >= _MIN_MAIN_CHARS:
            return found[0]
    return root


def _blocks(element: etree._Element, context: _Context) -> list[str]:
    """Return the blocks of an element in order; text between blocks becomes paragraphs."""
    found: list[str] = []
    inline: list[str] = [_text(element.text)]
    for child in element:
        if _is_block(child, context):
            found += [_paragraph(inline), *_block(child, context)]
            inline = []
        else:
            inline.append(_inline(child, context))
        inline.append(_text(child.tail))
    return [block for block in [*found, _paragraph(inline)] if block]


def _block(element: etree._Element, context: _Context) -> list[str]:
    name = local_name(element)
    inner = _deeper(context)
    if inner is None:
        return [_escaped(_SPACE.sub(" ", _plain(element)).strip())]
    if name in _HEADINGS:
        text = _line(element, inner)
        return [_HEADINGS[name] + text] if text else []
    if name in ("ul", "ol"):
        return [_list(element, inner, ordered=name == "ol")]
    if name == "pre":
        return [_code(element)]
    if name == "blockquote":
        return ["\n>\n".join(_quoted(block) for block in _blocks(element, inner))]
    if name == "table":
        return [_table(element, inner)]
    if name == "hr":
        return ["---"]
    return _blocks(element, inner)


def _is_block(element: etree._Element, context: _Context) -> bool:
    name = local_name(element)
    if _is_left_out(element, context):
        return False
    return name in _BLOCKS or name in _HEADINGS or name in {"ul", "ol", "pre", "blockquote", "table", "hr"}


def _is_left_out(element: etree._Element, context: _Context) -> bool:
    name = local_name(element)
    if not isinstance(element.tag, str) or name in _DROPPED or (name in _FRAME and not context.in_main):
        return True
    style = (element.get("style") or "").replace(" ", "").lower()
    hidden = element.get("hidden") is not None or element.get("aria-hidden") == "true"
    return hidden or "display:none" in style


def _inline(element: etree._Element, context: _Context) -> str:
    inner = _deeper(context)
    if _is_left_out(element, context):
        return ""
    if inner is None:
        return _escaped(_SPACE.sub(" ", _plain(element)))
    name = local_name(element)
    if name == "br":
        return _BREAK
    if name == "img":
        return _image(element, context)
    if name in ("code", "kbd", "samp", "tt"):
        return _code_span(_plain(element))
    body = _text(element.text) + "".join(_inline(child, inner) + _text(child.tail) for child in element)
    if name == "a":
        return _link(body, element.get("href"), context)
    mark = {"strong": "**", "b": "**", "em": "*", "i": "*", "del": "~~", "s": "~~"}.get(name, "")
    return _marked(body, mark)


def _marked(body: str, mark: str) -> str:
    core = body.strip()
    if not mark or not core:
        return body
    before, after = body[: len(body) - len(body.lstrip())], body[len(body.rstrip()) :]
    return f"{before}{mark}{core}{mark}{after}"


def _link(body: str, href: str | None, context: _Context) -> str:
    target = _target(href, context)
    core = " ".join(body.split())
    return f"[{core}]({target})" if target and core else body


def _image(element: etree._Element, context: _Context) -> str:
    target = _target(element.get("src"), context)
    alt = _escaped(_SPACE.sub(" ", element.get("alt") or "").strip())
    return f"![{alt}]({target})" if target and alt else alt


def _target(href: str | None, context: _Context) -> str:
    """Return an absolute web address, "" for scripts, data and broken ones."""
    if not href or href.startswith("#"):
        return ""
    try:
        target = urljoin(context.base, href.strip())
        if urlsplit(target).scheme not in _SCHEMES:
            return ""
    except ValueError:
        return ""
    return re.sub(r"[\s()<>\\]", lambda match: f"%{ord(match.group()):02X}", target)


def _list(element: etree._Element, context: _Context, *, ordered: bool) -> str:
    lines = []
    items = [child for child in element if local_name(child) == "li"]
    for number, item in enumerate(items, start=1):
        mark = f"{number}. " if ordered else "- "
        body = "\n\n".join(_blocks(item, context)).strip()
        if body:
            lines.append(mark + _indented(body, len(mark)))
    return "\n".join(lines)


def _indented(body: str, columns: int) -> str:
    first, *rest = body.split("\n")
    return "\n".join([first, *(" " * columns + line if line else "" for line in rest)])


def _code(element: etree._Element) -> str:
    text = _plain(element).replace("\r\n", "\n").strip("\n")
    runs = [len(run) for run in re.findall(r"`+", text)]
    fence = "`" * max(3, 1 + max(runs, default=0))
    return f"{fence}\n{text}\n{fence}"


def _code_span(text: str) -> str:
    core = _SPACE.sub(" ", text).strip()
    if not core:
        return ""
    mark = "`" * (1 + max((len(run) for run in re.findall(r"`+", core)), default=0))
    pad = " " if core.startswith("`") or core.endswith("`") else ""
    return f"{mark}{pad}{core}{pad}{mark}"


def _table(element: etree._Element, context: _Context) -> str:
    """Return rows with cells as GFM has it; the first row is taken for the head."""
    rows = [[_cell(cell, context) for cell in row if local_name(cell) in ("td", "th")] for row in element.iter("tr")]
    rows = [row for row in rows if any(row)]
    if not rows:
        return ""
    width = max(len(row) for row in rows)
    lines = ["| " + " | ".join(row + [""] * (width - len(row))) + " |" for row in rows]
    return "\n".join([lines[0], "|" + " --- |" * width, *lines[1:]])


def _cell(element: etree._Element, context: _Context) -> str:
    return _line(element, context).replace("|", "\\|")


def _line(element: etree._Element, context: _Context) -> str:
    body = _text(element.text) + "".join(_inline(child, context) + _text(child.tail) for child in element)
    return " ".join(body.replace(_BREAK, " ").split())


def _quoted(block: str) -> str:
    return "\n".join(f"> {line}".rstrip() for line in block.split("\n"))


def _paragraph(parts: list[str]) -> str:
    text = _SPACE_RUNS.sub(" ", "".join(parts)).strip(" ")
    while text.endswith(_BREAK):
        text = text.removesuffix(_BREAK).rstrip(" ")
    lines = [line.strip() for line in text.split("\n")]
    return "\n".join(_LINE_START.sub(r"\1\\\2", line) for line in lines if line not in ("", "\\"))


def _plain(element: etree._Element) -> str:
    return "".join(str(part) for part in element.itertext())


def _text(text: str | None) -> str:
    return _escaped(_SPACE.sub(" ", text)) if text else ""


def _escaped(text: str) -> str:
    return _MARKS.sub(r"\\\1", text)


def _deeper(context: _Context) -> _Context | None:
    """Return the context one level down, None where the page is nested too deeply to be followed."""
    if context.depth >= _MAX_DEPTH:
        return None
    return replace(context, depth=context.depth + 1)
