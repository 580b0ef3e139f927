"""Headings of source code and of plain-text formats, told from single lines."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import pairwise
from pathlib import PurePosixPath

from knowledge.parsing.outline import Heading

_BRACES = re.compile(
    r"""(?P<indent>[ \t]*)
    (?:(?:export|default|public|private|protected|internal|static|final|abstract|async|sealed|open|override|virtual|
       unsafe|inline|constexpr|extern|partial|data|case|declare|pub(?:\([^)]*\))?)\s+)*
    (?:
      (?:class|interface|struct|enum|trait|impl|union|record|object|namespace|module|mod|protocol|extension|message|
         service|contract|fn|func|fun|function\*?|def|macro_rules!|type)\b\s*(?P<name>[^\s({;:=,][^({;=]*)
      |(?:const|let|var)\s+(?P<arrow>[\w$]+)\s*=\s*(?:async\s*)?(?:\([^()]*\)|[\w$]+)\s*=>
    )""",
    re.VERBOSE,
)
_PYTHON = re.compile(r"(?P<indent>[ \t]*)(?:async\s+)?(?:def|class)\s+(?P<name>\w+)")
_RUBY = re.compile(r"(?P<indent>[ \t]*)(?:def|class|module)\s+(?P<name>[\w.:?!]+)")
_SHELL = re.compile(r"(?P<indent>)(?:function\s+(?P<name>[\w:-]+)|(?P<arrow>[\w:-]+)\s*\(\))\s*(?:\(\))?\s*\{?")
_SQL = re.compile(
    r"(?P<indent>)create\s+(?:or\s+replace\s+)?(?:temp(?:orary)?\s+)?(?:unique\s+)?"
    r"(?:table|view|materialized\s+view|function|procedure|trigger|index|type|schema)\s+(?:if\s+not\s+exists\s+)?"
    r"(?P<name>[\w.\"`\[\]]+)",
    re.IGNORECASE,
)
_LATEX = re.compile(r"\s*\\(?P<kind>part|chapter|section|subsection|subsubsection)\*?\{(?P<name>[^{}]+)\}")
_LATEX_LEVELS = ("part", "chapter", "section", "subsection", "subsubsection")
_MARKED = re.compile(r"(?P<marks>={1,6}|\*{1,6})[ \t]+(?P<name>\S.*)$")
_UNDERLINE = re.compile(r"([=\-~^\"'*+#:.`_])\1{2,}\s*$")
_CHAPTER = re.compile(
    r"[ \t　]*第[一二三四五六七八九十百千零〇两\d]{1,8}(?P<kind>[编卷部篇章回节])(?:[ \t　]+\S.{0,38}|[ \t　]*)$"
)
_CHAPTER_LEVELS = {**dict.fromkeys("编卷部篇", 1), **dict.fromkeys("章回", 2), "节": 3}

_EXTENSIONS: tuple[tuple[re.Pattern[str], str], ...] = (
    (_PYTHON, "py pyi pyx"),
    (_RUBY, "rb ex exs"),
    (_SHELL, "sh bash zsh"),
    (_SQL, "sql"),
    (
        _BRACES,
        "js mjs cjs jsx ts mts cts tsx vue svelte go rs java kt kts scala groovy cpp cc cxx hpp cs swift php dart",
    ),
    (_BRACES, "proto sol"),
)
_CODE_PATTERNS = {extension: pattern for pattern, names in _EXTENSIONS for extension in names.split()}
_MARKUP = frozenset({"rst", "tex", "org", "adoc", "asciidoc"})
_MAX_NAME = 120


def outline_name(name: str) -> str | None:
    """Return the name of the outline that a file of this name has, or None for those that all text has."""
    extension = _extension(name)
    return extension if extension in _CODE_PATTERNS or extension in _MARKUP else None


def code_headings(name: str, lines: Sequence[str]) -> Iterator[Heading]:
    """Yield the definitions of a source file; nesting is read from the indentation."""
    pattern = _CODE_PATTERNS.get(_extension(name))
    if pattern is None:
        return
    indents: list[int] = []
    for number, line in enumerate(lines, start=1):
        match = pattern.match(line)
        if match is None:
            continue
        indent = len(match["indent"].expandtabs(4))
        while indents and indents[-1] >= indent:
            indents.pop()
        indents.append(indent)
        title = match["name"] or match.groupdict().get("arrow") or ""
        yield Heading(line=number, level=len(indents), title=title.strip().rstrip(":{").strip()[:_MAX_NAME])


def text_headings(name: str, lines: Sequence[str]) -> Iterator[Heading]:
    """Yield the headings of plain text: those of its format, else lines such as 第三章 …"""
    extension = _extension(name)
    if extension == "rst":
        yield from _underlined(lines)
    elif extension == "tex":
        yield from _latex(lines)
    elif extension in {"org", "adoc", "asciidoc"}:
        yield from _marked(lines, "*" if extension == "org" else "=")
    else:
        yield from _chapters(lines)


def _extension(name: str) -> str:
    return PurePosixPath(name.lower()).suffix.removeprefix(".")


def _underlined(lines: Sequence[str]) -> Iterator[Heading]:
    seen: list[str] = []
    for number, (title, under) in enumerate(pairwise(lines), start=1):
        is_heading = title.strip() and not title[0].isspace() and not _UNDERLINE.match(title)
        if not (is_heading and _UNDERLINE.match(under) and len(under.rstrip()) >= len(title.rstrip()) // 2):
            continue
        mark = under[0] + ("^" if number > 1 and lines[number - 2].strip() == under.strip() else "")
        if mark not in seen:
            seen.append(mark)
        yield Heading(line=number, level=seen.index(mark) + 1, title=title.strip())


def _latex(lines: Sequence[str]) -> Iterator[Heading]:
    for number, line in enumerate(lines, start=1):
        match = _LATEX.match(line)
        if match:
            yield Heading(line=number, level=_LATEX_LEVELS.index(match["kind"]) + 1, title=match["name"])


def _marked(lines: Sequence[str], mark: str) -> Iterator[Heading]:
    for number, line in enumerate(lines, start=1):
        match = _MARKED.match(line)
        if match and match["marks"][0] == mark:
            yield Heading(line=number, level=len(match["marks"]), title=match["name"].rstrip("= "))


def _chapters(lines: Sequence[str]) -> Iterator[Heading]:
    for number, line in enumerate(lines, start=1):
        match = _CHAPTER.match(line)
        if match and not line.rstrip().endswith(("。", "，", "；", "：")):
            yield Heading(line=number, level=_CHAPTER_LEVELS[match["kind"]], title=line.strip(" \t　"))
