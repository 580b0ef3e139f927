"""The pages that refer to a resource: found through the links in indexed notes, shown only where readable."""

from __future__ import annotations

import posixpath
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from urllib.parse import quote, unquote

from django.db.models import QuerySet

from knowledge.models import Document, IndexStatus
from knowledge.parsing.source_map import ResourceKind
from knowledge.providers.local.reads import StoredEdge
from knowledge.providers.local.rows import resource_id_of
from knowledge.providers.registry import local_provider
from knowledge.querysets import readable_documents
from knowledge.services import parsing
from mnote.files.prefixes import is_below
from mnote.ids import text_key
from mnote.models import Root
from mnote.principals import Principal

_EMBEDS = "resource_refers_to"
#: How far up a link may climb to be recognised: "../../../".
_MAX_UP = 8
_MAX_LINKS = 500


@dataclass(frozen=True, slots=True, kw_only=True)
class Mention:
    """A link to a resource: the page it stands in, and the block of the index that holds it."""

    document: Document
    block_id: str


def mentions_of(*, principal: Principal, root: Root, paths: Iterable[str]) -> dict[str, tuple[Mention, ...]]:
    """Return by resource path the links to it from readable pages of the root, in page order."""
    wanted = sorted(set(paths))
    spellings = {spelling: path for path in wanted for spelling in _spellings(path)}
    if not spellings:
        return {}
    edges = local_provider().edges_to(root.workspace_id, sorted(spellings))
    if not edges:
        return {}
    pages = _pages(principal, root, {edge.from_id for edge in edges})
    found: defaultdict[str, list[Mention]] = defaultdict(list)
    for edge in edges:
        for document in pages.get(edge.from_id, ()):
            path = _target(edge, document, wanted)
            if path is not None and path != document.source_path:
                found[path].append(Mention(document=document, block_id=edge.source_block_id))
    return {path: tuple(sorted(found[path], key=_order)) for path in found}


def owners_of(*, principal: Principal, root: Root, paths: Iterable[str]) -> dict[str, tuple[str, ...]]:
    """Return by resource path the pages that refer to it, first by path first."""
    mentions = mentions_of(principal=principal, root=root, paths=paths)
    return {path: tuple(dict.fromkeys(each.document.source_path for each in found)) for path, found in mentions.items()}


def linked_paths(page: Document) -> list[str]:
    """Return the root-relative paths that the links of a page name, whether anything is there or not."""
    source_map = parsing.known(workspace_id=page.workspace_id, source_hash=page.indexed_hash, name=page.name)
    if source_map is None:
        return []
    edges = local_provider().edges(page.workspace_id, [resource_id_of(source_map)])
    paths = (_relative(edge, page) for edge in edges if "://" not in edge.to_id)
    return [path for path in dict.fromkeys(paths) if path and not path.startswith("..")][:_MAX_LINKS]


def is_resource(kind: ResourceKind) -> bool:
    """Say whether a file of this kind can have an owner page; a page is its own."""
    return kind is not ResourceKind.MARKDOWN


def _spellings(path: str) -> Iterator[str]:
    """Yield every way in which a link may name the path, relative from anywhere or from the root."""
    parts = path.split("/")
    for start in range(len(parts)):
        tail = "/".join(parts[start:])
        for spelling in {tail, quote(tail), tail.replace(" ", "%20")}:
            yield spelling
            yield f"./{spelling}"
            yield f"/{spelling}"
            yield from (f"{'../' * up}{spelling}" for up in range(1, _MAX_UP + 1))


def _pages(principal: Principal, root: Root, resource_ids: set[str]) -> dict[str, list[Document]]:
    """Return the readable live documents behind contents of the index, whatever provider they are searched in."""
    hashes = local_provider().source_hashes(root.workspace_id, sorted(resource_ids))
    by_hash: defaultdict[str, list[str]] = defaultdict(list)
    for resource_id, source_hash in hashes.items():
        by_hash[source_hash].append(resource_id)
    pages: defaultdict[str, list[Document]] = defaultdict(list)
    for document in _live(principal, root).filter(indexed_hash__in=sorted(by_hash)).order_by("sort_path", "id"):
        for resource_id in by_hash[document.indexed_hash]:
            if all(document.source_path != known.source_path for known in pages[resource_id]):
                pages[resource_id].append(document)
    return pages


def _live(principal: Principal, root: Root) -> QuerySet[Document]:
    rows = readable_documents(principal, root.workspace).filter(root=root)
    return rows.exclude(index_status__in=[IndexStatus.DELETED, IndexStatus.SKIPPED]).select_related("root", "kb")


def _target(edge: StoredEdge, page: Document, wanted: Sequence[str]) -> str | None:
    """Return which of the wanted paths a link of a page means: relative to the page, to the root, or an embed by bare
    name of a file somewhere below the page's folder, where that is the only one wanted."""
    written, relative = _written(edge), _relative(edge, page)
    if relative in wanted:
        return relative
    folder = page.source_path.rpartition("/")[0]
    if "/" in written or edge.edge_type != _EMBEDS or _is_document(page, relative):
        return None
    below = [path for path in wanted if path.rpartition("/")[2] == written and is_below(folder, path)]
    return below[0] if len(below) == 1 else None


def _written(edge: StoredEdge) -> str:
    return unquote(edge.to_id.split("#", 1)[0])


def _relative(edge: StoredEdge, page: Document) -> str:
    """Return the path that a link means when read from its page's folder, or from the root when it starts with /."""
    written = _written(edge)
    folder = page.source_path.rpartition("/")[0]
    return posixpath.normpath(written[1:] if written.startswith("/") else posixpath.join(folder, written))


def _is_document(page: Document, path: str) -> bool:
    return Document.objects.filter(root_id=page.root_id, path_key=text_key(path)).exists()


def _order(mention: Mention) -> tuple[str, str]:
    return mention.document.source_path, mention.block_id
