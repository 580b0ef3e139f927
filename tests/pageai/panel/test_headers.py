from __future__ import annotations

from pageai.panel import headers

_HOSTILE = {
    "Set-Cookie": "mnote_session=stolen; Path=/",
    "Location": "https://evil.example/",
    "Refresh": "0; url=https://evil.example/",
    "Access-Control-Allow-Origin": "*",
    "Access-Control-Allow-Credentials": "true",
    "Content-Security-Policy": "default-src *",
    "X-Frame-Options": "ALLOWALL",
    "Clear-Site-Data": '"*"',
    "Service-Worker-Allowed": "/",
    "Link": "<https://evil.example/x.js>; rel=preload",
    "Strict-Transport-Security": "max-age=0",
    "HX-Redirect": "https://evil.example/",
    "HX-Trigger": "kb:toast",
    "Server": "uvicorn",
    "Transfer-Encoding": "chunked",
    "Connection": "keep-alive",
    "Cache-Control": "public, max-age=9999",
    "Content-Type": "application/json",
}


def test_to_browser_keeps_the_content_type_only() -> None:
    kept = headers.to_browser(_HOSTILE)

    assert kept == {
        "Content-Type": "application/json",
        "Cache-Control": "private, no-store",
        "X-Content-Type-Options": "nosniff",
        "Cross-Origin-Resource-Policy": "same-origin",
    }


def test_to_openhub_leaves_out_who_and_whence() -> None:
    given = {
        "Cookie": "mnote_session=abc; mnote_csrf=def",
        "Authorization": "Bearer host-managed",
        "Origin": "https://notes.example.org",
        "Referer": "https://notes.example.org/w/x",
        "X-CSRFToken": "abc",
        "X-Forwarded-For": "10.0.0.1",
        "X-Internal-Token": "guess",
        "X-Opencode-Directory": "/etc",
        "Host": "notes.example.org",
        "Accept-Language": "de",
        "Content-Type": "application/json",
        "Accept": "text/event-stream",
    }

    sent = headers.to_openhub(given, token="minted", request_id="req_1")

    assert sent == {
        "Content-Type": "application/json",
        "Accept": "text/event-stream",
        "Authorization": "Bearer minted",
        "X-Request-ID": "req_1",
        "Accept-Encoding": "identity",
    }
