"""The completion scripts: shtab's for bash and zsh with functions of ours, and fish's."""

from __future__ import annotations

import argparse

import shtab

from jpq.cli.completion_cmd import KINDS
from jpq.cli.completion_fish import fish_script
from jpq.cli.completion_tree import FILE, actions_of, arguments_of, kind_of, whole_parser

# Prints what a word could become. Only the names: bash shows no descriptions.
_BASH = """\
_jpq_list() {
  local name about
  jpq completion --list "$1" -- "$2" 2>/dev/null | while IFS=$'\\t' read -r name about; do
    printf '%s\\n' "$name"
  done
}
_jpq_file() { compgen -f -- "$1"; }
"""
# bash takes a word apart at each : and =, and completes what is behind the last of them. This
# puts the words together again, lets shtab's function complete them, and takes off what bash
# has already.
_BASH_END = """
_jpq_completion() {
  local -a joined=()
  local word gap apart= rest="$COMP_LINE" last=-1 at=0 i line  # shtab reads into line
  for (( i = 0; i < ${#COMP_WORDS[@]}; i++ )); do
    word="${COMP_WORDS[i]}"
    gap="${rest%%[![:blank:]]*}"
    rest="${rest#"$gap"}"
    rest="${rest#"$word"}"
    if (( i == 0 )) || [[ -n "$gap" || -n "$apart" ]]; then
      joined+=("$word")
      last=$(( last + 1 ))
      apart=
    elif [[ "$word" == "=" && "${joined[last]}" == --[a-z]* ]]; then
      apart=1
      if (( i == COMP_CWORD )); then
        joined+=("")
        last=$(( last + 1 ))
      fi
    else
      joined[last]="${joined[last]}$word"
    fi
    if (( i == COMP_CWORD )); then at=$last; fi
  done
  local -a COMP_WORDS=("${joined[@]}")
  local COMP_CWORD=$at current="${joined[at]}" head=
  _shtab_jpq
  if [[ "$COMP_WORDBREAKS" == *:* && "$current" == *:* ]]; then
    head="${current%"${current##*:}"}"
  fi
  for i in "${!COMPREPLY[@]}"; do
    if [[ -e "${COMPREPLY[i]}" ]]; then
      compopt -o filenames 2>/dev/null
    elif [[ "${COMPREPLY[i]}" == *[=/] ]]; then
      compopt -o nospace 2>/dev/null
    fi
    COMPREPLY[i]="${COMPREPLY[i]#"$head"}"
  done
}
complete -F _jpq_completion jpq
"""
_ZSH = """\
_jpq_list() {
  local line name
  local -a open closed shown
  for line in ${(f)"$(jpq completion --list $1 -- "$PREFIX" 2>/dev/null)"}; do
    name=${line%%$'\\t'*}
    if [[ $name == *[=/] ]]; then
      open+=($name)
    else
      closed+=($name)
      shown+=("${line/$'\\t'/  -- }")
    fi
  done
  (( $#open )) && compadd -S '' -a open
  (( $#closed )) && compadd -l -d shown -a closed
}
_jpq_file() { _files }
"""


def script_for(shell: str) -> str:
    """The completion script for ``bash``, ``zsh`` or ``fish``."""
    if shell == "fish":
        return fish_script()
    parser = whole_parser()
    _name_functions(parser)
    functions = "".join(f'_jpq_{kind}() {{ _jpq_list {kind} "$1"; }}\n' for kind in KINDS)
    start = {"bash": _BASH, "zsh": _ZSH}[shell] + functions
    script: str = shtab.complete(parser, shell, preamble=start)
    return script.rstrip("\n") + "\n" + (_BASH_END if shell == "bash" else "")


def _name_functions(parser: argparse.ArgumentParser) -> None:
    """Tell shtab which function completes each value."""
    for action in arguments_of(parser):
        kind = kind_of(action)
        if kind is not None:
            name = "_jpq_file" if kind == FILE else f"_jpq_{kind}"
            action.complete = {"bash": name, "zsh": name}  # type: ignore[attr-defined]
    for below in actions_of(parser).values():
        _name_functions(below)
