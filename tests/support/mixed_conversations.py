"""Conversations that hold what each API alone can make, for tests that send them elsewhere.

An answer has signed, redacted or encrypted reasoning and parallel calls with ids in the style
of its API; the question has pictures, a PDF and a text, and so have the tool's results. What is
opaque says SECRET.
"""

from __future__ import annotations

from typing import List, Mapping, Sequence

from jpq.conversation.attachment import as_metadata, recognised
from jpq.conversation.event import (
    AssistantMessage,
    AssistantOpaque,
    AssistantReasoning,
    ChatRequest,
    Draft,
    ToolCall,
    ToolResponse,
)
from jpq.conversation.stream import ConversationStream
from jpq.conversation.thread import Origin, Thread, build_thread
from jpq.provider.base import ToolDefinition

TOOL = ToolDefinition("look", "Looks", {"type": "object", "properties": {"at": {}}})
PNG = recognised("dot.png", b"\x89PNG\r\n\x1a\n-pixels-")
GIF = recognised("dot.gif", b"GIF89a-pixels-")
PAPER = recognised("paper.pdf", b"%PDF-1.7 pages")
NOTES = recognised("notes.txt", "Grüße".encode())
assert PNG and GIF and PAPER and NOTES
ATTACHED = as_metadata([PNG, GIF, PAPER, NOTES])
# What the tool gave beside its text; no picture of these is one that the person attached.
SHOT = recognised("shot.png", b"\x89PNG\r\n\x1a\n-shot-")
LOOP = recognised("loop.gif", b"GIF89a-loop-")
SCAN = recognised("scan.pdf", b"%PDF-1.7 scan")
LAST_SHOT = recognised("last.png", b"\x89PNG\r\n\x1a\n-last-")
assert SHOT and LOOP and SCAN and LAST_SHOT

# What each API alone can read: the blocks of an answer, with the secrets in them.
REASONED: Mapping[str, Sequence[Draft]] = {
    "openai-chat": [
        Draft(
            AssistantReasoning("Let me think."),
            {
                "opaque": {
                    "reasoning_details": [
                        {"type": "reasoning.text", "text": "Let me think.", "signature": "SECRET-1"}
                    ]
                }
            },
        ),
        Draft(
            AssistantOpaque(
                {"reasoning_details": [{"type": "reasoning.encrypted", "data": "SECRET-2"}]}
            )
        ),
    ],
    "openai-responses": [
        Draft(
            AssistantReasoning("Let me think."),
            {
                "opaque": {
                    "item": {
                        "type": "reasoning",
                        "id": "rs_1",
                        "summary": [{"type": "summary_text", "text": "Let me think."}],
                        "encrypted_content": "SECRET-1",
                    }
                }
            },
        ),
        Draft(
            AssistantOpaque(
                {
                    "type": "reasoning",
                    "id": "rs_2",
                    "summary": [],
                    "encrypted_content": "SECRET-2",
                }
            )
        ),
    ],
    "anthropic": [
        Draft(AssistantReasoning("Let me think."), {"opaque": {"signature": "SECRET-1"}}),
        Draft(AssistantOpaque({"type": "redacted_thinking", "data": "SECRET-2"})),
    ],
    "google": [
        Draft(
            AssistantReasoning("Let me think."),
            {
                "opaque": {
                    "parts": [
                        {
                            "text": "Let me think.",
                            "thought": True,
                            "thoughtSignature": "SECRET-1",
                        }
                    ]
                }
            },
        ),
        Draft(AssistantOpaque({"thoughtSignature": "SECRET-2"})),
    ],
    "ollama": [
        Draft(AssistantReasoning("Let me think. SECRET-1")),
        Draft(AssistantOpaque({"images": ["U0VDUkVULTI="]})),  # SECRET-2
    ],
}
APIS = tuple(REASONED)
IDS: Mapping[str, Sequence[str]] = {
    "openai-chat": ("call_Ab1", "call_Cd2"),
    "openai-responses": ("call_" + "x" * 70, "call_" + "x" * 71),
    "anthropic": ("toolu_01", "toolu_02"),
    "google": ("call_5ed72aa1_1", "fc/ü:2"),
    "ollama": ("call_0", "8f1d-22"),
}


def turn(api: str, origin: Origin, question: str = "What is this?") -> List[Draft]:
    """A turn that ``origin``, a model behind ``api``, answered in two cycles."""
    made = origin._asdict()
    signed = {"thoughtSignature": "SECRET-3"} if api == "google" else {}
    blocks = [*REASONED[api], Draft(AssistantMessage("I look twice."))]
    first, second = IDS[api]
    suffix = question[-1]
    calls = [
        Draft(ToolCall(first + suffix, "look", {"at": 1}), {"opaque": signed} if signed else {}),
        Draft(ToolCall(second + suffix, "look", {"at": "Zoë"})),
    ]
    answered = [
        Draft(ToolResponse(first + suffix, "a dot"), as_metadata([SHOT, LOOP, SCAN])),
        Draft(
            ToolResponse(second + suffix, "nothing there", is_error=True), as_metadata([LAST_SHOT])
        ),
    ]
    end = [*REASONED[api], Draft(AssistantMessage("A dot."))]
    said = [d._replace(metadata={**made, **d.metadata}) for d in [*blocks, *calls]]
    return [
        Draft(ChatRequest(question), ATTACHED),
        *said,
        *answered,
        *(d._replace(metadata={**made, **d.metadata}) for d in end),
    ]


def thread_of(drafts: Sequence[Draft], continue_last: bool = False) -> Thread:
    stream = ConversationStream()
    for draft in drafts:
        stream.append(draft)
    return build_thread(stream.entries, "Be brief.", continue_last)
