package pack

import (
	"bytes"
	_ "embed"
	"errors"
	"fmt"
	"io"
	"maps"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"parley/internal/faultrule"
	"parley/internal/jsonform"
	"parley/internal/words"
	"parley/steps/toolschema"
	wjson "parley/transport/wire/json"
)

// schemaFolder has the JSON Schemas of messages, each in a file of its type's name.
const schemaFolder = "messages"

// readSchemas reads the JSON Schemas of messages. Each describes an object, and loads no other.
func (p *Pack) readSchemas(files map[string][]byte, name string) error {
	var mistakes []error
	p.doc.schemas = map[string]*toolschema.Tool{}
	for _, at := range slices.Sorted(maps.Keys(files)) {
		place := filepath.Join(name, at)
		fail := func(format string, args ...any) {
			mistakes = append(mistakes, fmt.Errorf("%s: %s", place, fmt.Sprintf(format, args...)))
		}
		kind := strings.TrimSuffix(path.Base(at), ".json")
		if known := append(sorted(p.doc.sends), p.doc.receives...); !slices.Contains(known, kind) {
			fail("no message has the type %q (%s)", kind, words.Suggest(kind, known, "there are "+strings.Join(known, ", ")))
			continue
		}
		schema, err := objectSchema(files[at], place)
		if err != nil {
			mistakes = append(mistakes, err)
			continue
		}
		tools, err := toolschema.Parse([]any{map[string]any{"name": kind, "parameters": schema}})
		switch {
		case err != nil:
			fail("%v", err)
			continue
		case len(tools.Odd()) > 0:
			fail("%s", strings.TrimPrefix(tools.Odd()[0], kind+": "))
		}
		if err := tools[0].Accepts(map[string]any{}); errors.Is(err, toolschema.ErrNotUnderstood) {
			fail("it is too large to be judged by: %v", err)
		}
		p.doc.schemas[kind] = &tools[0]
	}
	for _, r := range p.doc.rules {
		if r.valid && len(files) == 0 {
			mistakes = append(mistakes, fmt.Errorf("%s:%d: valid: there are no JSON Schemas (%s/TYPE.json)",
				filepath.Join(name, "protocol.yaml"), r.line, schemaFolder))
		}
	}
	return errors.Join(mistakes...)
}

// objectSchema reads a JSON Schema of an object. place stands for its file in mistakes.
func objectSchema(text []byte, place string) (map[string]any, error) {
	v, _, err := wjson.Decode(text)
	var at *wjson.SyntaxError
	if errors.As(err, &at) {
		before := text[:min(int(at.Offset), len(text))]
		what := at.Err.Error()
		if errors.Is(at.Err, io.ErrUnexpectedEOF) {
			what = "it ends in the middle"
		}
		return nil, fmt.Errorf("%s:%d:%d: it is not JSON: %s", place, bytes.Count(before, []byte("\n"))+1,
			len(before)-bytes.LastIndexByte(before, '\n'), what)
	}
	if err != nil {
		return nil, fmt.Errorf("%s: it is not JSON: %w", place, err)
	}
	schema, is := v.(map[string]any)
	if !is {
		return nil, fmt.Errorf(`%s: a JSON Schema of a message is an object (begin with {"type": "object"})`, place)
	}
	if ref := refersElsewhere(schema); ref != "" {
		return nil, fmt.Errorf("%s: $ref %q: it refers to nothing outside of its own file (#/$defs/…)", place, ref)
	}
	switch kind, typed := schema["type"]; {
	case kind == "object":
		return schema, nil
	case typed:
		said, _ := json.Marshal(kind, json.Deterministic(true), jsonform.Unescaped)
		return nil, fmt.Errorf(`%s: its type is %s, and a message is an object ("type": "object")`, place, said)
	case schema["$ref"] != nil:
		return nil, fmt.Errorf(`%s: a $ref at the top does not say that it is an object (add "type": "object" beside it)`,
			place)
	}
	return nil, fmt.Errorf(`%s: it has no type, and a message is an object (add "type": "object")`, place)
}

// refersElsewhere returns the first reference to another file in a schema; "" if there is none.
func refersElsewhere(v any) string {
	switch v := v.(type) {
	case map[string]any:
		if at, is := v["$ref"].(string); is && !strings.HasPrefix(at, "#") {
			return at
		}
		for _, name := range sorted(v) {
			if at := refersElsewhere(v[name]); at != "" {
				return at
			}
		}
	case []any:
		for _, item := range v {
			if at := refersElsewhere(item); at != "" {
				return at
			}
		}
	}
	return ""
}

// checkValid judges a message by the JSON Schema of its type, if there is one.
func (mo *model) checkValid(r *rule, m *message, b *book) {
	schema := mo.doc.schemas[m.kind]
	if schema == nil || m.r.Event == nil {
		return
	}
	err := schema.Accepts(m.r.Event.Data)
	if errors.Is(err, toolschema.ErrNotUnderstood) {
		return // the message is too large to be judged by a schema
	}
	why := ""
	if err != nil {
		why = fmt.Sprintf(": %v", err)
	}
	b.Member(err == nil, m, r.clauses, r.expects("a message that is valid by "+schemaFolder+"/"+m.kind+".json"), "%s%s",
		m.described(), why)
}

// ProtocolSchema returns the JSON Schema of protocol.yaml, for editors: every file that Load accepts is valid by it.
func ProtocolSchema() []byte { return slices.Clone(protocolSchema) }

// ClausesSchema returns the JSON Schema of clauses.yaml, for editors.
func ClausesSchema() []byte { return slices.Clone(clausesSchema) }

// MutantsSchema returns the JSON Schema of mutants.yaml, for editors. It contains that of faults.
func MutantsSchema() []byte {
	var own, faults map[string]any
	if err := errors.Join(json.Unmarshal(mutantsSchema, &own), json.Unmarshal(faultrule.Schema(), &faults)); err != nil {
		panic("the schema of mutants.yaml: " + err.Error())
	}
	maps.Copy(own["$defs"].(map[string]any), faults["$defs"].(map[string]any))
	b, err := json.Marshal(own, json.Deterministic(true), jsonform.Unescaped, jsontext.WithIndent("  "))
	if err != nil {
		panic("the schema of mutants.yaml: " + err.Error())
	}
	return append(b, '\n')
}

var (
	//go:embed protocol.schema.json
	protocolSchema []byte
	//go:embed clauses.schema.json
	clausesSchema []byte
	//go:embed mutants.schema.json
	mutantsSchema []byte
)
