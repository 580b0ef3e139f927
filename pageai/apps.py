from django.apps import AppConfig


class PageAIConfig(AppConfig):
    name = "pageai"
    verbose_name = "Page AI"

    def ready(self) -> None:
        """Register checks; let what a person holds here end with their account."""
        from mnote import closing  # noqa: PLC0415 models can be imported from here on
        from pageai import checks  # noqa: F401, PLC0415
        from pageai.services import binding_tokens, provisioning  # noqa: PLC0415

        closing.register("bindingTokens", binding_tokens.end_of_account)
        closing.register("panelIdentities", provisioning.end_of_account)
