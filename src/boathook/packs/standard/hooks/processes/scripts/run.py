#!/usr/bin/env python3
"""Asks before processes are ended by name, services are stopped, or the machine is switched off."""

from __future__ import annotations

import re
from itertools import pairwise

from argument_list import ArgumentList
from call_programs import list_host_programs
from command_rules import CommandRule, ProgramOptions, judge_programs
from running_processes import ends_only_own

from boathook.guards import GuardAnswer, GuardedCall, ask, run_guard
from boathook.shell.started_program import Started

_BY_ID = "Find the process that you started with `pgrep -af NAME`, and end that one with `kill PID`"
_LATER = "Leave that to the person, or ask them to do it when their work is saved"
_SERVICE = "Look at it with `systemctl status`, and ask whether it may stop; `restart` keeps it running"
_RULES = (
    CommandRule(
        "pkill killall killall5 skill",
        "",
        "ends every process that matches, also those of other people and programs",
        _BY_ID,
        unless="-0 -l --list -i --interactive -L -CONT -SIGCONT -WINCH -USR1 -USR2",
    ),
    CommandRule(
        "Stop-Process stop-process spps",
        "",
        "ends every process that matches, also those of other people and programs",
        _BY_ID.replace("`pgrep -af NAME`", "`Get-Process`").replace("`kill PID`", "`Stop-Process -Id`"),
        unless="-Id -id -WhatIf -whatif",
    ),
    CommandRule("Stop-Service stop-service spsv", "", "stops services that others may rely on", _SERVICE, operands=1),
    CommandRule("Stop-Computer stop-computer Restart-Computer restart-computer", "", "takes the machine down", _LATER),
    CommandRule("taskkill", "", "ends processes", _BY_ID, operands=1),
    CommandRule("systemctl", "stop|disable", "stops services that others may rely on", _SERVICE, operands=2),
    CommandRule(
        "systemctl",
        "kill",
        "stops services that others may rely on",
        _SERVICE,
        operands=2,
        # Signals that ask a service to read its settings again, or to say something.
        unless_value="1 HUP SIGHUP 10 USR1 SIGUSR1 12 USR2 SIGUSR2 18 CONT SIGCONT",
    ),
    CommandRule(
        "systemctl",
        "poweroff|reboot|halt|kexec|rescue|emergency|soft-reboot",
        "takes the machine down",
        _LATER,
        unless="--when",
    ),
    CommandRule(
        "systemctl",
        "isolate rescue.target|emergency.target|poweroff.target|reboot.target|halt.target",
        "takes the machine down",
        _LATER,
    ),
    CommandRule("service rc-service", "* stop", "stops a service that others may rely on", _SERVICE),
    CommandRule(
        "launchctl",
        "unload|bootout|remove|kill|disable|stop|reboot",
        "stops services that others may rely on",
        "Look at it with `launchctl print`, and ask whether it may stop",
        operands=2,
    ),
    CommandRule(
        "loginctl",
        "terminate-session|terminate-user|terminate-seat|kill-user|kill-session",
        "ends somebody's session with all programs in it",
        _LATER,
    ),
    CommandRule(
        "pm2", "delete|stop all", "ends every process that pm2 runs", "Name the one that you started: `pm2 stop NAME`"
    ),
    CommandRule("pm2", "kill", "ends every process that pm2 runs", "Name the one that you started: `pm2 stop NAME`"),
    CommandRule(
        "supervisorctl",
        "shutdown",
        "ends every process that it runs",
        "Name the one that you started: `supervisorctl stop NAME`",
    ),
    CommandRule(
        "supervisorctl",
        "stop all",
        "ends every process that it runs",
        "Name the one that you started: `supervisorctl stop NAME`",
    ),
    CommandRule("shutdown", "", "takes the machine down", _LATER, unless="-c -k --show"),
    CommandRule("reboot halt poweroff", "", "takes the machine down", _LATER, unless="-w --wtmp-only"),
    CommandRule("init telinit", "0|1|6|s|S", "takes the machine down", _LATER),
)
_BY_NAME = ("pkill", "killall")
# Programs that read their settings again at the signal HUP, which ends most others.
_RELOADING = frozenset(
    (
        *("nginx", "httpd", "apache2", "haproxy", "sshd", "rsyslogd", "syslogd"),
        *("syslog-ng", "dnsmasq", "named", "unbound", "dovecot", "squid", "inetd"),
        *("xinetd", "cron", "crond", "dockerd", "containerd", "postgres", "mysqld"),
        *("mariadbd", "php-fpm", "gunicorn", "uwsgi", "prometheus", "alertmanager", "telegraf"),
        *("fluentd", "vault", "consul", "smbd", "nmbd", "cupsd", "snmpd"),
        *("mDNSResponder",),
    )
)
_HUP = frozenset(("-HUP", "-SIGHUP", "-1", "--signal=HUP", "--signal=SIGHUP"))
_HUP_PAIRS = frozenset(("-s HUP", "-s SIGHUP", "--signal HUP", "--signal SIGHUP"))
# Programs that print the ids of processes by name, and the one that ends the same ones.
_FINDERS = {"pgrep": "pkill", "pidof": "killall"}
_OPTIONS = {
    "systemctl": ProgramOptions("-H --host -M --machine -t --type -s --signal -n --lines -o --output -p --property"),
    "killall": ProgramOptions("-s --signal -u --user -o --older-than -y --younger-than"),
    "pkill": ProgramOptions("-t -u -U -g -G -P -s"),
}


def decide(call: GuardedCall) -> GuardAnswer | None:
    folders = [folder for folder in (call.project, call.work_dir) if folder.strip("/")]
    programs = [
        program
        for program in map(_find_by_name, list_host_programs(call))
        if program.name not in _BY_NAME or not (_is_reloading(program) or ends_only_own(program, folders))
    ]
    if any(_ends_everything(program) for program in programs):
        return ask(f"`kill -1` as a target ends every process of the user. {_BY_ID}.")
    return judge_programs(map(_find_service, programs), _RULES, _OPTIONS)


def _find_by_name(program: Started) -> Started:
    """Return `kill $(pgrep NAME)` and `pidof NAME | xargs kill` as the calls of `pkill` and `killall` that they are."""
    finder = next((one for one in program.substituted if one.name in _FINDERS), None)
    # Of the children of a process it is known whose they are.
    if program.name != "kill" or finder is None or ArgumentList(finder.words[1:]).has("-P", "--parent"):
        return program
    words = program.words[1:]
    values = ArgumentList(words, "-s -n --signal").get("-s", "-n", "--signal")
    signals = [f"-{value}" for value in values] or [word for word in words[:1] if re.fullmatch(r"-\w+", word)]
    # What is printed beside the ids does not matter.
    shown = [re.sub(r"^-[la]*(?=\w*$)", "-", word) for word in finder.words[1:]]
    found = [word for word in shown if word != "-" and (finder.name == "pgrep" or not word.startswith("-"))]
    return program.replace(words=(_FINDERS[finder.name], *signals, *found))


def _is_reloading(program: Started) -> bool:
    """Whether programs are only told to read their settings again."""
    words = program.words[1:]
    names = [word for word in words if not word.startswith("-") and word not in ("HUP", "SIGHUP")]
    is_told = not _HUP.isdisjoint(words) or any(f"{a} {b}" in _HUP_PAIRS for a, b in pairwise(words))
    return is_told and bool(names) and _RELOADING.issuperset(names)


def _find_service(program: Started) -> Started:
    """Return `/etc/init.d/NAME stop` as a call of `service`."""
    if not program.words[0].startswith("/etc/init.d/"):
        return program
    return program.replace(words=("service", program.name, *program.words[1:]))


def _ends_everything(program: Started) -> bool:
    """Whether `kill` is called with the target -1; the first -1 alone is a signal."""
    if program.name != "kill":
        return False
    arguments = ArgumentList(program.words[1:], "-s -n --signal")
    words = [*program.words[1:]]
    has_signal = bool(arguments.get("-s", "-n", "--signal")) or (len(words) > 1 and words[0].startswith("-"))
    targets = words[1:] if has_signal else words
    return "-1" in targets and not {"-l", "-L", "--list", "--table"} & {*words}


if __name__ == "__main__":
    run_guard(decide)
