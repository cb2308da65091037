#!/usr/bin/env python3
"""Asks before data is deleted in a database."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from typing import Any

from call_programs import may_answer
from lazy_pattern import LazyPattern
from program_list import (
    find_called_tool,
    has_command_words,
    is_dry_run,
    list_all_programs,
    list_operands_of,
)
from sql_rules import find_destructive_code, find_destructive_documents, find_destructive_sql

from boathook.guards import GuardAnswer, GuardedCall, ask, run_guard
from boathook.protection.code_texts import list_code_strings
from boathook.shell.arguments import UNKNOWN, find_option_values
from boathook.shell.started_program import Started

# Clients of SQL, with the options that have a statement or a file of statements. "" is an operand.
_SQL_CLIENTS: dict[str, tuple[tuple[str, ...], tuple[str, ...]]] = {
    **dict.fromkeys(
        ("psql", "pgcli", "usql", "cockroach", "yugabyte", "ysqlsh", "vsql"),
        (("-c", "--command", "-e", "--execute", ""), ("-f", "--file")),
    ),
    **dict.fromkeys(("mysql", "mariadb", "mycli", "tidb", "singlestore", "memsql"), (("-e", "--execute"), ())),
    **dict.fromkeys(
        ("sqlite3", "sqlite", "duckdb", "libsql", "sqlite-utils", "litecli"), (("-cmd", "-c", ""), ("-init",))
    ),
    **dict.fromkeys(("sqlcmd", "mssql-cli", "bcp", "tsql"), (("-Q", "-q"), ("-i",))),
    **dict.fromkeys(("clickhouse-client", "clickhouse", "chdb"), (("-q", "--query"), ("--queries-file",))),
    **dict.fromkeys(("snowsql", "snow"), (("-q", "--query"), ("-f", "--filename"))),
    **dict.fromkeys(
        ("cqlsh", "ksql", "trino", "presto", "hive", "beeline", "impala-shell", "spark-sql"),
        (("-e", "--execute", "-q"), ("-f", "--file")),
    ),
    **dict.fromkeys(
        (
            "bq",
            "athena",
            "databricks",
            "wrangler",
            "turso",
            "supabase",
            "pscale",
            "neonctl",
            "influx",
            "dolt",
            "prisma",
        ),
        (("--command", "-q", "--query", "--sql", "--execute", ""), ("--file",)),
    ),
    "heroku": (("-c", "--command"), ()),
    **dict.fromkeys(("sqlplus", "isql", "db2", "fbsql", "isql-fb", "rqlite", "edgedb", "gel", "surreal"), (("",), ())),
}
_DOCUMENT_CLIENTS = ("mongosh", "mongo", "cypher-shell", "arangosh")
_REDIS_CLIENTS = ("redis-cli", "valkey-cli", "keydb-cli", "iredis", "dragonfly-cli")
_REDIS_VERBS = ("FLUSHALL", "FLUSHDB", "SHUTDOWN", "SWAPDB")
# A program, the words that begin its command, and options of which one must be there ("" means none is needed).
_RESETS: tuple[tuple[str, str, str], ...] = (
    ("dropdb", "", ""),
    ("mysqladmin", "drop", ""),
    ("mariadb-admin", "drop", ""),
    ("mongorestore", "", "--drop"),
    ("pg_restore", "", "--clean -c"),
    ("pg_resetwal", "", "-f --force"),
    ("pg_dropcluster", "", ""),
    ("prisma", "db push", ""),
    ("prisma", "migrate reset", ""),
    ("drizzle-kit", "push", ""),
    ("drizzle-kit", "drop", ""),
    ("supabase", "db reset", ""),
    ("supabase", "migration repair", ""),
    ("supabase", "stop", "--no-backup"),
    *(
        (name, f"db:{verb}", "")
        for name in ("rails", "rake", "hanami")
        for verb in (
            "drop",
            "drop:all",
            "reset",
            "purge",
            "migrate:reset",
            "schema:load",
            "truncate_all",
            "seed:replant",
            "structure:load",
            "setup",
        )
    ),
    *(("artisan", verb, "") for verb in ("migrate:fresh", "migrate:refresh", "migrate:reset", "db:wipe")),
    *(
        ("manage.py", verb, "")
        for verb in ("flush", "reset_db", "sqlflush --execute", "reset_schema", "truncate", "delete_stale_content")
    ),
    *(("django-admin", verb, "") for verb in ("flush", "reset_db")),
    ("alembic", "downgrade", ""),
    ("flask", "db downgrade", ""),
    ("flask", "drop-db", ""),
    *(("sequelize", verb, "") for verb in ("db:drop", "db:migrate:undo:all", "db:seed:undo:all")),
    *(("sequelize-cli", verb, "") for verb in ("db:drop", "db:migrate:undo:all")),
    ("knex", "migrate:rollback", "--all"),
    ("knex", "migrate:unlock", ""),
    ("typeorm", "schema:drop", ""),
    ("typeorm", "schema:sync", ""),
    ("mikro-orm", "schema:drop", ""),
    ("mikro-orm", "schema:fresh", ""),
    ("mikro-orm", "migration:fresh", ""),
    ("mix", "ecto.drop", ""),
    ("mix", "ecto.reset", ""),
    ("mix", "ecto.rollback", "--all"),
    ("mix", "ash.reset", ""),
    # These ask by themselves without it (see `_ASKING`).
    ("dotnet", "ef database drop", "-f --force"),
    ("dotnet-ef", "database drop", "-f --force"),
    ("flyway", "clean", ""),
    ("liquibase", "dropAll", ""),
    ("liquibase", "drop-all", ""),
    ("liquibase", "rollback", ""),
    *(
        ("console", verb, "")
        for verb in (
            "doctrine:database:drop",
            "doctrine:schema:drop",
            "doctrine:fixtures:load",
            "doctrine:mongodb:schema:drop",
        )
    ),
    ("doctrine", "orm:schema-tool:drop", ""),
    ("diesel", "database reset", ""),
    ("diesel", "migration redo", "--all -a"),
    ("sqlx", "database drop", "-y"),
    ("sqlx", "database reset", ""),
    ("sea-orm-cli", "migrate fresh", ""),
    ("sea-orm-cli", "migrate reset", ""),
    ("sea-orm-cli", "migrate refresh", ""),
    ("goose", "reset", ""),
    ("goose", "down-to", ""),
    ("migrate", "drop", ""),
    ("migrate", "down", ""),
    ("dbmate", "drop", ""),
    ("atlas", "schema clean", ""),
    ("atlas", "schema apply", "--auto-approve"),
    ("airflow", "db reset", ""),
    ("airflow", "db clean", ""),
    ("superset", "db downgrade", ""),
    ("wp", "db reset", ""),
    ("wp", "db drop", ""),
    ("wp", "db clean", ""),
    ("wp", "site empty", ""),
    ("drush", "sql-drop", ""),
    ("drush", "sql:drop", ""),
    ("drush", "site:install", ""),
    ("bq", "rm", ""),
    ("edgedb", "database drop", ""),
    ("edgedb", "database wipe", ""),
    ("gel", "branch wipe", ""),
    ("gel", "branch drop", ""),
    ("turso", "db destroy", ""),
    ("cbq", "drop", ""),
    ("influx", "delete", ""),
    ("influx", "bucket delete", ""),
    ("dynamodb", "delete-table", ""),
    ("rethinkdb", "restore", "--force"),
    ("cqlsh", "drop", ""),
    ("medusa", "db:rollback", ""),
    ("strapi", "transfer", "--force"),
    ("convex", "import", "--replace --replace-all"),
    ("hasura", "metadata clear", ""),
    ("hasura", "migrate delete", ""),
    ("odoo", "db drop", ""),
    ("bench", "drop-site", ""),
    ("bench", "reinstall", ""),
    ("rqlite", "drop", ""),
    ("cockroach", "node decommission", ""),
    ("etcdctl", "del", "--prefix --from-key"),
)
_RESETS_OF = {name: [row for row in _RESETS if row[0] == name] for name in {row[0] for row in _RESETS}}
# What asks by itself; something else in the call may answer.
_ASKING = ("ef database drop", "database drop")
_PACKAGE_MANAGERS = ("yarn", "pnpm", "bun", "npm")
_SCRIPT_RUNNERS = (
    "npm",
    "yarn",
    "pnpm",
    "bun",
    "make",
    "just",
    "task",
    "rake",
    "mise",
    "nx",
    "turbo",
    "composer",
    "invoke",
    "inv",
    "poe",
)
_SCRIPT_NAME = LazyPattern(
    r"(?i)(?:.*[:/_.-])?(?:(?:db|database|schema|prisma|migrate)[:_-](?:drop|reset|wipe|nuke|fresh|purge|destroy|clear|truncate)"
    r"|(?:drop|reset|wipe|nuke|purge|destroy|truncate)[:_-](?:db|database|schema|tables))(?:[:_-].*)?"
)
_FORCED_START = LazyPattern(
    r"(?i)(?:.*/)?(?:init|create|setup|reset|recreate|rebuild)[_-]?(?:db|database|schema)(?:\.\w+)?"
)
_MCP_NAMES = LazyPattern(
    r"(?i)sql|query|postgres|mysql|maria|sqlite|database|supabase|snowflake|bigquery|mongo|redis|clickhouse|neon|db"
)
_BARE_SQL = re.compile(r"\s*(?:DROP|TRUNCATE|DELETE\s+FROM|ALTER\s+TABLE|UPDATE)\s")
_MAX_FILE_BYTES, _MAX_STATEMENTS = 1_000_000, 200
_CODE_STATEMENTS = re.compile(r"\b(?:exec\w*|query|raw\w*|prepare|unprepared|statement)\b\s*[(`]", re.IGNORECASE)


def decide(call: GuardedCall) -> GuardAnswer | None:
    """Return an objection to the first command that deletes data."""
    if "mcp" in call.kinds and _MCP_NAMES.search(str(call.fields.get("tool_name", call.tool_name))):
        for text in _iter_texts(call.tool_input):
            if found := find_destructive_sql(text) or find_destructive_documents(text):
                return _object_to(found)
    # A tool may type into a client that runs already.
    for text in call.commands:
        if _BARE_SQL.match(text) and (found := find_destructive_sql(text)):
            return _object_to(found)
    for program in list_all_programs(call):
        if not is_dry_run(program) and not _is_free(call, program) and (found := _find_deletion(call, program)):
            return _object_to(found)
    return None


def _object_to(what: str) -> GuardAnswer:
    return ask(
        f"`{what.replace(UNKNOWN, '…')}` deletes or overwrites data for good. Check which database the command talks to, look "
        "at the data first (in SQL, count the rows with a SELECT), and make a backup (`pg_dump`, `mysqldump`, `.backup`)."
    )


def _is_free(call: GuardedCall, program: Started) -> bool:
    text = " ".join((program.name, *program.words[1:]))
    return any(text.startswith(start) for start in call.list_setting("free"))


def _iter_texts(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict | list):
        for one in value.values() if isinstance(value, dict) else value:
            yield from _iter_texts(one)


def _find_deletion(call: GuardedCall, program: Started) -> str:
    return _find_sql(program) or _find_reset(call, program) or _find_script(program) or _find_code(program)


def _find_sql(program: Started) -> str:
    name, rest = program.name, list(program.words[1:])
    if name in _REDIS_CLIENTS:
        words = [word.upper() for word in (*rest, *program.input_text.split())]
        # A script may call them, too.
        scripts = " ".join(words) if "EVAL" in words else ""
        verb = next((one for one in _REDIS_VERBS if one in words or f"'{one}'" in scripts or f'"{one}"' in scripts), "")
        is_deleting_all = any(one in words for one in ("DEL", "UNLINK")) and (
            UNKNOWN in words or any("*" in one for one in words)
        )
        return f"{name} {verb or 'DEL of all keys that it finds'}" if verb or is_deleting_all else ""
    if name in _DOCUMENT_CLIENTS:
        texts = [*find_option_values(rest, "--eval", "--execute"), *rest, program.input_text]
        return next((found for text in texts if (found := find_destructive_documents(text))), "")
    if name not in _SQL_CLIENTS or ":memory:" in rest:
        return ""
    options, files = _SQL_CLIENTS[name]
    texts = [*find_option_values(rest, *filter(None, options)), program.input_text]
    texts += list_operands_of(program) if "" in options else []
    files_read = [*map(program.make_absolute, find_option_values(rest, *files)), *_list_piped_files(program)]
    texts += [_read_file(path) for path in files_read]
    return next((f"{name}: {found}" for text in texts if text and (found := find_destructive_sql(text))), "")


def _list_piped_files(program: Started) -> list[str]:
    """Return the files that a client reads by `<`, or from `cat` before it in a pipe."""
    printers = [one for one in program.feeders if one.name == "cat"]
    printed = [one.make_absolute(word) for one in printers for word in list_operands_of(one)]
    return [*map(program.make_absolute, program.input_paths), *printed]


def _read_file(path: str) -> str:
    """Return the statements of a file of this machine, "" if it cannot be read."""
    try:
        # Something else than a file could be opened only when somebody writes to it.
        if not os.path.isfile(path):
            return ""
        with open(path, "rb") as file:
            return file.read(_MAX_FILE_BYTES).decode("utf-8", "replace")
    except (OSError, ValueError):
        return ""


def _find_reset(call: GuardedCall, program: Started) -> str:
    name, operands = find_called_tool(program, _RESETS_OF)
    # Package managers start the programs of packages by their names.
    if name in _PACKAGE_MANAGERS and (called := [word for word in operands if word not in ("run", "exec")]):
        name, operands = called[0], called[1:]
    for _, words, options in _RESETS_OF.get(name, ()):
        wanted = words.split()
        plain = {word.partition("=")[0] for word in program.words[1:]}
        is_answered = words in _ASKING and may_answer(call)
        is_meant = not options or is_answered or any(one in plain for one in options.split())
        if has_command_words(operands, wanted) and is_meant:
            if name in ("alembic", "flask") and not _is_whole_downgrade(program):
                continue
            return " ".join((name, *wanted, *(one for one in options.split() if one in plain)))
    if name in ("manage.py", "django-admin") and operands[:1] == ["migrate"] and operands[-1:] == ["zero"]:
        return f"{name} migrate … zero"
    return ""


def _is_whole_downgrade(program: Started) -> bool:
    # A number of steps, as in `-1`, is no option.
    target = [word for word in program.words[1:] if not word.startswith("-") or word[1:].isdigit()][-1]
    return target in ("base", "downgrade") or UNKNOWN in target


def _find_script(program: Started) -> str:
    """`npm run db:reset`, `make drop-db`, `init-db --force`: scripts whose name says it."""
    operands = list_operands_of(program)
    if program.name in _SCRIPT_RUNNERS:
        found = next((word for word in operands[:3] if _SCRIPT_NAME.fullmatch(word)), "")
        return f"{program.name} {found}" if found else ""
    called = [program.name, *operands[:4]]
    is_forced = any(word in ("--force", "--drop", "--reset", "--overwrite", "--clean") for word in program.words[1:])
    starter = next((word for word in called if _FORCED_START.fullmatch(word)), "") if is_forced else ""
    if starter:
        return f"{starter} --force"
    own_script = next(
        (word for word in called[:2] if _SCRIPT_NAME.fullmatch(word.removesuffix(".sh").rpartition("/")[2])), ""
    )
    is_script = own_script and (
        program.words[0].startswith(("./", "scripts/", "bin/")) or own_script.endswith((".sh", ".py", ".js", ".ts"))
    )
    return own_script if is_script and program.name not in ("cat", "vim", "ls", "chmod", "git", "rm", "touch") else ""


def _find_code(program: Started) -> str:
    """`rails runner "User.delete_all"`, `manage.py shell -c …`: code for an object mapper."""
    is_runner = program.name in (
        "rails",
        "gitlab-rails",
        "manage.py",
        "flask",
        "django-admin",
        "artisan",
        "php",
        "python",
        "python3",
        "node",
        "ruby",
        "perl",
        "bun",
        "deno",
    )
    if not is_runner:
        return ""
    texts = [*program.words[1:], program.input_text if program.name != "php" else ""]
    found = next((found for text in texts if (found := find_destructive_code(text))), "")
    # Statements are texts in the code.
    statements = [one for text in texts if _CODE_STATEMENTS.search(text) for one in list_code_strings(text)]
    return found or next((sql for one in statements[:_MAX_STATEMENTS] if (sql := find_destructive_sql(one))), "")


if __name__ == "__main__":
    run_guard(decide)
