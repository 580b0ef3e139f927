from django.apps import AppConfig


class PageAIConfig(AppConfig):
    name = "pageai"
    verbose_name = "Page AI"
