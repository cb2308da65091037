"""Programs that run a command which is the value of an option, a word, or behind a subcommand: a row for each."""

from __future__ import annotations

import re

from boathook.core.value import Value
from boathook.shell.arguments import find_option_values, list_operands, skip_options


class CommandBehind(Value):
    """The words behind `subcommand` and some operands are a command; `--` ends the operands, whatever their number is."""

    # `starts` are options behind which the command begins. With `is_remote` the first operand names another machine.
    subcommand: str = ""
    values: str = ""
    operands: int = 0
    starts: str = ""
    is_remote: bool = False
    needs_mark: bool = False


class OptionText(Value):
    """The values of `options` are shell texts; with `is_remote` they run on another machine."""

    options: str
    is_remote: bool = False


_TAR = OptionText(
    "-I --use-compress-program --to-command -F --info-script --new-volume-script --rsh-command --checkpoint-action"
)
_OPEN_TERMINAL = CommandBehind(starts="-e -x --command", needs_mark=True)
_TERMINALS = (
    *("xterm", "urxvt", "rxvt", "st", "konsole", "alacritty", "x-terminal-emulator", "lxterminal", "xfce4-terminal"),
    *("gnome-terminal", "terminator", "tilix", "mate-terminal", "qterminal"),
)
_SET_VALUES = "-n --namespace -c --container -e --env -u --user -w --workdir --cwd --context --kubeconfig -f --file -p"
# Options whose value is a shell text. A letter may be the last of several, as in `rsync -ae`.
OPTION_TEXTS: dict[str, OptionText] = {
    **dict.fromkeys(("tar", "bsdtar", "gtar"), _TAR),
    "rsync": OptionText("-e --rsh"),
    **dict.fromkeys(("scp", "sftp"), OptionText("-S")),
    **dict.fromkeys(("man", "apropos", "whatis"), OptionText("-P --pager")),
    "zip": OptionText("-TT --unzip-command"),
    "split": OptionText("--filter"),
    "sort": OptionText("--compress-program"),
    "wget": OptionText("--use-askpass"),
    **dict.fromkeys(("rclone", "restic"), OptionText("--password-command --repository-command")),
    "borg": OptionText("--rsh"),
    "mosh": OptionText("--ssh"),
    **dict.fromkeys(("nodemon", "watchmedo", "chokidar"), OptionText("-x --exec -c --command")),
    **dict.fromkeys(("doppler", "infisical"), OptionText("--command")),
    **dict.fromkeys(("nix-shell", "nix"), OptionText("--run --command")),
    **dict.fromkeys(("nc", "ncat", "netcat"), OptionText("-e -c --exec --sh-exec")),
    "fzf": OptionText("--preview"),
    **dict.fromkeys(("su", "runuser", "sg", "script", "flock"), OptionText("-c --command --session-command")),
    "gcloud": OptionText("--command", is_remote=True),
    "vagrant": OptionText("-c --command", is_remote=True),
    **dict.fromkeys(("fly", "flyctl"), OptionText("-C --command", is_remote=True)),
    "ansible": OptionText("-a --args", is_remote=True),
}
# Programs of which every operand that has a blank is a shell text, and those of which only the last one is.
TEXT_OPERANDS = frozenset(("concurrently", "pee", "hyperfine", "run-p", "run-s", "npm-run-all"))
LAST_TEXT_OPERANDS = frozenset(("pssh", "parallel-ssh", "pdsh", "salt", "sops", "i3-msg", "swaymsg", "sg"))
REMOTE_PROGRAMS = frozenset(("pssh", "parallel-ssh", "pdsh", "salt"))
COMMANDS_BEHIND: dict[str, tuple[CommandBehind, ...]] = {
    **dict.fromkeys(
        ("kubectl", "oc", "k3s", "microk8s"),
        (
            CommandBehind("exec", _SET_VALUES, 1, is_remote=True),
            CommandBehind("debug", operands=1, is_remote=True, needs_mark=True),
        ),
    ),
    **dict.fromkeys(
        ("docker-compose", "podman-compose"),
        (CommandBehind("exec", _SET_VALUES, 1), CommandBehind("run", _SET_VALUES, 1)),
    ),
    **dict.fromkeys(
        ("lxc", "incus", "multipass"), (CommandBehind("exec", "--env --cwd --user --group", 1, is_remote=True),)
    ),
    "heroku": (CommandBehind("run", "-a --app -r --remote -s --size", 0, is_remote=True),),
    "adb": (CommandBehind("shell", "-s -t -H -P", 0, is_remote=True),),
    "wsl": (CommandBehind("", "-d --distribution -u --user --cd -e --exec", 0, "-e --exec"),),
    "limactl": (CommandBehind("shell", "--workdir", 1, is_remote=True),),
    "distrobox": (CommandBehind("enter", "-n --name", 1, "-e"),),
    "toolbox": (CommandBehind("run", "-c --container -d -r"),),
    "machinectl": (CommandBehind("shell", "--uid -E --setenv", 1),),
    "ip": (CommandBehind("netns exec", "", 1), CommandBehind("vrf exec", "", 1)),
    "mosh": (CommandBehind("", "-p --port --client --server", 1, is_remote=True),),
    "clush": (CommandBehind("", "-w -g -x -f -t -u -l", 0, is_remote=True),),
    "gcloud": (CommandBehind("ssh", "--zone --project", 1, is_remote=True, needs_mark=True),),
    "just": (CommandBehind("", "", 0, "--command -c", needs_mark=True),),
    "nix": tuple(CommandBehind(one, "", 0, "-c --command", needs_mark=True) for one in ("develop", "shell")),
    **dict.fromkeys(("guix", "flox", "devbox"), (CommandBehind("", needs_mark=True),)),
    **dict.fromkeys(
        ("op", "doppler", "infisical", "teller", "dotenvx", "dotenv"),
        (CommandBehind("run", "--env-file -f -e -p -c --project --config"), CommandBehind("", needs_mark=True)),
    ),
    **dict.fromkeys(("aws-vault", "chamber", "saml2aws"), (CommandBehind("exec", "-d --duration", 1),)),
    "envchain": (CommandBehind("", "", 1),),
    **dict.fromkeys(("bundle", "rbenv", "pyenv", "nodenv", "asdf", "lerna"), (CommandBehind("exec"),)),
    "watchexec": (
        CommandBehind(
            "", "-e --exts -w --watch -i --ignore -f --filter -s --signal -d --debounce --shell --stop-signal"
        ),
    ),
    "onchange": (CommandBehind(needs_mark=True),),
    "perf": tuple(
        CommandBehind(one, "-o -e -F -C -p -t -r --output --event --repeat") for one in ("stat", "record", "trace")
    ),
    **dict.fromkeys(("gdb", "lldb"), (CommandBehind("", "", 0, "--args --", needs_mark=True),)),
    **dict.fromkeys(_TERMINALS, (_OPEN_TERMINAL,)),
    **dict.fromkeys(
        ("kitty", "foot"), (CommandBehind("", "-T --title -o -d --directory -e -c --config -w -W -a -t --class"),)
    ),
    "wezterm": (CommandBehind("start", "--cwd"),),
    "runuser": (CommandBehind("", "-u --user -g --group -G", 0, "", needs_mark=True),),
    "capsh": (CommandBehind(needs_mark=True),),
    "ssh-agent": (CommandBehind("", "-a -t -P"),),
    "sem": (CommandBehind("", "-j --jobs --id"),),
    **dict.fromkeys(("batch-run", "retry"), (CommandBehind("", "-t -d --times --delay -m --until"),)),
}
_STARTED_FILE = re.compile(r"--?(?:exec|startas|x|a)(?:=(.*))?")


def list_option_texts(row: OptionText, arguments: list[str]) -> list[str]:
    """Return the values of options that are shell texts."""
    options = row.options.split()
    values = find_option_values(arguments, *options)
    letters = "".join(option[1] for option in options if len(option) == 2)
    if letters:
        pattern = re.compile(rf"-[A-Za-z]+[{letters}]")
        values += [arguments[at + 1] for at, word in enumerate(arguments[:-1]) if pattern.fullmatch(word)]
    return [value.removeprefix("exec=") for value in values if not value.startswith("-")]


def list_commands_behind(name: str, arguments: list[str]) -> list[tuple[tuple[str, ...], str]]:
    """Return the commands behind subcommands of a program, each with the machine that it runs on ("" for this one)."""
    if name == "start-stop-daemon":
        return [(words, "") for words in _list_daemon_commands(arguments)]
    if name == "flatpak":
        programs = find_option_values(arguments, "--command")
        return [((program, *list_operands(arguments)[2:]), "") for program in programs]
    for row in COMMANDS_BEHIND.get(name, ()):
        found = _read_behind(row, arguments)
        if found is not None and found[0]:
            return [found]
    return []


def _read_behind(row: CommandBehind, arguments: list[str]) -> tuple[tuple[str, ...], str] | None:
    rest = arguments
    for part in row.subcommand.split():
        if part not in rest:
            return None
        rest = rest[rest.index(part) + 1 :]
    at = next((index for index, word in enumerate(rest) if word in row.starts.split()), len(rest))
    mark = rest.index("--") if "--" in rest else len(rest)
    operands = skip_options(rest, row.values)
    machine = (operands[0] if operands else "") if row.is_remote else ""
    if min(at, mark) < len(rest):
        behind = rest[min(at, mark) + 1 :]
    elif row.needs_mark:
        return None
    else:
        behind = skip_options(operands[row.operands :], row.values)
    if behind[:1] and behind[0].startswith("+"):
        return None
    # One word with blanks is a text for a shell.
    words = ("sh", "-c", behind[0]) if len(behind) == 1 and " " in behind[0] else tuple(behind)
    return words, (machine or "?") if row.is_remote else ""


def _list_daemon_commands(arguments: list[str]) -> list[tuple[str, ...]]:
    behind = arguments[arguments.index("--") + 1 :] if "--" in arguments else []
    for at, word in enumerate(arguments):
        if match := _STARTED_FILE.fullmatch(word):
            programs = [match[1]] if match[1] else arguments[at + 1 : at + 2]
            return [(program, *behind) for program in programs]
    return []
