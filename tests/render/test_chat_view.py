"""What a turn looks like on pipes and on a terminal."""

import io

import pytest
from hypothesis import given
from hypothesis import strategies as st

from jpq.events.surrogates import mend
from jpq.events.turn import (
    Complete,
    ConversationOpened,
    Error,
    Notice,
    ReasoningChunk,
    Result,
    StreamStart,
    TextChunk,
    TokenUpdate,
    ToolResult,
    ToolUse,
    ToolUseStart,
    Waiting,
)
from jpq.events.usage import Usage
from jpq.render.aside import ViewOptions
from jpq.render.views import make_view
from jpq.terminal.caps import Caps, ChannelCaps

START = StreamStart("m", None)
DONE = Complete("stop")
RESULT = Result("complete", "", "stop", Usage(1, 2), None, 0)

PIPES = Caps()
DUMB = ChannelCaps(terminal=True)
SMART = ChannelCaps(terminal=True, colour=True, rewrite=True, columns=40)
TERMINAL = Caps(SMART, SMART, pretty=True)
PLAIN_TERMINAL = Caps(DUMB, DUMB)


def shown(*events, caps=PIPES, close=True, **options):
    """The text of stdout and stderr."""
    out, err = io.BytesIO(), io.BytesIO()
    draw(make_view("auto", out, err, caps, ViewOptions(**options)), events, close)
    return out.getvalue().decode(), err.getvalue().decode()


def screen(*events, caps=TERMINAL, close=True, **options):
    """The text of a terminal that is both channels."""
    both = io.BytesIO()
    draw(make_view("auto", both, both, caps, ViewOptions(**options)), events, close)
    return both.getvalue().decode()


def draw(view, events, close):
    for event in events:
        view.show(event)
        view.tick()
        view.flush()
    if close:
        view.close()
        view.flush()


def text(value, index=0):
    return TextChunk(value, index)


@pytest.mark.parametrize(
    ("events", "expected"),
    [
        pytest.param([], "", id="nothing"),
        pytest.param([START, text("a"), text("b"), DONE], "ab\n", id="line end added"),
        pytest.param([START, text("a\n"), DONE], "a\n", id="line end kept"),
        pytest.param([START, text("a\n\n\n"), DONE], "a\n\n\n", id="every line end kept"),
        pytest.param([START, text(""), DONE], "", id="empty text"),
        pytest.param(
            [START, text("a\r\x1b[1m\x9b\u202e"), DONE], "a\r\x1b[1m\x9b\u202e\n", id="raw"
        ),
        pytest.param([START, text("\n a"), DONE], "\n a\n", id="leading space kept"),
        pytest.param([START, text("a"), DONE, START, text("b"), DONE], "a\n\nb\n", id="two cycles"),
        pytest.param(
            [START, text("a\n"), DONE, START, text("b"), DONE], "a\n\nb\n", id="one line end"
        ),
        pytest.param(
            [START, text("a\n\n"), DONE, START, text("b"), DONE], "a\n\nb\n", id="blank line"
        ),
        pytest.param([START, DONE, START, text("b"), DONE], "b\n", id="nothing in the first cycle"),
        pytest.param([START, text("a", 0), text("b", 1), DONE], "a\n\nb\n", id="two items"),
        pytest.param([START, text("a"), START, text("b"), DONE], "ab\n", id="continued"),
        pytest.param(
            [START, text("a", 1), START, text("b", 0), DONE], "ab\n", id="continued, renumbered"
        ),
        pytest.param(
            [START, text("a"), DONE, START, START, text("b"), DONE],
            "a\n\nb\n",
            id="second cycle sent again",
        ),
        pytest.param([START, text("\ud83d"), text("\ude00")], "😀\n", id="pair over two chunks"),
        pytest.param([START, text("a")], "a\n", id="cut"),
    ],
)
def test_stdout_on_a_pipe(events, expected):
    assert shown(*events, RESULT)[0] == expected
    assert shown(*events)[0] == expected


def test_stderr_stays_empty_when_there_is_nothing_to_say():
    events = [ConversationOpened("k1", "p/m"), Waiting("p/m"), START, text("a"), DONE, RESULT]
    assert shown(*events) == ("a\n", "")


def test_everything_else_is_on_stderr():
    out, err = shown(
        ReasoningChunk("hm\nhm"),
        ToolUseStart("c", "greet"),
        ToolUse("c", "greet", {"name": "Ann", "n": 3}),
        ToolResult("c", "greet", "hello\nAnn\n", False),
        Notice("trying\nagain"),
        Error("cut", "The stream was cut.", "openai, line 3", "Try again."),
    )
    assert out == ""
    assert err.splitlines() == [
        "hm",
        "hm",
        '→ greet(name="Ann", n=3)',
        "← greet",
        "  hello",
        "  Ann",
        "jpq: trying again",
        "jpq: The stream was cut.",
        "  openai, line 3",
        "  Try again.",
    ]


def test_an_error_takes_five_lines_at_most_and_no_control_sequence():
    _, err = shown(Error("x", "a\nb\x1b[2J" + "c" * 9000, "w\n" * 50, "h\n\nh"))
    assert len(err.splitlines()) <= 5
    assert "\x1b" not in err
    assert err.startswith("jpq: a b")


def test_quiet_leaves_only_errors():
    out, err = shown(
        Waiting("m"),
        ReasoningChunk("hm"),
        Notice("n"),
        ToolUse("c", "t", {}),
        ToolResult("c", "t", "r", False),
        text("a"),
        Error("x", "bad"),
        RESULT,
        quiet=True,
        usage=True,
        verbose=True,
    )
    assert (out, err) == ("a\n", "jpq: bad\n")


def test_verbose_and_usage_say_more():
    _, err = shown(
        ConversationOpened("k1", "p/m"),
        START,
        DONE,
        TokenUpdate(Usage(1, 2, reasoning_tokens=1)),
        RESULT._replace(cost=0.25),
        verbose=True,
        usage=True,
    )
    assert err.splitlines() == [
        "jpq: conversation k1, p/m",
        "jpq: answered by m",
        "jpq: cycle: tokens: 1 in, 2 out, 1 of them reasoning",
        "jpq: tokens: 1 in, 2 out, 0.2500 USD",
    ]


@pytest.mark.parametrize(
    ("cost", "expected"),
    [
        (None, "price unknown"),
        (0.0, "0.0000 USD"),
        (0.00001, "less than 0.0001 USD"),
        (1.5, "1.5000 USD"),
    ],
)
def test_what_it_cost_or_that_nobody_knows(cost, expected):
    _, err = shown(RESULT._replace(cost=cost, usage=Usage(1, 2)), usage=True)
    assert err == f"jpq: tokens: 1 in, 2 out, {expected}\n"


def test_usage_that_nobody_reported():
    _, err = shown(RESULT._replace(usage=Usage()), usage=True)
    assert err == "jpq: tokens: not reported\n"


@pytest.mark.parametrize(
    ("mode", "expected"),
    [
        ("full", "one two three\n"),
        ("hidden", ""),
        ("static", "Reasoning...\n"),
        ("progress", "Reasoning...\n"),
        ("5", "one t...\n"),
        (4, "one ...\n"),
        (13, "one two three\n"),
        (0, ""),
    ],
)
def test_reasoning_on_a_pipe(mode, expected):
    chunks = [ReasoningChunk(piece) for piece in ("one ", "two ", "three")]
    out, err = shown(START, *chunks, text("a"), DONE, reasoning=mode)
    assert (out, err) == ("a\n", expected)


def test_reasoning_items_are_a_blank_line_apart():
    _, err = shown(ReasoningChunk("a", 0), ReasoningChunk("b", 1), ReasoningChunk("c", 1))
    assert err == "a\n\nbc\n"


@pytest.mark.parametrize(
    ("setting", "expected"),
    [
        ("2 lines", ["  1", "  2", "  … 2 more lines"]),
        ("off", []),
        ("3", ["  1", "  2", "  3", "  … 1 more line"]),
        ("full", ["  1", "  2", "  3", "  4"]),
    ],
)
def test_how_much_of_a_result_is_shown(setting, expected):
    _, err = shown(ToolResult("c", "t", "1\n2\n3\n4\n", False), tool_result=setting)
    assert err.splitlines() == ["← t", *expected]


def test_a_failed_tool_in_an_ascii_locale():
    ascii_caps = Caps(stderr=ChannelCaps(encoding="ascii"))
    _, err = shown(
        ToolUse("c", "t\x1b[2J", {"a": "é" * 500}), ToolResult("c", "t", "", True), caps=ascii_caps
    )
    assert err.startswith("-> t(a=")
    assert err.endswith("\n<- t failed\n")
    assert "\x1b" not in err and err.isascii()


def test_a_terminal_shows_dim_reasoning_a_blank_line_and_the_answer():
    seen = screen(START, ReasoningChunk("hm"), ReasoningChunk("m"), text("a"), DONE, RESULT)
    assert seen == "\x1b[2mm\x1b[0m\n\x1b[2mhm\x1b[0m\x1b[2mm\x1b[0m\n\na\n"


def test_a_line_end_within_dim_text_counts():
    seen = screen(ReasoningChunk("hm\n"), ReasoningChunk("\n"), text("a"), RESULT)
    assert seen == "\x1b[2mhm\x1b[0m\n\na\n"


def test_a_terminal_gets_no_control_sequence_of_the_model():
    hostile = "a\x1b]0;t\x07b\x1b[2J\x9b2J\u202ec"
    events = [
        START,
        ReasoningChunk(hostile),
        *(text(char) for char in hostile),
        ToolUse("c", hostile, {hostile: hostile}),
        ToolResult("c", hostile, hostile, True),
        Notice(hostile),
        Error("x", hostile, hostile, hostile),
    ]
    for mode in ("strip", "visualize"):
        seen = screen(*events, caps=PLAIN_TERMINAL, sanitize=mode)
        assert not set(seen) & set("\x1b\x9b\x07\u202e")


def test_a_line_of_stderr_never_begins_within_a_line_of_the_answer():
    seen = screen(START, text("Hel"), Notice("again"), START, text("lo"), DONE, RESULT)
    assert seen == "\x1b[2mm\x1b[0m\nHel\njpq: again\nlo\n"


def test_tools_between_two_texts_on_a_terminal():
    seen = screen(
        START,
        text("Let me look."),
        ToolUse("c", "t", {}),
        DONE,
        ToolResult("c", "t", "r", False),
        START,
        text("Found."),
        DONE,
        RESULT,
        caps=PLAIN_TERMINAL,
    )
    assert seen == "Let me look.\n→ t()\n← t\n  r\n\nFound.\n"


def test_a_terminal_that_cannot_rewrite_gets_words_once():
    seen = screen(Waiting("p/m"), Waiting("p/m"), START, text("a"), RESULT, caps=PLAIN_TERMINAL)
    assert seen == "jpq: waiting for p/m\na\n"


def test_pause_leaves_a_line_start_and_the_text_goes_on():
    both = io.BytesIO()
    view = make_view("auto", both, both, PLAIN_TERMINAL, ViewOptions())
    draw(view, [START, text("Hel")], close=False)
    view.pause()
    view.flush()
    assert both.getvalue() == b"Hel\n"
    draw(view, [text("lo"), DONE, START, text("b"), RESULT], close=True)
    assert both.getvalue() == b"Hel\nlo\n\nb\n"


def test_pause_adds_nothing_to_a_pipe():
    out, err = io.BytesIO(), io.BytesIO()
    view = make_view("auto", out, err, Caps(stderr=DUMB), ViewOptions())
    draw(view, [START, text("Hel")], close=False)
    view.pause()
    draw(view, [text("lo")], close=True)
    assert out.getvalue() == b"Hello\n"


CYCLES = st.lists(
    st.lists(st.text(st.sampled_from("ab\n \x1b\ud83d\ude00"), max_size=6), max_size=3),
    max_size=3,
)


@given(cycles=CYCLES, data=st.data())
def test_stdout_on_a_pipe_is_the_items_a_blank_line_apart(cycles, data):
    """However the items are cut into chunks, and whatever is told on stderr in between."""
    asides = st.lists(
        st.sampled_from([Notice("n"), ReasoningChunk("r"), Waiting("w"), ToolUse("c", "t", {})]),
        max_size=2,
    )
    events = []
    for items in cycles:
        events.append(START)
        for index, item in enumerate(items):
            cut = data.draw(st.integers(0, len(item)))
            events += [text(item[:cut], index), *data.draw(asides), text(item[cut:], index)]
        events.append(DONE)
    seen = "\n\n"  # the start is as good as a blank line
    for item in filter(None, (item for items in cycles for item in items)):
        while not seen.endswith("\n\n"):
            seen += "\n"
        seen += item
    if not seen.endswith("\n"):
        seen += "\n"
    assert shown(*events)[0] == mend(seen[2:])


def test_the_model_is_named_once_above_its_answer():
    other = StreamStart("n", None)
    cycles = [START, text("a"), DONE, START, text("b"), DONE, other, text("c"), DONE, RESULT]
    assert screen(*cycles) == "\x1b[2mm\x1b[0m\na\n\nb\n\x1b[2mn\x1b[0m\n\nc\n"
    assert screen(*cycles, quiet=True) == "a\n\nb\n\nc\n"
    assert shown(*cycles)[1] == ""


# Markdown on a terminal.

BARE = [StreamStart(None, None)]


def test_a_terminal_gets_markdown_drawn():
    seen = screen(*BARE, text("# T\n\n**a*"), text("* `b`"), DONE, RESULT)
    assert seen == "\x1b[1;4;36mT\x1b[0m\n\n\x1b[1ma\x1b[0m \x1b[33mb\x1b[0m\n"


def test_pieces_of_one_kind_are_one_region():
    """A paragraph may come in many pieces, and over a cut connection."""
    seen = screen(*BARE, text("one **tw"), Notice("cut"), *BARE, text("o** three"), DONE, RESULT)
    assert seen == "one\njpq: cut\n\x1b[1mtwo\x1b[0m three\n"


def test_what_is_held_comes_before_what_follows():
    seen = screen(*BARE, text("see **this"), ToolUse("c", "t", {}), DONE, RESULT)
    assert seen == "see **this\n\x1b[1m\u2192 t()\x1b[0m\n"
    seen = screen(*BARE, text("see **this"), Error("x", "bad"), RESULT)
    assert seen == "see **this\n\x1b[31mjpq: bad\x1b[0m\n"


def test_a_menu_leaves_no_style_and_the_line_goes_on_below():
    both = io.BytesIO()
    view = make_view("auto", both, both, TERMINAL, ViewOptions())
    draw(view, [*BARE, text("# Title an")], close=False)
    view.pause()
    view.flush()
    assert both.getvalue().endswith(b"Title an\x1b[0m\n")
    draw(view, [text("d more"), DONE, RESULT], close=True)
    assert both.getvalue().endswith(b"\n\x1b[1;4;36md more\x1b[0m\n")


def test_markdown_that_is_asked_for_as_text_is_not_drawn():
    both = io.BytesIO()
    view = make_view("text", both, both, Caps(SMART, SMART), ViewOptions())
    draw(view, [*BARE, text("# *a*"), DONE, RESULT], close=True)
    assert both.getvalue() == b"# *a*\n"


def test_links_where_the_terminal_has_them():
    answer = [*BARE, text("[a](http://b)"), DONE, RESULT]
    assert "\x1b]8;;http://b\x1b\\" in screen(*answer, environ={"TERM_PROGRAM": "WezTerm"})
    assert "\x1b]8" not in screen(*answer, environ={"TERM_PROGRAM": "WezTerm", "TMUX": "x"})
    assert "(http://b)" in screen(*answer, environ={"TERM_PROGRAM": "WezTerm"}, link="full")
    assert "\x1b]8;;http://b\x1b\\" in screen(*answer, link="osc8")


def test_wrap_is_a_number_too():
    assert screen(*BARE, text("aa bb cc"), DONE, RESULT, wrap=5) == "aa bb\ncc\n"
    assert screen(*BARE, text("aa " * 30), DONE, RESULT, wrap="off") == "aa " * 29 + "aa\n"


def test_an_unknown_event_is_passed_over():
    assert shown(object(), text("a")) == ("a\n", "")
