package orchestrator

import (
	"cmp"
	"fmt"
	"reflect"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	proto "parley/protocol/sessionruntime"
)

// judge observes a machine from outside: it records what was sent and published, and checks it.
type judge struct {
	t      *rapid.T
	m      *Machine
	now    time.Time
	active string
	agents map[string]bool
	turns  map[string]*judged
	ids    map[string]bool
	last   proto.Message
	sent   int
}

// judged is what the judge knows about a turn.
type judged struct {
	agent                                string
	accepted, routed, timedOut, canceled int
	cancels, acks                        int
	ended                                bool
}

func newJudge(t *rapid.T) *judge {
	j := &judge{
		t: t, now: time.Unix(0, 0), active: "a", agents: map[string]bool{"a": true, "b": true, "c": true},
		turns: map[string]*judged{}, ids: map[string]bool{},
	}
	j.m = New(Options{
		SessionID: "s", Agents: []string{"a", "b", "c"}, Active: "a", InputAck: 10 * time.Second, CancelAck: 5 * time.Second,
		Now: func() time.Time { return j.now }, Limits: Limits{Turns: 8, Transactions: 6},
	})
	return j
}

func (j *judge) turn(id any) *judged {
	s, _ := id.(string)
	if j.turns[s] == nil {
		j.turns[s] = &judged{}
	}
	return j.turns[s]
}

// send delivers a message and judges everything published in response.
func (j *judge) send(msg proto.Message) {
	j.sent++
	msg.ID, msg.SessionID, msg.Target = fmt.Sprint(j.sent), "s", cmp.Or(msg.Target, proto.ToSystem)
	j.last = msg
	out := j.m.OnMessage(msg)
	j.all(msg, out)
	if msg.Event == proto.UserInput && msg.Target == proto.ToSystem {
		j.input(out)
	}
}

// input requires an input to be either accepted and routed, or refused.
func (j *judge) input(out []proto.Message) {
	count := map[string]int{}
	for _, msg := range out {
		count[cmp.Or(msg.Subtype, msg.Event)]++
		if msg.Event == proto.Error {
			count[proto.Error]++
		}
	}
	if r, a, e := count[proto.UserInput], count[proto.TurnAccepted], count[proto.Error]; (r != 1 || a != 1 || e != 0) &&
		(r != 0 || a != 0 || e != 1) {
		j.t.Fatalf("an input gave %q", lines(out))
	}
}

func (j *judge) all(in proto.Message, out []proto.Message) {
	if in.Event != "" {
		j.ack(in)
	}
	for _, msg := range out {
		if j.ids[msg.ID] || msg.Sender != proto.FromSession || msg.SessionID != "s" {
			j.t.Fatalf("envelope: %+v", msg)
		}
		j.ids[msg.ID] = true
		j.one(in, msg)
	}
	j.state()
}

// ack counts possible acks of a turn's own agent, before the machine's answer.
func (j *judge) ack(in proto.Message) {
	if in.Subtype != proto.CancelAck && in.Subtype != proto.StreamStopped {
		return
	}
	named := memberText(in, proto.TurnID)
	for id, t := range j.turns {
		if (named == "" || named == id) && in.Sender == t.agent && t.cancels > t.acks {
			t.acks++
		}
	}
}

func (j *judge) one(in, msg proto.Message) {
	t := j.turn(msg.Metadata[proto.TurnID])
	switch kind := cmp.Or(msg.Subtype, msg.Event); kind {
	case proto.UserInput:
		t.routed++
		t.agent = msg.TargetID
		j.must(t.routed == 1, in, msg)
	case proto.TurnAccepted:
		t.accepted++
		j.must(t.accepted == 1 && payloadOf(msg)["target_agent"] == t.agent, in, msg)
	case proto.AgentOutput:
		j.must(in.Event == proto.AgentOutput && in.Sender == t.agent && !t.ended &&
			reflect.DeepEqual(in.Payload, msg.Payload) &&
			reflect.DeepEqual(in.Metadata, msg.Metadata), in, msg)
		t.ended = IsFinal(msg)
	case proto.RouteTimeout:
		t.timedOut++
		t.ended = true
		j.must(t.timedOut == 1 && in.Event == "", in, msg)
	case proto.Cancel:
		t.cancels++
		j.must(msg.TargetID == t.agent && !t.ended, in, msg)
	case proto.Canceled:
		t.canceled++
		t.ended = true
		j.must(t.canceled == 1 && t.canceled <= t.acks && in.Sender == t.agent, in, msg)
	case "FAIL": // of an agent, forwarded
		t.ended = t.ended || in.Sender == t.agent
	case proto.CancelTimeout:
		j.must(in.Event == "", in, msg)
	default:
		j.other(kind, in, msg)
	}
}

func (j *judge) other(kind string, in, msg proto.Message) {
	payload := payloadOf(msg)
	agent, _ := payload["agent_id"].(string)
	switch kind {
	case proto.SwitchAgent:
		to, _ := payload["to"].(string)
		j.must(payload["from"] == orNull(j.active) && to != j.active && payload["trigger"] != "", in, msg)
		j.active = to
	case proto.RequestRemoveAgent:
		j.must(j.agents[agent], in, msg)
		for _, id := range j.m.Speaking() {
			j.must(j.turns[id].agent != agent, in, msg)
		}
		delete(j.agents, agent)
	case proto.RequestSessionClose:
		j.must(len(j.m.Speaking()) == 0, in, msg)
	case proto.AgentAdded:
		j.must(in.Subtype == proto.AddAgentDone, in, msg)
		j.agents[agent] = true
	case proto.AgentRemoved:
		j.must(in.Subtype == proto.RemoveAgentDone, in, msg)
	case proto.HandoverContext:
		j.must(in.Subtype == proto.HandoverConfirm && j.active == msg.TargetID, in, msg)
	}
}

func (j *judge) must(ok bool, in, msg proto.Message) {
	if !ok {
		j.t.Fatalf("upon %+v\npublished %+v\nturns: %+v", in, msg, j.turns)
	}
}

// state compares the machine's reported state with what it published.
func (j *judge) state() {
	agents := j.m.Agents()
	if len(agents) != len(j.agents) || slices.ContainsFunc(agents, func(id string) bool { return !j.agents[id] }) ||
		j.m.Active() != j.active {
		j.t.Fatalf("agents %v, active %q; told were %v, %q", agents, j.m.Active(), j.agents, j.active)
	}
	timed := false
	for _, t := range j.m.Turns() {
		timed = timed || t.Waiting != ""
		if t.Waiting == "" && !t.Status.InFlight() || t.Status == Routing && t.Waiting == "" || t.Speaking &&
			t.Status != Running {
			j.t.Fatalf("turn %+v", t)
		}
	}
	if _, due := j.m.Due(); due != timed {
		j.t.Fatalf("due is %v", due)
	}
}

// Whatever the parties send, in any order, the machine does not fail and its output is consistent.
func TestRandomSequences(t *testing.T) {
	one := func(t *rapid.T, of ...string) string { return rapid.SampledFrom(of).Draw(t, "word") }
	agent := func(t *rapid.T) string { return one(t, "a", "b", "c", "d", "x", "") }
	turn := func(t *rapid.T) string { return one(t, "t1", "t2", "t3", "t4", "t5", "t6", "") }
	tx := func(t *rapid.T) string { return one(t, "x1", "x2", "x3", "") }
	rapid.Check(t, func(t *rapid.T) {
		j := newJudge(t)
		t.Repeat(map[string]func(*rapid.T){
			"input":    func(t *rapid.T) { j.send(byFrontend(one(t, "input", "mention"), turn(t), agent(t))) },
			"cancel":   func(t *rapid.T) { j.send(byFrontend(one(t, "cancel", "interrupt"), turn(t), "")) },
			"frontend": func(t *rapid.T) { j.send(byFrontend(one(t, "switch", "remove", "invite"), agent(t), tx(t))) },
			"session":  func(t *rapid.T) { j.send(byFrontend(one(t, "open", "close", "confirm", "reject", "what"), tx(t), "")) },
			"speak": func(t *rapid.T) {
				msg := byAgent(agent(t), one(t, "ack", "chunk", "chunk", "final", "stop", "stream", "what"), turn(t), "text")
				msg.Target = one(t, "SYSTEM", "BROADCAST", "FRONTEND")
				j.send(msg)
			},
			"error": func(t *rapid.T) {
				msg := byAgent(agent(t), "error", turn(t), "")
				msg.Subtype = "FAIL"
				j.send(msg)
			},
			"handover": func(t *rapid.T) { j.send(byAgent(agent(t), "handover", turn(t), agent(t))) },
			"receipt": func(t *rapid.T) {
				subtype := one(t, "ADD_AGENT_DONE", "ADD_AGENT_FAILED", "REMOVE_AGENT_DONE", "REMOVE_AGENT_FAILED",
					"SESSION_OPENED", "SESSION_CLOSED", "SESSION_FAILED")
				j.send(proto.Message{Event: "CONTROL", Subtype: subtype, Sender: "session_manager",
					Payload: some("agent_id", agent(t)), Metadata: some("tx_id", tx(t))})
			},
			"again": func(t *rapid.T) {
				if out := j.m.OnMessage(j.last); j.last.Target == proto.ToSystem && len(out) > 0 && j.last.ID != "" &&
					j.last.Sender != "" {
					t.Fatalf("the same message twice: %q", lines(out))
				}
			},
			"time": func(t *rapid.T) {
				j.now = j.now.Add(time.Duration(rapid.IntRange(1, 12_000).Draw(t, "ms")) * time.Millisecond)
				j.all(proto.Message{}, j.m.Tick(j.now))
			},
		})
	})
}

// Messages of any form, from any sender, cause no failure.
func TestRandomMessages(t *testing.T) {
	words := rapid.SampledFrom([]any{
		nil, "", "a", "b", "t1", "x1", "frontend", "session", "session_manager", "SYSTEM", "BROADCAST", "MENTION", "@b x",
		7.0, true,
		[]any{"a"}, object{}, object{"agent_id": "b"}, object{"final": true}, object{"is_chunk": true},
		object{"agent_spec": nil},
	})
	members := rapid.SampledFrom([]string{
		"trace_id", "turn_id", "tx_id", "subtype", "stream", "agent_id", "to", "target_agent_id", "mentioned_agent_id",
		"selected_agent_id", "agent_spec", "reason", "user_id",
	})
	events := rapid.SampledFrom([]string{"USER_INPUT", "AGENT_OUTPUT", "CONTROL", "EVENT", "ERROR", ""})
	senders := rapid.SampledFrom([]string{"frontend", "frontend", "session_manager", "session", "logger", "a", "b", "x",
		""})
	subtypes := rapid.SampledFrom([]string{
		"", "MENTION", "CANCEL", "INTERRUPT", "SWITCH_AGENT", "INVITE_AGENT", "REMOVE_AGENT", "HANDOVER_CONFIRM",
		"HANDOVER_REJECT", "SESSION_OPEN",
		"SESSION_CLOSE", "INPUT_ACK", "CANCEL_ACK", "HANDOVER_REQUEST", "STREAM_STOPPED", "ADD_AGENT_DONE",
		"ADD_AGENT_FAILED", "REMOVE_AGENT_DONE",
		"SESSION_OPENED", "SESSION_FAILED", "X",
	})
	objects := rapid.MapOfN(members, words, 0, 4)
	rapid.Check(t, func(t *rapid.T) {
		now := time.Unix(0, 0)
		m := New(Options{SessionID: "s", Agents: []string{"a", "b"}, Active: "a", Now: func() time.Time { return now }})
		for range rapid.IntRange(1, 30).Draw(t, "messages") {
			msg := proto.Message{
				ID: rapid.SampledFrom([]string{"", "1", "2", "3"}).Draw(t, "id"), SessionID: "s",
				Event: events.Draw(t, "event"), Subtype: subtypes.Draw(t, "subtype"), Sender: senders.Draw(t, "sender"),
				Target:  "SYSTEM",
				Payload: words.Draw(t, "payload"), Metadata: objects.Draw(t, "metadata"),
			}
			if rapid.Bool().Draw(t, "object") {
				msg.Payload = objects.Draw(t, "payload")
			}
			errors := 0
			for _, out := range m.OnMessage(msg) {
				if out.Event == proto.Error {
					errors++
				}
			}
			if errors > 1 {
				t.Fatalf("%d errors upon %+v", errors, msg)
			}
			now = now.Add(time.Duration(rapid.IntRange(0, 9).Draw(t, "s")) * time.Second)
			m.Tick(now)
		}
	})
}
