from __future__ import annotations

from typing import Any

import pytest
from django.core.management import CommandError, call_command

from mnote.sealing import seal, unseal
from tests.factories.knowledge import ProviderProfileFactory


@pytest.fixture
def new_key(settings: Any) -> str:
    """What a start with a new secret key means, the old one kept for reading."""
    settings.SECRET_KEY_FALLBACKS, settings.SECRET_KEY = [settings.SECRET_KEY], "new-" + "n" * 40
    return settings.SECRET_KEY


def test_resealed_secrets_need_the_old_key_no_more(db: None, settings: Any, request: pytest.FixtureRequest) -> None:
    profile = ProviderProfileFactory(key="sk-kept")
    named = ProviderProfileFactory(sealed_key="", key_name="LIBRARY")
    request.getfixturevalue("new_key")

    call_command("reseal")

    settings.SECRET_KEY_FALLBACKS = []
    profile.refresh_from_db()
    named.refresh_from_db()
    assert (unseal(profile.sealed_key), named.sealed_key) == ("sk-kept", "")


def test_secret_that_nobody_can_read_is_named_and_left(db: None, settings: Any, new_key: str) -> None:
    settings.SECRET_KEY_FALLBACKS = []
    good = ProviderProfileFactory()
    lost = ProviderProfileFactory(name="Lost", sealed_key=seal("x")[:-6] + "AAAA==")

    with pytest.raises(CommandError, match="Lost"):
        call_command("reseal")

    before = good.sealed_key
    good.refresh_from_db()
    assert good.sealed_key != before
    assert ProviderProfileFactory._meta.model.objects.get(pk=lost.pk).sealed_key == lost.sealed_key
