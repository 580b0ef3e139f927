from __future__ import annotations

import dataclasses

from mnote.middleware import request_id
from mnote.models import AuditEntry
from mnote.services import audit
from tests.people import People


def test_record_says_who_did_what_in_which_request(people: People) -> None:
    principal = dataclasses.replace(people.principal("bob"), token_name="ci")
    token = request_id.set("req_12345678")
    try:
        audit.record(
            principal=principal, action="kb.create", workspace=people.workspace, kb_id="kb_1", facts={"count": 2}
        )
    finally:
        request_id.reset(token)

    entry = AuditEntry.objects.get()
    assert (entry.actor, entry.token_name, entry.workspace) == (people.bob, "ci", people.workspace)
    assert (entry.action, entry.kb_id, entry.outcome, entry.facts) == ("kb.create", "kb_1", "succeeded", {"count": 2})
    assert entry.request_id == "req_12345678"


def test_record_takes_the_system_itself_and_long_targets(db: None) -> None:
    entry = audit.record(principal=None, action="sync.run", target="目录/" * 101, outcome="failed")

    entry.refresh_from_db()
    assert entry.actor is None
    assert len(entry.target) == 300
    assert entry.target.endswith("…")
