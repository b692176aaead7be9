"""A small API that misbehaves as real ones do, for the city-brief example (docs/city-brief.md).

Run it with ``python3 api.py``; it listens on this machine only, and needs nothing but Python.
What it was asked goes to ``--log FILE``, and nothing is printed but its address.
"""

import argparse
import json
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import parse_qs, urlsplit

WEATHER = {
    "Paris": {"temperature_c": 21, "sky": "clear"},
    "Tokyo": {"temperature_c": 27, "sky": "rain"},
    "Oslo": {"temperature_c": 9, "sky": "clouds"},
    "Lima": {"temperature_c": 18, "sky": "fog"},
    "Quito": {"temperature_c": 15, "sky": "sun"},
}
FINDINGS = {
    "Paris": ["The Louvre is closed on Tuesdays.", "The metro runs until 1:15."],
    "Tokyo": ["The Sumida fireworks are on Saturday."],
    "Oslo": ["The opera's roof may be walked on."],
    "Lima": ["Ceviche is eaten at lunch."],
    "Quito": ["The old town is closed to cars on Sundays."],
}
PAGE = "<!DOCTYPE html><html><head><title>No such city</title></head><body>Sorry!</body></html>"


class Api(ThreadingHTTPServer):
    """The server; ``slow_s`` is how long each answer takes."""

    daemon_threads = True

    def __init__(self, port, slow_s, log):
        super().__init__(("127.0.0.1", port), Handler)
        self.slow_s = slow_s
        self.started = time.monotonic()
        self.throttled = {"Oslo": 2, "Quito": 1000}  # how often each is still told to wait
        self._log = log
        self._lock = threading.Lock()

    def note(self, *words):
        """A line of the log: the seconds since the start, and what happened."""
        if self._log is None:
            return
        with self._lock, open(self._log, "a", encoding="utf-8") as file:
            print(f"{time.monotonic() - self.started:.3f}", *words, file=file)


class Handler(BaseHTTPRequestHandler):
    """``/weather?city=NAME`` and ``/research?topic=NAME``."""

    def do_GET(self):
        parts = urlsplit(self.path)
        query = {name: values[0] for name, values in parse_qs(parts.query).items()}
        name = query.get("city") or query.get("topic") or ""
        self.server.note("asked", parts.path, name)
        try:
            self.answer(parts.path, name)
        except OSError:
            self.server.note("hung-up", parts.path, name)  # Ctrl+C, most likely
        else:
            self.server.note("answered", parts.path, name)

    def answer(self, path, name):
        time.sleep(30 if name == "Lima" else self.server.slow_s)
        if path == "/weather" and self.server.throttled.get(name, 0) > 0:
            # With status 200, as if all were well.
            self.server.throttled[name] -= 1
            self.send({"status": "throttled", "retry_after_seconds": 0.5})
        elif path == "/weather" and name in WEATHER:
            answer = {"city": name, "now": WEATHER[name]}
            self.send([answer] if name == "Tokyo" else answer)
        elif path == "/research" and name in FINDINGS:
            answer = {"topic": name, "findings": FINDINGS[name]}
            self.send([answer] if name == "Paris" else answer)
        else:
            self.send(PAGE)  # with status 200, too

    def send(self, value):
        page = isinstance(value, str)
        body = (value if page else json.dumps(value)).encode()
        self.send_response(200)
        self.send_header("Content-Type", "text/html" if page else "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format, *args):
        """Nothing: the screen is the conversation's."""


def main():
    """Serve until Ctrl+C."""
    parser = argparse.ArgumentParser(description="An API that misbehaves as real ones do.")
    parser.add_argument("--port", type=int, default=8765, help="0: any that is free")
    parser.add_argument("--slow", type=float, default=1.0, help="seconds that each answer takes")
    parser.add_argument("--log", help="a file for what it was asked")
    args = parser.parse_args()
    with Api(args.port, args.slow, args.log) as server:
        print(f"http://127.0.0.1:{server.server_port}", flush=True)
        try:
            server.serve_forever()
        except KeyboardInterrupt:
            pass


if __name__ == "__main__":
    main()
