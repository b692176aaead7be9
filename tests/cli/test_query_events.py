"""``--format jsonl`` of a query: what programs are told beside what a person sees."""

from __future__ import annotations

import os
import subprocess
from typing import Any

from tests.support.events import checked
from tests.support.programs import JPQ, conversations, entries, environment, jpq, model_at, script
from tests.support.server import Server, answer

DONE = 'text = "Done."'


def test_every_cycle_names_the_turn_by_its_question(tmp_path: Any) -> None:
    with Server(answer("Hello")) as server:
        events = jpq(*model_at(server), "--format", "jsonl", "hi").events
    (folder,) = conversations()
    question = next(entry for entry in entries(folder) if entry["type"] == "chat_request")
    (started,) = [event for event in events if event["type"] == "stream_start"]
    assert started["turn"] == question["event_id"]
    assert events[0]["id"] == os.path.basename(folder)


def test_calls_have_their_names_for_people(tmp_path: Any) -> None:
    call = 'tool_calls = [{ name = "greet", arguments = { who = "Ann" } }, { name = "ghost" }]'
    tool = (
        'tools.greet={ command = ["echo", "{who}"], run = "unattended", parameters = '
        '{ who = { type = "string" } }, display = { name = "Greeter", title = "Greet {who}" } }'
    )
    ran = jpq(
        *("-m", "scripted/" + script(tmp_path, call, DONE), "--set", tool),
        *("--format", "jsonl", "hi"),
    )
    uses = [event for event in ran.events if event["type"] == "tool_use"]
    assert [(each["display_name"], each["title"]) for each in uses] == [
        ("Greeter", "Greet Ann"),
        ("ghost", "ghost"),
    ]


def test_the_context_window_is_told_where_it_is_known() -> None:
    with Server(answer("Hello")) as server:
        known = ["--set", 'context_windows={ "custom/test" = 8192 }']
        arguments = [*model_at(server), "--format", "jsonl", "hi"]
        limits = [
            next(event for event in events if event["type"] == "token_update")["context_limit"]
            for events in (jpq(*arguments).events, jpq(*known, *arguments).events)
        ]
    assert limits == [None, 8192]


def test_results_come_as_their_calls_end(tmp_path: Any) -> None:
    """The first call cannot end before the second one's result has been read."""
    gate = str(tmp_path / "gate")
    os.mkfifo(gate)
    wait = f'tools.wait={{ command = ["cat", "{gate}"], run = "unattended" }}'
    quick = 'tools.quick={ command = ["echo", "quick"], run = "unattended" }'
    call = 'tool_calls = [{ name = "wait" }, { name = "quick" }]'
    options = ["-m", "scripted/" + script(tmp_path, call, DONE), "--set", wait, "--set", quick]
    results = []
    with subprocess.Popen(
        [*JPQ, *options, "--format", "jsonl", "hi"],
        env=environment(),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
    ) as process:
        assert process.stdout is not None
        for line in map(checked, process.stdout):
            if line["type"] == "tool_result":
                results.append((line["name"], line["content"].strip()))
                if line["name"] == "quick":
                    with open(gate, "w") as file:
                        file.write("opened")
    assert process.returncode == 0
    assert results == [("quick", "quick"), ("wait", "opened")]
