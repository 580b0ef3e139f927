"""Knowledge bases, provider profiles, sources, documents, runs and derived artifacts."""

from knowledge.models.artifacts import ArtifactKind, DerivedArtifact
from knowledge.models.counts import KBCount
from knowledge.models.documents import (
    Document,
    DocumentEvent,
    DocumentTag,
    Exclusion,
    IndexStatus,
    ProviderDeletion,
    ProviderTagging,
    ProviderWish,
    ReasonClass,
    RevisionCounter,
)
from knowledge.models.knowledge_bases import KnowledgeBase, Pin, ProviderKind, Reader
from knowledge.models.outages import ProviderOutage
from knowledge.models.profiles import ProviderProfile
from knowledge.models.sources import Disappearance, Source, SyncMode, SyncOutcome, SyncRun

__all__ = [
    "ArtifactKind", "DerivedArtifact", "Disappearance", "Document", "DocumentEvent", "DocumentTag", "Exclusion",
    "IndexStatus", "KBCount", "KnowledgeBase", "Pin", "ProviderDeletion", "ProviderKind", "ProviderOutage",
    "ProviderProfile", "ProviderTagging", "ProviderWish", "Reader", "ReasonClass", "RevisionCounter", "Source",
    "SyncMode", "SyncOutcome", "SyncRun",
]  # fmt: skip
