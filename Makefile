# demo, test, check, docs and bench need nothing but Python 3.11 or newer and make; everything else goes into .venv.
PYTHON ?= python3
BIN := .venv/bin
export PIP_CONSTRAINT := $(CURDIR)/constraints.txt
export PIP_DISABLE_PIP_VERSION_CHECK := 1
# Else each of the many processes that tests start would compile the same files again.
unexport PYTHONDONTWRITEBYTECODE
# The theme's advertisement for its successor.
export NO_MKDOCS_2_WARNING := 1

.PHONY: demo test test-tools check docs pages bench clean

demo: .venv/.installed
	$(BIN)/truecost demo --out demo

# Each of these processes would take a thread of BLAS on every core, and they would wait for each other in a loop.
test test-tools: export OPENBLAS_NUM_THREADS := 1
test: .venv/.compiled
	$(BIN)/python -m pytest --numprocesses $$(( $$(nproc) + 1 )) --maxprocesses 6 --dist worksteal --durations 20

# What starts other tools for real, irace with R and SLURM among them, builds the site, runs
# notebooks or looks at large pages in a browser.
test-tools: .venv/.compiled
	$(BIN)/python -m pytest -m tools --numprocesses $$(nproc) --dist worksteal --durations 20

check: .venv/.tools
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports --no-cache
	$(MAKE) --no-print-directory docs

# Not --quiet: it drops warnings before strict counts them.
docs: .venv/.tools
	$(BIN)/python -m mkdocs build --strict

# Outputs and pictures of the pages and notebooks, made again.
pages: .venv/.compiled
	$(BIN)/python -m docs.pictures
	UPDATE_PAGES=1 $(BIN)/python -m pytest tests/test_docs.py -m "" -k "every_block or notebooks or glossary"

bench: .venv/.tools
	$(BIN)/python -m bench

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

# A cached kernel does not notice that one of another file, which it calls, has changed.
.venv/.compiled: .venv/.tools src/truecost/paper/_resample_kernels.py src/truecost/race/_rules.py $(addprefix src/truecost/stats/,betting.py constant.py finite.py grouping.py ledger.py lists.py mixing.py) src/truecost/stats/compiled.py src/truecost/stats/scanning.py
	find src -name '*.nb[ci]' -delete
	$(BIN)/python tests/warm.py
	@touch $@
