from django.apps import AppConfig


class MNoteConfig(AppConfig):
    name = "mnote"
    verbose_name = "MNote"

    def ready(self) -> None:
        """Register the system checks, and the jobs as something that pages watch; bring the languages up to date."""
        from mnote import checks, revisions  # noqa: F401, PLC0415 models can be imported from here on
        from mnote.catalogues.files import compile_if_possible  # noqa: PLC0415
        from mnote.selectors import jobs  # noqa: PLC0415

        revisions.register("jobs", jobs.last_change)
        compile_if_possible()
