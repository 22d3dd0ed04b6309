package binding

import (
	"cmp"
	"fmt"
	"reflect"
	"slices"
	"strings"

	"parley/protocol/sessionruntime"
	"parley/target"
)

// Names of the default binding of session-runtime that a profile may remap. TURN_CANCELED is an alias of CANCELED. Of
// the ERROR subtypes, only those that identify something are listed.
var (
	busEventNames = []string{
		sessionruntime.UserInput, sessionruntime.AgentOutput, sessionruntime.Control, sessionruntime.Event,
		sessionruntime.Error,
	}
	busTargetNames = []string{
		sessionruntime.ToSystem, sessionruntime.ToSession, sessionruntime.ToAgent, sessionruntime.ToFrontend,
		sessionruntime.ToLogger, sessionruntime.ToBroadcast,
	}
	subtypeNames = []string{
		sessionruntime.Mention,
		sessionruntime.Cancel, sessionruntime.Interrupt, sessionruntime.SwitchAgent, sessionruntime.InviteAgent,
		sessionruntime.RemoveAgent, sessionruntime.HandoverConfirm, sessionruntime.HandoverReject,
		sessionruntime.SessionOpen, sessionruntime.SessionClose,
		sessionruntime.InputAck, sessionruntime.CancelAck, sessionruntime.HandoverRequest, sessionruntime.HandoverAccepted,
		sessionruntime.StreamStopped,
		sessionruntime.AddAgentDone, sessionruntime.AddAgentFailed, sessionruntime.RemoveAgentDone,
		sessionruntime.RemoveAgentFailed, sessionruntime.SessionOpened, sessionruntime.SessionClosed,
		sessionruntime.SessionFailed,
		sessionruntime.RequestAddAgent, sessionruntime.RequestRemoveAgent, sessionruntime.RequestSessionOpen,
		sessionruntime.RequestSessionClose, sessionruntime.HandoverUIPrompt, sessionruntime.HandoverContext,
		sessionruntime.TurnAccepted, sessionruntime.Canceled, sessionruntime.AgentAdded, sessionruntime.AgentRemoved,
		sessionruntime.AgentStarted, sessionruntime.NobodySpeaks, sessionruntime.CancelSent, sessionruntime.AddingAgent,
		sessionruntime.AgentRemoving, sessionruntime.RemovedLocal, sessionruntime.ActiveChanged,
		sessionruntime.RouteTimeout,
	}
)

// renames are these names, by the path of the mapping.
var renames = map[string][]string{
	"session-runtime.events":   busEventNames,
	"session-runtime.subtypes": subtypeNames,
	"session-runtime.targets":  busTargetNames,
}

// checker checks the wire of a profile.
type checker struct {
	*target.Checker
	b *Binding
}

// check returns the first mistake in the wire.
func check(c *target.Checker) error { return checker{c, Of(c.Profile)}.binding() }

func (c checker) binding() error {
	s := c.b
	return cmp.Or(
		c.Socket("session-runtime.ws", s.WS),
		c.subscribes(),
		c.senders(),
		c.cast(),
		c.Places("session-runtime.fields", "frame", s.Fields),
		c.apart("session-runtime.fields", s.Fields),
		c.Names("session-runtime.events", "event", s.Events, renames["session-runtime.events"]),
		c.oneSubtype(),
		c.Names("session-runtime.subtypes", "subtype", s.Subtypes, renames["session-runtime.subtypes"]),
		c.Names("session-runtime.targets", "target", s.Targets, renames["session-runtime.targets"]),
	)
}

func (c checker) subscribes() error {
	const path = "session-runtime.subscribes"
	list := c.b.Subscribes
	err := c.Words(path, "target", list, []string{sessionruntime.ToSystem, sessionruntime.ToBroadcast})
	if err == nil && !slices.Contains(list, sessionruntime.ToSystem) {
		err = c.Fail(path, "SYSTEM is missing", "the frontend's messages go there; write [SYSTEM] or [SYSTEM, BROADCAST]")
	}
	return err
}

// oneSubtype rejects a subtype that is an alias of another one.
func (c checker) oneSubtype() error {
	const path = "session-runtime.subtypes." + sessionruntime.TurnCanceled
	if _, twice := c.b.Subtypes[sessionruntime.TurnCanceled]; twice {
		return c.Fail(path, "it is a name of CANCELED",
			"write CANCELED: [CANCELED, TURN_CANCELED], with the names of your wire")
	}
	return nil
}

// senders checks that every sender has a distinct name.
func (c checker) senders() error {
	s := c.b.Senders
	names := []struct{ key, name string }{
		{"frontend", s.Frontend}, {"manager", s.Manager}, {"session", s.Session}, {"logger", s.Logger},
	}
	for i, n := range names {
		at := target.Within("session-runtime.senders", n.key)
		if n.name == "" {
			c.Fail(at, "is empty", "delete the line for the default")
		}
		for j, other := range names {
			if other.name == n.name && j != i && (j < i || c.Given(at)) {
				return c.Fail(at, fmt.Sprintf("%q is already the name of the %s", n.name, other.key), "rename that one too")
			}
		}
	}
	return nil
}

// enoughAgents is the number of agents that a scenario may need: one that speaks, one to switch to, and another one.
const enoughAgents = 3

// cast checks that there are enough agents, and that no id is used by another sender.
func (c checker) cast() error {
	const path = "session-runtime.agents"
	s := c.b
	others := []string{s.Senders.Frontend, s.Senders.Manager, s.Senders.Session, s.Senders.Logger}
	for i, id := range s.Agents {
		at := c.Item(path, i)
		switch {
		case id == "":
			c.Fail(at, "is not an agent id", "")
		case slices.Contains(s.Agents[:i], id):
			c.Fail(at, fmt.Sprintf("the agent %q is given twice", id), "")
		case slices.Contains(others, id):
			c.Fail(at, fmt.Sprintf("%q is another sender's name", id), "see session-runtime.senders")
		}
	}
	if len(s.Agents) < enoughAgents {
		c.Fail(path, fmt.Sprintf("too few agents: %d", len(s.Agents)), fmt.Sprintf("name %d or more", enoughAgents))
	}
	return nil
}

// spot is a place where the harness writes a field.
type spot struct {
	key, at string
	target.Pointer
	outer bool // it may contain others
}

// holds reports whether another field lies within this one, which may not contain any.
func (s spot) holds(other spot) bool {
	return !s.outer && strings.HasPrefix(string(other.Pointer), string(s.Pointer)+"/")
}

// apart checks that no field overwrites another one.
func (c checker) apart(path string, fields RuntimeFields) error {
	written := c.spots(path, fields)
	for i, a := range written {
		for _, b := range written[:i] {
			if a.Pointer != b.Pointer && !a.holds(b) && !b.holds(a) {
				continue
			}
			if c.Given(b.at) && !c.Given(a.at) {
				a, b = b, a // blame the one that the file sets
			}
			if a.Pointer == b.Pointer {
				return c.Fail(a.at, fmt.Sprintf("%q is already the place of %s", string(a.Pointer), b.key), "move that one too")
			}
			return c.Fail(a.at, fmt.Sprintf("%q and the place of %s, %q, are nested", string(a.Pointer), b.key,
				string(b.Pointer)), "only payload and metadata may contain other fields")
		}
	}
	return nil
}

func (c checker) spots(path string, fields RuntimeFields) (written []spot) {
	v := reflect.ValueOf(fields)
	for i := range v.NumField() {
		tag := v.Type().Field(i).Tag
		key, outer := tag.Get("yaml"), tag.Get("holds") != ""
		at := target.Within(path, key)
		switch f := v.Field(i).Interface().(type) {
		case target.Pointer:
			written = append(written, spot{key, at, f, outer})
		case target.Pointers:
			n := map[string]int{"all": len(f), "first": min(1, len(f))}[tag.Get("written")]
			for j, p := range f[:n] { // an empty list is reported elsewhere
				written = append(written, spot{key, c.Item(at, j), p, outer})
			}
		}
	}
	return written
}
