from __future__ import annotations

import os

import pytest

from knowledge.parsing.base import ParseCode
from knowledge.parsing.decoding import decode_text
from tests.knowledge.parsing.builders import parse, refusal

CHINESE = "中文测试：同样的文字，写成不同的编码，读出来要一样。"
JAPANESE = "これは日本語のテストです。文字コードを調べます。"
KOREAN = "이것은 시험 문서입니다. 한글 인코딩을 확인합니다."


@pytest.mark.parametrize(
    ("text", "encoding"),
    [
        ("中文测试", "gbk"),
        (CHINESE, "gbk"),
        (CHINESE + "𠀀㐀", "gb18030"),
        ("我們在這裡寫一些東西，看看編碼", "big5"),
        (JAPANESE, "shift_jis"),
        (JAPANESE, "euc_jp"),
        (JAPANESE, "iso2022_jp"),
        (KOREAN, "euc_kr"),
        (CHINESE, "utf-16-le"),
        (CHINESE, "utf-16-be"),
        ("中文测试", "utf-16-le"),
        ("plain words only", "utf-16-le"),
        ("Привет, мир", "utf-16-be"),
        ("Übergrößenträger für Ärzte", "cp1252"),
        ("déjà vu à côté de l’été – “citation”", "cp1252"),
        ("Příliš žluťoučký kůň úpěl ďábelské ódy", "cp1250"),
        ("Съешь же ещё этих мягких французских булок", "cp1251"),
        ("Съешь же ещё этих мягких французских булок", "koi8_r"),
        ("Ξεσκεπάζω την ψυχοφθόρα βδελυγμία", "cp1253"),
        ("Türkçe ığdır şişli İstanbul ağaç", "cp1254"),
        ("اللغة العربية مع بعض الكلمات", "cp1256"),
    ],
)
def test_decode_reads_legacy_encodings_as_their_original(text: str, encoding: str) -> None:
    decoded = decode_text(text.encode(encoding))

    assert decoded.text == text
    assert 0.6 <= decoded.confidence <= 1.0


@pytest.mark.parametrize("encoding", ["utf-8-sig", "utf-16", "utf-32"])
def test_decode_leaves_the_byte_order_mark_out(encoding: str) -> None:
    assert decode_text(CHINESE.encode(encoding)).text == CHINESE


@pytest.mark.parametrize(
    "data",
    [
        pytest.param("中文测试".encode()[:-1], id="utf-8 cut in its last character"),
        pytest.param("word 中".encode()[:-1], id="ascii and a cut character"),
        pytest.param((CHINESE * 3).encode()[1:], id="utf-8 cut in its first character"),
        pytest.param(CHINESE.encode("gbk")[:-1], id="gbk cut"),
        pytest.param(b"\xff\xfe" + CHINESE.encode("utf-16-le")[:-1], id="utf-16 cut"),
        pytest.param(b"\xef\xbb\xbf" + CHINESE.encode("gbk"), id="a mark that lies"),
    ],
)
def test_decode_asks_for_the_encoding_of_cut_characters(data: bytes) -> None:
    assert refusal("a.txt", data) is ParseCode.NEEDS_ENCODING


@pytest.mark.parametrize("encoding", ["gbk", "shift_jis", "euc_kr", "utf-16-le", "cp1252"])
def test_decode_never_makes_a_replacement_character(encoding: str) -> None:
    text = {"shift_jis": JAPANESE, "euc_kr": KOREAN, "cp1252": "für Ärzte"}.get(encoding, CHINESE)

    assert "\ufffd" not in decode_text(text.encode(encoding)).text


def test_decode_keeps_a_replacement_character_of_the_source() -> None:
    assert decode_text("a \ufffd b".encode()).text == "a \ufffd b"


def test_decode_follows_the_choice_of_the_user() -> None:
    data = "żółw".encode("cp1250")

    assert refusal("a.txt", data) is ParseCode.NEEDS_ENCODING
    assert parse("a.txt", data, encoding="cp1250").text == "żółw"


def test_decode_refuses_a_choice_that_does_not_fit() -> None:
    assert refusal("a.txt", CHINESE.encode("gbk"), encoding="utf-8") is ParseCode.NEEDS_ENCODING
    assert refusal("a.txt", b"text", encoding="no-such-encoding") is ParseCode.NEEDS_ENCODING


@pytest.mark.parametrize(
    "data",
    [
        pytest.param(b"abc" + b"\x00" * 50, id="nuls"),
        pytest.param(bytes(range(256)) * 4, id="every byte"),
        pytest.param(b"\x01\x02\x03\x04" * 10, id="controls"),
    ],
)
def test_decode_calls_binary_content_corrupt(data: bytes) -> None:
    assert refusal("a.txt", data) is ParseCode.CORRUPT


def test_decode_never_takes_noise_for_text() -> None:
    assert refusal("a.txt", b"\x90" + os.urandom(4000)) in {ParseCode.CORRUPT, ParseCode.UNSUPPORTED_TYPE}


def test_decode_reads_a_log_with_a_few_nuls() -> None:
    assert "\x00" not in parse("a.log", b"line of a log\n" * 50 + b"\x00\x00" + b"after the crash\n").text


@pytest.mark.parametrize("data", [b"", b" \n", b"\r\n\t \r\n", "\ufeff \n".encode(), "\u3000\n".encode()])
def test_decode_calls_a_blank_file_empty(data: bytes) -> None:
    assert refusal("a.md", data) is ParseCode.EMPTY


def test_map_says_encoding_and_confidence() -> None:
    meta = parse("a.txt", CHINESE.encode("gbk")).meta

    assert meta["encoding"] == "gb18030"
    assert meta["encodingConfidence"] > 0.9
