"""Answers are sentences that stand in the documents, cut where a reader would cut them."""

from __future__ import annotations

import pytest

from knowledge.parsing.source_map import ResourceKind
from knowledge.services.answers import sentences_of
from tests.knowledge.vault import Vault


@pytest.mark.parametrize(
    ("quote", "kind", "expected"),
    [
        ("One thing is\nsaid here. Another\nfollows.", "markdown", ["One thing is said here.", "Another follows."]),
        (
            "夏天每天浇水两次，\n冬天不浇。春秋每周两次。",
            "markdown",
            ["夏天每天浇水两次，冬天不浇。", "春秋每周两次。"],
        ),
        ("- first item\n- second item", "markdown", ["first item", "second item"]),
        ("| a | b |\n| 1 | 2 |", "markdown", ["a | b", "1 | 2"]),
        ("Bed | Crop\n1 | Potatoes", "sheet", ["Bed | Crop", "1 | Potatoes"]),
        (
            "Version 2.10.1 is out. Use `gcc` or\n`clang`.",
            "markdown",
            ["Version 2.10.1 is out.", "Use `gcc` or `clang`."],
        ),
        ("x = 1\ny = 2", "code", ["x = 1", "y = 2"]),
        ("", "text", []),
    ],
)
def test_passage_is_cut_into_sentences(quote: str, kind: str, expected: list[str]) -> None:
    assert sentences_of(quote, ResourceKind(kind)) == expected


@pytest.fixture
def garden(vault: Vault) -> Vault:
    vault.write("faq.md", "# Questions\n\nHow often is the compost turned?\n")
    vault.write(
        "compost.md",
        "# How often the compost is turned\n\nThe compost is turned every two weeks. It smells of forest.\n",
    )
    vault.write("手册.md", "# 堆肥\n\n堆肥每两周翻一次，夏天每周一次。不可以放肉。\n")
    vault.level()
    return vault


def test_answer_is_neither_a_question_nor_a_heading(garden: Vault) -> None:
    result = garden.ask("How often is the compost turned?")

    assert result.answer.sentences[0].text == "The compost is turned every two weeks."


def test_answer_in_chinese(garden: Vault) -> None:
    assert garden.ask("堆肥多久翻一次？").answer.text == "堆肥每两周翻一次，夏天每周一次。 [1]"


@pytest.mark.parametrize(
    "question",
    ["备份多久做一次？", "How often are the backups made?", "可以用农药吗", "How much is a pizza?", "每两周"],
)
def test_passage_that_only_shares_the_way_of_asking_answers_nothing(garden: Vault, question: str) -> None:
    garden.write("once.md", "# Often\n\nIt is often said once.\n")
    garden.level()

    answered = garden.ask(question).answer.text

    assert answered == ("堆肥每两周翻一次，夏天每周一次。 [1]" if question == "每两周" else "")


@pytest.mark.parametrize(
    ("question", "said"),
    [
        ("猫粮多久买一次？", "猫粮每月买。"),
        ("年假有几天？", "年假为十五天。"),
        ("怎么把旧的合同归档到新系统？", "合同归档由行政办理。"),
        ("How long is the warranty of the pump?", "The warranty covers the pump for two years."),
    ],
)
def test_answer_says_what_the_question_is_about(vault: Vault, question: str, said: str) -> None:
    vault.write("facts.md", f"# Facts\n\n{said}\n")
    vault.write("noise.md", "# Noise\n\n一次要多久？没有人知道。It is long. How long is it? 怎么把它写到系统。\n")
    vault.level()

    assert vault.ask(question).answer.sentences[0].text == said


@pytest.mark.parametrize("question", ["多久一次？", "how often"])
def test_question_without_a_subject_takes_what_there_is(garden: Vault, question: str) -> None:
    garden.write("once.md", "# Often\n\nIt is often said.\n")
    garden.level()

    assert garden.ask(question).answer.text


def test_citations_are_numbered_in_the_order_of_the_answer(garden: Vault) -> None:
    result = garden.ask("compost turned weeks, and 不可以放肉")

    numbers = [int(part.split("]")[0]) for part in result.answer.text.split("[")[1:]]
    assert numbers == sorted(numbers)
    assert len(result.citations) == max(numbers)
