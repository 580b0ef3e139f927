from __future__ import annotations

from knowledge.models import SyncRun
from mnote.models import Access, Job, JobStatus
from tests.factories.mnote import GrantFactory
from tests.knowledge.api.conftest import send
from tests.library import Library


def lose_most_files(library: Library) -> SyncRun:
    """Delete more files than the safety stop lets through, and look."""
    library.add({f"many/{number}.md": f"# Note {number}\n" for number in range(20)})
    for path in library.people.folder.glob("many/*.md"):
        path.unlink()
    library.index()
    return SyncRun.objects.filter(kb=library.kb).order_by("-started_at", "-id")[0]


def url(run: SyncRun, action: str = "") -> str:
    return f"/api/knowledge/sync-runs/{run.id}" + (f"/{action}" if action else "")


def test_list_sync_runs_gives_the_newest_first(library: Library) -> None:
    library.index()

    address = f"/api/knowledge/knowledge-bases/{library.kb.id}/sync-runs"
    body = library.people.client("carol").get(address).json()

    starts = [each["startedAt"] for each in body["results"]]
    assert starts == sorted(starts, reverse=True)
    assert body["results"][-1]["counts"]["added"] == 5
    assert {each["outcome"] for each in body["results"]} == {"succeeded"}


def test_sync_run_hides_counts_and_paths_of_closed_folders(library: Library) -> None:
    run = lose_most_files(library)
    GrantFactory(root=library.root, user=library.people.carol, prefix="many", access=Access.NONE)

    seen = library.people.client("bob").get(url(run)).json()
    narrowed = library.people.client("carol").get(url(run)).json()

    assert (seen["outcome"], len(seen["review"]), seen["counts"]["removed"]) == ("stopped", 20, 20)
    assert (narrowed["review"], narrowed["counts"]) == ([], None)


def test_confirm_sync_run_looks_again_with_consent(library: Library) -> None:
    run = lose_most_files(library)

    answer = send(library.people.client("bob"), "POST", url(run, "confirm"))

    job = Job.objects.get(id=answer.headers["Location"].rpartition("/")[2])
    assert (answer.status_code, job.payload["confirmed"]) == (202, True)


def test_confirm_sync_run_does_not_join_a_look_without_consent(library: Library) -> None:
    run = lose_most_files(library)
    send(library.people.client("bob"), "POST", f"/api/knowledge/knowledge-bases/{library.kb.id}/sync", {})

    answer = send(library.people.client("bob"), "POST", url(run, "confirm"))

    job = Job.objects.get(id=answer.headers["Location"].rpartition("/")[2])
    assert job.payload.get("confirmed") is True
    waiting = Job.objects.filter(kind="knowledge.sync_source", status=JobStatus.QUEUED)
    assert [each.id for each in waiting] == [job.id]


def test_confirm_sync_run_refuses_one_that_needs_no_consent(library: Library) -> None:
    run = SyncRun.objects.filter(kb=library.kb).order_by("-started_at")[0]

    answer = send(library.people.client("bob"), "POST", url(run, "confirm"))

    assert (answer.status_code, answer.json()["code"]) == (409, "conflict")


def test_confirm_sync_run_refuses_an_old_one(library: Library) -> None:
    run = lose_most_files(library)
    library.index()

    assert send(library.people.client("bob"), "POST", url(run, "confirm")).status_code == 409


def test_confirm_sync_run_needs_a_curator(library: Library) -> None:
    run = lose_most_files(library)

    assert send(library.people.client("carol"), "POST", url(run, "confirm")).status_code == 403
    assert send(library.people.client("mallory"), "POST", url(run, "confirm")).status_code == 404
