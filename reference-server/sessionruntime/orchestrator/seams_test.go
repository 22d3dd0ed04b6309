package orchestrator

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"

	proto "parley/protocol/sessionruntime"
)

// fault is an orchestrator with one fault and its symptom: the messages published about the last action of a script.
// want lists them for the faulty orchestrator; the correct one publishes something else.
type fault struct {
	name   string
	spoil  func(o *Options)
	script string // only actions
	want   string // lines of the last action, separated by "; "
}

func deciding(r Policy) func(*Options) { return func(o *Options) { o.Policy = r } }

func telling(f Outbound) func(*Options) { return func(o *Options) { o.Outbound = f } }

func taking(f Inbound) func(*Options) { return func(o *Options) { o.Inbound = f } }

// perform executes the actions of a script and returns what the last one published.
func perform(t *testing.T, o Options, script string) (last string) {
	s := newStage(t, o)
	for line := range strings.Lines(script) {
		if words := strings.Fields(line); len(words) > 1 && words[0] == ">" {
			last = strings.Join(lines(s.act(words[1:])), "; ")
		}
	}
	return last
}

// A realistic fault is a small wrapper around the correct machine.
func TestSeams(t *testing.T) {
	for _, f := range slices.Concat(inputFaults, cancelFaults, agentFaults, messageFaults) {
		t.Run(f.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				if got := perform(t, Options{}, f.script); got == f.want {
					t.Error("the correct machine has the fault")
				}
				var o Options
				f.spoil(&o)
				if got := perform(t, o, f.script); got != f.want {
					t.Errorf("the fault does not show: got  %s\nwant %s", got, f.want)
				}
			})
		})
	}
}

// without removes steps from a program.
func without(program []Step, some ...Step) []Step {
	return slices.DeleteFunc(program, func(s Step) bool { return slices.Contains(some, s) })
}

// order gives transactions of a kind another program.
func order(kind string, program ...Step) func(*Options) {
	return deciding(Policy{Begin: func(v View, tx Transaction) []Step {
		if tx.Kind == kind {
			return program
		}
		return Correct.Begin(v, tx)
	}})
}

// upon gives answers of a subtype another program.
func upon(subtype string, program ...Step) func(*Options) {
	return deciding(Policy{Answered: func(v View, tx Transaction, msg proto.Message) []Step {
		if Subtype(msg) == subtype {
			return program
		}
		return Correct.Answered(v, tx, msg)
	}})
}

var inputFaults = []fault{
	{"TURN_ACCEPTED is missing", deciding(Policy{Input: func(View, Turn, bool) []Step { return []Step{Route} }}),
		`> ui input t1`, "a USER_INPUT t1"},
	{"TURN_ACCEPTED comes twice",
		deciding(Policy{Input: func(View, Turn, bool) []Step { return []Step{Route, Accept, Accept} }}),
		`> ui input t1`, "a USER_INPUT t1; ui TURN_ACCEPTED t1 a; ui TURN_ACCEPTED t1 a"},
	{"TURN_ACCEPTED comes with the ack", deciding(Policy{
		Input: func(View, Turn, bool) []Step { return []Step{Route} },
		Acked: func(View, Turn) []Step { return []Step{Start, Accept, TellStarted} },
	}), "> ui input t1\n> a ack t1", "ui TURN_ACCEPTED t1 a; ui AGENT_STARTED t1 a"},
	{"no timeout", deciding(Policy{RouteTimeout: func(View, Turn) []Step { return nil }}),
		"> ui input t1\n> time 1h", ""},
	{"timeout twice",
		deciding(Policy{RouteTimeout: func(View, Turn) []Step { return []Step{Fail, TellRouteTimeout, TellRouteTimeout} }}),
		"> ui input t1\n> time 1h", "ui ERROR ROUTE_TIMEOUT t1 a; ui ERROR ROUTE_TIMEOUT t1 a"},
	{"timeout although acked", deciding(Policy{Acks: func(View, Turn, proto.Message) bool { return false }}),
		"> ui input t1\n> a ack t1\n> time 1h", "ui ERROR ROUTE_TIMEOUT t1 a"},
	{"the turn does not fail", deciding(Policy{RouteTimeout: func(View, Turn) []Step { return []Step{TellRouteTimeout} }}),
		"> ui input t1\n> time 1h\n> a final t1 x", "ui AGENT_STARTED t1 a; ui AGENT_OUTPUT t1 x"},
	{"takes the ack of any agent",
		deciding(Policy{Acks: func(_ View, t Turn, _ proto.Message) bool { return t.Status == Routing }}),
		"> ui input t1\n> b ack t1", "ui AGENT_STARTED t1 a"},
	{"input goes to the first agent",
		deciding(Policy{Target: func(v View, _ proto.Message, _ string) string { return v.Agents()[0] }}),
		"> ui switch b\n> ui input t1", "a USER_INPUT t1; ui TURN_ACCEPTED t1 a"},
	{"given ids are not kept", deciding(Policy{IDs: func(View, proto.Message) (string, string) { return "mine", "mine" }}),
		`> ui input t1`, "a USER_INPUT mine; ui TURN_ACCEPTED mine a"},
	{"mentions are ignored", deciding(Policy{Mention: func(View, proto.Message) (string, bool) { return "", false }}),
		`> ui mention t1 b`, "a USER_INPUT t1; ui TURN_ACCEPTED t1 a"},
	{"a mention does not switch", deciding(Policy{Input: func(View, Turn, bool) []Step { return []Step{Route, Accept} }}),
		"> ui mention t1 b\n> ui input t2", "a USER_INPUT t2; ui TURN_ACCEPTED t2 a"},
	{"a mention switches silently",
		deciding(Policy{Input: func(View, Turn, bool) []Step { return []Step{Activate, Route, Accept} }}),
		`> ui mention t1 b`, "b USER_INPUT t1; ui TURN_ACCEPTED t1 b"},
	{"a mention switches too late",
		deciding(Policy{Input: func(View, Turn, bool) []Step { return []Step{Route, Accept, Activate, TellSwitch} }}),
		`> ui mention t1 b`, "b USER_INPUT t1; ui TURN_ACCEPTED t1 b; sm SWITCH_AGENT a b MENTION"},
	{"the switch is published twice", deciding(Policy{Input: func(View, Turn, bool) []Step {
		return []Step{Activate, TellSwitch, TellSwitch, Route, Accept}
	}}),
		`> ui mention t1 b`,
		"sm SWITCH_AGENT a b MENTION; sm SWITCH_AGENT a b MENTION; b USER_INPUT t1; ui TURN_ACCEPTED t1 b"},
	{"routes to absent agents", deciding(Policy{Member: func(View, string) *Refusal { return nil }}),
		`> ui mention t1 x`, "sm SWITCH_AGENT a x MENTION; x USER_INPUT t1; ui TURN_ACCEPTED t1 x"},
	{"output is not checked", deciding(Policy{Output: func(View, Turn, proto.Message) []Step { return []Step{Forward} }}),
		`> x chunk t9 one`, "ui AGENT_OUTPUT t9 one"},
	{"output of another agent passes", deciding(Policy{Output: func(v View, t Turn, msg proto.Message) []Step {
		msg.Sender = t.Agent
		return Correct.Output(v, t, msg)
	}}), "> ui input t1\n> b final t1 one\n> a final t1 two", "ui ERROR UNEXPECTED_OUTPUT t1 a"},
	{"output of finished turns passes", deciding(Policy{Output: func(v View, t Turn, msg proto.Message) []Step {
		if t.Status == Completed {
			return []Step{Speak, Forward}
		}
		return Correct.Output(v, t, msg)
	}}), "> ui input t1\n> a final t1 x\n> a chunk t1 y", "ui AGENT_OUTPUT t1 y"},
	{"a final does not complete", deciding(Policy{Output: func(v View, t Turn, msg proto.Message) []Step {
		return without(Correct.Output(v, t, msg), Complete)
	}}), "> ui input t1\n> a final t1 x\n> a final t1 y", "ui AGENT_OUTPUT t1 y"},
	{"an error fails nothing", deciding(Policy{Error: func(View, Turn, proto.Message) []Step { return []Step{Forward} }}),
		"> ui input t1\n> a error t1\n> time 1h", "ui ERROR ROUTE_TIMEOUT t1 a"},
	{"errors are suppressed", deciding(Policy{Error: func(View, Turn, proto.Message) []Step { return []Step{Fail} }}),
		"> ui input t1\n> a error t1", ""},
}

// heSpeaks makes turn t1 of a speak.
const heSpeaks = "> ui input t1\n> a chunk t1 one\n"

var cancelFaults = []fault{
	{"canceled without an ack",
		deciding(Policy{Canceling: func(View, Turn) []Step { return []Step{Interrupt, Cancel, TellCanceled} }}),
		heSpeaks + `> ui cancel`, "a CANCEL t1 a; ui CANCEL_SENT t1 a; ui CANCELED t1 a"},
	{"canceled by the timeout",
		deciding(Policy{CancelTimeout: func(View, Turn) []Step { return []Step{Cancel, TellCanceled, Resume} }}),
		heSpeaks + "> ui remove b\n> ui cancel\n> time 10s", "ui CANCELED t1 a"},
	{"removed after the timeout",
		deciding(Policy{CancelTimeout: func(View, Turn) []Step { return []Step{TellCancelTimeout, Cancel, Resume} }}),
		heSpeaks + "> ui remove a\n> time 10s",
		"ui ERROR CANCEL_TIMEOUT t1 a; ui AGENT_REMOVING a; sm REQUEST_REMOVE_AGENT a; sm SWITCH_AGENT a b REMOVE_AGENT"},
	{"STREAM_STOPPED is ignored", deciding(Policy{Stops: func(v View, t Turn, msg proto.Message) bool {
		return Subtype(msg) == proto.CancelAck && Correct.Stops(v, t, msg)
	}}), heSpeaks + "> ui cancel\n> a stream t1", ""},
	{"takes the CANCEL_ACK of any agent",
		deciding(Policy{Stops: func(_ View, t Turn, _ proto.Message) bool { return t.CancelSent }}),
		heSpeaks + "> ui cancel\n> b stop t1", "ui CANCELED t1 a"},
	{"INTERRUPT is ignored", taking(func(_ View, msg proto.Message) []proto.Message {
		if msg.Subtype == proto.Interrupt {
			return nil
		}
		return []proto.Message{msg}
	}), heSpeaks + `> ui interrupt`, ""},
	{"CANCEL goes to the active agent", deciding(Policy{Cancels: func(v View, _ proto.Message) (ids []string) {
		for _, t := range v.Turns() {
			if t.Agent == v.Active() {
				ids = append(ids, t.ID)
			}
		}
		return ids
	}}), heSpeaks + "> ui mention t2 b\n> ui cancel", "b CANCEL t2 b; ui CANCEL_SENT t2 b"},
	{"output passes after the ack", deciding(Policy{Output: func(v View, t Turn, msg proto.Message) []Step {
		if t.Status == Canceled {
			return []Step{Forward}
		}
		return Correct.Output(v, t, msg)
	}}), heSpeaks + "> ui cancel\n> a stop t1\n> a chunk t1 two", "ui AGENT_OUTPUT t1 two"},
	{"a removal does not wait", order(proto.RemoveAgent, Interrupt, TellBegun, Request, Unbind, FallBack),
		heSpeaks + `> ui remove a`,
		"a CANCEL t1 a; ui CANCEL_SENT t1 a; ui AGENT_REMOVING a; sm REQUEST_REMOVE_AGENT a; sm SWITCH_AGENT a b " +
			"REMOVE_AGENT"},
	{"a removal cancels too late", order(proto.RemoveAgent, Request, Unbind, FallBack, Interrupt),
		heSpeaks + `> ui remove a`,
		"sm REQUEST_REMOVE_AGENT a; sm SWITCH_AGENT a b REMOVE_AGENT; a CANCEL t1 a; ui CANCEL_SENT t1 a"},
	{"a removal does not cancel", order(proto.RemoveAgent, Await, Request, Unbind, FallBack),
		heSpeaks + `> ui remove a`, "sm REQUEST_REMOVE_AGENT a; sm SWITCH_AGENT a b REMOVE_AGENT"},
	{"a close does not wait", order(proto.SessionClose, Interrupt, Request),
		heSpeaks + `> ui close`, "a CANCEL t1 a; ui CANCEL_SENT t1 a; sm REQUEST_SESSION_CLOSE"},
	{"a close does not cancel", order(proto.SessionClose, Request), heSpeaks + `> ui close`, "sm REQUEST_SESSION_CLOSE"},
}

var agentFaults = []fault{
	{"the removed agent stays active", deciding(Policy{Fallback: func(_ View, removed string) string { return removed }}),
		`> ui remove a`, "ui AGENT_REMOVING a; sm REQUEST_REMOVE_AGENT a"},
	{"no fallback", order(proto.RemoveAgent, Request, Unbind), `> ui remove a`, "sm REQUEST_REMOVE_AGENT a"},
	{"the removed agent stays in the session", order(proto.RemoveAgent, Request, FallBack),
		"> ui remove b\n> ui switch b", "sm SWITCH_AGENT a b SWITCH_AGENT"},
	{"removed is published before DONE", order(proto.RemoveAgent, Request, Unbind, TellDone), `> ui remove b`,
		"sm REQUEST_REMOVE_AGENT b; ui AGENT_REMOVED b"},
	{"REMOVE_AGENT_DONE is ignored", upon(proto.RemoveAgentDone), "> ui remove b\n> sm REMOVE_AGENT_DONE b", ""},
	{"REMOVE_AGENT_FAILED is taken for DONE", upon(proto.RemoveAgentFailed, TellDone),
		"> ui remove b\n> sm REMOVE_AGENT_FAILED b", "ui AGENT_REMOVED b"},
	{"a failed removal is rolled back", upon(proto.RemoveAgentFailed, Register, TellFailed),
		"> ui remove b\n> sm REMOVE_AGENT_FAILED b\n> ui switch b", "sm SWITCH_AGENT a b SWITCH_AGENT"},
	{"ADD_AGENT_DONE does not register", upon(proto.AddAgentDone, TellDone),
		"> ui invite d\n> sm ADD_AGENT_DONE d\n> ui switch d", "ui ERROR AGENT_NOT_IN_SESSION"},
	{"registered before DONE", order(proto.InviteAgent, Register, Request), "> ui invite d\n> ui switch d",
		"sm SWITCH_AGENT a d SWITCH_AGENT"},
	{"ADD_AGENT_FAILED is ignored", upon(proto.AddAgentFailed), "> ui invite d\n> sm ADD_AGENT_FAILED d", ""},
	{"ADD_AGENT_FAILED registers", upon(proto.AddAgentFailed, Register, TellFailed),
		"> ui invite d\n> sm ADD_AGENT_FAILED d\n> ui switch d", "sm SWITCH_AGENT a d SWITCH_AGENT"},
	{"the new agent is active", upon(proto.AddAgentDone, Register, Activate, TellSwitch, TellDone),
		"> ui invite d\n> sm ADD_AGENT_DONE d", "sm SWITCH_AGENT a d ADD_AGENT_DONE; ui AGENT_ADDED d"},
	{"a handover switches before it is confirmed", order(proto.HandoverRequest, Prompt, Activate, TellSwitch, GiveContext),
		`> a handover - b`, "ui HANDOVER_UI_PROMPT a b []; sm SWITCH_AGENT a b HANDOVER_REQUEST; b HANDOVER_CONTEXT a b []"},
	{"a handover switches on rejection", upon(proto.HandoverReject, Activate, TellSwitch, GiveContext),
		"> a handover - b\n> ui reject", "sm SWITCH_AGENT a b HANDOVER_REJECT; b HANDOVER_CONTEXT a b []"},
	{"a handover gives no context", upon(proto.HandoverConfirm, Activate, TellSwitch),
		"> a handover - b\n> ui confirm", "sm SWITCH_AGENT a b HANDOVER_CONFIRM"},
	{"a handover gives the context first", upon(proto.HandoverConfirm, GiveContext, Activate, TellSwitch),
		"> a handover - b\n> ui confirm", "b HANDOVER_CONTEXT a b []; sm SWITCH_AGENT a b HANDOVER_CONFIRM"},
	{"answers go to the last transaction",
		deciding(Policy{Correlate: func(_ View, _ proto.Message, open []Transaction) string { return open[len(open)-1].ID }}),
		"> ui remove b x1\n> ui remove c x2\n> sm REMOVE_AGENT_DONE b x1", "ui AGENT_REMOVED c"},
	{"a session that failed is opened", upon(proto.SessionFailed, TellDone), "> ui open\n> sm SESSION_FAILED",
		"ui SESSION_OPENED"},
	{"a session is opened at once", order(proto.SessionOpen, Request, TellDone), `> ui open`,
		"sm REQUEST_SESSION_OPEN; ui SESSION_OPENED"},
}

// rewriting changes the messages of a subtype or event.
func rewriting(kind string, f func(v View, msg *proto.Message)) func(*Options) {
	return telling(func(v View, msg proto.Message, send func(proto.Message)) {
		if cmp.Or(msg.Subtype, msg.Event) == kind {
			f(v, &msg)
		}
		send(msg)
	})
}

var messageFaults = []fault{
	{"a message is handled once for each subscription",
		deciding(Policy{Takes: func(v View, msg proto.Message, from Role, _ bool) bool {
			return Correct.Takes(v, msg, from, false)
		}}), "> ui input t1\n> again", "ui ERROR INVALID_MESSAGE"},
	{"broadcasts are handled", deciding(Policy{Takes: func(v View, msg proto.Message, from Role, again bool) bool {
		msg.Target = proto.ToSystem
		return Correct.Takes(v, msg, from, again)
	}}), `> broadcast t1`, "a USER_INPUT t1; ui TURN_ACCEPTED t1 a"},
	{"acts on its own echoes", deciding(Policy{
		Role: func(v View, msg proto.Message) Role {
			if msg.Sender == proto.FromSession {
				return Frontend
			}
			return Correct.Role(v, msg)
		},
		Takes: func(v View, _ proto.Message, _ Role, again bool) bool { return !again },
	}), `> echo b`, "sm SWITCH_AGENT a b SWITCH_AGENT"},
	{"payload becomes a string",
		rewriting(proto.UserInput, func(_ View, msg *proto.Message) { msg.Payload = fmt.Sprint(msg.Payload) }),
		"> ui mention t1 b\n> routed", " string"},
	{"metadata are lost", rewriting(proto.AgentOutput, func(_ View, msg *proto.Message) { msg.Metadata = object{} }),
		heSpeaks + `> a chunk t1 two`, "ui AGENT_OUTPUT two"},
	{"the switch lacks from", rewriting(proto.SwitchAgent, func(_ View, msg *proto.Message) {
		payload := cloneObject(payloadOf(*msg))
		delete(payload, "from")
		msg.Payload = payload
	}), `> ui switch b`, "sm SWITCH_AGENT null b SWITCH_AGENT"},
	{"input is sent to the wrong agent",
		rewriting(proto.UserInput, func(_ View, msg *proto.Message) { msg.TargetID = "c" }),
		`> ui input t1`, "c USER_INPUT t1; ui TURN_ACCEPTED t1 a"},
	{"the ids of the two messages differ", rewriting(proto.TurnAccepted, func(_ View, msg *proto.Message) {
		msg.Payload = withMembers(payloadOf(*msg), object{"turn_id": "t0"})
	}),
		`> ui input t1`, "a USER_INPUT t1; ui TURN_ACCEPTED t0 a"},
	{"TURN_ACCEPTED is held back", func(o *Options) {
		var held []proto.Message
		o.Outbound = func(_ View, msg proto.Message, send func(proto.Message)) {
			if msg.Subtype == proto.TurnAccepted {
				held = append(held, msg)
				return
			}
			send(msg)
			if msg.Subtype == proto.AgentStarted {
				for _, msg := range held {
					send(msg)
				}
			}
		}
	}, "> ui input t1\n> a ack t1", "ui AGENT_STARTED t1 a; ui TURN_ACCEPTED t1 a"},
	{"publishes a message of its own", taking(func(v View, msg proto.Message) []proto.Message {
		v.Send(v.New(proto.Event, "DEBUG", proto.ToFrontend, "", nil, IDs{Turn: "t0"}))
		return []proto.Message{msg}
	}), `> ui input t1`, "ui DEBUG t0; a USER_INPUT t1; ui TURN_ACCEPTED t1 a"},
	{"last output is that of any agent", rewriting(proto.HandoverContext, func(v View, msg *proto.Message) {
		msg.Payload = withMembers(payloadOf(*msg), object{"last_output": v.LastOutput(v.SpeakingAgent())})
	}), heSpeaks + "> b handover - c\n> ui confirm", "sm SWITCH_AGENT a c HANDOVER_CONFIRM; c HANDOVER_CONTEXT b c [one]"},
}

// The view shows the machine's state.
func TestView(t *testing.T) {
	var seen []string
	look := func(v View, msg proto.Message) []proto.Message {
		t1, known := v.Turn("t1")
		_, unknown := v.Turn("t9")
		var txs []string
		for _, tx := range v.Transactions() {
			txs = append(txs, tx.Kind+" "+tx.Agent)
		}
		seen = append(seen,
			fmt.Sprint(v.SessionID(), v.Active(), v.Default(), v.Agents(), v.Has("b"), v.Speaking(), v.Interruptible(),
				v.SpeakingAgent(),
				len(v.Turns()), known, unknown, t1.Status, t1.Waiting, t1.CancelSent, t1.Output, txs, v.LastOutput("a"),
				v.LastOutput("b"), v.Now().IsZero()))
		return []proto.Message{msg}
	}
	synctest.Test(t, func(t *testing.T) {
		perform(t, Options{Inbound: look}, heSpeaks+"> ui remove a\n> a stop t1\n> ui cancel")
	})
	want := []string{
		"s a a [a b c] true [] false  0 false false   false [] [] [] [] false",
		"s a a [a b c] true [] false  1 true false ROUTING INPUT_ACK false [] [] [] [] false",
		"s a a [a b c] true [t1] true a 1 true false RUNNING  false [one] [] [one] [] false",
		"s a a [a b c] true [t1] true a 1 true false RUNNING CANCEL_ACK true [one] [REMOVE_AGENT a] [one] [] false",
		"s b b [b c] true [] false  0 true false CANCELED  false [one] [REMOVE_AGENT a] [one] [] false",
	}
	for i := range want {
		if want, got := squeezed(want[i]), squeezed(seen[i]); got != want {
			t.Errorf("look %d:\ngot  %s\nwant %s", i, got, want)
		}
	}
}

func squeezed(s string) string { return strings.Join(strings.Fields(s), "") }
