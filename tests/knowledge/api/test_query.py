from __future__ import annotations

from tests.knowledge.api.conftest import post
from tests.library import Library
from tests.published import assert_published

URL = "/api/knowledge-rag/query"


def test_query_answers_in_cited_sentences(library: Library) -> None:
    question = "With how many days notice may a party end the contract?"

    body = post(library.people.client("alice"), URL, {**library.scope, "question": question}).json()

    assert_published("query-result", body)
    assert body["isAnswered"]
    assert "thirty days notice. [1]" in body["answer"]
    first = body["citations"][0]
    assert (first["number"], first["sourcePath"]) == (1, "guide/contracts.md")


def test_query_cites_in_the_order_of_its_answer(library: Library) -> None:
    question = "notice of the contract and invoices due and the landlord"

    body = post(library.people.client("alice"), URL, {**library.scope, "question": question}).json()

    marks = [f"[{citation['number']}]" for citation in body["citations"]]
    places = [body["answer"].index(mark) for mark in marks]
    assert places == sorted(places)


def test_query_without_an_answer_says_so(library: Library) -> None:
    body = post(library.people.client("alice"), URL, {**library.scope, "question": "zzz qqq"}).json()

    assert (body["answer"], body["isAnswered"], body["citations"]) == ("", False, [])


def test_query_takes_query_for_question(library: Library) -> None:
    body = post(library.people.client("alice"), URL, {**library.scope, "query": "When are invoices due?"}).json()

    assert "fourteen days" in body["answer"]


def test_query_needs_a_question(library: Library) -> None:
    answer = post(library.people.client("alice"), URL, library.scope)

    assert (answer.status_code, list(answer.json()["errors"])) == (400, ["question"])


def test_query_gives_the_same_answer_every_time(library: Library) -> None:
    client, question = library.people.client("alice"), {**library.scope, "question": "When are invoices due?"}

    answers = {post(client, URL, question).json()["answer"] for _ in range(3)}

    assert len(answers) == 1
