"""docs/jpq.1: up to date with the parsers, and a page that readers of manuals accept."""

from __future__ import annotations

import os
import shutil
import subprocess

import pytest

from jpq.cli.completion_manual import manual_page
from tests.support.programs import ROOT, WAIT_S

PAGE = os.path.join(ROOT, "docs", "jpq.1")
# What each reader is called with so that it says what it does not like.
READERS = {
    "groff": ["groff", "-man", "-ww", "-Tutf8", "-z", PAGE],
    "mandoc": ["mandoc", "-T", "lint", "-W", "warning", PAGE],
}


def test_it_is_up_to_date() -> None:
    with open(PAGE, encoding="utf-8") as file:
        assert file.read() == manual_page(), "python -m jpq.cli.completion_manual docs/jpq.1"


def test_it_has_commands_options_and_codes() -> None:
    page = manual_page()
    for text in (".SS jpq conversation", "\\fB\\-m\\fR, \\fB\\-\\-model\\fR", ".B 130"):
        assert text in page


@pytest.mark.parametrize("reader", READERS)
def test_it_is_drawn_without_a_warning(reader: str) -> None:
    if shutil.which(reader) is None:
        pytest.skip(f"there is no {reader}")
    done = subprocess.run(READERS[reader], capture_output=True, text=True, timeout=WAIT_S)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
