from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import pytest
from hypothesis import given
from hypothesis import strategies as st

from knowledge.providers.local.tokens import WORD_PUNCTUATION, Term, fold, query_terms, tokens


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", []),
        ("?! …，。😀", []),
        ("Tomatoes watering", ["tomato", "water"]),
        ("即适者生存", ["即适", "适者", "者生", "生存", "存"]),
        ("税", ["税"]),
        ("重跑gen后", ["重跑", "跑", "gen", "后"]),
        ("臺灣後面", ["台湾", "湾后", "后面", "面"]),
        ("ＡＢＣ１２", ["abc12"]),
        ("データ・モデル", ["デー", "ータ", "タ", "モデ", "デル", "ル"]),
        ("ﾃﾞｰﾀ", ["デー", "ータ", "タ"]),
        ("검색을", ["검색", "색을", "을"]),
        ("Café CAFÉ", ["cafe", "cafe"]),
        ("İstanbul ıstanbul", ["istanbul", "istanbul"]),
        ("Straße", ["strass"]),
        (
            "get_user getUser HTTPServer",
            ["get_us", "get", "user", "getus", "get", "user", "httpserver", "http", "server"],
        ),
        ("a/base.py v1.2.3", ["a", "base.pi", "base", "py", "v1.2.3", "v1", "2", "3"]),
        ("C++ and C#", ["c++", "c", "and", "c#", "c"]),
        ("# Title ##", ["titl"]),
    ],
)
def test_tokens_of_text(text: str, expected: list[str]) -> None:
    assert tokens(text) == expected


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("what is the ownership of a value", [Term("ownership"), Term("valu")]),
        ("to be or not", [Term("to"), Term("be"), Term("or"), Term("not")]),
        ("库", [Term("库", prefix=True)]),
        ("数据库", [Term("数据"), Term("据库")]),
        ("如何备份", [Term("何备"), Term("备份")]),
        ("rust rust Rust", [Term("rust")]),
    ],
    ids=["stop words", "stop words alone", "one character", "pairs", "question word", "repeated"],
)
def test_query_terms_of_query(query: str, expected: list[Term]) -> None:
    assert query_terms(query) == expected


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("ＡＢＣ　ＤＥＦ", "abc def"),
        ("Café\u0301", "cafe"),
        ("資料庫", "资料库"),
        ("a \n\t b", "a b"),
    ],
)
def test_fold_makes_equal(one: str, other: str) -> None:
    assert fold(one) == fold(other)


@given(st.text())
def test_tokens_are_safe_for_the_engine(text: str) -> None:
    for token in tokens(text):
        assert token
        assert not any(mark.isspace() for mark in token)
        assert all(mark.isalnum() or mark in WORD_PUNCTUATION for mark in token if mark.isascii())


@given(st.text(alphabet="数据库备份恢复的了", min_size=1))
def test_every_character_of_a_run_begins_a_token(text: str) -> None:
    assert [token[0] for token in tokens(text)] == list(fold(text))


@given(st.text())
def test_query_of_a_text_looks_for_its_tokens(text: str) -> None:
    stored = set(tokens(text))

    assert {term.text for term in query_terms(text)} <= stored


def test_tokens_are_the_same_in_many_threads() -> None:
    words = [f"running{number} connections{number} relational nationally" for number in range(2_000)]

    with ThreadPoolExecutor(8) as pool:
        found = list(pool.map(tokens, words))

    assert found == [tokens(text) for text in words]
