# One place for every command. A newcomer needs `make demo`, `make check` while working and `make test` before a commit.
PYTHON ?= python3
VENV   := .venv
BIN    := $(VENV)/bin
WORKERS ?= 2
# A file of tests stays on one worker; conftest.py says which files come first.
SPREAD := --dist loadgroup --no-loadscope-reorder
STALE  ?= say
# Packages with fast tests, for `make check`; single slow tests in them have the marker slow.
FAST   := $(addprefix tests/,api choose clustering corpus evaluate explain \
	features math shift contract/test_imports.py contract/test_answers.py \
	test_methods.py test_request.py)

FUZZ_MINUTES ?= 30

.PHONY: fuzz demo serve check test record record-pairs compare-pairs style lint coverage docs pictures bench wheel fresh clean test-oldest mutants

$(VENV)/.app: pyproject.toml
	@echo "Installing Isthmus and its packages in $(VENV); this takes about a minute."
	@test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check -e ".[app]"
	@touch $@

$(VENV)/.dev: $(VENV)/.app benchmarks/pyproject.toml
	@echo "Installing the packages for tests and documentation in $(VENV); this takes a few minutes."
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -e ".[app,scale,workbench,team,zh,docs,dev]" -e ./benchmarks
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -e ".[embed]" \
		|| echo "wordllama has no wheel for this machine and did not compile: tests of its vectors are skipped"
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -e ".[onnx,multilingual]" \
		|| echo "onnxruntime has no wheel for this machine: tests of sentence encoders are skipped"
	touch $@

$(VENV)/.workbench: $(VENV)/.app
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -e ".[workbench]"
	touch $@

$(VENV)/.docs: $(VENV)/.dev
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -e ".[docs]"
	touch $@

demo: $(VENV)/.app          ## label the bundled sample and write a report
	$(BIN)/isthmus demo --force

serve: $(VENV)/.workbench    ## the workbench in a browser, with the sample ready to review
	$(BIN)/isthmus serve --sample --workspace demo-workspace

# pytest with these arguments. The types are looked at beside the tests, in time that these would spend on waiting.
define tested
	@said=$$(mktemp); nice $(BIN)/mypy >"$$said" 2>&1 & types=$$!; \
	trap 'kill $$types; rm -f "$$said"' INT TERM; \
	$(BIN)/python -m pytest -n $(WORKERS) $(SPREAD) $(1); tests=$$?; \
	wait $$types; typed=$$?; echo "mypy:"; cat "$$said"; rm -f "$$said"; \
	[ $$tests = 0 ] && [ $$typed = 0 ]
endef

check: style                ## style, types, import rules and the fast tests
	$(call tested,-m "not slow and not data" $(FAST))

test: style                 ## style, types, import rules and all tests
	$(call tested,)

record: $(VENV)/.dev        ## record the outputs again after an intended change; read the difference
	$(BIN)/python tests/helpers/frozen_runs.py
	PYTHONPATH=tests/helpers $(BIN)/python tests/test_whole_outputs.py
	$(BIN)/python tests/workbench/test_whole_story.py
	git diff --stat -- tests/frozen_runs.json tests/whole_outputs.json tests/workbench/whole_story.txt

# auto on 12 pairs of the benchmark corpora; not part of `make test`, because they need ISTHMUS_DATA
record-pairs: $(VENV)/.dev  ## record the labels of auto on pairs of the benchmark corpora
	$(BIN)/python tests/helpers/frozen_runs.py --pairs

compare-pairs: $(VENV)/.dev ## compare the labels of auto on pairs of the benchmark corpora with the record
	$(BIN)/python tests/helpers/frozen_runs.py --pairs --compare

style: $(VENV)/.dev
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/codespell
	$(BIN)/lint-imports

lint: style
	$(BIN)/mypy

coverage: $(VENV)/.docs     ## lines run by the tests, with a floor (pyproject, tool.coverage)
	$(BIN)/python -m pytest -n $(WORKERS) $(SPREAD) --cov --cov-context=test --cov-report=term --cov-report=html

docs: $(VENV)/.docs         ## the documentation, warnings as errors; STALE=fail: also where a figure's code has changed
	$(BIN)/sphinx-build -W --keep-going -b html -D stale_records=$(STALE) docs docs/_build/html

pictures: $(VENV)/.dev      ## screenshots and drawings of the documentation, and the figures in README, made anew
	$(BIN)/python tools/draw_methods.py
	$(BIN)/python tools/pictures.py

bench: $(VENV)/.dev         ## the quick benchmark suites (needs ISTHMUS_DATA)
	$(BIN)/isthmus bench cocc --method nbc,svm,cocc

wheel: $(VENV)/.dev         ## build sdist and wheel, run the demo from the wheel in an empty environment
	$(BIN)/python tools/check_wheel.py

fuzz: $(VENV)/.dev          ## odd and damaged inputs for half an hour (FUZZ_MINUTES=5 for less)
	$(BIN)/python tests/fuzz/fuzz_run.py --minutes $(FUZZ_MINUTES) --workers $(WORKERS)
	$(BIN)/python tests/workbench/fuzz_api.py --requests 5000

fresh:                      ## clone into an empty folder and run demo and test there
	dir=$$(mktemp -d) && git clone --quiet . "$$dir/isthmus" && $(MAKE) -C "$$dir/isthmus" demo test && rm -rf "$$dir"

# pytest 8, because scikit-learn 1.6 hands its checks to pytest as an iterator, of which pytest 9 warns.
OLDEST = "numpy==2.0.*" "scipy==1.13.*" "scikit-learn==1.6.*" "numba==0.60.*" "pytest==8.*"

test-oldest:                ## the contract tests on the oldest supported numpy, scipy, scikit-learn and numba
	test -x .venv-oldest/bin/python || $(PYTHON) -m venv .venv-oldest
	.venv-oldest/bin/python -m pip install --quiet --disable-pip-version-check -e ".[app,scale,workbench,zh,dev]" -e ./benchmarks $(OLDEST)
	.venv-oldest/bin/python -m pytest -n $(WORKERS) tests/contract tests/classify tests/features

PACKAGE ?= choose
N ?= 20
SEED ?= 0

mutants: $(VENV)/.dev      ## show which small faults in a package its tests detect (PACKAGE=named: faults of the table)
	$(BIN)/python tools/mutate.py $(if $(filter named,$(PACKAGE)),--named,$(PACKAGE) --number $(N) --seed $(SEED))

clean:
	rm -rf $(VENV) .venv-oldest docs/_build docs/reference/generated docs/gallery dist htmlcov .coverage* demo-output demo-workspace
