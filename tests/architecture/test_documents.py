"""Documents that must keep up with the code."""

from __future__ import annotations

import os
import re
import subprocess
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent.parent
_READERS = re.compile(r'(?:env_\w+|environ(?:\.get)?)[(\[]\s*"(MNOTE_[A-Z_]+)"')


def read_by_the_code() -> set[str]:
    """Variables that settings, process and packaging code read; those of tests and of the check command are ours."""
    sources = [*ROOT.glob("mnote/**/*.py"), *ROOT.glob("packaging/*.py"), ROOT / "manage.py"]
    found = {name for path in sources for name in _READERS.findall(path.read_text(encoding="utf-8"))}
    return {name for name in found if not name.startswith("MNOTE_TEST_")}


def test_every_setting_is_documented() -> None:
    text = (ROOT / "docs" / "configuration.md").read_text(encoding="utf-8")
    documented = set(re.findall(r"`(MNOTE_[A-Z_]+)`", text))

    assert documented == read_by_the_code()


def test_every_file_that_the_readme_links_to_exists() -> None:
    for document in (ROOT / "README.md", *(ROOT / "docs").glob("*.md")):
        for target in re.findall(r"\]\((?!https?:)([^)#]+)\)", document.read_text(encoding="utf-8")):
            assert (document.parent / target).exists(), f"{document.name} links to {target}"


def test_readme_has_one_command_under_run_and_under_test() -> None:
    text = (ROOT / "README.md").read_text(encoding="utf-8")

    for heading in ("Run", "Test"):
        section = text.split(f"\n## {heading}\n", 1)[1].split("\n## ", 1)[0]
        blocks = re.findall(r"```\w*\n(.*?)```", section, re.DOTALL)
        assert len(blocks) == 1, heading
        assert len(blocks[0].strip().splitlines()) == 1, heading


def test_nothing_names_this_machine_or_a_registry() -> None:
    banned = re.compile(r"/" + r"work/|registry\.npmjs|pypi\.org|files\.pythonhosted|/" + r"root/")
    listed = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, check=True).stdout
    for path in (ROOT / name for name in os.fsdecode(listed).split("\0") if name):
        if path.is_file():
            assert not banned.search(path.read_text(encoding="utf-8", errors="ignore")), path
