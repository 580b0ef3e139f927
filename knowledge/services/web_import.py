"""Web addresses become local files: fetched by the server through the checked door, where policy allows it (spec 4.5).

A page is kept as Markdown with its address in the front matter, everything else as the file it is.
"""

from __future__ import annotations

import json
import mimetypes
import re
from dataclasses import dataclass
from email.message import Message
from urllib.parse import unquote, urlsplit

from django.conf import settings
from django.utils import timezone

from knowledge.exceptions import AddressFailed, AddressNotAllowed, AddressUnreachable, NameTaken, WebImportNotAllowed
from knowledge.models import KnowledgeBase
from knowledge.parsing.base import ParseError
from knowledge.parsing.file_types import type_for_name
from knowledge.parsing.html_markdown import to_markdown
from knowledge.parsing.html_pages import decode_html, page_title, parse_html
from knowledge.services import uploads
from knowledge.services.uploads import Uploaded
from mnote import http, outbound
from mnote.exceptions import TooLarge, UnsupportedType
from mnote.http import Answer, Fetched
from mnote.http_limits import AnswerTooLarge, DoorError, Timeouts
from mnote.ids import text_key
from mnote.models import Job, Root
from mnote.outbound import AddressRefused, OutboundPolicy
from mnote.principals import Principal
from mnote.services import jobs

_TIMEOUTS = Timeouts(connect=5, read=15, total=60)
_MEGABYTE = 1024 * 1024
_PAGES = frozenset({"text/html", "application/xhtml+xml"})
_PLAIN = {"text/plain": ".txt", "text/markdown": ".md"}
_MAX_STEM = 80
_RENAMES = 5


@dataclass(frozen=True, slots=True, kw_only=True)
class _File:
    """What is going to be written."""

    name: str
    content: bytes


def request_import(
    *, principal: Principal, kb: KnowledgeBase, root: Root, folder: str, url: str, name: str = ""
) -> Job:
    """Ask for an address to be fetched into `folder` and taken into `kb`; needs curator and a write grant.

    Raises WebImportNotAllowed, AddressNotAllowed (at once for what no look-up is needed for), NotFound, Forbidden.
    """
    _check_policy(root)
    uploads.check_folder(principal=principal, kb=kb, root=root, folder=folder)
    try:
        outbound.check_form(url, _policy())
    except AddressRefused as error:
        raise AddressNotAllowed(reason=str(error)) from None
    return jobs.enqueue(
        kind="knowledge.import_address",
        payload={"kb_id": kb.id, "root_id": root.pk, "folder": folder, "url": url, "name": name},
        dedup_key=text_key(f"{kb.id}\n{root.pk}\n{folder}\n{name}\n{url}"),
        workspace=kb.workspace,
        kb_id=kb.id,
        requested_by=principal.user,
    )


def import_address(
    *, principal: Principal, kb: KnowledgeBase, root: Root, folder: str, url: str, name: str = ""
) -> Uploaded:
    """Fetch an address and write it as a new file; policy and rights are checked as they are now.

    Raises WebImportNotAllowed, AddressNotAllowed, AddressFailed, UnsupportedType, and what `upload_file` raises.
    """
    _check_policy(root)
    uploads.check_folder(principal=principal, kb=kb, root=root, folder=folder)
    file = _as_file(_fetched(url), name)
    return _written(principal, kb, root, folder, file, is_renamed=not name)


def _check_policy(root: Root) -> None:
    if not (settings.MNOTE_ALLOW_WEB_IMPORT and root.workspace.allow_web_import):
        raise WebImportNotAllowed


def _policy() -> OutboundPolicy:
    return OutboundPolicy(allowed_hosts=frozenset(settings.MNOTE_WEB_IMPORT_HOSTS))


def _fetched(url: str) -> Fetched:
    limit = settings.MNOTE_UPLOAD_MAX_MB * _MEGABYTE
    headers = {"Accept": "text/html, application/pdf;q=0.9, */*;q=0.5"}
    try:
        fetched = http.fetch(
            url, role="web address", timeouts=_TIMEOUTS, max_bytes=limit, policy=_policy(), headers=headers
        )
    except AddressRefused as error:
        raise AddressNotAllowed(reason=str(error)) from None
    except AnswerTooLarge:
        raise TooLarge(limit_bytes=limit) from None
    except DoorError as error:
        raise (AddressUnreachable if error.retryable else AddressFailed) from None
    if fetched.answer.is_ok:
        return fetched
    is_temporary = fetched.answer.status in (429, 502, 503, 504)
    raise (AddressUnreachable if is_temporary else AddressFailed)(address_status=fetched.answer.status)


def _as_file(fetched: Fetched, name: str) -> _File:
    content_type = _content_type(fetched.answer)
    if content_type in _PAGES:
        return _page(fetched, name)
    return _File(name=name or _file_name(fetched, content_type), content=fetched.answer.body)


def _page(fetched: Fetched, name: str) -> _File:
    try:
        root = parse_html(decode_html(fetched.answer.body, encoding=_charset(fetched.answer)).text)
    except ParseError:
        raise UnsupportedType from None
    title = page_title(root) or _last_part(fetched.url) or urlsplit(fetched.url).hostname or ""
    body = to_markdown(root, url=fetched.url)
    head = {"title": title, "source": fetched.url, "fetched": timezone.now().isoformat(timespec="seconds")}
    # JSON strings are YAML strings, whatever they hold.
    matter = "".join(f"{key}: {json.dumps(value, ensure_ascii=False)}\n" for key, value in head.items())
    stem = (name or _stem(title)).removesuffix(".md")
    return _File(name=f"{stem}.md", content=f"---\n{matter}---\n\n{body}".encode("utf-8", "replace"))


def _written(
    principal: Principal, kb: KnowledgeBase, root: Root, folder: str, file: _File, *, is_renamed: bool
) -> Uploaded:
    """Write the file. Nobody is there to choose another name, so a free one is taken unless the name was asked for."""
    name = file.name
    for tries_left in range(_RENAMES, -1, -1):
        try:
            return uploads.upload_file(
                principal=principal,
                kb=kb,
                root=root,
                folder=folder,
                name=name,
                chunks=[file.content],
                expected_bytes=len(file.content),
            )
        except NameTaken as error:
            if not is_renamed or not tries_left:
                raise
            name = error.extra["suggestion"]
    raise AssertionError("unreachable")


def _content_type(answer: Answer) -> str:
    return answer.headers.get("Content-Type", "").partition(";")[0].strip().lower()


def _charset(answer: Answer) -> str | None:
    message = Message()
    message["Content-Type"] = answer.headers.get("Content-Type", "")
    charset = message.get_content_charset()
    try:
        return charset if charset and "".encode(charset) == b"" else None
    except (LookupError, UnicodeError):
        return None


def _file_name(fetched: Fetched, content_type: str) -> str:
    """Return a name with an extension that can be read: as the server names it, else by the address and its type."""
    name = _named_by_server(fetched.answer) or _last_part(fetched.url) or "page"
    if type_for_name(name) is not None:
        return name
    extension = _PLAIN.get(content_type) or mimetypes.guess_extension(content_type, strict=False) or ""
    if type_for_name(f"x{extension}") is None:
        raise UnsupportedType
    return name + extension


def _named_by_server(answer: Answer) -> str:
    message = Message()
    message["Content-Disposition"] = answer.headers.get("Content-Disposition", "")
    return (message.get_filename() or "").rpartition("/")[2].rpartition("\\")[2]


def _last_part(url: str) -> str:
    return unquote(urlsplit(url).path.rstrip("/").rpartition("/")[2])


def _stem(title: str) -> str:
    return re.sub(r"[\s/\\:*?\"<>|]+", " ", title).strip(" .")[:_MAX_STEM].strip(" .") or "page"
