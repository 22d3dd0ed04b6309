package orchestrator

import (
	"fmt"
	"slices"
	"strings"

	proto "parley/protocol/sessionruntime"
)

// The events and targets that a message can have. A message with another one is nobody's: the source gives it no
// answer (RT-157), so that only Options.Dropped tells its sender.
var (
	events  = []string{proto.UserInput, proto.AgentOutput, proto.Control, proto.Event, proto.Error}
	targets = []string{proto.ToSystem, proto.ToSession, proto.ToAgent, proto.ToFrontend, proto.ToLogger, proto.ToBroadcast}
)

// mistake says why a message that is not taken was probably meant to be; "" for one that others on the bus exchange.
func mistake(msg proto.Message, from Role, again bool) string {
	switch {
	case msg.Sender == "":
		return "it has no sender"
	case !slices.Contains(targets, msg.Target):
		return fmt.Sprintf("unknown target %.80q (known: %s)", msg.Target, strings.Join(targets, ", "))
	case !slices.Contains(events, msg.Event):
		return unknownEvent(msg)
	case from == Frontend && msg.Target != proto.ToSystem && msg.Target != proto.ToSession:
		return fmt.Sprintf("the target is %s: what a frontend sends to %s is not for the orchestrator (send it to %s)",
			msg.Target, msg.Target, proto.ToSystem)
	case again:
		return fmt.Sprintf("a message with the id %.80q has come from this sender before", msg.ID)
	}
	return ""
}

// unhandled says why a message to the orchestrator has no effect; "" for one that it only hears.
func unhandled(msg proto.Message, from Role) string {
	switch {
	case !slices.Contains(events, msg.Event):
		return unknownEvent(msg)
	case msg.Target == proto.ToBroadcast || from == Agent && msg.Event == proto.Event:
		return ""
	}
	what := msg.Event
	if kind := Subtype(msg); kind != "" {
		what += " " + kind
	}
	return fmt.Sprintf("the orchestrator takes no %.80s from the sender %.80q", what, msg.Sender)
}

func unknownEvent(msg proto.Message) string {
	return fmt.Sprintf("unknown event %.80q (known: %s)", msg.Event, strings.Join(events, ", "))
}
