from typing import Any

from django.apps import AppConfig
from django.db import connections
from django.db.models.signals import post_migrate


class KnowledgeConfig(AppConfig):
    name = "knowledge"
    verbose_name = "Knowledge"

    def ready(self) -> None:
        post_migrate.connect(_create_triggers, sender=self)


def _create_triggers(*, using: str, **_: Any) -> None:
    from knowledge import counters  # noqa: PLC0415 models are not loaded yet when this module is

    counters.ensure(connections[using])
