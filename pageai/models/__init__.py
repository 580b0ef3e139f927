"""The tables of Page AI: bindings and their tokens, artifact references, the audit of tool calls, the panel, runs."""

from pageai.models.artifacts import ArtifactIndex, ArtifactKind, ArtifactProvider
from pageai.models.bindings import BindingStatus, BindingToken, OpenHubBinding
from pageai.models.identity_keys import IdentityKey
from pageai.models.panel import PanelConnection, PanelIdentity, PanelPolicy, PanelTurn
from pageai.models.runs import LIVE, EndReason, EventKind, EventSource, Run, RunEvent, RunStatus
from pageai.models.runtimes import OpencodeRuntime, RuntimeState
from pageai.models.tool_calls import ToolCall

__all__ = [
    "LIVE", "ArtifactIndex", "ArtifactKind", "ArtifactProvider", "BindingStatus", "BindingToken", "EndReason",
    "EventKind", "EventSource", "IdentityKey", "OpenHubBinding", "OpencodeRuntime", "PanelConnection",
    "PanelIdentity", "PanelPolicy", "PanelTurn", "Run", "RunEvent", "RunStatus", "RuntimeState", "ToolCall",
]  # fmt: skip
