"""The four truths at opening time, told of real files."""

from __future__ import annotations

import pytest

from knowledge.citations.locators import LocatorState
from knowledge.exceptions import LocatorInvalid, LocatorStale
from knowledge.services import references
from mnote.exceptions import NotFound
from mnote.models import Access
from mnote.services import grants, users
from tests.knowledge.vault import Vault

NOTE = """# Contract

## Term

This agreement has no fixed end.

## Termination

Either party may terminate with three months' notice.
Notice has to be given in writing.

## Confidentiality

Both parties keep the terms secret.
"""


@pytest.fixture
def noted(vault: Vault) -> Vault:
    vault.write("contract.md", NOTE)
    vault.write("other.md", "# Another note\n\nNothing to see here at all.\n")
    vault.level()
    return vault


def test_unchanged_file_opens_exactly(noted: Vault) -> None:
    [reference, *_] = noted.search("three months' notice")

    place = noted.open(reference)

    assert place.state is LocatorState.EXACT
    assert place.path == "contract.md"
    lines = NOTE.split("\n")[place.locator.line_start - 1 : place.locator.line_end]
    assert "Either party may terminate with three months' notice." in lines


def test_text_added_above_moves_the_place(noted: Vault) -> None:
    [reference, *_] = noted.search("three months' notice")
    noted.write("contract.md", "New first line.\n\nAnother one.\n\n" + NOTE)

    place = noted.open(reference)

    assert place.state is LocatorState.MOVED
    assert place.locator.line_start == reference.locator.line_start + 4
    assert place.locator.quote == reference.locator.quote


def test_rewritten_passage_opens_its_section_and_says_changed(noted: Vault) -> None:
    [reference, *_] = noted.search("three months' notice")
    noted.write("contract.md", NOTE.replace("three months'", "six weeks'"))

    place = noted.open(reference)

    assert place.state is LocatorState.CHANGED
    assert place.locator.quote == "## Termination"


def test_rewritten_file_without_the_section_claims_no_place(noted: Vault) -> None:
    [reference, *_] = noted.search("three months' notice")
    noted.write("contract.md", "Something else altogether.\n")

    place = noted.open(reference)

    assert place.state is LocatorState.CHANGED
    assert place.locator.degraded


def test_deleted_file_is_gone(noted: Vault) -> None:
    [reference, *_] = noted.search("three months' notice")
    (noted.folder / "contract.md").unlink()

    with pytest.raises(LocatorStale):
        noted.open(reference)


def test_renamed_file_opens_at_its_new_path_after_the_next_look(noted: Vault) -> None:
    [reference, *_] = noted.search("three months' notice")
    (noted.folder / "contract.md").rename(noted.folder / "agreement.md")
    noted.sync()

    place = noted.open(reference)

    assert place.state is LocatorState.MOVED
    assert place.path == "agreement.md"


def test_copy_elsewhere_stands_in_for_a_deleted_file(noted: Vault) -> None:
    noted.write("archive/contract-copy.md", NOTE)
    noted.level()
    [reference, *_] = noted.search("three months' notice")
    original = reference.document.source_path
    (noted.folder / original).unlink()

    place = noted.open(reference)

    assert place.state is LocatorState.MOVED
    assert place.path != original


def test_line_wraps_and_spaces_do_not_change_a_quote(noted: Vault) -> None:
    [reference, *_] = noted.search("three months' notice")
    noted.write("contract.md", NOTE.replace("Either party may terminate with", "Either party\nmay   terminate with"))

    assert noted.open(reference).state is LocatorState.MOVED


def test_line_ends_do_not_change_the_line_numbers(noted: Vault) -> None:
    noted.write("contract.md", NOTE.replace("\n", "\r\n"))
    noted.level()

    [reference, *_] = noted.search("three months' notice")

    assert noted.open(reference).state is LocatorState.EXACT
    assert reference.locator.parts["lineRange"][0] <= 9 <= reference.locator.parts["lineRange"][1]


def test_repeated_passage_opens_the_cited_occurrence(vault: Vault) -> None:
    paragraph = "The same words stand here more than once, word for word."
    vault.write("twice.md", f"# One\n\n{paragraph}\n\n# Two\n\n{paragraph}\n")
    vault.level()

    for reference in vault.search("same words stand here more than once"):
        place = vault.open(reference)
        assert place.state is LocatorState.EXACT
        assert place.locator.line_start == reference.locator.line_start


def test_stranger_gets_not_found(noted: Vault) -> None:
    [reference, *_] = noted.search("three months' notice")

    with pytest.raises(NotFound):
        noted.open(reference, who="mallory")


def test_revoked_reader_gets_not_found_with_an_old_token(noted: Vault) -> None:
    [reference, *_] = noted.search("three months' notice", who="carol")
    assert noted.open(reference, who="carol").state is LocatorState.EXACT

    grants.set_grant(root=noted.people.root, holder=noted.people.carol, prefix="contract.md", access=Access.NONE)

    with pytest.raises(NotFound):
        noted.open(reference, who="carol")
    assert "contract.md" not in noted.found("three months' notice", who="carol")


def test_deactivated_person_gets_not_found(noted: Vault) -> None:
    [reference, *_] = noted.search("three months' notice", who="carol")
    users.deactivate(noted.people.carol)
    noted.people.carol.refresh_from_db()

    with pytest.raises(NotFound):
        noted.open(reference, who="carol")


def test_moved_file_is_not_shown_where_the_reader_may_not_look(noted: Vault) -> None:
    [reference, *_] = noted.search("three months' notice", who="carol")
    (noted.folder / "private").mkdir()
    (noted.folder / "contract.md").rename(noted.folder / "private/contract.md")
    noted.sync()
    grants.set_grant(root=noted.people.root, holder=noted.people.carol, prefix="private", access=Access.NONE)

    with pytest.raises(LocatorStale):
        noted.open(reference, who="carol")


def test_forged_token_is_refused(noted: Vault) -> None:
    [reference, *_] = noted.search("three months' notice")
    body, _, signature = reference.token.rpartition(":")

    for forged in ("", "nonsense", f"{body}x:{signature}", reference.token[:-2]):
        with pytest.raises(LocatorInvalid):
            references.read_token(forged)
