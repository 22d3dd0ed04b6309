package script

import (
	"crypto/rand"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/go-json-experiment/json"

	"parley/internal/jsonform"
)

// Message is an action of the program.
type Message struct {
	Party  string // the name of its connection; "" if it is unknown
	Kind   string // "open", "request", "message" or "close"
	Method string // of a request
	Path   string // of a request or connection, with its query
	Type   string // in the protocol; "" if it has none
	Body   []byte
}

// Action is an action to carry out.
type Action struct {
	Do    string        // Send, Respond, …
	After time.Duration // how long after the previous action, or after the message
	Party string        // the connection; "": that of the message

	Body         []byte
	Event        string // of Send on an event stream: its type
	Binary       bool   // of Send on a WebSocket
	Status       int    // of Respond and Refuse; of Close: the code of the close frame, 0 for the usual one
	Header       map[string]string
	Method, Path string   // of Request and Connect
	Transport    string   // of Connect: "ws" or "sse"
	Subprotocols []string // of Connect

	Line int // in the script

	numbers []int // where the number of the message goes in Body
}

// EngineOptions are the inputs of an engine other than messages.
type EngineOptions struct {
	Now   func() time.Time // default time.Now
	NewID func() string    // makes ids; default random texts
}

// Engine runs a script. It is deterministic for equal inputs, and not safe for concurrent use.
type Engine struct {
	s       *Script
	o       EngineOptions
	vars    map[string]any
	entries entries
	firsts  map[string]map[string]any // of keyed variables, by name
	state   string
	matched []int // by rule
	trace   Trace
}

// Trace says what became of the latest message.
type Trace struct {
	Rule   int      // line of the rule that matched; 0: none
	Missed []string // why each rule before it did not match
	Nearly []string // those of Missed that are for such messages: their conditions did not hold
	Failed []string // actions and variables that could not be filled in, with their lines
}

// Engine makes an engine of the script, in its first state.
func (s *Script) Engine(o EngineOptions) *Engine {
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.NewID == nil {
		o.NewID = func() string { return strings.ToLower(rand.Text()) }
	}
	e := &Engine{s: s, o: o, vars: map[string]any{}, entries: entries{}, firsts: map[string]map[string]any{},
		state: s.state, matched: make([]int, len(s.rules))}
	f := e.newFilling(Message{})
	e.setVariables(s.vars, f)
	for _, k := range s.per {
		e.firsts[k.name] = map[string]any{}
		for _, a := range k.vars {
			e.firsts[k.name][a.name], _ = f.fillValue(a.to)
		}
	}
	return e
}

// Start returns the first actions of the script.
func (e *Engine) Start() []Action {
	e.trace = Trace{}
	return e.fillActions(e.s.start, e.newFilling(Message{}))
}

// On returns the actions that answer a message, in order, and whether a rule has matched.
func (e *Engine) On(m Message) (actions []Action, matched bool) {
	e.trace = Trace{}
	f := e.newFilling(m)
	f.keys = e.chooseKeys(f)
	for i, r := range e.s.rules {
		if why := e.whyNoMatch(i, r, m, f); why != "" {
			e.trace.Missed = append(e.trace.Missed, fmt.Sprintf("line %d: %s", r.line, why))
			if !strings.HasPrefix(why, otherMessages) {
				e.trace.Nearly = append(e.trace.Nearly, e.trace.Missed[len(e.trace.Missed)-1])
			}
			continue
		}
		e.matched[i]++
		e.trace.Rule = r.line
		e.setVariables(r.set, f)
		if r.state != "" {
			e.state = r.state
		}
		return e.fillActions(r.answer, f), true
	}
	return nil, false
}

// Trace says what became of the latest message.
func (e *Engine) Trace() Trace { return e.trace }

// State returns the present state; "" if the script has none.
func (e *Engine) State() string { return e.state }

// Vars returns the variables, as decoded JSON.
func (e *Engine) Vars() map[string]any { return maps.Clone(e.vars) }

func (e *Engine) newFilling(m Message) *filling {
	return &filling{vars: e.vars, entries: e.entries, firsts: e.firsts, keys: chosen{}, expressions: e.s.expressions,
		kind: m.Type, state: e.state,
		message: decodeJSON(m.Body), newID: e.o.NewID, party: m.Party, body: string(m.Body),
		now: e.o.Now().UTC().Format("2006-01-02T15:04:05.000Z")}
}

// otherMessages begins the reasons of rules that are for other messages.
const otherMessages = "it is for "

// whyNoMatch says why a rule does not match; "" if it does.
func (e *Engine) whyNoMatch(i int, r *rule, m Message, f *filling) string {
	path, _, _ := strings.Cut(m.Path, "?")
	switch {
	case r.on.kind != m.Kind:
		return otherMessages + "another kind of message"
	case r.on.method != "" && r.on.method != m.Method:
		return otherMessages + r.on.method
	case r.on.path != "" && !samePath(r.on.path, path) && r.on.path != m.Path:
		return otherMessages + r.on.path
	case len(r.on.types) > 0 && !slices.Contains(r.on.types, m.Type):
		return otherMessages + strings.Join(r.on.types, ", ")
	case r.on.party != nil && !r.on.party.MatchString(m.Party):
		return "its party is another"
	case r.times > 0 && e.matched[i] >= r.times:
		return fmt.Sprintf("it has matched %d times", r.times)
	}
	for _, c := range r.on.where {
		v, there := At(f.message, c.pointer)
		if !c.test.isMet(v, there, f) {
			return c.pointer + " is another"
		}
	}
	if !f.holds(r.when) {
		return fmt.Sprint(r.when.value, " does not hold")
	}
	for _, g := range r.guards {
		v, there := any(e.state), true
		if g.name != "state" {
			v, there = f.variable(g.name)
		}
		if !g.test.isMet(v, there, f) {
			text, _ := json.Marshal(v, jsonform.Escaped) // it was read from YAML or JSON
			return fmt.Sprintf("%s is %s", g.name, text)
		}
	}
	return ""
}

// setVariables sets variables. One that cannot be filled in keeps its value.
func (e *Engine) setVariables(all []assignment, f *filling) {
	for _, a := range all {
		b, err := f.writeJSON(a.to)
		if err == nil && len(b) > MaxVar {
			err = errLong
		}
		if err != nil {
			e.noteUnfilled(a.to.line, "%s is not set: %v", a.name, err)
			continue
		}
		v := decodeJSON(b)
		of, member, keyed := strings.Cut(a.name, ".")
		if !keyed {
			e.vars[a.name] = v
			continue
		}
		if err := f.setKeyed(of, member, v); err != nil {
			e.noteUnfilled(a.to.line, "%s is not set: %v", a.name, err)
		}
	}
}

// fillActions fills in actions. One that cannot be filled in is omitted.
func (e *Engine) fillActions(all []action, f *filling) (out []Action) {
	for _, a := range all {
		if !f.holds(a.when) {
			continue
		}
		for n := range a.repeat {
			f.n = n + 1
			one, err := a.fillAction(f)
			if err != nil {
				e.noteUnfilled(a.line, "%s is left out: %v", a.do, err)
				break
			}
			out = append(out, one)
		}
	}
	f.n = 0
	return out
}

// noteUnfilled notes that something at a line could not be filled in.
func (e *Engine) noteUnfilled(line int, format string, args ...any) {
	at := fmt.Sprintf("line %d of the script", line)
	if rule := e.trace.Rule; rule > 0 && rule != line {
		at += fmt.Sprintf(", in the rule of line %d", rule)
	}
	e.trace.Failed = append(e.trace.Failed, at+": "+fmt.Sprintf(format, args...))
}

// fillAction returns an action with its variables filled in.
func (a *action) fillAction(f *filling) (Action, error) {
	out := Action{Do: a.do, After: a.after, Event: a.event, Binary: a.binary, Status: a.status,
		Header: maps.Clone(a.header),
		Method: a.method, Path: a.path, Transport: a.transport, Subprotocols: a.subs, Line: a.line}
	var err error
	f.numbers, f.numbering = nil, a.do == Send
	if out.Body, err = f.fillBody(a.body); err != nil {
		return out, err
	}
	out.numbers, f.numbering = f.numbers, false
	if len(out.Body) > MaxBody {
		return out, errLong
	}
	for name, value := range out.Header {
		if out.Header[name], err = f.fillPlain(value); err != nil {
			return out, err
		}
	}
	if out.Path, err = f.fillPlain(a.path); err != nil {
		return out, err
	}
	if a.to != nil {
		text, _ := a.to.scalarText()
		out.Party, err = f.fillPlain(text)
	}
	return out, err
}

// Numbered returns the body of a message as the nth, from 1, that is sent on its connection.
func (a Action) Numbered(n int) []byte {
	if len(a.numbers) == 0 {
		return a.Body
	}
	var out []byte
	from := 0
	for _, at := range a.numbers {
		out = strconv.AppendInt(append(out, a.Body[from:at]...), int64(n), 10)
		from = at
	}
	return append(out, a.Body[from:]...)
}

// fillPlain fills in a text whose result is a text.
func (f *filling) fillPlain(text string) (string, error) {
	v, err := f.fillText(text)
	if err != nil {
		return "", err
	}
	if s, ok := plainText(v); ok {
		return s, nil
	}
	b, err := json.Marshal(v, jsonform.Escaped)
	return string(b), err
}
