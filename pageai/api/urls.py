"""The addresses of the Page AI API, below `/api/`."""

from django.urls import path

from pageai.api import views

app_name = "pageai-api"

urlpatterns = [
    path("page-ai/bootstrap", views.BootstrapView.as_view(), name="bootstrap"),
    path("page-ai/health", views.HealthView.as_view(), name="health"),
    path("page-ai/agents/descriptors", views.DescriptorsView.as_view(), name="descriptors"),
]
