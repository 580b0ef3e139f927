from __future__ import annotations

from email.message import EmailMessage

import pytest

from knowledge.parsing.base import ParseCode
from knowledge.parsing.source_map import Place
from tests.knowledge.parsing.builders import lines_of, parse, place_of, refusal
from tests.knowledge.parsing.test_lines_and_blocks import check_blocks


def test_csv_rows_are_numbered_as_a_spreadsheet_shows_them() -> None:
    source_map = parse("a.csv", 'name,note\r\ntea,"two\r\nlines"\r\n\r\ncoffee,"a, b"\r\n')

    assert lines_of(source_map) == ["name | note", "tea | two lines", "coffee | a, b"]
    assert [place.row for place in source_map.places] == [1, 2, 4]
    check_blocks(source_map)


@pytest.mark.parametrize(
    ("name", "delimiter"), [("a.csv", ","), ("a.csv", ";"), ("a.csv", "\t"), ("a.csv", "|"), ("a.tsv", "\t")]
)
def test_csv_delimiter_is_found(name: str, delimiter: str) -> None:
    rows = [["name", "price, in EUR"], ["tea; green", "3"], ["coffee", "4"]]
    text = "\n".join(delimiter.join(f'"{cell}"' for cell in row) for row in rows)

    source_map = parse(name, text)

    assert source_map.meta["delimiter"] == delimiter
    assert lines_of(source_map)[1] == "tea; green | 3"


def test_csv_with_a_mark_that_never_closes_keeps_its_rows() -> None:
    source_map = parse("a.csv", 'name,size\nscreen,27"\ntable,"open\nchair,1\n')

    assert len(source_map.places) == 4


def test_csv_of_one_column_is_read() -> None:
    assert lines_of(parse("a.csv", "name\ntea\n")) == ["name", "tea"]


def test_csv_in_gbk_is_decoded() -> None:
    assert "测试" in parse("a.csv", "名称,说明\n测试,这是一个测试文件\n".encode("gbk")).text


def make_mail() -> EmailMessage:
    mail = EmailMessage()
    mail["Subject"] = "Grüße from 北京"
    mail["From"] = "Alice <alice@example.org>"
    mail["To"] = "bob@example.org"
    mail.set_content("Hello Bob,\n\n> quoted line\n\nthe answer is here.\n")
    return mail


def test_mail_parts_are_placed_by_their_number() -> None:
    mail = make_mail()
    mail.add_alternative("<p>html twin</p>", subtype="html")
    mail.add_attachment(b"x", maintype="application", subtype="pdf", filename="报告.pdf")

    source_map = parse("a.eml", mail.as_bytes())

    assert place_of(source_map, "Subject:") == Place(part="headers")
    assert place_of(source_map, "the answer") == Place(part="1.1")
    assert place_of(source_map, "报告.pdf") == Place(part="2")
    assert "html twin" not in source_map.text
    assert source_map.title == "Grüße from 北京"
    check_blocks(source_map)


def test_mail_with_html_alone_is_read() -> None:
    mail = EmailMessage()
    mail["Subject"] = "x"
    mail.set_content("<h1>Head</h1><p>body</p>", subtype="html")

    assert lines_of(parse("a.eml", mail.as_bytes()))[-1] == "body"


def test_mail_inside_a_mail_is_read() -> None:
    outer = make_mail()
    outer.add_attachment(make_mail())

    places = parse("a.eml", outer.as_bytes()).places

    assert {place.part for place in places} >= {"headers", "1", "2.headers"}


@pytest.mark.parametrize("charset", ["gbk", "shift_jis", "unknown-8bit", "no-such-charset"])
def test_mail_text_is_decoded_by_charset_or_content(charset: str) -> None:
    body = "これは日本語のテストです。" if charset == "shift_jis" else "这里写的是中文，用来检查编码。"
    encoding = "shift_jis" if charset == "shift_jis" else "gbk"
    head = f"Subject: x\nContent-Type: text/plain; charset={charset}\nContent-Transfer-Encoding: 8bit\n\n"

    assert lines_of(parse("a.eml", head.encode() + body.encode(encoding)))[-1] == body


def test_mail_subject_in_raw_bytes_is_decoded() -> None:
    source_map = parse("a.eml", "Subject: 这里写的是中文标题\n\nbody\n".encode("gbk"))

    assert source_map.title == "这里写的是中文标题"


def test_text_called_mail_is_corrupt() -> None:
    assert refusal("a.eml", "\n\njust text") is ParseCode.CORRUPT
