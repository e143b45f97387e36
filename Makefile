# The index of every habitual command. `make` alone prints it.
#
# NODES=… (up, demo, perf) chooses the number of nodes; NODES=real:3 (up, as root) starts nodes that run containers, with
# the images of IMAGES="a.tar b.tar" on them; NAME=… (up, down) one of several control planes side by side;
# KEEP=1 leaves something behind: the running control plane (demo), the logs of each run (perf); SEEDS=, FIRST= choose
# which clusters are simulated, SEED= or PLAN= (and SHRINK=1) which one is shown; SEQUENCES= how many sequences of requests
# are compared (conformance, verify); SAMPLE=, DRAW=, SINCE=, ONLY= which mutants are tried (mutants, verify); IMAGE= what the
# image is called, TARGET= and CC= for which machine it is (image). APART=swaps,contended,handover,restart measures these alone (perf),
# CONTESTANTS=koordinator,volcano these schedulers.

CARGO := cargo
LAB   := $(CARGO) build --locked --bin gangline --example lab && target/debug/examples/lab
# Figures are about speed: built with optimisation, everything else with the one profile of development.
FAST  := $(CARGO) build --locked --release --bin gangline --example lab && target/release/examples/lab

NODES ?=
IMAGES ?=
NAME  ?=
KEEP  ?=
SEEDS ?= 20000
FIRST ?= 0
SEQUENCES ?= 2500
NODES_OPTION := $(if $(NODES),--nodes $(NODES))
IMAGES_OPTION := $(IMAGES:%=--image %)
NAME_OPTION  := $(if $(NAME),--name $(NAME))
KEEP_OPTION  := $(if $(KEEP),--keep)
APART ?=
APART_OPTION := $(if $(APART),--apart $(APART))
CONTESTANTS ?=
CONTESTANTS_OPTION := $(if $(CONTESTANTS),--contestants $(CONTESTANTS))

.DEFAULT_GOAL := help
.PHONY: help demo quick test verify fmt lint sim sim-one rivals reinject conformance mutants e2e e2e-real e2e-kind up down tools \
        nodes crds chart deny image bench perf

help: ## When you look for a command: this list
	@awk -F ':.*## ' '/^[a-z0-9-]+:.*## / { printf "  make %-11s %s\n", $$1, $$2 }' $(firstword $(MAKEFILE_LIST))

demo: ## To see what it does: a gang on a disposable control plane, told step by step (NODES=, KEEP=1)
	@$(LAB) demo $(NODES_OPTION) $(KEEP_OPTION)

quick: ## After every edit: format, types, unit and spec tests, 300 simulated clusters, rules of the repository
	@CIRCLE=quick scripts/test format check quick

test: ## Before a change is handed in, and in CI: everything that a change must pass; ends with the counts
	@CIRCLE=test scripts/test

verify: ## Before a capability is called done: the long battery (SINCE= whose mutants, SEQUENCES=)
	@CIRCLE=verify SEQUENCES=$(SEQUENCES) scripts/test plans crash conformance image rivals mutants

fmt: ## When the format is not as it must be: formats the source
	@$(CARGO) fmt --all

lint: ## Before a review: format, clippy, and the pure layers without the runtime
	@scripts/test format lints pure

sim: ## After a change of what decides: simulated clusters in which everything goes wrong (SEEDS=, FIRST=, REACH=)
	@SEEDS=$(SEEDS) FIRST=$(FIRST) $(CARGO) test --locked --test checks -- --nocapture simulation::whatever

sim-one: ## When one of these breaks a promise: that one, printed as it goes (SEED= or PLAN=, SHRINK=1)
	@$(if $(SEED)$(PLAN),,$(error SEED=number or PLAN=file says which one))
	@$(CARGO) test --locked --test checks -- --nocapture simulation::whatever

rivals: ## After code has moved: bugs of other schedulers still go into a copy, and are found there
	@scripts/rivals

reinject: ## When their plans do not show them any more: looks for others, and writes them and the table
	@REINJECT=1 scripts/rivals

conformance: ## After a change of src/sim: the model of the API server against a real one (SEQUENCES=)
	@CONFORMANCE=$(SEQUENCES) $(CARGO) test --locked --test e2e -- --nocapture conformance

mutants: ## When tests may be too few: the deciding layers broken in many places (SAMPLE=, SINCE=, ONLY=)
	@scripts/mutants

e2e: ## After a change at the edge to the API server: end to end on a control plane of their own
	@scripts/test tools e2e

e2e-real: ## After a change of image, chart or what meets a kubelet, as root: installed by helm, on nodes that run containers
	@scripts/test tools real

e2e-kind: ## The same on a cluster that kind makes, where docker or podman runs (KIND_NODES=, KIND_CONFIG=, KIND_IMAGE=)
	@scripts/test kind

up: ## To try something: starts a control plane, and says how to reach it (NODES=, NAME=)
	@if [ -x target/release/examples/lab ]; then $(FAST) up $(NODES_OPTION) $(IMAGES_OPTION) $(NAME_OPTION); \
	else $(LAB) up $(NODES_OPTION) $(IMAGES_OPTION) $(NAME_OPTION); fi

down: ## After that: stops what `make up` or `make demo KEEP=1` left running (NAME=)
	@if [ -x target/release/examples/lab ]; then target/release/examples/lab down $(NAME_OPTION); \
	else $(LAB) down $(NAME_OPTION); fi

tools: ## Before the network is gone: the control plane's programs from their pinned Go modules, once per user
	@$(LAB) tools

nodes: ## Before nodes that run containers, on Debian, as root: installs the packages that they need and are missing
	@$(LAB) nodes --install

crds: ## After a change of src/api: writes crds/ and the chart's copies anew from the types
	@UPDATE=1 $(CARGO) test --quiet --locked --test checks -- crds::

chart: ## After a change of charts/: checks it, writes manifests/ anew, tries it on a control plane of its own
	@$(LAB) chart
	@$(CARGO) test --quiet --locked --test checks -- charts:: crds::

image: ## To run it on a cluster: the image as a tar, with its SBOM, in target/image (IMAGE=, TARGET=, CC=)
	@scripts/image

deny: ## After a change of Cargo.lock: licences, sources and duplicate versions of the dependencies
	@scripts/test licences

bench: ## Before and after a change of the core's speed: micro-benchmarks, and the longest step of the controller
	@$(CARGO) bench --locked --bench core --bench controller

perf: ## Before and after one that costs or gains throughput: end to end, beside a scheduler that decides nothing (NODES=, KEEP=1, APART=, CONTESTANTS=)
	@$(FAST) perf $(NODES_OPTION) $(KEEP_OPTION) $(APART_OPTION) $(CONTESTANTS_OPTION)
