import pytest

from knowledge.scanner.ignore import extension_of, ignore_reason, is_note_sidecar


@pytest.mark.parametrize(
    ("name", "reason"),
    [
        (".DS_Store", "system"),
        ("._note.md", "system"),
        ("Thumbs.db", "system"),
        ("desktop.ini", "system"),
        (".env", "secret"),
        (".env.local", "secret"),
        ("prod.env", "secret"),
        ("id_rsa", "secret"),
        ("server.PEM", "secret"),
        ("vault.kdbx", "secret"),
        (".netrc", "secret"),
        ("x.md~", "temporary"),
        (".x.md.swp", "temporary"),
        ("x.tmp", "temporary"),
        ("~$x.docx", "temporary"),
        (".~lock.x.odt#", "temporary"),
        (".#x.md", "temporary"),
        ("#x.md#", "temporary"),
        ("4913", "temporary"),
        ("~WRL0003.tmp", "temporary"),
        ("x.md.sb-1a2b3c4d-AbCdEf", "temporary"),
        (".mnote-upload-00ff", "temporary"),
        (".well-known.md", "hidden"),
        (".hidden", "hidden"),
    ],
)
def test_file_of_this_name_is_left_out(name, reason):
    assert ignore_reason(name, is_folder=False) == reason


@pytest.mark.parametrize(
    ("name", "reason"),
    [
        (".git", "system"),
        (".obsidian", "system"),
        (".trash", "system"),
        (".Trash-1000", "system"),
        ("node_modules", "system"),
        ("$RECYCLE.BIN", "system"),
        (".mnote", "sidecar"),
        (".ssh", "secret"),
        (".other", "hidden"),
    ],
)
def test_folder_of_this_name_is_left_out(name, reason):
    assert ignore_reason(name, is_folder=True) == reason


@pytest.mark.parametrize(
    "name", ["note.md", "语言.pdf", "environment.md", "my.key points.md", "a~b.md", "#tag.md", "keys"]
)
def test_file_of_an_ordinary_name_is_taken(name):
    assert ignore_reason(name, is_folder=False) is None


@pytest.mark.parametrize("name", ["notes", "a.tmp", "backup~", "x.env", "x.ocr"])
def test_folder_of_an_ordinary_name_is_taken(name):
    assert ignore_reason(name, is_folder=True) is None


@pytest.mark.parametrize(
    ("name", "siblings", "expected"),
    [
        ("plan.ocr", {"plan.md"}, True),
        ("plan.v2.ocr", {"plan.v2.md"}, True),
        ("plan.ocr", {"plan.pdf"}, False),
        ("plan.ocr", {"other.md"}, False),
        ("plan", {"plan.md"}, False),
    ],
)
def test_ocr_folder_belongs_to_the_note_of_its_stem(name, siblings, expected):
    assert is_note_sidecar(name, siblings) is expected


@pytest.mark.parametrize(
    ("name", "extension"), [("a.MD", ".md"), ("a.tar.gz", ".gz"), ("README", ""), (".md", ""), ("a.", ".")]
)
def test_extension_is_what_types_are_found_by(name, extension):
    assert extension_of(name) == extension
