"""What the panel's proxy costs: the same stream asked of OpenHub directly and through the running server."""

from __future__ import annotations

import http.client
import json
import os
import time
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import urlsplit

from django.conf import settings
from django.test import Client

from bench import openhub, processes
from bench.folders import make_kb, make_notes
from bench.measure import Measure, p50, p95
from pageai.services import bindings, pages

_BURST, _PACED, _PAUSE, _ROUNDS = 5_000, 200, 0.01, 10


@dataclass(frozen=True, slots=True, kw_only=True)
class Way:
    """Where to ask a question, and as whom."""

    url: str
    headers: dict[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Heard:
    """One answer: seconds to the first frame and to the last, and what each frame took on its way."""

    first: float
    whole: float
    lags: list[float]


def measure(place: Path) -> list[Measure]:
    """Ask both ways in turns, so that what else the machine does meets both."""
    make_notes(place, 1)
    with openhub.serving() as (web, redis):
        os.environ |= {
            "MNOTE_OPENHUB_URL": web,
            "MNOTE_OPENCODE_URL": web,
            "MNOTE_OPENHUB_REDIS_URL": redis,
            "MNOTE_OPENHUB_JWT_SECRET": openhub.SECRET,
            "MNOTE_OPENCODE_PASSWORD": "none",
        }
        with processes.server() as site:
            ways = _through(site, place), Way(url=f"{web}/api/query/stream")
            _ask(ways[0], 1, 0)  # the account at OpenHub and the session are made with the first question
            short, paced, burst = ([[_ask(way, *what) for way in ways] for _ in range(count)] for what, count in _PLAN)
    return [*_first(short), *_lags(paced), _rate(burst)]


_PLAN = (((1, 0.0), _ROUNDS), ((_PACED, _PAUSE), 3), ((_BURST, 0.0), 3))


def _through(site: str, place: Path) -> Way:
    """The way of a person's browser: a session, the token against forged requests, a conversation of their own."""
    principal, root, _ = make_kb(place, "proxy")
    page = pages.locate(principal=principal, root=root, path="top/000/note 00000.md")
    binding = bindings.open_binding(principal=principal, page=page).binding
    client, csrf = Client(), "c" * 32
    client.force_login(principal.user)
    name = settings.SESSION_COOKIE_NAME
    cookie = f"{name}={client.cookies[name].value}; {settings.CSRF_COOKIE_NAME}={csrf}"
    url = f"{site}/pageai/openhub/{binding.pk}/api/query/stream"
    return Way(url=url, headers={"Cookie": cookie, "X-CSRFToken": csrf})


def _ask(way: Way, count: int, pause: float) -> Heard:
    parts = urlsplit(way.url)
    connection = http.client.HTTPConnection(parts.netloc, timeout=120)
    began = time.monotonic()
    body = json.dumps({"question": f"{count} {pause}"})
    connection.request("POST", parts.path, body, {"Content-Type": "application/json", **way.headers})
    answer = connection.getresponse()
    assert answer.status == 200, answer.read()
    lags, first = [], 0.0
    while line := answer.readline():
        if line.startswith(b"data: ") and "at" in (frame := json.loads(line[6:])):
            now = time.monotonic()
            first = first or now - began
            lags.append(now - frame["at"])
    connection.close()
    assert len(lags) == count, (len(lags), count)
    return Heard(first=first, whole=time.monotonic() - began, lags=lags)


def _first(pairs: list[list[Heard]]) -> list[Measure]:
    ours, direct = ([1000 * pair[way].first for pair in pairs] for way in (0, 1))
    note = "limit: OpenHub asked directly; ours signs in, renews rights and rules, and listens to opencode first"
    return [Measure(name="proxy first frame", size="1 frame", ours=p50(ours), limit=p50(direct), unit="ms", note=note)]


def _lags(pairs: list[list[Heard]]) -> list[Measure]:
    ours, direct = ([1000 * lag for pair in pairs for lag in pair[way].lags] for way in (0, 1))
    size, note = f"{_PACED} frames, one each {_PAUSE * 1000:.0f} ms", "limit: OpenHub read directly"
    return [
        Measure(name="proxy frame p50", size=size, ours=p50(ours), limit=p50(direct), unit="ms", note=note),
        Measure(name="proxy frame p95", size=size, ours=p95(ours), limit=p95(direct), unit="ms", note=note),
    ]


def _rate(pairs: list[list[Heard]]) -> Measure:
    ours, direct = (_BURST / p50([pair[way].whole - pair[way].first for pair in pairs]) for way in (0, 1))
    note = "limit: OpenHub read directly"
    return Measure(name="proxy frames", size=f"{_BURST:,} at once", ours=ours, limit=direct, unit="frames/s", note=note)
