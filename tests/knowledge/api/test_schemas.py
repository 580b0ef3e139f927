from __future__ import annotations

import pytest
from django.test import Client
from jsonschema import Draft202012Validator

from knowledge.api.published import all_schemas
from tests.library import Library
from tests.published import assert_published


@pytest.mark.parametrize("name", sorted(all_schemas()))
def test_schema_is_served_to_everybody_and_valid(name: str) -> None:
    answer = Client().get(f"/api/schemas/{name}.json")

    assert (answer.status_code, answer.headers["Content-Type"]) == (200, "application/schema+json")
    Draft202012Validator.check_schema(answer.json())


@pytest.mark.parametrize("name", ["locator", "source-map", "artifact", "search", "read", "edge"])
def test_schema_of_the_contract_is_published(name: str) -> None:
    assert name in all_schemas()


def test_unknown_schema_is_not_found(client: Client) -> None:
    assert client.get("/api/schemas/secret.json").status_code == 404


@pytest.mark.parametrize("path", ["guide/contracts.md", "prices/list.csv", "notes.txt"])
def test_source_map_is_given_in_the_published_form(library: Library, path: str) -> None:
    document = library.document(path)

    body = library.people.client("carol").get(f"/api/knowledge/sources/{document.id}/source-map").json()

    assert_published("source-map", body)
    assert body["sourceRootRelativePath"] == path
    for page in body["pages"]:
        for block in page["blocks"]:
            assert block["text"]


def test_artifacts_are_listed_in_the_published_form(library: Library) -> None:
    document = library.document("guide/contracts.md")

    body = library.people.client("carol").get(f"/api/knowledge/sources/{document.id}/artifacts").json()

    assert {each["artifactKind"] for each in body} == {"parse_text", "source_map"}
    for each in body:
        assert_published("artifact", each)


def test_links_are_listed_in_the_published_form(library: Library) -> None:
    document = library.document("guide/contracts.md")

    body = library.people.client("carol").get(f"/api/knowledge/sources/{document.id}/links").json()

    assert [each["toId"] for each in body] == ["../prices/list.csv"]
    assert_published("edge", body[0])
