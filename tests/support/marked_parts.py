"""Parts of the pages that a test takes from the program: between ``<!-- NAME -->`` and
``<!-- /NAME -->``. ``JPQ_TEST_UPDATE_DOCS=1`` has the tests rewrite them."""

from __future__ import annotations

import os
from typing import Tuple

from tests.support.programs import ROOT

UPDATES = bool(os.environ.get("JPQ_TEST_UPDATE_DOCS"))
HOW = "run this test with JPQ_TEST_UPDATE_DOCS=1 to bring the page up to date"


def marked_part(page: str, name: str) -> str:
    """What the part ``name`` of the page docs/``page`` holds."""
    return _split(page, name)[1]


def up_to_date(page: str, name: str, current: str) -> str:
    """What the part holds, which becomes ``current`` first if pages are to be updated."""
    before, _, after = _split(page, name)
    if UPDATES:
        with open(_path(page), "w", encoding="utf-8") as file:
            file.write(before + current + after)
    return marked_part(page, name)


def _split(page: str, name: str) -> Tuple[str, str, str]:
    with open(_path(page), encoding="utf-8") as file:
        text = file.read()
    begin = text.index(f"<!-- {name} -->\n") + len(f"<!-- {name} -->\n")
    end = text.index(f"<!-- /{name} -->")
    return text[:begin], text[begin:end], text[end:]


def _path(page: str) -> str:
    return os.path.join(ROOT, "docs", page)
