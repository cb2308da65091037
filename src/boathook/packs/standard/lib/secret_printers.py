"""Commands that print secrets which are in no file of the command: of password managers, clouds and clusters, and of code."""

from __future__ import annotations

import re

from lazy_pattern import LazyPattern
from program_list import is_dry_run
from written_commands import is_name_of_secret

from boathook.core.interpreters import is_interpreter, remove_version
from boathook.shell.started_program import Started

_AWS = (
    r"(?:.* )?(?:secretsmanager (?:batch-)?get-secret-value|ssm get-parameters?(?:-by-path)?\b.* --with-decryption"
    r"|sts get-session-token|ecr(?:-public)? get-login-password|configure export-credentials|iam create-access-key"
    r"|configure get (?:\S+\.)?aws_secret_access_key|codeartifact get-authorization-token|rds generate-db-auth-token)"
)
_AZURE = (
    r"(?:.* )?(?:account get-access-token|keyvault secret show|storage account (?:keys list|show-connection-string)"
    r"|acr credential show|acr login\b.* --expose-token|cosmosdb keys list|redis list-keys|ad sp create-for-rbac)"
)
_CLUSTER = (
    r"(?=.* (?:-o|--output)[= ]?(?:yaml|json\b|\S*(?<!meta)data))(?:.* )?get (?:.* )?secrets?(?=[ /,])"
    r"|(?:.* )?(?:config view\b.* --raw|create token|whoami (?:-t|--show-token))"
)
_STORE_SHOW = (
    r"(?!(?:.* )?(?:-\w*c|--clip)\b)(?:show |(?:-o |--password )?(?!(?:init|ls|list|grep|find|search|insert|add|edit|generate|rm"
    r"|remove|delete|mv|rename|cp|copy|git|help|version|otp|sync|mounts|setup|config|clone|audit|recipients)\b)[\w./@][\w./@-]*$)"
)
# The arguments of a program that prints a secret, as a regular expression for their beginning. Blanks in a word are `_`.
_ROWS: dict[str, str] = {
    "gh": r"(?:.* )?auth (?:token|status\b.* (?:-t|--show-token))",
    "glab": r"(?:.* )?(?:auth status\b.* (?:-t|--show-token)|config get (?:.* )?token)",
    "aws": _AWS,
    "az": _AZURE,
    "gcloud": r"(?:.* )?(?:print-(?:access|identity)-token|secrets versions access|sql generate-login-token)",
    **dict.fromkeys(("kubectl", "oc"), _CLUSTER),
    "vault": r"(?:kv get|read (?!(?:.* )?(?:sys|auth)/)|print token|token create|unwrap)",
    **dict.fromkeys(("pass", "gopass"), _STORE_SHOW),
    "op": r"(?:read |item get .*--(?:reveal|fields|otp|format)|document get)",
    "bw": r"(?:get (?:item|password|totp|notes)|export|list items|unlock\b.* --raw)",
    "lpass": r"(?:show|export)",
    "keepassxc-cli": r"(?:show\b.* (?:-s|--show-protected|-a|--attributes)|export)",
    "security": r"(?:find-(?:generic|internet)-password\b.* -\w*[wg]\w*|dump-keychain|export)",
    "secret-tool": r"(?:lookup|search)",
    "doppler": r"secrets(?!.* --only-names)(?: get| download\b.* --no-file|(?: -\S+)*$)",
    "infisical": r"(?:secrets(?: get|(?: -\S+)*$)|export)",
    "chamber": r"(?:read|export|env)",
    "sops": r"(?:.* )?(?:-d|--decrypt|decrypt)(?!.*(?:--output|-i|--in-place)\b)",
    "ansible-vault": r"view",
    "heroku": r"(?:config(?::get)?|auth:token|pg:credentials:url)(?: |$)",
    "railway": r"variables(?!.*--set)",
    "netlify": r"env:(?:get|list\b.* --plain)",
    **dict.fromkeys(("fly", "flyctl"), r"(?:auth token|tokens create)"),
    "pulumi": r".*--show-secrets",
    "git": r"(?:.* )?credential fill",
    "gpg": r"(?:.* )?--export-secret-(?:sub)?keys",
    "cf": r"oauth-token",
    "docker-credential-desktop": r"get",
    **dict.fromkeys(("docker", "podman"), r"(?:container )?inspect\b.*(?:-f|--format)[= ]\S*\.Config\.Env\b"),
    "nmcli": r"(?:.* )?(?:-s|--show-secrets)",
    "wg": r"showconf",
}
# Of these, what a secret manager or a cloud hands out by its name: it has its own rules and its own record of who may read what.
# The tokens of a login, a person's own passwords, and whole lists are not among them.
_NAMED_ROWS: dict[str, str] = {
    "aws": r"(?:.* )?(?:secretsmanager get-secret-value|ssm get-parameter )",
    "az": r"(?:.* )?(?:keyvault secret show|(?:storage account|cosmosdb) keys list|storage account show-connection-string"
    r"|acr credential show|redis list-keys)",
    "gcloud": r"(?:.* )?secrets versions access",
    "vault": r"(?:kv get|read)",
    # These are the names of the vaults that belong to one person.
    "op": r"read (?!(?:.* )?op://(?i:private|personal|employee)/)",
    **dict.fromkeys(("doppler", "infisical"), r"secrets get"),
    "chamber": r"read",
    "heroku": r"config:get",
    "netlify": r"env:get",
}
_COMPILED = {name: LazyPattern(rf"(?:{text})(?:(?![\w-])|(?<= ))") for name, text in _ROWS.items()}
_COMPILED_NAMED = {name: LazyPattern(text) for name, text in _NAMED_ROWS.items()}
# Of all, those whose output alone gives a whole store away. The others are the way that tools hand a secret on.
_STORE_DUMPS = ("dump-keychain", "--export-secret-keys", "--export-secret-subkeys", "export-credentials", "export")
_MAX_ARGUMENT_CHARS = 2000

# Code that prints the whole environment, by the name of the interpreter.
_CODE_DUMPS = {
    "python": r"(?<!env=)\b(?:print\w*|pp|dumps|dict|str)\(\s*\**os\.environ\s*\)|os\.environ\.(?:items|values)\(\)",
    "node": r"(?:console\.\w+|stringify|entries|values)\(\s*process\.env\s*[,)]|^\s*process\.env\s*;?\s*$",
    "ruby": r"\b(?:puts|pp?|print)\b[ (]*ENV(?:\.to_h|\.inspect)?\s*(?:$|[;)])|\bENV\.each",
    "perl": r"(?<!keys )%ENV\b|\$ENV\{\$\w+\}",
    "php": r"(?:print_r|var_dump|var_export|json_encode)\(\s*(?:\$_ENV|getenv\(\s*\))",
}
_CODE_ROWS = {name: LazyPattern(text, re.DOTALL) for name, text in _CODE_DUMPS.items()}
_SAME_LANGUAGES = {"nodejs": "node", "bun": "node", "deno": "node", "pypy": "python", "ipython": "python"}
_PRINTS = re.compile(r"\b(?:print(?:_r)?|puts|pp?|log|dump|write|echo|json_encode|var_export|var_dump)\b|console\.")
_SHOWN_VARIABLE = LazyPattern(
    r"(?:(?:print|console\.log|puts|echo)\b[\s(]*|^\s*)(?:os\.environ(?:\.get\(|\[)|os\.getenv\(|process\.env(?:\.|\[)|ENV(?:\[|\.fetch\()|getenv\()"
    r"\s*+['\"]?(\w++)['\"]?+[\])]*+(?!\w|\s*(?:is\b|!=|==|\[:|&&|\?[^?]|\.length))"
)
_MAX_CODE_CHARS = 100_000


def is_secret_printer(program: Started) -> bool:
    """Whether a program prints a secret that a manager, a cloud or a cluster keeps."""
    row = _COMPILED.get(program.name)
    return row is not None and not is_dry_run(program) and row.match(_write_arguments(program)) is not None


def is_named_secret(program: Started) -> bool:
    """Whether a program prints the one secret that it is asked for, as a secret manager or a cloud hands it out."""
    row = _COMPILED_NAMED.get(program.name)
    return row is not None and row.match(_write_arguments(program)) is not None


def _write_arguments(program: Started) -> str:
    return " ".join(re.sub(r"\s", "_", word) for word in program.words[1:])[:_MAX_ARGUMENT_CHARS]


def is_store_dump(program: Started) -> bool:
    return is_secret_printer(program) and any(word in _STORE_DUMPS for word in program.words[1:])


def find_code_variables(program: Started) -> str:
    """Return what code in the words or the input of an interpreter shows of the environment, "" if nothing."""
    if not is_interpreter(program.name):
        return ""
    plain = remove_version(program.name)
    row = _CODE_ROWS.get(_SAME_LANGUAGES.get(plain, plain))
    for text in (*program.words[1:], program.input_text, program.script_text):
        code = text[:_MAX_CODE_CHARS]
        is_printed = any(word in ("-p", "--print", "-pe") for word in program.words) or _PRINTS.search(code)
        if row is None or not is_printed:
            continue
        if row.search(code):
            return "all variables of the environment"
        for match in _SHOWN_VARIABLE.finditer(code):
            if is_name_of_secret(match[1]):
                return f"the value of {match[1]}"
    return ""
