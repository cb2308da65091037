"""The rows of `lib/secret_kinds.py`: what has the form of a secret, and what only looks like it."""

from __future__ import annotations

from boathook.guards import GuardedCall
from tests.growth import grows_in_proportion
from tests.packs.standard_guards import load_guard

# What follows the beginning of a secret, drawn by chance; the secrets are put together here, so that no scanner finds them.
MIXED = "Zk3vQ9wR7tY2uP5aS8dF1gH4jK6lM0nBxC2vE5qWzT8yU1iO4pA7sD0fG3hJ6kL9"
HEX = "9b74c9897bac770ffc029102a200c5de0a3f6a1c4e8d2b7f6a5c3e1d9b8f7a60"
LETTERS = "zkvqxwrytyupasdfughjtklmonbxcvieqw"
FOUND = {
    "a GitHub token": "ghp_" + MIXED[:36],
    "a Harness token": f"pat.{MIXED[:22]}.{MIXED[20:44]}.{MIXED[30:50]}",
    "a Hugging Face token": "hf_" + LETTERS,
    "a Slack app token": f"xapp-1-{MIXED[:11]}-3456781902-{MIXED[:20]}",
    "a Slack workspace token": "xoxr-" + MIXED[:16],
    "a Slack token": "-".join(("xoxe", "5690148833", "3817720465", "9023341176", MIXED[:30])),
    "a Twilio key": "SK" + HEX[:32].upper(),
    "a Teams webhook": (
        "https://acme.webhook.office.com/webhookb2/q7f3k2m9-4d1z-8h5x-2v6w-9b3n7t1p5r8y@q7f3k2m9-4d1z-8h5x-2v6w-9b3n7t1p5r8y"
        f"/IncomingWebhook/{MIXED[:32].lower()}/q7f3k2m9-4d1z-8h5x-2v6w-9b3n7t1p5r8y"
    ),
    "a Facebook app token": f"487120956633801|{MIXED[:28]}",
    "a Freemius key": f"'secret_key' => 'sk_{MIXED[:29]}'",
    "a NuGet password": f'<add key="ClearTextPassword" value="{MIXED[:12]}" />',
    "a signed web token": f"eyJ{MIXED[:20]}.eyJ{MIXED[10:40]}.{MIXED[20:]}",
    "an encoded web token": f"ZXlKaGJHY2lPaUp{MIXED}",
    "an Authress key": f"sc_{MIXED[:8]}.{MIXED[:5]}.acc-{MIXED[:12]}.{MIXED[:40]}",
}
KEYS = (
    "-----BEGIN RSA PRIVATE KEY-----\nProc-Type: 4,ENCRYPTED\nDEK-Info: AES-128-CBC,4E0A\n\n" + MIXED,
    "-----BEGIN PGP PRIVATE KEY BLOCK-----\nVersion: GnuPG v2\n\n" + MIXED,
    "-----BEGIN OPENSSH PRIVATE KEY-----\\n" + MIXED,
)
NOT_FOUND = (
    HEX[:40],
    "hf_hub_download_from_the_default_revision",
    "xoxb-your-token",
    f"| 487120956633801 | {MIXED[:28]} |",
    "'secret_key' => getenv('FREEMIUS_SECRET_KEY_OF_THE_PLUGIN')",
    '<add key="ClearTextPassword" value="%NUGET_PASSWORD%" />',
    "eyes.eyelids.eyebrows",
    "-----BEGIN PRIVATE KEY-----\n...\n-----END PRIVATE KEY-----",
    "-----BEGIN CERTIFICATE-----\n" + MIXED,
)


SCAN = load_guard("secret-scan")


def find_reason(text: str) -> str:
    tool_input = {"file_path": "src/settings.py", "content": text}
    fields = {"event_type": "pre-tool-call", "tool_name": "WriteFile", "tool_input": tool_input, "work_dir": "/p"}
    answer = SCAN.decide(GuardedCall(fields, project="/p", home="/h"))
    return answer.reason if answer else ""


def test_a_secret_is_found_by_its_form_and_named():
    unnamed = [name for name, secret in FOUND.items() if name not in find_reason(f'value = "{secret}"\n')]
    assert unnamed == []
    assert [text for text in KEYS if "a private key" not in find_reason(text)] == []


def test_what_only_looks_like_a_secret_is_not_found():
    assert [text for text in NOT_FOUND if find_reason(f"value = {text}\n")] == []


def test_the_time_of_the_search_grows_with_the_text_alone():
    parts = ("ey" + "a" * 40, "487120956633801|", "-----BEGIN ", "secret_key' => '", "ZXlK\n", '<add key="Password" ')
    for part in parts:
        assert grows_in_proportion(lambda size, part=part: find_reason(part * size), 200), part
