"""What happened, said as a sentence: one table for the first page and the activity pages."""

from __future__ import annotations

from django.utils.functional import Promise
from django.utils.translation import gettext_lazy as _

#: Action of an audit entry -> sentence; `who` did it to `what`.
SENTENCES: dict[str, Promise] = {
    "binding.archive": _("%(who)s put an AI conversation away"),
    "binding.reopen": _("%(who)s took up an AI conversation again"),
    "binding.revoke_tokens": _("%(who)s ended what an AI conversation could read"),
    "file.upload": _("%(who)s added the file %(what)s"),
    "grant.remove": _("%(who)s took an access right back: %(what)s"),
    "grant.set": _("%(who)s set an access right: %(what)s"),
    "job.cancel": _("%(who)s cancelled a job"),
    "job.retry": _("%(who)s tried a job again"),
    "kb.archive": _("%(who)s removed the knowledge base %(what)s"),
    "kb.repair": _("%(who)s had list and index of %(what)s compared and mended"),
    "kb.clear": _("%(who)s cleared the index of %(what)s"),
    "kb.create": _("%(who)s made the knowledge base %(what)s"),
    "kb.pause": _("%(who)s paused the knowledge base %(what)s"),
    "kb.reread": _("%(who)s had files of %(what)s read again"),
    "kb.resume": _("%(who)s let the knowledge base %(what)s go on"),
    "kb.sync": _("%(who)s asked for a sync of %(what)s"),
    "kb.update": _("%(who)s changed the settings of %(what)s"),
    "panel.allow": _("%(who)s allowed the assistant to change %(what)s"),
    "panel.connect": _("%(who)s changed the connection to OpenHub"),
    "panel.decline": _("%(who)s declined what the assistant wanted: %(what)s"),
    "panel.policy": _("%(who)s changed what the AI panel may do"),
    "panel.provision": _("%(who)s was given an account for the AI panel"),
    "profile.archive": _("%(who)s archived the provider profile %(what)s"),
    "profile.check": _("%(who)s checked the provider profile %(what)s"),
    "profile.create": _("%(who)s made the provider profile %(what)s"),
    "profile.restore": _("%(who)s let the provider profile %(what)s be used again"),
    "profile.update": _("%(who)s changed the provider profile %(what)s"),
    "registry.prune": _("%(who)s compared the list of documents with the disk"),
    "secrets.reseal": _("%(who)s sealed the stored secrets anew"),
    "source.add": _("%(who)s added the source %(what)s"),
    "source.exclude": _("%(who)s excluded %(what)s"),
    "source.freeze": _("%(who)s froze the source %(what)s"),
    "source.include": _("%(who)s included %(what)s again"),
    "source.reindex": _("%(who)s asked for documents of %(what)s to be read again"),
    "source.remove": _("%(who)s removed the source %(what)s"),
    "source.retry": _("%(who)s tried failed documents of %(what)s again"),
    "source.stop": _("%(who)s stopped documents of %(what)s"),
    "source.tags": _("%(who)s changed tags of %(what)s"),
    "source.thaw": _("%(who)s lets the source %(what)s be followed again"),
    "source.update": _("%(who)s changed the rules of the source %(what)s"),
    "sync.confirm": _("%(who)s agreed to removals that were held back"),
    "sync.dismiss": _("%(who)s decided to keep documents whose files are missing"),
    "token.create": _("%(who)s made the token %(what)s"),
    "token.revoke": _("%(who)s revoked the token %(what)s"),
    "user.create": _("%(who)s made the account %(what)s"),
    "user.update": _("%(who)s changed the account %(what)s"),
    "user.activate": _("%(who)s opened the account %(what)s again"),
    "user.change_password": _("%(who)s changed the password of %(what)s"),
    "user.deactivate": _("%(who)s closed the account %(what)s"),
    "user.make_sign_in_link": _("%(who)s made a sign-in link for %(what)s"),
    "user.use_sign_in_link": _("%(who)s signed in with a link"),
    "workspace.add_root": _("%(who)s added the folder %(what)s"),
    "workspace.archive": _("%(who)s archived the workspace"),
    "workspace.create": _("%(who)s made the workspace"),
    "workspace.remove_member": _("%(who)s removed a member"),
    "workspace.remove_root": _("%(who)s removed the folder %(what)s"),
    "workspace.rename_root": _("%(who)s renamed the folder %(what)s"),
    "workspace.restore": _("%(who)s showed the workspace again"),
    "workspace.set_member": _("%(who)s added or changed a member"),
    "workspace.update": _("%(who)s changed the workspace"),
}


def sentence(action: str, *, who: str, what: str) -> str:
    """Say an entry in the active language. `who` is "" for MNote itself. An unknown action is said by its code."""
    names = {"who": who or "MNote", "what": what}
    return str(SENTENCES[action]) % names if action in SENTENCES else f"{names['who']}: {action} {what}".strip()
