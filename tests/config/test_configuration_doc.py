"""docs/configuration.md says what the table says."""

from __future__ import annotations

import os
import re

from jpq.config.load import load_config
from jpq.config.paths import find_paths
from jpq.config.reference import with_reference

PAGE = os.path.join(
    os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__)))),
    "docs",
    "configuration.md",
)


def page() -> str:
    with open(PAGE, encoding="utf-8") as file:
        return file.read()


def test_the_page_lists_every_setting_as_it_is() -> None:
    text = page()
    assert text == with_reference(text), (
        "docs/configuration.md is out of date; bring it up to date with: "
        "python -m jpq.config.reference docs/configuration.md"
    )


def test_the_examples_on_the_page_load_without_a_warning(tmp_path) -> None:
    examples = re.findall(r"```toml\n(.*?)```", page(), re.DOTALL)
    assert examples
    for example in examples:
        (tmp_path / "config.toml").write_text(example, encoding="utf-8")
        paths = find_paths({"JPQ_HOME": str(tmp_path)})
        assert load_config(paths, {}, str(tmp_path)).warnings == ()
