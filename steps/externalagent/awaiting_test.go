package externalagent

import (
	"strings"
	"testing"
	"time"

	vocab "parley/protocol/externalagent"
	"parley/steps"
	"parley/steps/externalagent/binding"
	"parley/steps/externalagent/model"
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
	well := transcript.Record{Dir: transcript.Noted, Kind: transcript.Remark, Label: model.Exited + endedWell}
	ill := transcript.Record{Dir: transcript.Noted, Kind: transcript.Remark, Label: model.Exited + "exit status 1"}
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
// has gone on since, and that this comes before the limit that has passed.
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
		{"it was refused", []transcript.Record{asked, refused}, "it asked for GET /ws: 404; the endpoint is /agent/ws"},
		{"it is still to be answered", []transcript.Record{asked},
			"it asked for GET /ws: no answer; the endpoint is /agent/ws"},
		{"its connection has ended", []transcript.Record{{Conn: "agent1", Dir: in, Kind: transcript.Open}, ended},
			"its connection has ended: closed by the target"},
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
			passed, want := s.joinLimit().passed(), s.joinLimit().passed()
			if r.has != "" {
				want = r.has + "; no such message within 10s, which is external-agent.agent.join"
			}
			if got := s.explain(passed); got != want {
				t.Errorf("%s: a limit has passed: %q, want %q", r.reason, got, want)
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
		{"later", []transcript.Record{call("1", 0), no, call("2", model.Crossing)}, 0, false},
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

// TestGivenSession checks that an agent that the profile gives a relay session joins that one (EA-027), and that one
// that is given none is not judged by what it joins.
func TestGivenSession(t *testing.T) {
	command := func(run ...string) *target.Command { return &target.Command{Run: append([]string{"agent"}, run...)} }
	const own, of, fixed = "x-{nonce}", vocab.DefaultSession, "x"
	for _, r := range []struct {
		reason  string
		command *target.Command
		hook    string // hooks.call
		session string // external-agent.session
		joins   string // ""; the given one
		want    string
	}{
		{"in its command", command("--session={session}"), "", own, "", "passed"},
		{"in its command, but it joins another", command("{session}"), "", own, of, "failed"},
		{"the default one in its command, but it joins another", command("{session}"), "", of, "other", "failed"},
		{"in its environment", &target.Command{Run: []string{"agent"}, Env: map[string]string{"S": "{session}"}}, "", own,
			"other", "failed"},
		{"by a shell", &target.Command{Run: []string{"sh", "-c", "agent $PARLEY_SESSION"}}, "", of, "other", "failed"},
		{"by the hook", nil, "tell $PARLEY_SESSION", of, "other", "failed"},
		{"by the profile alone", command(), "", own, "", "passed"},
		{"by the profile alone, but it joins another", command(), "", own, "other", "failed"},
		{"a fixed one by the profile", command(), "", fixed, fixed, "passed"},
		{"a fixed one by the profile, but it joins another", command(), "", fixed, "other", "failed"},
		{"without a command, but it joins another", nil, "", own, "other", "failed"},
		{"nothing, and it joins the default one", command(), "", of, "", "passed"},
		{"nothing, and it joins another", command(), "", of, "other", "not-tested"},
		{"nothing, and it joins none", command(), "", of, " ", "not-tested"},
	} {
		t.Run(r.reason, func(t *testing.T) {
			t.Parallel()
			got := meet(t, mind{session: r.joins}, "@EA-026 @EA-027", awaits+started+"Then the agent joins\n",
				func(env *steps.Env) {
					env.Profile.Command, env.Profile.Hooks.Call = r.command, r.hook
					binding.Of(env.Profile).Session = r.session
				})
			has := ""
			if r.want == "not-tested" {
				has = "put {session} into command.run or command.env"
			}
			expect(t, got, "EA-026=passed EA-027="+r.want, has)
		})
	}
}

// TestGivesSession checks that an agent which connects by itself is given no relay session that differs between
// scenarios, unless a hook tells it.
func TestGivesSession(t *testing.T) {
	for _, r := range []struct {
		listen, hook, session string
		want                  bool
	}{
		{"127.0.0.1:8080", "", "x-{nonce}", false},
		{"127.0.0.1:8080", "", "x", true},
		{"127.0.0.1:8080", "./ask.sh", "x-{nonce}", true},
		{"", "", "x-{nonce}", true},
		{"", "./ask.sh", vocab.DefaultSession, false},
	} {
		within(t, vocab.Agent, "", func(s *suite) error {
			s.Env.Profile.Hooks.Call = r.hook
			s.wire.Agent.Listen, s.wire.Session = r.listen, r.session
			if got := s.givesSession(); got != r.want {
				t.Errorf("%+v: %v", r, got)
			}
			return nil
		})
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
