"""The kernel's part of the API, below `/api/`."""

from django.urls import path
from drf_spectacular.views import SpectacularJSONAPIView

from mnote.api.events import events
from mnote.api.jobs import CancelJobView, JobListView, JobView, RetryJobView
from mnote.api.preferences import PreferencesView
from mnote.api.tokens import TokensView, TokenView
from mnote.api.workspaces import WorkspacesView

app_name = "api"
urlpatterns = [
    path("openapi.json", SpectacularJSONAPIView.as_view(), name="openapi"),
    path("workspaces", WorkspacesView.as_view(), name="workspaces"),
    path("tokens", TokensView.as_view(), name="tokens"),
    path("tokens/<int:token_id>", TokenView.as_view(), name="token"),
    path("jobs", JobListView.as_view(), name="jobs"),
    path("jobs/events", events, name="job-events"),
    path("jobs/<str:job_id>", JobView.as_view(), name="job"),
    path("jobs/<str:job_id>/cancel", CancelJobView.as_view(), name="job-cancel"),
    path("jobs/<str:job_id>/retry", RetryJobView.as_view(), name="job-retry"),
    path("ui/preferences", PreferencesView.as_view(), name="preferences"),
]
