"""Files that hold secrets, by their paths: a row for each, and which of them an agent may not read or send."""

# A row is compared with the end of a path, part by part, so that it holds for every user and every project. Words of commands
# may have patterns and unknown parts in them.

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Mapping
from fnmatch import fnmatchcase

from boathook.shell.arguments import UNKNOWN
from boathook.shell.found_paths import FoundPath

# How sure it is that a file holds a secret: nothing in it is meant for an agent; it may be a matter of settings, too; it is
# harmless to read, but should not leave the machine.
CREDENTIAL, SETTINGS, PRIVATE = "credential", "settings", "private"

_KEYS = "a private key"
_CLOUD = "credentials of a cloud service"
_TOKENS = "a token of a tool"
_AGENT = "the token of an agent"
_STORE = "stored passwords"
_PASSWORDS = "passwords of the system"

_CREDENTIAL_ROWS: dict[str, tuple[str, ...]] = {
    _KEYS: (
        *("id_rsa", "id_dsa", "id_ecdsa", "id_ed25519", "id_ecdsa_sk", "id_ed25519_sk", ".ssh/*", "*.ppk"),
        *(".gnupg/private-keys-v1.d/*", ".gnupg/secring.gpg", ".gnupg/*.key", "ssh_host_*_key", ".minisign/*.key"),
        *(".config/age/*", ".config/sops/age/*", ".ethereum/keystore/*", ".config/solana/id.json", "wallet.dat"),
    ),
    _CLOUD: (
        *(".aws/credentials", ".aws/sso/cache/*", ".aws/cli/cache/*", ".config/gcloud/credentials.db"),
        *(".config/gcloud/application_default_credentials.json", ".config/gcloud/access_tokens.db"),
        *(".config/gcloud/legacy_credentials/*", ".config/gcloud/adc.json", ".azure/accessTokens.json"),
        *(".azure/msal_token_cache.*", ".azure/service_principal_entries.*", ".kube/config", ".kube/*.kubeconfig"),
        *("/etc/kubernetes/*.conf", "/etc/rancher/k3s/k3s.yaml", ".boto", ".s3cfg", ".config/rclone/rclone.conf"),
        *(
            ".config/doctl/config.yaml",
            ".config/hcloud/cli.toml",
            ".oci/*.pem",
            ".oci/sessions/*",
            ".bluemix/config.json",
        ),
        *(".linode-cli", ".config/linode-cli", ".config/scw/config.yaml", ".terraform.d/credentials.tfrc.json"),
        *(".pulumi/credentials.json", ".snowflake/connections.toml", ".databrickscfg", ".mc/config.json"),
        *(".config/openstack/clouds.yaml", ".config/b2/account_info", ".config/civo.json", ".civo.json"),
    ),
    _TOKENS: (
        *(".netrc", "_netrc", ".git-credentials", ".config/git/credentials", ".config/gh/hosts.yml", ".config/hub"),
        *(".config/glab-cli/config.yml", ".config/tea/config.yml", "~/.npmrc", "~/.yarnrc", "~/.yarnrc.yml", ".pypirc"),
        *(".pgpass", ".my.cnf", ".mylogin.cnf", ".cargo/credentials", ".cargo/credentials.toml", ".gem/credentials"),
        *(".config/pypoetry/auth.toml", ".config/containers/auth.json", ".docker/config.json", ".dockercfg"),
        *(".vault-token", ".config/op/config", ".config/netlify/config.json", ".wrangler/config/default.toml"),
        *(
            ".config/.wrangler/config/default.toml",
            ".fly/config.yml",
            ".railway/config.json",
            ".config/stripe/config.toml",
        ),
        *(".kaggle/kaggle.json", ".huggingface/token", ".cache/huggingface/token", ".config/ngrok/ngrok.yml"),
        *(".ngrok2/ngrok.yml", ".composer/auth.json", ".config/composer/auth.json", ".nuget/NuGet/NuGet.Config"),
        *(".sentryclirc", ".config/heroku/credentials", ".config/configstore/firebase-tools.json", ".vercel/auth.json"),
        *(".local/share/com.vercel.cli/auth.json", ".expo/state.json", ".circleci/cli.yml", ".travis/config.yml"),
        *(".jira.d/credentials", ".config/sentry/auth.json", ".config/algolia/config.toml", ".doppler/.doppler.yaml"),
        *(".condarc-token", ".jupyter/jupyter_server_config.json", ".m2/settings-security.xml", ".htpasswd"),
    ),
    _AGENT: (
        *(".claude/.credentials.json", ".codex/auth.json", ".gemini/oauth_creds.json", ".qwen/oauth_creds.json"),
        *(".config/github-copilot/hosts.json", ".config/github-copilot/apps.json", ".copilot/auth.json"),
        *(".local/share/opencode/auth.json", ".config/goose/secrets.yaml", ".kimi/credentials/*", ".anthropic/api_key"),
        *(
            ".openai/api_key",
            ".config/openai/api_key",
            ".cursor/auth.json",
            ".factory/auth.json",
            ".kiro/credentials.json",
        ),
        *(".aider/oauth-keys.env", ".continue/.env", ".config/amp/secrets.json"),
    ),
    _STORE: (
        *(".password-store/*", ".local/share/keyrings/*", "Library/Keychains/*", "*.keychain-db", "*.kdbx"),
        *("logins.json", "key4.db", "Login Data", ".local/share/kwalletd/*", ".config/Bitwarden CLI/data.json"),
    ),
    _PASSWORDS: ("/etc/shadow", "/etc/gshadow", "/etc/shadow-", "/etc/master.passwd", "/proc/*/environ"),
}
_SETTINGS_ROWS: dict[str, tuple[str, ...]] = {
    "environment variables with secrets": (".env", ".env.*", "*.env"),
    "secrets": (
        *("credentials.json", "client_secret*.json", "service-account*.json", "service_account*.json"),
        *(
            "secrets.yml",
            "secrets.yaml",
            "secrets.json",
            "secrets.toml",
            "config/master.key",
            ".secrets",
            ".secrets.toml",
        ),
        *(".streamlit/secrets.toml", ".dev.vars", "vault-password", ".vault_pass", ".vault_pass.txt", "vault_pass.txt"),
    ),
}
_PRIVATE_ROWS: dict[str, tuple[str, ...]] = {
    "a key or a certificate": ("*.pem", "*.key", "*.p12", "*.pfx", "*.jks", "*.keystore", "*.asc", "*.p8", "*.ovpn"),
    "private settings": (
        *(".aws/config", ".ssh/config", ".npmrc", ".envrc", "*.tfvars", "*.tfstate", ".bash_history", ".zsh_history"),
        *(
            ".psql_history",
            ".mysql_history",
            ".python_history",
            "terraform.tfstate.backup",
            "/etc/passwd",
            ".dockerconfigjson",
        ),
    ),
}
# Folders that hold such files. Who reads or sends the whole folder gets them.
_CREDENTIAL_FOLDERS = (".ssh", ".gnupg", ".aws", ".config/gcloud", ".kube", ".password-store", "Library/Keychains")
_PRIVATE_FOLDERS = ("certs", "secrets", "private", "credentials", ".docker", ".azure", "private-keys-v1.d", "keys")
# Files of these folders and forms that everybody may read.
_FREE = (
    *("*.pub", "*.pub.*", ".ssh/config", ".ssh/config.*", ".ssh/config/*", ".ssh/config.d/*", ".ssh/known_hosts*"),
    *(
        ".ssh/authorized_keys*",
        ".ssh/authorized_keys.d/*",
        ".ssh/*.md",
        ".ssh/*.txt",
        ".ssh/allowed_signers",
        ".ssh/rc",
    ),
    *(".ssh/environment", ".ssh/README*", "known_hosts"),
    *(f"*.env{end}" for end in (".example", ".sample", ".template", ".tmpl", ".tpl", ".dist", ".defaults", ".schema")),
    *(f"*.env.{middle}" for middle in ("example.*", "*.example", "*.sample", "*.template", "test", "testing", "ci")),
    *("example.env", "sample.env", "template.env", "*.example.env", "test.env", "process.env", "import.meta.env"),
)
_PATTERN_SIGNS = re.compile(r"[*?\[\]]")
_EXTENDED_PATTERN = re.compile(r"[@?*+!]\(([^()|]*)(?:\|[^()]*)?\)")
_SAVED_ENDINGS = re.compile(r"(?:\.(?:bak|backup|old|orig|save|copy|gz|\d+)|~)$")
# What many files have in common that are called after `*`.
_ENDING = re.compile(r"(?<=[*?\]])\.\w+$")
_MAX_LOOKED_AT = 3000
_KEY_HEADER = re.compile(rb"-----BEGIN [A-Z ]*PRIVATE KEY")


class _PathRow:
    """A row for the end of a path; one that begins with `/` is a whole path."""

    def __init__(self, text: str, kind: str = "") -> None:
        self.parts = ("\n" + text if text.startswith("/") else text).split("/")
        self.is_whole, self.kind = text.startswith("/"), kind

    def matches(self, parts: list[str]) -> bool:
        size = len(self.parts)
        if len(parts) < size or (self.is_whole and len(parts) != size):
            return False
        return all(_matches(part, one) for part, one in zip(parts[-size:], self.parts, strict=True))


class _PathRows:
    """Rows, found by the last part of a path."""

    def __init__(self, rows: Mapping[str, Iterable[str]]) -> None:
        self.all = [_PathRow(text, kind) for kind, texts in rows.items() for text in texts]
        self.by_name: dict[str, list[_PathRow]] = {}
        self.patterns = [row for row in self.all if _PATTERN_SIGNS.search(row.parts[-1])]
        for row in self.all:
            if row not in self.patterns:
                self.by_name.setdefault(row.parts[-1], []).append(row)

    def find(self, parts: list[str]) -> _PathRow | None:
        """Return the first row that a path ends with."""
        name = parts[-1]
        rows = self.all if _PATTERN_SIGNS.search(name) else (*self.by_name.get(name, ()), *self.patterns)
        return next((row for row in rows if row.matches(parts)), None)


class SecretPath:
    """A path of a call that holds a secret: how sure that is, and what kind it is."""

    def __init__(self, path: str, level: str, kind: str) -> None:
        self.path, self.level, self.kind = path, level, kind


def find_secret_path(
    path: str, home: str = "", *, whole_folder: bool = False, sends: bool = False
) -> SecretPath | None:
    """Return what is known about a path of a secret, or None. `sends` counts private files, too; `whole_folder` folders."""
    for candidate in _list_candidates(path):
        found = _judge_path(candidate, home, sends=sends) or (
            _judge_folder(candidate, sends=sends) if whole_folder or candidate.endswith(("/", "/*")) else None
        )
        if found:
            return SecretPath(show_path(path), *found)
    return None


def show_path(path: str) -> str:
    """Return a path as people read it."""
    return path.replace(UNKNOWN, "…")


def find_linked_secret(path: str, home: str) -> SecretPath | None:
    """Return the secret that a path on the disk leads to by a link, or is by its text; the text is not kept."""
    try:
        if os.path.islink(path):
            return find_secret_path(os.path.realpath(path), home)
        if path.endswith((".pem", ".key")) and os.path.isfile(path):
            with open(path, "rb") as file:
                return SecretPath(path, SETTINGS, _KEYS) if _KEY_HEADER.search(file.read(4096)) else None
    except (OSError, ValueError):
        return None
    return None


def find_secret_below(folder: str) -> str:
    """Return the first secret file in a folder of this machine, "" if none is found soon."""
    seen = 0
    for top, folders, names in os.walk(folder):
        folders[:] = [name for name in folders if name not in (".git", "node_modules", ".venv", "venv", "target")]
        for name in names:
            seen += 1
            path = f"{top}/{name}"
            if seen > _MAX_LOOKED_AT:
                return ""
            if find_secret_path(path, sends=name.endswith((".key", ".pem"))):
                return path
    return ""


def _list_candidates(path: str) -> list[str]:
    """Return the paths that a word of a command may be."""
    if isinstance(path, FoundPath):
        names = (*path.filters.names, *(one.rpartition("/")[2] for one in path.filters.paths))
        return [*(f"{path}/{name}" for name in names if _remove_pattern(name)), f"{path}/"]
    plain = path.removeprefix("file://")
    if "(" in plain:
        plain = _EXTENDED_PATTERN.sub(r"\1", plain)
    candidates = [plain]
    if "?" in plain:
        candidates.append(plain.replace("?", ""))
    if _SAVED_ENDINGS.search(plain):
        candidates.append(_SAVED_ENDINGS.sub("", plain))
    return candidates


def _judge_path(path: str, home: str, *, sends: bool) -> tuple[str, str] | None:
    parts = _split(path, home)
    if not parts:
        return None
    is_free = _FREE_ROWS.find(parts) is not None
    for level, rows in _TABLES:
        is_counted = sends if level == PRIVATE else not is_free
        if is_counted and (row := rows.find(parts)):
            return level, row.kind
    return None


def _judge_folder(path: str, *, sends: bool) -> tuple[str, str] | None:
    parts = _split(path.removesuffix("/*").rstrip("/"), "")
    if parts and _CREDENTIAL_FOLDER_ROWS.find(parts):
        return CREDENTIAL, "a folder of keys and credentials"
    if parts and sends and _PRIVATE_FOLDER_ROWS.find(parts):
        return PRIVATE, "a folder of keys or certificates"
    return None


def _split(path: str, home: str) -> list[str]:
    if home and path.startswith(home.rstrip("/") + "/"):
        path = "~" + path[len(home.rstrip("/")) :]
    if path.startswith("/"):
        path = "\n" + path
    return [part for part in path.split("/") if part not in ("", ".")]


def _matches(part: str, row: str) -> bool:
    if fnmatchcase(part, row):
        # A pattern such as `*` is no name yet.
        return part == row or bool(_remove_pattern(part)) or row == "*"
    is_pattern = _PATTERN_SIGNS.search(part) is not None
    # `.e*` is mostly one file; `e*` may be many.
    known = len(_remove_pattern(_ENDING.sub("", part))) + (2 if part.startswith(".") else 0)
    return is_pattern and known > 2 and fnmatchcase(row, part)


def _remove_pattern(text: str) -> str:
    return _PATTERN_SIGNS.sub("", text).strip(UNKNOWN + ".")


_TABLES = (
    (CREDENTIAL, _PathRows(_CREDENTIAL_ROWS)),
    (SETTINGS, _PathRows(_SETTINGS_ROWS)),
    (PRIVATE, _PathRows(_PRIVATE_ROWS)),
)
_FREE_ROWS, _CREDENTIAL_FOLDER_ROWS, _PRIVATE_FOLDER_ROWS = (
    _PathRows({"": rows}) for rows in (_FREE, _CREDENTIAL_FOLDERS, _PRIVATE_FOLDERS)
)
