from django.apps import AppConfig


class MNoteConfig(AppConfig):
    name = "mnote"
    verbose_name = "MNote"

    def ready(self) -> None:
        from mnote import checks  # noqa: F401, PLC0415 registers the system checks
