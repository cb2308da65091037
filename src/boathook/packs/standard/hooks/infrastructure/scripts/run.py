#!/usr/bin/env python3
"""Asks before tools for infrastructure as code change or delete what they manage."""

from __future__ import annotations

import re

from call_programs import list_host_programs, may_answer
from command_rules import CommandRule, ProgramOptions, judge_programs, read_arguments

from boathook.guards import GuardAnswer, GuardedCall, run_guard
from boathook.shell.started_program import Started

_TERRAFORM = "terraform tofu terragrunt"
_PLAN = "Show the result of `plan` to the person, and let them apply it"
_STATE = "Save the state first (`state pull > backup.tfstate`), and ask"
_PREVIEW = "Show the result of `preview` to the person first"
_DIFF = "Show what would change (`diff`) to the person first"
_CHECK = "Run it with `--check --diff` first, and show the result"
_RULES = (
    # A plan from a file is applied without a question.
    CommandRule(_TERRAFORM, "apply", "changes real servers and services", _PLAN, operands=2),
    CommandRule(
        _TERRAFORM,
        "apply",
        "changes real servers and services without a question",
        f"{_PLAN}; without `-auto-approve` it shows the plan and waits for an answer",
        confirmed="-auto-approve --auto-approve --terragrunt-non-interactive --non-interactive",
    ),
    CommandRule(
        _TERRAFORM, "destroy", "deletes all that the configuration manages", "`plan -destroy` shows what would go"
    ),
    CommandRule("terragrunt", "run-all|run apply|destroy", "changes or deletes what all modules manage", _PLAN),
    CommandRule("terragrunt", "apply-all|destroy-all", "changes or deletes what all modules manage", _PLAN),
    CommandRule(
        _TERRAFORM, "state rm|mv|push|replace-provider", "changes the record of what exists", _STATE, unless="-dry-run"
    ),
    CommandRule(
        _TERRAFORM, "force-unlock", "takes the lock away from somebody who may be applying", "Ask who holds the lock"
    ),
    CommandRule(_TERRAFORM, "workspace delete", "deletes a workspace with its state", _STATE),
    CommandRule(
        "pulumi",
        "up|update",
        "changes real servers and services without a question",
        f"{_PREVIEW}; without `--yes` it shows the preview and waits for an answer",
        confirmed="-y --yes -f --skip-preview",
    ),
    CommandRule("pulumi", "destroy|down", "deletes all that the stack manages", "`preview --diff` shows what is there"),
    CommandRule("pulumi", "stack rm", "deletes a stack with its history", "`pulumi stack export` makes a backup first"),
    CommandRule(
        "pulumi",
        "state delete|unprotect|rename|edit",
        "changes the record of what exists",
        "`pulumi stack export` makes a backup first",
    ),
    CommandRule("cdk cdktf cdklocal", "deploy|destroy|rollback", "changes real servers and services", _DIFF),
    CommandRule("sst", "remove|deploy", "changes real servers and services", _DIFF),
    CommandRule(
        "serverless sls",
        "remove|rollback",
        "deletes or puts back a deployed service",
        "`serverless info` shows what is deployed",
    ),
    CommandRule("sam", "delete", "deletes a deployed stack", "`sam list resources` shows what would go"),
    CommandRule(
        "copilot",
        "app|env|svc|job|pipeline delete",
        "deletes what is deployed",
        "`copilot app show` shows what is there",
    ),
    CommandRule(
        "ansible-playbook",
        "",
        "changes the machines of its inventory",
        _CHECK,
        unless="-C --check --syntax-check --list-hosts --list-tasks --list-tags -h",
        operands=1,
    ),
    CommandRule(
        "ansible",
        "",
        "changes all machines that the pattern names",
        "Use `--check`, or limit it to one host",
        needs="-m --module-name",
        unless="-C --check --list-hosts -h",
    ),
    CommandRule("ansible-pull", "", "changes this machine", _CHECK, unless="-C --check -h", operands=1),
    CommandRule(
        "knife",
        "node|client|role|environment|data delete|bulk",
        "deletes records of the Chef server",
        "`knife download` makes a backup first",
    ),
    CommandRule(
        "puppet",
        "node|cert|certificate clean|purge|destroy|revoke",
        "deletes records of the Puppet server",
        "Ask the person who runs it",
    ),
    CommandRule(
        "salt",
        "* cmd.run|state.apply|state.highstate|pkg.remove|service.stop",
        "changes all machines that the pattern names",
        "Run it with `test=True` first",
    ),
    CommandRule(
        "nomad", "job stop|dispatch|revert", "stops or changes running jobs", "`nomad job plan` shows what would change"
    ),
    CommandRule("nomad", "system gc", "deletes finished jobs and their logs", "Ask the person who runs the cluster"),
    CommandRule(
        "juju",
        "destroy-model|destroy-controller|remove-application|remove-machine|kill-controller",
        "deletes what it manages",
        "`juju status` shows what is there",
    ),
    CommandRule(
        "bosh",
        "delete-deployment|deld|delete-env|recreate",
        "deletes what it manages",
        "`bosh vms` shows what is there",
    ),
)
_TERRAFORM_VALUES = "-chdir -var -var-file -target -replace -state -state-out -backup -lock-timeout -parallelism"
_ANSIBLE_VALUES = (
    "-i --inventory -l --limit -m --module-name -a --args -e --extra-vars -u --user -f --forks -t --tags --skip-tags -M"
    " --private-key --key-file -T --timeout --start-at-task --vault-id --vault-password-file -c --connection"
)
_OPTIONS = {
    **dict.fromkeys(_TERRAFORM.split(), ProgramOptions(_TERRAFORM_VALUES, has_long_dash=True)),
    "pulumi": ProgramOptions("-C --cwd -s --stack -m --message -p --parallel -c --config"),
    **dict.fromkeys(("ansible", "ansible-playbook", "ansible-pull"), ProgramOptions(_ANSIBLE_VALUES)),
    "cdk": ProgramOptions("-a --app -c --context --profile -o --output -r --role-arn"),
}
# Modules of ansible that change nothing, or run a command, which is judged as if it was started by ssh.
_SAFE_MODULES = frozenset(
    ("ping", "setup", "debug", "stat", "command", "shell", "raw", "getent", "slurp", "find", "assert")
)
_CONFIRMING_VARIABLES = re.compile(r"TF_CLI_ARGS\w*|PULUMI_SKIP_CONFIRMATIONS|TF_INPUT|TERRAGRUNT_\w+|TG_\w+")


def decide(call: GuardedCall) -> GuardAnswer | None:
    programs = [program for program in list_host_programs(call) if not _runs_safe_module(program)]
    is_confirmed = may_answer(call) or any(map(_CONFIRMING_VARIABLES.search, call.commands))
    return judge_programs(programs, _RULES, _OPTIONS, has_answer=is_confirmed)


def _runs_safe_module(program: Started) -> bool:
    modules = read_arguments(program, _OPTIONS).get("-m", "--module-name") if program.name == "ansible" else []
    return bool(modules) and modules[-1].removeprefix("ansible.builtin.") in _SAFE_MODULES


if __name__ == "__main__":
    run_guard(decide)
