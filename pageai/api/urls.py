"""The addresses of the Page AI API, below `/api/`."""

from django.urls import path

from pageai.api import runs, views

app_name = "pageai-api"

urlpatterns = [
    path("page-ai/bootstrap", views.BootstrapView.as_view(), name="bootstrap"),
    path("page-ai/health", views.HealthView.as_view(), name="health"),
    path("page-ai/agents/descriptors", views.DescriptorsView.as_view(), name="descriptors"),
    path("page-ai/runs", runs.RunsView.as_view(), name="runs"),
    path("page-ai/runs/<str:run_id>", runs.RunView.as_view(), name="run"),
    path("page-ai/runs/<str:run_id>/events", runs.RunEventsView.as_view(), name="run-events"),
    path("page-ai/runs/<str:run_id>/cancel", runs.CancelRunView.as_view(), name="run-cancel"),
    path("page-ai/sessions/<str:session_id>/active-run", runs.ActiveRunView.as_view(), name="active-run"),
]
