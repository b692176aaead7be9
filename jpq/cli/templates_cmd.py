"""``jpq templates``: the questions that are kept for later."""

from __future__ import annotations

import argparse
from typing import Any, Dict, List

from jpq.cli.command_help import CommandParser, with_examples
from jpq.cli.edit_checked import edit_checked
from jpq.cli.environment import Environment
from jpq.cli.json_text import to_json
from jpq.config.template import (
    EXAMPLE,
    parse_template,
    read_template,
    template_file,
    template_names,
    templates_folder,
)
from jpq.errors import ExitCode, JpqError


def build_parser(prog: str) -> argparse.ArgumentParser:
    """The parser of ``jpq templates``."""
    parser = CommandParser(
        prog=prog,
        description="Questions that are kept for later; jpq --template NAME asks one.",
    )
    actions = parser.add_subparsers(dest="action", metavar="COMMAND", required=True)
    listing = actions.add_parser("ls", help="list them, with their parameters")
    listing.add_argument("--format", choices=("text", "json"), default="text")
    show = actions.add_parser("show", help="print one as it is written")
    edit = actions.add_parser("edit", help="change one in your editor, or begin a new one")
    for named in (show, edit):
        named.add_argument("name", metavar="NAME", help="its name, or the path of a .toml file")
    actions.add_parser("path", help="the folder that they are kept in")
    return with_examples(
        parser,
        "jpq templates edit review           begin one, or change it",
        "git diff | jpq --template review    ask it",
    )


def run(args: argparse.Namespace, env: Environment) -> int:
    """Run ``jpq templates``. Raises JpqError."""
    _ACTIONS[args.action](args, env)
    return int(ExitCode.OK)


def _list(args: argparse.Namespace, env: Environment) -> None:
    rows = [_row(name, env) for name in template_names(env.paths)]
    if args.format == "json":
        env.out(to_json(rows))
        return
    if not rows:
        env.tell("No templates. To begin one: jpq templates edit NAME")
        return
    calls = [
        " ".join([row["name"], *(f"-p {name}=" for name in row["parameters"])]) for row in rows
    ]
    width = min(40, max(map(len, calls)))
    for call, row in zip(calls, rows):
        env.out(f"{call:<{width}}  {row['error'] or row['description']}".rstrip() + "\n")


def _row(name: str, env: Environment) -> Dict[str, Any]:
    row: Dict[str, Any] = {"name": name, "description": "", "parameters": [], "error": None}
    try:
        template = read_template(name, env.paths, env.cwd, [])
    except JpqError as error:  # one that is wrong hides no other
        return {**row, "error": f"{error.message} ({error.where})"}
    return {**row, "description": template.summary, "parameters": list(template.parameters)}


def _show(args: argparse.Namespace, env: Environment) -> None:
    template = read_template(args.name, env.paths, env.cwd, [])
    env.out(template.text if template.text.endswith("\n") else template.text + "\n")


def _edit(args: argparse.Namespace, env: Environment) -> None:
    file = template_file(args.name, env.paths, env.cwd)

    def check(text: str) -> List[str]:
        warnings: List[str] = []
        parse_template(args.name, file, text, warnings)
        return warnings

    edit_checked(
        file,
        EXAMPLE,
        check,
        env,
        what="The template",
        again=f"jpq templates edit {args.name}",
        instead="write the file yourself.",
    )
    env.tell(f"Kept in {file}. To ask it: jpq --template {args.name}")


def _print_path(args: argparse.Namespace, env: Environment) -> None:
    env.out(templates_folder(env.paths) + "\n")


_ACTIONS = {"ls": _list, "show": _show, "edit": _edit, "path": _print_path}
