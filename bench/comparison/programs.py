"""The programs that are compared: how each is installed, and asked a question of a server.

Each gets a home of its own, the settings that its documentation names for another server, and
the options it has for what a situation wants. A program without such an option is not blamed
for the answer: the table has a dash.
"""

from __future__ import annotations

import os
import subprocess
import sys
from typing import Dict, List, Mapping, NamedTuple, Optional, Sequence, Tuple

from bench.process import ROOT

KEY = "sk-comparison"
_MODEL = "test"


class Program(NamedTuple):
    """``ask`` asks a question, which follows; ``does`` has the arguments for what some can.

    In arguments, ``{url}`` is the server, ``{home}`` the program's home, ``{bin}`` the folder
    of its commands. ``{files}`` are written first, below its home.
    """

    name: str
    requirement: str
    ask: Sequence[str]
    environ: Mapping[str, str]
    files: Mapping[str, str]
    does: Mapping[str, Sequence[str]]
    commands: Mapping[str, Sequence[str]]


_TOOL = (
    '"""Tells the time."""\n\n\ndef get_time() -> str:\n    """The time."""\n    return "noon"\n'
)

JPQ = Program(
    "jpq",
    ROOT,
    ask=("{bin}/jpq", "-m", "openai/test"),
    environ={"OPENAI_BASE_URL": "{url}", "JPQ_HOME": "{home}/jpq"},
    files={
        "jpq/config.toml": (
            '[providers.openai]\napi = "openai-chat"\n[tools.get_time]\n'
            'description = "The time"\ncommand = ["echo", "noon"]\nrun = "unattended"\n'
        ),
        "jpq/templates/ask.toml": 'prompt = "Tell me about $topic"\n',
        "jpq/system.txt": "Answer in French.",
    },
    does={
        "system": ("-s", "Answer in French."),
        "continue": ("-c",),
        "image": ("-a", "{home}/picture.png"),
        "schema": ("--schema", "name, age int"),
        "extract": ("-x",),
        "json": ("--json",),
        "usage": ("-u",),
        "tool": ("-t", "get_time"),
        "no tools": ("-T",),
        "ephemeral": ("--ephemeral",),
        "limit": ("--timeout", "3"),
        "silence": ("--set", "request.idle_timeout_s=2", "--retries", "0"),
        "template": ("--template", "ask", "-p", "topic=rivers"),
    },
    commands={
        "version": ("{bin}/jpq", "--version"),
        "list": ("{bin}/jpq", "conversation", "ls"),
        "show": ("{bin}/jpq", "conversation", "show"),
        "batch": ("{bin}/jpq", "-m", "openai/test", "--batch", "{home}/batch.jsonl"),
    },
)

LLM = Program(
    "llm",
    "llm",
    ask=("{bin}/llm", "-m", "loop"),
    environ={"LLM_USER_PATH": "{home}/llm"},
    files={
        "llm/extra-openai-models.yaml": (
            "- model_id: loop\n  model_name: test\n  api_base: {url}\n  vision: true\n"
            "  supports_schema: true\n  supports_tools: true\n"
        ),
        "llm/templates/ask.yaml": "prompt: Tell me about $topic\n",
        "tool.py": _TOOL,
    },
    does={
        "system": ("-s", "Answer in French."),
        "continue": ("-c",),
        "image": ("-a", "{home}/picture.png"),
        "schema": ("--schema", "name, age int"),
        "extract": ("-x",),
        "json": ("--json",),
        "usage": ("-u",),
        "tool": ("--functions", "{home}/tool.py"),
        "ephemeral": ("-n",),
        "template": ("-t", "ask", "-p", "topic", "rivers"),
    },
    commands={
        "version": ("{bin}/llm", "--version"),
        "list": ("{bin}/llm", "logs", "list", "-s"),
        "show": ("{bin}/llm", "logs", "-n", "1"),
    },
)

SGPT = Program(
    "sgpt",
    "shell-gpt click",
    ask=("{bin}/sgpt", "--no-cache"),
    environ={
        "API_BASE_URL": "{url}",
        "DEFAULT_MODEL": _MODEL,
        "USE_LITELLM": "false",
        "REQUEST_TIMEOUT": "60",
    },
    files={},
    does={
        "continue": ("--chat", "one"),
        "keep": ("--chat", "one"),
        "plain": ("--no-md",),
    },
    commands={
        "version": ("{bin}/sgpt", "--version"),
        "list": ("{bin}/sgpt", "--list-chats"),
        "show": ("{bin}/sgpt", "--show-chat", "one"),
    },
)

GPTME = Program(
    "gptme",
    "gptme",
    ask=("{bin}/gptme", "-n", "--no-workspace", "-m", "local/test"),
    environ={"OPENAI_BASE_URL": "{url}"},
    files={"tool.py": _TOOL},
    does={
        "system": ("--system", "Answer in French."),
        "continue": ("-r",),
        "image": ("{home}/picture.png",),
        "json": ("--output-format", "json"),
        "no tools": ("--tools", "none"),
    },
    commands={
        "version": ("{bin}/gptme", "--version"),
        "list": ("{bin}/gptme-util", "chats", "list"),
    },
)

PROGRAMS = (JPQ, LLM, SGPT, GPTME)


class Installed(NamedTuple):
    """A program in an environment of its own."""

    program: Program
    bin: str
    version: str
    python: str  # the Pythons that its metadata allows

    def argv(self, home: str, url: str, arguments: Sequence[str]) -> List[str]:
        return [self._filled(each, home, url) for each in arguments]

    def environ(self, home: str, url: str) -> Dict[str, str]:
        """A small environment, as a script has it, with a key and without a proxy."""
        own = {name: self._filled(text, home, url) for name, text in self.program.environ.items()}
        path = os.pathsep.join([self.bin, os.environ["PATH"]])
        fixed = {"PATH": path, "HOME": home, "LANG": "C.UTF-8", "OPENAI_API_KEY": KEY}
        return {**fixed, **own}

    def furnish(self, home: str, url: str) -> None:
        """Write its settings."""
        for name, text in self.program.files.items():
            path = os.path.join(home, name)
            os.makedirs(os.path.dirname(path), exist_ok=True)
            with open(path, "w", encoding="utf-8") as file:
                file.write(text.replace("{url}", url))

    def _filled(self, text: str, home: str, url: str) -> str:
        return text.replace("{bin}", self.bin).replace("{home}", home).replace("{url}", url)


def programs_folder() -> str:
    """Where the programs are installed, unless told otherwise."""
    cache = os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache")
    return os.environ.get("JPQ_BENCH_PROGRAMS") or os.path.join(cache, "jpq-comparison")


def install(folder: str, names: Optional[Sequence[str]] = None) -> Tuple[Installed, ...]:
    """Each program in its own environment below ``folder``, made where it is not there yet."""
    return tuple(
        _installed(folder, program)
        for program in PROGRAMS
        if names is None or program.name in names
    )


def _installed(folder: str, program: Program) -> Installed:
    place = os.path.join(folder, program.name)
    python = os.path.join(place, "bin", "python")
    pip = [python, "-m", "pip", "--disable-pip-version-check", "-q", "install"]
    if not os.path.exists(python):
        subprocess.run([sys.executable, "-m", "venv", place], check=True)
        if program is not JPQ:
            subprocess.run([*pip, *program.requirement.split()], check=True)
    if program is JPQ:  # what is measured is this checkout, as people install it
        subprocess.run([*pip, "--upgrade", ROOT], check=True)
    distribution = program.requirement.split()[0] if program is not JPQ else "jpq"
    asked = (
        "import sys; from importlib.metadata import metadata; found = metadata(sys.argv[1]); "
        "print(found['Version'], found['Requires-Python'])"
    )
    answer = subprocess.run(
        [python, "-c", asked, distribution], check=True, capture_output=True, text=True
    ).stdout
    version, _, pythons = answer.strip().partition(" ")
    return Installed(program, os.path.join(place, "bin"), version, pythons)
