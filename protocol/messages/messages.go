// Package messages has the JSON Schemas of the messages of the protocols, in both directions. Where a schema has the
// member x-varies, the value differs from one session to the next though nothing is wrong: it is drawn anew, or read
// from a clock, or a model has made it up. The package does no I/O and judges nothing.
package messages

import (
	"embed"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/goccy/go-yaml"
)

//go:embed *.yaml
var files embed.FS

// Varies says why a value differs from one session to the next.
type Varies string

// The values of x-varies.
const (
	ID       Varies = "id"       // whoever makes the thing draws it; everybody else repeats it
	Time     Varies = "time"     // a time by the sender's clock: a string or a number
	Duration Varies = "duration" // how long something took, a number
	Words    Varies = "words"    // a model's words: a text that is empty or not
	Any      Varies = "any"      // a model's or user's choice: any value
)

// Side is who sends a message.
type Side string

// The sides: the client is who opens the connection.
const (
	Client Side = "client"
	Server Side = "server"
)

// Set is what is known of a protocol's messages. A nil Set knows none. It is not changed, and safe for concurrent use.
type Set struct {
	typed []string // members that together are the type of a message, as paths
	lane  string   // the member that tells conversations on one connection apart; "" where a connection has one
	list  []*Message
	kinds map[string][]*Message
}

// Message is one message of a protocol.
type Message struct {
	Type string
	From Side // "" for both
	// it is between the harness and an adapter of the target, which sends as many of them as it likes
	Aside bool
	// how many come depends on the model: one or more in a row stand for any number of one or more
	Repeats bool
	Schema  map[string]any // JSON Schema, draft 2020-12
	node    *Node
}

// Node is a place in a message. A nil Node is a place of which the schema says nothing.
type Node struct {
	Varies  Varies
	members map[string]*Node
	items   *Node
}

// file is one of the embedded files.
type file struct {
	Same     string   `yaml:"same"` // the messages are those of another protocol
	Type     []string `yaml:"type"`
	Lane     string   `yaml:"lane"`
	Messages []struct {
		Type    string         `yaml:"type"`
		From    Side           `yaml:"from"`
		Repeats bool           `yaml:"repeats"`
		Aside   bool           `yaml:"aside"`
		Schema  map[string]any `yaml:"schema"`
	} `yaml:"messages"`
}

// For returns the messages of a protocol; nil for an unknown one.
func For(protocol string) *Set {
	text, err := files.ReadFile(protocol + ".yaml")
	if err != nil {
		return nil
	}
	var f file
	if err := yaml.UnmarshalWithOptions(text, &f, yaml.Strict()); err != nil {
		panic(err) // they are embedded
	}
	if f.Same != "" {
		return For(f.Same)
	}
	s := &Set{typed: f.Type, lane: f.Lane, kinds: map[string][]*Message{}}
	for _, m := range f.Messages {
		one := &Message{Type: m.Type, From: m.From, Repeats: m.Repeats, Aside: m.Aside, Schema: m.Schema}
		if one.node, err = node(m.Schema); err != nil {
			panic(fmt.Errorf("%s: %s: %w", protocol, m.Type, err))
		}
		s.list = append(s.list, one)
		s.kinds[m.Type] = append(s.kinds[m.Type], one)
	}
	return s
}

// node reads what a schema says about what varies.
func node(schema map[string]any) (*Node, error) {
	n := &Node{members: map[string]*Node{}}
	if v, ok := schema["x-varies"].(string); ok {
		n.Varies = Varies(v)
		if !slices.Contains([]Varies{ID, Time, Duration, Words, Any}, n.Varies) {
			return nil, fmt.Errorf("x-varies: %q", v)
		}
	}
	properties, _ := schema["properties"].(map[string]any)
	var all error
	for name, of := range properties {
		inner, ok := of.(map[string]any)
		if !ok {
			return nil, errors.New(name + ": it is no schema")
		}
		var err error
		n.members[name], err = node(inner)
		all = errors.Join(all, err)
	}
	if inner, ok := schema["items"].(map[string]any); ok {
		var err error
		n.items, err = node(inner)
		all = errors.Join(all, err)
	}
	return n, all
}

// List returns the messages, in the order of the file.
func (s *Set) List() []*Message {
	if s == nil {
		return nil
	}
	return slices.Clone(s.list)
}

// usual are the members that name the type of a message, where no schema says.
var usual = []string{"type", "message_type", "event", "kind", "method"}

// Type returns the type of a message that has been decoded (objects are map[string]any): the words of the members that
// name it, joined by spaces; "" if it has none. A nil Set takes the first of the members that usually name it.
func (s *Set) Type(message any) string {
	o, is := message.(map[string]any)
	if !is {
		return ""
	}
	if s == nil {
		for _, name := range usual {
			if text, ok := o[name].(string); ok {
				return text
			}
		}
		return ""
	}
	var words []string
	for _, path := range s.typed {
		text, ok := lookup(o, strings.Split(strings.TrimPrefix(path, "/"), "/"))
		if ok && text != "" && !slices.Contains(words, text) {
			words = append(words, text)
		}
	}
	return strings.Join(words, " ")
}

// Lane returns which of several independent conversations on one connection a message that has been decoded belongs to;
// "" where a connection has only one, and for messages of none.
func (s *Set) Lane(message any) string {
	o, is := message.(map[string]any)
	if !is || s == nil || s.lane == "" {
		return ""
	}
	text, _ := lookup(o, strings.Split(strings.TrimPrefix(s.lane, "/"), "/"))
	return text
}

func lookup(o map[string]any, path []string) (string, bool) {
	if len(path) > 1 {
		inner, _ := o[path[0]].(map[string]any)
		return lookup(inner, path[1:])
	}
	text, ok := o[path[0]].(string)
	return text, ok
}

// Find returns the message of a type that a side sends; nil if there is none. That of a type such as "EVENT *" is for
// all types that begin alike.
func (s *Set) Find(kind string, from Side) *Message {
	if s == nil || kind == "" {
		return nil
	}
	first, _, _ := strings.Cut(kind, " ")
	for _, name := range []string{kind, first + " *"} {
		for _, m := range s.kinds[name] {
			if m.From == "" || m.From == from {
				return m
			}
		}
	}
	return nil
}

// Node returns the place that is the whole message; nil for a nil Message.
func (m *Message) Node() *Node {
	if m == nil {
		return nil
	}
	return m.node
}

// JSON returns the schema as JSON.
func (m *Message) JSON() ([]byte, error) { return json.Marshal(m.Schema) }

// Member returns the place of a member of an object; nil if the schema does not name it.
func (n *Node) Member(name string) *Node {
	if n == nil {
		return nil
	}
	return n.members[name]
}

// Item returns the place of an item of an array.
func (n *Node) Item() *Node {
	if n == nil {
		return nil
	}
	return n.items
}

// Members returns the names of the members that the schema names, sorted.
func (n *Node) Members() []string { return slices.Sorted(maps.Keys(n.members)) }
