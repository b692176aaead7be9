"""Every setting, one row each: the loader, ``config set`` and the reference page read this table.

A name is dotted; ``*`` stands for a name that the person chooses (a provider, an alias, a
tool). Adding a setting is adding a row and bringing its page up to date:
``python -m jpq.config.reference docs/configuration.md``.
"""

from __future__ import annotations

from typing import Any, Tuple

from jpq.named import NamedTuple

STRING = "string"
BOOLEAN = "boolean"
INTEGER = "integer"
NUMBER = "number"
STRING_OR_INTEGER = "string or integer"
STRINGS = "array of strings"
STRING_TABLE = "table of strings"
TABLE = "table"
ANY = "any value"

POSITIVE = "more than 0"
NOT_NEGATIVE = "0 or more"

# A longer wait does not fit into the system calls of every platform.
LONGEST_WAIT_S = 1_000_000

APIS = ("openai-chat", "openai-responses", "anthropic", "google", "ollama", "local", "scripted")
RUN_MODES = ("ask", "unattended", "edit", "skip")


class Row(NamedTuple):
    """One setting.

    ``default`` None means unset. ``choices`` lists the strings that are allowed; one that
    starts with ``N`` stands for a number and the rest ("N lines"). ``bound`` limits
    numbers. ``option`` is the command line's way to set it.
    """

    name: str
    type: str
    default: Any
    help: str
    unit: str = ""
    choices: Tuple[str, ...] = ()
    bound: str = ""
    option: str = ""


# A row is easier to read and to compare on two lines than on nine.
# fmt: off
ROWS: Tuple[Row, ...] = (
    Row("model", STRING, None, option="-m",
        help="Which model answers: `PROVIDER/MODEL` or an alias."),
    Row("system", STRING, None, option="-s",
        help="System prompt of new conversations."),
    Row("instructions", STRING, None,
        help="Sent after the system prompt; a project's own are in `.jpq/instructions.md`."),
    Row("options.*", ANY, None, option="-o",
        help="Model options sent along, such as `temperature`."),
    Row("active_tools", STRINGS, None, option="-t",
        help="Tools to offer, names or globs; unset: all."),
    Row("aliases.*", STRING, None,
        help="A short name for a `PROVIDER/MODEL`."),
    # Providers
    Row("providers.*.api", STRING, None, choices=APIS,
        help="The wire API the provider speaks."),
    Row("providers.*.base_url", STRING, None,
        help="Where it is, with its version part (`/v1`)."),
    Row("providers.*.api_key_env", STRING, None,
        help="The environment variable with the API key."),
    Row("providers.*.api_key_cmd", STRINGS, None,
        help="A command that prints the API key, as argv."),
    Row("providers.*.headers", STRING_TABLE, None,
        help="More HTTP headers to send."),
    Row("providers.*.ca_bundle", STRING, None,
        help="PEM file of the certificate authorities to trust."),
    Row("providers.*.quirks", TABLE, None,
        help="How it departs from its API; see providers.md."),
    Row("providers.local.keep_alive_s", NUMBER, 300.0, unit="s", bound=NOT_NEGATIVE,
        help="How long the embedded model stays loaded after its last answer."),
    # Keys
    Row("keys.store", STRING, "file", choices=("file", "keyring"),
        help="Where `jpq keys set` keeps keys: a file that only you can read, or "
             "the system's keyring."),
    # Prices
    Row("prices.*.input", NUMBER, None, unit="USD", bound=NOT_NEGATIVE,
        help="A million input tokens. NAME is `PROVIDER/MODEL`, or `PROVIDER/*` for all of them."),
    Row("prices.*.output", NUMBER, None, unit="USD", bound=NOT_NEGATIVE,
        help="A million output tokens, reasoning among them."),
    Row("prices.*.cache_read", NUMBER, None, unit="USD", bound=NOT_NEGATIVE,
        help="A million input tokens that were read from a cache."),
    Row("prices.*.cache_write", NUMBER, None, unit="USD", bound=NOT_NEGATIVE,
        help="A million input tokens that were written to a cache."),
    Row("prices.*.up_to", INTEGER, None, unit="tokens", bound=POSITIVE,
        help="For prompts up to this; what longer ones cost is not known."),
    Row("prices.*.cache_apart", BOOLEAN, None,
        help="Whether cached tokens are counted beside the input tokens, not among them."),
    # Requests
    Row("request.connect_timeout_s", NUMBER, 10.0, unit="s", bound=POSITIVE,
        help="Wait for a connection."),
    Row("request.idle_timeout_s", NUMBER, 60.0, unit="s", bound=POSITIVE,
        help="Give up a stream after so long without an event; comments and pings do not count."),
    Row("request.max_attempts", INTEGER, 4, bound=POSITIVE, option="--retries (one less)",
        help="How often one request is tried in all."),
    Row("request.backoff_base_s", NUMBER, 1.0, unit="s", bound=NOT_NEGATIVE,
        help="Wait before the second attempt; doubles, half fixed and half random."),
    Row("request.backoff_cap_s", NUMBER, 30.0, unit="s", bound=NOT_NEGATIVE,
        help="Longest such wait."),
    Row("request.retry_after_max_s", NUMBER, 60.0, unit="s", bound=NOT_NEGATIVE,
        help="A longer `Retry-After` fails at once and says when to come back."),
    Row("request.total_retry_s", NUMBER, 180.0, unit="s", bound=NOT_NEGATIVE,
        help="All waits of one turn together."),
    Row("request.max_cycles", INTEGER, 25, bound=NOT_NEGATIVE, option="--max-cycles",
        help="Tool round trips per turn; reaching it asks, or ends with 76 when not interactive."),
    Row("request.max_cost_usd", NUMBER, None, unit="USD", bound=POSITIVE, option="--max-cost",
        help="What one turn may cost."),
    Row("request.total_timeout_s", NUMBER, None, unit="s", bound=POSITIVE, option="--timeout",
        help="How long the whole run may take."),
    # Input and conversations
    Row("input.stdin_wait_s", NUMBER, 5.0, unit="s", bound=NOT_NEGATIVE,
        help="With prompt words given: wait for the first byte of a pipe."),
    Row("conversation.lock_wait_s", NUMBER, 10.0, unit="s", bound=NOT_NEGATIVE,
        help="Wait for a conversation that another process is using."),
    Row("conversation.compact_at", NUMBER, None, unit="tokens or share", bound=POSITIVE,
        help="Offer to compact a conversation that is longer. Up to 1: that share of the model's "
             "context window, where it is known."),
    Row("context_windows.*", INTEGER, None, unit="tokens", bound=POSITIVE,
        help="How long a conversation a model can take, where its provider does not tell it. NAME "
             "is `PROVIDER/MODEL`, or `PROVIDER/*` for all of them."),
    Row("conversation.title", STRING, "first-line", choices=("first-line", "model", "off"),
        help="The title of a new conversation: the beginning of its question, one that a model "
             "writes, or none."),
    Row("conversation.title_model", STRING, None,
        help="Which model makes titles; unset: the one that answered."),
    Row("conversation.title_wait_s", NUMBER, 5.0, unit="s", bound=POSITIVE,
        help="How long jpq waits for the model's title, once the answer has been shown."),
    # Tools
    Row("tools.workers", INTEGER, 8, bound=POSITIVE,
        help="How many tools run at the same time."),
    Row("tools.*.source", STRING, "command",
        choices=("command", "python", "http", "builtin", "mcp"),
        help="What kind of tool it is."),
    Row("tools.*.description", STRING, None,
        help="What the model is told about it."),
    Row("tools.*.command", STRINGS, None,
        help='What to run, as argv, never a shell line; `"{name}"` is one argument.'),
    Row("tools.*.function", STRING, None,
        help="Python tools: the function, `module:name`, `file.py:name` or the name of an entry "
             "point."),
    Row("tools.*.parameters", TABLE, None,
        help="Its arguments: a table each, or a JSON Schema."),
    Row("tools.*.strict", BOOLEAN, False,
        help="Ask the provider to hold the model to the schema; OpenAI's APIs can."),
    Row("tools.*.run", STRING, "ask", choices=RUN_MODES,
        help="Whether to ask before a call."),
    Row("tools.*.result", STRING, "unattended",
        help="Whether to ask before a result is sent: `ask`, `unattended`, `edit` or "
             '`skip`. With `source = "http"`: the path into the reply.'),
    Row("tools.*.timeout_s", NUMBER, 60.0, unit="s", bound=POSITIVE,
        help="How long a call may take."),
    Row("tools.*.max_output_bytes", INTEGER, 65536, unit="bytes", bound=POSITIVE,
        help="Longer output loses its middle; the whole goes to a file beside the conversation."),
    Row("tools.*.roots", STRINGS, None,
        help="File tools: the folders they may use; unset: the working directory."),
    Row("tools.*.cwd", STRING, ".",
        help="The folder it runs in."),
    Row("tools.*.env", STRING_TABLE, None,
        help="More environment variables for it."),
    Row("tools.*.stdin", STRING, "null", choices=("null", "json"),
        help="What it reads: nothing, or its arguments."),
    Row("tools.*.display.name", STRING, None,
        help="Its name on the screen."),
    Row("tools.*.display.title", STRING, None,
        help="The header of a call; `{name}` is an argument."),
    Row("tools.*.method", STRING, "GET",
        help="HTTP tools: the method."),
    Row("tools.*.url", STRING, None,
        help="HTTP tools: the address."),
    Row("tools.*.query", TABLE, None,
        help="HTTP tools: the query's fields."),
    Row("tools.*.headers", STRING_TABLE, None,
        help="HTTP tools: headers."),
    Row("tools.*.json", ANY, None,
        help="HTTP tools: the body, sent as JSON."),
    Row("tools.*.throttle.field", STRING, None,
        help="Field of a reply that says it is throttled."),
    Row("tools.*.throttle.equals", ANY, None,
        help="The value that this field then has."),
    Row("tools.*.throttle.wait_field", STRING, None,
        help="Field with the seconds to wait."),
    Row("tools.*.throttle.max_wait_s", NUMBER, 15.0, unit="s", bound=NOT_NEGATIVE,
        help="Longest wait for a throttled tool."),
    Row("tools.*.throttle.attempts", INTEGER, 3, bound=POSITIVE,
        help="How often a throttled tool is tried in all."),
    # Rules on calls
    Row("policy.allow", STRINGS, None,
        help='Calls that run without asking: `"NAME"`, `"NAME(argument=GLOB)"`, '
             '`"shell(git log *)"`.'),
    Row("policy.ask", STRINGS, None,
        help="Calls that are asked about whatever their run mode, and even with `--yes`."),
    Row("policy.deny", STRINGS, None,
        help="Calls that are never run."),
    # MCP servers
    Row("mcp.*.command", STRINGS, None,
        help="How to start the server, as argv."),
    Row("mcp.*.url", STRING, None,
        help="Where the server is, instead of `command`."),
    Row("mcp.*.enabled", BOOLEAN, True,
        help="Whether to start it at all."),
    Row("mcp.*.env", STRING_TABLE, None,
        help="More environment variables for it; of yours it sees only the harmless ones."),
    Row("mcp.*.pass_env", STRINGS, None,
        help="Names of your environment variables that it may see, too."),
    Row("mcp.*.cwd", STRING, ".",
        help="The folder that a command runs in."),
    Row("mcp.*.headers", STRING_TABLE, None,
        help="Headers to send to a `url`; with `Authorization` there is no login."),
    Row("mcp.*.ca_bundle", STRING, None,
        help="PEM file of the certificate authorities to trust."),
    Row("mcp.*.client_id", STRING, None,
        help="The client ID of jpq at the authorization server; unset: it registers itself."),
    Row("mcp.*.client_secret_env", STRING, None,
        help="The environment variable with that client's secret."),
    Row("mcp.*.startup_timeout_s", NUMBER, 20.0, unit="s", bound=POSITIVE,
        help="How long it may take to start."),
    Row("mcp.*.timeout_s", NUMBER, 60.0, unit="s", bound=POSITIVE,
        help="How long a call of its tools may take."),
    Row("mcp.*.run", STRING, "ask", choices=RUN_MODES,
        help="Whether to ask before a call of its tools."),
    Row("mcp.*.tools", STRINGS, None,
        help="Which of its tools to offer, names or globs; unset: all."),
    # What it looks like
    Row("style.reasoning", STRING_OR_INTEGER, "full", unit="characters",
        choices=("full", "hidden", "progress", "static"), bound=NOT_NEGATIVE, option="--reasoning",
        help="How much of the model's reasoning to show; a number: so many characters."),
    Row("style.wrap", STRING_OR_INTEGER, "auto", unit="columns",
        choices=("auto", "off"), bound=POSITIVE, option="--wrap",
        help="Where lines end on a terminal; a number: after so many columns."),
    Row("style.color", STRING, "auto", choices=("auto", "always", "never"), option="--color",
        help="Whether to use colour."),
    Row("style.background", STRING, "auto", choices=("auto", "dark", "light"),
        help="What the terminal's background is; colours suit it. `auto` goes by COLORFGBG."),
    Row("style.link", STRING, "auto", choices=("auto", "osc8", "full"),
        help="Links of an answer: to click on where the terminal can, or with their address."),
    Row("style.typewriter_ms", NUMBER, 0.0, unit="ms", bound=NOT_NEGATIVE,
        help="Delay per character."),
    Row("style.sanitize", STRING, "strip", choices=("strip", "visualize"),
        help="What becomes of control characters in an answer on a terminal."),
    Row("style.tool.result", STRING, "10 lines", choices=("full", "off", "N lines"),
        help="How much of a tool's result to show."),
    Row("style.tool.arguments", STRING, "call", choices=("call", "json", "off"),
        help="How to show the arguments of a call: as a call, as JSON, or not."),
    Row("style.tool.link", STRING, "osc8", choices=("osc8", "full", "off"),
        help="How to point at the whole result: a terminal link, its path, or not at all."),
    # Ctrl+C
    Row("interrupt.cooldown_s", NUMBER, 2.0, unit="s", bound=NOT_NEGATIVE,
        help="A second Ctrl+C within so long ends the run."),
    Row("interrupt.streaming", STRING, "prompt",
        choices=("prompt", "stop", "abort", "reply", "continue"),
        help="What Ctrl+C does while an answer arrives."),
    Row("interrupt.tools", STRING, "prompt", choices=("prompt", "continue", "respond", "restart"),
        help="What Ctrl+C does while tools run."),
    Row("interrupt.shutdown_s", NUMBER, 10.0, unit="s", bound=POSITIVE,
        help="A graceful end that takes longer is forced."),
)
# fmt: on

# What a conversation may set for itself. Everything else in its configuration is ignored,
# so that a conversation from elsewhere can neither run a command nor send keys away.
CONVERSATION_MAY_SET = (
    "model",
    "system",
    "options.*",
    "active_tools",
    "tools.*.run",
    "tools.*.result",
    "style.reasoning",
)
