"""The run journal over HTTP (spec 8.4): runs of one's own, their events as JSON or as a stream, cancelling."""

from __future__ import annotations

from typing import Any

from django.conf import settings
from django.http import HttpResponse, StreamingHttpResponse
from django.http.response import HttpResponseBase
from drf_spectacular.utils import OpenApiResponse, extend_schema
from rest_framework.renderers import JSONRenderer
from rest_framework.request import Request
from rest_framework.response import Response

from knowledge.api.base import validated, validated_query
from knowledge.api.scope import place_of
from mnote import connections
from mnote.api.events import Caller
from mnote.api.pagination import KeysetPagination
from mnote.api.permissions import principal_of
from mnote.models import TokenScope
from pageai.api import run_stream
from pageai.api.serializers.runs import (
    ActiveRunQuerySerializer,
    ActiveRunSerializer,
    EventsQuerySerializer,
    RunDetailSerializer,
    RunEventsSerializer,
    RunListQuerySerializer,
    RunRequestSerializer,
    RunSerializer,
)
from pageai.api.views import PageAIView
from pageai.panel.errors import PanelError
from pageai.run_shapes import ACTIVE_SCHEMA, EVENTS_SCHEMA, event_json, receipt_json, run_json, seq_text
from pageai.selectors import runs as selectors
from pageai.services import cancelling, pages, panel, receiving

_FILTERS = {
    "binding_id": "binding_id",
    "workspace_id": "binding__workspace_id",
    "document_id": "binding__page_resource_id",
    "session_id": "session_id",
    "status": "status",
}


class EventStreamRenderer(JSONRenderer):
    """Lets callers ask for a stream; refusals are JSON all the same."""

    media_type = "text/event-stream"
    format = "stream"


class RunsView(PageAIView):
    ordering = ("-created_at", "-id")

    @extend_schema(operation_id="list_runs", parameters=[RunListQuerySerializer], responses=RunSerializer(many=True))
    def get(self, request: Request) -> Response:
        """List the caller's own runs, the newest first."""
        wanted = validated_query(request, RunListQuerySerializer)
        filters = {_FILTERS[name]: each for name, each in wanted.items()}
        rows = selectors.runs_of(principal_of(request)).filter(**filters)
        pages_of = KeysetPagination()
        shown = pages_of.paginate_queryset(rows, request, self)
        return pages_of.get_paginated_response([run_json(run) for run in shown])

    @extend_schema(
        operation_id="create_run", request=RunRequestSerializer, responses={200: RunSerializer, 201: RunSerializer}
    )
    def post(self, request: Request) -> Response:
        """Announce a run: 201 when it is new, 200 when this request was announced before. It starts when its question
        passes the panel's proxy with the same request id."""
        principal, data = principal_of(request), validated(request, RunRequestSerializer)
        page = pages.locate(
            principal=principal,
            root=place_of(principal, data).root_or_first(),
            path=data.get("page_path", ""),
            resource_id=data.get("page_resource_id", ""),
        )
        run, is_new = receiving.announce(
            principal=principal,
            page=page,
            request_id=data["request_id"],
            session_id=data.get("session_id", ""),
            agent_id=data.get("agent_id", ""),
        )
        return Response(run_json(run), status=201 if is_new else 200)


class RunView(PageAIView):
    @extend_schema(operation_id="get_run", responses=RunDetailSerializer)
    def get(self, request: Request, run_id: str) -> Response:
        """Show one run and what its statements rest on."""
        run = selectors.get_run(principal_of(request), run_id)
        return Response(run_json(run) | {"receipt": receipt_json(run, selectors.receipt_of(run))})


class RunEventsView(PageAIView):
    renderer_classes = [JSONRenderer, EventStreamRenderer]

    @extend_schema(
        operation_id="list_run_events",
        parameters=[EventsQuerySerializer],
        responses={200: RunEventsSerializer, 204: OpenApiResponse(description="The stream of a run that is over.")},
    )
    def get(self, request: Request, run_id: str) -> HttpResponseBase:
        """Give the events after `afterSeq`. With `Accept: text/event-stream` as a stream that goes on with the run and
        ends with it: the id of each is its number, and `Last-Event-ID` goes before `afterSeq`."""
        principal = principal_of(request)
        wanted = validated_query(request, EventsQuerySerializer)
        run = selectors.get_run(principal, run_id)
        after = int(wanted.get("after_seq") or 0)
        if isinstance(request.accepted_renderer, EventStreamRenderer):
            return _stream(request, run_id, run_stream.resumed(request.headers.get("Last-Event-ID", ""), after))
        found = selectors.read(run, after=after, limit=wanted.get("limit") or selectors.MAX_EVENTS)
        events = [event_json(each) for each in found.events]
        body: dict[str, Any] = {"schema": EVENTS_SCHEMA, "hostRunId": run.pk, "status": run.status, "events": events}
        return Response(body | {"lastSeq": _last(events, after), "isOver": found.is_over})


class CancelRunView(PageAIView):
    @extend_schema(operation_id="cancel_run", request=None, responses=RunSerializer)
    def post(self, request: Request, run_id: str) -> Response:
        """Stop a run's agent. A run that ended stays as it ended."""
        principal = principal_of(request)
        run = selectors.get_run(principal, run_id)
        try:
            cancelling.cancel(principal=principal, run=run)
        except PanelError as error:
            raise panel.as_app_error(error) from error
        return Response(run_json(selectors.get_run(principal, run_id)))


class ActiveRunView(PageAIView):
    @extend_schema(operation_id="get_active_run", parameters=[ActiveRunQuerySerializer], responses=ActiveRunSerializer)
    def get(self, request: Request, session_id: str) -> Response:
        """Give the run of a session that did not end; `run` is null when there is none."""
        wanted = validated_query(request, ActiveRunQuerySerializer)
        run = selectors.active_of(principal_of(request), session_id=session_id, **wanted)
        return Response({"schema": ACTIVE_SCHEMA, "sessionId": session_id, "run": run_json(run) if run else None})


def _last(events: list[dict[str, Any]], after: int) -> str:
    return str(events[-1]["seq"]) if events else seq_text(after)


def _stream(request: Request, run_id: str, after: int) -> HttpResponseBase:
    caller = _caller(request)
    first = run_stream.look(caller, run_id, after)
    if first.is_over and not first.events:
        return HttpResponse(status=204)  # a browser's EventSource asks no more after that
    user_id = principal_of(request).user.pk
    run_stream.streams.refuse_more(user_id)
    stream = run_stream.follow(caller, run_id, after, user_id=user_id)
    connections.let_go()
    return StreamingHttpResponse(stream, content_type="text/event-stream; charset=utf-8", headers=run_stream.HEADERS)


def _caller(request: Request) -> Caller:
    scheme, _space, secret = request.headers.get("Authorization", "").partition(" ")
    token = secret.strip() if scheme.lower() == "bearer" else ""
    key = "" if token else request.COOKIES.get(settings.SESSION_COOKIE_NAME, "")
    return Caller(session_key=key, token=token, scope=TokenScope.PAGEAI)
