#!/usr/bin/env python3
"""Blocks commands that destroy the machine, a disk or a home folder."""

from __future__ import annotations

import os
from collections.abc import Iterator

from argument_list import ArgumentList
from call_programs import list_host_programs, may_answer
from command_rules import CommandRule, ProgramOptions, find_rule, read_arguments, write_reason
from fork_bombs import is_fork_bomb
from path_losses import ACCESS, DELETE, MOVE, OVERWRITE, PathLoss, list_path_losses
from places import is_disk, is_root_if_empty, name_system_place, split_parts

from boathook.guards import GuardAnswer, GuardedCall, ask, block, run_guard
from boathook.shell.arguments import UNKNOWN
from boathook.shell.started_program import Started

_SMALLER = "Name the folder that you mean, with its whole path"
_BY_PERSON = "Leave work on disks to the person"
_VERBS = {DELETE: "would delete", MOVE: "would move away", ACCESS: "would change the access to everything in"}
_MAKERS = (
    "mkfs mke2fs mkswap mkdosfs mkntfs newfs mkexfatfs mkfs.ext2 mkfs.ext3 mkfs.ext4 mkfs.xfs mkfs.btrfs mkfs.vfat mkfs.fat"
    " mkfs.ntfs mkfs.exfat mkfs.f2fs mkfs.minix mkfs.msdos mkfs.cramfs mkfs.bfs mkfs.jfs mkfs.reiserfs mkfs.erofs mkfs.udf"
    " newfs_apfs newfs_hfs newfs_msdos newfs_exfat zpool-create bcachefs mkfs.bcachefs"
)
# These erase what is on the device that they are given. Rules without a device are in RULES.
_DISK_RULES = (
    CommandRule(
        _MAKERS,
        "",
        "makes an empty file system where another one may be",
        _BY_PERSON,
        unless="-n",
        operands=1,
        decision="block",
    ),
    CommandRule(
        "wipefs",
        "",
        "erases the signatures of a disk",
        "`wipefs` without `-a` lists them",
        needs="-a --all -o --offset",
        unless="-n",
        decision="block",
    ),
    CommandRule("blkdiscard", "", "erases a disk", _BY_PERSON, operands=1, decision="block"),
    CommandRule(
        "sfdisk",
        "",
        "deletes or rewrites partitions",
        "`sfdisk --dump` shows them",
        unless="-n --no-act -l --list -d --dump -J --json -s --show-size -F --list-free -V --verify -A --activate",
        confirmed="--delete --wipe --force",
    ),
    CommandRule(
        "sgdisk",
        "",
        "deletes or rewrites partitions",
        "`sgdisk --print` shows them",
        needs="-Z --zap-all -z --zap -o --clear",
        unless="-P --pretend",
        decision="block",
    ),
    CommandRule(
        "sgdisk", "", "deletes a partition", "`sgdisk --print` shows them", needs="-d --delete", unless="-P --pretend"
    ),
    CommandRule(
        "parted",
        "* mklabel|mktable|rm|mkpart|resizepart",
        "deletes or rewrites partitions",
        "`parted DEVICE print` shows them",
    ),
    CommandRule(
        "cryptsetup",
        "luksFormat|luksErase|erase|luksKillSlot|luksRemoveKey|reencrypt|format",
        "makes what is on a disk unreadable",
        "`cryptsetup luksHeaderBackup` saves the header first",
    ),
    CommandRule(
        "mdadm",
        "",
        "erases what makes a disk a part of an array",
        "`mdadm --examine` shows it",
        needs="--zero-superblock",
    ),
    CommandRule("mdadm", "", "takes a disk out of an array", "`mdadm --detail` shows it", needs="-f --fail"),
    CommandRule(
        "fdisk cfdisk gdisk cgdisk", "", "changes partitions", "`fdisk -l` shows them", unless="-l --list -s -x"
    ),
    CommandRule(
        "hdparm",
        "",
        "erases a disk",
        _BY_PERSON,
        needs="--security-erase --security-erase-enhanced --trim-sector-ranges --write-sector",
        decision="block",
    ),
    CommandRule("nvme", "format|sanitize|delete-ns", "erases a disk", "`nvme list` shows them", decision="block"),
    CommandRule("badblocks", "", "overwrites a disk to test it", "`badblocks -n` keeps the data", needs="-w"),
    CommandRule(
        "pvremove", "", "takes a disk out of its volume group", "`pvs` shows it", unless="-t --test", operands=1
    ),
)
_INTERACTIVE = frozenset(("fdisk", "cfdisk", "gdisk", "cgdisk", "cryptsetup"))
_PACKAGES = "removes programs from the system that others may need"
_LIST_PACKAGES = "See what else would go first: without the yes it shows a list, and waits"
_RULES = (
    CommandRule(
        "apt apt-get aptitude dnf yum microdnf zypper",
        "remove|purge|erase",
        _PACKAGES,
        _LIST_PACKAGES,
        operands=2,
        confirmed="-y --yes --assume-yes --assumeyes -n --non-interactive",
    ),
    CommandRule(
        "pacman", "", _PACKAGES, _LIST_PACKAGES, needs="-R --remove", unless="-p --print", confirmed="--noconfirm"
    ),
    CommandRule("dpkg", "", _PACKAGES, "`apt-get -s remove` shows what would go", needs="-r --remove -P --purge"),
    CommandRule(
        "rpm", "", _PACKAGES, "`rpm -e --test` shows whether others need it", needs="-e --erase", unless="--test"
    ),
    CommandRule(
        "Format-Volume format-volume Clear-Disk clear-disk Initialize-Disk initialize-disk Remove-Partition remove-partition",
        "",
        "erases a disk or a part of it",
        "`Get-Disk` and `Get-Volume` show them",
        unless="-WhatIf -whatif",
    ),
    CommandRule(
        "lvremove vgremove",
        "",
        "deletes volumes and all data on them",
        "`lvs` and `vgs` show them; `--test` shows what would happen",
        unless="-t --test",
        operands=1,
    ),
    CommandRule(
        "lvm",
        "lvremove|vgremove|pvremove",
        "deletes volumes and all data on them",
        "`lvm lvs` shows them",
        unless="-t --test",
    ),
    CommandRule(
        "lvreduce",
        "",
        "cuts off a volume and the data at its end",
        "`lvs` shows it",
        unless="-t --test",
        # Without these it asks by itself.
        confirmed="-f --force -y --yes",
    ),
    CommandRule("dmsetup", "remove|remove_all|wipe_table", "takes a volume away", "`dmsetup info` shows it"),
    CommandRule(
        "btrfs", "device|dev remove|delete", "takes a disk out of a file system", "`btrfs device usage` shows it"
    ),
    CommandRule(
        "zpool",
        "destroy|labelclear",
        "deletes a pool and all data on it",
        "`zpool export` takes it away and keeps it",
        operands=2,
    ),
    CommandRule(
        "zfs",
        "destroy",
        "deletes a file system or its snapshots",
        "`zfs destroy -nv` shows what would go",
        unless="-n",
        operands=2,
    ),
    CommandRule(
        "btrfs",
        "subvolume|su delete",
        "deletes a subvolume and all data in it",
        "`btrfs subvolume list` shows them",
        operands=3,
    ),
    CommandRule(
        "diskutil",
        "eraseDisk|eraseVolume|partitionDisk|zeroDisk|secureErase|reformat|randomDisk|apfs",
        "erases a disk",
        "`diskutil list` shows them",
        operands=2,
    ),
    CommandRule(
        "tmutil",
        "delete|deletelocalsnapshots|disable",
        "deletes backups",
        "`tmutil listbackups` shows them",
        operands=2,
    ),
    CommandRule("vssadmin", "delete|Delete", "deletes backups", "`vssadmin list shadows` shows them"),
    CommandRule(
        "userdel deluser",
        "",
        "deletes a user with the home folder",
        "`usermod -L` locks the account and keeps it",
        needs="-r --remove --remove-home --remove-all-files",
        unless="--backup --backup-to",
    ),
    CommandRule(
        "crontab",
        "",
        "deletes all jobs of the user without a question",
        "Save them first: `crontab -l > crontab.backup`",
        needs="-r",
    ),
)
_OPTIONS = {
    **dict.fromkeys(_MAKERS.split(), ProgramOptions("-L -b -m -N -i -I -E -O -T -U -t -s -l -d")),
    "wipefs": ProgramOptions("-t --types -o --offset"),
    **dict.fromkeys(
        ("lvremove", "vgremove", "pvremove", "lvm"), ProgramOptions("--reportformat --config -S --select --devices")
    ),
    "sgdisk": ProgramOptions("-d --delete -n -t -c -u"),
    "hdparm": ProgramOptions("--user-master --security-erase"),
}


def decide(call: GuardedCall) -> GuardAnswer | None:
    answers = list(_iter_answers(call))
    return next((answer for answer in answers if answer.decision == "block"), next(iter(answers), None))


def _iter_answers(call: GuardedCall) -> Iterator[GuardAnswer]:
    home = call.home or os.path.expanduser("~")
    before: Started | None = None
    for program in list_host_programs(call):
        yield from _judge_disks(program, has_answer=may_answer(call))
        if before is not None and _deletes_unseen_list(program, before):
            yield ask(
                f"`{before.name}` would delete whole folders from a list that cannot be seen here. Show the list first."
            )
        before = program
        for loss in list_path_losses(program):
            yield from _judge_loss(loss, program, home)
    if any(is_fork_bomb(text) for text in call.commands):
        yield block(
            "This starts processes without end until the machine stops. Start a fixed number, and `wait` for them."
        )
    if not call.is_readable:
        yield ask("This command is too long or nested too deep to be read. Split it into smaller ones.")


def _judge_disks(program: Started, *, has_answer: bool) -> Iterator[GuardAnswer]:
    # Without input, these wait for a person.
    has_input = has_answer or {"-q", "--batch-mode", "-"} & {*program.words}
    is_waiting = program.name in _INTERACTIVE and not has_input
    if (rule := find_rule(program, _DISK_RULES, _OPTIONS, has_answer=has_answer)) and not is_waiting:
        operands = read_arguments(program, _OPTIONS).operands
        devices = [word for word in operands if is_disk(word)]
        if devices and rule.decision == "block":
            yield block(write_reason(program, rule))
        elif devices or any(UNKNOWN in word for word in operands):
            yield ask(write_reason(program, rule))
    if rule := find_rule(program, _RULES, _OPTIONS, has_answer=has_answer):
        yield ask(write_reason(program, rule))
    if program.name == "rm" and "--no-preserve-root" in program.words and "--help" not in program.words:
        yield block(f"`--no-preserve-root` has no other use than to delete the root of the file system. {_SMALLER}.")


def _judge_loss(loss: PathLoss, program: Started, home: str) -> Iterator[GuardAnswer]:
    shown = loss.path.replace(UNKNOWN, "…")
    if loss.way in (OVERWRITE, DELETE) and is_disk(loss.path):
        yield block(f"`{loss.program}` would write straight to the device {shown}. {_BY_PERSON}.")
        return
    if loss.way == ACCESS and not loss.is_tree and split_parts(loss.path) == ():
        yield ask(f"`{loss.program}` changes who may use the root of the file system. {_SMALLER}.")
    if loss.way == OVERWRITE or not loss.is_tree:
        return
    place = name_system_place(loss.path, home)
    if place and loss.way == ACCESS and _is_own_home(place, program, home):
        return
    if place and loss.way == MOVE and "home folder" in place and loss.path.endswith("*"):
        return
    if place and loss.is_narrowed:
        is_everywhere = not split_parts(loss.path)
        if is_everywhere and loss.way == DELETE and not _is_in_known_place(program):
            yield ask(f"`{loss.program}` would delete what it finds in {place}. List it first, without the delete.")
    elif place:
        # A home folder can be given back its rights; the system can not.
        objects = ask if loss.way == ACCESS and "home folder" in place else block
        written = "" if place.endswith(shown.rstrip("/")) else f" ({shown})"
        yield objects(f"`{loss.program}` {_VERBS[loss.way]} {place}{written}. {_SMALLER}.")
    elif loss.way == DELETE and is_root_if_empty(loss.path) and loss.path in program.words:
        yield ask(
            f"`{loss.program}` would delete the root of the file system if the variable in {shown} is empty. "
            "Write `${NAME:?}`, which fails then."
        )


def _deletes_unseen_list(program: Started, before: Started) -> bool:
    """Whether `xargs` or `parallel` hands `rm -r` paths of which nothing is known."""
    if before.name not in ("xargs", "parallel") or program.name != "rm" or program.words[0] not in before.words:
        return False
    return any(loss.is_tree and not loss.path.strip(UNKNOWN) for loss in list_path_losses(program))


def _is_in_known_place(program: Started) -> bool:
    return program.name == "find" and "-path" in program.words


def _is_own_home(place: str, program: Started, home: str) -> bool:
    """Whether somebody takes back what is in the own home folder, which is usual."""
    if "home folder" not in place or program.name not in ("chown", "chgrp"):
        return False
    owner = (ArgumentList(program.words[1:], "--from --reference").operands or [""])[0].partition(":")[0]
    return UNKNOWN in owner or owner in ("", home.rstrip("/").rpartition("/")[2])


if __name__ == "__main__":
    run_guard(decide)
