#!/bin/sh
# Runs the project's tests; a failure sends the agent back to work with the end of their output.
cat >/dev/null
cd "${AGENT_PROJECT_DIR:-.}" || exit 1

npm_has_tests() {
    [ -f package.json ] && command -v npm >/dev/null &&
        grep -q '"test"[[:space:]]*:' package.json && ! grep -q 'no test specified' package.json
}

pytest_has_tests() {
    command -v pytest >/dev/null || return 1
    [ -f pytest.ini ] || [ -f conftest.py ] || [ -d tests ] || grep -qs '^\[tool\.pytest' pyproject.toml
}

if [ -s .agents/test-command ]; then
    IFS= read -r tests <.agents/test-command || [ -n "$tests" ]
elif [ -f Makefile ] && grep -q '^test[[:space:]]*:' Makefile; then
    tests='make test'
elif npm_has_tests; then
    tests='npm test'
elif pytest_has_tests; then
    tests='pytest -q'
else
    echo "enforce-tests: found no tests to run" >&2
    exit 0
fi

# Tests import the project's own code, which hooks do not.
unset PYTHONSAFEPATH
# The output goes to a file: on stdout it would be taken for the hook's answer.
output=$(mktemp) || exit 1
trap 'rm -f "$output"' EXIT
if sh -c "$tests" >"$output" 2>&1 </dev/null; then
    exit 0
fi
{
    echo "The tests do not pass ($tests). Mend them before you finish. Their last lines:"
    tail -n 20 "$output"
} >&2
exit 2
