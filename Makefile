# make demo   see the main job on generated data
# make test   run all tests and doctests
#
# Both make .venv by themselves. For the rest: make help

VENV := .venv
BIN := $(VENV)/bin
SOURCES := pyproject.toml setup.py $(shell find src -name "*.pyx")
# The first of these that is 3.11 or newer and can make environments is used; PYTHON=... goes first.
CANDIDATES := $(PYTHON) python3.13 python3.12 python3.11 python3
PIP := $(BIN)/python -m pip --disable-pip-version-check --quiet --quiet

.PHONY: help setup demo test test-page docs coverage lint release-check mutants calls bench bench-full clean
.DEFAULT_GOAL := help

help:
	@echo "make demo    see the main job on generated data"
	@echo "make test    run all tests and doctests"
	@echo "make test-page  run the page in a browser (needs chromium and chromedriver)"
	@echo "make setup   install everything for development at once"
	@echo "make docs    build the site into build/site/html, with every example executed"
	@echo "make coverage  run all tests and compare what they cover with the floors (twice as long)"
	@echo "make lint    ruff, mypy, import-linter"
	@echo "make release-check  what a release must pass: metadata, spelling, workflow files, sp-repo-review"
	@echo "make mutants  change the code at random places and see if the tests notice (SAMPLE=60)"
	@echo "make bench   run the benchmarks at small sizes and write benchmarks/RESULTS.md (20 min)"
	@echo "make bench-full  the same at the sizes of the goals (many hours)"
	@echo "make clean   remove .venv, builds and caches"

demo:
	@start=$$(date +%s); \
	$(MAKE) --no-print-directory --silent $(VENV)/.installed || exit 1; \
	installed=$$(date +%s); \
	$(BIN)/subscape demo || exit 1; \
	echo "installation: $$((installed - start)) s"; \
	echo "run:          $$(($$(date +%s) - installed)) s"

test: $(VENV)/.installed
	$(BIN)/python -m pytest -n auto

test-page: $(VENV)/.installed-browser
	$(BIN)/python -m pytest -m browser tests/report

docs: $(VENV)/.installed-docs
	$(BIN)/python docs/site/build.py

coverage: $(VENV)/.installed-dev
	$(BIN)/coverage erase
	$(BIN)/coverage run -m pytest -n auto tests
	$(BIN)/coverage combine --quiet
	$(BIN)/python .ci/coverage.py

lint: $(VENV)/.installed-dev
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports

release-check: $(VENV)/.installed-release
	$(BIN)/validate-pyproject pyproject.toml
	$(BIN)/codespell src docs .ci .github conda *.md *.py
	$(BIN)/check-jsonschema --builtin-schema vendor.github-workflows .github/workflows/*.yml
	$(BIN)/check-jsonschema --builtin-schema vendor.dependabot .github/dependabot.yml
	$(BIN)/check-jsonschema --builtin-schema vendor.readthedocs .readthedocs.yaml
	$(BIN)/zizmor --offline --no-progress --quiet --config .github/zizmor.yml .github/workflows .github/dependabot.yml
	$(BIN)/python .ci/review.py

# SAMPLE: how many changes; SEED: which; PACKAGES: where, e.g. PACKAGES="exploration report".
SAMPLE ?= 60
SEED ?= 0
FLOOR ?= 0
SECONDS_EACH ?= 60
mutants: $(VENV)/.installed
	$(BIN)/python benchmarks/mutants.py --sample $(SAMPLE) --seed $(SEED) --floor $(FLOOR) \
		--seconds $(SECONDS_EACH) $(if $(PACKAGES),--packages $(PACKAGES))

# Which tests call which function: asked first by "make mutants". Twice as long as "make test".
calls: $(VENV)/.installed
	$(BIN)/python -m pytest -n auto -p benchmarks.called --called .calls.json
	$(BIN)/python benchmarks/called.py --golden .golden.json
	$(BIN)/python benchmarks/called.py .calls.json .golden.json --most 60 -o benchmarks/results/calls.json
	rm .calls.json .golden.json

bench: $(VENV)/.installed-peers
	$(BIN)/python benchmarks/suite.py

bench-full: $(VENV)/.installed-peers
	$(BIN)/python benchmarks/suite.py --full

clean:
	rm -rf $(VENV) build dist src/*.egg-info .mypy_cache .pytest_cache .ruff_cache \
		.import_linter_cache .hypothesis
	find src -name "*.so" -delete
	find src tests benchmarks -name __pycache__ -type d -prune -exec rm -rf {} + 2>/dev/null || true

$(VENV)/.installed: $(SOURCES) | $(VENV)/.python
	@echo "installing subscape and what its tests need into $(VENV): downloads, then"
	@echo "$(words $(filter %.pyx,$(SOURCES))) kernels are compiled on all cores, which takes a minute or two ..."
	@$(PIP) install --editable ".[test]"
	@$(BIN)/subscape --version
	@$(BIN)/subscape --version | grep -q cython || \
		echo "note: without a C compiler Subscape runs on NumPy: the same results, slower"
	@touch $@

# For those who need all of it: each installation builds the kernels anew, this one does it once.
setup: | $(VENV)/.python
	@echo "installing subscape and everything for development into $(VENV) ..."
	@$(PIP) install --editable ".[dev,browser,docs,release]"
	@touch $(VENV)/.installed
	@touch $(VENV)/.installed-dev $(VENV)/.installed-browser $(VENV)/.installed-docs \
		$(VENV)/.installed-release

$(VENV)/.installed-dev: $(VENV)/.installed
	@echo "installing the linters into $(VENV) ..."
	@$(PIP) install --editable ".[dev]"
	@touch $@

$(VENV)/.installed-docs: $(VENV)/.installed
	@echo "installing what builds the site into $(VENV) ..."
	@$(PIP) install --editable ".[docs]"
	@touch $@

$(VENV)/.installed-release: $(VENV)/.installed
	@echo "installing the linters of releases into $(VENV) ..."
	@$(PIP) install --editable ".[release]"
	@touch $@

# ClustPy asks for much that the part of it we compare with never uses.
$(VENV)/.installed-peers: $(VENV)/.installed
	@echo "installing those whom we compare ourselves with into $(VENV) ..."
	@for peer in clusim genieclust pyclustering "--no-deps clustpy"; do \
		$(PIP) install $$peer || echo "note: can't be installed here: $$peer"; \
	done
	@touch $@

$(VENV)/.installed-browser: $(VENV)/.installed
	@echo "installing what drives the browser into $(VENV) ..."
	@$(PIP) install --editable ".[browser]"
	@touch $@

$(VENV)/.python:
	@if $(BIN)/python -c 'import pip, sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null; then \
		touch $@; exit 0; \
	fi; \
	python=""; \
	for candidate in $(CANDIDATES); do \
		if $$candidate -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null; then \
			python=$$candidate; break; \
		fi; \
	done; \
	if [ -z "$$python" ]; then \
		echo "Subscape needs Python 3.11 or newer, and none was found among: $(CANDIDATES)"; \
		echo "  Debian, Ubuntu:  sudo apt install python3 python3-venv"; \
		echo "  Fedora:          sudo dnf install python3"; \
		echo "  macOS:           brew install python"; \
		echo "One in another place:  make PYTHON=/path/to/python3 $(MAKECMDGOALS)"; \
		exit 1; \
	fi; \
	if ! $$python -c 'import ensurepip, venv' 2>/dev/null; then \
		echo "$$python cannot make virtual environments: its module venv or ensurepip is missing"; \
		echo "  Debian, Ubuntu:  sudo apt install python3-venv"; \
		echo "Another Python:    make PYTHON=/path/to/python3 $(MAKECMDGOALS)"; \
		exit 1; \
	fi; \
	echo "making $(VENV) with $$python ($$($$python --version))"; \
	$$python -m venv --clear $(VENV) && touch $@
