package relay

import (
	"fmt"
	"slices"

	proto "parley/protocol/externalagent"
)

// Names of the checks, with what passes.
const (
	CheckFrame   = "frame"   // a text frame
	CheckText    = "text"    // no Fault
	CheckV       = "v"       // exactly proto.Version
	CheckType    = "type"    // a string
	CheckID      = "id"      // a string if present
	CheckReplyTo = "replyTo" // a string if present
	CheckPayload = "payload" // an object
	CheckKnown   = "known"   // a type that the sender's side may send; any type before the join
)

// checks run in this order; the first failure is reported.
var checks = []struct {
	name  string
	judge func(from Party, e *Envelope) *Refusal // nil passes
}{
	{CheckFrame, func(_ Party, e *Envelope) *Refusal {
		return when(e.Binary, "send a text frame, not a binary one")
	}},
	{CheckText, func(_ Party, e *Envelope) *Refusal {
		return when(e.Fault != "", faultTexts[e.Fault])
	}},
	{CheckV, func(_ Party, e *Envelope) *Refusal {
		v, ok := e.Text("v")
		return when(!ok || v != proto.Version, fmt.Sprintf("v must be %q", proto.Version))
	}},
	{CheckType, func(_ Party, e *Envelope) *Refusal {
		_, ok := e.Text("type")
		return when(!ok, "type must be a string")
	}},
	{CheckID, optionalText("id")},
	{CheckReplyTo, optionalText("replyTo")},
	{CheckPayload, func(_ Party, e *Envelope) *Refusal {
		return when(e.members["payload"].Kind() != '{', "payload must be an object: send {} if it is empty")
	}},
	{CheckKnown, func(from Party, e *Envelope) *Refusal {
		known := from.Role == "" || slices.Contains(typesOf[from.Role], e.Type())
		return when(!known, fmt.Sprintf("the %s may not send the type %.80q", from.Role, e.Type()))
	}},
}

// judge runs the checks on an envelope.
func (p Policy) judge(from Party, e *Envelope) *Refusal {
	for _, check := range checks {
		if why := p.Check(check.name, from, e, check.judge(from, e)); why != nil {
			return why
		}
	}
	return nil
}

var faultTexts = map[Fault]string{
	NotUTF8:    "the text must be valid UTF-8",
	TooDeep:    fmt.Sprintf("objects and arrays may nest %d deep, the envelope included", MaxDepth),
	Duplicates: "send each name once per object",
	NotJSON:    "the text must be valid JSON",
	NotObject:  "send one JSON object",
}

// typesOf lists the types that each side may send, sections 4.0 to 4.2.
var typesOf = map[string][]string{
	proto.AgentRole: {proto.RelayJoin, proto.SessionStart, proto.SnapshotGet, proto.ToolCall, proto.AgentMessage,
		proto.SessionEnd},
	proto.HostRole: {proto.RelayJoin, proto.SessionStarted, proto.SnapshotState, proto.ToolResult, proto.StateUpdated,
		proto.UserMessage, proto.SessionEnded, proto.ErrorMessage},
}

func optionalText(name string) func(Party, *Envelope) *Refusal {
	return func(_ Party, e *Envelope) *Refusal {
		_, ok := e.Text(name)
		return when(e.Has(name) && !ok, name+" must be a string, or be left out")
	}
}

func invalid(text string) *Refusal { return &Refusal{proto.InvalidMessage, text} }

func inactive(text string) *Refusal { return &Refusal{proto.SessionNotActive, text} }

func when(wrong bool, text string) *Refusal {
	if !wrong {
		return nil
	}
	return invalid(text)
}
