"""Programs that start the program behind them, such as `sudo`, `env` and `uv run`."""

from __future__ import annotations

import re

from boathook.core.shell import ShellReader, get_assigned_name
from boathook.shell.arguments import find_option_values, get_program_name, make_absolute_path, skip_options
from boathook.shell.scope import ShellScope
from boathook.shell.started_program import Started

# Each of them may be in front of another.
MAX_WRAPPERS = 24
# Programs that start another one: their options that take a value, and how many words are before the command.
WRAPPERS: dict[str, tuple[str, int]] = {
    "sudo": ("-C -D -g -h -p -R -r -T -t -U -u --user --group --host --prompt --chdir --role --type --other-user", 0),
    "doas": ("-C -u", 0),
    "env": ("-u -C -P -a --unset --chdir --argv0", 0),
    "nice": ("-n --adjustment", 0),
    "ionice": ("-c -n", 0),
    "time": ("-f -o", 0),
    "timeout": ("-k -s --kill-after --signal", 1),
    "stdbuf": ("-i -o -e", 0),
    "exec": ("-a", 0),
    "strace": ("-e -o -p -s", 0),
    "ltrace": ("-e -o -p -s", 0),
    "chroot": ("", 1),
    "chrt": ("", 1),
    "taskset": ("", 1),
    "flock": ("-w -E", 1),
    "systemd-run": ("-p -u --unit --property --slice -d --uid --gid -M -E --setenv", 0),
    "unshare": ("-S -G --setuid --setgid --root -R -w --wd", 0),
    "nsenter": ("-t -S -G --target", 0),
    "setpriv": ("", 0),
    "direnv": ("", 2),
    "arch": ("", 0),
    "rlwrap": ("", 0),
    "autoexpect": ("-f", 0),
    "dtach": ("-n -c -A -e -r", 0),
    "npx": ("-p --package", 0),
    "pnpx": ("", 0),
    "bunx": ("-p --package", 0),
    "shx": ("", 0),
    "corepack": ("", 0),
    "uvx": ("--from --with -p --python", 0),
    "valgrind": ("", 0),
    "xvfb-run": ("-n -e -f -p -s -w --server-num --error-file --auth-file --server-args --wait", 0),
    "dbus-run-session": ("--config-file --dbus-daemon", 0),
    "firejail": ("", 0),
    "fakeroot": ("-l -f -s -i -b --lib --faked", 0),
    "faketime": ("-f -m", 1),
    "setarch": ("", 1),
    "prlimit": ("-p --pid", 0),
    "numactl": ("-N -m -C -i -p --cpunodebind --membind --physcpubind --interleave --preferred", 0),
    "cgexec": ("-g", 0),
    "sshpass": ("-p -f -P", 0),
    "cpulimit": ("-l --limit -p --pid -e --exe", 0),
    "chpst": ("-u -U -b -/ -n -l -L -m -d -o -p -f -c -e", 0),
    "softlimit": ("-a -c -d -f -l -m -o -p -r -s -t", 0),
    "daemonize": ("-c -e -o -p -l -u -E", 0),
    "pkexec": ("--user", 0),
    "systemd-inhibit": ("--what --who --why --mode", 0),
    **dict.fromkeys(("torsocks", "torify"), ("-a -P -u -p -c --address --port --user --pass", 0)),
    "run0": ("-u -g -D --user --group --unit --property --description --slice --chdir --setenv", 0),
    **dict.fromkeys(("please", "dzdo"), ("-u -g -t -d -n --user --group --target", 0)),
    **dict.fromkeys(("gosu", "su-exec", "setuidgid", "s6-setuidgid"), ("", 1)),
    **dict.fromkeys(("proxychains", "proxychains4"), ("-f", 0)),
    **dict.fromkeys(("tini", "dumb-init", "catatonit"), ("-p -e -r --rewrite", 0)),
    "gtimeout": ("-k -s --kill-after --signal", 1),
    **dict.fromkeys(
        (
            *("{", "!", "command", "builtin", "nohup", "setsid", "busybox", "toybox", "caffeinate", "unbuffer"),
            *("catchsegv", "dbus-launch", "linux32", "linux64", "winpty", "tsp", "chronic", "ifne"),
            *("eatmydata", "nocache", "gnohup", "gnice"),
        ),
        ("", 0),
    ),
}
# Tools whose subcommand starts another program.
_RUNNERS = {
    **dict.fromkeys(("pipx", "poetry", "hatch", "pdm", "rye", "pipenv", "conda", "mamba", "rtx"), ("run",)),
    "mise": ("exec", "x"),
    "uv": ("run", "tool run"),
    **dict.fromkeys(("podman", "buildah"), ("unshare",)),
    "npm": ("exec", "x"),
    "pnpm": ("dlx", "exec"),
    "yarn": ("dlx", "exec"),
    "bun": ("x",),
}
# Those of packages for Node.js: they take the version of a package behind its name, and a shell text as one word.
_PACKAGE_RUNNERS = frozenset(("npm", "pnpm", "yarn", "bun", "npx", "pnpx", "bunx"))
_PACKAGE_RUNNER_VALUES = "--prefix -C --dir --cwd --filter -F -w --workspace -p --package"
# Programs of packages that change files, which some of them start without a subcommand.
_PACKAGE_PROGRAMS = ("rimraf", "shx", "del-cli", "trash")
_RUNNER_VALUES = "--with --from --python -p --spec --project --directory -n --name --extra --group --env -e --index-url"
# Programs that write a file about what they start.
_REPORTERS = frozenset(("strace", "ltrace", "time", "gtime"))
_SPLIT_STRING = re.compile(r"-[0iv]*S(.*)|--split-string(?:=(.*))?", re.DOTALL)
# Words before a program that are no programs.
SHELL_PREFIXES = frozenset(("{", "!", "command", "builtin", "exec", "time"))
# Programs whose command runs with another environment than the text around it says.
_OTHER_ENVIRONMENTS = frozenset(("sudo", "doas", "systemd-run"))


def unwrap(started: Started) -> Started:
    """Return what `sudo`, `env`, `timeout`, `uv run` and their like would start."""
    words, folder, variables = list(started.words), started.folder, list(started.variables)
    scope, outputs, started_by = started.scope, list(started.outputs), list(started.started_by)
    for _ in range(MAX_WRAPPERS):
        if not words:
            break
        program = get_program_name(words)
        rest = words[1:]
        runner = _skip_runner(program, rest) if program in _RUNNERS else None
        if runner is not None:
            started_by.append(f"{program} {_RUNNERS[program][0]}")
            words = _read_package_call(runner) if program in _PACKAGE_RUNNERS else runner
            continue
        if program not in WRAPPERS:
            break
        if program == "command" and rest and re.fullmatch("-p?[vV]+", rest[0]):
            return started.replace(words=(":",))
        started_by.append(program)
        if program in ("env", "sudo", "unshare"):
            folder = _find_option_folder(rest, folder, ("-C", "--chdir", "-D", "--wd"))
        if program == "env" and (split := _split_string(rest)):
            words = split
            continue
        if program == "flock" and "-c" in rest:
            words = ["sh", *rest[rest.index("-c") :]]
            continue
        if removed := _list_removed_variables(program, rest, variables):
            variables = [pair for pair in variables if pair[0] not in removed]
            scope = (scope or ShellScope(folder, {})).copy()
            for name in removed:
                scope.remove(name)
        if program in ("env", "exec"):
            scope = _clear_environment(program, rest, scope)
        if program in _REPORTERS:
            options_before = rest[: len(rest) - len(skip_options(rest, WRAPPERS[program][0]))]
            outputs += find_option_values(options_before, "-o", "--output")
        options, skipped = WRAPPERS[program]
        rest = skip_options(_open_call_options(rest) if program in _PACKAGE_RUNNERS else rest, options)
        if program == "env" and rest[:1] == ["-"]:
            rest = skip_options(rest[1:], options)
        while rest and program in ("sudo", "doas", "env") and get_assigned_name(rest[0]):
            name, _, value = rest[0].partition("=")
            variables.append((name, value))
            rest = rest[1:]
        words = _read_package_call(rest) if program in _PACKAGE_RUNNERS else rest[skipped:]
    changed = {"folder": folder, "variables": tuple(variables), "scope": scope, "outputs": tuple(outputs)}
    return started.replace(words=tuple(words), started_by=tuple(started_by), **changed)


def _split_string(arguments: list[str]) -> list[str]:
    """Return the words that `env -S TEXT` makes of a text, [] if there is none."""
    for at, word in enumerate(arguments):
        match = _SPLIT_STRING.fullmatch(word)
        if match is None and word.startswith("-"):
            continue
        if match is None:
            break
        given = match[1] or match[2]
        text = " ".join(([given] if given else []) + arguments[at + 1 :])
        command = ShellReader(text).read_command()
        return [one.text for one in command.words] if command is not None else []
    return []


def _list_removed_variables(program: str, arguments: list[str], variables: list[tuple[str, str]]) -> list[str]:
    """Return the variables that a program takes away from what it starts."""
    everything = ["HOME", *(name for name, _ in variables)]
    if program in _OTHER_ENVIRONMENTS:
        return everything
    if program not in ("env", "exec"):
        return []
    removed: list[str] = []
    waiting = [*arguments]
    while waiting and waiting[0].startswith("-"):
        word = waiting.pop(0)
        if word in ("-", "--ignore-environment") or re.fullmatch(r"-\w*[icl]\w*", word):
            return everything
        if word in ("-u", "--unset"):
            removed += waiting[:1]
        elif word.startswith(("-u", "--unset=")):
            removed.append(word.removeprefix("--unset=").removeprefix("-u"))
        waiting = waiting[1:] if word in ("-u", "--unset", "-C", "--chdir", "-a") else waiting
    return removed


def _clear_environment(program: str, arguments: list[str], scope: ShellScope | None) -> ShellScope | None:
    """Return what is known behind `env -i`, `exec -c` and `env -u NAME`: variables of the text are not set there."""
    options = arguments[: len(arguments) - len(skip_options(arguments, WRAPPERS[program][0]))]
    letter = "i" if program == "env" else "c"
    is_everything = any(
        word in ("-", "--ignore-environment") or re.fullmatch(rf"-\w*{letter}\w*", word) for word in options
    )
    is_everything = is_everything or (program == "env" and arguments[len(options) : len(options) + 1] == ["-"])
    if scope is None:
        return scope
    names = (
        [*scope.variables]
        if is_everything
        else find_option_values(options, "-u", "--unset")
        if program == "env"
        else []
    )
    if not names:
        return scope
    cleared = scope.copy()
    for name in names:
        cleared.clear(name)
    return cleared


def _skip_runner(program: str, rest: list[str]) -> list[str] | None:
    if program in _PACKAGE_RUNNERS:
        rest = skip_options(_open_call_options(rest), _PACKAGE_RUNNER_VALUES)
        behind = rest[1:] if rest[:1] == ["run"] else rest
        if behind and behind[0] in _PACKAGE_PROGRAMS:
            return behind
    operands = [word for word in rest if not word.startswith("-")]
    for subcommand in _RUNNERS.get(program, ()):
        parts = subcommand.split()
        if operands[: len(parts)] == parts:
            behind = rest[rest.index(parts[-1]) + 1 :]
            return skip_options(behind, _PACKAGE_RUNNER_VALUES if program in _PACKAGE_RUNNERS else _RUNNER_VALUES)
    return None


def _read_package_call(words: list[str]) -> list[str]:
    if not words:
        return words
    if " " in words[0]:
        return ["sh", "-c", " ".join(words)]
    return [re.sub(r"(?<=\w)@[^/]*$", "", words[0]), *words[1:]]


def _open_call_options(arguments: list[str]) -> list[str]:
    """Return arguments in which the text of `--call=TEXT` is a word of its own."""
    return [part for word in arguments for part in (word.split("=", 1) if word.startswith("--call=") else [word])]


def _find_option_folder(arguments: list[str], folder: str, options: tuple[str, ...]) -> str:
    for at, word in enumerate(arguments):
        name, _, value = word.partition("=")
        if name in options:
            target = value or (arguments[at + 1] if at + 1 < len(arguments) else "")
            return make_absolute_path(target, folder)
        if not word.startswith("-"):
            break
    return folder
