from typing import Any

from django.apps import AppConfig
from django.db import connections
from django.db.models.signals import post_migrate
from django.utils.translation import gettext_lazy as _


class KnowledgeConfig(AppConfig):
    name = "knowledge"
    verbose_name = _("Knowledge")

    def ready(self) -> None:
        post_migrate.connect(_create_triggers, sender=self)
        from knowledge import model_words  # noqa: PLC0415 models can be imported from here on
        from knowledge.selectors.home import knowledge_bases  # noqa: PLC0415
        from knowledge.services import revisions, stack  # noqa: F401, PLC0415 stack registers its layers
        from mnote import revisions as watched  # noqa: PLC0415
        from mnote.model_words import give_words  # noqa: PLC0415
        from mnote.sealing import sealed_columns  # noqa: PLC0415
        from mnote.selectors import home  # noqa: PLC0415

        give_words(self, model_words.MODELS, model_words.FIELDS)
        home.register(knowledge_bases)
        sealed_columns["knowledge.ProviderProfile"] = ("sealed_key",)
        watched.register(watched.DOCUMENTS, lambda workspace_id, _since: revisions.current(workspace_id))


def _create_triggers(*, using: str, **_facts: Any) -> None:
    from knowledge import counters  # noqa: PLC0415 models are not loaded yet when this module is

    counters.ensure(connections[using])
