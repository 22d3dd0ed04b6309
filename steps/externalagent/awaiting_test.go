package externalagent

import (
	"strings"
	"testing"
	"time"

	vocab "parley/protocol/externalagent"
	"parley/steps"
	"parley/steps/externalagent/binding"
	"parley/target"
	"parley/transport/transcript"
)

// TestGone checks when nothing more can come from an agent, and when that is an environment error.
func TestGone(t *testing.T) {
	in, out := transcript.Received, transcript.Sent
	opened := transcript.Record{Conn: "agent1", Dir: in, Kind: transcript.Open}
	said := transcript.Record{Conn: "agent1", Dir: in, Kind: transcript.Frame}
	ended := transcript.Record{Conn: "agent1", Dir: in, Kind: transcript.Closed, Label: "closed"}
	cut := transcript.Record{Conn: "agent1", Dir: out, Kind: transcript.Closed}
	asked := transcript.Record{Dir: in, Kind: transcript.Request, Label: "GET /ws"}
	refused := transcript.Record{Dir: out, Kind: transcript.Response, Status: 404, Reply: 1}
	well := transcript.Record{Dir: transcript.Noted, Kind: transcript.Remark, Label: exited + endedWell}
	ill := transcript.Record{Dir: transcript.Noted, Kind: transcript.Remark, Label: exited + "exit status 1"}
	for _, r := range []struct {
		reason      string
		t           []transcript.Record
		gone        string
		unreachable bool
	}{
		{"nothing has come", nil, "", false},
		{"it lives", []transcript.Record{opened, said}, "", false},
		{"it failed at once", []transcript.Record{ill}, "exit status 1", true},
		{"it failed, having asked for another place", []transcript.Record{asked, refused, ill}, "exit status 1", false},
		{"it failed, having connected", []transcript.Record{opened, ill}, "exit status 1", false},
		{"it has started another process", []transcript.Record{well}, "", false},
		{"and that process connects", []transcript.Record{well, opened, said}, "", false},
		{"and ends", []transcript.Record{well, opened, said, ended}, "", false},
		{"it has done its work", []transcript.Record{opened, said, ended, well}, endedWell, false},
		{"its connection is still to end", []transcript.Record{opened, said, well}, "", false},
		{"its connection ends after it", []transcript.Record{opened, said, well, ended}, endedWell, false},
		{"the host has ended its connection", []transcript.Record{opened, said, cut, well}, endedWell, false},
	} {
		within(t, vocab.Agent, "", func(s *suite) error {
			s.agent = &callee{ended: make(chan struct{})}
			for _, rec := range r.t {
				s.T.Append(rec)
			}
			if len(r.t) > 0 && r.reason != "it lives" {
				close(s.agent.ended)
			}
			if got := s.gone(); (got == "") != (r.gone == "") || !strings.HasSuffix(got, r.gone) {
				t.Errorf("%s: %q, want %q", r.reason, got, r.gone)
			}
			if err := s.unreachable(); (err != nil) != r.unreachable {
				t.Errorf("%s: %v", r.reason, err)
			}
			return nil
		})
	}
}

// TestLastTrouble checks that a miss reports the agent's latest refused request or ended connection, unless the agent
// has gone on since.
func TestLastTrouble(t *testing.T) {
	in := transcript.Received
	asked := transcript.Record{Dir: in, Kind: transcript.Request, Label: "GET /ws"}
	refused := transcript.Record{Dir: transcript.Sent, Kind: transcript.Response, Status: 404, Reply: 1}
	ended := transcript.Record{Conn: "agent1", Dir: in, Kind: transcript.Closed, Label: "closed by the target"}
	for _, r := range []struct {
		reason string
		t      []transcript.Record
		has    string
	}{
		{"nothing has come", nil, ""},
		{"it was refused", []transcript.Record{asked, refused}, "; it asked for GET /ws: 404; the endpoint is /agent/ws"},
		{"it is still to be answered", []transcript.Record{asked},
			"; it asked for GET /ws: no answer; the endpoint is /agent/ws"},
		{"its connection has ended", []transcript.Record{{Conn: "agent1", Dir: in, Kind: transcript.Open}, ended},
			"; its connection has ended: closed by the target"},
		{"it has reconnected", []transcript.Record{ended, {Conn: "agent2", Dir: in, Kind: transcript.Open}}, ""},
	} {
		within(t, vocab.Agent, "", func(s *suite) error {
			s.agent = &callee{}
			for _, rec := range r.t {
				s.T.Append(rec)
			}
			if got := s.lastTrouble(); got != r.has {
				t.Errorf("%s: %q, want %q", r.reason, got, r.has)
			}
			return nil
		})
	}
}

// TestOverlaps checks when an agent has sent a request while a call of its own was pending, so that it may not have
// known the result.
func TestOverlaps(t *testing.T) {
	call := func(id string) transcript.Record {
		return transcript.Record{Conn: "agent1", Dir: transcript.Received, Kind: transcript.Frame,
			Bytes: mustEncode(envelope(vocab.ToolCall, id, "", object{}))}
	}
	result := func(id string) transcript.Record {
		return transcript.Record{Conn: "agent1", Dir: transcript.Sent, Kind: transcript.Frame,
			Bytes: mustEncode(envelope(vocab.ToolResult, "", id, object{}))}
	}
	for _, r := range []struct {
		reason string
		t      []transcript.Record
		want   bool
	}{
		{"one after the other", []transcript.Record{call("1"), result("1"), call("2")}, false},
		{"two at once", []transcript.Record{call("1"), call("2")}, true},
		{"another was answered", []transcript.Record{call("1"), result("0"), call("2")}, true},
		{"one was lost with its connection", []transcript.Record{call("1"),
			{Conn: "agent2", Dir: transcript.Received, Kind: transcript.Open}, call("2")}, false},
	} {
		within(t, vocab.Agent, "", func(s *suite) error {
			s.agent = &callee{}
			for _, rec := range r.t {
				s.T.Append(rec)
			}
			if got := s.overlaps(len(r.t) + 1); got != r.want {
				t.Errorf("%s: %v", r.reason, got)
			}
			return nil
		})
	}
}

// TestMayBeAhead checks that a call right after a refusal need not be a reaction to it, unless an answer came in
// between.
func TestMayBeAhead(t *testing.T) {
	call := func(id string, at time.Duration) transcript.Record {
		return transcript.Record{Conn: "agent1", Dir: transcript.Received, Kind: transcript.Frame, At: at,
			Bytes: mustEncode(envelope(vocab.ToolCall, id, "", object{}))}
	}
	said := func(kind, to string) transcript.Record {
		return transcript.Record{Conn: "agent1", Dir: transcript.Sent, Kind: transcript.Frame,
			Bytes: mustEncode(envelope(kind, "", to, object{}))}
	}
	no := said(vocab.ErrorMessage, "1")
	for _, r := range []struct {
		reason string
		t      []transcript.Record // the second record is the refusal, the last one the call
		first  int
		want   bool
	}{
		{"at once", []transcript.Record{call("1", 0), no, call("2", 0)}, 0, true},
		{"later", []transcript.Record{call("1", 0), no, call("2", crossing)}, 0, false},
		{"after another call, with an answer in between",
			[]transcript.Record{call("1", 0), no, call("2", 0), said(vocab.ToolResult, "2"), call("3", 0)}, 3, false},
		{"after another call, with no answer in between",
			[]transcript.Record{call("1", 0), no, call("2", 0), said(vocab.ToolResult, "1"), call("3", 0)}, 3, true},
		{"of one that does not wait for answers",
			[]transcript.Record{call("1", 0), no, call("2", 0), call("3", 0), said(vocab.ToolResult, "2"), call("4", 0)}, 3,
			true},
	} {
		within(t, vocab.Agent, "", func(s *suite) error {
			s.agent = &callee{}
			for _, rec := range r.t {
				s.T.Append(rec)
			}
			last := s.T.After(0)[len(r.t)-1]
			last.At = r.t[len(r.t)-1].At + s.T.After(1)[0].At
			if got := s.mayBeAhead(2, r.first, &last); got != r.want {
				t.Errorf("%s: %v", r.reason, got)
			}
			return nil
		})
	}
}

// TestCallAhead checks which call the agent had sent in addition to the one that the host is about to refuse.
func TestCallAhead(t *testing.T) {
	call := func(id string) transcript.Record {
		return transcript.Record{Conn: "agent1", Dir: transcript.Received, Kind: transcript.Frame,
			Bytes: mustEncode(envelope(vocab.ToolCall, id, "", object{}))}
	}
	answer := func(to string) transcript.Record {
		return transcript.Record{Conn: "agent1", Dir: transcript.Sent, Kind: transcript.Frame,
			Bytes: mustEncode(envelope(vocab.ToolResult, "", to, object{}))}
	}
	for _, r := range []struct {
		reason string
		t      []transcript.Record
		want   int
	}{
		{"one call", []transcript.Record{call("1")}, 0},
		{"a call for each answer", []transcript.Record{call("1"), answer("1"), call("2")}, 0},
		{"two before the answer", []transcript.Record{call("1"), call("2")}, 2},
		{"two, of which one is answered", []transcript.Record{call("1"), call("2"), answer("1")}, 0},
		{"three, of which one is answered", []transcript.Record{call("1"), call("2"), answer("1"), call("3")}, 4},
		{"two on a connection that has ended", []transcript.Record{call("1"), call("2"),
			{Conn: "agent2", Dir: transcript.Received, Kind: transcript.Open}, call("3")}, 0},
	} {
		within(t, vocab.Agent, "", func(s *suite) error {
			s.agent = &callee{}
			for _, rec := range r.t {
				s.T.Append(rec)
			}
			if got := s.callAhead(len(r.t) + 1); got != r.want {
				t.Errorf("%s: %d, want %d", r.reason, got, r.want)
			}
			return nil
		})
	}
}

// TestGivenSession checks that an agent that is given a relay session at its start joins that one (EA-027).
func TestGivenSession(t *testing.T) {
	for _, r := range []struct {
		reason  string
		command *target.Command
		session string
		want    string
	}{
		{"the given one", &target.Command{Run: []string{"agent", "--session={session}"}}, "x-{nonce}", "EA-027=passed"},
		{"given in its environment", &target.Command{Run: []string{"agent"}, Env: map[string]string{"S": "{session}"}},
			"x-{nonce}", "EA-027=passed"},
		{"given, but it joins another", &target.Command{Run: []string{"agent", "{session}"}}, "x-{nonce}",
			"EA-027=failed"},
		{"not given", &target.Command{Run: []string{"agent"}}, "x-{nonce}", "EA-027=not-tested"},
	} {
		m := mind{}
		if r.want == "EA-027=failed" {
			m.session = "default"
		}
		got := meet(t, m, "@EA-027", awaits+started+"Then the agent joins\n", func(env *steps.Env) {
			env.Profile.Command, binding.Of(env.Profile).Session = r.command, r.session
		})
		expect(t, got, r.want, "")
	}
}

// TestSlowAndSteady checks that the limit applies to the agent's next act, not to all its acts together.
func TestSlowAndSteady(t *testing.T) {
	const pace = 20 * soon
	within(t, vocab.Agent, "", func(s *suite) error {
		s.agent = &callee{ended: make(chan struct{}), play: host(t, true)}
		s.wire.Agent.Pace.Duration = pace
		ticks := time.NewTicker(pace / 4)
		defer ticks.Stop()
		go func() {
			for range 8 {
				<-ticks.C
				s.T.Append(transcript.Record{Conn: "agent1", Dir: transcript.Received, Kind: transcript.Frame,
					Bytes: mustEncode(envelope(vocab.AgentMessage, "m", "", object{}))})
			}
			s.T.Append(transcript.Record{Conn: "agent1", Dir: transcript.Received, Kind: transcript.Frame,
				Bytes: mustEncode(envelope(vocab.ToolCall, "c", "", object{}))})
		}()
		if _, miss := s.awaitAgent(t.Context(), 0, s.pace(), received(vocab.ToolCall)); miss != nil {
			t.Error(miss.Reason)
		}
		_, miss := s.awaitAgent(t.Context(), s.T.Len(), s.pace(), received(vocab.SessionEnd))
		if miss == nil || !strings.Contains(miss.Reason, "external-agent.agent.pace") ||
			!strings.Contains(miss.Reason, "concurrency") {
			t.Errorf("%v", miss)
		}
		s.agent = nil // there is nothing to stop
		return nil
	})
}
