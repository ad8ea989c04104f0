# The two commands of a newcomer are `make demo` and `make test`; each sets up what it needs.

# Some images switch off byte code: every process of a test would then compile all of the product.
export PYTHONDONTWRITEBYTECODE :=

PYTHON ?= python3
PREFIX ?= $(HOME)/.local
BIN := .venv/bin

.PHONY: demo run install uninstall test test-all check lint types contracts \
	set-up set-up-dev lock check-wheels screenshots page-figures clean

demo: set-up
	@$(BIN)/python examples/demo.py

run: set-up
	@$(BIN)/recollect serve

install:
	@$(PYTHON) tools/install.py --prefix "$(PREFIX)" $(if $(EXTRAS),--extras)

uninstall:
	@$(PYTHON) tools/install.py --prefix "$(PREFIX)" --uninstall $(if $(KEEP_AGENTS),--keep-agents)

PYTEST = $(BIN)/python tools/run_tests.py
# Tests wait for disks and other processes, too. A file stays with a worker, and with what it started.
PARALLEL = -n 3 --dist loadfile --no-loadscope-reorder

# While you work: under two minutes.
check: lint types contracts
	RECOLLECT_TEST_EFFORT=0.2 $(PYTEST) -n 2 --dist worksteal -m "fast and not slow"

# Before you push: each store, shell and kind of fault, with a sample of kills and matrices.
test: lint types contracts
	RECOLLECT_TEST_EFFORT=0.2 $(PYTEST) $(PARALLEL) -m "not slow"

# What CI runs: with every kill, long histories, all of the browser's views, images and wheels.
test-all: lint types contracts
	$(PYTEST) $(PARALLEL)

lint: set-up-dev
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/oxfmt --check "src/**/*.js"
	$(BIN)/oxlint --deny-warnings src

types: set-up-dev
	$(BIN)/mypy

contracts: set-up-dev
	$(BIN)/lint-imports

set-up:
	@$(PYTHON) tools/set_up.py

set-up-dev:
	@$(PYTHON) tools/set_up.py --dev

# Pins for every supported Python and platform, with hashes and without any index's address. The
# development pins are resolved first, so that both sets agree on every version.
COMPILE = uv pip compile --quiet --universal --python-version 3.11 --generate-hashes \
	--no-header --no-emit-index-url --no-annotate
lock:
	@command -v uv >/dev/null || { echo "make lock needs uv: pip install uv"; exit 1; }
	$(COMPILE) pyproject.toml --all-extras --group dev -o requirements-dev.txt
	$(COMPILE) pyproject.toml -c requirements-dev.txt -o requirements.txt
	$(COMPILE) pyproject.toml --all-extras -c requirements-dev.txt -o requirements-extras.txt
	$(COMPILE) --group build -c requirements-dev.txt -o requirements-build.txt
	@$(MAKE) check-wheels

check-wheels:
	@$(PYTHON) tools/check_wheels.py

# The page in light and dark, from the demo's memories, into docs/screenshots.
screenshots: set-up-dev
	@$(BIN)/python tools/screenshots.py

# Size and time of the page's first view, and frame times, in the browser of this machine.
page-figures: set-up-dev
	@$(BIN)/python tools/screenshots.py --measure

clean:
	rm -rf .venv .venv.lock .venv.log .mypy_cache .ruff_cache .pytest_cache .hypothesis
