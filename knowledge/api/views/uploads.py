"""New content: a raw body, a text, a web address, or a file that is there already."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from django.http import HttpRequest
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import extend_schema
from rest_framework.parsers import BaseParser
from rest_framework.request import Request
from rest_framework.response import Response

from knowledge.api.base import WritingView, validated, validated_query
from knowledge.api.lookups import kb_named
from knowledge.api.scope import ScopeSerializer, place_of
from knowledge.api.serializers.sources import (
    AcceptedSerializer,
    LinkSerializer,
    UploadQuerySerializer,
    WrittenSerializer,
)
from knowledge.api.views.knowledge_bases import IDEMPOTENCY, job_url
from knowledge.api.views.source_sets import root_in
from knowledge.models import KnowledgeBase
from knowledge.services import intake, uploads
from knowledge.services.intake import Wanted
from knowledge.services.uploads import Uploaded
from mnote.api.idempotency import Made, idempotent
from mnote.api.parsers import JSONParser
from mnote.api.permissions import principal_of
from mnote.exceptions import Invalid, UnsupportedType
from mnote.models import Role, Root

_BLOCK = 64 * 1024
_FORMS = ("multipart/form-data", "application/x-www-form-urlencoded")
_FILE = {"application/json": LinkSerializer, "application/octet-stream": OpenApiTypes.BINARY}


class RawBodyParser(BaseParser):
    """Lets a body of any other type through; the view reads it as it arrives."""

    media_type = "*/*"

    def parse(self, stream: Any, media_type: str | None = None, parser_context: Any = None) -> dict[str, Any]:  # noqa: ARG002
        return {}


class UploadOrLinkView(WritingView):
    """`POST` of the source list."""

    parser_classes = [JSONParser, RawBodyParser]

    @extend_schema(
        operation_id="upload_or_link_source",
        parameters=[IDEMPOTENCY, UploadQuerySerializer],
        request=_FILE,
        responses={202: AcceptedSerializer},
    )
    @idempotent
    def post(self, request: Request, kb_id: str) -> Response:
        """Take one file in. A JSON body links or makes it; any other body is the content of a new file `?name=`.
        Needs curator and read on the path, for new files a write grant on the folder."""
        kb = kb_named(principal_of(request), kb_id, Role.CURATOR)
        accepted = _linked(request, kb) if _is_json(request) else _uploaded(request, kb)
        body = AcceptedSerializer(accepted).data
        return Made(body, workspace=kb.workspace, status=202, location=job_url(accepted.job_id))


class FilesView(WritingView):
    parser_classes = [RawBodyParser]

    @extend_schema(
        operation_id="upload_file",
        parameters=[IDEMPOTENCY, ScopeSerializer, UploadQuerySerializer],
        request={"application/octet-stream": OpenApiTypes.BINARY},
        responses={201: WrittenSerializer},
    )
    @idempotent
    def post(self, request: Request) -> Response:
        """Write the body as a new file, outside of any knowledge base; needs a write grant on the folder."""
        principal = principal_of(request)
        place = place_of(principal, validated_query(request, ScopeSerializer))
        written = _upload(request, None, place.root_or_first())
        body = {
            "root_uri": written.root.root_uri,
            "source_path": written.path,
            "size_bytes": written.size,
            "source_hash": f"sha256:{written.sha256}",
        }
        return Made(WrittenSerializer(body).data, workspace=place.workspace, status=201)


def _linked(request: Request, kb: KnowledgeBase) -> intake.Accepted:
    principal, data = principal_of(request), validated(request, LinkSerializer)
    wanted = Wanted(
        paths=(data["path"],) if "path" in data else (),
        resource_ids=(data["resource_id"],) if "resource_id" in data else (),
        text=data.get("text"),
        url=data.get("url", ""),
        folder=data["folder"],
        file_name=data.get("name", ""),
    )
    root = root_in(principal, kb, data.get("root_uri"))
    return intake.take_one(principal=principal, kb=kb, root=root, wanted=wanted)


def _uploaded(request: Request, kb: KnowledgeBase) -> intake.Accepted:
    root = root_in(principal_of(request), kb, request.query_params.get("rootUri"))
    written = _upload(request, kb, root)
    return intake.accepted_upload(written.path, written)


def _upload(request: Request, kb: KnowledgeBase | None, root: Root) -> Uploaded:
    if (request.content_type or "").startswith(_FORMS):
        raise UnsupportedType
    wanted = validated_query(request, UploadQuerySerializer)
    if not wanted.get("name"):
        raise Invalid(errors={"name": [{"message": "?name=", "code": "required"}]})
    return uploads.upload_file(
        principal=principal_of(request),
        kb=kb,
        root=root,
        folder=wanted["folder"],
        name=wanted["name"],
        chunks=_blocks(request._request),  # noqa: SLF001 REST framework would read the body into memory
        expected_bytes=_announced(request),
        makes_folders=wanted["make_folders"],
    )


def _blocks(request: HttpRequest) -> Iterator[bytes]:
    while block := request.read(_BLOCK):
        yield block


def _announced(request: Request) -> int | None:
    given = request.headers.get("Content-Length", "")
    return int(given) if given.isdecimal() and len(given) < 16 else None


def _is_json(request: Request) -> bool:
    return (request.content_type or "").partition(";")[0].strip() == "application/json"
