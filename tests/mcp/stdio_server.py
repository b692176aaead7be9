"""A small MCP server over stdio that misbehaves on demand: ``python stdio_server.py FAULT...``.

Its tools: ``echo``, ``slow`` (progress until it is cancelled), ``ask`` (elicitation), ``sample``,
``roots``, ``picture``, ``fail`` (an error result), ``die``, ``environ``, ``cancelled`` (the ids of
the requests that were taken back), ``change`` (of the list of tools).
"""

from __future__ import annotations

import base64
import json
import os
import signal
import subprocess
import sys
import threading
import time
from typing import Any, Dict, List

FAULTS = set(sys.argv[1:])
VERSION = "2026-07-28" if "modern" in FAULTS else "2025-11-25"
META = "io.modelcontextprotocol/"
TOOLS = ["echo", "slow", "ask", "sample", "fail", "die", "environ", "cancelled", "change"]
TOOLS += ["picture", "roots", "hang"]
HINTS = {"echo": {"readOnlyHint": True, "destructiveHint": False, "openWorldHint": True}}
PICTURE = base64.b64encode(b"\x89PNG\r\n\x1a\n-pixels-").decode()
PICTURE_RESULT: Dict[str, Any] = {
    "content": [
        {"type": "text", "text": "Look:"},
        {"type": "image", "data": PICTURE, "mimeType": "image/png"},
        {"type": "audio", "data": "AAAA", "mimeType": "audio/wav"},
    ]
}

write_lock = threading.Lock()
cancelled: List[Any] = []
stop_slow = threading.Event()
listed = threading.Event()  # the whole list of tools was sent
answers: Dict[Any, Any] = {}
answered = threading.Condition()


def send(message: Dict[str, Any]) -> None:
    if "text_ids" in FAULTS and "method" not in message:
        message["id"] = str(message["id"])
    if "fraction_ids" in FAULTS and "method" not in message:
        message["id"] = float(message["id"])
    data = (json.dumps({"jsonrpc": "2.0", **message}) + "\n").encode()
    if "marked" in FAULTS:
        data = b"\xef\xbb\xbf" + data
    with write_lock:
        if "pieces" in FAULTS:
            for start in range(0, len(data), 7):
                sys.stdout.buffer.write(data[start : start + 7])
                sys.stdout.buffer.flush()
        else:
            sys.stdout.buffer.write(data)
            sys.stdout.buffer.flush()


def text(value: str, **more: Any) -> Dict[str, Any]:
    return {"content": [{"type": "text", "text": value}], "resultType": "complete", **more}


def ask_client(method: str, params: Dict[str, Any]) -> Any:
    """A request of an older server's, and its answer."""
    id = f"s{len(answers)}-{method}"
    send({"id": id, "method": method, "params": params})
    with answered:
        answered.wait_for(lambda: id in answers, 10)
    return answers[id]


def call(id: Any, params: Dict[str, Any]) -> Dict[str, Any]:
    name, arguments = params["name"], params.get("arguments", {})
    token = params.get("_meta", {}).get("progressToken")
    if name == "echo":
        return text(arguments.get("text", ""))
    if name == "picture":
        return PICTURE_RESULT
    if name == "fail":
        return text("it went wrong", isError=True)
    if name == "environ":
        return text(json.dumps(dict(os.environ)))
    if name == "cancelled":
        return text(json.dumps(cancelled))
    if name == "die":
        sys.stderr.write("about to die\n")
        sys.stderr.flush()
        os._exit(7)
    if name == "change":
        TOOLS.append("fresh")
        TOOLS.remove("slow")
        listed.clear()
        send({"method": "notifications/tools/list_changed"})
        if "waits_for_list" in FAULTS:
            listed.wait(30)
        return text("changed")
    if name == "fresh":
        return text("fresh from the server")
    if name == "hang":
        time.sleep(3600)
    if name == "slow":
        step = 0
        while not stop_slow.wait(0.05):
            step += 1
            progress = {"progressToken": token, "progress": step, "total": 100, "message": "at it"}
            send({"method": "notifications/progress", "params": progress})
        return text("stopped")
    form = {"message": "Who?", "requestedSchema": {"properties": {"name": {"type": "string"}}}}
    prompt = {"messages": [{"role": "user", "content": {"type": "text", "text": "Hi"}}]}
    method, asked = {
        "ask": ("elicitation/create", form),
        "sample": ("sampling/createMessage", prompt),
        "roots": ("roots/list", {}),
    }[name]
    if VERSION == "2025-11-25":
        return text(json.dumps(ask_client(method, asked)))
    if "inputResponses" not in params:
        return {
            "resultType": "input_required",
            "inputRequests": {"it": {"method": method, "params": asked}},
            "requestState": "opaque",
        }
    assert params["requestState"] == "opaque"
    return text(json.dumps(params["inputResponses"]["it"]))


def result_of(id: Any, method: str, params: Dict[str, Any]) -> Dict[str, Any]:
    if method == "tools/call":
        return call(id, params)
    if method == "tools/list":
        cursor = params.get("cursor")
        names = TOOLS[5:] if cursor else TOOLS[:5]
        schema = {"type": "object"}
        described = [{"name": n, "inputSchema": schema} for n in names]
        tools = [{**each, "annotations": HINTS.get(each["name"], {})} for each in described]
        page: Dict[str, Any] = {"tools": tools}
        if not cursor or "endless_pages" in FAULTS:
            page["nextCursor"] = "more"
        elif "blank_cursor" in FAULTS:
            page["nextCursor"] = ""
        return page
    if method == "resources/read":
        return {"contents": [{"uri": params["uri"], "text": "the resource"}]}
    if method == "prompts/list":
        city = {"name": "city", "required": True}
        shared = {"description": "What to see\nthere", "arguments": [city, {"name": "lang"}]}
        return {"prompts": [{"name": name, **shared} for name in ("p", "talk")]}
    if method == "prompts/get":
        told = {"type": "text", "text": json.dumps(params["arguments"])}
        image = {"type": "image", "data": PICTURE, "mimeType": "image/png"}
        messages = [("user", told), ("assistant", told), ("user", image)]
        kept = messages[:1] if params["name"] == "p" else messages
        return {"messages": [{"role": role, "content": content} for role, content in kept]}
    if method == "resources/list":
        return {"resources": [{"uri": "a:b", "name": "b", "title": "The b"}]}
    if method == "resources/templates/list":
        return {"resourceTemplates": [{"uriTemplate": "a:{city}", "name": "any"}]}
    if method == "completion/complete":
        ref, begins = params["ref"], params["argument"]["value"]
        values = ["paris", "parma", ref.get("name") or ref["uri"]]
        return {"completion": {"values": [each for each in values if each.startswith(begins)]}}
    if method in ("ping", "logging/setLevel"):
        return {}
    raise LookupError(method)


def greeting(method: str, params: Dict[str, Any]) -> Dict[str, Any]:
    capabilities = {"tools": {"listChanged": True}, "logging": {}}
    capabilities.update(prompts={}, resources={}, completions={})
    info = {"name": "test", "version": "1"}
    if method == "server/discover" and "modern" in FAULTS:
        return {"supportedVersions": [VERSION], "capabilities": capabilities, "serverInfo": info}
    if method == "initialize" and "modern" not in FAULTS:
        return {"protocolVersion": VERSION, "capabilities": capabilities, "serverInfo": info}
    raise LookupError(method)


def serve(message: Dict[str, Any]) -> None:
    id, method = message["id"], message["method"]
    params = message.get("params", {})
    if method == "server/discover" and "silent_discover" in FAULTS:
        return
    if method == "server/discover" and "exits_at_discover" in FAULTS:
        sys.stderr.write("expected initialize request\n")
        sys.stderr.flush()
        os._exit(1)
    if method == "subscriptions/listen":
        agreed = {"notifications": params["notifications"], "_meta": {META + "subscriptionId": id}}
        send({"method": "notifications/subscriptions/acknowledged", "params": agreed})
        return
    try:
        if method in ("server/discover", "initialize"):
            result = greeting(method, params)
        else:
            if "modern" in FAULTS and params["_meta"][META + "protocolVersion"] != VERSION:
                raise LookupError("version")
            result = result_of(id, method, params)
    except LookupError as error:
        send({"id": id, "error": {"code": -32601, "message": f"no {error}"}})
        return
    if method == "initialize" and "log" in FAULTS:
        send({"method": "notifications/message", "params": {"level": "info", "data": "hello"}})
    send({"id": id, "result": result})
    if method == "tools/list" and "nextCursor" not in result:
        listed.set()


def begin() -> None:
    if "stray" in FAULTS:
        print("Welcome to my server!\n[1]\n42", flush=True)
    if "bad_utf8" in FAULTS:
        sys.stdout.buffer.write(b"\xff\xfe caf\xe9\n")
        sys.stdout.buffer.flush()
    if "stderr_flood" in FAULTS:
        sys.stderr.write("x" * 1000 + "\n")
        for _ in range(300):
            sys.stderr.write("y" * 1000 + "\n")
        sys.stderr.flush()
    if "endless_line" in FAULTS:
        while True:
            sys.stdout.buffer.write(b"z" * 65536)
    if "meets" in FAULTS:  # begins only beside another one
        folder = os.environ["MEETING_FOLDER"]
        with open(os.path.join(folder, str(os.getpid())), "w"):
            pass
        while len(os.listdir(folder)) < 2:
            time.sleep(0.02)
    if "exit_at_once" in FAULTS:
        sys.stderr.write("cannot find my files\n")
        sys.exit(3)
    if "ignores_term" in FAULTS:
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
    if "child" in FAULTS:
        code = "import signal, time; signal.signal(15, signal.SIG_IGN); time.sleep(60)"
        quiet = subprocess.DEVNULL
        child = subprocess.Popen(
            [sys.executable, "-c", code], stdin=quiet, stdout=quiet, stderr=quiet
        )
        with open(os.environ["CHILD_PID_FILE"], "w") as file:
            file.write(str(child.pid))


def main() -> None:
    begin()
    if "silent" in FAULTS:
        time.sleep(3600)
    for line in sys.stdin.buffer:
        message = json.loads(line)
        if message.get("method") == "notifications/cancelled":
            cancelled.append(message["params"]["requestId"])
            stop_slow.set()
            if "CANCELLED_FILE" in os.environ:
                with open(os.environ["CANCELLED_FILE"], "a") as file:
                    file.write(f"{cancelled[-1]}\n")
        elif "method" in message and "id" in message:
            threading.Thread(target=serve, args=(message,), daemon=True).start()
        elif "id" in message:
            with answered:
                answers[message["id"]] = message.get("result", message.get("error"))
                answered.notify_all()
    if "ignores_eof" in FAULTS:
        time.sleep(3600)
    os._exit(0)


if __name__ == "__main__":
    main()
