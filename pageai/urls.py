"""The addresses of Page AI outside the API."""

from django.urls import path

from pageai.mcp import http
from pageai.views import app, proxy

app_name = "pageai"

urlpatterns = [
    path("mcp", http.mcp, name="mcp"),
    path("pageai/openhub/", app.home, name="panel-home"),
    path("pageai/openhub/app/assets/<str:name>", app.asset, name="panel-asset"),
    path("pageai/openhub/<str:binding_id>/", app.index, name="panel"),
    path("pageai/openhub/<str:binding_id>/api/<path:path>", proxy.api, name="panel-api"),
    path("pageai/openhub/<str:binding_id>/<path:rest>", app.elsewhere, name="panel-elsewhere"),
]
