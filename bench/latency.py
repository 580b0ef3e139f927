"""A server that answers every search after the same time: what stands behind a measured search."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

_SHOWN = 40


@contextmanager
def search_server(hits: Sequence[dict[str, Any]], *, seconds: float) -> Iterator[str]:
    """Run it on loopback; give way with its address. A question that ends in a number is answered with the hits from
    there on, any other with the first."""
    bodies = [json.dumps({"success": True, "data": hits[at : at + _SHOWN]}).encode() for at in range(len(hits))]

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"
        wbufsize = -1
        disable_nagle_algorithm = True

        def do_POST(self) -> None:
            ends = time.perf_counter() + seconds
            asked = json.loads(self.rfile.read(int(self.headers["Content-Length"])))["query_text"]
            last = asked.rpartition(" ")[2]
            body = bodies[int(last) if last.isdecimal() else 0]
            time.sleep(max(0.0, ends - time.perf_counter()))
            self.send_response(200)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)
            self.wfile.flush()

        def log_message(self, format: str, *args: object) -> None:  # noqa: A002
            """Say nothing."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_address[1]}"
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
