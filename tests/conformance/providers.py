"""The providers that are asked, each as a block that runs it."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path

from knowledge.providers.base import KnowledgeProvider
from knowledge.providers.local.provider import LocalProvider
from knowledge.providers.weknora.config import WeKnoraConfig
from knowledge.providers.weknora.limiter import MemoryLimiter
from knowledge.providers.weknora.provider import WeKnoraProvider
from tests.stubs.weknora import weknora_stub

Maker = Callable[[Path], AbstractContextManager[KnowledgeProvider]]


@contextmanager
def local(folder: Path) -> Iterator[KnowledgeProvider]:
    yield LocalProvider(folder / "indexes")


@contextmanager
def weknora(folder: Path) -> Iterator[KnowledgeProvider]:
    """Against a stub that keeps the contract of edition lite."""
    with weknora_stub() as stub:
        config = WeKnoraConfig(url=stub.url, key=stub.key, embedding_model_id=stub.model.id)
        yield WeKnoraProvider(config, MemoryLimiter())


@contextmanager
def weknora_standard(folder: Path) -> Iterator[KnowledgeProvider]:
    with weknora_stub("standard") as stub:
        config = WeKnoraConfig(url=stub.url, key=stub.key, embedding_model_id=stub.model.id)
        yield WeKnoraProvider(config, MemoryLimiter())


@contextmanager
def weknora_live(folder: Path) -> Iterator[KnowledgeProvider]:
    """Against a real server, left as it was found. A narrow key cannot list models, so one has to be named as well."""
    config = WeKnoraConfig(
        url=os.environ["MNOTE_TEST_WEKNORA_URL"],
        key=os.environ["MNOTE_TEST_WEKNORA_KEY"],
        embedding_model_id=os.environ["MNOTE_TEST_WEKNORA_MODEL"],
    )
    yield WeKnoraProvider(config, MemoryLimiter())


#: Where a real server is: set all, and every promise is asked of it as well.
LIVE = ("MNOTE_TEST_WEKNORA_URL", "MNOTE_TEST_WEKNORA_KEY", "MNOTE_TEST_WEKNORA_MODEL")
PROVIDERS: list[Maker] = [local, weknora, weknora_standard]
if all(os.environ.get(name) for name in LIVE):
    PROVIDERS.append(weknora_live)

#: Set where the model of the real server understands language; one that counts words is enough for everything else.
UNDERSTANDS = "MNOTE_TEST_WEKNORA_UNDERSTANDS"


def understands(maker: Maker) -> bool:
    """Say whether an index knows more of a text than its words."""
    return maker is not weknora_live or bool(os.environ.get(UNDERSTANDS))
