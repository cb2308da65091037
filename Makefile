.DEFAULT_GOAL := help
SHELL := /bin/sh
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
INSTALLED := $(VENV)/.installed
READY := $(VENV)/.ready
SITE_READY := $(VENV)/.site-ready
BROWSER_READY := $(VENV)/.browser-ready

help: ## show this help
	@grep -hE '^[a-z0-9-]+:.*## ' $(MAKEFILE_LIST) | awk -F ':.*## ' '{printf "  %-12s %s\n", $$1, $$2}'

$(INSTALLED): pyproject.toml constraints.txt
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "boathook needs Python 3.11 or newer; this is %s. Try: make PYTHON=python3.12" % sys.version.split()[0] or 0)'
	@echo "making $(VENV), once; this takes a moment"
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt -e .
	@touch $(INSTALLED)

$(READY): $(INSTALLED)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt -e '.[dev]'
	@touch $(READY)

$(SITE_READY): $(READY)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt -e '.[site]'
	@touch $(SITE_READY)

$(BROWSER_READY): $(READY)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt -e '.[browser]'
	@touch $(BROWSER_READY)

demo: $(INSTALLED) ## play a short agent turn with real hooks
	@$(BIN)/boathook demo

# What the interpreter has compiled is kept, whatever the environment says: reading all tests anew takes longer than collecting them.
test test-apart test-faults test-documents test-installed test-remote test-bridges test-page test-long: export PYTHONDONTWRITEBYTECODE =
test: $(READY) ## run the tests
	$(BIN)/python -m pytest -q -n auto --dist worksteal -m 'not long and not document and not installed and not remote and not bridge and not browser' --ignore=tests/faults --ignore=tests/fuzz --ignore=tests/warm --ignore=tests/process --ignore=tests/permits

test-faults: $(READY) ## what goes wrong, and what takes many processes: every row of the fault model, the seeds of the fuzzer, the processes of hooks, a person's answers at terminals, the warm engine
	$(BIN)/python -m pytest -q -n auto --dist worksteal -m 'not long and not installed' tests/faults tests/fuzz tests/process tests/permits tests/warm

test-documents: $(READY) ## every vector of the specification in process, the code of every page of the documentation, the examples
	$(BIN)/python -m pytest -q -n auto --dist worksteal -m 'document and not long'

test-long: $(READY) ## the longer tests: every vector by the command line, faults in process, other versions of Python, how time grows with the size of an input, matching without RE2, the warm engine
	$(BIN)/python -m pytest -q -n auto --dist worksteal -m long

test-installed: $(READY) ## installations: the README word for word, with a wheel, in a clean home; those that are upgraded, moved, broken, repaired
	$(BIN)/python -m pytest -q -n auto --dist worksteal -m 'installed and not long'

test-apart: $(READY) ## test-documents, test-installed and test-remote in one run: collecting all tests takes a while
	$(BIN)/python -m pytest -q -n auto --dist worksteal -m '(document or installed or remote) and not long'

test-remote: $(READY) ## hooks that ask a model or a server, on loopback
	$(BIN)/python -m pytest -q -n auto --dist worksteal -m 'remote and not long'

test-bridges: $(READY) ## the contract of the bridges with pydantic-ai, which is installed here
	$(BIN)/python -m pytest -q -n auto --dist worksteal -m 'bridge and not long' tests/bridges

test-page: $(BROWSER_READY) ## the page in a real browser: the chromium of the system
	$(BIN)/python -m pytest -q -n auto --dist worksteal -m 'browser and not long' tests/page

test-as-user: $(READY) ## as root: the tests that root cannot run, as a user without rights
	$(BIN)/python scripts/test_as_user.py

test-hooks: $(READY) ## boathook test for the hooks of this repository: the standard pack, the examples, and its own
	$(BIN)/python scripts/test_shipped_hooks.py

explore: $(READY) ## the properties of the tests with random examples for SECONDS (60); SEED= for one round again
	$(BIN)/python scripts/explore.py --seconds $(or $(SECONDS),60) $(addprefix --seed ,$(SEED))

quick-check: $(READY) ## the quick part of check: lint, layers, generated docs
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/lint-imports --no-cache
	$(BIN)/python scripts/generate_docs.py --check

check: quick-check ## lint, types, layers, generated docs, type errors in code that uses hooks wrongly
	@$(MAKE) --no-print-directory -j2 run-mypy run-pyright
	@$(MAKE) --no-print-directory run-typing-tests

run-mypy: $(READY)
	$(BIN)/mypy

run-pyright: $(READY)
	$(BIN)/pyright

# After mypy, whose cache makes it quick.
run-typing-tests: $(READY)
	$(BIN)/python -m pytest -q -n 2 -m long tests/inprocess/test_typing.py

PLATFORM ?= musllinux_1_2_x86_64
wheel: $(READY) ## build the wheel into dist/
	$(BIN)/python -m pip wheel --quiet --disable-pip-version-check --no-deps -w dist .

wheel-musl: $(READY) ## build the wheel for musl (Alpine), without google-re2, for PLATFORM (musllinux_1_2_x86_64)
	BOATHOOK_WHEEL_PLATFORM=$(PLATFORM) $(BIN)/python -m pip wheel --quiet --disable-pip-version-check --no-deps -w dist .

conformance: $(READY) ## run the conformance vectors and print the table
	$(BIN)/python -m boathook.testing.conformance

bench: $(READY) ## measure, interleaved, as ratios (writes docs/reference/benchmarks.md with WRITE=1)
	$(BIN)/python bench/run.py $(if $(WRITE),--write)

soak: $(READY) ## 10,000 events from eight processes: nothing may leak or be lost
	$(BIN)/python scripts/soak.py

killtest: $(READY) ## kill -9 the ledger's writers in a loop: nothing acknowledged may be lost
	$(BIN)/python scripts/killtest.py

fuzz: $(READY) ## fuzz everything that strangers write, each target for SECONDS (60); TARGET= for one
	-@$(BIN)/python -c 'import atheris' 2>/dev/null || $(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt -e '.[fuzz]'
	$(BIN)/python fuzz/run.py --seconds $(or $(SECONDS),60) $(TARGET)

fuzz-fast-path: $(READY) ## compare the fast path with the engine on CASES (100000) random hooks and tool calls; SEED= for the same again
	$(BIN)/python -m fuzz.fast_path_cases --cases $(or $(CASES),100000) $(addprefix --seed ,$(SEED))

e2e: $(READY) ## the same hooks in five real agents, offline; HOST= for one (writes docs/reference/matrix.md with WRITE=1)
	$(BIN)/python -m e2e.run $(addprefix --host ,$(HOST)) $(if $(WRITE),--write)

e2e-all: $(READY) ## the same in all nine agents that can be run
	$(BIN)/python -m e2e.run --all $(if $(WRITE),--write)

bridges: $(READY) ## the contract of the bridges in every framework, each in an environment of its own; FRAMEWORK= for one, NEWEST=1 for the newest releases, BENCH=1 for what they cost (writes docs/reference/bridges.md with WRITE=1)
	$(BIN)/python scripts/run_bridges.py $(addprefix --framework ,$(FRAMEWORK)) $(if $(NEWEST),--newest) $(if $(PIN),--pin) $(if $(BENCH),--bench) $(if $(WRITE),--write)

docs: $(READY) ## make the generated parts of the documentation again
	$(BIN)/python scripts/generate_docs.py

page-pictures: $(BROWSER_READY) ## make the pictures of the page again, from real runs of hooks
	$(BIN)/python -m scripts.make_page_pictures

picture: $(READY) ## make the picture of the README again, from what the commands print
	$(BIN)/python scripts/make_picture.py

site: $(SITE_READY) ## build the documentation site into build/site, strictly: no dead link, no page without a place
	$(BIN)/python scripts/make_site.py

snapshots: $(READY) ## write anew what commands print (tests/cli/snapshots); look at the difference before you commit it
	UPDATE_SNAPSHOTS=1 $(BIN)/python -m pytest -q tests/cli/test_snapshots.py

format: $(READY) ## format the code
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

clean: ## remove what can be made again
	rm -rf $(VENV) .mypy_cache .ruff_cache .pytest_cache .hypothesis dist build
	find . -name __pycache__ -type d -prune -exec rm -rf {} +

.PHONY: help demo wheel wheel-musl test test-apart test-faults test-documents test-long test-installed test-remote test-bridges test-page test-as-user test-hooks explore quick-check check run-mypy run-pyright run-typing-tests conformance bench soak killtest fuzz fuzz-fast-path e2e e2e-all bridges docs page-pictures picture site snapshots format clean
