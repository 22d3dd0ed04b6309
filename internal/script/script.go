// Package script reads and runs scripts: short YAML files that answer the messages of a program, for the mind "script"
// of a counterpart. The reference for users is docs/simulator-scripts.md.
//
// A script is a list of rules. The first rule whose condition and guard match a message of the program is carried out:
// it sets variables, answers, and goes to a state. Parse checks a script and reports each mistake with its line and
// column. An Engine runs it: it takes messages and returns actions. It has no clock, no goroutine and no connection,
// and knows neither protocol nor transport.
package script

import (
	"bytes"
	_ "embed"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"parley/internal/expression"
	"parley/internal/jsonform"
	"parley/internal/words"
)

// The actions of a script: values of Action.Do.
const (
	Send    = "send"    // a message to the program
	Respond = "respond" // the answer to an HTTP request
	Accept  = "accept"  // accepts a connection; without it, the connection is accepted before other actions
	Refuse  = "refuse"  // refuses a connection with an HTTP status
	Close   = "close"   // ends a connection properly
	Cut     = "cut"     // drops a connection
	Connect = "connect" // opens a connection to the program
	Request = "request" // sends an HTTP request to the program
)

// Bounds of a script.
const (
	MaxText   = 1 << 20 // bytes of a script
	MaxRepeat = 1000    // of one action
	MaxBody   = 8 << 20 // bytes of a message with its variables filled in
	MaxVar    = 1 << 20 // bytes of a variable as JSON
)

// Script is a checked script. It does not change, and may be run by several engines.
type Script struct {
	Name     string // for people, and in errors
	Title    string // what it does, as a short phrase
	Protocol string // id of the protocol
	As       string // the party that it plays
	Source   string // section of the source that it plays; "" for none

	places map[string]*Error // by key: where protocol and as are; without a text

	vars  []assignment
	per   []keyed
	posts *inbox // nil: none
	state string
	start []action
	rules []*rule

	expressions map[string]*expression.Expression // by text
}

// rule is one rule.
type rule struct {
	line   int
	on     on
	guards []guard
	when   *node // an expression in place of guards; nil: none
	times  int   // how often it may match; 0: any number
	set    []assignment
	answer []action
	state  string // to go to; "": none
}

// on says which messages a rule matches.
type on struct {
	kind   string // Message.Kind
	types  []string
	method string // of a request
	path   string // of a request or connection; "": any
	party  *regexp.Regexp
	where  []condition
}

// condition is a condition on a member of the message.
type condition struct {
	pointer string
	test    test
}

// guard is a condition on the state or a variable.
type guard struct {
	name string // "state", or that of a variable
	test test
}

// assignment sets a variable.
type assignment struct {
	name string
	to   *node
}

// action is an action whose variables are not yet filled in.
type action struct {
	line   int
	do     string
	after  time.Duration
	to     *node // party; nil: that of the message
	repeat int
	when   *node // an expression; nil: always

	body      *node             // of send, respond and request, the reason of close; nil: none
	event     string            // of send
	binary    bool              // of send
	status    int               // of respond, refuse and close; 0: none
	method    string            // of request
	path      string            // of connect and request
	transport string            // of connect: "ws" or "sse"
	subs      []string          // of connect
	header    map[string]string // of respond, connect and request
}

// Error is a mistake in a script.
type Error struct {
	Name         string // of the script
	Line, Column int    // from 1
	Text         string // what is wrong, and how to fix it
}

func (e *Error) Error() string {
	return fmt.Sprintf("%s:%d:%d: %s", e.Name, e.Line, e.Column, e.Text)
}

// Schema returns the JSON Schema of scripts, for editors: every script that Parse accepts is valid by it.
func Schema() []byte { return slices.Clone(schema) }

//go:embed script.schema.json
var schema []byte

// Parse reads a script. name stands for it in errors. The error joins an *Error for each mistake, in order.
func Parse(name string, text []byte) (*Script, error) {
	if len(text) > MaxText {
		return nil, &Error{Name: name, Line: 1, Column: 1, Text: fmt.Sprintf("it is longer than %d bytes", MaxText)}
	}
	p := &parsing{}
	root, errs := readYAML(text)
	p.errs = errs
	s := &Script{expressions: map[string]*expression.Expression{}}
	if root != nil && len(errs) == 0 {
		p.parseScript(root, s)
	}
	slices.SortStableFunc(p.errs, func(a, b *Error) int {
		if a.Line != b.Line {
			return a.Line - b.Line
		}
		return a.Column - b.Column
	})
	all := make([]error, len(p.errs))
	for i, e := range p.errs {
		e.Name = name
		all[i] = e
	}
	if len(all) > 0 {
		return nil, errors.Join(all...)
	}
	for _, at := range s.places {
		at.Name = name
	}
	return s, nil
}

// Plays returns an error, at its place in the script, for each of protocol and party that is not that of the script;
// nil if the script plays that party.
func (s *Script) Plays(protocol, as string) error {
	wrong := func(key, text, named string) error {
		if is := s.valueOf(key); is == named || is == "" {
			return nil
		}
		e := *s.places[key]
		e.Text = "this script " + text + " " + s.valueOf(key) + ", and " + key + " (--" + key + ") is " + named
		if hint := words.Suggest(s.valueOf(key), []string{named}, ""); hint != "" {
			e.Text += " (" + hint + ")"
		}
		return &e
	}
	return errors.Join(wrong("protocol", "is for", protocol), wrong("as", "plays", as))
}

// valueOf returns the value of protocol or as.
func (s *Script) valueOf(key string) string {
	if key == "as" {
		return s.As
	}
	return s.Protocol
}

// Client returns the path of the first connection that the script opens; "" if the party is a server.
func (s *Script) Client() string {
	for _, a := range s.start {
		if a.do == Connect {
			return a.path
		}
	}
	return ""
}

// knownVariables returns the variables that a script begins with or sets.
func (s *Script) knownVariables() map[string]bool {
	names := map[string]bool{}
	for _, a := range s.vars {
		names[a.name] = true
	}
	for _, k := range s.per {
		names[k.name+"."+keyMember] = true
		for _, a := range k.vars {
			names[k.name+"."+a.name] = true
		}
	}
	for _, r := range s.rules {
		for _, a := range r.set {
			if !strings.Contains(a.name, ".") { // those of a key are declared
				names[a.name] = true
			}
		}
	}
	return names
}

// quotedList lists words for people.
func quotedList(words []string) string { return strings.Join(words, ", ") }

// test is a condition on a value.
type test struct {
	is     *node          // it equals this, with variables filled in; nil: no condition
	in     []*node        // it equals one of these
	match  *regexp.Regexp // it is a text, or a number, that matches
	exists *bool          // it is present, or absent
	not    *test
}

// parseTest reads a condition: a value, a list of values, or a map with one of match, exists, in and not.
func (p *parsing) parseTest(n *node) test {
	switch n.kind {
	case scalar:
		p.checkTemplate(n)
		return test{is: n}
	case list:
		for _, item := range n.list {
			p.checkTemplate(item)
		}
		return test{in: n.list}
	}
	var t test
	if !p.checkKeys(n, "a condition", "match", "exists", "in", "not", "is") {
		return t
	}
	if len(n.keys) != 1 {
		p.failAt(n, "a condition has one of is, in, match, exists and not, and this has %d", len(n.keys))
		return t
	}
	v := n.vals[0]
	switch n.keys[0].value {
	case "is":
		p.checkTemplate(v)
		t.is = v
	case "in":
		if p.requireKind(v, list, "in") {
			t.in = v.list
		}
	case "match":
		t.match = p.parseRegexp(v, "match")
	case "exists":
		b, ok := v.value.(bool)
		if !ok {
			p.failAt(v, "exists is true or false")
		}
		t.exists = &b
	case "not":
		inner := p.parseTest(v)
		t.not = &inner
	}
	return t
}

// isMet reports whether a value meets a condition; there says that the value is present.
func (t test) isMet(v any, there bool, f *filling) bool {
	switch {
	case t.exists != nil:
		return *t.exists == there
	case t.not != nil:
		return !t.not.isMet(v, there, f)
	case !there:
		return false
	case t.match != nil:
		text, ok := plainText(v)
		return ok && t.match.MatchString(text)
	case t.is != nil:
		want, err := f.fillValue(t.is)
		return err == nil && equalJSON(v, want)
	}
	return slices.ContainsFunc(t.in, func(n *node) bool {
		want, err := f.fillValue(n)
		return err == nil && equalJSON(v, want)
	})
}

// plainText returns a text, a number or a bool as a text.
func plainText(v any) (string, bool) {
	switch v := v.(type) {
	case string:
		return v, true
	case jsonform.Number:
		return v.String(), true
	case bool:
		return strconv.FormatBool(v), true
	}
	return "", false
}

// equalJSON compares decoded JSON values: numbers by their values.
func equalJSON(a, b any) bool {
	x, err := json.Marshal(canonicalNumbers(a), jsonform.Escaped)
	if err != nil {
		return false
	}
	y, err := json.Marshal(canonicalNumbers(b), jsonform.Escaped)
	return err == nil && bytes.Equal(x, y)
}

// canonicalNumbers returns a value with all numbers as float64 where these are exact enough.
func canonicalNumbers(v any) any {
	switch v := v.(type) {
	case jsonform.Number:
		if n, err := v.Int64(); err == nil {
			return n
		}
		if f, err := v.Float64(); err == nil {
			if f == float64(int64(f)) {
				return int64(f)
			}
			return f
		}
		return v.String()
	case []any:
		out := make([]any, len(v))
		for i, item := range v {
			out[i] = canonicalNumbers(item)
		}
		return out
	case map[string]any:
		out := make(map[string]any, len(v))
		for k, item := range v {
			out[k] = canonicalNumbers(item)
		}
		return out
	}
	return v
}

// wholeNumber returns a YAML number as float64.
func wholeNumber(v any) (float64, bool) {
	switch v := v.(type) {
	case int64:
		return float64(v), true
	case uint64:
		return float64(v), true
	case float64:
		return v, v == float64(int64(v))
	}
	return 0, false
}

// decodeJSON decodes JSON with exact numbers; nil if it is not JSON.
func decodeJSON(body []byte) any {
	var v any
	if json.Unmarshal(body, &v, jsonform.Lenient, jsonform.Numbers) != nil {
		return nil
	}
	return v
}

// At returns the value that a JSON Pointer (RFC 6901) refers to in decoded JSON, and whether there is one.
func At(v any, pointer string) (any, bool) {
	for name := range jsontext.Pointer(pointer).Tokens() {
		switch in := v.(type) {
		case map[string]any:
			member, ok := in[name]
			if !ok {
				return nil, false
			}
			v = member
		case []any:
			i, err := strconv.Atoi(name)
			if err != nil || i < 0 || i >= len(in) {
				return nil, false
			}
			v = in[i]
		default:
			return nil, false
		}
	}
	return v, true
}
