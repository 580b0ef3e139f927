from __future__ import annotations

from pathlib import Path

import pytest

from pageai.panel import app_files
from pageai.panel.app_files import AppMissing, AppUnknown, Frame
from tests.stubs.openhub_app import BUNDLE, write_app

_FRAME = Frame(
    base="/mnote/pageai/openhub/bind_1",
    assets="/mnote/pageai/openhub/app/assets/",
    script="/static/js/page_ai_frame.js",
    style="/static/css/page_ai_frame.css",
)


@pytest.fixture
def app(tmp_path: Path) -> Path:
    return write_app(tmp_path / "dist")


def test_index_starts_our_script_before_the_bundle(app: Path) -> None:
    page = app_files.index(app, _FRAME)

    assert page.index("page_ai_frame.js") < page.index("/mnote/pageai/openhub/app/assets/index-")
    assert 'data-base="/mnote/pageai/openhub/bind_1"' in page
    assert '"/assets/' not in page


def test_asset_of_the_bundle_takes_its_addresses_from_the_host(app: Path) -> None:
    script = app_files.asset(app, BUNDLE).body.decode()

    assert '="/api"' not in script
    assert 'location.href="/login"' not in script
    assert script.count("window.__mnotePanel.signedOut()") == 4


@pytest.mark.parametrize(
    ("name", "found"),
    [('="/api",', '="/v2",'), ("basename:e,children:t,", "prefix:e,children:t,"), ('location.href="/login"', "go()")],
)
def test_asset_refuses_a_bundle_in_which_a_change_finds_no_place(app: Path, name: str, found: str) -> None:
    bundle = app / "assets" / BUNDLE
    bundle.write_text(bundle.read_text().replace(name, found))

    with pytest.raises(AppUnknown):
        app_files.check(app)


def test_index_refuses_a_page_without_the_bundle(app: Path) -> None:
    (app / "index.html").write_text("<!doctype html><html><head></head><body>Soon</body></html>")

    with pytest.raises(AppUnknown):
        app_files.check(app)


@pytest.mark.parametrize("name", ["", ".", "..", "../index.html", "a/b.js", "%2e%2e", ".env", "missing.js", "a\0.js"])
def test_asset_gives_files_of_the_bundle_only(app: Path, name: str) -> None:
    with pytest.raises(AppMissing):
        app_files.asset(app, name)


def test_asset_follows_no_link_out_of_the_folder(app: Path, tmp_path: Path) -> None:
    secret = tmp_path / "secret.js"
    secret.write_text("secret")
    (app / "assets" / "link.js").symlink_to(secret)

    with pytest.raises(AppMissing):
        app_files.asset(app, "link.js")


def test_check_says_when_nothing_is_installed(tmp_path: Path) -> None:
    with pytest.raises(AppMissing):
        app_files.check(tmp_path / "nothing")


def test_asset_of_a_new_build_is_read_anew(app: Path) -> None:
    before = app_files.asset(app, BUNDLE).body
    bundle = app / "assets" / BUNDLE
    bundle.write_text(bundle.read_text() + "\n// rebuilt\n")

    assert app_files.asset(app, BUNDLE).body == before + b"\n// rebuilt\n"
