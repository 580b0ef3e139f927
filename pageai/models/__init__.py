"""The tables of Page AI: bindings and their tokens, artifact references, the audit of tool calls, the panel."""

from pageai.models.artifacts import ArtifactIndex, ArtifactKind, ArtifactProvider
from pageai.models.bindings import BindingStatus, BindingToken, OpenHubBinding
from pageai.models.identity_keys import IdentityKey
from pageai.models.panel import PanelConnection, PanelIdentity, PanelPolicy, PanelTurn
from pageai.models.runtimes import OpencodeRuntime, RuntimeState
from pageai.models.tool_calls import ToolCall

__all__ = [
    "ArtifactIndex", "ArtifactKind", "ArtifactProvider", "BindingStatus", "BindingToken", "IdentityKey",
    "OpenHubBinding", "OpencodeRuntime", "PanelConnection", "PanelIdentity", "PanelPolicy", "PanelTurn", "RuntimeState",
    "ToolCall",
]  # fmt: skip
