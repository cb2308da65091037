"""Programs that run a command in which a folder of this machine has another path: containers and sandboxes."""

from __future__ import annotations

from boathook.shell.arguments import find_option_values, list_operands, skip_options

CONTAINER_PROGRAMS = frozenset(
    ("docker", "podman", "nerdctl", "bwrap", "singularity", "apptainer", "proot", "systemd-nspawn")
)
_SHARING_OPTIONS = ("-v", "--volume", "-B", "-b", "--bind")
_RUNS = frozenset(("run", "exec", "create", "shell"))
_RUN_VALUES = (
    "-v --volume --mount -e --env --env-file -w --workdir -u --user --name --network --net -p --publish --entrypoint"
    " -l --label -h --hostname --add-host --cap-add --cap-drop --device --dns --ip --log-driver -m --memory --cpus"
    " --platform --pull --restart --runtime --security-opt --shm-size --tmpfs --ulimit --userns --volumes-from --gpus"
    " --ipc --pid --cidfile --stop-signal --stop-timeout --health-cmd -B --bind --pwd --home -H --overlay"
)
# How many words belong to an option of bubblewrap; two for those that share a folder.
_PAIRED_OPTIONS = (
    *("--bind", "--bind-try", "--dev-bind", "--dev-bind-try", "--ro-bind", "--ro-bind-try", "--symlink", "--setenv"),
    *("--file", "--bind-data", "--ro-bind-data", "--bind-fd", "--ro-bind-fd", "--chmod"),
)
_WRITABLE_PAIRS = ("--bind", "--bind-try", "--dev-bind", "--dev-bind-try")
_SINGLE_OPTIONS = (
    *("--proc", "--dev", "--tmpfs", "--dir", "--chdir", "--unsetenv", "--uid", "--gid", "--hostname", "--lock-file"),
    *("--seccomp", "--args", "--remount-ro", "--cap-add", "--cap-drop", "--userns", "--perms", "--size", "--mqueue"),
    *("--argv0", "--overlay-src", "--tmp-overlay", "--ro-overlay", "--info-fd", "--sync-fd", "--block-fd"),
)


def list_shared_folders(name: str, arguments: list[str]) -> list[tuple[str, str]]:
    """Return the folders of this machine that a command can change inside, each with its path there."""
    if name == "bwrap":
        places = [at for at, word in enumerate(arguments[:-2]) if word in _WRITABLE_PAIRS]
        return [(arguments[at + 1], arguments[at + 2]) for at in places]
    shared: list[tuple[str, str]] = []
    for value in find_option_values(arguments, *_SHARING_OPTIONS):
        source, _, rest = value.partition(":")
        target, _, options = rest.partition(":")
        if "ro" not in options.split(",") and source:
            shared.append((source, target or source))
    for value in find_option_values(arguments, "--mount"):
        parts = [part.partition("=") for part in value.split(",")]
        fields = {part[0]: part[2] for part in parts}
        source = fields.get("source") or fields.get("src") or ""
        if source and not {"ro", "readonly"} & fields.keys():
            shared.append((source, fields.get("target") or fields.get("dst") or fields.get("destination") or source))
    return shared


def find_contained_folder(name: str, arguments: list[str], folder: str) -> str:
    """Return the folder that the command inside starts in."""
    folders = find_option_values(arguments, "-w", "--workdir", "--chdir", "--pwd")
    return folders[-1] if folders else folder if name in ("bwrap", "proot") else "/"


def list_contained_commands(name: str, arguments: list[str]) -> list[tuple[str, ...]]:
    """Return the command that runs inside."""
    if name == "bwrap":
        return [tuple(_skip_bubblewrap(arguments))]
    if name == "proot":
        return [tuple(skip_options(arguments, "-b -r -w -k -q -R -S"))]
    if name == "systemd-nspawn":
        return [tuple(skip_options(arguments, "-D -i -M -u --directory --image --machine --user"))]
    at = next((index for index, word in enumerate(arguments) if word in _RUNS), len(arguments))
    behind = skip_options(arguments[at + 1 :], _RUN_VALUES)
    entries = find_option_values(arguments[: len(arguments) - len(behind)], "--entrypoint")
    return [(*entries[:1], *behind[1:])] if list_operands(behind) else []


def _skip_bubblewrap(arguments: list[str]) -> list[str]:
    at = 0
    while at < len(arguments) and arguments[at].startswith("--"):
        if arguments[at] == "--":
            return arguments[at + 1 :]
        at += 3 if arguments[at] in _PAIRED_OPTIONS else 2 if arguments[at] in _SINGLE_OPTIONS else 1
    return arguments[at:]
