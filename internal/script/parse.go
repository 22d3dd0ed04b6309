package script

import (
	"fmt"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"time"

	"parley/internal/words"
)

// parsing collects mistakes.
type parsing struct{ errs []*Error }

func (p *parsing) failAt(at *node, format string, args ...any) {
	p.errs = append(p.errs, &Error{Line: at.line, Column: at.column, Text: fmt.Sprintf(format, args...)})
}

// requireKind reports whether a value has a kind, and fails if it does not.
func (p *parsing) requireKind(n *node, k kind, what string) bool {
	if n.kind != k {
		p.failAt(n, "%s is %s, and this is %s", what, kinds[k], kinds[n.kind])
	}
	return n.kind == k
}

// checkKeys fails for unknown keys. One that is like a known key that is missing is that one from then on.
func (p *parsing) checkKeys(n *node, what string, known ...string) bool {
	if !p.requireKind(n, mapping, what) {
		return false
	}
	for _, k := range n.keys {
		if name, _ := k.value.(string); !slices.Contains(known, name) {
			p.failAt(k, "%s has no %q (%s)", what, name, words.Suggest(name, known, "it has "+quotedList(known)))
			if near := words.Near(name, known, 1); len(near) > 0 && n.valueAt(near[0]) == nil {
				k.value = near[0]
			}
		}
	}
	return true
}

// parseText returns a text; "" if there is no value.
func (p *parsing) parseText(n *node, what string) string {
	if n == nil {
		return ""
	}
	s, ok := n.scalarText()
	if !ok || s == "" {
		p.failAt(n, "%s is a text that is not empty (put it in quotes)", what)
	}
	return s
}

// requireText fails if a text is missing.
func (p *parsing) requireText(root *node, key, example string) string {
	n := root.valueAt(key)
	if n == nil {
		p.failAt(root, "%s is missing (%s: %s)", key, key, example)
	}
	return p.parseText(n, key)
}

func (p *parsing) parseScript(root *node, s *Script) {
	if !p.checkKeys(root, "a script", "script", "title", "protocol", "as", "source", "vars", "per", "posts", "state",
		"start", "rules") {
		return
	}
	s.Name = p.requireText(root, "script", "busy-server")
	s.Protocol = p.requireText(root, "protocol", "my-protocol")
	s.As = p.requireText(root, "as", "server")
	s.places = map[string]*Error{}
	for _, key := range []string{"protocol", "as"} {
		if n := root.valueAt(key); n != nil {
			s.places[key] = &Error{Line: n.line, Column: n.column}
		}
	}
	s.Title, s.Source = p.parseText(root.valueAt("title"), "title"), p.parseText(root.valueAt("source"), "source")
	s.state = p.parseText(root.valueAt("state"), "state")
	if vars := root.valueAt("vars"); vars != nil {
		s.vars = p.parseAssignments(vars, "vars")
	}
	if per := root.valueAt("per"); per != nil {
		s.per = p.parseKeyed(per)
	}
	if posts := root.valueAt("posts"); posts != nil {
		s.posts = p.parseInbox(posts)
	}
	if start := root.valueAt("start"); start != nil {
		s.start = p.parseActions(start, "start")
	}
	rules := root.valueAt("rules")
	switch {
	case rules == nil && root.valueAt("start") == nil:
		p.failAt(root, "rules is missing: a script without rules answers nothing")
	case rules != nil && p.requireKind(rules, list, "rules"):
		for _, n := range rules.list {
			s.rules = append(s.rules, p.parseRule(n))
		}
	}
	p.checkNames(s)
}

// parseAssignments reads variables with their values.
func (p *parsing) parseAssignments(n *node, what string) (out []assignment) {
	if !p.requireKind(n, mapping, what) {
		return nil
	}
	for i, k := range n.keys {
		name, _ := k.value.(string)
		if !namePattern.MatchString(name) || slices.Contains(reserved, name) {
			p.failAt(k, "%q is not a variable name (a letter, then letters, digits and _; not %s)", name,
				quotedList(reserved))
		}
		p.checkTemplate(n.vals[i])
		out = append(out, assignment{name, n.vals[i]})
	}
	return out
}

func (p *parsing) parseRule(n *node) *rule {
	r := &rule{line: n.line}
	if !p.checkKeys(n, "a rule", "on", "when", "times", "set", "answer", "state") {
		return r
	}
	if at := n.valueAt("on"); at != nil {
		r.on = p.parseOn(at)
	} else {
		p.failAt(n, "on is missing: say which messages the rule answers (on: ping)")
	}
	when := n.valueAt("when")
	if _, is := when.scalarText(); is {
		r.when = when
	} else if when != nil && p.requireKind(when, mapping, "when") {
		for i, k := range when.keys {
			name, _ := k.value.(string)
			r.guards = append(r.guards, guard{name, p.parseTest(when.vals[i])})
		}
	}
	if times := n.valueAt("times"); times != nil {
		r.times = p.parseCount(times, "times", 1_000_000)
	}
	if set := n.valueAt("set"); set != nil {
		r.set = p.parseAssignments(set, "set")
	}
	if answer := n.valueAt("answer"); answer != nil {
		r.answer = p.parseActions(answer, "answer")
	}
	r.state = p.parseText(n.valueAt("state"), "state")
	return r
}

// parseCount reads a number from 1 to most.
func (p *parsing) parseCount(n *node, what string, most int) int {
	v, ok := wholeNumber(n.value)
	if n.kind != scalar || !ok || v < 1 || v > float64(most) {
		p.failAt(n, "%s is a whole number from 1 to %d", what, most)
		return 1
	}
	return int(v)
}

// parseOn reads which messages a rule matches: a type alone, or a map.
func (p *parsing) parseOn(n *node) on {
	if typ, ok := n.scalarText(); ok {
		return on{kind: "message", types: []string{typ}}
	}
	out := on{kind: "message"}
	if !p.checkKeys(n, "on", "type", "request", "open", "close", "party", "where") {
		return out
	}
	kinds := 0
	if request := n.valueAt("request"); request != nil {
		kinds++
		out.kind = "request"
		text := p.parseText(request, "request")
		method, path, ok := strings.Cut(text, " ")
		if !ok || method != strings.ToUpper(method) || !strings.HasPrefix(path, "/") {
			p.failAt(request, `%q is not a request (write it like "POST /message")`, text)
		}
		out.method, out.path = method, path
	}
	for _, kind := range []string{"open", "close"} {
		at := n.valueAt(kind)
		if at == nil {
			continue
		}
		kinds++
		out.kind = kind
		if path, ok := at.scalarText(); ok && strings.HasPrefix(path, "/") {
			out.path = path
		} else if at.value != true {
			p.failAt(at, "%s is true for any path, or the path (%s: /events)", kind, kind)
		}
	}
	if kinds > 1 {
		p.failAt(n, "on has one of request, open and close")
	}
	if typ := n.valueAt("type"); typ != nil {
		out.types = p.parseTexts(typ, "type")
	}
	if party := n.valueAt("party"); party != nil {
		out.party = p.parseRegexp(party, "party")
	}
	if where := n.valueAt("where"); where != nil && p.requireKind(where, mapping, "where") {
		for i, k := range where.keys {
			pointer, _ := k.value.(string)
			if !strings.HasPrefix(pointer, "/") {
				p.failAt(k, "%q is no JSON Pointer (write it like /data/id)", pointer)
			}
			out.where = append(out.where, condition{pointer, p.parseTest(where.vals[i])})
		}
	}
	return out
}

// parseTexts reads a text, or a list of them.
func (p *parsing) parseTexts(n *node, what string) []string {
	if n.kind != list {
		return []string{p.parseText(n, what)}
	}
	var out []string
	for _, item := range n.list {
		out = append(out, p.parseText(item, what))
	}
	return out
}

func (p *parsing) parseRegexp(n *node, what string) *regexp.Regexp {
	re, err := regexp.Compile(p.parseText(n, what))
	if err != nil {
		p.failAt(n, "%s is not a regular expression: %v", what, err)
	}
	return re
}

// verbs are the actions, with the keys that each may have besides after, to and repeat.
var verbs = map[string][]string{
	Send: {"event", "binary"}, Respond: {"body", "headers"}, Accept: nil, Refuse: {"body"}, Close: {"reason"}, Cut: nil,
	Connect: {"transport", "subprotocols", "headers"}, Request: {"body", "headers"},
}

// parseActions reads a list of actions.
func (p *parsing) parseActions(n *node, what string) (out []action) {
	if !p.requireKind(n, list, what) {
		return nil
	}
	for _, item := range n.list {
		out = append(out, p.parseAction(item))
	}
	return out
}

// misspeltAction tells the key of an action that is like one, and reports whether there is one.
func (p *parsing) misspeltAction(n *node) bool {
	for _, k := range n.keys {
		name, _ := k.value.(string)
		near := words.Near(name, []string{Send, Respond, Accept, Refuse, Close, Cut, Connect, Request}, 1)
		if len(near) > 0 && !slices.Contains([]string{"after", "to", "repeat", "when"}, name) {
			p.failAt(k, "an action has no %q (did you mean %q?)", name, near[0])
			return true
		}
	}
	return false
}

func (p *parsing) parseAction(n *node) action {
	a := action{line: n.line, repeat: 1}
	if text, ok := n.scalarText(); ok { // "close", alone
		if text != Close && text != Cut && text != Accept {
			p.failAt(n, "%q is not an action (send, respond, accept, refuse, close, cut, connect or request)", text)
		}
		a.do = text
		return a
	}
	if !p.requireKind(n, mapping, "an action") {
		return a
	}
	var found []string
	for _, k := range n.keys {
		if name, _ := k.value.(string); verbs[name] != nil || name == Accept || name == Close || name == Cut {
			found = append(found, name)
		}
	}
	if len(found) == 0 && p.misspeltAction(n) {
		return a
	}
	if len(found) != 1 {
		p.failAt(n, "an action has one of send, respond, accept, refuse, close, cut, connect and request, and this has %d",
			len(found))
		return a
	}
	a.do = found[0]
	p.checkKeys(n, a.do, append([]string{a.do, "after", "to", "repeat", "when"}, verbs[a.do]...)...)
	if after := n.valueAt("after"); after != nil {
		text, _ := after.scalarText()
		d, err := time.ParseDuration(text)
		if err != nil || d < 0 || d > time.Hour {
			p.failAt(after, "after is a time of at most an hour, such as 50ms or 2s")
		}
		a.after = d
	}
	if a.when = n.valueAt("when"); a.when != nil {
		p.parseText(a.when, "when")
	}
	if a.to = n.valueAt("to"); a.to != nil {
		p.parseText(a.to, "to")
		p.checkTemplate(a.to)
	}
	if repeat := n.valueAt("repeat"); repeat != nil {
		a.repeat = p.parseCount(repeat, "repeat", MaxRepeat)
	}
	p.parseOperand(&a, n)
	return a
}

// parseOperand reads the operand of an action.
func (p *parsing) parseOperand(a *action, n *node) {
	v := n.valueAt(a.do)
	if body := n.valueAt("body"); body != nil {
		p.checkTemplate(body)
		a.body = body
	}
	if headers := n.valueAt("headers"); headers != nil && p.requireKind(headers, mapping, "headers") {
		a.header = map[string]string{}
		for i, k := range headers.keys {
			a.header[k.value.(string)] = p.parseText(headers.vals[i], "a header")
		}
	}
	switch a.do {
	case Send:
		p.checkTemplate(v)
		a.body, a.event = v, p.parseText(n.valueAt("event"), "event")
		if b := n.valueAt("binary"); b != nil {
			a.binary = b.value == true
		}
	case Respond, Refuse:
		if a.status = p.parseCount(v, a.do, 599); a.status < 200 || a.do == Refuse && a.status < 300 {
			p.failAt(v, "%s is an HTTP status (%s: %d)", a.do, a.do, map[string]int{Respond: 200, Refuse: 503}[a.do])
		}
	case Close:
		p.parseClosing(a, v, n.valueAt("reason"))
	case Connect:
		if a.path = p.parseText(v, Connect); a.path != "" && !strings.HasPrefix(a.path, "/") {
			p.failAt(v, "connect is a path (connect: /chat/ws): the program's address is given when the script is played")
		}
		a.transport = "ws"
		if t := n.valueAt("transport"); t != nil {
			if a.transport = p.parseText(t, "transport"); a.transport != "ws" && a.transport != "sse" {
				p.failAt(t, "transport is ws or sse")
			}
		}
		if subs := n.valueAt("subprotocols"); subs != nil {
			a.subs = p.parseTexts(subs, "subprotocols")
		}
	case Request:
		text := p.parseText(v, Request)
		method, path, ok := strings.Cut(text, " ")
		if !ok || !strings.HasPrefix(path, "/") || !slices.Contains(methods, method) {
			p.failAt(v, `%q is not a request (write it like "POST /message")`, text)
		}
		a.method, a.path = method, path
	}
}

// maxReason is the length of the longest reason in a close frame, in bytes.
const maxReason = 123

// parseClosing reads the code and the reason of a close.
func (p *parsing) parseClosing(a *action, v, reason *node) {
	switch code, is := wholeNumber(v.value); {
	case v.kind == scalar && (v.value == nil || v.value == true):
	case v.kind != scalar || !is || code < 1000 || code > 4999 || code >= 1004 && code <= 1006 || code == 1015:
		p.failAt(v, "close has a code that a close frame can have, from 1000 to 4999 but not 1004, 1005, 1006 and 1015 "+
			"(close: 4001), or none")
	default:
		a.status = int(code)
	}
	if reason == nil {
		return
	}
	if text := p.parseText(reason, "reason"); len(text) > maxReason {
		p.failAt(reason, "reason is longer than %d bytes", maxReason)
	}
	if a.status == 0 {
		a.status = 1000
	}
	p.checkTemplate(reason)
	a.body = reason
}

var methods = []string{http.MethodGet, http.MethodPost, http.MethodPut, http.MethodPatch, http.MethodDelete,
	http.MethodHead, http.MethodOptions}
