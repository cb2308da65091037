"""Destructive commands of service tools, by their verbs: a row for each tool, and words that say what a command does."""

# A command of such a tool is words that lead to a verb: `gcloud compute instances delete NAME`. Words are read from the left,
# up to the depth of the tool; the first verb decides, so that names behind it do not count.

from __future__ import annotations

import re

from program_list import is_dry_run

from boathook.shell.arguments import find_option_values, list_operands
from boathook.shell.started_program import Started

_DESTRUCTIVE = frozenset(
    (
        *(
            "delete",
            "destroy",
            "remove",
            "rm",
            "purge",
            "drop",
            "terminate",
            "prune",
            "wipe",
            "erase",
            "truncate",
            "flush",
        ),
        *(
            "revoke",
            "deregister",
            "nuke",
            "del",
            "rb",
            "rmdir",
            "deletion",
            "teardown",
            "decommission",
            "obliterate",
        ),
        *(
            "unsubscribe",
            "forget",
            "empty",
            "expunge",
            "kill",
            "deactivate",
            "deletefile",
            "clear",
            "archive",
        ),
        *(
            "undeploy",
            "invalidate",
            "rdelete",
            "removevolume",
            "disassociate",
            "scrub",
            "bulkdelete",
            "disable",
        ),
    )
)
# Verbs after which nothing is destroyed, whatever names follow.
_HARMLESS = frozenset(
    (
        *(
            "list",
            "ls",
            "get",
            "describe",
            "show",
            "view",
            "info",
            "cat",
            "help",
            "version",
            "find",
            "tail",
            "inspect",
            "stat",
        ),
        *(
            "download",
            "read",
            "check",
            "diff",
            "plan",
            "validate",
            "whoami",
            "create",
            "add",
            "new",
            "init",
            "login",
            "logout",
        ),
        *(
            "lookup",
            "head",
            "exists",
            "open",
            "explain",
            "print",
            "dump",
            "lint",
            "doctor",
            "watch",
            "wait",
            "generate",
            "preview",
        ),
        *(
            "browse",
            "receive",
            "ping",
            "copy",
            "cp",
            "clone",
            "pull",
            "fetch",
            "completion",
            "top",
            "verify",
            "locate",
            "put",
        ),
        *(
            "enable",
            "register",
            "start",
            "upload",
            "attach",
            "associate",
            "subscribe",
            "publish",
            "send",
            "import",
            "unarchive",
        ),
        *("undelete", "scan", "configure", "dev"),
    )
)
# Words that are verbs in some tools and things in others: what is behind them decides.
_AMBIGUOUS = frozenset(
    (
        *(
            "backup",
            "restore",
            "log",
            "logs",
            "config",
            "settings",
            "history",
            "events",
            "export",
            "ssh",
            "build",
            "test",
        ),
        *("query", "search", "run", "exec", "status", "snapshots", "url"),
    )
)
# Options of many tools that have a value and may be before the command.
_GLOBAL_VALUES = frozenset(
    (
        *(
            "--profile",
            "--region",
            "--output",
            "--endpoint-url",
            "--project",
            "--account",
            "--config",
            "--context",
            "--server",
        ),
        *(
            "--namespace",
            "--url",
            "--token",
            "--host",
            "--user",
            "--port",
            "--repo",
            "--app",
            "--org",
            "--env",
            "--stack",
            "--zone",
        ),
        *(
            "--subscription",
            "--resource-group",
            "--query",
            "--kubeconfig",
            "--address",
            "--vhost",
            "--cluster",
            "--log-level",
        ),
        *(
            "--access-token",
            "--api-key",
            "--password-file",
            "--scope",
            "--team",
            "--password",
            "--username",
            "--endpoints",
        ),
        *("-r", "-s", "-a", "-R", "-g", "-c", "-u", "-H", "-t", "-n", "-p", "-e"),
    )
)
# Up to so many words, what is behind an ambiguous one must be the verb.
_SHORT_DEPTH = 4
_WORD_PARTS = re.compile(r"[-:_./]")
_COMMAND_WORD = re.compile(r"[a-z][a-z0-9]*(?:[-:_.][a-z0-9]+)*")


class ToolRow:
    """How many words the commands of a tool may have, more verbs that destroy, and verbs of the tool that do not."""

    def __init__(self, depth: int = 3, more: str = "", less: str = "", *, begins_with_service: bool = False) -> None:
        self.depth, self.more, self.less = depth, frozenset(more.split()), frozenset(less.split())
        self.begins_with_service = begins_with_service


TOOLS: dict[str, ToolRow] = {
    # Clouds
    "aws": ToolRow(2, "release abort close change update-secret put-secret-value", begins_with_service=True),
    "gcloud": ToolRow(7, "", "config auth components disable cancel clear"),
    "bq": ToolRow(1),
    "gsutil": ToolRow(1),
    "az": ToolRow(7, "", "cache configure extension cancel"),
    "azcopy": ToolRow(1, less="jobs"),
    "azd": ToolRow(1, "down"),
    "doctl": ToolRow(5, less="auth"),
    "hcloud": ToolRow(3, "rebuild", "context"),
    "linode-cli": ToolRow(3, "rebuild"),
    "vultr-cli": ToolRow(3),
    "scw": ToolRow(4, "terminate"),
    "oci": ToolRow(6),
    "ibmcloud": ToolRow(4, "service-delete"),
    "aliyun": ToolRow(3),
    "ovhcloud": ToolRow(4),
    "openstack": ToolRow(4),
    "civo": ToolRow(3),
    "exo": ToolRow(4),
    "upctl": ToolRow(3),
    "eksctl": ToolRow(3),
    "eb": ToolRow(2, "terminate"),
    "copilot": ToolRow(3),
    "sam": ToolRow(2),
    "serverless": ToolRow(2),
    "sls": ToolRow(2),
    "cdk8s": ToolRow(2),
    "amplify": ToolRow(3),
    # Platforms
    "heroku": ToolRow(1, "destroy reset unset", "config"),
    "fly": ToolRow(3, "unset", "logs"),
    "flyctl": ToolRow(3, "unset"),
    "vercel": ToolRow(3, "rollback"),
    "netlify": ToolRow(2, "unset"),
    "wrangler": ToolRow(4, "rollback", "dev"),
    "firebase": ToolRow(2, less="disable"),
    "railway": ToolRow(3, "down"),
    "render": ToolRow(3),
    "koyeb": ToolRow(3),
    "dokku": ToolRow(2),
    "supabase": ToolRow(3, "unset"),
    "neonctl": ToolRow(3),
    "neon": ToolRow(3),
    "pscale": ToolRow(3),
    "turso": ToolRow(3),
    "convex": ToolRow(2),
    "gh": ToolRow(3, less="disable cancel clear alias extension extensions ext cache"),
    "glab": ToolRow(3, less="cancel alias"),
    "tea": ToolRow(3),
    "gitlab-runner": ToolRow(1, "unregister reset-token"),
    "circleci": ToolRow(3, "remove-secret"),
    "buildkite-agent": ToolRow(3),
    "jenkins-cli": ToolRow(1, "disable-job quiet-down shutdown safe-shutdown"),
    "fly-ci": ToolRow(2, "destroy-pipeline"),
    # Storage and backup
    "mc": ToolRow(4, "rb"),
    "s3cmd": ToolRow(1, "rb expire"),
    "s5cmd": ToolRow(1, "rb"),
    "b2": ToolRow(3, "delete-bucket hide-file delete-file-version"),
    "rclone": ToolRow(1, "deletefile purge rmdirs cleanup move", "config"),
    "restic": ToolRow(2, "forget prune"),
    "borg": ToolRow(2, "rdelete compact break-lock"),
    "borgmatic": ToolRow(1, "compact"),
    "kopia": ToolRow(3, "expire"),
    "duplicity": ToolRow(1, "remove-older-than remove-all-but-n-full cleanup"),
    "velero": ToolRow(3, "uninstall"),
    "duplicacy": ToolRow(1),
    "rdiff-backup": ToolRow(1),
    "ossutil": ToolRow(1),
    # Queues
    "rabbitmqctl": ToolRow(1, "reset force_reset stop stop_app close_all_connections"),
    "rabbitmqadmin": ToolRow(2),
    "nats": ToolRow(3, "rmm", "pub publish req request reply"),
    "kcat": ToolRow(1),
    "pulsar-admin": ToolRow(3, "unload"),
    "rpk": ToolRow(3),
    "kaf": ToolRow(3),
    # Secrets and settings
    "vault": ToolRow(3, "unmount", "unwrap"),
    "bao": ToolRow(3),
    "op": ToolRow(3, "suspend"),
    "bw": ToolRow(2),
    "doppler": ToolRow(3),
    "infisical": ToolRow(3),
    "chamber": ToolRow(1),
    "etcdctl": ToolRow(2, "compact defrag"),
    "consul": ToolRow(3, "leave force-leave"),
    "nomad": ToolRow(3, "stop drain gc"),
    "boundary": ToolRow(3),
    "teleport": ToolRow(2),
    "tctl": ToolRow(2, "lock"),
    "sops": ToolRow(1),
    # Services
    "stripe": ToolRow(2, "refunds cancel"),
    "square": ToolRow(2),
    "twilio": ToolRow(4),
    "sendgrid": ToolRow(3),
    "mailgun": ToolRow(3),
    "postmark": ToolRow(3),
    "algolia": ToolRow(3),
    "meilisearch": ToolRow(2),
    "typesense": ToolRow(2),
    "datadog-ci": ToolRow(3),
    "dog": ToolRow(3),
    "newrelic": ToolRow(4),
    "pd": ToolRow(3),
    "sentry-cli": ToolRow(3),
    "grafana-cli": ToolRow(3),
    "grafanactl": ToolRow(3),
    "splunk": ToolRow(2, "clean"),
    "promtool": ToolRow(2),
    "amtool": ToolRow(3, "expire"),
    "ldcli": ToolRow(3),
    "flipt": ToolRow(3),
    "unleash": ToolRow(3, less="disable"),
    "split": ToolRow(3, less="disable"),
    "fastly": ToolRow(3),
    "cloudflared": ToolRow(3),
    "flarectl": ToolRow(3),
    "cf-terraforming": ToolRow(2),
    "apigeecli": ToolRow(4),
    "deck": ToolRow(2, "sync reset"),
    "kong": ToolRow(2, "stop"),
    "traefik": ToolRow(2),
    "tailscale": ToolRow(2, "logout"),
    "ngrok": ToolRow(4),
    "auth0": ToolRow(3),
    "okta": ToolRow(3),
    "kcadm.sh": ToolRow(2),
    "shopify": ToolRow(3),
    "hubspot": ToolRow(3),
    "hs": ToolRow(2),
    "contentful": ToolRow(3),
    "sanity": ToolRow(3),
    "elastic": ToolRow(3),
    "ecctl": ToolRow(3, "shutdown stop"),
    "mongocli": ToolRow(4),
    "atlas": ToolRow(4, "pause"),
    "ccloud": ToolRow(4),
    "confluent": ToolRow(4),
    "snow": ToolRow(4),
    "databricks": ToolRow(3, "permanent-delete"),
    "kaggle": ToolRow(3),
    "huggingface-cli": ToolRow(3),
    "hf": ToolRow(3),
    "replicate": ToolRow(3),
    "modal": ToolRow(3, "stop"),
    "runpodctl": ToolRow(2),
    "jira": ToolRow(3),
    "linear": ToolRow(3),
    "flux": ToolRow(3, "uninstall"),
    "argo": ToolRow(2, "stop"),
    "argocd": ToolRow(3),
    "tkn": ToolRow(3),
    "pdnsutil": ToolRow(1, "delete-zone delete-rrset"),
    "samba-tool": ToolRow(3),
    "kadmin": ToolRow(2),
    "docker-machine": ToolRow(1),
    "linodecli": ToolRow(3),
    "proxmox": ToolRow(2),
    "qm": ToolRow(1, "destroy rollback"),
    "pct": ToolRow(1, "destroy rollback"),
    "virsh": ToolRow(1, "destroy undefine vol-delete pool-destroy vol-wipe snapshot-delete"),
    "incus": ToolRow(2),
    "lxc": ToolRow(2),
    "zfs": ToolRow(1, "rollback"),
    "zpool": ToolRow(1, "labelclear"),
    "juju": ToolRow(1, "destroy-model destroy-controller kill-controller remove-application"),
    "gitlab-ctl": ToolRow(1, "cleanse uninstall"),
}
# Options that delete, with words that must be there as well.
OPTION_ROWS: tuple[tuple[tuple[str, ...], tuple[str, ...], tuple[str, ...]], ...] = (
    (("kafka-topics", "kafka-topics.sh"), (), ("--delete",)),
    (("kafka-consumer-groups", "kafka-consumer-groups.sh"), (), ("--delete", "--delete-offsets", "--reset-offsets")),
    (("kafka-acls", "kafka-acls.sh"), (), ("--remove",)),
    (("kafka-configs", "kafka-configs.sh"), ("--alter",), ("--delete-config",)),
    (("kafka-delete-records", "kafka-delete-records.sh"), (), ("--offset-json-file",)),
    (("kafka-streams-application-reset",), (), ("--application-id",)),
    (("aws",), ("sync",), ("--delete",)),
    (("gcloud",), ("rsync",), ("--delete-unmatched-destination-objects",)),
    (("gsutil",), ("rsync",), ("-d",)),
    (("azcopy",), ("sync",), ("--delete-destination",)),
    (("s3cmd", "s5cmd", "b2", "ossutil"), ("sync",), ("--delete-removed", "--delete", "--replace-newer")),
    (("mc",), ("mirror",), ("--remove",)),
    (("mc",), ("mirror",), ("--overwrite",)),
    (("rclone",), ("sync",), ("sync",)),
    (
        ("rsync",),
        (),
        ("--delete", "--del", "--delete-before", "--delete-after", "--delete-during", "--delete-excluded"),
    ),
    (("lftp",), (), ("--delete",)),
    (("restic",), ("unlock",), ("--remove-all",)),
    (("nginx",), ("-s",), ("stop", "quit")),
    (("haproxy",), (), ("-sf", "-st")),
    (("borgmatic",), (), ("--prune", "prune")),
    (("rdiff-backup",), (), ("--remove-older-than",)),
    (("glab", "gh"), ("api",), ("DELETE",)),
    (("deck",), (), ("reset",)),
    (("ldapdelete", "ldapmodify"), (), ("-r", "-D", "-f")),
    (("nsupdate",), (), ("delete",)),
    (("kcat",), (), ("--delete",)),
)


_SCALE_TO_ZERO = re.compile(
    r"(?:^| )(?:--(?:desired-count|desired-capacity|desired-size|num-nodes|size)[= ]0|ps:scale (?:.* )?\w+=0"
    r"|scale count (?:\w+=)?0)(?= |$)"
)
# Sockets by which load balancers take orders, and orders that take something away.
_ADMIN_SOCKET = re.compile(r"haproxy|admin[\w.]*\.sock")
_TYPED_COMMAND = re.compile(
    r"(?im)^\s*(?:disable \w+|shutdown \w+|del \w+|clear \w+|set server \S+ state (?:maint|drain)|(?:update )?delete)\b.*"
)


def find_destructive_words(program: Started) -> str:
    """Return the words of a command that destroys something in a service, "" if it does not, or only says what it would."""
    if is_dry_run(program):
        return ""
    row = TOOLS.get(program.name)
    if program.name == "zfs" and _is_listing(program.words[1:]):
        return ""
    words = _find_verb(_list_command_words(program), row) if row else ""
    words = words or (_find_scale_to_zero(program) if row else "")
    return f"{program.name} {words}" if words else _find_option(program) or _find_typed_command(program)


def _find_scale_to_zero(program: Started) -> str:
    """Return the option by which a service gets nothing to run on any more, "" if there is none."""
    match = _SCALE_TO_ZERO.search(" ".join(program.words[1:]))
    return match[0].strip() if match else ""


def _find_typed_command(program: Started) -> str:
    """Return the command that a program reads, and that takes something out of service; "" if there is none."""
    is_socket = program.name in ("socat", "nc", "ncat") and any(map(_ADMIN_SOCKET.search, program.words[1:]))
    match = _TYPED_COMMAND.search(program.input_text) if is_socket or program.name == "nsupdate" else None
    return f"{program.name}: {match[0].strip()}" if match else ""


def _list_command_words(program: Started) -> list[str]:
    """Return the operands of a tool without the values of options that most tools take before a command."""
    rest = program.words[1:]
    return list_operands([word for at, word in enumerate(rest) if at == 0 or rest[at - 1] not in _GLOBAL_VALUES])


def _find_verb(operands: list[str], row: ToolRow) -> str:
    for at, word in enumerate(operands[: row.depth]):
        if word in row.less:
            return ""
        # A name or an address: the verb may still come.
        if not _COMMAND_WORD.fullmatch(word) or (at == 0 and row.begins_with_service):
            continue
        parts = [word, *_WORD_PARTS.split(word)]
        if any(part in row.more or part in _DESTRUCTIVE for part in parts):
            return " ".join(operands[: at + 1])
        # Tools with long commands have several things before the verb.
        behind = operands[at + 1 : row.depth if row.depth > _SHORT_DEPTH else at + 2]
        if word in _AMBIGUOUS and _DESTRUCTIVE.isdisjoint(behind) and row.more.isdisjoint(behind):
            return ""
        if not _HARMLESS.isdisjoint((word, parts[1], parts[-1])):
            return ""
    return ""


def _find_option(program: Started) -> str:
    arguments = program.words[1:]
    plain = {word.partition("=")[0] for word in arguments}
    for names, required, options in OPTION_ROWS:
        if program.name in names and all(word in plain for word in required):
            option = next((one for one in options if one in plain), "")
            if option and not (program.name == "rsync" and _is_listing(arguments)):
                return " ".join(dict.fromkeys((program.name, *required, option)))
    return ""


def _is_listing(arguments: tuple[str, ...]) -> bool:
    letters = "".join(word for word in arguments if re.fullmatch(r"-[A-Za-z]+", word))
    return "n" in letters or "--list-only" in arguments


# Requests

_THIS_MACHINE = re.compile(r"(?:https?://)?(?:localhost|127\.[\d.]+|0\.0\.0\.0|\[::1\])?(?::(\d+))?(?:/|$)")
# Ports on which stores and servers listen whose data a request can delete. On others of this machine, agents test their work.
_STORE_PORTS = frozenset(
    (
        *(
            "9200",
            "9201",
            "7700",
            "9090",
            "6333",
            "5984",
            "8529",
            "2379",
            "8001",
            "15672",
            "8086",
            "8500",
            "8200",
            "4646",
        ),
        *("8983", "9000", "8123", "8108", "9093", "19530", "4242", "8474", "7474", "27017", "1026", "8444"),
    )
)
_DELETING_PATHS = re.compile(
    r"/(?:delete_series|clean_tombstones|-/quit|_delete_by_query|_close|_forcemerge|doDelete|delete(?:-batch|_batch|All|-all)?|purge(?:_cache|_everything|-all)?"
    r"|destroy|remove|_cluster/settings|terminate|truncate|clear|shutdown|batchDelete)(?:[/?]|$)"
)


def find_deleting_request(program: Started) -> str:
    """Return the method and the address of a request that deletes something, "" if there is none."""
    if program.name not in ("curl", "curlie", "http", "https", "xh", "xhs", "wget"):
        return ""
    rest = list(program.words[1:])
    method, addresses = _find_method(program, rest), _list_addresses(rest)
    for address in addresses:
        match = _THIS_MACHINE.match(address)
        if match and (match[1] or "80") not in _STORE_PORTS:
            continue
        path = re.sub(r"^[a-z]+://", "", address)
        is_deleting = method in ("DELETE", "PURGE") or (
            method in ("POST", "PUT", "PATCH") and _DELETING_PATHS.search(path)
        )
        if is_deleting:
            return f"{method} {address.partition('?')[0]}"
    return ""


def _find_method(program: Started, rest: list[str]) -> str:
    if program.name in ("http", "https", "xh", "xhs"):
        return next((word.upper() for word in rest if word.upper() in ("DELETE", "POST", "PUT", "PATCH", "GET")), "GET")
    methods = find_option_values(rest, "-X", "--request", "--method")
    methods += [word[word.index("X") + 1 :] for word in rest if re.fullmatch(r"-[a-zA-Z]*X[A-Z]+", word)]
    methods += [rest[at + 1] for at, word in enumerate(rest[:-1]) if re.fullmatch(r"-[a-zA-Z]+X", word)]
    sends = any(word.startswith(("-d", "--data", "--json", "-F", "--form", "--post")) for word in rest)
    return methods[0].strip("'\"").upper() if methods else "POST" if sends else "GET"


def _list_addresses(rest: list[str]) -> list[str]:
    with_value = (
        "-H",
        "--header",
        "-d",
        "--data",
        "--data-raw",
        "--data-binary",
        "-X",
        "--request",
        "-o",
        "-u",
        "--user",
        "-F",
    )
    skipped = {at + 1 for at, word in enumerate(rest) if word in with_value}
    return [
        word
        for at, word in enumerate(rest)
        if at not in skipped
        and not word.startswith("-")
        and re.match(r"https?://|:\d+/|[\w.-]+\.[a-z]{2,}(?:[:/]|$)|localhost|\d+\.\d+|\x00", word)
    ]
