"""requests and sseclient-py, fed with whole available reads: the same libraries as jpq, bare."""

import json
import sys

import requests
import sseclient


def reads(raw):
    while True:
        data = raw.read1(65536, decode_content=True)
        if not data:
            return
        yield data


body = {"model": "test", "stream": True, "messages": [{"role": "user", "content": "hi"}]}
with requests.post(sys.argv[1] + "/chat/completions", json=body, stream=True) as response:
    response.raise_for_status()
    for event in sseclient.SSEClient(reads(response.raw)).events():
        if event.data == "[DONE]":
            break
        choice = json.loads(event.data)["choices"][0]
        sys.stdout.write(choice["delta"].get("content") or "")
        sys.stdout.flush()
print()
