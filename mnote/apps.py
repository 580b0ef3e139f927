from django.apps import AppConfig


class MNoteConfig(AppConfig):
    name = "mnote"
    verbose_name = "MNote"

    def ready(self) -> None:
        """Register checks, gauges, and the jobs as something that pages watch; bring the languages up to date."""
        from mnote import checks, metrics, model_words, revisions  # noqa: F401, PLC0415 models can be imported from here on
        from mnote.catalogues.files import compile_if_possible  # noqa: PLC0415
        from mnote.selectors import health, jobs  # noqa: PLC0415

        model_words.give_words(self, model_words.MODELS)
        revisions.register("jobs", jobs.last_change)
        for name, words, read in (
            ("mnote_jobs", "Jobs by queue and status.", jobs.job_gauge),
            ("mnote_worker_silent_seconds", "Seconds since a worker was last heard of.", health.worker_gauge),
        ):
            metrics.register(metrics.Gauge(name=name, help=words, read=read))
        compile_if_possible()
