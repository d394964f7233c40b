# textmill: `make run` for everything at once, `make help` for the rest.
include textmill/telemetry.env
export DO_NOT_TRACK DVC_NO_ANALYTICS MLFLOW_DISABLE_TELEMETRY PREFECT_SERVER_ANALYTICS_ENABLED
# What the user gives goes to commands as it is: neither make nor the shell reads anything into it.
export OWN_TEXT := $(value TEXT)
export OWN_CORPUS := $(value CORPUS)
TEXT_GIVEN := $(filter-out undefined,$(origin TEXT))
CORPUS_GIVEN := $(filter-out undefined,$(origin CORPUS))
unexport TEXT CORPUS TARGETS CORES FORCE
# Where containers set this, every process would compile all that it imports, as none may keep it.
unexport PYTHONDONTWRITEBYTECODE
export PATH := $(CURDIR)/.venv/bin:$(PATH)
PYTHON ?= python3
# Nothing is compiled ahead: Python does that with what is used, less than half of what is there.
INSTALL = python -m pip install --quiet --no-compile

.DEFAULT_GOAL := help
.PHONY: help run long ui flow serve stop test check bench clean

help: ## Show this list
	@echo "textmill: language models you can compare. Targets:"
	@grep -hE '^[a-z]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/^([a-z]+):.*## /  make \1\t/' | expand -t 16
	@echo "  make run CORPUS=time_machine   another corpus of params.yaml"
	@echo "  make run TEXT=my/text.txt      your own file, folder or glob"

TELL_IT_GOES_ON = trap 'echo "textmill: interrupted; make $@ goes on from there" >&2' INT

override TAKEN := TEXT CORPUS TARGETS CORES FORCE PYTHON WORKERS
override UNKNOWN := $(strip $(foreach name,$(filter-out $(TAKEN) TAKEN UNKNOWN,$(.VARIABLES)),$(if $(filter command,$(firstword $(origin $(name)))),$(name))))
$(if $(UNKNOWN),$(error there is no $(UNKNOWN)=: make takes $(TAKEN), in capitals))

run: .venv/run.stamp ## Install, run the pipeline, print the leaderboard
	$(if $(and $(TEXT_GIVEN),$(CORPUS_GIVEN)),$(error TEXT= makes your text the corpus: leave CORPUS= out))
	$(if $(TEXT_GIVEN),textmill pin -- "$$OWN_TEXT")
	$(if $(CORPUS_GIVEN),textmill use -- "$$OWN_CORPUS")
	@textmill check
	@echo dvc repro
	@$(TELL_IT_GOES_ON); textmill follow --until $$$$ & dvc repro
	@textmill leaderboard --next
	@textmill publish || true

LONG = layers=2 embedding=400 hidden=650 dropout=0.4 embedding_dropout=0.1 batch=16 bptt=64 \
	learning_rate=0.0015 warmup=500 weight_decay=0.05 steps=12000 evaluate_every=600
SET_LONG = $(foreach change,$(LONG),--set-param networks.lstm_subword.$(change))

long: .venv/run.stamp ## Train the subword LSTM for about an hour, until it alone beats the n-grams
	@textmill check
	@echo dvc exp run $(SET_LONG)
	@$(TELL_IT_GOES_ON); textmill follow --until $$$$ & dvc exp run $(SET_LONG)
	@textmill leaderboard

flow: export OWN_TARGETS := $(value TARGETS)
flow: export OWN_CORES := $(value CORES)
flow: .venv/run.stamp ## Run the pipeline as a Prefect flow: TARGETS="stage ..." CORES=n FORCE=1
	set -f; python -m flows.command $$OWN_TARGETS $(if $(value CORES),--cores="$$OWN_CORES") $(if $(value FORCE),--force)
	$(if $(value TARGETS),,textmill leaderboard)

serve: .venv/run.stamp ## Prefect's server, schedule and worker on this machine, until Ctrl-C
	python -m flows.serve

stop: .venv/run.stamp ## End what `make serve` started, also after a crash
	python -m flows.stop

ui: .venv/run.stamp ## Open MLflow over what was published: runs, curves, models
	@python -m textmill.tracking.ui

# Two more than cores, since tests wait for half of their time; up to four, for the memory.
WORKERS = $$(python -c 'import os; print(min((os.cpu_count() or 1) + 2, 4))')

test: .venv/test.stamp ## Install what tests need and run them
	python -m pytest -n $(WORKERS) --dist worksteal

check: .venv/test.stamp ## Lint, types and the import contract
	ruff check .
	ruff format --check .
	mypy
	lint-imports

bench: .venv/test.stamp ## Run every benchmark
	for name in pipeline services ngram ngram_queries training neural wikitext2 intervals threads faults cleaning corpus; do python -m benchmarks.$$name || exit 1; done

clean: ## Remove what make and DVC made in the working tree (not DVC's cache)
	rm -rf .venv data models scores history/*.csv metrics reports .textmill build *.egg-info
	rm -rf .pytest_cache .mypy_cache .ruff_cache .hypothesis .import_linter_cache

.venv/bin/python:
	$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "textmill needs Python 3.11 or newer: make PYTHON=python3.12 ...")'
	$(PYTHON) -m venv .venv

.venv/run.stamp: .venv/bin/python pyproject.toml
	@echo "Installing textmill and what it needs into .venv: 2 GB, two to three minutes, once"
	$(INSTALL) --editable .
	touch $@

# kenlm is built from source, which takes as long as installing all the rest: the two go side by side.
.venv/test.stamp: .venv/bin/python pyproject.toml
	@echo "Installing what the tests need into .venv: two to four minutes, once"
	@python -c 'import tomllib; print(*tomllib.load(open("pyproject.toml", "rb"))["project"]["optional-dependencies"]["oracle"])' > .venv/oracle.txt
	@python -m pip wheel --quiet --no-deps --wheel-dir .venv/oracle --requirement .venv/oracle.txt & \
	$(INSTALL) --editable '.[test]' && \
	{ wait $$! && $(INSTALL) --no-index --find-links .venv/oracle --requirement .venv/oracle.txt || \
	echo "kenlm could not be built here: its tests are skipped"; }
	touch .venv/run.stamp $@
