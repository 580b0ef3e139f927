from django.apps import AppConfig
from django.utils.translation import gettext_lazy as _


class PageAIConfig(AppConfig):
    name = "pageai"
    verbose_name = _("Page AI")

    def ready(self) -> None:
        """Register checks and the panel beside documents; let what a person holds here end with their account."""
        from mnote import asides, closing, sealing  # noqa: PLC0415 models can be imported from here on
        from mnote.model_words import give_words  # noqa: PLC0415
        from pageai import checks, model_words  # noqa: F401, PLC0415
        from pageai.services import (  # noqa: PLC0415
            binding_tokens,
            provisioning,
            runtime_stack,  # noqa: F401 registers its layer
            runtimes,
        )

        give_words(self, model_words.MODELS, model_words.FIELDS)
        secrets = ("sealed_jwt_secret", "sealed_redis_url", "sealed_opencode_password")
        sealing.sealed_columns["pageai.PanelConnection"] = secrets
        asides.register("pageai", "pageai/aside.html")
        closing.register("bindingTokens", binding_tokens.end_of_account)
        closing.register("opencodeRuntimes", runtimes.end_of_account)
        closing.register_sign_out(binding_tokens.end_of_visit)
        closing.register_sign_out(runtimes.end_of_visit)
        closing.register("panelIdentities", provisioning.end_of_account)
        self._register_with_the_kernel()

    @staticmethod
    def _register_with_the_kernel() -> None:
        """Let check_stack look at our layers, and judge the settings of agents."""
        from mnote import preference_rules  # noqa: PLC0415
        from pageai.selectors import agent_settings  # noqa: PLC0415
        from pageai.services import stack  # noqa: F401, PLC0415 registers its layers

        preference_rules.register("ai.", agent_settings.objection)
