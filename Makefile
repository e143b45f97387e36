# The index of every habitual command. `make` alone prints it.
#
# NODES=… (up, demo, perf) chooses the number of nodes; NAME=… (up, down) one of several control planes side by side;
# KEEP=1 leaves something behind: the running control plane (demo), the logs of each run (perf); SEEDS=, FIRST= choose
# which clusters are simulated, SEED= or PLAN= (and SHRINK=1) which one is shown; SEQUENCES= how many sequences of requests
# are compared (conformance); SAMPLE=, DRAW=, SINCE=, ONLY= which mutants are tried.

CARGO := cargo
LAB   := $(CARGO) build --locked --bin gangline --example lab && target/debug/examples/lab
# Demo and figures are about speed: built with optimisation, everything else with the one profile of development.
FAST  := $(CARGO) build --locked --release --bin gangline --example lab && target/release/examples/lab

NODES ?=
NAME  ?=
KEEP  ?=
SEEDS ?= 20000
FIRST ?= 0
SEQUENCES ?= 2500
NODES_OPTION := $(if $(NODES),--nodes $(NODES))
NAME_OPTION  := $(if $(NAME),--name $(NAME))
KEEP_OPTION  := $(if $(KEEP),--keep)

.DEFAULT_GOAL := help
.PHONY: help demo test fmt lint unit sim sim-one rivals reinject conformance mutants e2e up down tools crds chart deny bench perf

help: ## This list
	@awk -F ':.*## ' '/^[a-z0-9]+:.*## / { printf "  make %-11s %s\n", $$1, $$2 }' $(firstword $(MAKEFILE_LIST))

demo: ## A gang on a disposable control plane, told step by step (NODES=, KEEP=1)
	@$(FAST) demo $(NODES_OPTION) $(KEEP_OPTION)

test: ## Everything that a change must pass, in the order of cost; ends with the counts
	@scripts/test

fmt: ## Format the source
	@$(CARGO) fmt --all

lint: ## Format check, clippy, and the pure layers without the runtime
	@scripts/test format lints pure

unit: ## Unit tests and checks of the repository; no network, no control plane
	@scripts/test unit

sim: ## Simulated clusters in which everything goes wrong; no control plane (SEEDS=, FIRST=, REACH=)
	@SEEDS=$(SEEDS) FIRST=$(FIRST) $(CARGO) test --locked --test checks -- --nocapture simulation::whatever

sim-one: ## One simulated cluster, printed as it goes (SEED= or PLAN=, SHRINK=1)
	@$(if $(SEED)$(PLAN),,$(error SEED=number or PLAN=file says which one))
	@$(CARGO) test --locked --test checks -- --nocapture simulation::whatever

rivals: ## Bugs of other schedulers put back into a copy, each found by its plan
	@scripts/rivals

reinject: ## The same, looked for anew; writes their plans and the table
	@REINJECT=1 scripts/rivals

conformance: ## The simulation's model of the API server against a real one (SEQUENCES=)
	@CONFORMANCE=$(SEQUENCES) $(CARGO) test --locked --test e2e -- --nocapture conformance

mutants: ## The deciding layers broken in many places: how often a test notices (SAMPLE=, SINCE=, ONLY=)
	@scripts/mutants

e2e: ## End-to-end tests on a control plane of their own
	@scripts/test tools e2e

up: ## Start a control plane to play with, and say how to reach it (NODES=, NAME=)
	@if [ -x target/release/examples/lab ]; then $(FAST) up $(NODES_OPTION) $(NAME_OPTION); \
	else $(LAB) up $(NODES_OPTION) $(NAME_OPTION); fi

down: ## Stop what `make up` or `make demo KEEP=1` left running (NAME=)
	@if [ -x target/release/examples/lab ]; then target/release/examples/lab down $(NAME_OPTION); \
	else $(LAB) down $(NAME_OPTION); fi

tools: ## Build the control plane's programs from their pinned Go modules, once per user
	@$(LAB) tools

crds: ## Write crds/ and the chart's copies anew from the types
	@UPDATE=1 $(CARGO) test --quiet --locked --test checks -- crds::

chart: ## Check the chart, write manifests/ anew, try it on a control plane of its own
	@$(LAB) chart

deny: ## Licences, sources and duplicate versions of the dependencies
	@scripts/test licences

bench: ## Micro-benchmarks of the core, and the longest step of the controller
	@$(CARGO) bench --locked --bench core --bench controller

perf: ## Throughput end to end, beside a scheduler that decides nothing (NODES=, KEEP=1)
	@$(FAST) perf $(NODES_OPTION) $(KEEP_OPTION)
