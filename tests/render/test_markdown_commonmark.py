"""CommonMark's own examples and whole documents: nothing is lost, wherever the text is cut."""

import html
import html.parser
import json
import random
import re

import pytest
from markdown_it import MarkdownIt
from markdown_it.common.utils import isPunctChar

from jpq.render.markdown.formatter import MarkdownFormatter
from jpq.render.markdown.marks import Marks
from jpq.render.theme import TRUE_COLOURS, Look
from tests.support import corpus

# Marks that no text has, so that what is ours can be told from what is the text's.
OURS, ADDRESS, ADDRESS_END, FENCE, HTML, HTML_END = "\ue000\ue001\ue002\ue003\ue004\ue005"
MARKS = Marks(
    bullets=(OURS,),
    quote=OURS,
    rule=OURS,
    double_rule=OURS,
    column=OURS,
    crossing=OURS,
    open_task="[ ]",
    done_task="[x]",
    fence=FENCE,
    code="",
    level="",
    number=OURS + " ",
    address=(ADDRESS, ADDRESS_END),
    html=(HTML, HTML_END),
)

# Examples whose visible text is not the reference's, and why. There is room for 3%.
EXCEPTIONS = {}
if not isPunctChar("\u20ac"):
    # markdown-it-py 3, the last for Python 3.8, follows an older CommonMark.
    EXCEPTIONS[354] = "currency signs are letters there"
    EXCEPTIONS[625] = EXCEPTIONS[626] = "comments must not hold two hyphens there"

DOCUMENTS = corpus.files("markdown", "", ".md")


def examples():
    return json.loads(corpus.read("markdown", "commonmark.json"))


def shown(text, cuts=(), columns=None, look=None, marks=MARKS):
    formatter = MarkdownFormatter(look or Look(), lambda: columns, marks=marks)
    seen = ""
    start = 0
    for cut in [*cuts, len(text)]:
        seen += formatter.feed(text[start:cut])
        start = cut
    return seen + formatter.close()


class TextOf(html.parser.HTMLParser):
    """The text of HTML, and what stands for images; blocks are blanks apart."""

    BLOCKS = ("p", "li", "br", "h1", "h2", "h3", "h4", "h5", "h6", "pre", "td", "th", "tr")

    def __init__(self, source):
        super().__init__(convert_charrefs=True)
        self.text = ""
        self.feed(source)
        self.close()

    def handle_data(self, data):
        self.text += data

    def handle_starttag(self, tag, attrs):
        if tag == "img":
            self.text += dict(attrs).get("alt") or ""
        self.handle_endtag(tag)

    handle_startendtag = handle_starttag

    def handle_endtag(self, tag):
        if tag in self.BLOCKS:
            self.text += " "


def text_of(source):
    return " ".join(TextOf(source).text.split())


def visible(seen):
    """What is seen without our marks; the HTML that is shown as it is becomes its text."""
    seen = re.sub(f"{ADDRESS}[^{ADDRESS_END}]*{ADDRESS_END}", "", seen)
    seen = re.sub(f"(?m)^[{OURS} ]*{FENCE}.*$", "", seen).replace(OURS, "")
    parts = re.split(f"(?s){HTML}(.*?){HTML_END}", seen)
    return text_of("".join(part if at % 2 else html.escape(part) for at, part in enumerate(parts)))


def test_every_example_is_the_same_wherever_it_is_cut():
    for example in examples():
        text = example["markdown"]
        whole = shown(text)
        assert shown(text, range(1, len(text))) == whole, example
        for cut in range(1, len(text)):
            assert shown(text, [cut]) == whole, (example, cut)


def test_every_example_shows_the_text_of_the_reference():
    wrong = {}
    for example in examples():
        if example["example"] not in EXCEPTIONS:
            seen, wanted = visible(shown(example["markdown"])), text_of(example["html"])
            if seen != wanted:
                wrong[example["example"]] = (example["markdown"], seen, wanted)
    assert not wrong


def test_the_exceptions_are_few_and_needed():
    by_number = {example["example"]: example for example in examples()}
    assert len(EXCEPTIONS) <= len(by_number) * 3 // 100
    for number in EXCEPTIONS:
        example = by_number[number]
        assert visible(shown(example["markdown"])) != text_of(example["html"])


@pytest.mark.parametrize("name", corpus.cases(DOCUMENTS))
@pytest.mark.parametrize("columns", [None, 12, 80])
def test_a_document_is_the_same_however_it_is_cut(name, columns):
    text = corpus.read(name).decode() if name else corpus.require("markdown")
    look = Look(TRUE_COLOURS, links=True)
    whole = shown(text, (), columns, look)
    assert shown(text, range(1, len(text)), columns, look) == whole
    for seed in range(6):
        chance = random.Random(seed)
        count = chance.randrange(1, len(text) // 2)
        cuts = sorted(chance.sample(range(1, len(text)), count))
        assert shown(text, cuts, columns, look) == whole


@pytest.mark.parametrize("name", corpus.cases(DOCUMENTS))
def test_a_document_shows_the_text_of_the_reference(name):
    text = corpus.read(name).decode() if name else corpus.require("markdown")
    reference = MarkdownIt("commonmark").enable(["table", "strikethrough"]).render(text)
    assert visible(shown(text)) == text_of(reference)
