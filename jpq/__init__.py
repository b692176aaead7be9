"""jpq: a terminal assistant for language models that runs where others don't.

``import jpq`` also offers all of it to Python programs, see docs/python.md. Each name is
loaded when it is first used, because ``jpq --version`` uses none.
"""

import sys

__version__ = "0.1.0"

# Names for programs, by the module that has them.
_OFFERED = {
    "jpq.library.session": "Session",
    "jpq.library.transcript": "Transcript",
    "jpq.library.functions": "tool",
    "jpq.library.asking": "PermissionRequest QuestionRequest",
    "jpq.tools.python_function": "ToolContext",
    "jpq.tools.definition": "Question",
    "jpq.events.transcript": "ChatResponse",
    "jpq.events.usage": "Usage",
    "jpq.events.turn": "ConversationOpened StreamStart TextChunk ReasoningChunk ToolUseStart "
    "ToolUse ToolStarted ToolProgress ToolEnded ToolResult Complete TokenUpdate Error Result "
    "Notice Waiting TurnEvent",
    "jpq.errors": "JpqError UsageError BadInputError ConfigError WriteError "
    "ConversationBusyError DeniedError RunTimeoutError StreamError ErrorKind",
}


def __getattr__(name: str) -> object:
    for module, names in _OFFERED.items():
        if name in names.split():
            __import__(module)
            value = globals()[name] = getattr(sys.modules[module], name)
            return value
    raise AttributeError(f"module 'jpq' has no attribute {name!r}")


def __dir__() -> "list[str]":
    offered = " ".join(_OFFERED.values()).split()
    return sorted({*globals(), *offered})
