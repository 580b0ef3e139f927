"""The request as views behind a sign-in know it."""

from __future__ import annotations

from django.http import HttpRequest

from mnote.models import User
from mnote.principals import Principal


class PersonRequest(HttpRequest):
    """A request of a signed-in person. Only an annotation: the middleware sets both attributes."""

    user: User
    principal: Principal
