"""Bringing in what is not there yet: files and folders from the browser, a text, a web address."""

from __future__ import annotations

import json
from typing import Any

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.core.files.uploadedfile import UploadedFile
from django.http import HttpRequest, HttpResponse, JsonResponse
from django.shortcuts import redirect, render
from django.utils.translation import gettext as _
from django.utils.translation import ngettext
from django.views.decorators.http import require_GET, require_http_methods, require_POST

from knowledge.exceptions import NameTaken
from knowledge.services import upload_checks, uploads, web_import
from knowledge.services.upload_checks import Checked, Item
from knowledge.views.kb_frame import KBFrame
from knowledge.views.upload_page import Place, UploadPage, verdict_words
from mnote.exceptions import AppError, Invalid
from mnote.models import Role

_TAB = "kb-upload"
_HASH_LENGTH = 64


@login_required
@require_http_methods(["GET", "POST"])
def kb_upload(request: HttpRequest, kb_id: str) -> HttpResponse:
    """The page; a POST takes in what a form sent: a text, a web address, or files where no script runs."""
    frame = KBFrame(request, kb_id, tab=_TAB, role=Role.CURATOR)
    page = UploadPage(request, frame)
    if request.method == "GET" or page.destination is None:
        return _show(request, page)
    match page.way:
        case "text":
            return _write_text(request, page, page.destination)
        case "web":
            return _fetch(request, page, page.destination)
    return _take_files(request, page, page.destination)


@login_required
@require_GET
def upload_folders(request: HttpRequest, kb_id: str) -> HttpResponse:
    """One level of the folders into which the person may write."""
    page = UploadPage(request, KBFrame(request, kb_id, tab=_TAB, role=Role.CURATOR))
    places = page.level(request.GET.get("root", ""), request.GET.get("path", ""))
    return render(request, "knowledge/upload_folders.html", {"page": page, "places": places})


@login_required
@require_POST
def upload_check(request: HttpRequest, kb_id: str) -> JsonResponse:
    """Say what would become of each of the chosen files, before they are sent."""
    frame = KBFrame(request, kb_id, tab=_TAB, role=Role.CURATOR)
    destination = UploadPage(request, frame)
    given = _json(request)
    place = destination.place_of(str(given.get("to", "")))
    items = [_item(each) for each in given.get("files", [])[: upload_checks.MAX_ITEMS]]
    found = upload_checks.check(principal=frame.principal, kb=frame.kb, root=place.root, folder=place.path, items=items)
    return JsonResponse({"files": [_verdict(each) for each in found], "room": upload_checks.room_left(place.root)})


def _write_text(request: HttpRequest, page: UploadPage, place: Place) -> HttpResponse:
    name, text = request.POST.get("name", "").strip(), request.POST.get("text", "")
    if not name or not text.strip():
        problem = _("Give it a name.") if not name else _("Write something first.")
        return _show(request, page, status=422, problem=problem)
    try:
        written = uploads.write_text(
            principal=page.frame.principal, kb=page.frame.kb, root=place.root, folder=place.path, name=name, text=text
        )
    except NameTaken as error:
        return _show(request, page, status=422, problem=error.title, free_name=error.extra["suggestion"])
    except AppError as error:
        return _show(request, page, status=422, problem=_sentence(error))
    messages.success(request, _("“%(path)s” was written and is read now.") % {"path": written.path})
    if written.attached is None:
        return redirect("knowledge:kb-detail", page.frame.kb.pk)
    return redirect("knowledge:document", page.frame.kb.pk, written.attached.document.pk)


def _fetch(request: HttpRequest, page: UploadPage, place: Place) -> HttpResponse:
    url = request.POST.get("url", "").strip()
    try:
        web_import.request_import(
            principal=page.frame.principal, kb=page.frame.kb, root=place.root, folder=place.path, url=url,
            name=request.POST.get("name", "").strip(),
        )  # fmt: skip
    except AppError as error:
        return _show(request, page, status=422, problem=_sentence(error))
    messages.success(request, _("The address is fetched now. When that fails, it is said here."))
    return redirect("knowledge:kb-activity", page.frame.kb.pk)


def _take_files(request: HttpRequest, page: UploadPage, place: Place) -> HttpResponse:
    """Take in what a plain form sent: no progress, but the same files."""
    done, refused = 0, []
    for each in request.FILES.getlist("files"):
        try:
            _take(page, place, each)
            done += 1
        except NameTaken as error:
            facts = {"name": each.name, "free": error.extra["suggestion"]}
            refused.append(_("%(name)s: the name is taken; “%(free)s” is free.") % facts)
        except AppError as error:
            refused.append(f"{each.name}: {_sentence(error)}")
    if not done:
        problem = " ".join(refused) or _("Choose at least one file.")
        return _show(request, page, status=422, problem=problem)
    words = ngettext("%(count)d file was added and is read now.", "%(count)d files were added and are read now.", done)
    messages.success(request, words % {"count": done})
    for problem in refused:
        messages.warning(request, problem)
    return redirect("knowledge:kb-detail", page.frame.kb.pk)


def _take(page: UploadPage, place: Place, sent: UploadedFile[Any]) -> None:
    uploads.upload_file(
        principal=page.frame.principal,
        kb=page.frame.kb,
        root=place.root,
        folder=place.path,
        name=sent.name or "",
        chunks=sent.chunks(),
        expected_bytes=sent.size,
    )


def _show(request: HttpRequest, page: UploadPage, *, status: int = 200, **context: Any) -> HttpResponse:
    given = {"page": page, "frame": page.frame, "workspace": page.frame.kb.workspace, "given": request.POST}
    return render(request, "knowledge/upload.html", {**given, **context}, status=status)


def _json(request: HttpRequest) -> dict[str, Any]:
    try:
        given = json.loads(request.body)
    except (ValueError, RecursionError):
        raise Invalid from None
    if not isinstance(given, dict) or not isinstance(given.get("files", []), list):
        raise Invalid
    return given


def _item(given: Any) -> Item:
    if not isinstance(given, dict):
        raise Invalid
    size, digest = given.get("size", 0), given.get("sha256", "")
    return Item(
        path=str(given.get("path", "")),
        size=size if isinstance(size, int) else 0,
        sha256=digest if isinstance(digest, str) and len(digest) == _HASH_LENGTH else "",
    )


def _verdict(checked: Checked) -> dict[str, str]:
    return {
        "verdict": checked.verdict.value,
        "text": verdict_words(checked),
        "folder": checked.folder,
        "name": checked.suggestion or checked.name,
    }


def _sentence(error: AppError) -> str:
    texts = [each["message"] for found in error.extra.get("errors", {}).values() for each in found]
    return " ".join(texts) or str(error.detail)
