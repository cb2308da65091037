#!/usr/bin/env python3
"""Asks before containers, images, volumes or virtual machines are deleted with what is in them."""

from __future__ import annotations

from collections.abc import Sequence

from call_programs import list_host_programs, may_answer
from command_rules import CommandRule, ProgramOptions, judge_programs, read_arguments

from boathook.guards import GuardAnswer, GuardedCall, ask, run_guard
from boathook.shell.started_program import Started

_ENGINES = "docker podman nerdctl"
_COMPOSES = "docker-compose podman-compose nerdctl-compose"
_LIST_VOLUMES = "See what is there with `volume ls`, and back up what is needed first"
_NAME_THEM = "List them first (`ps -a`, `image ls`), and delete by name only those that you made"
_KEEP_VOLUMES = "`down` without `-v` stops the services and keeps their data"
# Without it, a prune asks by itself.
_FORCE = "-f --force"
_VM_STOP = "Stop it instead (it keeps its disk), or export it first"
_RULES = (
    CommandRule(
        _ENGINES,
        "system prune",
        "deletes everything that is not in use at the moment",
        _NAME_THEM,
        confirmed=_FORCE,
    ),
    CommandRule(_ENGINES, "system reset", "deletes all containers, images and volumes", _NAME_THEM),
    CommandRule(
        _ENGINES, "volume prune", "deletes volumes and all data in them", _LIST_VOLUMES, operands=2, confirmed=_FORCE
    ),
    CommandRule(_ENGINES, "volume rm|remove", "deletes volumes and all data in them", _LIST_VOLUMES, operands=2),
    CommandRule(
        _ENGINES,
        "container|pod prune",
        "deletes every container that does not run at the moment",
        _NAME_THEM,
        confirmed=_FORCE,
    ),
    CommandRule(
        _ENGINES,
        "image prune",
        "deletes every image that no container uses",
        _NAME_THEM,
        needs="-a --all",
        confirmed=_FORCE,
    ),
    CommandRule(_ENGINES, "rm", "deletes running containers", _NAME_THEM, needs="-f --force -a --all"),
    CommandRule(
        _ENGINES, "container|pod rm|remove", "deletes running containers", _NAME_THEM, needs="-f --force -a --all"
    ),
    CommandRule(
        _ENGINES, "rmi", "deletes images although containers use them", _NAME_THEM, needs="-f --force -a --all"
    ),
    CommandRule(
        _ENGINES,
        "image rm|remove",
        "deletes images although containers use them",
        _NAME_THEM,
        needs="-f --force -a --all",
    ),
    CommandRule(
        _ENGINES,
        "compose down",
        "deletes the volumes of the services, that is their data",
        _KEEP_VOLUMES,
        needs="-v --volumes",
    ),
    CommandRule(_ENGINES, "compose rm", "deletes the volumes of the services", _KEEP_VOLUMES, needs="-v"),
    CommandRule(
        _COMPOSES,
        "down",
        "deletes the volumes of the services, that is their data",
        _KEEP_VOLUMES,
        needs="-v --volumes",
    ),
    CommandRule(_COMPOSES, "rm", "deletes the volumes of the services", _KEEP_VOLUMES, needs="-v"),
    CommandRule(
        _ENGINES,
        "swarm leave",
        "takes this machine out of its swarm and may end it",
        "Ask the person who runs the swarm",
        needs="-f --force",
    ),
    CommandRule(
        _ENGINES,
        "stack|service|secret|config rm|remove",
        "deletes parts of a running swarm",
        "Scale the service to 0 instead, which can be undone",
        operands=3,
    ),
    CommandRule(
        _ENGINES, "machine rm|reset", "deletes a virtual machine with all containers and volumes in it", _VM_STOP
    ),
    CommandRule(
        "minikube kind k3d colima limactl lima k3s-uninstall.sh",
        "delete|purge",
        "deletes a local cluster or virtual machine with its data",
        _VM_STOP,
    ),
    # What it deletes can be had back by `multipass recover`, until it is purged.
    CommandRule("multipass", "purge", "deletes virtual machines with their data", _VM_STOP),
    CommandRule("multipass", "delete", "deletes a virtual machine with its data", _VM_STOP, needs="-p --purge"),
    CommandRule("k3d kind", "cluster delete", "deletes a local cluster with its data", _VM_STOP),
    CommandRule(
        "vagrant",
        "destroy",
        "deletes a virtual machine with its disk",
        "`vagrant halt` stops it and keeps it",
        confirmed="-f --force",
    ),
    CommandRule(
        "lxc incus", "delete", "deletes a container with its disk", "`stop` keeps it; `export` makes a backup first"
    ),
    CommandRule(
        "lxc incus", "storage|project delete", "deletes storage with all that is in it", "`export` makes a backup first"
    ),
    CommandRule(
        "virsh",
        "undefine|vol-delete|pool-delete",
        "deletes a virtual machine or its disk",
        "`virsh shutdown` keeps it",
        operands=2,
    ),
    CommandRule(
        "VBoxManage vboxmanage",
        "unregistervm|closemedium",
        "deletes a virtual machine with its disks",
        _VM_STOP,
        needs="--delete --delete-all -delete",
    ),
    CommandRule("machinectl", "remove|clean", "deletes machine images", "`machinectl poweroff` keeps them", operands=2),
)
_OPTIONS = {
    **dict.fromkeys(
        _ENGINES.split(),
        ProgramOptions(
            "-H --host --context --config --log-level --filter --connection --url -t --timeout --time --rmi"
        ),
    ),
    **dict.fromkeys(
        _COMPOSES.split(), ProgramOptions("-f --file -p --project-name --profile --env-file -t --timeout --rmi")
    ),
    "virsh": ProgramOptions("-c --connect"),
}


def decide(call: GuardedCall) -> GuardAnswer | None:
    programs = list_host_programs(call)
    return judge_programs(programs, _RULES, _OPTIONS, has_answer=may_answer(call)) or _judge_all_containers(programs)


def _judge_all_containers(programs: Sequence[Started]) -> GuardAnswer | None:
    """Ask before `docker stop $(docker ps -q)`: it stops what others run as well."""
    has_list = False
    for program in programs:
        if program.name not in _ENGINES.split():
            continue
        arguments = read_arguments(program, _OPTIONS)
        has_list = has_list or (arguments.match_words("ps") and arguments.has("-q", "--quiet"))
        is_ending = any(arguments.match_words(words) for words in ("stop|kill|rm", "container stop|kill|rm"))
        if has_list and is_ending and arguments.has_unknown_operand:
            return ask(f"`{program.name}` would stop every container, also those of others. {_NAME_THEM}.")
    return None


if __name__ == "__main__":
    run_guard(decide)
