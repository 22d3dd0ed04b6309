package script

import (
	"fmt"
	"maps"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"time"

	"parley/internal/words"
)

// parsing collects mistakes.
type parsing struct{ errs []*Error }

func (p *parsing) fail(at *node, format string, args ...any) {
	p.errs = append(p.errs, &Error{Line: at.line, Column: at.column, Text: fmt.Sprintf(format, args...)})
}

// is reports whether a value has a kind, and fails if it does not.
func (p *parsing) is(n *node, k kind, what string) bool {
	if n.kind != k {
		p.fail(n, "%s is %s, and this is %s", what, kinds[k], kinds[n.kind])
	}
	return n.kind == k
}

// keys fails for unknown keys.
func (p *parsing) keys(n *node, what string, known ...string) bool {
	if !p.is(n, mapping, what) {
		return false
	}
	for _, k := range n.keys {
		if name, _ := k.value.(string); !slices.Contains(known, name) {
			p.fail(k, "%s has no %q (%s)", what, name, words.Suggest(name, known, "it has "+quoted(known)))
		}
	}
	return true
}

// text returns a text; "" if there is no value.
func (p *parsing) text(n *node, what string) string {
	if n == nil {
		return ""
	}
	s, ok := n.text()
	if !ok || s == "" {
		p.fail(n, "%s is a text that is not empty (put it in quotes)", what)
	}
	return s
}

// need fails if a text is missing.
func (p *parsing) need(root *node, key, example string) string {
	n := root.at(key)
	if n == nil {
		p.fail(root, "%s is missing (%s: %s)", key, key, example)
	}
	return p.text(n, key)
}

func (p *parsing) script(root *node, s *Script) {
	if !p.keys(root, "a script", "script", "title", "protocol", "as", "source", "vars", "state", "start", "rules") {
		return
	}
	s.Name = p.need(root, "script", "busy-server")
	s.Protocol = p.need(root, "protocol", "agent-select")
	s.As = p.need(root, "as", "server")
	s.places = map[string]*Error{}
	for _, key := range []string{"protocol", "as"} {
		if n := root.at(key); n != nil {
			s.places[key] = &Error{Line: n.line, Column: n.column}
		}
	}
	s.Title, s.Source = p.text(root.at("title"), "title"), p.text(root.at("source"), "source")
	s.state = p.text(root.at("state"), "state")
	if vars := root.at("vars"); vars != nil {
		s.vars = p.assignments(vars, "vars")
	}
	if start := root.at("start"); start != nil {
		s.start = p.actions(start, "start")
	}
	rules := root.at("rules")
	switch {
	case rules == nil && root.at("start") == nil:
		p.fail(root, "rules is missing: a script without rules answers nothing")
	case rules != nil && p.is(rules, list, "rules"):
		for _, n := range rules.list {
			s.rules = append(s.rules, p.rule(n))
		}
	}
	p.names(s)
}

// assignments reads variables with their values.
func (p *parsing) assignments(n *node, what string) (out []assignment) {
	if !p.is(n, mapping, what) {
		return nil
	}
	for i, k := range n.keys {
		name, _ := k.value.(string)
		if !variable.MatchString(name) || slices.Contains(reserved, name) {
			p.fail(k, "%q is not a variable name (a letter, then letters, digits and _; not %s)", name, quoted(reserved))
		}
		p.template(n.vals[i])
		out = append(out, assignment{name, n.vals[i]})
	}
	return out
}

func (p *parsing) rule(n *node) *rule {
	r := &rule{line: n.line}
	if !p.keys(n, "a rule", "on", "when", "times", "set", "answer", "state") {
		return r
	}
	if at := n.at("on"); at != nil {
		r.on = p.on(at)
	} else {
		p.fail(n, "on is missing: say which messages the rule answers (on: ping)")
	}
	if when := n.at("when"); when != nil && p.is(when, mapping, "when") {
		for i, k := range when.keys {
			name, _ := k.value.(string)
			r.guards = append(r.guards, guard{name, p.test(when.vals[i])})
		}
	}
	if times := n.at("times"); times != nil {
		r.times = p.count(times, "times", 1_000_000)
	}
	if set := n.at("set"); set != nil {
		r.set = p.assignments(set, "set")
	}
	if answer := n.at("answer"); answer != nil {
		r.answer = p.actions(answer, "answer")
	}
	r.state = p.text(n.at("state"), "state")
	return r
}

// count reads a number from 1 to most.
func (p *parsing) count(n *node, what string, most int) int {
	v, ok := whole(n.value)
	if n.kind != scalar || !ok || v < 1 || v > float64(most) {
		p.fail(n, "%s is a whole number from 1 to %d", what, most)
		return 1
	}
	return int(v)
}

// on reads which messages a rule matches: a type alone, or a map.
func (p *parsing) on(n *node) on {
	if typ, ok := n.text(); ok {
		return on{kind: "message", types: []string{typ}}
	}
	out := on{kind: "message"}
	if !p.keys(n, "on", "type", "request", "open", "close", "party", "where") {
		return out
	}
	kinds := 0
	if request := n.at("request"); request != nil {
		kinds++
		out.kind = "request"
		text := p.text(request, "request")
		method, path, ok := strings.Cut(text, " ")
		if !ok || method != strings.ToUpper(method) || !strings.HasPrefix(path, "/") {
			p.fail(request, `%q is not a request (write it like "POST /message")`, text)
		}
		out.method, out.path = method, path
	}
	for _, kind := range []string{"open", "close"} {
		at := n.at(kind)
		if at == nil {
			continue
		}
		kinds++
		out.kind = kind
		if path, ok := at.text(); ok && strings.HasPrefix(path, "/") {
			out.path = path
		} else if at.value != true {
			p.fail(at, "%s is true for any path, or the path (%s: /events)", kind, kind)
		}
	}
	if kinds > 1 {
		p.fail(n, "on has one of request, open and close")
	}
	if typ := n.at("type"); typ != nil {
		out.types = p.texts(typ, "type")
	}
	if party := n.at("party"); party != nil {
		out.party = p.regexp(party, "party")
	}
	if where := n.at("where"); where != nil && p.is(where, mapping, "where") {
		for i, k := range where.keys {
			pointer, _ := k.value.(string)
			if !strings.HasPrefix(pointer, "/") {
				p.fail(k, "%q is no JSON Pointer (write it like /data/id)", pointer)
			}
			out.where = append(out.where, condition{pointer, p.test(where.vals[i])})
		}
	}
	return out
}

// texts reads a text, or a list of them.
func (p *parsing) texts(n *node, what string) []string {
	if n.kind != list {
		return []string{p.text(n, what)}
	}
	var out []string
	for _, item := range n.list {
		out = append(out, p.text(item, what))
	}
	return out
}

func (p *parsing) regexp(n *node, what string) *regexp.Regexp {
	re, err := regexp.Compile(p.text(n, what))
	if err != nil {
		p.fail(n, "%s is not a regular expression: %v", what, err)
	}
	return re
}

// verbs are the actions, with the keys that each may have besides after, to and repeat.
var verbs = map[string][]string{
	Send: {"event", "binary"}, Respond: {"body", "headers"}, Accept: nil, Refuse: {"body"}, Close: {"reason"}, Cut: nil,
	Connect: {"transport", "subprotocols", "headers"}, Request: {"body", "headers"},
}

// actions reads a list of actions.
func (p *parsing) actions(n *node, what string) (out []action) {
	if !p.is(n, list, what) {
		return nil
	}
	for _, item := range n.list {
		out = append(out, p.action(item))
	}
	return out
}

func (p *parsing) action(n *node) action {
	a := action{line: n.line, repeat: 1}
	if text, ok := n.text(); ok { // "close", alone
		if text != Close && text != Cut && text != Accept {
			p.fail(n, "%q is not an action (send, respond, accept, refuse, close, cut, connect or request)", text)
		}
		a.do = text
		return a
	}
	if !p.is(n, mapping, "an action") {
		return a
	}
	var found []string
	for _, k := range n.keys {
		if name, _ := k.value.(string); verbs[name] != nil || name == Accept || name == Close || name == Cut {
			found = append(found, name)
		}
	}
	if len(found) != 1 {
		p.fail(n, "an action has one of send, respond, accept, refuse, close, cut, connect and request, and this has %d",
			len(found))
		return a
	}
	a.do = found[0]
	p.keys(n, a.do, append([]string{a.do, "after", "to", "repeat"}, verbs[a.do]...)...)
	if after := n.at("after"); after != nil {
		text, _ := after.text()
		d, err := time.ParseDuration(text)
		if err != nil || d < 0 || d > time.Hour {
			p.fail(after, "after is a time of at most an hour, such as 50ms or 2s")
		}
		a.after = d
	}
	if a.to = n.at("to"); a.to != nil {
		p.text(a.to, "to")
		p.template(a.to)
	}
	if repeat := n.at("repeat"); repeat != nil {
		a.repeat = p.count(repeat, "repeat", MaxRepeat)
	}
	p.operand(&a, n)
	return a
}

// operand reads the operand of an action.
func (p *parsing) operand(a *action, n *node) {
	v := n.at(a.do)
	if body := n.at("body"); body != nil {
		p.template(body)
		a.body = body
	}
	if headers := n.at("headers"); headers != nil && p.is(headers, mapping, "headers") {
		a.header = map[string]string{}
		for i, k := range headers.keys {
			a.header[k.value.(string)] = p.text(headers.vals[i], "a header")
		}
	}
	switch a.do {
	case Send:
		p.template(v)
		a.body, a.event = v, p.text(n.at("event"), "event")
		if b := n.at("binary"); b != nil {
			a.binary = b.value == true
		}
	case Respond, Refuse:
		if a.status = p.count(v, a.do, 599); a.status < 200 || a.do == Refuse && a.status < 300 {
			p.fail(v, "%s is an HTTP status (%s: %d)", a.do, a.do, map[string]int{Respond: 200, Refuse: 503}[a.do])
		}
	case Close:
		p.closing(a, v, n.at("reason"))
	case Connect:
		if a.path = p.text(v, Connect); a.path != "" && !strings.HasPrefix(a.path, "/") {
			p.fail(v, "connect is a path (connect: /chat/ws): the program's address is given when the script is played")
		}
		a.transport = "ws"
		if t := n.at("transport"); t != nil {
			if a.transport = p.text(t, "transport"); a.transport != "ws" && a.transport != "sse" {
				p.fail(t, "transport is ws or sse")
			}
		}
		if subs := n.at("subprotocols"); subs != nil {
			a.subs = p.texts(subs, "subprotocols")
		}
	case Request:
		text := p.text(v, Request)
		method, path, ok := strings.Cut(text, " ")
		if !ok || !strings.HasPrefix(path, "/") || !slices.Contains(methods, method) {
			p.fail(v, `%q is not a request (write it like "POST /message")`, text)
		}
		a.method, a.path = method, path
	}
}

// maxReason is the length of the longest reason in a close frame, in bytes.
const maxReason = 123

// closing reads the code and the reason of a close.
func (p *parsing) closing(a *action, v, reason *node) {
	switch code, is := whole(v.value); {
	case v.kind == scalar && (v.value == nil || v.value == true):
	case v.kind != scalar || !is || code < 1000 || code > 4999 || code >= 1004 && code <= 1006 || code == 1015:
		p.fail(v, "close has a code that a close frame can have, from 1000 to 4999 but not 1004, 1005, 1006 and 1015 "+
			"(close: 4001), or none")
	default:
		a.status = int(code)
	}
	if reason == nil {
		return
	}
	if text := p.text(reason, "reason"); len(text) > maxReason {
		p.fail(reason, "reason is longer than %d bytes", maxReason)
	}
	if a.status == 0 {
		a.status = 1000
	}
	p.template(reason)
	a.body = reason
}

var methods = []string{http.MethodGet, http.MethodPost, http.MethodPut, http.MethodPatch, http.MethodDelete,
	http.MethodHead, http.MethodOptions}

// names fails for guards and templates that use variables that are never set.
func (p *parsing) names(s *Script) {
	known := s.known()
	names := append(slices.Clone(reserved), slices.Sorted(maps.Keys(known))...)
	var look func(n *node)
	look = func(n *node) {
		if n == nil {
			return
		}
		for _, v := range slices.Concat(n.list, n.vals) {
			look(v)
		}
		text, _ := n.text()
		for _, name := range named(text) {
			if !strings.HasPrefix(name, "/") && !known[name] && !slices.Contains(reserved, name) {
				p.fail(n, "nothing sets the variable %q (%s)", name, words.Suggest(name, names, "there are "+quoted(names)))
			}
		}
	}
	actions := slices.Clone(s.start)
	for _, r := range s.rules {
		actions = append(actions, r.answer...)
		for _, g := range r.guards {
			if g.name != "state" && !known[g.name] {
				p.fail(&node{line: r.line, column: 1}, "when: nothing sets the variable %q (%s)", g.name,
					words.Suggest(g.name, append(names, "state"), "there are state, "+quoted(names)))
			}
		}
		for _, a := range r.set {
			look(a.to)
		}
		for _, c := range r.on.where {
			look(c.test.is)
		}
	}
	for _, a := range actions {
		look(a.body)
		look(a.to)
	}
}
