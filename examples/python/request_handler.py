"""Two views of a web application, in the style of Django, and a small server to try them.

    python request_handler.py 8000
    curl 'http://127.0.0.1:8000/ask?q=Name+a+river'
    curl -N 'http://127.0.0.1:8000/stream?q=Tell+me+more'

A view takes a request and returns a response. Each request has a session of its own, because
a server answers several at once, each on its own thread.
"""

from __future__ import annotations

import json
import socketserver
import sys
from typing import Any, Callable, Dict, Iterable, Iterator, List
from urllib.parse import parse_qs
from wsgiref.simple_server import WSGIRequestHandler, WSGIServer, make_server

import jpq

SYSTEM = "Answer in a few sentences."
# What went wrong, as the browser is told it: whose fault it is, and whether to come back.
STATUSES = {"rate_limited": 503, "overloaded": 503, "bad_input": 400, "timeout": 504}
REASONS = {200: "OK", 400: "Bad Request", 404: "Not Found", 502: "Bad Gateway"}


class Request:
    """What a view is given."""

    def __init__(self, environ: Dict[str, Any]) -> None:
        self.path = environ["PATH_INFO"]
        self.query = {
            name: values[-1] for name, values in parse_qs(environ["QUERY_STRING"]).items()
        }


class Response:
    """A whole response, or one whose ``body`` is produced while it is sent."""

    def __init__(self, body: Iterable[bytes], kind: str, status: int = 200) -> None:
        self.body, self.kind, self.status = body, kind, status


def open_session() -> jpq.Session:
    """A session for one request: it saves nothing, and gives up before the browser does."""
    return jpq.Session(system=SYSTEM, config={"request.total_timeout_s": 60})


def ask(request: Request) -> Response:
    """The whole answer as JSON."""
    try:
        with open_session() as session:
            answer = session.ask(request.query.get("q", ""))
    except jpq.JpqError as error:
        return as_json({"error": error.message}, STATUSES.get(error.word, 502))
    return as_json({"answer": answer.text, "complete": answer.is_complete})


def stream(request: Request) -> Response:
    """The answer as server-sent events, each piece as it arrives."""
    return Response(pieces(request.query.get("q", "")), "text/event-stream")


def pieces(question: str) -> Iterator[bytes]:
    """The body of ``stream``. When the browser goes away the server closes this iterator, which
    leaves the loop, and that stops the model."""
    try:
        with open_session() as session:
            for event in session.stream(question):
                if isinstance(event, jpq.TextChunk):
                    yield sent("text", event.text)
                elif isinstance(event, jpq.Result):
                    yield sent("end", event.status)
    except jpq.JpqError as error:  # nothing was sent yet, such as for an empty question
        yield sent("end", error.message)


def sent(kind: str, data: str) -> bytes:
    return f"event: {kind}\ndata: {json.dumps(data)}\n\n".encode()


def as_json(value: Any, status: int = 200) -> Response:
    return Response([json.dumps(value).encode() + b"\n"], "application/json", status)


VIEWS: Dict[str, Callable[[Request], Response]] = {"/ask": ask, "/stream": stream}


def application(environ: Dict[str, Any], start_response: Callable[..., Any]) -> Iterable[bytes]:
    """The WSGI application: finds the view, and hands over its response."""
    request = Request(environ)
    view = VIEWS.get(request.path)
    response = view(request) if view else as_json({"error": "no such page"}, 404)
    status = f"{response.status} {REASONS.get(response.status, 'Error')}"
    start_response(status, [("Content-Type", response.kind), ("Cache-Control", "no-store")])
    return response.body


class ThreadedServer(socketserver.ThreadingMixIn, WSGIServer):
    """A thread for each request."""

    daemon_threads = True


class QuietHandler(WSGIRequestHandler):
    """Logs nothing."""

    def log_message(self, format: str, *args: Any) -> None:
        pass


def serve(port: int) -> ThreadedServer:
    server = make_server("127.0.0.1", port, application, ThreadedServer, QuietHandler)
    assert isinstance(server, ThreadedServer)
    return server


def main(arguments: List[str]) -> int:
    with serve(int(arguments[0]) if arguments else 8000) as server:
        print(f"http://127.0.0.1:{server.server_port}/ask?q=Hello", flush=True)
        try:
            server.serve_forever()
        except KeyboardInterrupt:
            pass
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
