"""What people change about themselves: language, colours, shown name, password."""

from __future__ import annotations

from django.db import transaction

from mnote.models import User
from mnote.principals import Principal
from mnote.services import audit


def set_language(*, user: User, language: str) -> None:
    """Keep the language (a code of settings.LANGUAGES) for the person's next browsers."""
    User.objects.filter(pk=user.pk).update(language=language)


def set_theme(*, user: User, theme: str) -> None:
    """Keep the colours: `light`, `dark`, or "" for what the system says."""
    User.objects.filter(pk=user.pk).update(theme=theme)


def set_display_name(*, user: User, display_name: str) -> None:
    """Change the name that others see; "" goes back to the sign-in name."""
    User.objects.filter(pk=user.pk).update(display_name=display_name)
    user.display_name = display_name


@transaction.atomic
def set_password(*, user: User, password: str) -> None:
    """Change a checked password. Every other session of the person ends with the next request it makes."""
    user.set_password(password)
    user.save(update_fields=["password"])
    audit.record(principal=Principal(user=user), action="user.change_password", target=user.username)
