# The two commands a newcomer needs: make demo, make test. Each does all its set-up in .venv.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
JOBS ?= 2

.PHONY: demo test lint types kernels doctest pytest test-lowest attack docs bench-speed bench-quick format clean clean-cache

demo: $(VENV)/.ready
	$(BIN)/holdfast audit wdbc --out results/demo --force

# Two jobs side by side: types and some kernels, and the doctests, which compile the other kernels. The tests then find
# all of them in the cache, and no kernel is compiled by two processes.
test: lint
	$(MAKE) --no-print-directory --output-sync -j $(JOBS) kernels doctest
	$(MAKE) --no-print-directory pytest

lint: $(VENV)/.ready
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

types: $(VENV)/.ready
	$(BIN)/mypy

# Each process has one core, so the linear algebra in it gets one thread.
ONE_THREAD := OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1 MKL_NUM_THREADS=1

# Searches in boxes and among relations, which no doctest needs; after the types, so that these are no third job.
kernels: types
	$(ONE_THREAD) $(BIN)/pytest -q tests/adversary/test_brute_force.py

doctest: $(VENV)/.ready
	$(ONE_THREAD) $(BIN)/pytest -q --doctest-modules src

# A worker that is done takes tests from the other one; slow tests are named in CONTRIBUTING.md.
pytest: $(VENV)/.ready
	$(ONE_THREAD) $(BIN)/pytest -q -n $(JOBS) --dist worksteal tests

# Every promise attacked at full size, with tries and breaks; the same families run small in tests/adversary.
attack: $(VENV)/.ready
	HOLDFAST_FULL=1 $(BIN)/python -m tests.adversary
	HOLDFAST_MUTATIONS=2000 $(BIN)/pytest -q tests/adversary/test_model_files.py -k mutated
	HOLDFAST_FULL=1 $(ONE_THREAD) $(BIN)/pytest -q -n $(JOBS) --dist worksteal tests

# The oldest versions pyproject.toml admits. What depends on them is run: the contracts of every learner, model, engine
# and step, what reads scikit-learn's fitted objects, and what calls scipy's solvers. Mathematics of our own is not run
# again. Compiled code is kept apart.
LOWEST := numpy==1.26.4 scipy==1.12.0 scikit-learn==1.6.0 numba==0.60.0 joblib==1.3.2 threadpoolctl==3.2.0 pandas==2.2.2
LOWEST_TESTS := tests/test_import.py tests/base tests/_core tests/models tests/paper/test_perturbation_search.py \
  $(addprefix tests/learn/test_,$(addsuffix .py,spaces objective supervision neighbor_search bases terms solvers primal_dual \
  lbfgs stochastic learners)) tests/paper/test_learners.py \
  tests/certificates/engines tests/certificates/test_certify.py tests/certificates/test_readers.py \
  $(addprefix tests/certificates/test_,$(addsuffix .py,pipelines encoded_numbers precision_of_steps threats_on_words unknown_cells \
  scikit_neighbors own_functions programs polyhedra)) tests/explanations
test-lowest: .venv-lowest/.ready
	NUMBA_CACHE_DIR=.venv-lowest/numba $(ONE_THREAD) .venv-lowest/bin/pytest -q -n $(JOBS) --dist worksteal $(LOWEST_TESTS)

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
