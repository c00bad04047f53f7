# demo, test, check, docs and bench need nothing but Python 3.11 or newer and make; everything else goes into .venv.
PYTHON ?= python3
BIN := .venv/bin
export PIP_CONSTRAINT := $(CURDIR)/constraints.txt
export PIP_DISABLE_PIP_VERSION_CHECK := 1
# The theme's advertisement for its successor.
export NO_MKDOCS_2_WARNING := 1
# Each of the test processes would take a thread of BLAS on every core, and they would wait for each other in a loop.
export OPENBLAS_NUM_THREADS := 1

.PHONY: demo test test-slow mutants check docs bench clean

demo: .venv/.installed
	$(BIN)/truecost demo --out demo

test: .venv/.tools
	$(BIN)/python -m pytest --numprocesses $$(( $$(nproc) + 1 )) --maxprocesses 6 --dist worksteal --durations 20

# What starts irace, SLURM, a browser or a cluster, kills processes or counts for long; then the mutants.
test-slow: .venv/.tools
	$(BIN)/python -m pytest -m slow --numprocesses $$(nproc) --dist worksteal --durations 20
	$(MAKE) --no-print-directory mutants

# Small faults put into a copy of the code, one at a time: the tests named beside each must notice.
mutants: .venv/.tools
	$(BIN)/python tests/mutants.py

check: .venv/.tools
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports --no-cache
	$(MAKE) --no-print-directory docs

# Not --quiet: it drops warnings before strict counts them.
docs: .venv/.tools
	$(BIN)/python -m mkdocs build --strict

bench: .venv/.tools
	$(BIN)/python -m bench.speed

clean:
	rm -rf .venv demo site

.venv/.installed: pyproject.toml constraints.txt
	@$(PYTHON) -c 'import sys; sys.version_info >= (3, 11) or sys.exit("truecost needs Python 3.11 or newer, this is " + sys.version.split()[0] + "; try: make PYTHON=python3.12")'
	$(PYTHON) -m venv .venv
# Python compiles what it imports; compiling everything takes longer than the demo.
	$(BIN)/python -m pip install --quiet --no-compile -e .
	@touch $@

.venv/.tools: .venv/.installed
	$(BIN)/python -m pip install --quiet -e '.[dev,cluster,solvers]'
	@touch $@
