# What a newcomer runs. Everything happens in .venv, which sets itself up; once it is there, no network is needed.
VENV ?= .venv
ifeq ($(OS),Windows_NT)
BIN := $(VENV)/Scripts
else
BIN := $(VENV)/bin
endif
SOURCES := server clients tests bench
TESTS ?=
BENCH ?=

.DEFAULT_GOAL := help
.PHONY: help demo test test-vscode bench check check-python check-neovim check-vscode vsix format venv lock wheel clean

help:
	@echo 'make demo    see it work: a tiny model writes and runs a program in a temporary folder'
	@echo 'make test    run the tests (TESTS="tests/store -k torn" for some of them)'
	@echo 'make test-vscode   only the tests in a real VS Code (clients/vscode/ci.sh tools brings what they need)'
	@echo 'make check   lint, formatting and types (check-python, check-neovim, check-vscode)'
	@echo 'make format  put the code into its form'
	@echo 'make venv    set up $(VENV) for development'
	@echo 'make wheel   build the wheel into dist/'
	@echo 'make vsix    build the extension for VS Code, with the daemon in it'
	@echo 'make lock    pin the requirements anew (needs uv)'
	@echo 'make bench   run all benchmarks and print their tables (BENCH="--only start steps" for some)'
	@echo 'make clean   remove what the targets above made'

demo: $(VENV)/.ready-demo
	$(BIN)/python -m llamagent_server demo || [ $$? -eq 4 ]  # 4: the person said no, which is no failure

test: $(VENV)/.ready-dev
	$(BIN)/python -m pytest $(TESTS)
ifeq ($(strip $(TESTS)),)
	@clients/vscode/ci.sh missing || $(MAKE) --no-print-directory test-vscode
endif

test-vscode: vsix
	clients/vscode/ci.sh test

vsix: $(VENV)/.ready-dev clients/vscode/node_modules/.package-lock.json
	clients/vscode/ci.sh package

check: check-python check-neovim check-vscode

check-python: $(VENV)/.ready-dev
	$(BIN)/ruff check $(SOURCES)
	$(BIN)/ruff format --check $(SOURCES)
	$(BIN)/mypy

check-neovim: $(VENV)/.ready-dev clients/neovim/node_modules/.package-lock.json
	$(BIN)/python clients/neovim/check.py

check-vscode: clients/vscode/node_modules/.package-lock.json
	cd clients/vscode && npm run --silent check

clients/vscode/node_modules/.package-lock.json: clients/vscode/package-lock.json
	cd clients/vscode && npm ci --silent --no-audit --no-fund --ignore-scripts
	@touch $@

clients/neovim/node_modules/.package-lock.json: clients/neovim/package-lock.json
	cd clients/neovim && npm ci --silent --no-audit --no-fund
	@touch $@

format: $(VENV)/.ready-dev clients/neovim/node_modules/.package-lock.json
	$(BIN)/ruff check --fix $(SOURCES)
	$(BIN)/ruff format $(SOURCES)
	$(BIN)/python clients/neovim/check.py --fix

venv: $(VENV)/.ready-dev

wheel: $(VENV)/.ready-dev
	$(BIN)/python -m hatchling build --target wheel

# The stamps are files in the environment, so that they go when it goes. Development has all that the demo needs.
$(VENV)/.ready-dev: requirements/dev.txt pyproject.toml scripts/setup.sh
	@sh scripts/setup.sh $(VENV) dev
	@touch $(VENV)/.ready-demo $@

$(VENV)/.ready-demo: requirements/demo.txt pyproject.toml scripts/setup.sh
	@sh scripts/setup.sh $(VENV) demo
	@touch $@

bench: $(VENV)/.ready-dev
	$(BIN)/python -m bench $(BENCH)

COMPILE := uv pip compile --quiet --universal --python-version 3.11 --generate-hashes --no-emit-index-url \
	--custom-compile-command 'make lock' pyproject.toml

lock:
	$(COMPILE) requirements/dev.in --all-extras -o requirements/dev.txt
	$(COMPILE) requirements/demo.in --extra embedded --no-annotate -c requirements/dev.txt -o requirements/demo.txt

clean:
	rm -rf $(VENV) clients/*/node_modules dist build .pytest_cache .mypy_cache .ruff_cache .hypothesis
	find $(SOURCES) -name __pycache__ -prune -exec rm -rf {} +
