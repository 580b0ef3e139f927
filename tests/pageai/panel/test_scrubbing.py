from __future__ import annotations

import json

import pytest

from pageai.panel.drafts import MAX_PAYLOAD_BYTES, bounded, size_of
from pageai.panel.scrubbing import Scrub

FOLDER = "/srv/people/alice/notes"
SECRET = "s3cret-of-openhub-0123456789"
HIDDEN = {"http://10.0.0.5:4096": "…", SECRET: "…", "/var/lib/mnote": "…", "": "never"}
SCRUB = Scrub(FOLDER, HIDDEN)
TEXT = f"Wrote {FOLDER}/a.md; asked http://10.0.0.5:4096/session with Bearer mnb_abcdefghijkl and {SECRET}."


@pytest.mark.parametrize(
    "text",
    [
        TEXT,
        "see /var/lib/mnote/indexes/x",
        "Authorization: Bearer abcdefghij0123456789",
        "token mnt_0123456789abcdef",
        "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiJhIn0.abcdefghij",
    ],
)
def test_nothing_of_the_server_is_left(text: str) -> None:
    found = SCRUB.text(text)

    words = (FOLDER, "10.0.0.5", SECRET, "/var/lib", "mnb_abc", "mnt_012", "eyJ", "abcdefghij0123456789")
    assert not [word for word in words if word in found]


def test_files_are_named_below_the_root() -> None:
    assert SCRUB.text(f"Wrote {FOLDER}/a.md in {FOLDER}, not in {FOLDER}-old/b") == "Wrote a.md in ., not in …-old/b"


def test_values_are_cleaned_through_and_through() -> None:
    found = SCRUB.value({f"{FOLDER}/a": [{"about": f"cat {FOLDER}/b"}, 3, None, True]})

    assert found == {"a": [{"about": "cat b"}, 3, None, True]}


def test_what_no_database_holds_is_replaced() -> None:
    assert SCRUB.text("a\0b\ud800c") == "a\ufffdb\ufffdc"


@pytest.mark.parametrize("size", [1, 2, 3, 7, 16])
def test_pieces_that_cut_a_word_anywhere_hide_it_all_the_same(size: int) -> None:
    written, rest = "", ""
    for start in range(0, len(TEXT), size):
        rest += TEXT[start : start + size]
        sure = SCRUB.cut(rest)
        written += SCRUB.text(rest[:sure])
        rest = rest[sure:]
    written += SCRUB.text(rest)

    assert written == SCRUB.text(TEXT)


def test_payload_that_fits_is_left_as_it_is() -> None:
    assert bounded({"text": "a" * 100}) == {"text": "a" * 100}


@pytest.mark.parametrize(
    "payload",
    [
        {"output": "x" * 10_000_000},
        {"output": "文" * 5_000_000},
        {str(number): "y" * 100 for number in range(100_000)},
        {"list": [{"text": "z" * 500}] * 10_000},
        {"deep": json.loads('{"a":' * 60 + '"' + "b" * 20_000 + '"' + "}" * 60)},
    ],
)
def test_payload_that_is_too_large_is_cut_with_a_mark(payload: dict[str, object]) -> None:
    found = bounded(payload)

    assert size_of(found) <= MAX_PAYLOAD_BYTES
    assert found["cut"] is True
    assert found["bytes"] == size_of(payload)
