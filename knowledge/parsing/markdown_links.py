"""Links in Markdown text: inline, reference, wiki, automatic and HTML, with their line."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from html import unescape

from knowledge.parsing.source_map import Link

_CODE = re.compile(r"(?<!`)(`+)(?!`)(.+?)(?<!`)\1(?!`)", re.DOTALL)
#: Bounded: every bracket may open a label, and without an end each would be sought to the end of the passage.
_LABEL = r"\[(?P<text>(?>(?:[^\[\]\\]|\\.|\[[^\[\]]{0,200}\]){0,500}))\]"
_TARGET = r"(?:<(?P<angle>[^<>\n]*)>|(?P<plain>(?:[^\s()<>\\]|\\.|\((?:[^\s()\\]|\\.|\([^\s()]*\))*\))+))"
_TITLE = r"(?:\s+(?:\"[^\"]*\"|'[^']*'|\([^()]*\)))?"
_INLINE = re.compile(rf"(?P<image>!?){_LABEL}\(\s*{_TARGET}{_TITLE}\s*\)")
_REFERENCE = re.compile(rf"(?P<image>!?){_LABEL}(?:\[(?P<ref>[^\[\]]*)\])?(?![\[(:])")
_WIKI = re.compile(r"(?P<image>!?)\[\[(?P<target>[^\[\]|\n]+)(?:\|(?P<text>[^\[\]\n]*))?\]\]")
_AUTO = re.compile(r"<(?P<target>[a-zA-Z][a-zA-Z0-9+.-]{1,31}:[^\s<>]*)>")
_HTML = re.compile(
    r"<(?P<tag>a|img|iframe|video|audio|source)\b[^<>]*?\s(?:href|src)\s*=\s*[\"']?(?P<target>[^\"'\s<>]+)", re.I
)
_MAX_TITLE = 1000
_ESCAPE = re.compile(r"\\([!-/:-@\[-`{-~])")


def find_links(content: str, line: int, references: Mapping[str, str]) -> Iterator[Link]:
    """Yield the links of a passage that starts on `line`. `references` maps normalised labels to their targets."""
    if not any(mark in content for mark in "[<"):
        return
    masked = _CODE.sub(lambda code: re.sub(r"[^\n]", " ", code[0]), content)
    for pattern, build in _KINDS:
        taken: list[tuple[int, int]] = []
        for match in pattern.finditer(masked):
            link = build(match, line + masked.count("\n", 0, match.start()), references)
            if link is not None:
                taken.append(match.span())
                yield link
        for start, end in taken:
            masked = masked[:start] + re.sub(r"[^\n]", " ", masked[start:end]) + masked[end:]


def normalise_label(label: str) -> str:
    """Return a reference label as Markdown compares it."""
    return " ".join(label.split()).lower().upper()


def plain_title(text: str) -> str:
    """Return heading text without its Markdown marks."""
    text = re.sub(r"\s*\{[#.][^{}]*\}\s*$", "", text[:_MAX_TITLE])
    text = _WIKI.sub(lambda match: match["text"] or match["target"], text)
    text = _INLINE.sub(lambda match: match["text"], text)
    text = re.sub(r"</?[a-zA-Z][^<>]*>", "", text)
    return unescape(_ESCAPE.sub(r"\1", " ".join(_unmarked(text).split())))


def _unmarked(text: str) -> str:
    text = re.sub(r"`+([^`]+)`+", r"\1", text)
    text = re.sub(r"(\*\*|__|~~)(?=\S)(.+?)(?<=\S)\1", r"\2", text)
    return re.sub(r"(?<![\w*])([*_])(?=\S)([^*_]+?)(?<=\S)\1(?![\w*])", r"\2", text)


def _inline(match: re.Match[str], line: int, _: Mapping[str, str]) -> Link:
    target = match["angle"] if match["angle"] is not None else match["plain"]
    return Link(target=_ESCAPE.sub(r"\1", target), text=match["text"], line=line, kind=_kind(match, "markdown"))


def _reference(match: re.Match[str], line: int, references: Mapping[str, str]) -> Link | None:
    target = references.get(normalise_label(match["ref"] or match["text"]))
    return Link(target=target, text=match["text"], line=line, kind=_kind(match, "markdown")) if target else None


def _wiki(match: re.Match[str], line: int, _: Mapping[str, str]) -> Link:
    target = match["target"].strip()
    return Link(target=target, text=(match["text"] or target).strip(), line=line, kind=_kind(match, "wiki"))


def _auto(match: re.Match[str], line: int, _: Mapping[str, str]) -> Link:
    return Link(target=match["target"], text=match["target"], line=line, kind="markdown")


def _html(match: re.Match[str], line: int, _: Mapping[str, str]) -> Link:
    kind = "html" if match["tag"].lower() == "a" else "embed"
    return Link(target=unescape(match["target"]), text="", line=line, kind=kind)


def _kind(match: re.Match[str], kind: str) -> str:
    return "embed" if match["image"] else kind


_Builder = Callable[[re.Match[str], int, Mapping[str, str]], Link | None]
_KINDS: tuple[tuple[re.Pattern[str], _Builder], ...] = (
    (_WIKI, _wiki),
    (_INLINE, _inline),
    (_AUTO, _auto),
    (_HTML, _html),
    (_REFERENCE, _reference),
)
