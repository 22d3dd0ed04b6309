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
	"parley/internal/words"
	"parley/target"
)

// scopeNames are known to every expression: the message, its type, who sent it, on which connection, the HTTP request
// or answer, the event of an event stream, and, in what a rule owes or forbids, the message that is its cause.
var scopeNames = []string{"it", "kind", "from", "conn", "http", "event", "request", "act"}

// reader reads a protocol.yaml, and collects its mistakes.
type reader struct {
	script.Reader
	doc       *document
	file      string  // its place, for mistakes
	described *Sketch // by the AsyncAPI document of the folder; nil: there is none

	known   []string        // names that expressions may use
	strange bool            // it has a key that it cannot have, which may stand for one that is missing
	unsound map[string]bool // parts with mistakes, or that may be missing by mistake
	types   *names          // of messages
	states  *names          // that expressions use
	listed  []listed        // types of messages
	bags    []listed        // states
}

// part reads a part of the document, and notes whether it has mistakes.
func (rd *reader) part(root script.Value, key string, read func(script.Value)) {
	before := rd.Count()
	read(root.At(key))
	rd.unsound[key] = rd.unsound[key] || rd.Count() > before || rd.strange && !root.At(key).There()
}

// sound reports whether parts of the document were read without a mistake.
func (rd *reader) sound(keys ...string) bool {
	return !slices.ContainsFunc(keys, func(key string) bool { return rd.unsound[key] })
}

// placeOf returns the place of a value in mistakes.
func (rd *reader) placeOf(v script.Value) string {
	return fmt.Sprintf("%s:%d:%d", rd.file, v.Line(), v.Column())
}

var (
	protocolID = regexp.MustCompile(`^[a-z][a-z0-9]*(-[a-z0-9]+)*$`)
	prefixes   = regexp.MustCompile(`^[A-Z]{2}$`)
	named      = regexp.MustCompile(`^[a-z]\w*$`)
)

// keys are those of a protocol.yaml.
var keys = []string{"protocol", "prefix", "document", "capabilities", "transports", "message", "sends", "receives",
	"keeps", "stages", "fence", "state", "rules", "phrases", "load", "begins", "before"}

// read reads a protocol.yaml.
func (rd *reader) read(text []byte) {
	rd.unsound, rd.types, rd.states = map[string]bool{}, newNames(), newNames()
	root := rd.Read(text, "protocol")
	if !root.There() || !rd.Keys(root, "a protocol", keys...) {
		for _, key := range keys {
			rd.unsound[key] = true
		}
		return
	}
	rd.strange = slices.ContainsFunc(root.Keys(), func(key string) bool { return !slices.Contains(keys, key) })
	d := rd.doc
	rd.part(root, "protocol", func(script.Value) {
		d.id = rd.needed(root, "protocol", "my-protocol", protocolID, "small letters, digits and single hyphens")
	})
	rd.part(root, "prefix", func(script.Value) {
		d.prefix = rd.needed(root, "prefix", "MP", prefixes, "two capital letters")
	})
	rd.part(root, "document", rd.readDocument)
	if of := root.At("capabilities"); of.There() {
		d.capabilities = rd.Texts(of, "capabilities")
	}
	rd.part(root, "transports", func(v script.Value) { rd.readTransports(v, root) })
	rd.unsound["sends"] = rd.unsound["transports"] && (!root.At("transports").There() || d.post.path != "")
	rd.part(root, "message", rd.readMessage)
	rd.part(root, "sends", rd.readSends)
	rd.part(root, "receives", rd.readReceives)
	rd.describe(rd.described)
	rd.readBefore(root.At("before"))
	rd.part(root, "state", rd.readState)
	rd.known = append(rd.known, scopeNames...)
	for _, b := range d.bags {
		rd.known = append(rd.known, b.name)
	}
	rd.findMembers(root)
	rd.part(root, "keeps", rd.readKeeps)
	rd.readStages(root.At("stages"))
	rd.readLoad(root.At("load"))
	rd.readFence(root.At("fence"))
	for _, v := range rd.listAt(root, "rules") {
		rd.readRules(v)
	}
	rd.part(root, "phrases", func(script.Value) {
		for _, v := range rd.listAt(root, "phrases") {
			rd.readPhrase(v)
		}
	})
	d.begins = "client {c} is connected"
	if of := root.At("begins"); of.There() {
		if d.begins = rd.Text(of, "begins"); d.begins != "" && !strings.Contains(d.begins, "{c}") {
			rd.Fail(of, "begins is a step with {c} for the client (begins: client {c} has a ticket)")
		} else {
			d.beginsAt = of.Line()
		}
	}
}

// readDocument checks what is said of the source document: its name, which nothing opens.
func (rd *reader) readDocument(v script.Value) {
	text := rd.Text(v, "document")
	if strings.HasPrefix(text, "/") || slices.Contains(strings.Split(text, "/"), "..") {
		rd.Fail(v, "document %q is outside of the folder, of which alone is read (name the document: %s.md)", text,
			cmp.Or(rd.doc.id, "my-protocol"))
	}
}

// needed returns a text that must be there and match.
func (rd *reader) needed(root script.Value, key, example string, form *regexp.Regexp, says string) string {
	v := root.At(key)
	if !v.There() {
		if rd.strange {
			return ""
		}
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
	if !v.There() && (rd.described != nil || rd.strange) {
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
			if !rd.Keys(at, "sse", "open", "send") {
				continue
			}
			d.open, d.send = rd.pathAt(at.At("open"), "sse.open"), rd.Text(at.At("send"), "sse.send")
			if d.open == "" {
				rd.Fail(at, "sse.open is missing: the path of the event stream (open: /events)")
			}
			if method, where, ok := strings.Cut(d.send, " "); d.send != "" &&
				(!ok || method != strings.ToUpper(method) || !strings.HasPrefix(where, "/")) {
				rd.Fail(at.At("send"), "sse.send is a method and a path (send: POST /message)")
			}
		case target.WS:
			if !rd.Keys(at, "ws", "path", "subprotocols") {
				continue
			}
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
		if m := unknownName.FindStringSubmatch(err.Error()); m != nil {
			rd.states.add(m[1]+m[2], rd.placeOf(v), "%v%s", err, rd.meant(m[1], names))
			return nil
		}
		hint := ""
		if strings.Contains(err.Error(), "token EOF") {
			hint = " (in YAML a # after a space begins a comment: put the expression into quotes)"
		}
		rd.Fail(v, "%v%s", err, hint)
		return nil
	}
	for _, b := range rd.doc.bags {
		rd.states.used[b.name] = rd.states.used[b.name] || e.Mentions(b.name)
	}
	return e
}

// meant suggests a name for one that an expression does not know; "" if none is like it.
func (rd *reader) meant(name string, known []string) string {
	if near := words.Suggest(name, known, ""); name != "" && near != "" {
		return " (" + near + ")"
	}
	return ""
}

// unknownName matches what an expression says of a name, or of a member, that there is not.
var unknownName = regexp.MustCompile(`: unknown (?:name (\w+)|field (\w+)) \(`)

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

// sends reports whether clients send a type.
func (rd *reader) sends(name string) bool { _, is := rd.doc.sends[name]; return is }

func (rd *reader) readFence(v script.Value) {
	if !v.There() || !rd.Keys(v, "fence", "send", "answer", "where") {
		return
	}
	f := &fenceRule{send: rd.Text(v.At("send"), "fence.send"), answer: rd.Text(v.At("answer"), "fence.answer"),
		where: rd.expression(v.At("where"))}
	for _, key := range []string{"send", "answer"} {
		if at := v.At(key); at.There() {
			rd.typesOf(at, rd.Texts(at, key))
		} else {
			rd.Fail(v, "fence.%s is missing: a request, and its answer (fence: {send: ping, answer: pong, …})", key)
		}
	}
	if slices.Contains(rd.doc.receives, f.send) && !rd.sends(f.send) {
		rd.Fail(v.At("send"), "fence.send: servers send %q, and clients do not (a fence is a request of a client)", f.send)
	}
	if rd.sends(f.answer) && !slices.Contains(rd.doc.receives, f.answer) {
		rd.Fail(v.At("answer"), "fence.answer: clients send %q, and servers do not (name the answer)", f.answer)
	}
	if !v.At("where").There() {
		rd.Fail(v, "fence.where is missing: how its answer is recognised (where: it.ref == act.ref)")
	}
	rd.doc.fence = f
}

// sorted returns the keys of a map, sorted.
func sorted[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }
