"""Splits the reply into server-sent events with sseclient-py and does nothing with them."""

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
    print(sum(1 for _ in sseclient.SSEClient(reads(response.raw)).events()))
