package pack

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"parley/internal/jsonform"
	"parley/target"
)

// Sketch is what an AsyncAPI document or a recording tells of a protocol: where its messages pass, and their forms. It
// tells nothing of what is owed when.
type Sketch struct {
	From string // the file, for people

	SSE, Send string          // path of the event stream; method and path of a client's messages
	WS        string          // path
	Post      string          // path of requests that are answered by event streams
	Type      target.Pointer  // where the server's messages have their type
	Sent      target.Pointer  // where those of a client have it
	Only      string          // the only type that clients send, which is not in their messages; "": they have types
	Greeting  string          // the type that comes first on a connection; "": none, or not known
	Before    SketchedRequest // what a client asks before it connects, if its answer fills holes of the paths
	Keeps     []SketchedKeep  // what fills the holes of the paths and of what clients send, as far as it is known

	Sends, Receives []SketchedMessage
}

// SketchedMessage is a type of messages.
type SketchedMessage struct {
	Type   string
	Schema map[string]any // JSON Schema of an object; nil: not known
	Answer string         // of a client's message: the type that came next; "": not known
	Sent   map[string]any // of a client's message: what was sent, with holes; nil: not known
}

// addMessage adds a type once.
func addMessage(to *[]SketchedMessage, m SketchedMessage) {
	if !slices.ContainsFunc(*to, func(o SketchedMessage) bool { return o.Type == m.Type }) {
		*to = append(*to, m)
	}
}

// DraftFrom is Draft for a protocol of which a file tells the messages: they are in protocol.yaml and messages, each
// form is a clause, and each message of a client is sent. What the server owes when is left to write.
func DraftFrom(id string, s *Sketch) (map[string][]byte, error) {
	out, err := Draft(id)
	if err != nil {
		return nil, err
	}
	for _, name := range []string{"server.yaml", "mutants.yaml", id + ".md"} {
		delete(out, name)
	}
	of := *s
	d := &drafting{id: id, prefix: prefixOf(id), Sketch: &of}
	out["protocol.yaml"], out["clauses.yaml"] = d.protocol(), d.clauses()
	out["1_first.feature"] = d.feature()
	for _, m := range append(slices.Clone(s.Sends), s.Receives...) {
		if m.Schema == nil {
			continue
		}
		b, err := json.Marshal(m.Schema, json.Deterministic(true), jsonform.Unescaped, jsontext.WithIndent("  "))
		if err != nil {
			return nil, err
		}
		out[schemaFolder+"/"+m.Type+".json"] = append(b, '\n')
	}
	return out, nil
}

// drafting writes the files of a sketch.
type drafting struct {
	*Sketch
	id, prefix string
}

// judged lists the messages whose forms are clauses.
func (d *drafting) judged() (types []string) {
	for _, m := range d.Receives {
		if m.Schema != nil {
			types = append(types, m.Type)
		}
	}
	return types
}

func (d *drafting) protocol() []byte {
	var b strings.Builder
	say := func(format string, args ...any) { fmt.Fprintf(&b, format+"\n", args...) }
	say("# yaml-language-server: $schema=schemas/protocol.schema.json")
	say("# Drafted from %s: the messages. What the server owes on which of them is yours to write (rules).", d.From)
	say("protocol: %s\nprefix: %s\ndocument: %s\n\ntransports:", d.id, d.prefix, d.From)
	if d.SSE != "" {
		say("  sse: {open: %s, send: %s}", yamlText(d.SSE), yamlText(d.Send))
	}
	if d.WS != "" {
		say("  ws: {path: %s}", yamlText(d.WS))
	}
	if d.Post != "" {
		say("  post: {path: %s}", yamlText(d.Post))
	}
	if d.Before.Request != "" {
		say("\nbefore: {request: %s, body: %s}", yamlText(d.Before.Request), yamlText(d.Before.Body))
	}
	say("\nmessage: {type: %s}\n\nsends:", d.types())
	for _, m := range d.Sends {
		say("  %s: %s", yamlText(m.Type), yamlText(d.example(m)))
	}
	var types []string
	for _, m := range d.Receives {
		types = append(types, yamlText(m.Type))
	}
	say("\nreceives: [%s]\n%s\nrules:", strings.Join(types, ", "), d.keeps())
	for i, kind := range d.judged() {
		say("  - {on: %s, valid: true, clauses: %s-%03d}", yamlText(kind), d.prefix, i+1)
	}
	say("  # - {on: ping, owes: {type: pong, where: it.n == act.n}, clauses: %s-%03d}", d.prefix, len(d.judged())+1)
	return []byte(b.String())
}

// keeps says which messages fill the holes: those that are known to, else those with such a member, or the first one.
func (d *drafting) keeps() string {
	var b strings.Builder
	var known []string
	for _, k := range d.Keeps {
		fmt.Fprintf(&b, "  - {on: %s, %s: %s}\n", yamlText(k.On), k.Name, yamlText(k.Value))
		if known = append(known, k.Name); k.On != answer && strings.Contains(d.SSE+d.Send+d.WS+d.Post, "${"+k.Name+"}") {
			d.Greeting = cmp.Or(d.Greeting, k.On) // clients wait for it before they send
		}
	}
	for _, m := range hole.FindAllStringSubmatch(d.SSE+d.Send+d.WS+d.Post, -1) {
		if len(d.Receives) == 0 || slices.Contains(append(known, "new", "nonce"), m[1]) {
			continue
		}
		known = append(known, m[1])
		on, note := cmp.Or(d.Greeting, d.Receives[0].Type), "   # a guess: which message tells it?"
		for _, r := range d.Receives {
			members, _ := r.Schema["properties"].(map[string]any)
			if _, has := members[m[1]]; has {
				on, note = r.Type, ""
				break
			}
		}
		fmt.Fprintf(&b, "  - {on: %s, %s: it?.%[2]s}%s\n", yamlText(on), m[1], note)
		d.Greeting = cmp.Or(d.Greeting, on)
	}
	if b.Len() == 0 {
		return ""
	}
	return "\nkeeps:\n" + b.String()
}

// before returns the steps before a client sends a message, so that it keeps what fills its holes: it receives what
// tells it, and sends before that what this answers.
func (d *drafting) before(m SketchedMessage) (lines []string) {
	text := d.Send + yamlText(m.Sent)
	for _, k := range d.Keeps {
		if !strings.Contains(text, "${"+k.Name+"}") || k.On == d.Greeting || k.On == answer {
			continue
		}
		i := slices.IndexFunc(d.Sends, func(o SketchedMessage) bool { return o.Answer == k.On })
		if i >= 0 && d.Sends[i].Type != m.Type && isSent(d.Sends[i]) {
			lines = append(lines, fmt.Sprintf("client A sends %q", d.Sends[i].Type))
		}
		lines = append(lines, fmt.Sprintf("client A receives %q", k.On))
	}
	return lines
}

// types says where messages have their type.
func (d *drafting) types() string {
	if d.Only != "" {
		return fmt.Sprintf("%s, only: %s", yamlText(string(d.Type)), yamlText(d.Only))
	}
	if d.Sent == d.Type {
		return yamlText(string(d.Type))
	}
	return fmt.Sprintf("{client: %s, server: %s}", yamlText(string(d.Sent)), yamlText(string(d.Type)))
}

func (d *drafting) clauses() []byte {
	var b strings.Builder
	fmt.Fprintf(&b, "# yaml-language-server: $schema=schemas/clauses.schema.json\nprotocol: %s\nsource: %s\n"+
		"defaults: {level: MUST, observed: wire, status: tested}\nclauses:\n", d.id, yamlText(d.From))
	for i, kind := range d.judged() {
		fmt.Fprintf(&b, "  - {id: %s-%03d, section: %s, text: %s, source: %s}\n", d.prefix, i+1, yamlText(kind),
			yamlText(kind+" has the form of messages/"+kind+".json."), yamlText(kind))
	}
	return []byte(b.String())
}

// feature has a scenario for each message of a client.
func (d *drafting) feature() []byte {
	var b strings.Builder
	tags := ""
	for i := range d.judged() {
		tags += fmt.Sprintf(" @%s-%03d", d.prefix, i+1)
	}
	fmt.Fprintf(&b, "@%s\nFeature: first scenarios\n", d.id)
	begin := func(name, more string) {
		fmt.Fprintf(&b, "\n %s%s\n  Scenario: %s\n    Given client A is connected\n", more, tags, name)
		if d.Greeting != "" {
			fmt.Fprintf(&b, "    And client A receives %q\n", d.Greeting)
		}
	}
	begin("a client connects", " @preflight-1 @preflight-2 @preflight-3")
	for _, m := range d.Sends {
		if !isSent(m) {
			continue
		}
		begin("a client sends "+m.Type, "")
		for _, line := range d.before(m) {
			fmt.Fprintf(&b, "    And %s\n", line)
		}
		fmt.Fprintf(&b, "    When client A sends %q\n", m.Type)
		if namesReceived.MatchString(fmt.Sprintf("client A receives %q", m.Answer)) {
			fmt.Fprintf(&b, "    Then client A receives %q\n", m.Answer)
		}
	}
	return []byte(b.String())
}

// isSent reports whether a step can have the name of a message.
func isSent(m SketchedMessage) bool {
	return namesSent.MatchString(fmt.Sprintf("client A sends %q", m.Type))
}

// example returns the members of a message besides its type.
func (d *drafting) example(m SketchedMessage) map[string]any {
	v, _ := exampleOf(m.Schema, 0).(map[string]any)
	if v == nil {
		v = map[string]any{}
	}
	if m.Sent != nil {
		v = maps.Clone(m.Sent)
	}
	if d.Only == "" {
		delete(v, strings.TrimPrefix(string(d.Sent), "/"))
	}
	return v
}

// exampleOf returns a value that is as a JSON Schema says. Texts are new ones.
func exampleOf(schema map[string]any, depth int) any {
	for _, name := range []string{"const", "default"} {
		if v, is := schema[name]; is {
			return v
		}
	}
	for _, name := range []string{"enum", "examples"} {
		if of, _ := schema[name].([]any); len(of) > 0 {
			return of[0]
		}
	}
	kind, _ := schema["type"].(string)
	if of, _ := schema["type"].([]any); len(of) > 0 {
		kind, _ = of[0].(string)
	}
	switch kind {
	case "object":
		out := map[string]any{}
		members, _ := schema["properties"].(map[string]any)
		required, _ := schema["required"].([]any)
		for _, name := range slices.Sorted(maps.Keys(members)) {
			if of, is := members[name].(map[string]any); is && slices.Contains(required, any(name)) && depth < maxDepth {
				out[name] = exampleOf(of, depth+1)
			}
		}
		return out
	case "array":
		return []any{}
	case "integer", "number":
		return 1
	case "boolean":
		return true
	case "null":
		return nil
	}
	return "${new}"
}

// yamlText writes a value as YAML that is JSON, but for plain words.
func yamlText(v any) string {
	if text, is := v.(string); is && plainWord.MatchString(text) {
		return text
	}
	b, err := json.Marshal(v, json.Deterministic(true), jsonform.Unescaped)
	if err != nil {
		return "null"
	}
	return string(b)
}
