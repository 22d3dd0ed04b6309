package pack

import (
	"cmp"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"time"

	"parley/internal/expression"
	"parley/internal/script"
	"parley/target"
)

// scopeNames are known to every expression: the message, its type, who sent it, on which connection, the HTTP request
// or answer, the event of an event stream, and, in what a rule owes or forbids, the message that is its cause.
var scopeNames = []string{"it", "kind", "from", "conn", "http", "event", "request", "act"}

// reader reads a protocol.yaml, and collects its mistakes.
type reader struct {
	script.Reader
	doc   *document
	known []string // names that expressions may use
}

var (
	protocolID = regexp.MustCompile(`^[a-z][a-z0-9]*(-[a-z0-9]+)*$`)
	prefixes   = regexp.MustCompile(`^[A-Z]{2}$`)
	named      = regexp.MustCompile(`^[a-z]\w*$`)
)

// read reads a protocol.yaml.
func (rd *reader) read(text []byte) {
	root := rd.Read(text, "protocol")
	if !root.There() || !rd.Keys(root, "a protocol", "protocol", "prefix", "document", "capabilities", "transports",
		"message", "sends", "receives", "keeps", "stages", "fence", "state", "rules", "phrases", "load", "begins") {
		return
	}
	d := rd.doc
	d.id = rd.needed(root, "protocol", "my-protocol", protocolID, "small letters, digits and single hyphens")
	d.prefix = rd.needed(root, "prefix", "MP", prefixes, "two capital letters")
	if of := root.At("capabilities"); of.There() {
		d.capabilities = rd.Texts(of, "capabilities")
	}
	rd.readTransports(root.At("transports"), root)
	rd.readMessage(root.At("message"))
	rd.readSends(root.At("sends"))
	rd.readReceives(root.At("receives"))
	rd.readState(root.At("state"))
	rd.known = append(rd.known, scopeNames...)
	for _, b := range d.bags {
		rd.known = append(rd.known, b.name)
	}
	rd.findMembers(root)
	rd.readKeeps(root.At("keeps"))
	rd.readStages(root.At("stages"))
	rd.readLoad(root.At("load"))
	rd.readFence(root.At("fence"))
	for _, v := range rd.listAt(root, "rules") {
		rd.readRule(v)
	}
	for _, v := range rd.listAt(root, "phrases") {
		rd.readPhrase(v)
	}
	d.begins = "client {c} is connected"
	if of := root.At("begins"); of.There() {
		if d.begins = rd.Text(of, "begins"); !strings.Contains(d.begins, "{c}") {
			rd.Fail(of, "begins is a step with {c} for the client (begins: client {c} has a ticket)")
		}
	}
}

// needed returns a text that must be there and match.
func (rd *reader) needed(root script.Value, key, example string, form *regexp.Regexp, says string) string {
	v := root.At(key)
	if !v.There() {
		rd.Fail(root, "%s is missing (%s: %s)", key, key, example)
		return ""
	}
	text := rd.Text(v, key)
	if text != "" && !form.MatchString(text) {
		rd.Fail(v, "%s %q is not made of %s (%s: %s)", key, text, says, key, example)
	}
	return text
}

func (rd *reader) listAt(v script.Value, key string) []script.Value {
	if at := v.At(key); at.There() {
		return rd.List(at, key)
	}
	return nil
}

// pathAt reads a path, which begins with a slash.
func (rd *reader) pathAt(v script.Value, what string) string {
	text := rd.Text(v, what)
	if text != "" && !strings.HasPrefix(text, "/") {
		rd.Fail(v, "%s %q does not begin with a slash", what, text)
	}
	return text
}

func (rd *reader) readTransports(v, root script.Value) {
	if !v.There() {
		rd.Fail(root, "transports is missing: say how a client reaches the server (transports: {ws: {path: /ws}})")
		return
	}
	if !rd.Keys(v, "transports", target.SSE, target.WS, target.Post, target.Stdio) {
		return
	}
	d := rd.doc
	for _, name := range v.Keys() {
		at := v.At(name)
		d.drivers = append(d.drivers, name)
		switch name {
		case target.SSE:
			rd.Keys(at, "sse", "open", "send")
			d.open, d.send = rd.pathAt(at.At("open"), "sse.open"), rd.Text(at.At("send"), "sse.send")
			if d.open == "" {
				rd.Fail(at, "sse.open is missing: the path of the event stream (open: /events)")
			}
			if method, where, ok := strings.Cut(d.send, " "); d.send != "" &&
				(!ok || method != strings.ToUpper(method) || !strings.HasPrefix(where, "/")) {
				rd.Fail(at.At("send"), "sse.send is a method and a path (send: POST /message)")
			}
		case target.WS:
			rd.Keys(at, "ws", "path", "subprotocols")
			if d.ws = rd.pathAt(at.At("path"), "ws.path"); d.ws == "" {
				rd.Fail(at, "ws.path is missing (path: /ws)")
			}
			if of := at.At("subprotocols"); of.There() {
				d.subprotocols = rd.Texts(of, "subprotocols")
			}
		case target.Post:
			rd.readPost(at)
		case target.Stdio:
			if keys := at.Keys(); len(keys) > 0 {
				rd.Fail(at, "stdio has no keys: each message is a line (stdio: {})")
			}
		}
	}
}

func (rd *reader) readMessage(v script.Value) {
	d := rd.doc
	d.typeAt, d.members = "/type", map[string]target.Pointer{}
	if !v.There() || !rd.Keys(v, "message", "type", "only", "named", "untyped", "members") {
		return
	}
	if at := v.At("type"); at.There() {
		d.typeAt = rd.pointer(at, "message.type")
	}
	d.only = rd.Text(v.At("only"), "message.only")
	of := v.At("untyped")
	for _, name := range of.Keys() {
		d.untyped = append(d.untyped, untyped{name, rd.expression(of.At(name), "it")})
	}
	d.named, _ = v.At("named").Scalar().(bool)
	of = v.At("members")
	for _, name := range of.Keys() {
		d.members[name] = rd.pointer(of.At(name), "message.members."+name)
	}
}

func (rd *reader) pointer(v script.Value, what string) target.Pointer {
	p, err := target.ParsePointer(rd.Text(v, what))
	if err != nil {
		rd.Fail(v, "%s: %v", what, err)
	}
	return p
}

func (rd *reader) readSends(v script.Value) {
	rd.doc.sends = map[string]any{}
	for name := range rd.doc.post.requests {
		rd.doc.sends[name] = map[string]any{}
	}
	if !v.There() {
		return
	}
	for _, name := range v.Keys() {
		rd.doc.sends[name] = valueOf(v.At(name))
	}
	if len(v.Keys()) == 0 {
		rd.Fail(v, "sends is a map from a type to its message (sends: {ping: {}})")
	}
}

// valueOf returns a value of a document as JSON has it.
func valueOf(v script.Value) any {
	if keys := v.Keys(); keys != nil {
		out := map[string]any{}
		for _, name := range keys {
			out[name] = valueOf(v.At(name))
		}
		return out
	}
	if items, ok := v.Items(); ok {
		out := []any{}
		for _, item := range items {
			out = append(out, valueOf(item))
		}
		return out
	}
	return v.Scalar()
}

func (rd *reader) readReceives(v script.Value) {
	if v.There() {
		rd.doc.receives = rd.Texts(v, "receives")
	}
}

// types are all known types, and what else a rule may be about.
func (rd *reader) types() []string {
	return slices.Concat(slices.Sorted(maps.Keys(rd.doc.sends)), rd.doc.receives, special)
}

// Messages that are none of the protocol: the request for a connection, its answer, its end, the answer to an HTTP
// request, an event without data, and a message that is no JSON object, or of no known type.
const (
	connecting = "connecting"
	connected  = "connected"
	ended      = "ended"
	answer     = "http"
	empty      = "empty"
	malformed  = "malformed"
	unknown    = "unknown"
)

var special = []string{connecting, connected, ended, answer, empty, malformed, unknown}

// expression reads an expression, with the given names besides those of the document.
func (rd *reader) expression(v script.Value, names ...string) *expression.Expression {
	if !v.There() {
		return nil
	}
	text := fmt.Sprint(v.Scalar())
	if names == nil {
		names = rd.known
	}
	e, err := expression.Compile(text, names, rd.doc.stateMembers)
	if err != nil {
		hint := ""
		if strings.Contains(err.Error(), "token EOF") {
			hint = " (in YAML a # after a space begins a comment: put the expression into quotes)"
		}
		rd.Fail(v, "%v%s", err, hint)
	}
	return e
}

// trigger reads which messages something is about: a type, a list of types, or a map.
func (rd *reader) trigger(v script.Value, what string) (t trigger) {
	if text, ok := v.Scalar().(string); ok {
		t.types = rd.typesOf(v, []string{text})
		return t
	}
	if _, list := v.Items(); list {
		t.types = rd.typesOf(v, rd.Texts(v, what))
		return t
	}
	if !rd.Keys(v, what, keysOf[what]...) {
		return t
	}
	if from := v.At("from"); from.There() {
		if t.from = rd.Text(from, "from"); t.from != "client" && t.from != "server" {
			rd.Fail(from, "from is client or server")
		}
	}
	if of := v.At("type"); of.There() {
		t.types = rd.typesOf(of, rd.Texts(of, "type"))
	}
	t.where = rd.expression(v.At("where"))
	return t
}

// keysOf has the keys of a map that selects messages, by what it is.
var keysOf = map[string][]string{
	"on": {"from", "type", "where"}, "forbids": {"from", "type", "where"}, "until": {"from", "type", "where"},
	"owes": {"from", "type", "where", "must", "clauses"},
}

func (rd *reader) typesOf(v script.Value, types []string) []string {
	known := rd.types()
	for _, name := range types {
		if !slices.Contains(known, name) && name != "" {
			rd.Fail(v, "%q is not a type of this protocol (add it to sends or receives, or write one of %s)", name,
				strings.Join(known, ", "))
		}
	}
	return types
}

func (rd *reader) readKeeps(v script.Value) {
	if !v.There() {
		return
	}
	for _, at := range rd.List(v, "keeps") {
		k := keep{on: rd.trigger(at.At("on"), "on")}
		for _, name := range at.Keys() {
			if name != "on" {
				k.name, k.value = name, rd.expression(at.At(name))
				rd.doc.keeps = append(rd.doc.keeps, k)
			}
		}
		if !at.At("on").There() || k.name == "" {
			rd.Fail(at, "say from which message a client keeps what (- {on: welcome, client: it.client})")
		}
	}
}

func (rd *reader) readStages(v script.Value) {
	d := rd.doc
	d.stages = [3]string{"connecting", "having a session", "being answered"}
	if !v.There() {
		return
	}
	list := rd.List(v, "stages")
	if len(list) != 3 {
		rd.Fail(v, "there are three stages: connecting, having a session, being answered (- connecting: welcome)")
		return
	}
	for i, at := range list {
		if keys := at.Keys(); len(keys) == 1 {
			d.stages[i], d.reached[i] = keys[0], rd.typesOf(at, rd.Texts(at.At(keys[0]), keys[0]))
		} else {
			rd.Fail(at, "a stage is its name with the type that shows it (- connecting: welcome)")
		}
	}
}

func (rd *reader) readFence(v script.Value) {
	if !v.There() || !rd.Keys(v, "fence", "send", "answer", "where") {
		return
	}
	f := &fenceRule{send: rd.Text(v.At("send"), "fence.send"), answer: rd.Text(v.At("answer"), "fence.answer"),
		where: rd.expression(v.At("where"))}
	rd.typesOf(v, []string{f.send, f.answer})
	if !v.At("where").There() {
		rd.Fail(v, "fence.where is missing: how its answer is recognised (where: it.ref == act.ref)")
	}
	rd.doc.fence = f
}

func (rd *reader) readRule(v script.Value) {
	r := &rule{line: v.Line()}
	if !rd.Keys(v, "a rule", "name", "on", "when", "clauses", "says", "require", "grows", "unique", "first", "valid",
		"owes", "or", "within", "forbids", "until", "elsewhere", "set") {
		return
	}
	rd.doc.rules = append(rd.doc.rules, r)
	r.name, r.says = rd.Text(v.At("name"), "name"), rd.Text(v.At("says"), "says")
	if on := v.At("on"); on.There() {
		r.on = rd.trigger(on, "on")
	} else {
		rd.Fail(v, "on is missing: which messages the rule is about (on: ping)")
	}
	r.when = rd.expression(v.At("when"))
	if of := v.At("clauses"); of.There() {
		r.clauses = rd.Texts(of, "clauses")
	}
	r.require, r.grows, r.unique = rd.expression(v.At("require")), rd.expression(v.At("grows")),
		rd.expression(v.At("unique"))
	r.first, _ = v.At("first").Scalar().(bool)
	r.valid, _ = v.At("valid").Scalar().(bool)
	r.elsewhere, _ = v.At("elsewhere").Scalar().(bool)
	if owes := v.At("owes"); owes.There() {
		r.owes = append(r.owes, rd.owing(owes))
		for _, or := range rd.listAt(v, "or") {
			r.owes = append(r.owes, rd.owing(or))
		}
	}
	if r.within = rd.Text(v.At("within"), "within"); r.within == "" && len(r.owes) > 0 && len(r.owes[0].types) == 1 {
		r.within = usualLimits[r.owes[0].types[0]]
	}
	if r.lasts, _ = time.ParseDuration(r.within); r.within != "" && r.lasts <= 0 && !slices.Contains(limits, r.within) {
		rd.Fail(v.At("within"), "within is a time, such as 2s, or the name of a limit: one of %s", strings.Join(limits, ", "))
	}
	if of := v.At("forbids"); of.There() {
		t := rd.trigger(of, "forbids")
		r.forbids = &t
	}
	if of := v.At("until"); of.There() {
		t := rd.trigger(of, "until")
		r.until = &t
	}
	rd.readSet(v.At("set"), r)
	rd.findStates(r)
	judges := slices.ContainsFunc([]string{"require", "grows", "unique", "first", "valid", "owes", "forbids"},
		func(key string) bool { return v.At(key).There() })
	switch {
	case judges && len(r.clauses) == 0 && !r.forgiving():
		rd.Fail(v, "clauses is missing: what the rule judges (clauses: %s-001)", cmp.Or(rd.doc.prefix, "MP"))
	case !judges && !v.At("set").There():
		rd.Fail(v, "the rule does nothing: it has none of owes, forbids, require, grows, unique, first, valid and set")
	}
}

// findStates finds the states on which a rule depends.
func (rd *reader) findStates(r *rule) {
	named := []*expression.Expression{r.when, r.require}
	for _, s := range r.set {
		named = append(named, s.value)
	}
	for _, b := range rd.doc.bags {
		if slices.ContainsFunc(r.set, func(s assignment) bool { return s.bag == b.name }) ||
			slices.ContainsFunc(named, func(e *expression.Expression) bool { return e != nil && e.Mentions(b.name) }) {
			r.states = append(r.states, b.name)
		}
	}
}

// forgiving reports whether a rule only permits: each of its alternatives has clauses, or none judges anything.
func (r *rule) forgiving() bool {
	return len(r.owes) > 0 && !slices.ContainsFunc(r.owes, func(o *owing) bool { return o.clauses == nil })
}

// expects is what a finding of the rule says that it expected.
func (r *rule) expects(otherwise string) string { return cmp.Or(r.says, otherwise) }

// usualLimits are those of what never comes at once, unless the rule names another.
var usualLimits = map[string]string{answer: "http", connected: "connect", ended: "event"}

// limits are those of a profile that a rule may name.
var limits = []string{"event", "turn", "http", "connect"}

func (rd *reader) owing(v script.Value) *owing {
	o := &owing{trigger: rd.trigger(v, "owes"), must: rd.expression(v.At("must"))}
	if of := v.At("clauses"); of.There() {
		o.clauses = rd.Texts(of, "clauses")
	}
	return o
}

// sorted returns the keys of a map, sorted.
func sorted[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }
