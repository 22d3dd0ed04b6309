package scripted_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"parley/reference-server/launch"
	"parley/runner"
	"parley/simulator/scripted"
	"parley/steps"
	"parley/steps/pack"
	"parley/target"
)

const desk = "../../examples/packs/ticket-desk"

// TestMistakes: what is wrong in server.yaml and mutants.yaml is told with its place.
func TestMistakes(t *testing.T) {
	const row = "- {id: a, clauses: [TD-008], why: b, fault: {on: pong, from: server, do: drop}}\n"
	for _, c := range []struct{ file, text, want string }{
		{"server.yaml", "script: a\nprotocol: b\nas: server\nrules: []\n", `server.yaml:2:11: this script is for b`},
		{"server.yaml", "script: a\nprotocol: ticket-desk\nas: server\nruls: []\n",
			`server.yaml:4:1: a script has no "ruls"`},
		{"server.yaml", "", "mutants.yaml: its faults are those of a server, and there is no server.yaml"},
		{"server.yaml", "script: a\nprotocol: ticket-desk\nas: server\nrules:\n- on: pnig\n  answer: " +
			"[{send: {type: pogn}}]\n", `server.yaml:5:7: protocol.yaml knows no message "pnig" (did you mean "ping"?)`},
		{"server.yaml", "script: a\nprotocol: ticket-desk\nas: server\nrules:\n- on: ping\n  answer: " +
			"[{sned: {type: pong}}]\n", `server.yaml:6:13: an action has no "sned" (did you mean "send"?)`},
		{"mutants.yaml", strings.Replace(row, "why: b", "transports: [ws, tcp], why: b", 1),
			`mutants.yaml:1:42: the protocol has no transport "tcp" (it has `},
		{"server.yaml", "script: a\nprotocol: ticket-desk\nas: server\nper: {room: {kee: 7}}\nrules: []\n",
			`server.yaml:4:14: room has no key (is "kee" misspelt? key: ${/room})`},
		{"mutants.yaml", "- {id: a, clause: [TD-008]}\n",
			`mutants.yaml:1:11: a mutant has no "clause" (did you mean "clauses"?)`},
		{"mutants.yaml", "- id: a\n  clauses: [TD-008]\n  why: b\n  vars: 7\n",
			"mutants.yaml:4:9: vars is a map, and this is a single value"},
		{"mutants.yaml", "- id: a\n  clauses: [TD-008]\n  why: b\n", "mutants.yaml:1:3: a has no fault (fault: {on: "},
		{"mutants.yaml", "\n" + strings.Replace(row, "TD-008", "TD-999", 1),
			"mutants.yaml:2:21: no clause of clauses.yaml has the id TD-999 (did you mean"},
		{"mutants.yaml", strings.Replace(row, "why: b, ", "", 1), "mutants.yaml:1:4: a lacks why"},
		{"mutants.yaml", strings.Replace(row, "clauses: [TD-008], ", "", 1), "mutants.yaml:1:4: a lacks clauses"},
		{"mutants.yaml", row + row, "mutants.yaml:2:8: a is the mutant in line 1 already"},
		{"mutants.yaml", row + strings.Replace(row, "id: a", "id: B_c", 1),
			`mutants.yaml:2:8: the id "B_c" has other characters`},
		{"mutants.yaml", "- {id: a, clauses: [TD-008], why: b, vars: {aks: false}}\n",
			`mutants.yaml:1:50: ticket-desk has no variable "aks" (did you mean "asks"?)`},
		{"mutants.yaml", "# none\n" + strings.Replace(row, "drop", "drp", 1),
			`mutants.yaml:2:74: "drp" is not a fault (did you mean "drop"?)`},
		{"mutants.yaml", strings.Replace(row, "on: pong", "on: pang", 1),
			`mutants.yaml:1:50: protocol.yaml knows no message "pang" (did you mean "ping"?)`},
		{"mutants.yaml", strings.Replace(row, "do: drop", "do: {behind: {type: [pong, pang]}}", 1),
			`no message "pang" (did you mean "ping"?)`},
		{"mutants.yaml", strings.Replace(row, "why: b", `control: "@TD-998", why: b`, 1),
			`mutants.yaml:1:39: the control "@TD-998" selects no scenario (it names tags of scenarios`},
		{"mutants.yaml", strings.Replace(row, "why: b", `control: "@TD-008 or", why: b`, 1),
			`mutants.yaml:1:39: control: tag expression "@TD-008 or"`},
	} {
		dir := t.TempDir()
		if err := os.CopyFS(dir, os.DirFS(desk)); err != nil {
			t.Fatal(err)
		}
		at := filepath.Join(dir, c.file)
		if err := os.WriteFile(at, []byte(c.text), 0o600); err != nil {
			t.Fatal(err)
		}
		if c.text == "" {
			_ = os.Remove(at)
		}
		p, err := pack.Load(dir)
		if err != nil {
			t.Fatal(err)
		}
		if _, _, err = scripted.Target(p, dir); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s %q: %v\nwant … %s", c.file, c.text, err, c.want)
		}
	}
}

// TestAllMistakes: the mistakes of mutants.yaml are told all at once.
func TestAllMistakes(t *testing.T) {
	dir := t.TempDir()
	if err := os.CopyFS(dir, os.DirFS(desk)); err != nil {
		t.Fatal(err)
	}
	const text = "- {id: a, clauses: [TD-999], why: b, fault: [{on: pong, do: drp}, {on: pang, do: drop}]}\n" +
		"- {id: b, clauses: [TD-008], why: b, fault: {do: {nth: 1}}, control: \"@x\"}\n# - id: left-out\n"
	if err := os.WriteFile(filepath.Join(dir, "mutants.yaml"), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	p, err := pack.Load(dir)
	if err != nil {
		t.Fatal(err)
	}
	_, _, err = scripted.Target(p, dir)
	told := func(line string) int { return strings.Count(err.Error(), "mutants.yaml:"+line+":") }
	if err == nil || told("1") != 3 || told("2") != 2 {
		t.Errorf("%v\nwant three mistakes in line 1, and two in line 2", err)
	}
}

// TestNoServer: a folder without the two files has no bundled target.
func TestNoServer(t *testing.T) {
	dir := t.TempDir()
	if err := os.CopyFS(dir, os.DirFS(desk)); err != nil {
		t.Fatal(err)
	}
	err := errors.Join(os.Remove(filepath.Join(dir, "server.yaml")), os.Remove(filepath.Join(dir, "mutants.yaml")))
	if err != nil {
		t.Fatal(err)
	}
	p, err := pack.Load(dir)
	if err != nil {
		t.Fatal(err)
	}
	if _, there, err := scripted.Target(p, dir); there || err != nil {
		t.Errorf("there %v: %v", there, err)
	}
}

// TestLaunch: each launch is a server of its own, and an unknown fault is refused.
func TestLaunch(t *testing.T) {
	p, err := pack.Load(desk)
	if err != nil {
		t.Fatal(err)
	}
	of, there, err := scripted.Target(p, desk)
	if err != nil || !there {
		t.Fatal(there, err)
	}
	role := of.Roles[0]
	urls := map[string]bool{}
	for range 2 {
		running, err := role.Launcher(launch.Options{}).Launch(t.Context(), target.LaunchOptions{})
		if err != nil {
			t.Fatal(err)
		}
		defer running.Stop(context.WithoutCancel(t.Context())) //nolint:errcheck // it has no error
		urls[running.BaseURL()] = true
	}
	if len(urls) != 2 {
		t.Errorf("two launches at %v", urls)
	}
	if _, err := role.Launcher(launch.Options{Fault: "none"}).Launch(t.Context(), target.LaunchOptions{}); err == nil {
		t.Error("a fault that there is not was launched")
	}
}

// TestUnfired: a fault of a mutant that changes no message is told, also if another one of it does.
func TestUnfired(t *testing.T) {
	dir := t.TempDir()
	if err := os.CopyFS(dir, os.DirFS(desk)); err != nil {
		t.Fatal(err)
	}
	const text = "- {id: a, clauses: [TD-008], why: b, fault: [{on: pong, from: server, do: {remove: /ref}}, " +
		"{on: ping, from: server, do: drop}]}\n"
	if err := os.WriteFile(filepath.Join(dir, scripted.MutantsFile), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	p, err := pack.Load(dir)
	if err != nil {
		t.Fatal(err)
	}
	of, _, err := scripted.Target(p, dir)
	if err != nil {
		t.Fatal(err)
	}
	suite, all := steps.NewProtocols("1.0.0", p), launch.Targets{of}
	matrix, err := runner.Mutants(t.Context(), runner.MutantOptions{Protocols: suite, Protocol: steps.Name(p),
		Profile: all.MutantProfile(suite.Kinds(), steps.Name(p), ""), Mutants: all.Mutants(suite.Kinds(), steps.Name(p), "")})
	if err != nil {
		t.Fatal(err)
	}
	got := matrix.Mutants[0]
	if want := []string{"fault 2 never fired: no message matched"}; !got.OK || !slices.Equal(got.Unfired, want) {
		t.Errorf("%+v, want unfired %q", got, want)
	}
}
