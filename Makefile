# The two commands a newcomer needs: make demo, make test. Each does all its set-up in .venv.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
JOBS ?= 2

.PHONY: demo test lint types doctest pytest test-lowest attack docs bench-speed bench-quick format clean clean-cache

demo: $(VENV)/.ready
	$(BIN)/holdfast audit wdbc --out results/demo --force

test: lint types doctest pytest

lint: $(VENV)/.ready
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

types: $(VENV)/.ready
	$(BIN)/mypy

doctest: $(VENV)/.ready
	$(BIN)/pytest -q --doctest-modules src

pytest: $(VENV)/.ready
	$(BIN)/pytest -q -n $(JOBS) tests

# Every promise attacked at full size, with tries and breaks; the same families run small in tests/adversary.
attack: $(VENV)/.ready
	$(BIN)/python -m tests.adversary

# Learning and certifying on the oldest versions pyproject.toml admits; compiled code is kept apart.
LOWEST := numpy==1.26.4 scipy==1.12.0 scikit-learn==1.6.0 numba==0.60.0 joblib==1.3.2 threadpoolctl==3.2.0 pandas==2.2.2
test-lowest: .venv-lowest/.ready
	NUMBA_CACHE_DIR=.venv-lowest/numba .venv-lowest/bin/pytest -q -n $(JOBS) tests --ignore tests/cli \
	  --ignore tests/report --ignore tests/benchmarks --ignore tests/datasets --ignore tests/docs \
	  --ignore tests/examples --ignore tests/backends --ignore tests/persistence --ignore tests/audit --ignore tests/adversary

# The site, offline, warnings as errors; every example of the gallery is run. It is in docs/_build/html.
docs: $(VENV)/.ready
	rm -rf docs/api/generated
	$(BIN)/sphinx-build -W --keep-going -q -b html -d docs/_build/doctrees docs docs/_build/html

bench-speed: $(VENV)/.ready
	$(BIN)/python -m benchmarks.speed

# The paper again, in minutes: few rounds, few draws, small sets; python -m benchmarks.yang --help has the rest.
bench-quick: $(VENV)/.ready
	$(BIN)/python -m benchmarks.yang run --profile quick --jobs $(JOBS) --out .bench/yang-quick --tables

format: $(VENV)/.ready
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

$(VENV)/.ready: pyproject.toml
	$(PYTHON) -c 'import sys; sys.exit("holdfast needs Python 3.11 or newer, this is " + sys.version.split()[0] + "; set PYTHON=...") if sys.version_info < (3, 11) else None'
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(BIN)/pip install -q --disable-pip-version-check -e ".[dev]"
	touch $@

.venv-lowest/.ready: pyproject.toml Makefile
	test -x .venv-lowest/bin/python || $(PYTHON) -m venv .venv-lowest
	.venv-lowest/bin/pip install -q --disable-pip-version-check $(LOWEST) -e ".[test]"
	touch $@

# numba notices a change in a file, but not one in a kernel that the file calls.
clean-cache:
	find src tests benchmarks -name '*.nb[ic]' -delete

clean:
	rm -rf $(VENV) .venv-lowest .bench build dist docs/_build docs/gallery docs/api/generated .pytest_cache .mypy_cache .ruff_cache .hypothesis
