package orchestrator

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	gocmp "github.com/google/go-cmp/cmp"

	proto "parley/protocol/sessionruntime"
)

// ackLimit is how long the test machines wait for an ack, in virtual time.
const ackLimit = 10 * time.Second

// stage is a machine and its parties, in virtual time.
type stage struct {
	t    testing.TB
	m    *Machine
	n    int
	last proto.Message   // the last message sent
	out  []proto.Message // the messages published in response
}

func newStage(t testing.TB, o Options) *stage {
	o.SessionID = cmp.Or(o.SessionID, "s")
	if o.Agents == nil {
		o.Agents, o.Active = []string{"a", "b", "c"}, "a"
	}
	o.InputAck, o.CancelAck = cmp.Or(o.InputAck, ackLimit), cmp.Or(o.CancelAck, ackLimit)
	if err := o.Validate(); err != nil {
		t.Fatal(err)
	}
	return &stage{t: t, m: New(o)}
}

// message fills in the fields that do not matter to the test.
func (s *stage) message(msg proto.Message) proto.Message {
	s.n++
	msg.ID, msg.SessionID = cmp.Or(msg.ID, fmt.Sprint("in-", s.n)), cmp.Or(msg.SessionID, "s")
	msg.Target = cmp.Or(msg.Target, proto.ToSystem)
	return msg
}

func (s *stage) send(msg proto.Message) []proto.Message {
	s.last = s.message(msg)
	s.out = s.m.OnMessage(s.last)
	return s.out
}

// pass advances virtual time. Timeouts fire when they are due.
func (s *stage) pass(d time.Duration) (out []proto.Message) {
	end := time.Now().Add(d)
	for {
		at, ok := s.m.Due()
		if !ok || at.After(end) {
			<-time.After(time.Until(end))
			return append(out, s.m.Tick(time.Now())...)
		}
		<-time.After(time.Until(at))
		out = append(out, s.m.Tick(time.Now())...)
	}
}

// play executes a script. A line "> party verb arguments" is an action; the lines "< …" after it are everything
// published in response, in order.
//
//	> ui input T text       > ui mention T agent     > ui cancel T          > ui interrupt T    > ui switch agent
//	> ui remove agent TX    > ui invite agent TX     > ui open TX           > ui close TX
//	> ui confirm TX         > ui reject TX           > sm <RECEIPT> agent TX
//	> a ack T     > a chunk T text    > a final T text    > a stop T      > a stream T (STREAM_STOPPED)
//	> a error T   > a handover T agent               > time <duration>
//	> again (the last message)     > broadcast T (an input)     > echo agent (a SWITCH_AGENT of its own)
//
// T is a turn_id, TX a tx_id; "-" or nothing is none.
func (s *stage) play(script string) {
	s.t.Helper()
	var action string
	var want, got []string
	check := func() {
		s.t.Helper()
		if diff := gocmp.Diff(want, got); action != "" && diff != "" {
			s.t.Errorf("%s: published (-want +got):\n%s", action, diff)
		}
	}
	for line := range strings.Lines(script) {
		switch line = strings.TrimSpace(line); {
		case strings.HasPrefix(line, "> "):
			check()
			action, want, got = line, nil, nil
			for _, msg := range s.act(strings.Fields(line)[1:]) {
				got = append(got, describe(msg))
			}
		case strings.HasPrefix(line, "< "):
			want = append(want, line[2:])
		case line != "":
			s.t.Fatalf("no line of a script: %s", line)
		}
	}
	check()
}

func (s *stage) act(words []string) []proto.Message {
	words = append(words, "", "", "", "")
	for i, w := range words {
		if w == "-" {
			words[i] = ""
		}
	}
	who, verb, arg, more := words[0], words[1], words[2], strings.TrimSpace(strings.Join(words[3:], " "))
	switch who {
	case "time":
		d, err := time.ParseDuration(verb)
		if err != nil {
			s.t.Fatal(err)
		}
		return s.pass(d)
	case "again":
		return s.send(s.last)
	case "broadcast":
		return s.send(proto.Message{Event: proto.UserInput, Sender: proto.FromFrontend, Target: proto.ToBroadcast,
			Metadata: some(proto.TurnID, verb)})
	case "echo":
		return s.send(proto.Message{Event: proto.Control, Subtype: proto.SwitchAgent, Sender: proto.FromSession,
			Payload: object{"to": verb}})
	case "routed": // the payload of the last USER_INPUT
		return []proto.Message{{Target: proto.ToAgent, Event: fmt.Sprintf("%T", only(s.t, s.out, proto.UserInput).Payload)}}
	case "ui":
		return s.send(byFrontend(verb, arg, more))
	case "sm":
		return s.send(proto.Message{Event: proto.Control, Subtype: verb, Sender: proto.FromManager,
			Payload: some("agent_id", arg), Metadata: some(proto.TxID, more)})
	}
	return s.send(byAgent(who, verb, arg, more))
}

func some(name, v string) object {
	if v == "" {
		return object{}
	}
	return object{name: v}
}

func byFrontend(verb, arg, more string) proto.Message {
	msg := proto.Message{Event: proto.Control, Sender: proto.FromFrontend}
	switch verb {
	case "input":
		msg.Event, msg.Payload, msg.Metadata = proto.UserInput, more, some(proto.TurnID, arg)
	case "mention":
		msg.Event, msg.Payload, msg.Metadata = proto.UserInput, object{"text": "x", "mentioned_agent_id": more},
			some(proto.TurnID, arg)
	case "cancel", "interrupt":
		msg.Subtype, msg.Metadata = strings.ToUpper(verb), some(proto.TurnID, arg)
	case "switch":
		msg.Subtype, msg.Payload = proto.SwitchAgent, object{"to": arg}
	case "remove":
		msg.Subtype, msg.Payload, msg.Metadata = proto.RemoveAgent, object{"agent_id": arg}, some(proto.TxID, more)
	case "invite":
		msg.Subtype, msg.Payload, msg.Metadata = proto.InviteAgent, object{"agent_spec": object{"agent_id": arg}},
			some(proto.TxID, more)
	case "open", "close":
		msg.Subtype, msg.Metadata = "SESSION_"+strings.ToUpper(verb), some(proto.TxID, arg)
	case "confirm", "reject":
		msg.Subtype, msg.Metadata = "HANDOVER_"+strings.ToUpper(verb), some(proto.TxID, arg)
	default:
		msg.Subtype = verb
	}
	return msg
}

func byAgent(who, verb, arg, more string) proto.Message {
	msg := proto.Message{Event: proto.Control, Sender: who, Metadata: some(proto.TurnID, arg)}
	switch verb {
	case "ack":
		msg.Subtype = proto.InputAck
	case "stop":
		msg.Subtype = proto.CancelAck
	case "stream":
		msg.Event, msg.Subtype = proto.Event, proto.StreamStopped
	case "chunk", "final":
		msg.Event, msg.Payload = proto.AgentOutput, more
		msg.Metadata[proto.Stream] = object{proto.IsChunk: verb == "chunk", proto.Final: verb == "final"}
	case "error":
		msg.Event, msg.Subtype, msg.Payload = proto.Error, "MODEL", object{"text": "x"}
	case "handover":
		msg.Subtype, msg.Payload = proto.HandoverRequest, object{"target_agent_id": more, "reason": "r", "summary": "s"}
	default:
		msg.Subtype = verb
	}
	return msg
}

// describe formats a message as one line: receiver, event or subtype, and the relevant content.
func describe(msg proto.Message) string {
	to := map[string]string{proto.ToFrontend: "ui", proto.ToSystem: "sm", proto.ToAgent: msg.TargetID}[msg.Target]
	payload := payloadOf(msg)
	words := []string{to, cmp.Or(msg.Subtype, msg.Event)}
	add := func(values ...any) {
		for _, v := range values {
			if v != nil && v != "" {
				words = append(words, fmt.Sprint(v))
			}
		}
	}
	switch {
	case msg.Event == proto.AgentOutput || msg.Event == proto.UserInput:
		words[1] = msg.Event
		add(msg.Metadata[proto.TurnID], msg.Payload)
		if msg.Event == proto.UserInput {
			words = words[:min(3, len(words))]
		}
	case msg.Subtype == proto.SwitchAgent:
		add(cmpNull(payload["from"]), cmpNull(payload["to"]), payload["trigger"])
	case msg.Subtype == proto.TurnAccepted:
		add(payload["turn_id"], payload["target_agent"])
	case msg.Subtype == proto.HandoverUIPrompt || msg.Subtype == proto.HandoverContext:
		add(payload["from_agent"], payload["target_agent"], payload["last_output"])
	default:
		add(msg.Metadata[proto.TurnID], payload["agent_id"])
		if status := payload["status"]; status != string(Canceled) {
			add(status)
		}
	}
	if msg.Event == proto.Error {
		words[1] = "ERROR " + words[1]
	}
	return strings.Join(words, " ")
}

func cmpNull(v any) any {
	if v == nil {
		return "null"
	}
	return v
}

// script is a case of a table.
type script struct {
	name  string
	lines string
	o     Options
}

func playAll(t *testing.T, all []script) {
	for _, c := range all {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) { newStage(t, c.o).play(c.lines) })
		})
	}
}

// lines describes published messages.
func lines(msgs []proto.Message) []string {
	all := []string{}
	for _, msg := range msgs {
		all = append(all, describe(msg))
	}
	return all
}

// only requires exactly one message of the subtype or event, and returns it.
func only(t testing.TB, msgs []proto.Message, kind string) proto.Message {
	t.Helper()
	i := slices.IndexFunc(msgs, func(msg proto.Message) bool { return cmp.Or(msg.Subtype, msg.Event) == kind })
	if i < 0 {
		t.Fatalf("no %s among %q", kind, lines(msgs))
	}
	return msgs[i]
}
