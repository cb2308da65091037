#!/usr/bin/env python3
"""Asks before a package is installed whose name is nearly that of a popular one."""

from __future__ import annotations

import os
import re
from fnmatch import fnmatch

from program_list import find_called_tool, is_dry_run

from boathook.guards import GuardAnswer, GuardedCall, ask, run_guard
from boathook.shell.arguments import UNKNOWN
from boathook.shell.started_program import Started

_PYTHON = (
    "requests numpy pandas scipy flask django fastapi pydantic pytest sqlalchemy boto3 urllib3 setuptools "
    "certifi cryptography pillow matplotlib scikit-learn tensorflow torch transformers httpx aiohttp "
    "click rich typer uvicorn gunicorn celery redis psycopg psycopg2 psycopg2-binary pymongo beautifulsoup4 "
    "selenium playwright scrapy jinja2 pyyaml python-dotenv openai anthropic langchain openpyxl paramiko "
    "tqdm mypy ruff black pylint flake8 isort coverage virtualenv poetry tox twine wheel attrs jsonschema "
    "websockets starlette alembic marshmallow colorama python-dateutil pytz packaging networkx sympy "
    "opencv-python streamlit"
)
_NODE = (
    "react react-dom next vue angular svelte lodash express axios typescript webpack vite eslint prettier "
    "jest mocha chai vitest chalk commander dotenv moment dayjs uuid yargs inquirer cross-env nodemon "
    "rimraf ts-node tslib rxjs redux zustand mongoose sequelize prisma pg mysql mysql2 socket.io cors "
    "body-parser jsonwebtoken bcrypt bcryptjs passport zod joi classnames tailwindcss postcss autoprefixer "
    "styled-components framer-motion three d3 puppeteer playwright cheerio node-fetch got semver glob "
    "minimist debug fs-extra electron esbuild rollup babel-core husky lint-staged concurrently winston "
    "pino sharp multer stripe openai graphql apollo-server discord.js"
)
_RUST = (
    "serde serde_json tokio anyhow thiserror clap rand regex reqwest hyper axum actix-web tracing log "
    "chrono uuid futures rayon itertools syn quote bytes sqlx diesel"
)
_RUBY = (
    "rails rake rspec sinatra devise puma sidekiq nokogiri pg redis rubocop bundler faraday httparty capybara jekyll"
)
# Managers: the verbs that install, and the popular names of their registry.
_MANAGERS: tuple[tuple[tuple[str, ...], tuple[str, ...], str], ...] = (
    (("pip", "pip3"), ("install",), _PYTHON),
    (("uv",), ("add", "pip"), _PYTHON),
    (("poetry", "pdm", "rye", "hatch"), ("add",), _PYTHON),
    (("pipenv", "pipx", "conda", "mamba"), ("install",), _PYTHON),
    (("npm",), ("install", "i", "add"), _NODE),
    (("pnpm", "yarn", "bun"), ("add", "install", "i"), _NODE),
    (("cargo",), ("add", "install"), _RUST),
    (("gem", "bundle"), ("install", "add"), _RUBY),
)
_MANIFESTS = (
    *(
        "package.json",
        "package-lock.json",
        "pyproject.toml",
        "uv.lock",
        "poetry.lock",
        "requirements.txt",
        "Cargo.toml",
        "Cargo.lock",
    ),
    *(
        "Gemfile",
        "Gemfile.lock",
        "pnpm-lock.yaml",
        "yarn.lock",
        "Pipfile",
        "setup.cfg",
        "setup.py",
        "requirements-dev.txt",
    ),
)
_VALUE_OPTIONS = (
    "-r",
    "--requirement",
    "-c",
    "--constraint",
    "-e",
    "--editable",
    "-t",
    "--target",
    "--prefix",
    "--group",
    "--extra",
    "-w",
    "-D@",
)
_SOURCE_OPTIONS = ("--index-url", "--extra-index-url", "--registry", "--index", "--source", "--find-links", "--git")
# Letters of these managers; elsewhere `-f` is force.
_SOURCE_LETTERS = {"pip": ("-i", "-f"), "pip3": ("-i", "-f"), "uv": ("-i", "-f")}
_ADDRESS = re.compile(r"(?:git\+|https?://|git@|git://|ssh://|github:|gitlab:)")
_NAME = re.compile(r"(@[\w.-]+/)?([A-Za-z0-9][\w.-]*)")
_MAX_BYTES = 5_000_000


def decide(call: GuardedCall) -> GuardAnswer | None:
    """Return an objection to the first package that looks like another one."""
    for program in call.programs:
        if not is_dry_run(program) and (answer := _judge(call, program)):
            return answer
    return None


def _judge(call: GuardedCall, program: Started) -> GuardAnswer | None:
    name, operands = find_called_tool(program, [one for names, _, _ in _MANAGERS for one in names])
    for names, verbs, popular in _MANAGERS:
        if name in names and operands[:1] and operands[0] in verbs:
            sources = (*_SOURCE_OPTIONS, *_SOURCE_LETTERS.get(name, ()))
            return _judge_install(call, program, operands[1:], popular.split(), sources)
    return None


def _judge_install(
    call: GuardedCall, program: Started, operands: list[str], popular: list[str], sources: tuple[str, ...]
) -> GuardAnswer | None:
    rest = program.words[1:]
    values = [rest[at + 1] for at, word in enumerate(rest[:-1]) if word in (*_VALUE_OPTIONS, *sources)]
    packages = [
        word for word in operands if word not in values and word not in ("install", "add") and UNKNOWN not in word
    ]
    source = next((word for word in rest if word.partition("=")[0] in sources), "")
    address = next((word for word in packages if _ADDRESS.match(word)), "")
    if address or (source and packages):
        return ask(
            f"This installs from {address or source}, which is not the usual registry. Check who is behind it; "
            "code of a package runs when it is installed."
        )
    known = _read_manifests(call) if packages else ""
    for package in packages:
        answer = _judge_package(call, package, popular, known)
        if answer:
            return answer
    return None


def _judge_package(call: GuardedCall, package: str, popular: list[str], known: str) -> GuardAnswer | None:
    match = _NAME.match(package)
    if (
        match is None
        or package.startswith((".", "/"))
        or any(fnmatch(package, one) for one in call.list_setting("free"))
    ):
        return None
    name = match[2].lower()
    # To the registry of Python, these signs are the same.
    plain = re.sub(r"[_.]", "-", name) if "pytest" in popular else name
    if match[1] or plain in popular or re.search(rf"[\"'\s/]{re.escape(name)}[\"'\s@=<>~^:\[]", known, re.IGNORECASE):
        return None
    near = next((one for one in popular if _is_near(name, one)), "")
    if near:
        return ask(
            f"`{match[2]}` is nearly `{near}`, a popular package. If you mean that, correct the name; else show who makes it."
        )
    if call.settings.get("ask_all"):
        return ask(
            f"The project does not have `{match[2]}` yet. Say what it is for and who makes it, before it is installed."
        )
    return None


def _read_manifests(call: GuardedCall) -> str:
    """Return the manifests and lock files of the project, in one text."""
    texts: list[str] = [""]
    for name in _MANIFESTS:
        path = os.path.join(call.project or call.work_dir or ".", name)
        if os.path.isfile(path):
            with open(path, "rb") as file:
                texts.append(file.read(_MAX_BYTES).decode("utf-8", "replace"))
    return "\n".join((*texts, ""))


def _is_near(name: str, other: str) -> bool:
    """Whether a name becomes another one by one letter more, less, changed or swapped, or by other signs between its words."""
    if re.sub(r"[-_.]", "", name) == re.sub(r"[-_.]", "", other):
        return name != other and len(other) > 3
    if abs(len(name) - len(other)) > 1 or len(other) < 5 or name[0] != other[0]:
        return False
    pairs = zip(name, other, strict=False)
    start = next((at for at, (one, two) in enumerate(pairs) if one != two), min(len(name), len(other)))
    behind, behind_other = name[start:], other[start:]
    is_swapped = behind[:2] == behind_other[:2][::-1] and behind[2:] == behind_other[2:]
    return is_swapped or behind[1:] in (behind_other, behind_other[1:]) or behind == behind_other[1:]


if __name__ == "__main__":
    run_guard(decide)
