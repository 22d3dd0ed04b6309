package desk

import (
	"cmp"
	_ "embed"
	"fmt"
	"strings"

	"parley/target"
)

// ID is the protocol's name in profiles.
const ID = "ticket-desk"

// History is the capability of a server that keeps a history.
const History = "history"

//go:embed example.yaml
var example string

// Binding is the protocol's section of a profile: where the wire of a target differs from the document.
type Binding struct {
	SSE struct {
		Events   string `yaml:"events"`   // path of the stream
		Messages string `yaml:"messages"` // path of messages, with {client}
	} `yaml:"sse"`
	WS target.WSWire `yaml:"ws"`

	Fields Fields                  `yaml:"fields"`
	Events map[string]target.Names `yaml:"events"` // this wire's names for the document's events
}

// Fields are the paths of the members that every message and event has.
type Fields struct {
	Type   target.Pointer `yaml:"type"`
	Client target.Pointer `yaml:"client"`
	Ticket target.Pointer `yaml:"ticket"`
	Ref    target.Pointer `yaml:"ref"`
}

// Default returns the wire format of the document: what the example has.
var Default = target.Defaults[Binding](example, ID)

// Of returns the section of a profile.
func Of(p *target.Profile) *Binding { return target.SectionOf[Binding](p) }

// kind describes what a profile of ticket-desk may say.
func kind() target.Kind {
	return target.Kind{
		Protocol:     ID,
		Prefix:       "TD",
		Roles:        []string{target.Server},
		Drivers:      []string{target.SSE, target.WS},
		Capabilities: []string{History},
		Example:      example,
		Sections: func() []target.Section {
			b := Default()
			return []target.Section{{Key: ID, Value: &b}}
		},
		Check: check,
		Reach: func(p *target.Profile) target.Reach {
			return target.Reach{Paths: map[string]string{target.SSE: Of(p).SSE.Events, target.WS: Of(p).WS.Path}}
		},
	}
}

// events are those that a profile may rename.
var events = []string{welcome, pong, refused, opened, closed, started, piece, asks, done, history}

// check returns the first error in the section.
func check(c *target.Checker) error {
	b := Of(c.Profile)
	path := func(key, value string) error {
		if !strings.HasPrefix(value, "/") {
			return c.Fail(key, fmt.Sprintf("%q does not start with a slash", value), "")
		}
		return nil
	}
	client := func() error {
		if !strings.Contains(b.SSE.Messages, "{client}") {
			return c.Fail(ID+".sse.messages", "it does not say where the client's id goes", "write {client} in its place")
		}
		return nil
	}
	return cmp.Or(
		path(ID+".sse.events", b.SSE.Events),
		path(ID+".sse.messages", b.SSE.Messages),
		client(),
		c.Socket(ID+".ws", b.WS),
		c.Places(ID+".fields", "message", b.Fields),
		c.Names(ID+".events", "event", b.Events, events),
	)
}
