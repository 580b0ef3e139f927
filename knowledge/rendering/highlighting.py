"""Colours for source code: runs of characters with one of a few classes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import PurePosixPath

from pygments.lexer import Lexer  # type: ignore[import-untyped]
from pygments.lexers import get_lexer_by_name  # type: ignore[import-untyped]
from pygments.token import Comment, Generic, Keyword, Name, Number, String, _TokenType  # type: ignore[import-untyped]
from pygments.util import ClassNotFound  # type: ignore[import-untyped]

#: Above this many characters, or with one line longer than that, code is shown plain: colouring would be slow.
MAX_CHARS = 120_000
MAX_LINE = 2_000
_SHORT = 8_000

#: Lexers we use: well known, and free of rules that take for ever on odd input.
_LEXERS = (
    "awk bash bat c clojure cmake cpp csharp css dart diff docker elixir erlang fortran go graphql groovy haskell hcl "
    "html ini java javascript json jsx julia kotlin less lua make matlab nginx nix objective-c ocaml pascal perl php "
    "powershell properties protobuf python r rust ruby scala scheme scss solidity sql swift tcl terraform tex toml "
    "tsx typescript verilog vim vhdl xml yaml zig"
)
_KNOWN = frozenset(_LEXERS.split())
_BY_EXTENSION = {
    extension: lexer
    for lexer, extensions in {
        "bash": "sh bash zsh",
        "bat": "bat cmd",
        "c": "c h",
        "clojure": "clj",
        "cpp": "cc cpp cxx hh hpp hxx",
        "csharp": "cs",
        "diff": "diff patch",
        "elixir": "ex exs",
        "erlang": "erl",
        "fortran": "f f90",
        "graphql": "graphql gql",
        "groovy": "groovy gradle",
        "haskell": "hs",
        "hcl": "hcl tf",
        "html": "html htm xhtml vue svelte",
        "ini": "ini cfg conf",
        "javascript": "js mjs cjs",
        "json": "json jsonl ndjson json5",
        "julia": "jl",
        "kotlin": "kt kts",
        "make": "mk",
        "matlab": "",
        "objective-c": "m mm",
        "ocaml": "ml",
        "pascal": "pas",
        "perl": "pl pm",
        "powershell": "ps1 psm1",
        "properties": "properties",
        "protobuf": "proto",
        "python": "py pyi pyx",
        "ruby": "rb",
        "rust": "rs",
        "solidity": "sol",
        "tsx": "tsx",
        "typescript": "ts mts cts",
        "verilog": "v",
        "vhdl": "vhd vhdl",
        "xml": "xml xsd xsl xslt opml plist svg",
        "yaml": "yaml yml",
    }.items()
    for extension in extensions.split()
}
_BY_NAME = {
    "dockerfile": "docker",
    "containerfile": "docker",
    "makefile": "make",
    "rakefile": "ruby",
    "gemfile": "ruby",
}
_ALIASES = {"shell": "bash", "sh": "bash", "zsh": "bash", "console": "bash", "js": "javascript", "ts": "typescript",
            "py": "python", "rs": "rust", "yml": "yaml", "golang": "go", "c++": "cpp", "c#": "csharp", "cs": "csharp",
            "dockerfile": "docker", "makefile": "make", "proto": "protobuf", "ps1": "powershell", "latex": "tex",
            "objectivec": "objective-c", "kt": "kotlin", "rb": "ruby", "jsonc": "json", "patch": "diff"}  # fmt: skip

_CLASSES: tuple[tuple[_TokenType, str], ...] = (
    (Comment, "t-c"),
    (Keyword, "t-k"),
    (Name.Tag, "t-k"),
    (String, "t-s"),
    (Generic.Inserted, "t-s"),
    (Number, "t-n"),
    (Generic.Deleted, "t-n"),
    (Name.Function, "t-f"),
    (Name.Class, "t-f"),
    (Name.Attribute, "t-f"),
    (Name.Decorator, "t-f"),
    (Generic.Heading, "t-f"),
    (Generic.Subheading, "t-f"),
)


@dataclass(frozen=True, slots=True)
class Colour:
    """Characters `start` to `end` (exclusive) of a text, with the class that colours them."""

    start: int
    end: int
    css: str


def language_of_name(name: str) -> str:
    """Return the language that a file name promises, "" for one we do not colour."""
    low = name.lower()
    extension = PurePosixPath(low).suffix.removeprefix(".")
    found = _BY_EXTENSION.get(extension, extension)
    return found if found in _KNOWN else _BY_NAME.get(low, "")


def language_of_fence(info: str) -> str:
    """Return the language that the words after a code fence name ("rust,editable", "```py")."""
    word = info.strip().lower().replace(",", " ").replace("{", " ").replace(":", " ").split(" ", 1)[0].lstrip(".")
    found = _ALIASES.get(word, word)
    return found if found in _KNOWN else ""


def colours(text: str, language: str) -> Sequence[Colour]:
    """Return the coloured runs of `text`, in order; none when it is too large or the language is not known."""
    if not language or len(text) > MAX_CHARS or _longest_line(text) > MAX_LINE:
        return ()
    return _short(text, language) if len(text) <= _SHORT else _coloured(text, language)


@lru_cache(maxsize=512)
def _short(text: str, language: str) -> Sequence[Colour]:
    """Code blocks of a note are coloured again whenever it is opened: keep them."""
    return _coloured(text, language)


def _coloured(text: str, language: str) -> Sequence[Colour]:
    lexer = _lexer(language)
    if lexer is None:
        return ()
    found: list[Colour] = []
    for start, kind, value in lexer.get_tokens_unprocessed(text):
        css = _css(kind)
        if not css or not value:
            continue
        if found and found[-1].css == css and found[-1].end == start:
            found[-1] = Colour(found[-1].start, start + len(value), css)
        else:
            found.append(Colour(start, start + len(value), css))
    return tuple(found)


@lru_cache(maxsize=256)
def _css(kind: _TokenType) -> str:
    return next((css for family, css in _CLASSES if kind in family), "")


@lru_cache(maxsize=128)
def _lexer(language: str) -> Lexer | None:
    if language not in _KNOWN:
        return None
    try:
        return get_lexer_by_name(language, stripnl=False, ensurenl=False)
    except ClassNotFound:
        return None


def _longest_line(text: str) -> int:
    return max(map(len, text.split("\n")))
