# The task runner. Two commands matter to a newcomer: `make demo` and `make test`; `make help` lists the others.
# All of them make `.venv` on first use. PYTHON=/path/to/python3.12 chooses the interpreter.

SHELL := /bin/sh
.SHELLFLAGS := -eu -c
.DEFAULT_GOAL := help
.PHONY: help demo demo-spark test test-near test-fast test-oldest test-control-api test-spark-connect test-seldom test-recovery simulate simulate-short simulate-whole simulate-operations
.PHONY: compiled test-compiled dist executable executable-lock
.PHONY: lint format types pages serve conformance conformance-real matrix fault-matrix docs docs-serve mutants bench bench-compiled bench-flames bench-growth bench-spark bench-testkit bench-go bench-helpers bench-first-test clean

VENV := .venv
BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip install --quiet --disable-pip-version-check
STAGES := $(BIN)/python scripts/stages.py
REAL := --target apache:5.3.3 --target apache:5.5.0 --sdk all

help: ## List the targets
	@sed -n 's/^\([a-z-]*\):.*## \(.*\)/  make \1	\2/p' Makefile | expand -t 26

demo: $(VENV)/demo.stamp ## Test a small order application, as an example of how a project uses this one (a minute or two)
	cd examples/orders && ../../$(BIN)/pytest -v

demo-spark: $(VENV)/spark.stamp ## Test two Spark pipelines from topic to topic, as an example (a minute; needs Java 17)
	cd examples/pipelines && ../../$(BIN)/pytest -v

test: $(VENV)/dev.stamp ## Install the tools of the tests and run all tests (forty minutes)
	$(STAGES)

test-fast: $(VENV)/dev.stamp ## Test the engine, the protocols and the host, without slow files (under a minute of processor time)
	$(STAGES) fast

test-near: $(VENV)/dev.stamp ## Test the rooms that a change touches; SINCE=main chooses the change (15 seconds)
	$(BIN)/python scripts/near.py $(SINCE)

compiled: $(VENV)/dev.stamp ## Build dist/rocketmq_testkit_compiled*.whl, modules compiled by mypyc (two minutes)
	rm -rf compiled/build
	$(BIN)/python -m build --wheel --no-isolation --outdir dist compiled

test-compiled: $(VENV)/dev.stamp ## Run all tests that need no SDK, with modules compiled by mypyc (ten minutes)
	$(STAGES) compiled-whole

test-oldest: $(VENV)/dev.stamp ## Test with the oldest allowed dependencies, other protobufs and Pythons
	$(STAGES) oldest-whole oldest protobuf-whole libraries spark-oldest

test-seldom: $(VENV)/dev.stamp ## Run the tests for which `make test` has no time: all scenarios with all SDKs, all repeated tests, real brokers, codes that no case provokes (half an hour)
	$(STAGES) drivers matrix sampled real-brokers codes-seen

test-control-api: $(VENV)/dev.stamp ## Send generated requests to the control port (a minute)
	$(STAGES) control-api

test-spark-connect: $(VENV)/dev.stamp ## Test the Spark connector with a session of Spark Connect (a minute and a half)
	$(STAGES) spark-connect

test-recovery: $(VENV)/dev.stamp ## Kill and restart drivers, workers and brokers under Spark; RUNS=20 sets the number of runs (half an hour)
	nice $(BIN)/pytest -q -m recovery --times $${RUNS:-20} spark_tests

simulate: $(VENV)/dev.stamp ## Check random runs of the engine; SEEDS=10000 sets their number (a quarter of an hour)
	SEEDS=$${SEEDS:-10000} EXAMPLES=$${EXAMPLES:-1000} nice $(BIN)/pytest -q -n auto tests/simulation

simulate-short: $(VENV)/dev.stamp ## Check SCHEDULES=10000 new random programs of 20 operations and record them; FIRST repeats those from a number on (80 a second)
	nice $(BIN)/python tests/simulation short_schedules $${FIRST:-next} $${SCHEDULES:-10000}

simulate-whole: $(VENV)/dev.stamp ## Check SCHEDULES=1000 new random programs of 60 to 150 operations and record them
	nice $(BIN)/python tests/simulation short_schedules whole $${SCHEDULES:-1000}

simulate-operations: $(VENV)/dev.stamp ## Check SCHEDULES=1000 new random programs of all operations and record them
	nice $(BIN)/python tests/simulation short_schedules operations $${SCHEDULES:-1000}

mutants: $(VENV)/dev.stamp ## Try mutants of engine and protocols; MUTANTS='--seed 7 emulator' chooses them (half an hour)
	nice $(BIN)/python scripts/mutants.py $(MUTANTS)

lint: $(VENV)/dev.stamp ## Check style
	$(STAGES) lint

format: $(VENV)/dev.stamp ## Format the code and apply automatic fixes
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

types: $(VENV)/dev.stamp ## Check types
	$(STAGES) types

pages: $(VENV)/dev.stamp ## Write the generated pages of docs/
	$(BIN)/python scripts/pages.py

docs: $(VENV)/docs.stamp ## Build the documentation site in build/site and check its links (half a minute)
	$(BIN)/python scripts/website.py build

console-pictures: $(VENV)/dev.stamp ## Take the pictures of docs/console.md again, in Chromium (two minutes)
	CONSOLE_PICTURES=1 $(STAGES) system console

docs-serve: $(VENV)/docs.stamp ## Show the documentation site on port 8000 until Ctrl-C
	$(BIN)/python scripts/website.py serve

serve: $(VENV)/install.stamp ## Serve on upstream's ports until Ctrl-C
	exec $(BIN)/rocketmq-emulator

conformance: $(VENV)/dev.stamp ## Compare the emulator with recorded outcomes of real brokers: all cases, and a sample of scenarios and SDKs
	$(STAGES) drivers conformance

conformance-real: $(VENV)/dev.stamp ## Record outcomes of real brokers and show changes; REAL chooses targets (an hour and a half)
	$(BIN)/rocketmq-conformance run $(REAL) --jobs 8 --attempts 2 --record
	$(BIN)/python scripts/pages.py
	git --no-pager diff --stat -- conformance/recorded docs

matrix: $(VENV)/dev.stamp ## Compare all scenarios with all SDKs with recorded outcomes, and record that this was done (seven minutes)
	$(STAGES) drivers matrix

fault-matrix: $(VENV)/dev.stamp ## Record the reactions of every SDK to every fault; KINDS and SDKS choose, separated by commas; TIMES=6 finds SDKs with two times (half an hour)
	$(STAGES) drivers
	nice $(BIN)/python -m rocketmq_testkit.conformance.faults.command $(if $(KINDS),--kinds $(KINDS)) $(if $(SDKS),--sdks $(SDKS)) $(if $(TIMES),--times $(TIMES))
	$(BIN)/python scripts/pages.py

bench: $(VENV)/dev.stamp ## Compare the speed with the real broker, twice, and write the tables (an hour on an idle machine)
	$(BIN)/python bench/run.py --runs 2 --write
	$(BIN)/python bench/joins.py --real --write
	$(BIN)/python bench/suites.py --write
	$(BIN)/python bench/fresh.py --write

bench-flames: $(VENV)/dev.stamp ## Draw flame graphs of the server in each workload (eight minutes on an idle machine; needs py-spy)
	$(BIN)/python bench/flames.py

bench-compiled: $(VENV)/dev.stamp ## Compare the speed of the compiled modules with the real broker, twice, and write the tables (an hour on an idle machine)
	ROCKETMQ_TESTKIT_OPT=3 $(BIN)/python scripts/environments.py compiled
	.venv-compiled/bin/python bench/run.py --runs 2 --write

bench-growth: $(VENV)/dev.stamp ## Compare a full emulator with an empty one, measure filters, journal, history, forks and explanations (some minutes, 2 GiB)
	$(BIN)/python bench/growth.py
	$(BIN)/python bench/filters.py
	$(BIN)/python bench/journal.py
	$(BIN)/python bench/history.py
	$(BIN)/python bench/forks.py
	$(BIN)/python bench/explaining.py
	$(BIN)/python bench/console.py

bench-spark: $(VENV)/dev.stamp ## Compare reads and writes of Spark with the client alone, and with the real broker (minutes)
	$(BIN)/python bench/spark_speed.py

bench-testkit: $(VENV)/dev.stamp ## Compare reset, fork, snapshot and fixtures with those of other tools (five minutes; installs them)
	$(BIN)/python bench/testkit.py --write

bench-go: executable ## Compare the Go helper with fakes that Go tests embed: kfake, NATS, miniredis (two minutes; needs Go)
	cd bench/peers/go && ROCKETMQ_EMULATOR=$(CURDIR)/dist/rocketmq-emulator go run . $(if $(REPEATS),-repeats $(REPEATS))

bench-helpers: executable ## Compare the helpers for Go, Java and Node: process, fork, reset (three minutes; needs Go, Java, Node); ROUNDS=12
	ROCKETMQ_EMULATOR=$(CURDIR)/dist/rocketmq-emulator $(BIN)/python bench/helpers.py $(ROUNDS)

bench-first-test: $(VENV)/dev.stamp ## Measure the pages for Java, Go and Node from nothing to the first passing test (five minutes; needs Go, Java, Node)
	PYTHONPATH=tests/support $(BIN)/python bench/first_test.py --write

executable: $(BIN)/python ## Build dist/rocketmq-emulator, one file that needs no Python (a minute; needs Go)
	$(BIN)/python scripts/build_executable.py

dist: $(VENV)/dev.stamp ## Build all that a release publishes into dist/: wheel, npm package, Go module, jars, executable (two minutes)
	$(BIN)/python scripts/dist.py

executable-lock: $(BIN)/python ## Choose the newest libraries for the executable and the image, and lock them with hashes
	$(PIP) uv
	cd scripts/executable && ../../$(BIN)/uv pip compile --quiet --upgrade --universal --python-version 3.11 --generate-hashes --no-header --no-annotate requirements.in -o requirements.txt

clean: ## Remove environments, reports and caches of this folder
	rm -rf .venv .venv-* .ns .reports .cache/wheels build compiled/build dist *.egg-info .mypy_cache .ruff_cache .pytest_cache .hypothesis

$(BIN)/python:
	python=$$(scripts/find_python.sh); "$$python" -m venv $(VENV)

# `touch` comes last, so that an interrupted installation is repeated.
$(VENV)/install.stamp: $(BIN)/python pyproject.toml
	$(PIP) --editable .
	touch $@

$(VENV)/demo.stamp: $(VENV)/install.stamp examples/orders/requirements.txt
	$(PIP) --requirement examples/orders/requirements.txt
	touch $@

$(VENV)/spark.stamp: $(VENV)/install.stamp
	$(PIP) --editable '.[spark]' pytest
	touch $@

$(VENV)/docs.stamp: $(VENV)/install.stamp
	$(PIP) --editable '.[conformance,spark,docs]' pytest
	touch $@

$(VENV)/dev.stamp: $(VENV)/demo.stamp
	$(PIP) --editable '.[dev]'
	touch $@
