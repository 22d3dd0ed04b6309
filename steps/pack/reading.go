package pack

import (
	"cmp"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

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
	doc       *document
	described *Sketch  // by the AsyncAPI document of the folder; nil: there is none
	known     []string // names that expressions may use
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
		"message", "sends", "receives", "keeps", "stages", "fence", "state", "rules", "phrases", "load", "begins", "before") {
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
	rd.describe(rd.described)
	rd.readBefore(root.At("before"))
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
		rd.readRules(v)
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
	if !v.There() && rd.described != nil {
		return
	}
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
	d.typeAt, d.sentAt, d.members = "/type", "/type", map[string]target.Pointer{}
	if of := rd.described; of != nil {
		d.typeAt, d.sentAt = of.Type, of.Sent
	}
	if !v.There() || !rd.Keys(v, "message", "type", "only", "untyped", "members") {
		return
	}
	if at := v.At("type"); at.There() {
		if d.typeAt = "/type"; at.Keys() == nil {
			d.typeAt = rd.pointer(at, "message.type")
			d.sentAt = d.typeAt
		} else if rd.Keys(at, "message.type", "client", "server") {
			d.typeAt = cmp.Or(rd.pointer(at.At("server"), "server"), d.typeAt)
			d.sentAt = cmp.Or(rd.pointer(at.At("client"), "client"), d.sentAt)
		}
	}
	d.only = rd.Text(v.At("only"), "message.only")
	of := v.At("untyped")
	for _, name := range of.Keys() {
		d.untyped = append(d.untyped, untyped{name, rd.expression(of.At(name), "it")})
	}
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
// request, an event without data, a message that is no JSON object, or of no known type, and a restart of the target by
// the harness.
const (
	connecting = "connecting"
	connected  = "connected"
	ended      = "ended"
	answer     = "http"
	empty      = "empty"
	malformed  = "malformed"
	unknown    = "unknown"
	restarted  = "restarted"
)

var special = []string{connecting, connected, ended, answer, empty, malformed, unknown, restarted}

// expression reads an expression, with the given names besides those of the document.
func (rd *reader) expression(v script.Value, names ...string) *expression.Expression {
	if !v.There() {
		return nil
	}
	if _, list := v.Items(); list || v.Keys() != nil {
		rd.Fail(v, "it is no expression: put a list or a map of Expr into quotes (\"[]\")")
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

// sorted returns the keys of a map, sorted.
func sorted[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }
