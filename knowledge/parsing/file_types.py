"""Which names are read, and as what. A table only: importing it costs nothing, so the scanner may ask it too."""

from __future__ import annotations

from collections.abc import Container
from dataclasses import dataclass

from knowledge.parsing.source_map import ResourceKind


@dataclass(frozen=True, slots=True, kw_only=True)
class FileType:
    """One type of file. `key` names it for people (pages translate it); `parser` is a module of this package."""

    key: str
    kind: ResourceKind
    parser: str


MARKDOWN = FileType(key="markdown", kind=ResourceKind.MARKDOWN, parser="markdown")
PLAIN = FileType(key="text", kind=ResourceKind.TEXT, parser="text")
LOG = FileType(key="log", kind=ResourceKind.TEXT, parser="text")
CODE = FileType(key="code", kind=ResourceKind.CODE, parser="text")
DATA = FileType(key="data", kind=ResourceKind.CODE, parser="text")
PDF = FileType(key="pdf", kind=ResourceKind.PDF, parser="pdf")
WORD = FileType(key="word", kind=ResourceKind.WORD, parser="word")
SHEET = FileType(key="spreadsheet", kind=ResourceKind.SHEET, parser="sheets")
SLIDES = FileType(key="slides", kind=ResourceKind.SLIDES, parser="slides")
WEB_PAGE = FileType(key="web_page", kind=ResourceKind.HTML, parser="html_pages")
BOOK = FileType(key="ebook", kind=ResourceKind.HTML, parser="epub")
TABLE = FileType(key="table", kind=ResourceKind.CSV, parser="csv_rows")
MAIL = FileType(key="mail", kind=ResourceKind.MAIL, parser="mail_parts")
IMAGE = FileType(key="image", kind=ResourceKind.IMAGE, parser="")

_EXTENSIONS: tuple[tuple[FileType, str], ...] = (
    (MARKDOWN, "md markdown mdown mkd mdx qmd rmd"),
    (PLAIN, "txt text rst org adoc asciidoc textile tex bib srt vtt nfo"),
    (LOG, "log out err"),
    (
        CODE,
        "py pyi pyx js mjs cjs jsx ts mts cts tsx vue svelte go rs java kt kts scala groovy gradle c h cc cpp cxx hpp",
    ),
    (
        CODE,
        "hh hxx cs fs swift m mm rb php pl pm lua r jl dart ex exs erl hs ml clj lisp el vim sh bash zsh fish ps1 psm1",
    ),
    (
        CODE,
        "bat cmd awk sql css scss sass less proto graphql gql tf hcl cmake mk nix sol asm s v vhd vhdl f f90 pas vb",
    ),
    (CODE, "diff patch jinja j2 tmpl"),
    (DATA, "json jsonl ndjson json5 yaml yml toml ini cfg conf properties xml xsd xsl xslt opml plist"),
    (PDF, "pdf"),
    (WORD, "docx docm dotx dotm"),
    (SHEET, "xlsx xlsm xltx xltm xlsb xls ods"),
    (SLIDES, "pptx pptm ppsx ppsm potx potm"),
    (WEB_PAGE, "html htm xhtml"),
    (BOOK, "epub"),
    (TABLE, "csv tsv tab"),
    (MAIL, "eml"),
    (IMAGE, "png jpg jpeg gif webp bmp tif tiff svg heic heif avif ico"),
)

#: Extension in lower case, without its dot, to the type of file.
SUPPORTED: dict[str, FileType] = {ext: kind for kind, names in _EXTENSIONS for ext in names.split()}

#: Names without an extension that are always text.
_BARE_NAMES: dict[str, FileType] = {
    name: kind
    for kind, names in (
        (PLAIN, "readme license licence copying notice authors contributors changelog news todo install"),
        (CODE, "makefile dockerfile containerfile vagrantfile jenkinsfile rakefile gemfile justfile"),
    )
    for name in names.split()
}


def gives_text(name: str) -> bool:
    """Say whether a file of this base name can give text."""
    kind = type_for_name(name)
    return kind is not None and bool(kind.parser)


def is_read(name: str, pictures: Container[str] = ()) -> bool:
    """Say whether a file of this base name can give text, or is a picture with one of these ends of names, which
    somebody else reads."""
    return gives_text(name) or end_of(name) in pictures


def end_of(name: str) -> str:
    """Return the end of a name, in lower case and without its dot; all of a name that has none."""
    return name.rpartition(".")[2].lower()


def type_for_name(name: str) -> FileType | None:
    """Return the type that a base name promises, or None for a name that is not read."""
    lower = name.lower()
    before, _, last = lower.rpartition(".")
    extension = last if before else ""
    if extension in SUPPORTED:
        return SUPPORTED[extension]
    stem = lower.split(".", 1)[0].split("-", 1)[0]
    return _BARE_NAMES.get(stem) if not extension or extension in _BARE_NAMES else None
