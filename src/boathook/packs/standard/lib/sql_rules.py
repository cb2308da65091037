"""SQL, and the calls of document stores, that delete data for good."""

from __future__ import annotations

import re

from lazy_pattern import LazyPattern

_COMMENT = LazyPattern(r"--[^\n]*|/\*.*?\*/|#[^\n]*$", re.DOTALL | re.MULTILINE)
_TEXT = LazyPattern(r"'(?:[^']|'')*'")
_STATEMENT = LazyPattern(
    r"\s*(?:EXPLAIN\b.*|(?P<drop>DROP\s+(?:DATABASE|SCHEMA|TABLE|KEYSPACE|USER|ROLE|OWNED|TABLESPACE|COLLECTION|BUCKET|MEASUREMENT"
    r"|MATERIALIZED\s+VIEW|CATALOG|WAREHOUSE|SERIES))\b"
    r"|(?P<truncate>TRUNCATE)\b"
    r"|(?P<delete>DELETE\s+FROM)\b"
    r"|(?P<update>UPDATE\s+[^\s;]+\s+SET)\b"
    r"|(?P<alter>ALTER\s+TABLE\b.*?\bDROP\s+(?!CONSTRAINT|INDEX|DEFAULT|NOT|IDENTITY|EXPRESSION))"
    r"|(?P<purge>PURGE\s+\w|RESET\s+MASTER|FLUSH\s+LOGS))",
    re.IGNORECASE | re.DOTALL,
)
_CONDITION = LazyPattern(r"\bWHERE\b(?!\s+(?:1\s*=\s*1|TRUE|''\s*='')\s*;?\s*$)", re.IGNORECASE)
_LIMIT = LazyPattern(r"\bLIMIT\b|\bUSING\b", re.IGNORECASE)
_DOCUMENTS = LazyPattern(
    r"\.dropDatabase\(|\.drop\(\s*\)|\.deleteMany\(\s*(?:\{\s*\})?\s*\)|\.remove\(\s*(?:\{\s*\})?\s*\)|\.dropIndexes\(|\.dropCollection\("
)
# Calls of object mappers in code: `User.delete_all`, `Model.objects.all().delete()`.
_MAPPERS = re.compile(
    r"\.(?:delete_all|destroy_all)\b|objects\.all\(\)\.delete\(|(?:\.|::|->)truncate\(|drop_all\(|\.deleteMany\(\s*\)|migrate:fresh"
)
_MAX_CHARS = 200_000


def find_destructive_sql(text: str) -> str:
    """Return the first statement of a text that deletes for good, cut short; "" if there is none."""
    for statement in _list_statements(text[:_MAX_CHARS]):
        match = _STATEMENT.match(statement)
        if match is None or match.lastgroup is None:
            continue
        needs_condition = match.lastgroup in ("delete", "update")
        if needs_condition and (_CONDITION.search(statement) or _LIMIT.search(statement)):
            continue
        return " ".join(statement.split())[:60]
    return ""


def _list_statements(text: str) -> list[str]:
    plain = _TEXT.sub("''", _COMMENT.sub(" ", text))
    # Clients have commands of their own before a statement, and procedures have statements inside.
    return [part.strip() for part in re.split(r";|\bBEGIN\b|\bTHEN\b|\\gexec|\bGO\b\n", plain)]


def find_destructive_documents(text: str) -> str:
    """Return what a text for a document store deletes for good, "" if nothing."""
    match = _DOCUMENTS.search(text[:_MAX_CHARS])
    return match[0] if match else ""


def find_destructive_code(text: str) -> str:
    """Return the call of an object mapper in a text that deletes whole tables, "" if there is none."""
    match = _MAPPERS.search(text[:_MAX_CHARS])
    return match[0] if match else ""
