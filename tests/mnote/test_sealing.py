from __future__ import annotations

from typing import Any

import pytest

from mnote.sealing import Unsealable, seal, unseal


def test_sealed_text_can_be_read_again_and_shows_nothing() -> None:
    sealed = seal("s3cret 密码")

    assert unseal(sealed) == "s3cret 密码"
    assert "s3cret" not in sealed


def test_sealing_twice_gives_two_texts() -> None:
    assert seal("same") != seal("same")


def test_text_sealed_with_a_former_key_can_be_read(settings: Any) -> None:
    sealed = seal("s3cret")
    settings.SECRET_KEY_FALLBACKS = [settings.SECRET_KEY]
    settings.SECRET_KEY = "another" * 8

    assert unseal(sealed) == "s3cret"


@pytest.mark.parametrize("sealed", ["", "nonsense", "gAAAAA"])
def test_what_was_not_sealed_here_is_refused(sealed: str) -> None:
    with pytest.raises(Unsealable):
        unseal(sealed)


def test_text_sealed_with_an_unknown_key_is_refused(settings: Any) -> None:
    sealed = seal("s3cret")
    settings.SECRET_KEY = "another" * 8

    with pytest.raises(Unsealable):
        unseal(sealed)
