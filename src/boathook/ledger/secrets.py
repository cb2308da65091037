"""The patterns of secrets, as rows: what a secret is called, the marks without which there is none, its pattern."""

# Every pattern is searched in linear time: a literal start, then classes that give nothing back, or that a next start cannot
# enter.

from __future__ import annotations

from boathook.core.hashing import hexdigest

TYPE_CHECKING = False
if TYPE_CHECKING:
    from re import Match, Pattern

_MAX_PASSES = 4

_NAME = (
    r"(?:passw(?:or)?d|passphrase|pwd|secret|token|api[_.\- ]?key|access[_.\- ]?key|private[_.\- ]?key|signing[_.\- ]?key"
    r"|encryption[_.\- ]?key|account[_.\- ]?key|credentials?)(?:[_-]?(?:value|key|base|hash|string|text|v?\d{1,3})){0,3}"
)
# names that are secret as variables are written: DB_PASS, MY_KEY; not a MONKEY, nor first-pass
_VARIABLE = (
    r"(?:(?<=_)pass(?:_?\d{1,3})?|(?<![\w\-.])pass(?==)"
    r"|(?-i:(?<=[A-Z0-9])(?<!PUBLIC)(?<!PRIMARY)(?<!FOREIGN)(?<!CACHE)(?<!SORT)(?<!PARTITION)_KEY(?:_?\d{1,3})?)(?=[\"']?[=:]))"
)
_BLANK = r"\s{0,4}+"
_SCHEME = r"(?:(?:basic|bearer|token|digest|negotiate|apikey|aws4-hmac-sha256) +)?+"
_REST = r"([^\s\"'][^\r\n\"']*+)"
_QUOTES = r"[\\\"']{0,4}"
# names of types in code are not secrets
_PLAIN = r"(?!(?:str|string|none|null|nil|true|false|bool|int|any|bytes|undefined)(?![\w\-]))"
_DOUBLE, _SINGLE = r"\"(?:[^\"\\\n]|\\.)*+", r"'[^'\n]*+"
# more of a word of the shell, behind a quoted part: 'a'"b"c
_MORE = r"(?:\"(?![,:;&|}\])])[^\"\s]*+\"|'(?![,:;&|}\])])[^'\s]*+'|[^\s\"',;:&|<>(){}\[\]\\]++)"
_VALUE = (
    rf"(?:(\$?(?:{_DOUBLE}\"|{_SINGLE}'){_MORE}++)|\$'((?:[^'\\\n]|\\.)*+)"
    rf"|\\++\"([^\"\n]*+)|\$?\"((?:[^\"\\\n]|\\.)*+)|\\*'([^'\n]*+)|{_PLAIN}((?:[^\s\"'\\]|\\\n|\\)++{_MORE}*+))"
)
# not the name of a file with cookies
_COOKIE = r"(?:\"([^\s\"'=]{1,100}+=[^\"\n]*+)|'([^\s\"'=]{1,100}+=[^'\n]*+)|([^\s\"'=]{1,100}+=[^\s\"']++))"
# what may be between a command and its option
_WORDS = r"(?:\s{1,4}+[^\s;|&]{1,40}+){0,8}?\s{1,4}+"
# 40 letters, digits, / and +, of every kind some: not the name of a commit, and hardly a path
_AWS_LETTERS = (
    r"(?-i:(?<![A-Za-z0-9/+=])(?!//)(?=[a-z0-9/+]{0,39}[A-Z])(?=[A-Z0-9/+]{0,39}[a-z])(?=[A-Za-z/+]{0,39}\d)"
    r"([A-Za-z0-9/+]{40})(?![A-Za-z0-9/+=]))"
)
# digits in base64, three by three: a Discord token begins with the number of its account
_DISCORD_NUMBER = r"(?:[MNO][DTjz][AEIMQUYcgk][w-z0-5]){5,6}+[\w\-]{0,3}"
_NAME_MARKS = ("passw", "passphrase", "pwd", "secret", "token", "key", "credential")

# rules that know the name of a secret come before others, because the name tells where it ends; marks are in lower case
_NAMED_RULES: tuple[tuple[str, tuple[str, ...], str], ...] = (
    ("authorization", ("authoriz",), rf"authorization{_QUOTES}{_BLANK}[:=]{_BLANK}{_QUOTES}{_SCHEME}{_REST}"),
    ("cookie", ("cookie",), rf"cookie{_QUOTES}{_BLANK}:{_BLANK}{_QUOTES}{_REST}"),
    ("secret", _NAME_MARKS, rf"{_NAME}{_QUOTES}{_BLANK}(?:=>|:=|={{1,3}}|:){_BLANK}{_VALUE}"),
    ("secret", ("_pass", "pass=", "_key"), rf"{_VARIABLE}{_QUOTES}{_BLANK}[=:]{_BLANK}{_VALUE}"),
    ("secret", _NAME_MARKS, rf"(?<![\w\-])--?(?:[a-z0-9]{{1,20}}-){{0,4}}{_NAME}\s{{1,4}}{_VALUE}"),
    ("secret", ("</",), rf"<[\w:.\-]{{0,40}}?{_NAME}(?:\s[^<>]{{0,80}}+)?>\s{{0,40}}+([^<>\s][^<>]*+)</"),
    ("secret", ("config",), rf"config(?:ure)?+\s{{1,4}}+set{_WORDS}[\w.:/\-]{{0,80}}?{_NAME}\s{{1,4}}+{_VALUE}"),
    ("secret", ("login",), r"(?<!\S)login\s{1,8}+\S{1,80}+\s{1,40}+password\s{1,8}+(\S++)"),
)
_UNNAMED_RULES: tuple[tuple[str, tuple[str, ...], str], ...] = (
    ("password", ("://",), r"://[^\s/:@\"'<>]*+:([^\s/\"'<>]*)@"),
    ("token", ("://",), r"://([^\s/:@\"'<>]{16,})@"),
    ("password", ("curl",),
        r"(?<!\S)(?:-[a-z]{0,6}u|--user|--proxy-user)[ =]?[\"']?(?!\d+:\d+(?!\S))[^\s:\"']{0,64}:([^\s\"']++)"),
    ("cookie", ("curl",), rf"(?<!\S)(?:(?-i:-[a-zA-Z]{{0,6}}b)|--cookie)[ =]?{_COOKIE}"),
    ("password", ("redis-cli", "valkey-cli"), rf"(?:redis|valkey)-cli{_WORDS}(?:(?-i:-a)|--pass)\s{{1,4}}+{_VALUE}"),
    ("password", ("mysql", "mariadb"), rf"(?<![\w\-])(?:mysql|mariadb)[a-z\-]{{0,12}}+{_WORDS}(?-i:-p){_VALUE}"),
    ("password", ("sshpass",), rf"sshpass{_WORDS}(?-i:-p){_BLANK}{_VALUE}"),
    ("password", ("docker login", "podman login", "nerdctl login", "buildah login", "skopeo login", "registry login"),
        rf"(?:docker|podman|nerdctl|buildah|skopeo|registry) login{_WORDS}(?-i:-p)[ =]?{_VALUE}"),
    ("bearer", ("bearer",), r"bearer\s{1,4}([A-Za-z0-9._~+/=\-]{8,}+)"),
    ("AWS key", ("akia", "asia", "abia", "acca"), r"(?-i:(?:AKIA|ASIA|ABIA|ACCA)[A-Z0-9]{16})"),
    ("GitHub token", ("ghp_", "gho_", "ghu_", "ghs_", "ghr_", "github_pat_"),
        r"gh[pousr]_[A-Za-z0-9]{20,}+|github_pat_\w{20,}+"),
    ("GitLab token", ("glpat-", "gldt-", "glrt-", "glptt-", "glcbt-"), r"gl(?:pat|dt|rt|ptt|cbt)-[\w.\-]{16,}+"),
    ("Slack token", ("xox", "xapp-"), r"(?:xox[a-z]|xapp)-[A-Za-z0-9\-]{8,}+"),
    ("Slack hook", ("hooks.slack.com/",), r"hooks\.slack\.com/[a-z]{1,20}/([\w/+\-]{8,}+)"),
    ("Discord hook", ("/api/webhooks/",), r"/api/webhooks/\d{1,30}/([\w\-]{16,}+)"),
    ("JWT", ("eyj",), r"(?-i:eyJ[\w\-]{10,}+(?:\.[\w\-]*+){0,4})"),
    ("API key", ("sk-",), r"(?:(?<![A-Za-z0-9])|(?<=\\[nrt]))sk-[\w\-]{16,}+"),
    ("Stripe key", ("sk_live_", "sk_test_", "rk_live_", "rk_test_", "whsec_"),
        r"[sr]k_(?:live|test)_[A-Za-z0-9]{10,}+|whsec_[\w+/=]{16,}+"),
    ("SendGrid key", ("sg.",), r"(?-i:SG\.[\w\-]{10,}+\.[\w\-]{10,}+)"),
    ("npm token", ("npm_",), r"npm_[A-Za-z0-9]{30,}+"),
    ("PyPI token", ("pypi-",), r"pypi-[\w\-]{40,}+"),
    ("Google key", ("aiza", "ya29.", "gocspx-"), r"(?-i:AIza[\w\-]{30,}+|ya29\.[\w.\-]{20,}+|GOCSPX-[\w\-]{20,}+)"),
    ("Hugging Face token", ("hf_",), r"hf_[A-Za-z0-9]{30,}+"),
    ("Vault token", ("hvs.", "hvb."), r"hv[sb]\.[\w\-]{20,}+"),
    ("DigitalOcean token", ("_v1_",), r"do[opr]_v1_[a-f0-9]{32,}+"),
    ("Databricks token", ("dapi",), r"dapi[a-f0-9]{32}"),
    ("Shopify token", ("shpat_", "shpca_", "shppa_", "shpss_"), r"shp(?:at|ca|pa|ss)_[a-f0-9]{32}"),
    ("Linear key", ("lin_api_",), r"lin_api_[A-Za-z0-9]{30,}+"),
    ("age key", ("age-secret-key-",), r"AGE-SECRET-KEY-1[A-Z0-9]{30,}+"),
    ("Telegram token", (":aa",), r"(?-i:\d{8,10}+:AA[\w\-]{30,}+)"),
)  # fmt: skip
# These begin with nothing that is rare: `may_have_shape` looks for them first.
AWS_HINTS = ("aws", "amazon", "secret")
_SHAPED_RULES: tuple[tuple[str, tuple[str, ...], str], ...] = (
    ("AWS secret", (*AWS_HINTS, "akia", "asia"),
        rf"(?:aws|amazon|secret|(?-i:A[KS]IA[A-Z0-9]{{16}}))[^\r]{{0,40}}?{_AWS_LETTERS}"),
    ("Twilio key", ("sk",), r"(?<![A-Za-z0-9])(?-i:SK[0-9a-f]{32})(?![A-Za-z0-9])"),
    ("Discord token", (".",), rf"(?<![\w\-.])(?-i:{_DISCORD_NUMBER}\.[\w\-]{{6}}\.[\w\-]{{27,45}}+)(?![\w\-.])"),
)  # fmt: skip
_KEY_RULE = (
    "key",
    ("-----begin",),
    r"-----BEGIN [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----.*?(?:-----END [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----|\Z)",
)
SECRET_RULES = (_KEY_RULE, *_UNNAMED_RULES[:2], *_NAMED_RULES, *_SHAPED_RULES, *_UNNAMED_RULES[2:])
SECRET_MARKS = tuple(mark for _, marks, _ in (_KEY_RULE, *_UNNAMED_RULES[2:]) for mark in marks)
_HIDDEN = r"(\[redacted [A-Za-z ]{1,20}, \d{1,12} characters, sha256 [0-9a-f]{8}\])"

_LONG_WORD, _TWILIO_LENGTH, _AWS_LENGTH, _DISCORD_LENGTH = 20, 34, 40, 57
# A word in base64, of a text or of a line in JSON text.
_ENCODED = rf"((?:(?<=\\)[nrt])?)([A-Za-z0-9+/_\-]{{{_LONG_WORD},}}+)(={{0,2}})"
_LETTERS = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/-_"
_BETWEEN_ENCODED = bytes(number if number in _LETTERS else 32 for number in range(256))
_STARTS = frozenset("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdef")
_JOINED_LINES = "\\\n"

_patterns: dict[str, Pattern[str]] = {}


def hide_secret(text: str, name: str) -> str:
    if not text or _compile(_HIDDEN).fullmatch(text):
        return text
    digest = hexdigest(text.encode("utf-8", "surrogatepass"))[:8]
    return f"[redacted {name}, {len(text)} characters, sha256 {digest}]"


def hide_secrets(text: str) -> str:
    hidden = _hide_everything(text)
    if _JOINED_LINES not in hidden:
        return hidden
    # a shell reads lines that end with a backslash as one
    joined = hidden.replace(_JOINED_LINES, "")
    hidden_again = _hide_everything(joined)
    return hidden if hidden_again == joined else hidden_again


def _hide_everything(text: str) -> str:
    parts = _compile(_HIDDEN).split(_hide_plain(text))
    parts[::2] = [_compile(_ENCODED).sub(_hide_encoded, part) for part in parts[::2]]
    return "".join(parts)


def _hide_encoded(match: Match[str]) -> str:
    decoded = _decode_base64(match[2])
    if not decoded or _hide_plain(decoded) == decoded:
        return match[0]
    return match[1] + hide_secret(match[2] + match[3], "encoded secret")


def _decode_base64(word: str) -> str:
    """Return the text that a word is in base64, of either alphabet and in UTF-16 too; "" if it is none."""
    # every third byte of plain text begins with a zero, so most paths end here
    if not _STARTS.issuperset(word[::4]):
        return ""
    from binascii import a2b_base64

    standard = word.replace("-", "+").replace("_", "/")
    try:
        data = a2b_base64(standard[: len(standard) - (len(standard) % 4 == 1)] + "==").replace(b"\0", b"")
    except ValueError:
        return ""
    text = data.decode("ascii", "ignore")
    return text if len(text) == len(data) and text.translate({9: " ", 10: " ", 13: " "}).isprintable() else ""


def find_long_words(text: str) -> list[str]:
    return [word for word in text.split() if len(word) >= _LONG_WORD]


def may_have_shape(long_words: list[str], folded: str) -> bool:
    """Whether the long words of a text may be, or hold, a secret that has no mark; False is certain."""
    longest = max(map(len, long_words), default=0)
    if longest >= _AWS_LENGTH and any(hint in folded for hint in AWS_HINTS):
        return True
    if longest < _TWILIO_LENGTH:
        return False
    return any(
        (len(word) >= _TWILIO_LENGTH and "SK" in word) or (len(word) >= _DISCORD_LENGTH and word.count(".") > 1)
        for word in long_words
    )


def list_encoded_texts(long_words: list[str]) -> list[str]:
    """Return the texts that are in the long words of a text, or of JSON text, in base64."""
    joined = " ".join(long_words)
    for escape in ("\\n", "\\r", "\\t"):
        joined = joined.replace(escape, " ")
    pieces = joined.encode("ascii", "replace").translate(_BETWEEN_ENCODED).split()
    decoded = [_decode_base64(piece.decode("ascii")) for piece in pieces if len(piece) >= _LONG_WORD]
    return [text for text in decoded if text]


def _hide_plain(text: str) -> str:
    folded = text.casefold()
    rules = [(name, _compile(source)) for name, marks, source in SECRET_RULES if any(mark in folded for mark in marks)]
    # hiding one secret can uncover the start of another
    for _ in range(_MAX_PASSES if rules else 0):
        before = text
        for name, pattern in rules:
            text = _apply_rule(text, name, pattern)
        if text == before:
            break
    return text


def _compile(source: str) -> Pattern[str]:
    pattern = _patterns.get(source)
    if pattern is None:
        import re

        pattern = _patterns[source] = re.compile(source, re.IGNORECASE | re.DOTALL | re.ASCII)
    return pattern


def _apply_rule(text: str, name: str, pattern: Pattern[str]) -> str:
    parts = _compile(_HIDDEN).split(text)
    parts[::2] = [pattern.sub(lambda match: _hide_match(match, name), part) for part in parts[::2]]
    return "".join(parts)


def _hide_match(match: Match[str], name: str) -> str:
    group = match.lastindex or 0
    whole, (start, end) = match[0], match.span(group)
    secret = match[group].rstrip("\\") if group else whole
    end -= match.start() + len(match[group]) - len(secret)
    return whole[: start - match.start()] + hide_secret(secret, name) + whole[end:]
