# The two commands of a newcomer are `make demo` and `make test`; each sets up what it needs.

PYTHON ?= python3
BIN := .venv/bin

.PHONY: demo test run lint types contracts tests set-up lock clean

demo: set-up
	@$(BIN)/python examples/demo.py

test: lint types contracts tests

run: set-up
	@$(BIN)/recollect serve

lint: set-up
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .

types: set-up
	$(BIN)/mypy

contracts: set-up
	$(BIN)/lint-imports

tests: set-up
	$(BIN)/pytest -n 4 --dist loadfile

set-up:
	@$(PYTHON) tools/set_up.py

# Pins for every supported Python and platform, with hashes and without any index's address.
lock: set-up
	$(BIN)/python -m pip install --quiet uv
	$(BIN)/uv pip compile --quiet --universal --python-version 3.11 --generate-hashes \
		--no-header --no-emit-index-url --no-annotate pyproject.toml -o requirements.txt
	$(BIN)/uv pip compile --quiet --universal --python-version 3.11 --generate-hashes \
		--no-header --no-emit-index-url --no-annotate --extra dev pyproject.toml \
		-o requirements-dev.txt

clean:
	rm -rf .venv .venv.lock .mypy_cache .ruff_cache .pytest_cache .hypothesis
