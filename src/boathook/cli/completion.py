"""`boathook completion`: completion scripts for shells."""

from __future__ import annotations

import os
from typing import ClassVar

import click
from click.shell_completion import BashComplete, add_completion_class, get_completion_class, split_arg_string

from boathook.cli.commands import cli

_VARIABLE = "_BOATHOOK_COMPLETE"
# Names of hooks have colons, which bash takes for the end of a word: the line is split here, not there, and of what is
# completed only the part after the last colon is inserted.
_BASH_SCRIPT = """\
%(complete_func)s() {
    local line="${COMP_LINE:0:COMP_POINT}" type value before=""
    local word="${line##*[[:space:]]}"
    if [[ "$COMP_WORDBREAKS" == *:* && "$word" == *:* ]]; then
        before="${word%%"${word##*:}"}"
    fi
    COMPREPLY=()
    while IFS=',' read -r type value; do
        case "$type" in
            dir) compopt -o dirnames 2>/dev/null ;;
            file) compopt -o default 2>/dev/null ;;
            plain) COMPREPLY+=("${value#"$before"}") ;;
        esac
    done < <(COMP_LINE="$line" %(complete_var)s=bash_complete "$1")
}
complete -o nosort -F %(complete_func)s %(prog_name)s 2>/dev/null || complete -F %(complete_func)s %(prog_name)s
"""


class _LineComplete(BashComplete):
    source_template: ClassVar[str] = _BASH_SCRIPT

    @staticmethod
    def _check_version() -> None:
        """Bash of any version reads this script."""

    def get_completion_args(self) -> tuple[list[str], str]:
        line = os.environ.get("COMP_LINE", "")
        words = split_arg_string(line)
        is_between = not line or line[-1].isspace()
        return (words[1:], "") if is_between else (words[1:-1], words[-1])


add_completion_class(_LineComplete, "bash")


@click.command("completion")
@click.argument("shell", type=click.Choice(["bash", "zsh", "fish"]))
def print_completion(shell: str) -> None:
    """Print a completion script for your shell.

    It completes commands, options, events, agents, names of hooks and ids of records. Let your shell ask for it when it
    starts, then it is always that of the installed version:

    \b
      bash  echo 'eval "$(boathook completion bash)"' >> ~/.bashrc
      zsh   echo 'eval "$(boathook completion zsh)"' >> ~/.zshrc    (after compinit)
      fish  echo 'boathook completion fish | source' > ~/.config/fish/completions/boathook.fish
    """
    completion_class = get_completion_class(shell)
    if completion_class is not None:
        click.echo(completion_class(cli, {}, "boathook", _VARIABLE).source())
