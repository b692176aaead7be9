"""The script people write first: requests, its own line splitting, print."""

import json
import sys

import requests

body = {"model": "test", "stream": True, "messages": [{"role": "user", "content": "hi"}]}
with requests.post(sys.argv[1] + "/chat/completions", json=body, stream=True) as response:
    response.raise_for_status()
    for line in response.iter_lines(chunk_size=None):
        if not line.startswith(b"data: ") or line == b"data: [DONE]":
            continue
        choice = json.loads(line[6:])["choices"][0]
        sys.stdout.write(choice["delta"].get("content") or "")
        sys.stdout.flush()
print()
