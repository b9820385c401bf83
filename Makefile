# The course in a few commands. On a system without make, CONTRIBUTING.md has them one by one.

PYTHON ?= python3
# Off by default. On Linux, the address of PyTorch's index of CPU builds (its "Get started"
# page shows it): make lab TORCH_INDEX=...   saves several gigabytes of CUDA libraries.
TORCH_INDEX ?=

VENV := .venv
BIN := $(VENV)/bin
NOTEBOOKS := $(sort $(wildcard notebooks/*.ipynb))

.DELETE_ON_ERROR:
.PHONY: help lab test check run record bench score doctor fix clean env weights

help:
	@echo "make lab      set up, then open the course in JupyterLab"
	@echo "make env      set up, and no more"
	@echo "make test     set up, then all tests and all notebooks (minutes)"
	@echo "make check    the fast tests, lint and types"
	@echo "make run      execute every notebook and refresh its outputs"
	@echo "make record   the same, with every reply of a language model made anew"
	@echo "make bench    speed beside other libraries"
	@echo "make score    every strategy on the course's questions"
	@echo "make doctor   what is missing, and how to mend it"
	@echo "make fix      sort imports, format, mend what ruff can mend"
	@echo "make clean    remove .venv and caches, but not the model weights"

# Jupyter refuses to run as root, who is often the only user of a container, unless told to.
lab: weights
	@$(BIN)/python -m chunking_lib doctor
	$(BIN)/jupyter lab --ip=127.0.0.1 --ServerApp.root_dir="$(CURDIR)" \
		$(if $(filter 0,$(shell id -u)),--allow-root) \
		--LabApp.default_url=/lab/tree/notebooks/01_character.ipynb

# One pytest run, so that its last line counts everything. Each file, and so each notebook,
# stays with one of the two workers and keeps its order. A progress bar would be an output that
# a notebook has on its first run only.
test: weights
	$(BIN)/ruff check
	$(BIN)/ruff format --check
	$(BIN)/mypy
	TQDM_DISABLE=1 $(BIN)/python -m pytest -n 2 --dist loadfile \
		--nbval --nbval-current-env --nbval-cell-timeout 1200 \
		--nbval-sanitize-with tests/nbval_sanitize.cfg \
		chunking_lib tests $(NOTEBOOKS)

# Without nbval, whose import alone takes seconds in each of the three processes.
check: weights
	$(BIN)/ruff check
	$(BIN)/ruff format --check
	$(BIN)/mypy
	$(BIN)/python -m pytest -p no:nbval -n 2 -m "not slow"

run: weights
	$(BIN)/python tests/run_notebooks.py $(NOTEBOOKS)

record: weights
	CHUNKING_RECORD=1 $(BIN)/python tests/run_notebooks.py $(NOTEBOOKS)

bench: weights
	$(BIN)/python tests/benchmarks/run.py
	$(BIN)/python tests/benchmarks/embedding.py

score: weights
	$(BIN)/python tests/benchmarks/score.py
	$(BIN)/python tests/benchmarks/contextual.py
	$(BIN)/python tests/benchmarks/finale.py

# Without an environment the system's Python runs it: it needs nothing and says what is missing.
doctor:
	@if [ -x $(BIN)/python ]; then $(BIN)/python -m chunking_lib doctor; \
		else $(PYTHON) -m chunking_lib doctor; fi

fix: env
	$(BIN)/ruff check --fix
	$(BIN)/ruff format

clean:
	rm -rf $(VENV) build dist *.egg-info .coverage .pytest_cache .mypy_cache .ruff_cache .hypothesis
	find chunking_lib tests notebooks -name __pycache__ -prune -exec rm -rf {} +
	find notebooks -name .ipynb_checkpoints -prune -exec rm -rf {} +
	@echo "The model weights stay in your cache folder; make doctor says where that is."

# --- the environment: each stamp is made anew when what it depends on has changed -------------

env: $(VENV)/.package

$(VENV)/.made:
	@$(PYTHON) -c 'import sys; sys.exit(not (3, 11) <= sys.version_info[:2] <= (3, 13))' || \
		{ echo "The course needs Python 3.11, 3.12 or 3.13, and \"$(PYTHON)\" is not one of them."; \
		  echo "Install one and name it: make lab PYTHON=python3.12"; exit 1; }
	@$(PYTHON) -c 'import ensurepip, venv' 2>/dev/null || \
		{ echo "Python cannot make a virtual environment: its venv module is missing."; \
		  echo "On Debian or Ubuntu: sudo apt install python3-venv"; exit 1; }
	$(PYTHON) -m venv $(VENV)
	@touch $@

# --no-compile: Python compiles what is imported, when it is. Saves a minute and 300 MB.
$(VENV)/.locked: requirements.lock requirements-nodeps.lock $(VENV)/.made
	@echo "Installing about 300 packages into $(VENV): some minutes, over 3 GB."
	$(BIN)/python -m pip install --no-compile --disable-pip-version-check \
		$(if $(TORCH_INDEX),--extra-index-url $(TORCH_INDEX)) -r requirements.lock
	$(BIN)/python -m pip install --no-compile --disable-pip-version-check \
		--no-deps -r requirements-nodeps.lock
	@touch $@

$(VENV)/.package: pyproject.toml $(VENV)/.locked
	$(BIN)/python -m pip install --quiet --disable-pip-version-check \
		--no-deps --no-build-isolation -e .
	@touch $@

weights: env
	@$(BIN)/python -m chunking_lib fetch
