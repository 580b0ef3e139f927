from __future__ import annotations

import pytest

from pageai.panel.tool_rules import Reach, rules_for
from tests.stubs.openhub_opencode import Session

_ROOT = "/srv/notes"


def session(reach: Reach, *, worktree: str = "/", root: str = _ROOT) -> Session:
    rules = rules_for(reach, root=root, worktree=worktree, mcp_server="kb_a1")
    listed = [{"permission": each.permission, "pattern": each.pattern, "action": each.action} for each in rules]
    return Session(id="ses_1", directory=root, rules=listed)


_CASES = [
    (Reach(default="read"), "read", "a.md", "allow"),
    (Reach(default="read"), "edit", "a.md", "deny"),
    (Reach(default="write"), "edit", "a.md", "ask"),
    (Reach(default="read", prefixes={"open": "write"}), "edit", "open/a.md", "ask"),
    (Reach(default="read", prefixes={"open": "write"}), "edit", "open", "ask"),
    (Reach(default="read", prefixes={"open": "write"}), "edit", "opened/a.md", "deny"),
    (Reach(default="read", prefixes={"hr": "none"}), "read", "hr/pay.md", "deny"),
    (Reach(default="read", prefixes={"hr": "none"}), "read", "link-to-hr/pay.md", "deny"),
    (Reach(default="write", prefixes={"hr": "none"}), "edit", "a.md", "deny"),
    (Reach(default="write", prefixes={"fixed": "read"}), "edit", "fixed/a.md", "deny"),
    (Reach(default="write", prefixes={"fixed": "read"}), "read", "fixed/a.md", "allow"),
    (Reach(default="write", prefixes={"fixed": "read", "fixed/open": "write"}), "edit", "fixed/open/a.md", "ask"),
    (Reach(default="write", prefixes={"fixed/open": "write", "fixed": "read"}), "edit", "fixed/open/a.md", "ask"),
    (Reach(default="none", prefixes={"sub": "read"}), "read", "sub/a.md", "deny"),
    (Reach(default="read", prefixes={"文档": "write"}), "edit", "文档/一.md", "ask"),
    (Reach(default="read", prefixes={"a*": "write"}), "edit", "abc/a.md", "deny"),
    (Reach(default="read"), "read", "sub/.env", "deny"),
    (Reach(default="read"), "read", "prod.env.local", "deny"),
    (Reach(default="write"), "bash", "ls", "deny"),
    (Reach(default="write"), "webfetch", "https://example.org", "deny"),
    (Reach(default="write"), "external_directory", "/etc/*", "deny"),
    (Reach(default="write"), "task", "general", "deny"),
    (Reach(default="read"), "kb_a1_mnote_weknora_search", "*", "allow"),
    (Reach(default="read"), "kb_b2_mnote_weknora_search", "*", "deny"),
    (Reach(default="read"), "question", "*", "allow"),
    (Reach(default="read"), "grep", "secret", "allow"),
    (Reach(default="read", prefixes={"hr": "none"}), "grep", "secret", "deny"),
    (Reach(default="none", prefixes={"sub": "read"}), "glob", "**/*.md", "deny"),
]


@pytest.mark.parametrize("worktree", ["/", "/srv", _ROOT])
@pytest.mark.parametrize(("reach", "permission", "path", "action"), _CASES)
def test_rules_decide_by_the_most_specific_prefix(
    reach: Reach, permission: str, path: str, action: str, worktree: str
) -> None:
    is_file = permission in {"read", "edit"}
    pattern = f"{_ROOT}/{path}".removeprefix(worktree).strip("/") if is_file else path

    assert session(reach, worktree=worktree).action_for(permission, pattern) == action


def test_rules_of_a_root_with_wildcards_in_its_name_open_nothing_else() -> None:
    rules = session(Reach(default="read", prefixes={"sub": "write"}), root="/srv/no[te]s*")

    assert rules.action_for("edit", "srv/notes/sub/a.md") == "deny"


def test_who_may_write_nowhere_is_not_even_offered_the_tools() -> None:
    """opencode hides a tool whose last rule denies everything, and only then."""
    rules = rules_for(Reach(default="read"), root="/srv/notes", worktree="/", mcp_server="kb_1")

    last = [each for each in rules if each.permission == "edit"][-1]
    assert (last.pattern, last.action) == ("*", "deny")
