from __future__ import annotations

from typing import Any

import pytest

from knowledge.models import KnowledgeBase
from mnote.models import Access, IdempotencyKey, Job
from tests.factories.knowledge import KnowledgeBaseFactory, ProviderProfileFactory
from tests.factories.mnote import GrantFactory
from tests.knowledge.api.conftest import post, send
from tests.library import Library

URL = "/api/knowledge/knowledge-bases"


def one(library: Library) -> str:
    return f"{URL}/{library.kb.id}"


def test_list_kbs_gives_pages_in_name_order(library: Library) -> None:
    for name in ("Atlas", "Zebra", "Manual"):
        KnowledgeBaseFactory(owner=library.people.alice, root=library.root, name=name)
    client = library.people.client("carol")

    first = client.get(URL, {"limit": 3}).json()
    second = client.get(URL, {"limit": 3, "cursor": first["nextCursor"]}).json()

    assert [each["name"] for each in first["results"]] == ["Atlas", "Handbook", "Manual"]
    assert ([each["name"] for each in second["results"]], second["nextCursor"]) == (["Zebra"], None)


def test_list_kbs_narrows_by_words_and_workspace(library: Library) -> None:
    KnowledgeBaseFactory(owner=library.people.alice, root=library.root, name="Other", description="about hands")
    client = library.people.client("carol")

    assert len(client.get(URL, {"q": "hand"}).json()["results"]) == 2
    assert len(client.get(URL, {"workspaceId": library.people.workspace.id}).json()["results"]) == 2
    assert client.get(URL, {"workspaceId": "ws_nowhere"}).status_code == 404


def test_list_kbs_shows_strangers_nothing(library: Library) -> None:
    assert library.people.client("mallory").get(URL).json()["results"] == []


def test_get_kb_counts_what_the_reader_may_read(library: Library) -> None:
    GrantFactory(root=library.root, user=library.people.carol, prefix="private", access=Access.NONE)

    seen = library.people.client("alice").get(one(library)).json()
    narrowed = library.people.client("carol").get(one(library)).json()

    assert (seen["counts"]["total"], seen["role"]) == (5, "owner")
    assert (narrowed["counts"]["total"], narrowed["role"]) == (4, "viewer")


def test_create_kb_answers_with_its_address(library: Library) -> None:
    body = {**library.scope, "name": "New base", "description": "For notes", "provider": "local_fallback"}

    answer = post(library.people.client("alice"), URL, body)

    made = answer.json()
    assert (answer.status_code, answer.headers["Location"]) == (201, f"{URL}/{made['id']}")
    assert answer.headers["ETag"] == library.people.client("alice").get(f"{URL}/{made['id']}").headers["ETag"]
    assert (made["name"], made["provider"], made["owner"]) == ("New base", "local", "alice")


@pytest.mark.parametrize(("person", "status"), [("alice", 201), ("bob", 403), ("carol", 403), ("mallory", 404)])
def test_create_kb_needs_a_manager(library: Library, person: str, status: int) -> None:
    assert post(library.people.client(person), URL, {**library.scope, "name": "New"}).status_code == status


@pytest.mark.parametrize(
    ("body", "status", "field"),
    [
        ({"name": "x" * 51}, 400, "name"),
        ({"name": "  "}, 400, "name"),
        ({"name": "handBOOK"}, 409, "name"),
        ({"name": "x", "description": "x" * 201}, 400, "description"),
        ({"name": "x", "provider": "magic"}, 400, "provider"),
    ],
)
def test_create_kb_names_the_field_that_is_wrong(
    library: Library, body: dict[str, str], status: int, field: str
) -> None:
    answer = post(library.people.client("alice"), URL, {**library.scope, **body})

    assert (answer.status_code, list(answer.json()["errors"])) == (status, [field])


def test_create_kb_with_one_key_creates_one(library: Library) -> None:
    client, body = library.people.client("alice"), {**library.scope, "name": "Once"}

    first = send(client, "POST", URL, body, Idempotency_Key="abc-1")
    second = send(client, "POST", URL, body, Idempotency_Key="abc-1")

    assert (second.status_code, second.json(), second.headers["Location"]) == (
        201, first.json(), first.headers["Location"],
    )  # fmt: skip
    assert second.headers["Idempotency-Replayed"] == "true"
    assert KnowledgeBase.objects.filter(name="Once").count() == 1


def test_create_kb_refuses_a_key_of_another_request(library: Library) -> None:
    client = library.people.client("alice")
    send(client, "POST", URL, {**library.scope, "name": "Once"}, Idempotency_Key="abc-1")

    answer = send(client, "POST", URL, {**library.scope, "name": "Twice"}, Idempotency_Key="abc-1")

    assert (answer.status_code, answer.json()["code"]) == (422, "idempotency-key-reused")


def test_create_kb_says_when_the_first_request_is_not_done(library: Library) -> None:
    client, body = library.people.client("alice"), {**library.scope, "name": "Once"}
    send(client, "POST", URL, body, Idempotency_Key="abc-1")
    IdempotencyKey.objects.update(status=None)

    answer = send(client, "POST", URL, body, Idempotency_Key="abc-1")

    assert (answer.status_code, answer.json()["code"]) == (409, "idempotency-in-progress")
    assert answer.headers["Retry-After"]


def test_create_kb_forgets_the_key_of_a_failed_request(library: Library) -> None:
    client = library.people.client("alice")

    failed = send(client, "POST", URL, {**library.scope, "name": "Handbook"}, Idempotency_Key="abc-1")
    retried = send(client, "POST", URL, {**library.scope, "name": "Free"}, Idempotency_Key="abc-1")

    assert (failed.status_code, retried.status_code) == (409, 201)


def test_create_kb_keys_of_two_people_do_not_meet(library: Library) -> None:
    send(library.people.client("alice"), "POST", URL, {**library.scope, "name": "Once"}, Idempotency_Key="abc-1")

    answer = send(
        library.people.client("mallory"), "POST", URL, {**library.scope, "name": "Once"}, Idempotency_Key="abc-1"
    )

    assert answer.status_code == 404


def test_create_kb_repeats_no_answer_after_the_workspace_is_lost(library: Library) -> None:
    client, body = library.people.client("alice"), {**library.scope, "name": "Once"}
    send(client, "POST", URL, body, Idempotency_Key="abc-1")
    library.people.workspace.memberships.filter(user=library.people.alice).delete()

    assert send(client, "POST", URL, body, Idempotency_Key="abc-1").status_code == 404


@pytest.mark.parametrize("key", ["", "x" * 201, "ä"])
def test_create_kb_refuses_a_key_that_cannot_be_one(library: Library, key: str) -> None:
    client = library.people.client("alice")

    answer = client.generic("POST", URL, b'{"name": "x"}', content_type="application/json", HTTP_IDEMPOTENCY_KEY=key)

    assert (answer.status_code, list(answer.json()["errors"])) == (400, ["Idempotency-Key"])


def test_update_kb_changes_what_is_given(library: Library) -> None:
    body = {"description": "New words", "settings": {"tone": "plain"}, "defaultToolEnabled": False}

    answer = send(library.people.client("alice"), "PATCH", one(library), body)

    changed = answer.json()
    assert answer.status_code == 200
    assert (changed["name"], changed["description"], changed["settings"]) == (
        "Handbook",
        "New words",
        {"tone": "plain"},
    )
    assert changed["defaultToolEnabled"] is False


def test_update_kb_refuses_an_old_version(library: Library) -> None:
    client = library.people.client("alice")
    seen = client.get(one(library)).headers["ETag"]

    first = send(client, "PATCH", one(library), {"description": "one"}, If_Match=seen)
    second = send(client, "PATCH", one(library), {"description": "two"}, If_Match=seen)

    assert (first.status_code, second.status_code) == (200, 412)
    assert second.json()["code"] == "stale-version"
    assert client.get(one(library)).json()["description"] == "one"
    assert send(client, "PATCH", one(library), {"description": "3"}, If_Match=first.headers["ETag"]).status_code == 200


def test_update_kb_pauses_for_curators(library: Library) -> None:
    assert send(library.people.client("bob"), "PATCH", one(library), {"isPaused": True}).json()["isPaused"]
    assert not send(library.people.client("bob"), "PATCH", one(library), {"isPaused": False}).json()["isPaused"]
    assert send(library.people.client("carol"), "PATCH", one(library), {"isPaused": True}).status_code == 403


@pytest.mark.parametrize(
    "given",
    [[], "x", {"a": "\0"}, {"a": "\ud800"}, {"a": "x" * 20_001}, {"a": 2**60}],
    ids=["list", "text", "NUL", "half character", "long", "huge number"],
)
def test_update_kb_refuses_settings_that_cannot_be_kept(library: Library, given: object) -> None:
    answer = send(library.people.client("alice"), "PATCH", one(library), {"settings": given})

    assert (answer.status_code, list(answer.json()["errors"])) == (400, ["settings"])


def test_delete_kb_archives_it_and_keeps_the_files(library: Library) -> None:
    client = library.people.client("alice")

    answer = client.delete(one(library))

    assert (answer.status_code, answer.content) == (204, b"")
    assert client.get(one(library)).status_code == 404
    assert (library.people.folder / "notes.txt").exists()
    assert Job.objects.filter(kind="knowledge.purge_kb", kb_id=library.kb.id).exists()


def test_processing_status_tells_counts_and_jobs(library: Library) -> None:
    client = library.people.client("bob")
    job_ids = send(client, "POST", f"{one(library)}/sync", {"full": True}).json()["jobIds"]

    body = client.get(f"{one(library)}/status").json()

    assert set(job_ids) <= set(body["jobIds"])
    assert (body["isBusy"], body["counts"]["searchable"]) == (True, 5)


def test_sync_kb_answers_with_the_job(library: Library) -> None:
    answer = send(library.people.client("bob"), "POST", f"{one(library)}/sync", {"full": True})

    job = Job.objects.get(id=answer.json()["jobIds"][0])
    assert (answer.status_code, answer.headers["Location"]) == (202, f"/api/jobs/{job.id}")
    assert job.payload["full"] is True


def test_list_tags_counts_readable_sources(library: Library) -> None:
    client = library.people.client("bob")
    for path in ("notes.txt", "private/salary.md"):
        send(client, "PUT", f"/api/knowledge/sources/{library.document(path).id}/tags", {"tags": ["money", path]})
    GrantFactory(root=library.root, user=library.people.carol, prefix="private", access=Access.NONE)

    body = library.people.client("carol").get(f"{one(library)}/tags").json()

    assert body == [{"name": "money", "count": 1}, {"name": "notes.txt", "count": 1}]


@pytest.mark.parametrize("kb_id", ["x", "kb_", "kb_000000000000000000", "kb_00000000000000000%00"])
def test_unknown_base_is_not_found(library: Library, kb_id: str) -> None:
    answer = library.people.client("alice").get(f"{URL}/{kb_id}")

    assert (answer.status_code, answer.json()["code"]) == (404, "not-found")


def test_new_base_can_be_put_on_a_provider_profile(library: Library) -> None:
    profile = ProviderProfileFactory(name="Library", workspaces=[library.people.workspace])
    client = library.people.client("alice")

    choices = client.get("/api/knowledge/provider-profiles", {"workspaceId": library.people.workspace.pk}).json()
    body = {**library.scope, "name": "There", "profileId": choices[0]["id"]}
    made = post(client, URL, body).json()

    reading = choices[0].pop("reading")
    assert choices == [{"id": profile.pk, "name": "Library", "provider": "weknora", "isUsable": True, "whyNot": ""}]
    assert (reading["seesEngines"], reading["readsScans"]) == (False, False)
    assert (made["provider"], made["providerProfile"]) == ("weknora", {"id": profile.pk, "name": "Library"})
    assert library.people.client("carol").get(one(library)).json()["providerProfile"] is None


def test_base_on_a_profile_can_let_its_provider_read_the_files(library: Library) -> None:
    profile = ProviderProfileFactory(workspaces=[library.people.workspace])
    client = library.people.client("alice")

    made = post(client, URL, {**library.scope, "name": "Scans", "profileId": profile.pk, "parsedBy": "provider"}).json()
    changed = send(client, "PATCH", f"{URL}/{made['id']}", {"parsedBy": "mnote"}).json()

    assert (made["parsedBy"], changed["parsedBy"]) == ("provider", "mnote")
    assert Job.objects.filter(kind="knowledge.reread_kb", kb_id=made["id"]).count() == 1
    assert send(client, "PATCH", f"{URL}/{made['id']}", {"parsedBy": "nobody"}).status_code == 400


def test_embedded_base_is_read_by_mnote_alone(library: Library) -> None:
    client = library.people.client("alice")

    new = post(client, URL, {**library.scope, "name": "Here", "provider": "local", "parsedBy": "provider"})
    old = send(client, "PATCH", one(library), {"parsedBy": "provider"})

    assert [(each.status_code, each.json()["errors"]["parsedBy"][0]["code"]) for each in (new, old)] == [
        (400, "provider_cannot_read")
    ] * 2


def test_list_of_bases_loads_profiles_with_them(library: Library, django_assert_max_num_queries: Any) -> None:
    for _ in range(3):
        profile = ProviderProfileFactory(workspaces=[library.people.workspace])
        KnowledgeBaseFactory(root=library.root, provider="weknora", profile=profile)
    client = library.people.client("alice")

    with django_assert_max_num_queries(60) as asked:
        assert len(client.get(URL).json()["results"]) == 4

    assert not [each for each in asked.captured_queries if 'FROM "mnote_provider_profiles"' in each["sql"]]
