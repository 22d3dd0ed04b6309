package cli

import (
	"bytes"
	"context"
	"slices"
	"testing"
	"time"

	"parley/internal/tier"
	"parley/protocol/messages"
	"parley/runner"
	"parley/simulator"
	"parley/simulator/replay"
	"parley/steps"
	"parley/target"
	"parley/transport/recording"
	"parley/transport/transcript"
)

// recorded makes a recording of steps with the bundled target of a protocol.
func recorded(t *testing.T, protocol, driver string, lines ...string) []byte {
	t.Helper()
	sub := bundle.For(suite.Kinds(), protocol, suite.Roles(protocol)[0])
	live, err := simulator.Open(t.Context(), runner.Options{Protocols: suite, Profile: sub.Profile,
		Launcher: sub.Launcher, Brain: sub.Brain, Role: sub.Profile.Role, Drivers: []string{driver}})
	if err != nil {
		t.Fatal(err)
	}
	defer live.Close()
	for _, line := range lines {
		if done, err := live.Do(t.Context(), line, steps.StepArg{}); err != nil {
			t.Fatalf("%s: %v %v", line, done, err)
		}
	}
	for r := range live.Transcript().From(0) { // answers may come after the events
		if r.Kind != transcript.Request || r.Dir != transcript.Sent {
			continue
		}
		if _, err := live.Transcript().Await(t.Context(), r.N, func(a *transcript.Record) bool {
			return a.Reply == r.N &&
				a.Kind == transcript.Response
		}); err != nil {
			t.Fatal(err)
		}
	}
	var file bytes.Buffer
	if err := live.Record(&file); err != nil {
		t.Fatal(err)
	}
	return file.Bytes()
}

// playsAgainst replays a recording against what a launcher starts.
func playsAgainst(t *testing.T, file []byte, l target.Launcher, protocol string,
	within time.Duration) (replay.Result, []replay.Difference) {
	t.Helper()
	running, err := l.Launch(t.Context(), target.LaunchOptions{})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = running.Stop(context.WithoutCancel(t.Context())) }()
	in, err := recording.NewReader(bytes.NewReader(file))
	if err != nil {
		t.Fatal(err)
	}
	var all []replay.Difference
	result, err := replay.PlayClient(t.Context(), in, replay.Options{Messages: messages.For(protocol),
		URL: running.BaseURL(), Within: within,
		Differs: func(d replay.Difference) { all = append(all, d) }})
	if err != nil {
		t.Fatalf("%s: %v", protocol, err)
	}
	return result, all
}

// TestReplayFindsMutants checks that a recording of a bundled server is a regression test of the next version: the
// same server plays it without a difference, and one with a fault does not.
func TestReplayFindsMutants(t *testing.T) {
	for _, c := range []struct {
		protocol, driver string
		lines            []string
		found            []string // mutants that the recording shows
	}{
		{"agent-select", "sse", []string{"client A is connected", "client A has a session",
			`client A switches to "debugger"`, `client A is switched from "general" to "debugger"`},
			[]string{"list-without-custom", "current-under-other-name", "no-list", "list-after-session", "previous-is-current",
				"switched-without-data", "needs-session-id", "silent-switches"}},
		{"agent-select", "ws", []string{"client A is connected", "client A has a session",
			`client A switches to "debugger"`, `client A is switched from "general" to "debugger"`},
			[]string{"list-without-custom", "current-under-other-name", "no-list", "list-after-session", "previous-is-current",
				"switched-without-data", "needs-session-id", "silent-switches"}},
		{"session-chat", "ws", []string{`client A has chatted with "red"`},
			[]string{"id-never", "agent-id-for-session-id", "content-named-message", "no-agent-id", "no-session-id-in-result",
				"type-for-message-type", "creates-on-connect"}},
	} {
		t.Run(c.protocol+" over "+c.driver, func(t *testing.T) {
			if c.protocol == "agent-select" && c.driver == "ws" {
				tier.Night(t)
			}
			t.Parallel()
			file := recorded(t, c.protocol, c.driver, c.lines...)
			role := suite.Roles(c.protocol)[0]
			good := bundle.For(suite.Kinds(), c.protocol, role)
			result, all := playsAgainst(t, file, good.Launcher, c.protocol, 10*time.Second)
			if result.Sent < 2 || result.Compared < 4 || len(all) > 0 {
				t.Fatalf("the same server: %+v\n%v", result, all)
			}
			found := 0
			for _, m := range bundle.Mutants(suite.Kinds(), c.protocol, role) {
				if !slices.Contains(c.found, m.ID) {
					continue
				}
				found++
				if _, all := playsAgainst(t, file, m.Launch(good.Brain), c.protocol, time.Second); len(all) == 0 {
					t.Errorf("%s is not found", m.ID)
				}
			}
			if found != len(c.found) {
				t.Errorf("there are %d of %v", found, c.found)
			}
		})
	}
}

// TestHintIgnore checks what is said of differences that may be none.
func TestHintIgnore(t *testing.T) {
	for _, row := range []struct {
		places []string
		want   string
	}{
		{nil, ""},
		{[]string{"/load", "a:/n"}, "parley: if it may differ: --ignore /load --ignore a:/n\n"},
		{[]string{"/a", "/b", "/c", "/d"}, "parley: if it may differ: --ignore /a --ignore /b --ignore /c (and 1 more)\n"},
	} {
		var said bytes.Buffer
		hintIgnore(row.places, &streams{Err: &said})
		if said.String() != row.want {
			t.Errorf("%q", said.String())
		}
	}
}
