"""What open pages watch: each app says by a growing number what changed in a workspace last.

The kernel knows no documents; `knowledge` registers its counter when it is loaded.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

#: From a workspace id and the number last seen to the present number, the same when nothing changed.
Reader = Callable[[str, int], int]

#: The reader whose number is the public revision of a workspace.
DOCUMENTS = "documents"

_readers: dict[str, Reader] = {}


def register(name: str, reader: Reader) -> None:
    """Let `reader` speak for one kind of rows. Registering a name again replaces its reader."""
    _readers[name] = reader


@dataclass(frozen=True, slots=True, kw_only=True)
class Revision:
    """The numbers of every kind of rows at one moment."""

    numbers: Mapping[str, int] = field(default_factory=dict)

    @property
    def documents(self) -> int:
        return self.numbers.get(DOCUMENTS, 0)

    def changed_since(self, other: Revision) -> list[str]:
        """Name the kinds whose number is not the same as in `other`, in alphabetical order."""
        return sorted(name for name, number in self.numbers.items() if number != other.numbers.get(name))


def read(workspace_id: str, seen: Revision) -> Revision:
    """Ask every reader for the workspace's present number."""
    return Revision(
        numbers={name: reader(workspace_id, seen.numbers.get(name, 0)) for name, reader in _readers.items()}
    )
