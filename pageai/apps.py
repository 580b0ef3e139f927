from django.apps import AppConfig


class PageAIConfig(AppConfig):
    name = "pageai"
    verbose_name = "Page AI"

    def ready(self) -> None:
        """Let the tokens of bindings end with their person's account."""
        from mnote import closing  # noqa: PLC0415 models can be imported from here on
        from pageai.services import binding_tokens  # noqa: PLC0415

        closing.register("bindingTokens", binding_tokens.end_of_account)
