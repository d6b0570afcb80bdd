# Everything runs in .venv, made here from pyproject.toml.  What the machine itself lacks is said first, and installed by
# apt if this is root's to do: tests/support/machine.sh.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
WORKERS ?= 2
TEST_WORKERS ?= 3  # one more than cores: browsers and servers are waited for
MACHINE := PYTHON='$(PYTHON)' sh tests/support/machine.sh
# libatomic is for Playwright; whole browsers are for what they keep of a person, the shell is for all other pages
TOOLS := strace java node npm chromium chromium-headless-shell firefox-esr WebKitWebDriver Xvfb libatomic pg_ctl curl sqlite3 setpriv

# Bytecode is kept: without it pytest compiles all tests, and every process that a test starts the whole project, anew.
unexport PYTHONDONTWRITEBYTECODE

.NOTPARALLEL:
.PHONY: browsers element help demo demo-web tools quick test coverage lint site bench bench-check assure reach mutate release clean FORCE
help:  ## what can be made
	@grep -E '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 12

tools:
	@$(MACHINE) tools $(TOOLS)

$(VENV)/demo.stamp: FORCE
	@$(MACHINE) packages $@ '.[cli,plot,batch,server]'

$(VENV)/test.stamp: FORCE
	@$(MACHINE) packages $@ '.[test]'

$(VENV)/quick.stamp: FORCE
	@$(MACHINE) packages $@ '.[cli,plot,batch,server,quick]'

browsers: $(VENV)/test.stamp
	@$(MACHINE) pinned_packages $(VENV)/node

element: browsers  ## <rr-survey> bundled, and the types: rrcollect/web/dist, which is served while it fits the sources
	@ln -sfn ../../$(VENV)/node/node_modules rrcollect/web/node_modules
	npm --prefix rrcollect/web run build; made=$$?; rm rrcollect/web/node_modules; exit $$made

demo: $(VENV)/demo.stamp  ## the main job end to end and a page about it: no server, no configuration
	$(BIN)/rrcollect demo

demo-web: $(VENV)/demo.stamp  ## a collector with its pages on this machine, and respondents who trickle in
	$(BIN)/rrcollect demo --web

quick: $(VENV)/quick.stamp  ## the tests without processes, browsers, engines and long searches: under a minute
	$(BIN)/python -m pytest --quick -q -n $(WORKERS)

test: tools $(VENV)/test.stamp browsers  ## all tests
	$(BIN)/python -m pytest -q -n $(TEST_WORKERS) --durations=25

coverage: tools $(VENV)/test.stamp browsers  ## all tests, with branch coverage: slower
	$(BIN)/python -m pytest -q -n $(WORKERS) --cov --cov-report=term

lint: $(VENV)/test.stamp  ## style and types
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

# Not --quiet: it would hide warnings from --strict.
$(VENV)/docs.stamp: FORCE
	@$(MACHINE) packages $@ '.[docs]'

site: $(VENV)/docs.stamp  ## the documentation as a site, in site/: open site/index.html
	NO_MKDOCS_2_WARNING=1 $(BIN)/python -m mkdocs build --strict

# A peer that cannot be installed here is left out of the comparison, and the page says so.
$(VENV)/bench.stamp: $(VENV)/test.stamp
	$(BIN)/python -m pip install --quiet --editable '.[bench]'
	@$(MACHINE) tools Rscript || echo "R's survey: not installed, left out"
	for peer in 'opendp>=0.12' 'diffprivlib>=0.6.6 scikit-learn<1.7' pure-ldp multi-freq-ldpy; do \
	  $(BIN)/python -m pip install --quiet $$peer || echo "$$peer: not installed, left out"; done
	@touch $@

bench: $(VENV)/bench.stamp  ## speed against named competitors, as ratios: docs/performance.md
	$(BIN)/python -m tests.benchmarks.run $(if $(RESUME),--resume)

bench-check: $(VENV)/bench.stamp  ## has a ratio fallen by more than a third, or below its floor?
	$(BIN)/python -m tests.benchmarks.check

$(VENV)/assure.stamp: $(VENV)/bench.stamp
	$(BIN)/python -m pip install --quiet --editable '.[assure]'
	@touch $@

assure: $(VENV)/assure.stamp  ## the long suite: searches for counterexamples, written to docs/assurance.md
	$(BIN)/python -m tests.assurance --jobs $(WORKERS)

reach: $(VENV)/test.stamp browsers  ## heavy and rare parts, each in an environment of its own: docs/reach.md; PART=… for one
	$(BIN)/python -m tests.reach $(PART)

mutate: $(VENV)/test.stamp  ## do the tests notice a changed line?  docs/mutation.md; MODULE=… for one module
	$(BIN)/python -m tests.assurance.mutation --jobs $(WORKERS) $(MODULE)

$(VENV)/release.stamp: FORCE
	@$(MACHINE) tools node npm
	@$(MACHINE) packages $@ '.[all,release]'

release: $(VENV)/release.stamp  ## build and check what a release consists of, in dist/; docs/releasing.md
	$(BIN)/python -m tests.release

clean:  ## remove what make built
	rm -rf $(VENV) .venv-reach build dist rrcollect/web/dist site .bench .coverage .hypothesis rrcollect-demo
