# Parley. `make help` lists what there is.
.DEFAULT_GOAL := help
GO ?= go

# What runs against targets outside of the test's process, or many times over: without the race detector, under which everything
# that it uses is tested anyhow.
SLOW = ^(TestMutants|TestForeignTargets|TestBad[A-Z].*)$$|^TestScript$$/^(doctor_page|init_page|run_page|serve_client)$$

.PHONY: help run test quick vet mutants bench fuzz build clean tools

help: ## list what there is
	@awk -F':.*## ' '/^[a-z]+:.*## / {printf "  make %-9s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

run: ## judge the bundled targets of every role over every driver, and print the verdict (needs Go alone; pages need Chromium too)
	@CGO_ENABLED=0 $(GO) run ./cmd/parley run --driver all --role all

build: ## build bin/parley
	CGO_ENABLED=0 $(GO) build -trimpath -o bin/parley ./cmd/parley

test: tools vet ## everything: vet, staticcheck, gofmt, all tests with the race detector, then foreign and bad targets, and the kill matrix
	GOGC=400 $(GO) test -race -parallel 8 -timeout 30m -skip '$(SLOW)' ./...
	GOGC=400 $(GO) test -parallel 24 -timeout 30m -run '$(SLOW)' . ./cmd/parley

quick: ## the tests of one package at a time, without the race detector: make quick PKG=./wire/sse
	$(GO) test $(or $(PKG),./...)

vet: ## gofmt, go vet, staticcheck
	@unformatted=$$(gofmt -l $$(git ls-files --cached --others --exclude-standard '*.go')); \
	if [ -n "$$unformatted" ]; then echo "not formatted (run gofmt -w):"; echo "$$unformatted"; exit 1; fi
	$(GO) vet ./...
	$(GO) tool staticcheck ./...

mutants: ## the kill matrix: what proves that each clause bites
	@CGO_ENABLED=0 $(GO) run ./cmd/parley mutants

bench: ## benchmarks of the hot paths
	$(GO) test -run '^$$' -bench . -benchmem ./...

fuzz: ## fuzz the codecs, the log checker, the relay and the bus, 30 s each
	$(GO) test ./wire/sse -run '^$$' -fuzz FuzzDecoder -fuzztime 30s -fuzzminimizetime 10x
	$(GO) test ./wire/json -run '^$$' -fuzz FuzzDecode -fuzztime 30s -fuzzminimizetime 10x
	$(GO) test ./monitor/externalagent/studylog -run '^$$' -fuzz FuzzCheck -fuzztime 30s -fuzzminimizetime 10x
	$(GO) test ./monitor/externalagent/studylog -run '^$$' -fuzz FuzzSum -fuzztime 30s -fuzzminimizetime 10x
	$(GO) test ./reference-server/externalagent/relay -run '^$$' -fuzz FuzzCheck -fuzztime 30s -fuzzminimizetime 10x
	$(GO) test ./reference-server/sessionruntime -run '^$$' -fuzz FuzzFrame -fuzztime 30s -fuzzminimizetime 10x

clean: ## remove what was built and what runs have written
	rm -rf bin parley-results

# The browsers that the product takes (driver/browser/find.go).
BROWSERS = chromium-headless-shell chrome-headless-shell chromium chromium-browser google-chrome google-chrome-stable chrome

# What the tests need beside Go is named with the command that installs it, all of it at once, and its absence fails.
tools:
	@missing=0; \
	need() { command -v $$1 >/dev/null 2>&1 || { echo "missing: $$1 ($$2). Install it: $$3"; missing=1; }; }; \
	need $(GO) "the Go toolchain, 1.26 or later" "https://go.dev/dl/"; \
	need "$$($(GO) env CC)" "a C compiler, for the race detector" "apt-get install -y gcc libc6-dev"; \
	need python3 "Python 3.11 or later, for a foreign target" "apt-get install -y python3"; \
	need node "Node.js 20 or later, for a foreign target" "apt-get install -y nodejs"; \
	browser=; for b in $(BROWSERS); do command -v $$b >/dev/null 2>&1 && browser=$$b; done; \
	[ -n "$$browser" ] || { \
		echo "missing: Chromium (for the pages of agent-client). Install it: apt-get install -y chromium-headless-shell (or chromium)"; missing=1; }; \
	if command -v python3 >/dev/null 2>&1 && ! python3 -c 'import sys; sys.exit(sys.version_info < (3, 11))'; then \
		echo "too old: python3 is $$(python3 -V 2>&1); 3.11 or later is needed"; missing=1; fi; \
	if command -v node >/dev/null 2>&1 && [ "$$(node -p 'parseInt(process.versions.node)')" -lt 20 ]; then \
		echo "too old: node is $$(node --version); 20 or later is needed"; missing=1; fi; \
	exit $$missing
