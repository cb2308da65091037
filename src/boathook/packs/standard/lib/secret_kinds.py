"""Kinds of secrets that their form gives away: a row for each, and the search for them in a text."""

# A row is a name, the texts that such a secret begins with, and the form of the rest. The literal beginning is searched first,
# which is fast; only where it is found, the form is compared. Forms are as wide as the services leave them.

from __future__ import annotations

import math
import re
from collections.abc import Collection, Iterator
from functools import cache

from lazy_pattern import LazyPattern

_A, _H, _L, _W = "[A-Za-z0-9]", "[A-Fa-f0-9]", "[a-z0-9]", r"[\w-]"
_UUID = rf"{_H}{{8}}-{_H}{{4}}-{_H}{{4}}-{_H}{{4}}-{_H}{{12}}"
# As a UUID, of any letters.
_ID = rf"{_L}{{8}}-(?:{_L}{{4}}-){{3}}{_L}{{12}}"
# Lines such as `Proc-Type: 4,ENCRYPTED`, which may be before a key.
_KEY_LINES = r"(?:[A-Z][A-Za-z-]{2,20}: [^\n\\]{1,100}(?:\\n|\\r|\s)+){0,4}"
KINDS: dict[str, tuple[tuple[str, ...], str]] = {
    # Code hosts and registries
    "a GitHub token": (("ghp_", "gho_", "ghu_", "ghs_", "ghr_"), rf"{_A}{{36,}}"),
    "a GitHub fine-grained token": (("github_pat_",), r"\w{60,}"),
    "a GitLab personal token": (("glpat-",), rf"(?:{_W}|\.){{20,}}"),
    "a GitLab deploy token": (("gldt-",), rf"{_W}{{20,}}"),
    "a GitLab runner token": (("glrt-", "glrtr-"), rf"(?:{_W}|\.){{20,}}"),
    "a GitLab runner registration token": (("GR1348941",), rf"{_W}{{20,}}"),
    "a GitLab trigger token": (("glptt-",), rf"{_W}{{40}}"),
    "a GitLab build token": (("glcbt-",), rf"{_A}{{1,5}}_{_W}{{20,}}"),
    "a GitLab agent token": (("glagent-",), rf"{_W}{{50,}}"),
    "a GitLab feature flag token": (("glffct-",), rf"{_W}{{20,}}"),
    "a GitLab feed token": (("glft-",), rf"{_W}{{20,}}"),
    "a GitLab mail token": (("glimt-",), rf"{_W}{{25,}}"),
    "a GitLab application secret": (("gloas-",), rf"{_W}{{64}}"),
    "a GitLab SCIM token": (("glsoat-",), rf"{_W}{{20,}}"),
    "a GitLab session": (("_gitlab_session=",), rf"{_A}{{32}}"),
    "a Bitbucket app password": (("ATBB",), rf"{_A}{{32}}"),
    "an npm token": (("npm_",), rf"{_A}{{36}}"),
    "a PyPI token": (("pypi-AgEIcHlwaS5vcmc", "pypi-AgENdGVzdC5weXBpLm9yZw"), rf"{_W}{{50,}}"),
    "a RubyGems key": (("rubygems_",), rf"{_H}{{48}}"),
    "a Clojars token": (("CLOJARS_",), rf"{_A}{{60}}"),
    "a crates.io token": (("cio",), rf"{_A}{{32}}"),
    "a NuGet key": (("oy2",), rf"{_L}{{43}}"),
    "a Docker Hub token": (("dckr_pat_", "dckr_oat_"), rf"{_W}{{24,}}"),
    "a JFrog key": (("AKCp",), rf"{_A}{{69}}"),
    "a JFrog reference token": (("cmVmd",), rf"{_A}{{59}}"),
    "a Sourcegraph token": (("sgp_",), rf"(?:(?:{_H}{{16}}|local)_)?{_H}{{40}}"),
    "a Sonar token": (("squ_", "sqp_", "sqa_"), r"[\w=-]{40}"),
    "a Codecov token": (("codecov_",), rf"{_A}{{32,}}"),
    "a Buildkite token": (("bkua_", "bkat_"), rf"{_A}{{40}}"),
    "a CircleCI token": (("CCIPAT_", "CCIPRJ_"), rf"{_A}{{22}}_{_H}{{40}}"),
    "a Harness token": (("pat.", "sat."), rf"{_W}{{22}}\.{_A}{{24}}\.{_A}{{20}}"),
    "an Octopus Deploy key": (("API-",), r"[A-Z0-9]{26}"),
    "a Scalingo token": (("tk-us-",), rf"{_W}{{48}}"),
    # Clouds and platforms
    "an AWS access key": (("AKIA", "ASIA", "ABIA", "ACCA"), r"[A-Z2-7]{16}"),
    "an old AWS access key": (("A3T",), r"[A-Z0-9][A-Z2-7]{16}"),
    "an Amazon Bedrock key": (("ABSK",), r"[A-Za-z0-9+/]{100,269}={0,2}"),
    "a short Amazon Bedrock key": (("bedrock-api-key-",), r"YmVkcm9jay5hbWF6b25hd3MuY29t[\w+/=]*"),
    "an Amazon MWS token": (("amzn.mws.",), _UUID),
    "a Google API key": (("AIza",), rf"{_W}{{35}}"),
    "a Google OAuth secret": (("GOCSPX-",), rf"{_W}{{28}}"),
    "a Google access token": (("ya29.",), rf"{_W}{{40,}}"),
    "an Azure client secret": (("Q~",), r"[\w~.-]{31,34}"),
    "an Azure storage key": (("AccountKey=",), r"[A-Za-z0-9+/]{86}=="),
    "an Alibaba access key": (("LTAI",), rf"{_A}{{20}}"),
    "a Tencent key": (("AKID",), rf"{_A}{{32}}"),
    "a DigitalOcean token": (("dop_v1_", "doo_v1_", "dor_v1_"), rf"{_H}{{64}}"),
    "a Yandex key": (("AQVN",), rf"{_W}{{35,38}}"),
    "a Yandex AWS key": (("YC",), rf"{_W}{{38}}"),
    "a Yandex access token": (("t1.",), r"[\w-]+={0,2}\.[\w-]{86}={0,2}"),
    "a Cloudflare origin key": (("v1.0-",), rf"{_H}{{24}}-{_H}{{146}}"),
    "a Heroku key": (("HRKU-AA", "HRKU-"), rf"{_W}{{36,}}"),
    "a Fly.io token": (("fo1_", "fm1r_", "fm1a_", "fm2_"), r"[\w+/-]{43,}={0,3}"),
    "a Netlify token": (("nfp_",), rf"{_A}{{36}}"),
    "a Vercel token": (("vcp_", "vck_", "vci_"), rf"{_A}{{24,}}"),
    "a Supabase token": (("sbp_", "sb_secret_"), rf"{_W}{{31,}}"),
    "a PlanetScale token": (("pscale_tkn_", "pscale_oauth_", "pscale_pw_"), r"[\w=.-]{32,64}"),
    "a Neon key": (("napi_",), rf"{_L}{{60,}}"),
    "a Databricks token": (("dapi",), rf"{_H}{{32}}(?:-\d)?"),
    "a ClickHouse key": (("4b1d",), rf"{_A}{{38}}"),
    "a MongoDB Atlas secret": (("mdb_sa_sk_",), rf"{_W}{{40}}"),
    "a CockroachDB key": (("CCDB1_",), rf"{_A}{{22}}_{_A}{{40}}"),
    "a Pulumi token": (("pul-",), rf"{_H}{{40}}"),
    "a Terraform token": ((".atlasv1.",), r"[\w=-]{60,70}"),
    "an Infracost key": (("ico-",), rf"{_A}{{32}}"),
    "a Doppler token": (
        ("dp.pt.", "dp.st.", "dp.ct.", "dp.sa.", "dp.scim.", "dp.audit."),
        r"(?:[a-z0-9_-]{2,35}\.)?[A-Za-z0-9]{40,44}",
    ),
    "a Vault token": (("hvs.", "hvb.", "hvr."), rf"{_W}{{24,300}}"),
    "an old Vault token": (("s.",), rf"(?=[a-z]*[A-Z0-9])(?=\w*\d){_A}{{24}}"),
    "a 1Password service token": (("ops_eyJ",), r"[A-Za-z0-9+/]{100,}={0,3}"),
    "a 1Password secret key": (("A3-",), r"[A-Z0-9]{6}-(?:[A-Z0-9]{11}|[A-Z0-9]{6}-[A-Z0-9]{5})(?:-[A-Z0-9]{5}){3}"),
    "an Infisical token": (("st.",), rf"{_H}{{24}}\.{_H}{{32}}\.{_H}{{32}}"),
    "an OpenShift token": (("sha256~",), rf"{_W}{{43}}"),
    "a Tailscale key": (("tskey-",), r"[a-z]+-[0-9A-Za-z]+(?:-[0-9A-Za-z]{15,})?"),
    "a Defined Networking key": (("dnkey-",), r"[\w=-]{26}-[\w=-]{52}"),
    "an ngrok key": (("cr_", "ak_"), rf"2{_A}{{26}}_{_A}{{20,}}"),
    "a Prefect key": (("pnu_", "pnb_"), rf"{_A}{{36}}"),
    "a Deno Deploy token": (("ddp_", "ddw_", "ddo_"), rf"{_A}{{36}}"),
    "a Settlemint token": (("sm_aat_", "sm_pat_", "sm_sat_"), rf"{_A}{{16}}"),
    "a Cast AI key": (("castai_",), rf"{_H}{{64}}"),
    # Models
    "an Anthropic key": (
        ("sk-ant-api03-", "sk-ant-admin01-", "sk-ant-oat01-", "sk-ant-ort01-", "sk-ant-sid01-"),
        rf"{_W}{{80,}}",
    ),
    "an OpenAI key": (("sk-proj-", "sk-svcacct-", "sk-admin-"), rf"{_W}{{40,}}"),
    "an old OpenAI key": (("sk-",), rf"{_A}{{20}}T3BlbkFJ{_A}{{20}}"),
    "an OpenRouter key": (("sk-or-v1-",), rf"{_H}{{64}}"),
    "a Langfuse key": (("sk-lf-",), _UUID),
    "a Helicone key": (("sk-helicone-",), rf"{_L}{{7}}-{_L}{{7}}-{_L}{{7}}-{_L}{{7}}"),
    "a key of a model provider": (("sk-",), rf"(?:{_H}{{32}}|{_A}{{48}})"),
    "a Hugging Face token": (("hf_", "api_org_"), r"[A-Za-z]{34}"),
    "a Groq key": (("gsk_",), rf"{_A}{{52}}"),
    "an xAI key": (("xai-",), rf"{_A}{{80}}"),
    "a Perplexity key": (("pplx-",), rf"{_A}{{48}}"),
    "a Replicate token": (("r8_",), rf"{_A}{{37}}"),
    "an NVIDIA key": (("nvapi-",), rf"{_W}{{60,}}"),
    "a Cerebras key": (("csk-",), rf"{_L}{{48}}"),
    "an ElevenLabs key": (("sk_",), rf"{_H}{{48}}"),
    "a Fireworks key": (("fw_",), rf"{_A}{{24}}"),
    "a Together key": (("tgp_v1_",), rf"{_W}{{43}}"),
    "a Voyage key": (("pa-",), rf"{_W}{{43}}"),
    "a Pinecone key": (("pcsk_",), r"\w{60,}"),
    "a LangSmith key": (("lsv2_pt_", "lsv2_sk_"), rf"{_H}{{32}}_{_H}{{10}}"),
    "a Tavily key": (("tvly-",), rf"(?:dev-|prod-)?{_A}{{32}}"),
    "a Firecrawl key": (("fc-",), rf"{_H}{{32}}"),
    "an E2B key": (("e2b_",), rf"{_H}{{40}}"),
    "a RunPod key": (("rpa_",), r"[A-Z0-9]{40,}"),
    "a Jina key": (("jina_",), rf"{_H}{{32}}{_W}{{28}}"),
    # Talk and mail
    "a Slack token": (("xoxb-", "xoxp-", "xoxa-", "xoxr-", "xoxs-", "xoxo-", "xoxe-"), r"[0-9]{1,}-?[A-Za-z0-9-]{9,}"),
    "a Slack app token": (("xapp-",), rf"\d-{_A}+-\d+-{_A}+"),
    "a Slack configuration token": (("xoxe.xoxb-", "xoxe.xoxp-", "xoxe-"), r"\d-[A-Z0-9a-z]{100,}"),
    "a Slack workspace token": (("xoxa-", "xoxr-"), rf"(?:\d-)?{_A}{{8,48}}"),
    "a Slack webhook": (("hooks.slack.com/",), r"(?:services|workflows|triggers)/[A-Za-z0-9+/]{40,80}"),
    "a Discord webhook": (("discord.com/api/webhooks/", "discordapp.com/api/webhooks/"), rf"\d{{17,20}}/{_W}{{60,}}"),
    "a Teams webhook": ((".webhook.office.com/webhookb2/",), rf"{_ID}@{_ID}/IncomingWebhook/{_L}{{32}}/{_ID}"),
    "a Telegram bot token": (("api.telegram.org/bot",), rf"\d{{5,16}}:A{_W}{{34}}"),
    "a SendGrid key": (("SG.",), r"[\w=-]{20,24}\.[\w=-]{39,50}|(?<=SG\.)[\w=.-]{66}"),
    "a Mailgun key": (("key-", "pubkey-"), rf"{_H}{{32}}"),
    "a Brevo key": (("xkeysib-", "xsmtpsib-"), rf"{_H}{{64}}-{_A}{{16}}"),
    "a Resend key": (("re_",), rf"{_A}{{8}}_{_A}{{24}}"),
    "a Twilio key": (("SK",), rf"{_H}{{32}}"),
    "a Courier key": (("pk_prod_", "pk_test_"), r"[A-Z0-9]{28}"),
    # Payment and shops
    "a Stripe key": (
        tuple(f"{kind}_{mode}_" for kind in ("sk", "rk") for mode in ("live", "test", "prod")),
        rf"{_A}{{10,247}}",
    ),
    "a Stripe webhook secret": (("whsec_",), r"[A-Za-z0-9+/=]{32,}"),
    "a Square token": (("EAAA", "sq0atp-", "sq0csp-"), rf"{_W}{{22,60}}"),
    "a PayPal or Braintree token": (("access_token$production$", "access_token$sandbox$"), rf"{_L}{{16}}\${_H}{{32}}"),
    "a Shopify token": (("shpat_", "shpca_", "shppa_", "shpss_", "shpua_"), rf"{_H}{{32}}"),
    "a Razorpay key": (("rzp_live_",), rf"{_A}{{14}}"),
    "a Flutterwave key": (("FLWSECK_TEST-", "FLWSECK-", "FLWPUBK_TEST-"), r"(?:[a-hA-H0-9]{32}-X|[a-hA-H0-9]{12})"),
    "a Duffel token": (("duffel_test_", "duffel_live_"), r"[\w=-]{43}"),
    "an EasyPost key": (("EZAK", "EZTK"), rf"{_A}{{54}}"),
    "a Shippo token": (("shippo_live_", "shippo_test_"), rf"{_H}{{40}}"),
    "a Plaid token": (("access-sandbox-", "access-development-", "access-production-"), _UUID),
    "a Facebook token": (("EAAM", "EAAC"), rf"{_A}{{100,}}"),
    "a Facebook app token": (("|", "%7C", "%"), rf"{_W}{{27,40}}"),
    "a Freemius key": (("sk_",), r"\S{29}(?=[\"'])"),
    "a Polar token": (("polar_oat_", "polar_pat_"), rf"{_A}{{32,}}"),
    # Watching, teams, content
    "a New Relic key": (("NRAK-",), rf"{_A}{{27}}"),
    "a New Relic browser key": (("NRJS-",), rf"{_H}{{19}}"),
    "a New Relic insert key": (("NRII-",), rf"{_W}{{32}}"),
    "a Grafana key": (("eyJrIjoi",), r"[A-Za-z0-9]{70,400}={0,3}"),
    "a Grafana cloud token": (("glc_",), r"[A-Za-z0-9+/]{32,400}={0,3}"),
    "a Grafana service token": (("glsa_",), rf"{_A}{{32}}_{_H}{{8}}"),
    "a Dynatrace token": (("dt0c01.", "dt0s16.", "dt0s01."), rf"{_A}{{24}}\.{_A}{{64}}"),
    "a Sentry organization token": (("sntrys_eyJ",), r"[A-Za-z0-9+/_=-]{40,}"),
    "a Sentry user token": (("sntryu_",), rf"{_H}{{64}}"),
    "a PostHog key": (("phx_",), rf"{_A}{{40,}}"),
    "a Honeycomb key": (("hcaik_", "hcxik_", "hcamk_"), rf"{_A}{{30,}}"),
    "an Atlassian token": (("ATATT3", "ATCTT3"), r"[\w=-]{100,200}"),
    "a Linear key": (("lin_api_", "lin_oauth_"), rf"{_A}{{40,}}"),
    "a Notion token": (("ntn_",), rf"\d{{11}}{_A}{{35}}"),
    "an old Notion token": (("secret_",), rf"{_A}{{43}}"),
    "an Airtable token": (("pat",), rf"{_A}{{14}}\.{_H}{{64}}"),
    "a Figma token": (("figd_", "figu_"), rf"{_W}{{40,}}"),
    "a Postman key": (("PMAK-",), rf"{_H}{{24}}-{_H}{{34}}"),
    "a ReadMe key": (("rdme_",), rf"{_L}{{70}}"),
    "a Typeform token": (("tfp_",), r"[\w.=-]{59}"),
    "a Contentful token": (("CFPAT-",), rf"{_W}{{43}}"),
    "a HubSpot token": (("pat-na1-", "pat-na2-", "pat-eu1-"), _UUID),
    "a LaunchDarkly key": (("sdk-", "mob-", "api-"), _UUID),
    "an Okta token": (("SSWS ",), rf"00{_W}{{40}}"),
    "a Dropbox token": (("sl.",), r"(?:u\.)?[\w-]{130,}"),
    "an Adobe secret": (("p8e-",), rf"{_A}{{32}}"),
    "a Frame.io token": (("fio-u-",), r"[\w=-]{64}"),
    "an Intra42 secret": (("s-s4t2ud-", "s-s4t2af-"), rf"{_H}{{64}}"),
    "an Authress key": (
        ("sc_", "ext_", "scauth_", "authress_"),
        rf"{_A}{{5,30}}\.{_A}{{4,6}}\.acc[_-][A-Za-z0-9-]{{10,32}}\.[\w+/=-]{{30,120}}",
    ),
    "a MaxMind key": (("_mmk",), r""),
    "a Mapbox secret token": (("sk.eyJ",), rf"{_W}{{40,}}\.{_W}{{20,}}"),
    "a WakaTime key": (("waka_",), _UUID),
    "an Unkey key": (("unkey_",), rf"{_A}{{20,}}"),
    "a Zuplo key": (("zpka_",), rf"{_L}{{32}}_{_H}{{8}}"),
    "a Sidekiq address": (("gems.contribsys.com", "enterprise.contribsys.com"), r""),
    "a Zapier webhook": (("hooks.zapier.com/hooks/catch/",), rf"\d+/{_A}{{5,}}"),
    # Forms without a service
    "a private key": (
        ("-----BEGIN",),
        rf"[ A-Z0-9_-]{{0,100}}PRIVATE KEY(?: BLOCK)?-----(?:\\n|\\r|\s)*{_KEY_LINES}[A-Za-z0-9+/=]{{16,}}",
    ),
    "an age key": (("AGE-SECRET-KEY-1",), r"[QPZRY9X8GF2TVDW0S3JN54KHCE6MUA7L]{58}"),
    "a PuTTY key": (("PuTTY-User-Key-File-",), r"[23]: \S+\s+Encryption: \S+"),
    "an AWS secret key": (
        ("aws_secret_access_key", "AWS_SECRET_ACCESS_KEY", "SecretAccessKey"),
        r"[\"']?\s*[:=]\s*[\"']?[A-Za-z0-9/+]{40}(?![A-Za-z0-9/+=])",
    ),
    "a signed web token": (("ey",), rf"{_W}{{17,}}\.ey[\w/\\-]{{17,}}\.(?:[\w/\\-]{{10,}}={{0,2}})?"),
    "an encoded web token": (("ZXlK",), r"[\w+/\r\n-]{40,}={0,2}"),
    "a NuGet password": (
        ('<add key="ClearTextPassword"', '<add key="Password"'),
        r"\s*value=\"(?![%$#{])[^\"\n]{8,}\"\s*/>",
    ),
}
# Rows whose literal is in the middle or at the end: what must be before it.
_BEFORE: dict[str, str] = {
    "an Azure client secret": r"[\w~.]{3}\d",
    "a Terraform token": rf"{_A}{{14}}",
    "a MaxMind key": rf"{_A}{{6}}_{_A}{{29}}",
    "a Sidekiq address": rf"{_H}{{8}}:{_H}{{8}}@",
    "a Facebook app token": r"(?<![\w.-])\d{15,16}",
    "a Freemius key": r"secret_key[\"']\s*=>\s*[\"']",
    "a Teams webhook": r"https://\w+",
}
# Marks of samples in manuals and tests.
_SAMPLE = LazyPattern(
    r"EXAMPLE|PLACEHOLDER|REDACTED|(.)\1{7}|x{5}|\*{3}|0123456|1234567|abcdefg|your[-_]?|dummy|fake|sample|notreal|changeme",
    re.IGNORECASE,
)
_CONNECTION = LazyPattern(
    r"\b(?:postgres(?:ql)?|mysql|mariadb|mongodb(?:\+srv)?|redis|rediss|amqps?|mssql|clickhouse|ftp|sftp)(?:\+\w+)?://"
    r"[\w.~%-]*:([^@\s\"'/:{}$<>%*\[\]()]{8,})@(?!localhost|127\.|0\.0\.0\.0|(?:[\w-]+\.)*example|\[::1\])[\w.-]+\.[a-z]{2,}"
)
_COMMON_PASSWORDS = LazyPattern(
    r"(?i)pass(?:word|wd)?\d*|secret\w*|admin\w*|root\w*|test\w*|postgres\w*|user\w*|guest\w*|example\w*|my\w*|p@ss\w*"
)
# Of a private key only the beginning is compared.
_KEY_END = re.compile(r"-----END [A-Z0-9 ]+-----")
_EXCUSE = "secret-scan: allow"
_MAX_CHARS = 4_000_000
# Rows about text that is not random.
_NOT_RANDOM = frozenset(("a Flutterwave key", "a PuTTY key", "a Sidekiq address", "an AWS secret key", "a private key"))
# Rows whose secrets may have letters of one case alone.
_ONE_CASE = frozenset(("a Hugging Face token",))


class FoundSecret:
    """A secret in a text: what it is, and where. The secret itself is nowhere but in the text."""

    def __init__(self, name: str, start: int, end: int) -> None:
        self.name, self.start, self.end = name, start, end


@cache
def _compile(name: str) -> re.Pattern[str]:
    literals, rest = KINDS[name]
    before = _BEFORE.get(name, "")
    start = (
        before or r"(?<![A-Za-z0-9_/+.-])"
        if not literals[0].startswith(("-", "hooks.", ".", "discord", "api."))
        else ""
    )
    beginning = "|".join(map(re.escape, literals))
    end = r"(?![A-Za-z0-9])" if name not in ("a private key", "a PuTTY key") else ""
    return re.compile(f"{start}(?:{beginning})(?:{rest}){end}")


def iter_secrets(text: str) -> Iterator[FoundSecret]:
    """Yield the secrets in a text that their form gives away, without samples and lines that are excused."""
    text = text[:_MAX_CHARS]
    for name, (literals, _) in KINDS.items():
        if any(literal in text for literal in literals):
            for match in _compile(name).finditer(text):
                if _is_secret(name, match, text):
                    yield FoundSecret(name, match.start(), match.end())
    if "://" in text:
        for match in _CONNECTION.finditer(text):
            if (
                not _COMMON_PASSWORDS.fullmatch(match[1])
                and not _SAMPLE.search(match[0])
                and not _is_excused(text, match)
            ):
                yield FoundSecret("a password in an address", match.start(1), match.end(1))


def _is_secret(name: str, match: re.Match[str], text: str) -> bool:
    token = match[0]
    if _is_excused(text, match) or "EXAMPLE" in token or (name != "a private key" and _SAMPLE.search(token)):
        return False
    literals = KINDS[name][0]
    tail = token[max((len(one) for one in literals if token.startswith(one)), default=0) :]
    return name in _NOT_RANDOM or _looks_random(tail, may_be_one_case=name in _ONE_CASE)


def _is_excused(text: str, match: re.Match[str]) -> bool:
    end = text.find("\n", match.end())
    start = text.rfind("\n", 0, match.start()) + 1
    return _EXCUSE in text[start : end if end >= 0 else len(text)][:2000]


def _looks_random(tail: str, *, may_be_one_case: bool) -> bool:
    """Whether a text looks drawn by chance: many different signs, and not words."""
    counts = [tail.count(sign) for sign in set(tail)]
    size = len(tail)
    entropy = -sum(count / size * math.log2(count / size) for count in counts) if size else 0.0
    wanted = min(3.0, math.log2(size) - 0.6) if size > 1 else 0.0
    has_digit_or_cases = any(sign.isdigit() for sign in tail) or (tail != tail.lower() and tail != tail.upper())
    return entropy >= wanted and (may_be_one_case or has_digit_or_cases)


def find_secret_line(text: str, secret: FoundSecret) -> int:
    """Return the number of the line of a secret."""
    return text.count("\n", 0, secret.start) + 1


def mask_secrets(text: str, ignored: Collection[str] = ()) -> tuple[str, list[str]]:
    """Return a text with its secrets replaced by what they are, and their names."""
    found = [one for one in iter_secrets(text) if one.name not in ignored]
    secrets = sorted(found, key=lambda one: (one.start, -one.end))
    parts: list[str] = []
    names: list[str] = []
    at = 0
    for secret in secrets:
        if secret.start >= at:
            parts += [text[at : secret.start], f"[masked: {secret.name}]"]
            names.append(secret.name)
            key_end = _KEY_END.search(text, secret.end) if secret.name == "a private key" else None
            at = key_end.end() if key_end else secret.end
    return "".join((*parts, text[at:])), names
