"""What a check of a provider profile found, in sentences for administrators. None names an address or a key."""

from __future__ import annotations

from collections.abc import Mapping

from django.utils.functional import Promise
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _

from knowledge.providers.base import Check, CheckResult

NOT_CHECKED = _("It was not checked yet.")
#: What keeps a profile from being used at all, whatever its server says.
UNUSABLE: dict[str, Promise] = {
    "archived": _("The provider profile is archived."),
    "key-not-in-environment": _("The environment of this process holds no key under the name that is given."),
    "key-missing": _("The profile has no API key."),
    "key-unreadable": _("The API key was sealed with another secret key. Enter it anew."),
}

#: Name of a check -> what is asked, as the head of its row.
LABELS: Mapping[str, Promise] = {
    "connection": _("Connection"),
    "reachable": _("Server"),
    "key": _("API key"),
    "right-read": _("Right to search and read"),
    "right-write": _("Right to add documents"),
    "right-manage": _("Right to make knowledge bases"),
    "version": _("Version"),
    "parser-engines": _("Parser engines"),
    "model": _("Record of the embedding model"),
    "embedding": _("Embedding model"),
    "vision": _("Model for pictures"),
    "knowledge-base": _("Knowledge base at the server"),
    "kb-model": _("Embedding model"),
    "search": _("Search"),
}
RESULTS: Mapping[CheckResult, Promise] = {
    CheckResult.PASSED: _("good"),
    CheckResult.FAILED: _("broken"),
    CheckResult.UNKNOWN: _("not visible"),
    CheckResult.SKIPPED: _("not asked"),
}
_PASSED: Mapping[str, Promise] = {
    "reachable": _("It answers."),
    "key": _("It is accepted. Edition: %(edition)s."),
    "right-read": _("The key has it."),
    "right-write": _("The key has it."),
    "right-manage": _("The key has it."),
    "version": _("It runs version %(version)s."),
    "parser-engines": _("Working: %(engines)s."),
    "model": _("It is active: %(model)s."),
    "vision": _(
        "It is known to the server as a model for pictures: %(model)s. Whether it answers shows with a picture."
    ),
    "embedding": _("It is known to the server and answers: %(model)s, %(dimension)s dimensions."),
}
_OTHER_VERSION = _(
    "It runs version %(version)s. MNote was tested with %(tested)s; other versions may answer otherwise."
)
_NO_VERSION = _("The server does not say which version it is.")
_NOT_VISIBLE = _("Not visible with this key, which is fine: nothing wider is needed.")
_SKIPPED = _("Not asked, because of what is broken above.")
_PROTOCOL = _(
    "What answers there speaks otherwise than the server should: no JSON, JSON that breaks off, or another program or"
    " version. Look at the address, and at what stands in front of the server."
)
#: Code of what failed -> what is broken and what to do. A pair of check and code goes before a code alone.
_FAILED: Mapping[str | tuple[str, str], Promise] = {
    "provider-unavailable": _(
        "The server cannot be reached, or breaks off. Look whether it runs and the address is right."
    ),
    "provider-timeout": _("The server answers too slowly."),
    "provider-protocol": _PROTOCOL,
    "provider-auth": _(
        "The server does not take the key: it is wrong, expired or revoked, or its tenant does not exist."
    ),
    ("key", "provider-rights"): _("The key belongs to another tenant than the one that is given here."),
    "provider-rights": _("The key lacks this right. It needs three: retrieve, ingest and manage_kbs."),
    "provider-key-limited": _(
        "The key is limited to a list of knowledge bases, so it cannot see what it makes. Use one without such a list."
    ),
    "provider-scope": _("The server says that this belongs to another tenant."),
    "provider-misconfigured": _("The server refuses the connection as it is set up here. Look at the tenant."),
    "provider-model-missing": _("The server does not know this embedding model, or the model is not active."),
    "provider-vision-missing": _("The server does not know this model, or it is none for pictures."),
    "provider-embedder": _("The server works, but the embedding model behind it does not answer as it should."),
    "provider-quota": _("The tenant has no storage left."),
    "provider-server-error": _("The server failed and gives no reason. Its log has one."),
    "provider-not-there": _("It is not there any more."),
    "provider-busy": _("The server is busy. Check again in a moment."),
}
#: Why an engine of a server cannot be chosen.
ENGINE_REASONS: Mapping[str, Promise] = {
    "reader-missing": _("the document reader is not connected"),
    "not-set-up": _("not set up at the server"),
    "not-working": _("does not work there now"),
}
_UNKNOWN_FAILURE = _("The server refused this for a reason that is not known here: %(code)s.")


def label_of(check: Check) -> str | Promise:
    """Say what was asked."""
    return LABELS.get(check.name, check.name)


def sentence_of(check: Check) -> str:
    """Say what was found, in the active language."""
    if check.result is CheckResult.PASSED:
        return _passed(check)
    if check.result is CheckResult.UNKNOWN:
        return str(_NOT_VISIBLE)
    if check.result is CheckResult.SKIPPED:
        return str(_SKIPPED)
    known = _FAILED.get((check.name, check.code)) or _FAILED.get(check.code) or UNUSABLE.get(check.code)
    return str(known or _UNKNOWN_FAILURE % {"code": check.code})


def _passed(check: Check) -> str:
    facts = check.facts
    if check.name == "version":
        text = (
            _NO_VERSION if not facts.get("version") else _PASSED["version"] if facts.get("isTested") else _OTHER_VERSION
        )
        return str(text) % {"version": facts.get("version"), "tested": facts.get("tested")}
    if check.name == "parser-engines":
        return str(_PASSED[check.name]) % {"engines": ", ".join(facts.get("engines", ())) or gettext("none")}
    return str(_PASSED.get(check.name, "")) % {name: facts.get(name, "–") for name in ("edition", "model", "dimension")}
