"""The addresses of Page AI outside the API."""

from django.urls import path

from pageai.mcp import http
from pageai.views import app, aside, aside_settings, events, journal, proxy, talk

app_name = "pageai"

urlpatterns = [
    path("mcp", http.mcp, name="mcp"),
    path("page-ai/aside", aside.aside, name="aside"),
    path("page-ai/page", aside.own_page, name="own-page"),
    path("page-ai/runs", journal.of_page, name="runs"),
    path("page-ai/runs/<str:run_id>", journal.one, name="run"),
    path("page-ai/runs/<str:run_id>/changes", journal.changes, name="run-changes"),
    path("page-ai/<str:binding_id>/now", aside.now, name="now"),
    path("page-ai/<str:binding_id>/events", events.events, name="events"),
    path("page-ai/<str:binding_id>/talk", talk.talk, name="talk"),
    path("page-ai/<str:binding_id>/ask", talk.ask, name="ask"),
    path("page-ai/<str:binding_id>/stop", talk.stop, name="stop"),
    path("page-ai/<str:binding_id>/new", aside.start_anew, name="start-anew"),
    path("page-ai/<str:binding_id>/reopen", aside.reopen, name="reopen"),
    path("page-ai/<str:binding_id>/belongs", aside.belongs, name="belongs"),
    path("page-ai/<str:binding_id>/settings", aside_settings.save, name="settings"),
    path("page-ai/<str:binding_id>/selection", aside.select, name="select"),
    path("page-ai/<str:binding_id>/asks/<str:ask_id>", aside.decide, name="decide"),
    path("page-ai/<str:binding_id>/questions/<str:request_id>", aside.answer, name="answer"),
    path("pageai/openhub/", app.home, name="panel-home"),
    path("pageai/openhub/app/assets/<str:name>", app.asset, name="panel-asset"),
    path("pageai/openhub/<str:binding_id>/", app.index, name="panel"),
    path("pageai/openhub/<str:binding_id>/api/<path:path>", proxy.api, name="panel-api"),
    path("pageai/openhub/<str:binding_id>/<path:rest>", app.elsewhere, name="panel-elsewhere"),
]
