"""Journeys in headless Chromium. A test takes `visit` and asks it for pages; everything else happens around it:

    def test_home_names_the_workspace(visit, people):
        page = visit("/", as_user=people.alice, look=Look(language="zh-hans"))

Every page that was open must end without script errors, console errors and refused content (the content policy).
`snap(page, "home")` saves a picture into MNOTE_SCREENSHOTS; `accessible(page)` fails on any finding of axe.
"""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from axe_playwright_python.sync_playwright import Axe
from django.conf import settings as django_settings
from django.test import Client
from django.urls import get_resolver
from playwright.sync_api import Browser, BrowserContext, ConsoleMessage, Page, expect, sync_playwright

from mnote.models import User
from tests.browser.looks import Look
from tests.browser.server import LiveSite
from tests.factories.mnote import UserFactory

_CHROMIUM_NAMES = ("chromium", "chromium-browser", "google-chrome")
_ARGUMENTS = [
    "--headless=new",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]

#: How long a page may take: a busy machine is slow, a broken page is never ready.
_PATIENCE_MS = 25_000
expect.set_options(timeout=_PATIENCE_MS)

Visit = Callable[..., Page]


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    here = Path(__file__).parent
    for item in items:
        if here in item.path.parents:
            item.add_marker(pytest.mark.browser)
            item.add_marker(pytest.mark.django_db(transaction=True))


@pytest.fixture(scope="session")
def browser() -> Iterator[Browser]:
    program = next(filter(None, map(shutil.which, _CHROMIUM_NAMES)), None)
    if program is None:
        message = "Chromium is not installed: the browser tests did not run"
        if os.environ.get("CI"):
            pytest.fail(message)
        pytest.skip(message)
    # Playwright's loop runs in this thread, so Django would take every query of a test for one inside a coroutine.
    os.environ["DJANGO_ALLOW_ASYNC_UNSAFE"] = "true"
    with sync_playwright() as playwright:
        chromium = playwright.chromium.launch(executable_path=program, args=_ARGUMENTS)
        yield chromium
        chromium.close()
    del os.environ["DJANGO_ALLOW_ASYNC_UNSAFE"]


@pytest.fixture(scope="session")
def site(django_db_setup: None) -> Iterator[LiveSite]:
    Path(django_settings.STATIC_ROOT).mkdir(parents=True, exist_ok=True)  # WhiteNoise warns when it is not there
    assert get_resolver().namespace_dict  # imports every page now, so that the first test does not wait for it
    live = LiveSite()
    live.start()
    yield live
    live.stop()


@pytest.fixture
def complaints() -> list[str]:
    """What the pages of this test complained about; a test that provokes a complaint takes it out."""
    return []


@pytest.fixture
def visit(
    browser: Browser, site: LiveSite, transactional_db: None, complaints: list[str], request: pytest.FixtureRequest
) -> Iterator[Visit]:
    """Open an address as a person (None: nobody) in one look, perhaps without scripts. Each call is a browser of its
    own; `page.context.new_page()` is a second tab."""
    contexts: list[BrowserContext] = []

    def open_page(
        path: str = "/", *, as_user: User | None = None, look: Look | None = None, scripts: bool = True
    ) -> Page:
        look = look or Look()
        context = browser.new_context(base_url=site.url, java_script_enabled=scripts, **look.context_options())
        contexts.append(context)
        context.add_cookies(_cookies(site, as_user, look))
        page = context.new_page()
        page.set_default_timeout(_PATIENCE_MS)
        page.on("console", lambda message: _note(message, complaints))
        page.on("pageerror", lambda error: complaints.append(f"script error: {error}"))
        page.goto(path)
        return page

    yield open_page
    if getattr(request.node, "failed_call", False):
        _keep_pictures(contexts, request.node.nodeid)
    for context in contexts:
        context.close()
    assert complaints == []


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item) -> Iterator[None]:
    report = yield
    if report.when == "call":
        item.failed_call = report.failed
    return report


@pytest.fixture
def snap(tmp_path_factory: pytest.TempPathFactory) -> Callable[[Page, str], Path]:
    """Save a picture of the whole page under `<name>.png`."""
    folder = Path(os.environ.get("MNOTE_SCREENSHOTS") or tmp_path_factory.mktemp("screenshots"))
    folder.mkdir(parents=True, exist_ok=True)

    def save(page: Page, name: str) -> Path:
        target = folder / f"{name}.png"
        page.screenshot(path=target, full_page=True, caret="initial")  # hiding it writes styles into the page
        return target

    return save


@pytest.fixture
def accessible() -> Callable[[Page], None]:
    """Fail on anything axe finds, and on a page that scrolls sideways."""

    def check(page: Page) -> None:
        page.evaluate("window.scrollTo(0, 0)")  # what lies under a sticky heading counts as covered
        found = Axe().run(page, options={"resultTypes": ["violations"], "runOnly": _AXE_TAGS})
        assert found.violations_count == 0, found.generate_report()
        overflow = page.evaluate("document.documentElement.scrollWidth - document.documentElement.clientWidth")
        assert overflow <= 0, f"the page is {overflow}px wider than the window"

    return check


_AXE_TAGS = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"]


def focused(page: Page) -> str:
    """Say what has the focus, by its readable name."""
    return page.evaluate(
        "(() => { const el = document.activeElement;"
        " return (el.getAttribute('aria-label') || el.labels?.[0]?.innerText || el.innerText || el.tagName).trim() })()"
    )


def tab_to(page: Page, name: str, *, limit: int = 60) -> None:
    """Press Tab until the element with that readable name has the focus."""
    for _ in range(limit):
        page.keyboard.press("Tab")
        if focused(page) == name:
            return
    raise AssertionError(f"{name!r} is not reached by {limit} presses of Tab")


def _cookies(site: LiveSite, user: User | None, look: Look) -> list[dict[str, str]]:
    values = {"mnote_language": look.language, "mnote_theme": look.theme, "mnote_time_zone": "Asia%2FShanghai"}
    if user is not None:
        client = Client()
        client.force_login(user)
        values[django_settings.SESSION_COOKIE_NAME] = client.cookies[django_settings.SESSION_COOKIE_NAME].value
    return [{"name": name, "value": value, "url": site.url} for name, value in values.items()]


def _note(message: ConsoleMessage, complaints: list[str]) -> None:
    if message.type == "error":
        complaints.append(f"{message.text} ({message.location})")


def _keep_pictures(contexts: list[BrowserContext], test: str) -> None:
    folder = os.environ.get("MNOTE_SCREENSHOTS")
    if not folder:
        return
    name = re.sub(r"[^\w-]+", "-", test.rpartition("/")[2])
    for number, page in enumerate(page for context in contexts for page in context.pages):
        page.screenshot(path=Path(folder) / f"failed-{name}-{number}.png", full_page=True)


@pytest.fixture
def administrator(transactional_db: None) -> User:
    return UserFactory(username="admin", is_staff=True, is_superuser=True)
