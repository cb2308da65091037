#!/usr/bin/env python3
"""Asks before tools for infrastructure as code change or delete what they manage."""

from __future__ import annotations

from call_programs import list_host_programs
from command_rules import CommandRule, ProgramOptions, judge_programs

from boathook.guards import GuardAnswer, GuardedCall, run_guard

_TERRAFORM = "terraform tofu terragrunt"
_PLAN = "Show the result of `plan` to the person, and let them apply it"
_STATE = "Save the state first (`state pull > backup.tfstate`), and ask"
_PREVIEW = "Show the result of `preview` to the person first"
_DIFF = "Show what would change (`diff`) to the person first"
_CHECK = "Run it with `--check --diff` first, and show the result"
_RULES = (
    CommandRule(_TERRAFORM, "apply", "changes real servers and services", _PLAN),
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
    CommandRule("pulumi", "up|update", "changes real servers and services", _PREVIEW),
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
        "runs a command on all machines that the pattern names",
        "Use `-m ping` or `--check`, or limit it to one host",
        needs="-m --module-name -a --args",
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
_ANSIBLE_VALUES = (
    "-i --inventory -l --limit -m --module-name -a --args -e --extra-vars -u --user -f --forks -t --tags --skip-tags -M"
    " --private-key --key-file -T --timeout --start-at-task --vault-id --vault-password-file -c --connection"
)
_OPTIONS = {
    **dict.fromkeys(_TERRAFORM.split(), ProgramOptions("-chdir -var -var-file -target -state", has_long_dash=True)),
    "pulumi": ProgramOptions("-C --cwd -s --stack -m --message -p --parallel -c --config"),
    **dict.fromkeys(("ansible", "ansible-playbook", "ansible-pull"), ProgramOptions(_ANSIBLE_VALUES)),
    "cdk": ProgramOptions("-a --app -c --context --profile -o --output -r --role-arn"),
}
_SAFE_MODULES = ("ping", "setup", "debug", "stat", "ansible.builtin.ping", "ansible.builtin.setup")


def decide(call: GuardedCall) -> GuardAnswer | None:
    programs = [
        program
        for program in list_host_programs(call)
        if not (program.name == "ansible" and any(word in _SAFE_MODULES for word in program.words))
    ]
    return judge_programs(programs, _RULES, _OPTIONS)


if __name__ == "__main__":
    run_guard(decide)
