"""Secrets that have to be read again, such as passwords of other services: encrypted in the database, with a key that
is not in it. The key is derived from the secret key; earlier ones (SECRET_KEY_FALLBACKS) still open what they sealed.

Apps register the columns that hold sealed texts, so that all can be sealed anew after a change of the secret key.
"""

from __future__ import annotations

import base64

from cryptography.fernet import Fernet, InvalidToken, MultiFernet
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.kdf.hkdf import HKDF
from django.conf import settings
from django.utils.encoding import force_bytes

#: Model ("app.Model") -> its columns of sealed texts.
sealed_columns: dict[str, tuple[str, ...]] = {}

_PURPOSE = b"mnote.sealing.v1"


class Unsealable(Exception):
    """Not sealed with a key that is known here."""


def seal(text: str) -> str:
    """Encrypt a secret for the database. The same text is sealed differently each time."""
    return _box().encrypt(text.encode()).decode("ascii")


def unseal(sealed: str) -> str:
    """Return the secret. Raises Unsealable."""
    try:
        return _box().decrypt(sealed.encode()).decode()
    except InvalidToken:
        raise Unsealable("sealed with another key") from None


def reseal(sealed: str) -> str:
    """Seal the same secret with the newest key. Raises Unsealable."""
    try:
        return _box().rotate(sealed.encode()).decode("ascii")
    except InvalidToken:
        raise Unsealable("sealed with another key") from None


def _box() -> MultiFernet:
    return MultiFernet([_fernet(key) for key in (settings.SECRET_KEY, *settings.SECRET_KEY_FALLBACKS)])


def _fernet(key: str | bytes) -> Fernet:
    derived = HKDF(algorithm=SHA256(), length=32, salt=None, info=_PURPOSE).derive(force_bytes(key))
    return Fernet(base64.urlsafe_b64encode(derived))
