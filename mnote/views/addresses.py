"""Addresses given by a request: where to go next. Only paths of this site are ever followed."""

from __future__ import annotations

import unicodedata

from django.http import HttpRequest
from django.utils.http import url_has_allowed_host_and_scheme

NEXT = "next"


def is_own_path(address: str) -> bool:
    """Say whether `address` is a plain path here: no host (not even ours), no scheme, no control character."""
    if not address.startswith("/") or any(unicodedata.category(each) == "Cc" for each in address):
        return False
    return url_has_allowed_host_and_scheme(address, allowed_hosts=None)


def next_path(request: HttpRequest, fallback: str) -> str:
    """Give the path named by `next` in the form or the query, or `fallback` when it names anything else."""
    address = request.POST.get(NEXT) or request.GET.get(NEXT) or ""
    return address if is_own_path(address) else fallback
