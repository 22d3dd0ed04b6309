# Parley. `make help` lists what there is.
.DEFAULT_GOAL := help
GO ?= go

# Without paths of the checkout in what is built, clones share the build cache.
export GOFLAGS := $(GOFLAGS) -trimpath

# Packages whose tests judge targets with whole suites, start programs, or try every mutant: without the race detector, under which
# what they use is tested anyhow.
SUITES = ./test/...
PROGRAMS = ./cli $$($(GO) list ./... | grep '/mutants$$')
OTHERS = $$($(GO) list ./... | grep -vx -e parley -e parley/cli | grep -v -e '/mutants$$' -e '^parley/test/')

# Of these, the packages in which connections and records meet, and which import little: in `make test` the race detector watches
# them, without a second build of the rest. `make race` watches what runs their scenarios, too, and `make test-all` everything.
CONCURRENT = ./transcript ./driver ./driver/sse ./driver/ws ./driver/stdio ./steps ./simulator/gate ./reference-server/connection
ALONE = $$($(GO) list $(OTHERS) | grep -vxF "$$($(GO) list $(CONCURRENT) $(BROWSERS_TOO))")

# Of these, the packages whose tests wait for the most of their time: they begin first.
WAITING = ./steps/externalagent ./recording/replay ./simulator/proxy

# What only `make test-all` runs: whole sets of which `make test` has a part, and what needs the most of the processor.
# internal/leftout prints it in words.
NIGHT = ^TestEvery(Mutant(Serves|Runs|Shows)|FaultShows)$$|^TestBlame$$|^TestPageMany$$|^TestRoom$$/(of_more_than_40|^agent-select.*wrong_false)|^TestThirtyMinutes$$|$\
	^TestPassiveOnConforming$$/^(agent-client|profiles)$$|^TestRecordedConform$$/^agent-client|^TestCutPoints$$/^(agent-client|plain_page)|$\
	^Test(Passive|Proxy)OnMutants$$|^TestDifferentialListsWhatIsOpen$$|^TestExcess$$/^(windows|workers|requests|documents)$$|$\
	^TestScript$$/^(run_page|run_page_file|init_page|run_interrupt|run_frozen|doctor_bus_raises)$$|^TestStrangerPages$$|^TestEveryRename$$|^TestCrossCompiles$$|$\
	^TestReportPages$$/^(Chinese|matrix|comparison|old_certificate|site)$$|$\
	^Test(Readme|BrowserCopied|Bounded|ForeignKilled|Page(Sizes|GoOn|HoldByKeys|UnjudgedPlay))$$|^TestMemoryOfOthers$$/never|$\
	^TestDrivenAgent$$/^(a_fault|a_person)|^TestOddServers$$/^(a_greeting|an_unknown_agent)|$\
	^TestEventsTwice$$/^each|^TestMessagesTwice$$/(pong|error|same_text)|^TestLoadConforms$$/^agent-select|^TestRefusalThatMovesTheAgent$$/resets|^TestReplayFindsMutants$$/^agent-select_over_ws|^TestBaseline$$/^(a_baseline|what_is|what_fails_is_not)|$\
	^TestCutMutants$$/^agent-client|^TestBusAdapters$$/^node-bus|^TestBusAdaptersSubscribe$$|^TestLoadMutants$$/^external-agent_host|$\
	^TestCatalogueOfPages$$/^(lists_alone|hangs_at_once)$$|^TestFlat$$/^comments$$|^TestExploreFinds$$|^TestExploreRuntime$$|$\
	^TestCutPoints$$/^(agent-select|external-agent)|^TestFaultsOfOneMember$$|^TestLoad(Mutants|Conforms)$$/^session-runtime|$\
	^TestRoom$$/^session-chat.*wrong_false|^TestExamplesCI$$|^Test(Plenty|Page(Axe|Minds|Replay|Suite|Keys))$$|^TestMerge$$/^(conforming|a_selection|incomplete)$$|$\
	^TestScript$$/^(run_(bus|drivers|foreign|baseline|dead|differential|protocols|roles|features)|init_(bus|booking|finds)|doctor_(bus_early|bus_fence|booking|chat))$$|$\
	^TestHostPage$$/^(the_host_loses|Enter_sends|a_field_for)|^TestScript$$/^(proxy_console_stdio|reset|bench|report_ci|mock|tls_page)$$

# What the race detector does not watch at night: what runs in other processes, or many times over. Hostile peers come last and
# alone, as the time that each may take is bounded.
SLOW = ^(TestMutants|TestLoad(Mutants|Conforms)|TestForeignTargets|TestCatalogue.*|TestFlat|TestReadme)$$|^TestScript$$/^(doctor_page|init_page|run_page.*|serve_agentclient)$$

# Tests of pages, and the packages that test little else. In `make test` one of them runs at a time: the end of each page's process
# takes the kernel ten times as long if another browser runs beside.
PAGES = ^Test(Mutants|ProxyOnConforming)$$/^agent-client|$\
	^TestForeignTargets$$/^profiles$$/^(plain-page|python-host-page)|^Test(HostPage.*|OddPages|CatalogueOfPages|StrangerPages)$$|^TestReportPage|$\
	^TestClient|^TestBooking(Page|Cards)$$|^Test(WelcomeInBrowser|ServedPage|ProxyPage.*)$$
PAGED = ./test/hostile ./test/odd ./test/pages ./test/proof ./cli
BROWSERS_TOO = ./driver/browser ./simulator/console

# What `make quick` leaves out beside the suites and all pages: what runs programs.
LONG = ^Test(Script|Init.*|Documents|Foreign.*|Python.*|.*Python)$$|^TestFeatures$$/^agent-client

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

.PHONY: help run test test-all race quick vet mutants kill-matrix signatures bench fuzz build build-load clean tools module

help: ## list what there is
	@awk -F':.*## ' '/^[a-z-]+:.*## / {printf "  make %-11s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

# In a checkout that can only be read the results go elsewhere.
run: ## judge the bundled targets of every role over every driver, and print the verdict (needs Go alone; pages need Chromium too)
	@[ -w . ] || set -- --out "$$(mktemp -d)"; \
	if [ -x bin/parley ] && [ -z "$$($(NEWER))" ]; then bin/parley run --driver all --role all "$$@"; else \
		CGO_ENABLED=0 $(GO) run ./cmd/parley run --driver all --role all "$$@"; fi

build: ## build bin/parley
	CGO_ENABLED=0 $(GO) build $(STAMP) -o bin/parley ./cmd/parley

build-load: ## build bin/parley-load, which spreads a load over processes and machines (docs/load.md)
	CGO_ENABLED=0 $(GO) build $(STAMP) -o bin/parley-load ./cmd/parley-load

# The suites wait for most of their time, so that the rest runs meanwhile.
test: tools ## before you stop: vet, staticcheck, gofmt, all tests, the race detector where concurrency lives, a mutant for each clause
	@$(MAKE) --no-print-directory -k -j 5 vet raced unraced modules pages
	@$(GO) run ./internal/leftout

# What runs beside the pages gives way to them, where the machine has nice.
WAY = $$(command -v nice > /dev/null && echo nice -n 5)

.PHONY: raced unraced modules pages
unraced:
	GOGC=1000 $(WAY) $(GO) test -vet=off -p 4 -parallel 6 -timeout 30m -skip '$(NIGHT)|$(PAGES)|^TestFeatures$$/^agent-client' \
		$(WAITING) . $(SUITES) $(PROGRAMS) $(ALONE)

modules: bin/go.work
	$(OWN)
	$(FROM_GO)

pages:
	GOGC=1000 $(GO) test -vet=off -timeout 30m -run '^TestFeatures$$/^agent-client' .
	GOGC=1000 $(GO) test -vet=off -p 1 -parallel 1 -timeout 30m -run '$(PAGES)' -skip '$(NIGHT)' $(PAGED)
	GOGC=1000 $(GO) test -vet=off -p 1 -parallel 4 -timeout 30m -skip '$(NIGHT)' $(BROWSERS_TOO)

raced:
	GOGC=1000 $(WAY) $(GO) test -vet=off -race -p 2 -parallel 8 -timeout 30m $(CONCURRENT)

race: ## the race detector where connections, records and scenarios meet: before you send a change to how they do
	GOGC=1000 $(GO) test -vet=off -race -parallel 8 -timeout 30m $(CONCURRENT) ./runner ./load ./load/spread
	GOGC=1000 $(GO) test -vet=off -race -parallel 8 -timeout 30m -run '^TestFeatures$$' -skip '/^agent-client' .

test-all: tools vet bin/go.work ## at night: everything, every mutant, and the race detector wherever it can be
	$(GO) tool staticcheck ./...
	GOGC=1000 $(GO) test -race -parallel 8 -timeout 60m -skip '$(SLOW)' ./...
	GOGC=1000 PARLEY_MUTANTS=all $(GO) test -parallel 24 -timeout 60m -run '$(SLOW)' \
		$$($(GO) list $(SUITES) | grep -v '/hostile$$') ./cli
	GOGC=1000 PARLEY_MUTANTS=all $(GO) test -parallel 8 -timeout 60m -run '$(SLOW)' ./test/hostile
	$(OWN)
	$(FROM_GO)

# The packages of `make quick`: those that judge.
JUDGING = . $$($(GO) list ./... | grep -E '^parley/(transcript|wire|verdict|monitor|driver|protocol|target|runner|steps|probe|doctor|reports|internal)(/|$$)' | \
	grep -vxF "$$($(GO) list $(BROWSERS_TOO))")

quick: ## while you work: the suites but pages, and the packages that judge; or all of a package: make quick PKG=./wire/sse
	GOGC=1000 $(GO) test -vet=off -p 8 -parallel 24 $(if $(PKG),$(PKG),-skip '$(LONG)|$(NIGHT)|$(PAGES)' $(JUDGING))

# Packages with code of their own for Windows or macOS, which is checked for these too. `make test-all` builds whole programs.
ELSEWHERE = ./driver/browser ./driver/stdio ./internal/cputime ./internal/freeport ./internal/input ./internal/procgroup ./target

# staticcheck of test code takes eight times as long as of the rest: `make test-all` checks it too.
vet: ## gofmt, go vet (also for other systems), staticcheck by staticcheck.conf, but of tests
	@unformatted=$$(gofmt -l .); \
	if [ -n "$$unformatted" ]; then echo "not formatted (run gofmt -w):"; echo "$$unformatted"; exit 1; fi
	GOGC=1000 $(GO) vet ./...
	GOGC=1000 $(GO) tool staticcheck -tests=false ./...
	@set -e; for os in windows darwin; do echo "GOOS=$$os $(GO) vet"; GOOS=$$os CGO_ENABLED=0 $(GO) vet $(ELSEWHERE); done

mutants: ## the kill matrix: what proves that each clause bites
	@CGO_ENABLED=0 $(GO) run ./cmd/parley mutants

kill-matrix: ## the kill matrix that certificates refer to, for the suite as it is now
	@CGO_ENABLED=0 $(GO) run ./cmd/parley mutants --matrix reference-server/bundled/kills.json

# What each mutant breaks in the whole suite, for package diagnosis. An interrupted call continues; PROTOCOL chooses one.
SIGNATURES = bin/signatures
signatures: ## run every mutant through the whole suite, and keep what it breaks (an hour; continues where it was interrupted)
	CGO_ENABLED=0 $(GO) run ./cmd/parley mutants --whole --missing --out $(SIGNATURES) $(if $(PROTOCOL),--protocol $(PROTOCOL))
	$(GO) run ./internal/signatures $(SIGNATURES) diagnosis/signatures.json.gz

bench: ## benchmarks of the hot paths
	$(GO) test -run '^$$' -bench . -benchmem ./...

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
