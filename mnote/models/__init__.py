"""The kernel's tables: people, workspaces, grants, tokens, jobs, audit."""

from mnote.models.audit import AuditEntry
from mnote.models.idempotency import IdempotencyKey
from mnote.models.jobs import Job, JobStatus, WorkerBeat
from mnote.models.tokens import ApiToken, TokenScope
from mnote.models.uploads import Upload
from mnote.models.users import Preference, SignInLink, User
from mnote.models.workspaces import ROLE_ORDER, Access, Grant, Membership, Role, Root, Workspace

__all__ = [
    "ROLE_ORDER", "Access", "ApiToken", "AuditEntry", "Grant", "IdempotencyKey", "Job", "JobStatus", "Membership",
    "Preference", "Role", "Root", "SignInLink", "TokenScope", "Upload", "User", "WorkerBeat", "Workspace",
]  # fmt: skip
