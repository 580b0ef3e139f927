"""What our admin pages share: who acts, acting on each row through a service, and pages that only show."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import partial
from typing import TYPE_CHECKING, Any, TypeVar

from django import forms
from django.contrib import admin, messages
from django.db.models import Model
from django.http import HttpRequest, HttpResponse
from django.template.response import TemplateResponse
from django.utils.functional import Promise
from django.utils.translation import ngettext

from mnote.exceptions import AppError
from mnote.principals import Principal

if TYPE_CHECKING:
    ModelAdmin = admin.ModelAdmin[Any]
    TabularInline = admin.TabularInline[Any, Any]
    ModelForm = forms.ModelForm[Any]
else:  # Django's own classes take no type argument when the program runs
    ModelAdmin, TabularInline, ModelForm = admin.ModelAdmin, admin.TabularInline, forms.ModelForm

M = TypeVar("M", bound=Model)


class RowsAdmin(ModelAdmin):
    """Tables may hold a million rows: the pages count and join no more than they show."""

    show_full_result_count = False
    list_per_page = 50


class ReadOnlyAdmin(RowsAdmin):
    """Rows that something else writes: editing them here would lie."""

    def has_add_permission(self, request: HttpRequest) -> bool:  # noqa: ARG002
        return False

    def has_change_permission(self, request: HttpRequest, obj: Model | None = None) -> bool:  # noqa: ARG002
        return False

    def has_delete_permission(self, request: HttpRequest, obj: Model | None = None) -> bool:  # noqa: ARG002
        return False


def principal_of(request: HttpRequest) -> Principal:
    """The signed-in administrator; the admin lets nobody else in."""
    return request.principal  # type: ignore[attr-defined, no-any-return]


def act_on_each(modeladmin: ModelAdmin, request: HttpRequest, rows: Iterable[M], act: Callable[[M], object]) -> None:
    """Do it to each row and say how many were done, and why the others were not."""
    done = 0
    for row in rows:
        if attempt(modeladmin, request, partial(act, row), label=str(row)):
            done += 1
    if done:
        text = ngettext("Done for %(count)d row.", "Done for %(count)d rows.", done) % {"count": done}
        modeladmin.message_user(request, text, messages.SUCCESS)


def attempt(modeladmin: ModelAdmin, request: HttpRequest, act: Callable[[], object], *, label: str = "") -> bool:
    """Call a service; what it refuses becomes a message. Returns whether it was done."""
    try:
        act()
    except AppError as error:
        modeladmin.message_user(request, f"{label}: {sentence_of(error)}".removeprefix(": "), messages.ERROR)
        return False
    return True


def sentence_of(error: AppError) -> str:
    """The error for people: the messages of its fields, or its own."""
    texts = [message["message"] for each in error.extra.get("errors", {}).values() for message in each]
    return " ".join(texts) or str(error.detail)


def show_once(request: HttpRequest, *, title: str | Promise, text: str | Promise, secret: str) -> HttpResponse:
    """A page that holds a secret: kept by nobody, not even by the message storage."""
    context = {**admin.site.each_context(request), "title": title, "text": text, "secret": secret}
    response = TemplateResponse(request, "admin/mnote/secret.html", context)
    response.headers["Cache-Control"] = "no-store"
    return response
