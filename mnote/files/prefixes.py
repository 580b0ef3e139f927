"""Which paths a path prefix covers: whole components only, so that `/ws` never covers `/ws_x`.

Paths and prefixes are text forms, relative to one root or all absolute. The prefix `""` (or `/`) covers everything.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator
from typing import Generic, TypeVar

from mnote.files.errors import InvalidPath

T = TypeVar("T")


def components(path: str) -> tuple[str, ...]:
    """Split a path into its names; one leading and one trailing `/` do not count.

    Raises:
        InvalidPath: `.`, `..`, NUL or an empty component, which no rule may be asked about.
    """
    trimmed = path.removeprefix("/").removesuffix("/")
    if not trimmed:
        return ()
    names = tuple(trimmed.split("/"))
    if "\0" in trimmed or any(name in {"", ".", ".."} for name in names):
        raise InvalidPath(path.replace("\0", "\\x00"))
    return names


def depth(path: str) -> int:
    """Count the components of a path; the root has none."""
    return len(components(path))


def is_below(prefix: str, path: str) -> bool:
    """Say whether `prefix` covers `path`: the same path, or one of its ancestors."""
    head = components(prefix)
    return components(path)[: len(head)] == head


def ancestors(path: str) -> Iterator[str]:
    """Yield the path itself, then each folder above it, then `""`; all without outer slashes."""
    names = components(path)
    for count in range(len(names), -1, -1):
        yield "/".join(names[:count])


class PrefixMap(Generic[T]):
    """Values by prefix, asked by path: one look-up a component, whatever the number of prefixes."""

    def __init__(self, pairs: Iterable[tuple[str, T]]) -> None:
        values: defaultdict[str, list[T]] = defaultdict(list)
        for prefix, value in pairs:
            values["/".join(components(prefix))].append(value)
        self._values = dict(values)

    def most_specific(self, path: str) -> tuple[T, ...]:
        """Give the values of the deepest prefix that covers `path`, in the order given; none if nothing covers it.

        Several values of one prefix come together: only the caller knows which of them wins.
        """
        for prefix in ancestors(path):
            if prefix in self._values:
                return tuple(self._values[prefix])
        return ()
