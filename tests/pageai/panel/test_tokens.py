from __future__ import annotations

import base64
import json
from datetime import UTC, datetime, timedelta

import pytest
import requests

from pageai.panel import tokens
from pageai.panel.connection import Connection
from pageai.panel.errors import PanelUnavailable
from pageai.panel.openhub import OpenHub
from pageai.panel.tokens import TokenStore
from tests.stubs.openhub import OpenHubStub
from tests.stubs.openhub_redis import redis_stub

_NOW = datetime(2030, 1, 1, tzinfo=UTC)


def me(hub: OpenHubStub, token: str) -> int:
    return requests.get(f"{hub.url}/api/auth/me", headers={"Authorization": f"Bearer {token}"}, timeout=5).status_code


def test_sign_writes_the_claims_openhub_reads() -> None:
    token = tokens.sign(secret="s" * 32, user_id=7, username="mnote_x", is_admin=False, expires=_NOW)

    head, claims, _signature = token.split(".")
    read = [json.loads(base64.urlsafe_b64decode(part + "==")) for part in (head, claims)]
    assert read[1].pop("jti")
    assert read == [
        {"alg": "HS256", "typ": "JWT"},
        {"sub": "mnote_x", "id": 7, "is_admin": False, "exp": int(_NOW.timestamp())},
    ]


def test_token_counts_until_it_is_dropped(hub: OpenHubStub, connection: Connection) -> None:
    openhub = OpenHub(connection)

    token = openhub.token_for(user_id=1, username="alice", now=datetime.now(UTC))
    before = me(hub, token)
    openhub.drop_token(token)

    assert (before, me(hub, token)) == (200, 401)


def test_dropping_a_token_ends_no_other_of_the_same_moment(hub: OpenHubStub, connection: Connection) -> None:
    openhub = OpenHub(connection)
    moment = datetime.now(UTC)
    one, other = (openhub.token_for(user_id=1, username="alice", now=moment) for _each in range(2))

    openhub.drop_token(one)

    assert (me(hub, one), me(hub, other)) == (401, 200)


def test_token_of_another_secret_does_not_count(hub: OpenHubStub, connection: Connection) -> None:
    token = tokens.sign(
        secret="another", user_id=1, username="alice", is_admin=True, expires=datetime.now(UTC) + timedelta(minutes=5)
    )
    TokenStore(connection).put(token, username="alice", now=datetime.now(UTC))

    assert me(hub, token) == 401


def test_token_key_ends_by_itself(hub: OpenHubStub, connection: Connection) -> None:
    token = OpenHub(connection).token_for(user_id=1, username="alice", now=datetime.now(UTC))

    hub.redis.ends[f"token:{token}"] = 0

    assert me(hub, token) == 401


def test_store_says_which_layer_is_down(hub: OpenHubStub, connection: Connection) -> None:
    hub.redis.is_down = True

    with pytest.raises(PanelUnavailable) as caught:
        OpenHub(connection).token_for(user_id=1, username="alice", now=datetime.now(UTC))

    assert caught.value.layer == "openhub_redis"
    assert "127.0.0.1" not in str(caught.value)


def test_connection_shows_no_secret(connection: Connection) -> None:
    shown = repr(connection)

    assert not [
        each for each in (connection.jwt_secret, connection.redis_url, connection.opencode_password) if each in shown
    ]


def test_store_knows_its_database_by_any_name(hub: OpenHubStub, connection: Connection) -> None:
    store, port = TokenStore(connection), hub.redis.url.rpartition(":")[2].partition("/")[0]

    assert store.shares(hub.redis.url)
    assert store.shares(f"redis://localhost:{port}/3")
    assert store.shares(f"redis://localhost:{port}?db=3")
    assert not store.shares(f"redis://127.0.0.1:{port}/4")


def test_database_of_another_server_is_not_shared(connection: Connection) -> None:
    with redis_stub() as other:
        assert not TokenStore(connection).shares(other.url)
