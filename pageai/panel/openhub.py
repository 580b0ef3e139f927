"""OpenHub's API as the host uses it: users, models, and answers for the panel. Knows its paths and its envelopes."""

from __future__ import annotations

import secrets
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from functools import lru_cache
from typing import Any

from mnote.http import Answer, build_client
from pageai.panel import tokens
from pageai.panel.asking import SHORT, TIMEOUTS, Asker, as_list, as_mapping
from pageai.panel.connection import Connection
from pageai.panel.errors import PanelProtocolError, PanelRefused

LAYER = "openhub_fastapi"
#: opencode's own free models, which send what they are asked to a public service. Never permitted by itself.
PUBLIC_PROVIDER = "opencode"
_HOST = "mnote-host"


@dataclass(frozen=True, slots=True, kw_only=True)
class OpenHubUser:
    """A user as OpenHub knows it. `workspace_path` is the folder in which OpenHub itself keeps and writes things."""

    id: int
    username: str
    workspace_path: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Model:
    """A model that opencode can reach."""

    provider_id: str
    model_id: str
    monthly_limit: int = 0

    @property
    def name(self) -> str:
        return f"{self.provider_id}/{self.model_id}"


class Snapshots(StrEnum):
    """Whether OpenHub commits people's folders. UNPROVEN: it was not started by our launcher, which can prove it."""

    OFF = "off"
    ON = "on"
    UNPROVEN = "unproven"


class OpenHub:
    """Calls with a token of the host's own, ended after each use; proxied calls with the token of a person."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection
        self._store = tokens.TokenStore(connection)
        self._asker = _asker(connection)

    def token_for(self, *, user_id: int, username: str, now: datetime, is_admin: bool = False) -> str:
        """Mint a token that counts from now on. Raises PanelUnavailable."""
        token = tokens.sign(
            secret=self._connection.jwt_secret,
            user_id=user_id,
            username=username,
            is_admin=is_admin,
            expires=now + tokens.LASTS,
        )
        self._store.put(token, username=username, now=now)
        return token

    def drop_token(self, token: str) -> None:
        """End a token. Raises PanelUnavailable."""
        self._store.drop(token)

    def ensure_user(self, username: str, *, now: datetime) -> OpenHubUser:
        """Find the user of that name, or make it with a password that nobody knows. Raises PanelError."""
        with self._admin(now) as admin:
            found = _named(admin.users(), username)
            if found is None:
                admin.create(username)
                found = _named(admin.users(), username)
        if found is None:
            raise PanelProtocolError(layer=LAYER, reason="a user that was made is not listed")
        return found

    def reachable_models(self, *, now: datetime) -> list[Model]:
        """Return the models of the providers that opencode is connected to. Raises PanelError."""
        with self._admin(now) as admin:
            return admin.models()

    def permit(self, user: OpenHubUser, models: Iterable[Model], *, now: datetime) -> None:
        """Let a user use exactly these models. Raises PanelError."""
        with self._admin(now) as admin:
            admin.permit(user.id, models)

    def close(self, user_id: int, *, now: datetime) -> None:
        """Close an account. Raises PanelError."""
        with self._admin(now) as admin:
            admin.set_disabled(user_id, is_disabled=True)

    def reopen(self, user_id: int, *, now: datetime) -> None:
        """Open a closed account again. Raises PanelError."""
        with self._admin(now) as admin:
            admin.set_disabled(user_id, is_disabled=False)

    def snapshots(self, *, now: datetime) -> Snapshots:
        """Ask the launcher for its proof that no folder is committed. Raises PanelUnavailable."""
        with self._admin(now) as admin:
            return admin.snapshots()

    def ask(self, method: str, path: str, *, token: str, **parts: Any) -> Answer:
        """Make one call as a person and return the answer, whatever its status. Raises PanelUnavailable."""
        return self._asker.ask(method, path, headers=_bearer(token), **parts)

    def read(self, answer: Answer) -> Mapping[str, Any]:
        """Return the JSON object of an answer. Raises PanelProtocolError."""
        return as_mapping(self._asker.read(answer), LAYER)

    def _admin(self, now: datetime) -> _Admin:
        return _Admin(self, self._asker, now)


class _Admin:
    """OpenHub's administration, for the time of a `with` block: the token ends with it."""

    def __init__(self, hub: OpenHub, asker: Asker, now: datetime) -> None:
        self._hub = hub
        self._asker = asker
        self._now = now
        self._token = ""

    def __enter__(self) -> _Admin:
        self._token = self._hub.token_for(user_id=0, username=_HOST, now=self._now, is_admin=True)
        return self

    def __exit__(self, *_error: object) -> None:
        self._hub.drop_token(self._token)

    def users(self) -> list[OpenHubUser]:
        listed = as_list(self._data("GET", "/api/admin/users"), LAYER)
        return [_user_of(each) for each in listed]

    def create(self, username: str) -> None:
        account = {"username": username, "password": secrets.token_urlsafe(30), "is_admin": False, "disabled": False}
        try:
            self._call("POST", "/api/admin/users", json=account)
        except PanelRefused as error:
            if error.status != 409:  # somebody else made it a moment ago
                raise

    def models(self) -> list[Model]:
        listed = as_list(self._data("GET", "/api/admin/models"), LAYER)
        return [
            Model(provider_id=str(each["providerID"]), model_id=str(each["modelID"]))
            for each in listed
            if "providerID" in each and "modelID" in each
        ]

    def permit(self, user_id: int, models: Iterable[Model]) -> None:
        listed = [
            {
                "modelID": each.model_id,
                "providerID": each.provider_id,
                "enabled": True,
                "monthlyLimit": each.monthly_limit,
            }
            for each in models
        ]
        self._call("PUT", f"/api/admin/users/{user_id}/models", json={"models": listed})

    def set_disabled(self, user_id: int, *, is_disabled: bool) -> None:
        self._call("PUT", f"/api/admin/users/{user_id}", json={"disabled": is_disabled})

    def snapshots(self) -> Snapshots:
        answer = self._asker.ask("GET", "/api/mnote/snapshots", headers=_bearer(self._token), timeouts=SHORT)
        try:
            said = as_mapping(self._asker.read(answer), LAYER).get("snapshots")
        except PanelProtocolError:
            said = None
        return Snapshots(said) if answer.is_ok and said in {"off", "on"} else Snapshots.UNPROVEN

    def _data(self, method: str, path: str) -> Any:
        return self._call(method, path).get("data")

    def _call(self, method: str, path: str, **parts: Any) -> Mapping[str, Any]:
        """Make a call. OpenHub may also say no with status 200 and `success: false`."""
        found = self._asker.mapping(method, path, headers=_bearer(self._token), **parts)
        if found.get("success") is not True:
            raise PanelRefused(layer=LAYER, status=200, reason="not successful")
        return found


def _named(users: Iterable[OpenHubUser], username: str) -> OpenHubUser | None:
    return next((each for each in users if each.username == username), None)


def _user_of(given: Mapping[str, Any]) -> OpenHubUser:
    try:
        number = int(given["id"])
    except (KeyError, TypeError, ValueError):
        raise PanelProtocolError(layer=LAYER, reason="a user without id") from None
    path = given.get("workspace_path")
    return OpenHubUser(id=number, username=str(given.get("username", "")), workspace_path=str(path or ""))


def _bearer(token: str) -> dict[str, str]:
    return {"Authorization": f"Bearer {token}"}


@lru_cache(maxsize=4)
def _asker(connection: Connection) -> Asker:
    client = build_client(connection.openhub_url, role="OpenHub", timeouts=TIMEOUTS, tries=2)
    return Asker(client=client, layer=LAYER)
