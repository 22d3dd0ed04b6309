package externalagent

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"pgregory.net/rapid"

	vocab "parley/protocol/externalagent"
	"parley/steps"
	"parley/steps/externalagent/model"
)

// ExplorerOf implements steps.RoleExplorer.
func (Protocol) ExplorerOf(role string) steps.Explorer {
	switch role {
	case vocab.Agent:
		return explorer{tags: tagged(model.Told()), draw: exploreAgent}
	case vocab.Relay:
		var clauses []string
		for _, of := range model.Passing {
			clauses = append(clauses, of...)
		}
		slices.Sort(clauses)
		return explorer{tags: tagged(slices.Compact(clauses)), draw: exploreRelay}
	}
	return explorer{tags: tagged(strings.Fields(`EA-004 EA-005 EA-006 EA-008 EA-009 EA-011 EA-017 EA-025 EA-026 EA-028
		EA-029 EA-030 EA-033 EA-034 EA-036 EA-037 EA-038 EA-041 EA-042 EA-043 EA-046 EA-047 EA-049 EA-051 EA-054
		EA-055 EA-060 EA-061 EA-062 EA-063 EA-064 EA-068 EA-072 EA-073 EA-074 EA-077a EA-078 EA-079 EA-080 EA-081
		EA-082 EA-083 EA-096 EA-104 EA-010 EA-065 EA-085 EA-086 EA-087 EA-088 EA-089 EA-090 EA-091 EA-092 EA-093
		EA-107`)), draw: exploreHost}
}

func tagged(clauses []string) (out []string) {
	for _, id := range clauses {
		out = append(out, "@"+id)
	}
	return out
}

// explorer implements steps.Explorer.
type explorer struct {
	tags []string
	draw func(*rapid.T) []string
}

func (e explorer) Explored() []string { return e.tags }

func (e explorer) Explore(draw *rapid.T) []string { return e.draw(draw) }

// moves are the acts of an agent in its session, each with what follows from it, that are legal at any time.
var moves = []string{
	"When agent A asks for a snapshot|Then agent A gets a snapshot",
	"When agent A sends the participant a message|Then agent A's message is not refused",
	"When agent A sends the participant a message without an id",
	"When agent A calls a tool that does not exist|Then agent A is refused with \"UNKNOWN_TOOL\" or \"NO_ACTIVE_SPEC\"",
	"When agent A sends 6 requests of different kinds without waiting, and each is answered",
	"When agent A makes 3 calls of announced tools without waiting, and each is answered under its own id",
	"When agent A loses its connection|And agent A has joined|And agent A has a session",
	"When agent A ends the session|Then agent A is told that the session has ended|When agent A has a session",
}

// movesOfRelay has those of a host that the harness plays, too.
var movesOfRelay = append(slices.Clone(moves),
	"When the host announces a new state|Then agent A receives a new state",
	"When the host announces a long state",
	"When the host sends JSON that decoding and encoding would change",
	"When the participant speaks to agent A|Then agent A receives the participant's message",
	"When agent A sends the participant 1 message of 20 KB, if the target accepts that size",
	"When the host loses its connection|And another host joins|And agent A has a session",
)

var movesOfHost = append(slices.Clone(moves),
	"When agent A sends malformed JSON|Then agent A's message is refused as invalid",
	"When agent A sends a snapshot.get with an unknown type|Then agent A's message is refused as invalid",
	"When agent A sends a snapshot.get with an empty type|Then agent A's message is refused as invalid",
	"When agent A sends a snapshot.get with type that is a number|Then agent A's message is refused as invalid",
	"When agent A sends a snapshot.get with payload that is a list|Then agent A's message is refused as invalid",
	"Then agent A is in sync",
	again+"|When agent A books a ticket from the first movie to the confirmation|"+again,
	again+"|When agent A makes the calls that make a tool fail at run time|"+
		"Then agent A is refused with \"TOOL_EXECUTION_FAILED\"|"+again,
	again+"|When agent A makes the first call of the booking|Then agent A is told that the call succeeded",
	again+"|When agent A books up to the first call of \"next\"|Then agent A is told that the call succeeded|"+
		"When agent A calls \"prev\"|Then agent A is told that the call succeeded|"+
		"And agent A sees the effect of the call in a later state",
	again+"|When agent A makes the calls after which no uiSpec is active|Then agent A is refused with \"NO_ACTIVE_SPEC\"|"+
		"And agent A makes every call of the booking, and each is refused with \"NO_ACTIVE_SPEC\"|"+again,
	again+"|Then agent A calls a tool with params that are missing, null, a list, a string and a number, "+
		"and each call is refused",
	again+"|Then agent A calls every announced tool with a param missing, and each call is refused|"+again,
	again+"|Then agent A calls every announced tool with a param of another type, and each call is refused|"+again,
	again+"|Then agent A calls the tools of other stages at every stage of the booking, and each call is refused|"+again,
	again+"|Then agent A calls every announced tool at every stage of the booking|"+again,
	"When agent A ends the session|Then agent A is told that the session has ended|"+
		"And agent A makes every call of the booking, and each is refused with \"SESSION_NOT_ACTIVE\"|"+
		"When agent A has a session",
)

// framesOfHost are the first and last lines of sequences for a host. Not every target allows the last three of them: no
// move depends on those.
var framesOfHost = []struct{ first, last string }{
	{first: hasBegun, last: "And agent A is still served"},
	{first: "Given agent A connects|And agent A is connected|And agent A joins|And agent A is told that it has joined|" +
		"And agent A starts a session|And agent A is told that the session has started|" +
		"And agent A knows what the host changes on its own", last: "And agent A is still served"},
	{first: "Given the states of a session are known",
		last: "And agent A fills its session with messages and tool calls|" +
			"When agent A ends the session and starts another right after it|" +
			"Then agent A has a new session that contains nothing of the old one"},
	{first: hasBegun, last: "When the participant speaks to agent A|Then agent A receives the participant's message"},
	{first: hasBegun, last: "Given the target has a host in every relay session|" +
		"And agent B joins the relay session \"other\"|And agent B is told that it has joined|And agent B has a session|" +
		"And agent A asks for a snapshot|And agent A gets a snapshot|" +
		"Then agent B receives nothing from agent A's relay session"},
	{first: hasBegun, last: "When agent A ends the session|Then agent A is told that the session has ended|" +
		"And the log of agent A's session is complete and in order"},
}

const hasBegun = "Given agent A has a session|And agent A knows what the host changes on its own"

// again is how an agent comes to a fresh booking.
const again = "When agent A ends the session|Then agent A is told that the session has ended|When agent A has a session"

func exploreRelay(draw *rapid.T) []string {
	return explored(draw, "Given agent A has a session", movesOfRelay,
		"Then the relay has passed on every message of agent A and its host unchanged")
}

func exploreHost(draw *rapid.T) []string {
	frame := rapid.SampledFrom(framesOfHost).Draw(draw, "frame")
	out := explored(draw, frame.first, movesOfHost, "Then agent A is in sync")
	return append(out, strings.Split(frame.last, "|")...)
}

// explored draws a sequence of moves, between the first lines and a last one. What a relay has passed on is looked at
// on the way, too, as it is known only for as long as both parties stay.
func explored(draw *rapid.T, first string, moves []string, last string) []string {
	out := strings.Split(first, "|")
	for _, move := range rapid.SliceOfN(rapid.SampledFrom(moves), 4, 14).Draw(draw, "moves") {
		if strings.Contains(move, "loses its connection") {
			out = append(out, last)
		}
		out = append(out, strings.Split(move, "|")...)
	}
	return append(out, last)
}

// departures are what the host may do at a call of an agent, other than it does in its flow.
var departures = []string{
	`call %d is refused with "INVALID_PARAMS"`, `call %d is refused with "TOOL_EXECUTION_FAILED"`,
	"call %d is refused by a result with ok:false", "call %d is refused, and is no longer announced",
	"the state after call %d contradicts its result", "the state after call %d comes late",
	"the state comes before the result of call %d", "the announced tools change during call %d",
	"the host sends an unknown type before the result of call %d",
	"the host sends malformed JSON before the result of call %d",
	"the host sends what the participant says before the result of call %d", "the connection is lost after call %d",
}

// exploreAgent draws departures of the host at several calls of an agent.
func exploreAgent(draw *rapid.T) []string {
	out := []string{"Given a host awaits the agent"}
	calls := rapid.SliceOfNDistinct(rapid.IntRange(1, 6), 1, 4, rapid.ID[int]).Draw(draw, "calls")
	slices.Sort(calls)
	for _, n := range calls {
		out = append(out, "And "+fmt.Sprintf(rapid.SampledFrom(departures).Draw(draw, "departure"), n))
	}
	return append(out, "When the agent is started", "Then the agent acts on what it is told")
}

// actsByWhatItIsTold waits until the host has departed from its flow as planned and the agent has made another call.
// It reports what the model finds in all that the agent has done.
func (s *suite) actsByWhatItIsTold(ctx context.Context) error {
	at, err := s.done(ctx)
	if err != nil {
		return err
	}
	if _, err := s.callAfter(ctx, at); err != nil {
		return err
	}
	for _, r := range s.T.After(s.agent.started) {
		if fromAgent(&r) {
			s.reports(&r, model.Told()...)
		}
	}
	return nil
}
