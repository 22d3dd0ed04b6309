# Parley. `make help` lists what there is.
.DEFAULT_GOAL := help
GO ?= go

# Without paths of the checkout in what is built, clones share the build cache. All is built without C, as what is released is:
# once for programs, tests and checks. Only the race detector needs it.
export GOFLAGS := $(GOFLAGS) -trimpath
export CGO_ENABLED = 0

# The packages in which connections and records meet, and which import little: in `make test` the race detector watches them,
# without a second build of the rest. `make race` watches what runs their scenarios, too, and `make test-all` nearly everything.
CONCURRENT = ./transport/transcript ./transport/driver ./transport/driver/sse ./transport/driver/ws ./transport/driver/stdio ./steps ./simulator/gate ./reference-server/connection
# The packages whose tests last longest: they begin first.
LONGEST = ./test/odd ./test/proof ./internal/cli ./test/stress ./test/hostile ./simulator/console
# What the race detector does not watch at night: what runs in other processes, or many times over. Hostile peers come last and
# alone, as the time that each may take is bounded.
MANY = ./test/proof ./test/strangers ./internal/cli

# The protocol in a module of its own: that it takes exported packages alone, that its server conforms and its mutants are killed.
OWN = cd examples/own-protocol && $(IN_WORKSPACE) && $(GO) vet ./... && GOGC=1000 $(GO) test ./...

# A module of its own that tests its server with package parley.
FROM_GO = cd examples/go-module && $(IN_WORKSPACE) && $(GO) vet ./... && GOGC=1000 $(GO) test ./...

# With its own go.mod such a module builds all of Parley a second time; in a workspace it takes what is built. That its go.mod is
# complete is what go list shows.
IN_WORKSPACE = $(GO) list -deps -test ./... > /dev/null && export GOWORK="$(CURDIR)/bin/go.work"
bin/go.work: go.mod
	@mkdir -p bin && { sed -n '/^go /p' go.mod; printf 'use ../%s\n' . examples/own-protocol examples/go-module; } > $@

# Files that have changed since bin/parley was built, the first one.
NEWER = find . -name .git -prune -o -path ./bin -prune -o -path ./parley-results -prune -o -name node_modules -prune \
	-o -type f -newer bin/parley -print -quit

# Go asks git for the commit that it builds, and fails if git refuses a checkout that belongs to somebody else, as in many containers.
STAMP = $$(git rev-parse HEAD > /dev/null 2>&1 || echo -buildvcs=false)

.PHONY: help run test test-all race quick vet mutants generate kill-matrix signatures bench soak growth fuzz build build-load clean tools module

help: ## list what there is
	@awk -F':.*## ' '/^[a-z-]+:.*## / {printf "  make %-11s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

# In a checkout that can only be read the results go elsewhere.
run: ## judge the bundled targets of every role over every driver, and print the verdict (needs Go alone; pages need Chromium too)
	@[ -w . ] || set -- --out "$$(mktemp -d)"; \
	if [ -x bin/parley ] && [ -z "$$($(NEWER))" ]; then bin/parley run --driver all --role all "$$@"; else \
		$(GO) run ./cmd/parley run --driver all --role all "$$@"; fi

build: ## build bin/parley
	$(GO) build $(STAMP) -o bin/parley ./cmd/parley

build-load: ## build bin/parley-load, which spreads a load over processes and machines (docs/load.md)
	$(GO) build $(STAMP) -o bin/parley-load ./cmd/parley-load

# Each test says itself when it runs: package internal/tier. internal/gotest runs `go test` and counts what was left out.
test: tools ## before you stop: gofmt, go vet, all tests, the race detector where concurrency lives, a mutant for each clause (of pages for some)
	@$(MAKE) --no-print-directory -k -j 4 unraced govet raced modules

# What runs beside the pages gives way to them, where the machine has nice.
WAY = $$(command -v nice > /dev/null && echo nice -n 5)

.PHONY: raced unraced govet modules
unraced:
	GOGC=1000 $(GO) run ./internal/gotest -vet=off -p 6 -parallel 6 -timeout 30m \
		$(LONGEST) $$($(GO) list ./... | grep -vxF "$$($(GO) list $(CONCURRENT) $(LONGEST))")

modules: bin/go.work
	$(OWN)
	$(FROM_GO)

raced:
	GOGC=1000 CGO_ENABLED=1 $(WAY) $(GO) run ./internal/gotest -vet=off -race -p 2 -parallel 8 -timeout 30m $(CONCURRENT)

race: ## the race detector where connections, records and scenarios meet: before you send a change to how they do
	GOGC=1000 CGO_ENABLED=1 $(GO) test -vet=off -race -parallel 8 -timeout 30m -short . $(CONCURRENT) ./runner ./simulator/load ./simulator/load/spread

test-all: tools vet bin/go.work ## at night: everything, every mutant, and the race detector wherever it can be
	$(GO) tool staticcheck ./...
	GOGC=1000 PARLEY_TESTS=all CGO_ENABLED=1 $(GO) run ./internal/gotest -race -parallel 8 -timeout 60m \
		$$($(GO) list ./... | grep -vxF "$$($(GO) list $(MANY) ./test/hostile)")
	GOGC=1000 PARLEY_TESTS=all $(GO) run ./internal/gotest -parallel 24 -timeout 60m $(MANY)
	GOGC=1000 PARLEY_TESTS=all $(GO) run ./internal/gotest -parallel 8 -timeout 60m ./test/hostile
	$(OWN)
	$(FROM_GO)

# The packages of `make quick`: those that judge.
JUDGING = . $$($(GO) list ./... | grep -E '^parley/(transport|features/verdict|protocol|target|runner|steps|reports|internal)(/|$$)' | \
	grep -vxE 'parley/(transport/driver/browser|internal/(cli|bench|differential))')

quick: ## while you work: the suites but pages, and the packages that judge; or all of a package: make quick PKG=./transport/wire/sse
	GOGC=1000 $(GO) test -vet=off -p 8 -parallel 24 $(if $(PKG),$(PKG),-short $(JUDGING))

# Packages with code of their own for Windows or macOS, which is checked for these too. `make test-all` builds whole programs.
ELSEWHERE = ./transport/driver/browser ./transport/driver/stdio ./internal/cputime ./internal/freeport ./internal/input ./internal/procgroup ./target

govet:
	@unformatted=$$(gofmt -l .); \
	if [ -n "$$unformatted" ]; then echo "not formatted (run gofmt -w):"; echo "$$unformatted"; exit 1; fi
	GOGC=1000 $(GO) vet ./...

# Of a new machine staticcheck, and what it reads of every library, takes as long as all that is built, and so do the libraries of
# two more systems; `make test` leaves them out. staticcheck of test code takes eight times as long: `make test-all` checks it too.
vet: govet ## gofmt, go vet (also for other systems), staticcheck by staticcheck.conf, but of tests
	GOGC=1000 $(GO) tool staticcheck -tests=false ./...
	@set -e; for os in windows darwin; do echo "GOOS=$$os $(GO) vet"; GOOS=$$os $(GO) vet $(ELSEWHERE); done

mutants: ## the kill matrix: what proves that each clause bites
	@$(GO) run ./cmd/parley mutants

generate: ## write what is derived from the code anew, where it is out of date: references, documents, kill matrices, pictures (up to ten minutes)
	@$(GO) run ./internal/generate

kill-matrix: ## of this, the kill matrices that certificates refer to, of each role that has changed
	@$(GO) run ./internal/generate kills

signatures: ## run every mutant through the whole suite, and keep what it breaks (an hour; continues where it was interrupted)
	@$(GO) run ./internal/generate signatures

bench: ## benchmarks of the hot paths
	$(GO) test -run '^$$' -bench . -benchmem ./...

MINUTES = 30
soak: ## a proxy with 200 clients, and a console, under traffic for 30 minutes (MINUTES): what they hold must not grow
	$(GO) test ./test/figures -run TestSoak -v -lasting $(MINUTES)m -timeout $$(($(MINUTES) + 15))m

growth: ## what 1, 10 and 100 times the work costs each command, drawn as docs/images/growth.svg
	$(GO) test ./test/figures -run '^$$' -bench Growth -benchtime 1x -timeout 30m -picture "$(CURDIR)/docs/images/growth.svg"

# Every fuzz test of the tree, one after the other. What one finds is written to its testdata/fuzz, to be committed with the fix.
FUZZTIME = 60s
fuzz: ## fuzz every parser, 60 s each (FUZZTIME): profiles, frames, logs, results, recordings, certificates, scripts
	@set -e; for dir in $$(grep -rl --include='*_test.go' '^func Fuzz' . | xargs -n1 dirname | sort -u); do \
		for name in $$($(GO) test $$dir -list '^Fuzz' | grep '^Fuzz'); do \
			echo "$$dir $$name"; \
			$(GO) test $$dir -run '^$$' -fuzz "^$$name$$" -fuzztime $(FUZZTIME) -fuzzminimizetime 10x; \
		done; \
	done

# Whoever publishes the module gives it a path of its own: in go.mod, imports, the modules below examples, and scripts.
module: ## rename the module: make module MODULE=example.com/you/parley
	@$(GO) run ./internal/rename "$(MODULE)"

clean: ## remove what was built and what runs have written
	rm -rf bin parley-results

tools: ## what the tests need beside Go: installed where it is missing and may be (apt-get as root, brew), or named with its command
	@GO=$(GO) test/tools.sh
