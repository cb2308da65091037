#!/usr/bin/env python3
"""Asks before parts of a cluster are deleted or changed for good; blocks that where a context or namespace names production."""

from __future__ import annotations

import re
from collections.abc import Sequence
from fnmatch import fnmatchcase

from call_programs import list_host_programs
from command_rules import CommandRule, ProgramOptions, find_rule, read_arguments, write_reason

from boathook.guards import GuardAnswer, GuardedCall, ask, block, run_guard
from boathook.shell.started_program import Started

# What names production: patterns for a word of the name of a context, namespace, cluster or release.
_PRODUCTION = ("prod", "production", "prd", "live")
_DRY = "Try it with `--dry-run=server` and look at what is there with `get` first"
_KUBECTL = "kubectl oc kubecolor k"
_RULES = (
    CommandRule(_KUBECTL, "delete", "deletes parts of a cluster", _DRY, operands=1),
    CommandRule(
        _KUBECTL, "drain", "moves every pod off a node", "`cordon` alone keeps what runs, and can be undone", operands=2
    ),
    CommandRule(
        _KUBECTL, "replace", "deletes and makes anew what it replaces", "`apply` changes it in place", needs="--force"
    ),
    CommandRule(_KUBECTL, "apply", "deletes everything that is not in the files", _DRY, needs="--prune"),
    CommandRule(_KUBECTL, "scale", "stops every pod", "Ask first whether the service may stop", needs="--replicas"),
    CommandRule(
        "helm helm3",
        "uninstall|delete|del|un",
        "deletes a release and what belongs to it",
        "Try it with `--dry-run`; `--keep-history` allows a rollback",
        operands=2,
    ),
    CommandRule(
        "helm helm3",
        "upgrade",
        "deletes and makes anew, or forgets the values of the release",
        "`helm diff upgrade` shows what would change",
        needs="--force --reset-values --force-replace",
    ),
    CommandRule("kubectl oc", "adm drain", "moves every pod off a node", "`cordon` alone keeps what runs"),
    CommandRule(
        "helm helm3",
        "rollback",
        "puts a release back to an older version",
        "Look at `helm history` and `helm diff` first",
        operands=2,
    ),
    CommandRule(
        "helmfile", "destroy|delete", "deletes all releases of the file", "`helmfile diff` shows what is there"
    ),
    CommandRule(
        "argocd",
        "app delete|delete-resource|terminate-op",
        "deletes an application and what belongs to it",
        "`argocd app get` shows what is there",
    ),
    CommandRule(
        "argocd", "proj|cluster|repo|appset rm|delete", "deletes settings of Argo CD", "`get` shows what is there"
    ),
    CommandRule("flux", "uninstall|delete", "deletes parts of a cluster", "`flux suspend` can be undone", operands=1),
    CommandRule("istioctl linkerd", "uninstall", "takes the service mesh away", "Ask the person who runs the cluster"),
    CommandRule(
        "kubeadm",
        "reset",
        "takes this node out of its cluster and deletes its state",
        "`kubectl drain` and `cordon` can be undone",
    ),
    CommandRule(
        "kops eksctl k0sctl clusterctl",
        "delete|reset",
        "deletes a cluster or a part of it",
        "Leave that to the person who runs it",
    ),
    CommandRule(
        "etcdctl", "del", "deletes the state of a cluster", "`etcdctl snapshot save` makes a backup first", operands=2
    ),
)
# What changes a cluster and is everyday work, but not in production.
_CHANGING_VERBS = (
    "apply create replace patch edit scale set rollout run expose label annotate taint cordon exec autoscale cp"
)
_CHANGES = (
    CommandRule(
        _KUBECTL,
        _CHANGING_VERBS.replace(" ", "|"),
        "changes production",
        "Do it in another namespace first, and let a person release it",
        operands=1,
    ),
    CommandRule(
        "helm helm3",
        "install|upgrade",
        "changes production",
        "`helm diff upgrade` or `--dry-run` shows what would change",
        operands=2,
    ),
    CommandRule("argocd", "app sync|rollback|set", "changes production", "`argocd app diff` shows what would change"),
)
_VALUES = (
    "-n --namespace --context --cluster --user --kubeconfig -s --server --token --as --as-group -f --filename -l --selector"
    " -o --output -c --container --field-selector --grace-period --timeout --cascade -k --kustomize --request-timeout -p --patch"
    " --type --kube-context --replicas"
)
_OPTIONS = {
    **dict.fromkeys(_KUBECTL.split(), ProgramOptions(_VALUES)),
    **dict.fromkeys(
        ("helm", "helm3"),
        ProgramOptions("-n --namespace --kube-context --kubeconfig -f --values --set --version --timeout"),
    ),
    **dict.fromkeys(("argocd", "flux", "istioctl"), ProgramOptions("-n --namespace --context --kubeconfig --server")),
}
_PLACE_OPTIONS = ("-n", "--namespace", "--context", "--kube-context", "--cluster", "--kubeconfig")


def decide(call: GuardedCall) -> GuardAnswer | None:
    production = call.list_setting("production", _PRODUCTION)
    answer = None
    for program in list_host_programs(call):
        is_production = _is_production(program, production)
        if rule := find_rule(program, _RULES, _OPTIONS):
            if rule.needs == "--replicas" and "0" not in read_arguments(program, _OPTIONS).get("--replicas"):
                continue
            if is_production:
                return block(f"{write_reason(program, rule)} This is production: leave it to the person.")
            answer = answer or ask(write_reason(program, rule))
        elif is_production and (rule := find_rule(program, _CHANGES, _OPTIONS)):
            answer = answer or ask(write_reason(program, rule))
    return answer


def _is_production(program: Started, patterns: Sequence[str]) -> bool:
    """Whether a name that says where the call works names production."""
    arguments = read_arguments(program, _OPTIONS)
    places = [*arguments.get(*_PLACE_OPTIONS), dict(program.variables).get("KUBECONFIG", "")]
    # `delete namespace prod` names it as an operand.
    if arguments.match_words("delete ns|namespace|namespaces"):
        places += arguments.operands[2:]
    places += [word.partition("/")[2] for word in arguments.operands if word.startswith(("ns/", "namespace/"))]
    words = [word for place in places for word in re.split(r"[^a-z0-9]+", place.lower())]
    return any(fnmatchcase(word, pattern) for word in words for pattern in patterns)


if __name__ == "__main__":
    run_guard(decide)
