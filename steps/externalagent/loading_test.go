package externalagent

import (
	"maps"
	"slices"
	"strings"
	"testing"

	vocab "parley/protocol/externalagent"
	"parley/steps"
	"parley/steps/externalagent/binding"
	"parley/target"
	"parley/transport/driver"
	"parley/transport/transcript"
	wjson "parley/transport/wire/json"
)

// rig leads a session under load against parties of the test, without any connection.
type rig struct {
	t      *testing.T
	agent  steps.LoadSession
	host   steps.LoadSession // the session's peer; nil if the target is a host
	answer func(env object) []object
	mix    func(toHost bool, env object) []object // of the relay

	queue  []func() // what is on its way, in order
	n      int
	passed map[string]bool
	broken map[string]bool
	failed string
	over   bool // the act is done
}

// rigged makes a session on a target of a role.
func rigged(t *testing.T, role string, bundled bool) *rig {
	t.Helper()
	kind := Protocol{}.Kind()
	p := kind.New()
	p.Protocol, p.Role, p.Bundled = kind.Protocol, role, bundled
	binding.Of(p).Session = "s-{nonce}"
	load := Protocol{}.Load(&steps.Env{Profile: p, Role: role}, "http://x")
	r := &rig{t: t, passed: map[string]bool{}, broken: map[string]bool{}}
	r.agent = load.New(steps.Mark{Salt: "t", Session: 1}, &steps.Claims{})
	if peer := r.agent.(steps.LoadPaired).Peer(); peer != nil {
		r.host = peer
		peer.Dial()
		r.takes(peer, transcript.Record{Kind: transcript.Open})
		r.arrives()
	}
	if load.Paired != (r.host != nil) {
		t.Errorf("paired: %v", load.Paired)
	}
	return r
}

// takes has a party take a record.
func (r *rig) takes(by steps.LoadSession, rec transcript.Record) {
	r.n++
	rec.N, rec.Dir = r.n, transcript.Received
	decode(&rec)
	step := by.HandleRecord(&rec)
	for _, f := range step.Findings {
		for _, c := range f.Clauses {
			if r.passed[c] = true; !f.OK {
				r.broken[c] = true
			}
		}
	}
	if step.Failed != "" {
		r.failed = step.Failed
	}
	if by == r.agent {
		r.over = r.over || step.Done
	}
	r.sends(by, step.Send)
	if step.Other != nil {
		r.over = r.over || step.Other.Done
		r.sends(r.agent, step.Other.Send)
	}
}

// gets sends a party a message.
func (r *rig) gets(by steps.LoadSession, env object) {
	b, err := wjson.Encode(env)
	if err != nil {
		r.t.Fatal(err)
	}
	r.queue = append(r.queue, func() { r.takes(by, transcript.Record{Kind: transcript.Frame, Type: "text", Bytes: b}) })
}

// arrives has everything arrive that is on its way.
func (r *rig) arrives() {
	for len(r.queue) > 0 {
		next := r.queue[0]
		r.queue = r.queue[1:]
		next()
	}
}

// sends carries messages to the other party.
func (r *rig) sends(by steps.LoadSession, all []driver.Message) {
	for _, m := range all {
		v, _, err := wjson.Decode(m.Body)
		if err != nil {
			r.t.Fatal(err)
		}
		env := v.(object)
		switch {
		case r.host == nil:
			for _, a := range r.answer(env) {
				r.gets(r.agent, a)
			}
		case env[vocab.Type] == vocab.RelayJoin:
			r.gets(by, envelope(vocab.RelayJoined, "", steps.Text(env, "id"), env[vocab.Payload]))
		case by == r.agent:
			for _, e := range r.mix(true, env) {
				r.gets(r.host, e)
			}
		default:
			for _, e := range r.mix(false, env) {
				r.gets(r.agent, e)
			}
		}
	}
}

// acts carries out acts; it reports whether all of them ended.
func (r *rig) acts(names ...string) bool {
	all := true
	for _, name := range names {
		if r.over = false; name == steps.LoadConnect || name == steps.LoadReconnect {
			r.agent.Dial()
			r.takes(r.agent, transcript.Record{Kind: transcript.Open})
		} else {
			r.sends(r.agent, r.agent.Act(name))
		}
		r.arrives()
		all = all && r.over
	}
	return all
}

// cinema is a correct host with a relay.
type cinema struct {
	study   string
	stage   int
	said    []any
	started int
}

func (c *cinema) state() object {
	return object{vocab.Spec: object{"stage": c.stage, "items": []any{object{"id": "i"}}},
		vocab.MessageHistory: slices.Clone(c.said), vocab.ToolSchema: []any{}}
}

func (c *cinema) updated() object {
	s := c.state()
	s["source"] = vocab.SourceHost
	return envelope(vocab.StateUpdated, "", "", s)
}

// answer answers a message as it should.
func (c *cinema) answer(env object) []object {
	id, body := steps.Text(env, "id"), env[vocab.Payload].(object)
	switch env[vocab.Type] {
	case vocab.RelayJoin:
		return []object{envelope(vocab.RelayJoined, "", id, body)}
	case vocab.SessionStart:
		c.started++
		c.study, c.said, c.stage = "study-"+strings.Repeat("i", c.started), []any{}, 0
		return []object{envelope(vocab.SessionStarted, "", id, object{vocab.SessionID: c.study}), c.updated()}
	case vocab.SnapshotGet:
		s := c.state()
		s[vocab.SessionID] = c.study
		return []object{envelope(vocab.SnapshotState, "", id, s)}
	case vocab.AgentMessage:
		c.said = append(c.said, object{"role": "agent", "text": body[vocab.Text]})
		return []object{c.updated()}
	case vocab.ToolCall:
		c.stage++
		return []object{envelope(vocab.ToolResult, "", id, object{"ok": true, "toolName": body["toolName"]}), c.updated()}
	case vocab.SessionEnd:
		return []object{envelope(vocab.SessionEnded, "", id,
			object{vocab.SessionID: c.study, vocab.LogFile: "l", "stateReset": true})}
	}
	return nil
}

// course are the acts of the tests.
var course = []string{steps.LoadConnect, loadCall, loadSay, loadCall, steps.LoadReconnect, loadSay, loadNew, loadSay}

// altered returns a host that changes its messages of a type.
func altered(kind string, f func(env, payload object) []object) func(c *cinema, env object) []object {
	return func(c *cinema, env object) (out []object) {
		for _, a := range c.answer(env) {
			if a[vocab.Type] == kind {
				out = append(out, f(a, a[vocab.Payload].(object))...)
				continue
			}
			out = append(out, a)
		}
		return out
	}
}

// with returns a host that changes a member of its messages of a type.
func with(kind, name string, value any) func(c *cinema, env object) []object {
	return altered(kind, func(env, payload object) []object {
		payload[name] = value
		return []object{env}
	})
}

// history returns a host that changes the history of its snapshots.
func history(f func(all []any) []any) func(c *cinema, env object) []object {
	return func(c *cinema, env object) []object {
		all := c.answer(env)
		for _, a := range all {
			if p := a[vocab.Payload].(object); p[vocab.MessageHistory] != nil {
				p[vocab.MessageHistory] = f(p[vocab.MessageHistory].([]any))
			}
		}
		return all
	}
}

func reversed(all []any) []any { slices.Reverse(all); return all }

// TestLoadJudgesHosts has hosts break each clause that a session under load judges, and keep them all.
func TestLoadJudgesHosts(t *testing.T) {
	for _, row := range []struct {
		name    string
		answer  func(c *cinema, env object) []object
		foreign bool // it is not the bundled host
		broken  []string
		failed  string
	}{
		{name: "a right host", answer: (*cinema).answer},
		{name: "another right host", answer: (*cinema).answer, foreign: true},
		{name: "a state of another session", answer: with(vocab.StateUpdated, "uiSpec", object{"of": "lt-2-7"}),
			broken: []string{"EA-025", "EA-073"}},
		{name: "another state than the last one", answer: with(vocab.SnapshotState, "uiSpec", object{}),
			broken: []string{"EA-073"}},
		{name: "the same of a foreign host, whose states may be on their way", foreign: true,
			answer: with(vocab.SnapshotState, "uiSpec", object{"items": []any{object{"id": "i"}}})},
		{name: "a history in another order", answer: history(reversed), broken: []string{"EA-005"}},
		{name: "a history with everything twice", broken: []string{"EA-005"},
			answer: history(func(all []any) []any { return slices.Concat(all, all) })},
		{name: "a history without the first message", broken: []string{"EA-005"},
			answer: history(func(all []any) []any { return all[min(1, len(all)):] })},
		{name: "the same of a foreign host, which need not show them", foreign: true,
			answer: history(func(all []any) []any { return all[min(1, len(all)):] })},
		{name: "a refused call", failed: "error INVALID_PARAMS",
			answer: altered(vocab.ToolResult, func(env, _ object) []object {
				return []object{envelope(vocab.ErrorMessage, "", steps.Text(env, "replyTo"),
					object{"code": vocab.InvalidParams, "message": "no"})}
			})},
	} {
		t.Run(row.name, func(t *testing.T) {
			r, c := rigged(t, vocab.Host, !row.foreign), &cinema{}
			r.answer = func(env object) []object { return row.answer(c, env) }
			done := r.acts(course...)
			if got := slices.Sorted(maps.Keys(r.broken)); !slices.Equal(got, row.broken) || r.failed != row.failed {
				t.Errorf("broken %v, want %v; failed %q", got, row.broken, r.failed)
			}
			if len(row.broken) == 0 && row.failed == "" && !done {
				t.Error("an act has not ended")
			}
			if row.name == "a right host" {
				for _, c := range loadClauses[vocab.Host] {
					if !r.passed[c] {
						t.Errorf("%s was not judged", c)
					}
				}
			}
		})
	}
}

// TestLoadSessionGone checks that a session starts anew after a host has ended its study session with its connection,
// as the document leaves open (EA-G09).
func TestLoadSessionGone(t *testing.T) {
	r, c := rigged(t, vocab.Host, false), &cinema{}
	r.answer = func(env object) []object {
		if env[vocab.Type] == vocab.RelayJoin {
			c.study = ""
		}
		if env[vocab.Type] == vocab.SnapshotGet && c.study == "" {
			return []object{envelope(vocab.ErrorMessage, "", steps.Text(env, "id"), notActive)}
		}
		return c.answer(env)
	}
	if !r.acts(course...) || len(r.broken) > 0 || r.failed != "" || c.started != 3 {
		t.Errorf("broken %v, failed %q, %d study sessions", r.broken, r.failed, c.started)
	}
}

// nth changes the n-th message of a type that a relay passes on.
func nth(n int, kind string, f func(env object) []object) func(toHost bool, env object) []object {
	return func(_ bool, env object) []object {
		if env[vocab.Type] == kind {
			if n--; n == 0 {
				return f(env)
			}
		}
		return []object{env}
	}
}

// TestLoadJudgesRelays has relays lose, repeat, reorder, change and mix messages, and pass them on as they should.
func TestLoadJudgesRelays(t *testing.T) {
	none := func(object) []object { return nil }
	twice := func(env object) []object { return []object{env, env} }
	var kept object
	for _, row := range []struct {
		name   string
		mix    func(toHost bool, env object) []object
		broken string // among others
	}{
		{"a right relay", func(_ bool, env object) []object { return []object{env} }, ""},
		{"a relay that adds a member", func(_ bool, env object) []object { env["via"] = "relay"; return []object{env} }, ""},
		{"a lost state", nth(1, vocab.StateUpdated, none), "EA-055"},
		{"a repeated state", nth(2, vocab.StateUpdated, twice), "EA-055"},
		{"a lost result", nth(1, vocab.ToolResult, none), "EA-046"},
		{"a repeated message of the agent", nth(2, vocab.AgentMessage, twice), "EA-008"},
		{"a lost message of the agent", nth(2, vocab.AgentMessage, none), "EA-008"},
		{"a repeated call", nth(1, vocab.ToolCall, twice), "EA-007"},
		{"repeated words of the participant", nth(1, vocab.UserMessage, twice), "EA-009"},
		{"two states in another order", func(_ bool, env object) []object {
			if env[vocab.Type] != vocab.StateUpdated {
				return []object{env}
			}
			if kept == nil {
				kept = env
				return nil
			}
			first := kept
			kept = nil
			return []object{env, first}
		}, "EA-055"},
		{"a changed snapshot", nth(1, vocab.SnapshotState, func(env object) []object {
			env[vocab.Payload].(object)[vocab.ToolSchema] = []any{"x"}
			return []object{env}
		}), "EA-041"},
		{"a start that is answered with another study", nth(1, vocab.SessionStarted, func(env object) []object {
			env[vocab.Payload] = object{vocab.SessionID: "s-lt-2-3"}
			return []object{env}
		}), "EA-025"},
		{"another agent's words", nth(1, vocab.AgentMessage, func(env object) []object {
			env[vocab.Payload] = object{"text": "lt-2-9"}
			return []object{env}
		}), "EA-025"},
	} {
		t.Run(row.name, func(t *testing.T) {
			r := rigged(t, vocab.Relay, false)
			r.mix, kept = row.mix, nil
			done := r.acts(course...)
			if row.broken == "" && (len(r.broken) > 0 || !done || r.failed != "") || row.broken != "" && !r.broken[row.broken] {
				t.Errorf("broken %v, want %s; done %v, failed %q", slices.Sorted(maps.Keys(r.broken)), row.broken, done, r.failed)
			}
			for _, c := range loadClauses[vocab.Relay] {
				if row.broken == "" && !r.passed[c] {
					t.Errorf("%s was not judged", c)
				}
			}
		})
	}
}

// TestLoadUnfit checks which targets cannot be put under load.
func TestLoadUnfit(t *testing.T) {
	for _, row := range []struct {
		role, session string
		unfit         bool
	}{{vocab.Host, "s-{nonce}", false}, {vocab.Relay, "s-{nonce}", false}, {vocab.Host, "default", true},
		{vocab.Agent, "s-{nonce}", true}} {
		kind := Protocol{}.Kind()
		p := kind.New()
		p.Protocol, p.Role = kind.Protocol, row.role
		target.SectionOf[binding.Binding](p).Session = row.session
		load := Protocol{}.Load(&steps.Env{Profile: p, Role: row.role}, "http://x")
		if (load.Unfit != "") != row.unfit || (load.New == nil) != row.unfit {
			t.Errorf("%s %s: %q", row.role, row.session, load.Unfit)
		}
	}
}
