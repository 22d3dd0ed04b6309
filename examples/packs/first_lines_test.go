package packs_test

import (
	"context"
	"errors"
	"maps"
	"net/http/httptest"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"parley/features/verdict"
	"parley/internal/llm"
	"parley/reference-server/bundled"
	"parley/reference-server/launch"
	"parley/runner"
	"parley/simulator"
	"parley/simulator/scripted"
	"parley/steps"
	"parley/steps/pack"
	"parley/steps/protocols"
	"parley/target"
)

// general are steps that every folder has. SEND and RECEIVE stand for types of its messages.
var general = []string{"client A connects", "client A is connected", "client A disconnects",
	"client A loses its connection", "client A reconnects with the id of its last event", `client A sends "SEND"`,
	`client A gets an answer to "SEND"`, `client A sends "SEND" with {"x": 1}`, `client A sends "SEND" with`,
	`client A sends "SEND" without "x"`, `client A sends "SEND" with the header "Origin: x"`,
	`client A sends "SEND" without the header "Origin"`, `client A sends "SEND" 5 times without waiting`,
	"client A sends the text {}", `client A keeps kind as "kept"`, "client A is answered",
	"the server owes nothing any more",
	`client A receives "RECEIVE"`, `client A receives "RECEIVE" where true`, `client A has received no "RECEIVE"`,
	`client A has received no "RECEIVE" where true`, "client A's message is answered with status 202",
	"everything is handled", "the scenario applies to client A where true", "the target is restarted"}

// begins matches the general steps that connect.
var begins = regexp.MustCompile(`^client A (connects|is connected)$`)

var varying = regexp.MustCompile(`\{\w+\}`)

// TestFirstLines: as the first line of a scenario, no step of a folder fails or passes anything, or waits: neither the
// general ones nor the folder's phrases. Those that connect pass what they see, and fail nothing.
func TestFirstLines(t *testing.T) {
	s := readSequences(t)
	mcp := httptest.NewServer(&mcpServer{over: map[string]bool{}})
	t.Cleanup(mcp.Close)
	agui := agent(t, s, fault{}).URL
	for _, of := range []struct {
		folder, driver, url, send, receive string
		phrases                            map[string]bool // by words; true: it begins by connecting
	}{
		{"ticket-desk", target.SSE, "", "open", "welcome",
			map[string]bool{"client {c} has a ticket": true, "client {c} was asked for its consent": false}},
		{"ticket-desk", target.WS, "", "open", "welcome",
			map[string]bool{"client {c} has a ticket": true, "client {c} was asked for its consent": false}},
		{"ag-ui", target.Post, agui, "run", "RUN_STARTED",
			map[string]bool{`client {c} asks "{what}"`: true, "client {c} has its run": false}},
		{"mcp", target.Post, mcp.URL, "ping", "result",
			map[string]bool{"client {c} has a session": true, "client {c} listens": false,
				"client {c} begins something long": false, "client {c} does something as long": false}},
		{"session-chat", target.WS, "", "chat", "result", map[string]bool{"client {c} returns after a restart": false,
			"client {c} chats in {s}": false, "client {c} chats four times in {s}": false,
			"client {c} chats in four sessions {s}": false, "client {c} recalls {s}": false, "client {c} holds {s}": false,
			"client {c} takes a while in {s}": false, "client {c} fails in {s}": false, "client {c} interrupts {s}": false,
			"client {c} ends {s}": false}},
	} {
		t.Run(of.folder+"/"+of.driver, func(t *testing.T) {
			t.Parallel()
			p, err := pack.Load(of.folder)
			if err != nil {
				t.Fatal(err)
			}
			texts := map[string]bool{}
			named := strings.NewReplacer("SEND", of.send, "RECEIVE", of.receive)
			for _, line := range general {
				texts[named.Replace(line)] = begins.MatchString(line)
			}
			for words, connects := range of.phrases {
				texts[varying.ReplaceAllString(strings.ReplaceAll(words, "{c}", "A"), "red")] = connects
			}
			for _, expr := range steps.Expressions(p) {
				re := steps.Expression(expr)
				if !slices.ContainsFunc(slices.Collect(maps.Keys(texts)), re.MatchString) {
					t.Errorf("no line tries the step %s", expr)
				}
			}
			for text, connects := range texts {
				firstLine(t, optionsFor(t, of.folder, of.driver, of.url), text, connects)
			}
		})
	}
}

// optionsFor are the options of a session with a folder's target; url "": the one that its script plays, or for
// session-chat the bundled one.
func optionsFor(t *testing.T, folder, driver, url string) runner.Options {
	t.Helper()
	if folder == "session-chat" {
		suite, profile := chatFolder(t)
		o := runner.Options{Protocols: suite, Profile: profile, Brain: llm.New()}
		o.Launcher = bundled.All.With(protocols.All.Kinds(), folder, "", "").Launcher
		return o
	}
	p, err := pack.Load(folder)
	if err != nil {
		t.Fatal(err)
	}
	o := runner.Options{Protocols: steps.NewProtocols("1.0.0", p), Drivers: []string{driver}}
	if url != "" {
		o.Profile, err = p.Kind().ForURL(url)
	} else {
		var played launch.Target
		if played, _, err = scripted.Target(p, folder); err == nil {
			o.Profile = launch.Targets{played}.MutantProfile(o.Protocols.Kinds(), steps.Name(p), "")
			o.Launcher = played.Roles[0].InProcess(launch.Options{})
		}
	}
	if err != nil {
		t.Fatal(err)
	}
	return o
}

// firstLine executes a step first in a session.
func firstLine(t *testing.T, o runner.Options, text string, connects bool) {
	t.Helper()
	s, err := simulator.Open(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 3*time.Second)
	defer cancel()
	var arg steps.StepArg
	if strings.HasSuffix(text, " with") {
		arg.Table = [][]string{{"x", "1"}}
	}
	got, err := s.Do(ctx, text, arg)
	failures := append(got.Failures, s.Close().Failures...)
	for _, f := range failures {
		t.Errorf("%q fails %s: expected %s, observed %s", text, f.Clause, f.Expected, f.Observed)
	}
	var notTested *steps.NotTestedError
	var notApplicable *steps.NotApplicableError
	said := errors.As(got.Err, &notTested) || errors.As(got.Err, &notApplicable)
	switch {
	case err != nil, got.Err != nil && !said:
		t.Errorf("%q: %v, %v", text, err, got.Err)
	case ctx.Err() != nil:
		t.Errorf("%q waits: %v", text, got.Err)
	case connects:
		return
	case !said:
		t.Errorf("%q does not say which act is missing", text)
	}
	for _, j := range got.Outcomes {
		if j.Outcome == verdict.Passed {
			t.Errorf("%q passes %s", text, j.Clause)
		}
	}
}
