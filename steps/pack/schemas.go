package pack

import (
	"bytes"
	"cmp"
	_ "embed"
	"errors"
	"fmt"
	"io"
	"maps"
	"path"
	"path/filepath"
	"slices"
	"strconv"
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
func (p *Pack) readSchemas(files map[string][]byte, name string, rd *reader) error {
	var mistakes []error
	p.doc.schemas = map[string]*toolschema.Tool{}
	for _, at := range slices.Sorted(maps.Keys(files)) {
		place := filepath.Join(name, at)
		kind := strings.TrimSuffix(path.Base(at), ".json")
		rd.types.used[kind] = true
		if known := append(sorted(p.doc.sends), p.doc.receives...); !slices.Contains(known, kind) {
			rd.types.add(kind, place, "no message has the type %q (%s)", kind, words.Suggest(kind, known, "there are "+
				strings.Join(known, ", ")))
		}
		schema, err := objectSchema(files[at], place)
		if err != nil {
			mistakes = append(mistakes, err)
			continue
		}
		own := toolschema.Mistakes(schema)
		for _, m := range own {
			mistakes = append(mistakes, fmt.Errorf("%s: %s: %s", placeIn(files[at], place, m.At), cmp.Or(m.At, "/"), m.Text))
		}
		tools, err := toolschema.Parse([]any{map[string]any{"name": kind, "parameters": schema}})
		if err == nil && len(own) == 0 {
			if err = tools[0].Accepts(map[string]any{}); errors.Is(err, toolschema.ErrNotUnderstood) {
				err = fmt.Errorf("it is too large to be judged by: %w", err)
			} else {
				err = nil
			}
		}
		if err != nil {
			mistakes = append(mistakes, fmt.Errorf("%s: %w", place, err))
			continue
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
		what := at.Err.Error()
		if errors.Is(at.Err, io.ErrUnexpectedEOF) {
			what = "it ends in the middle"
		}
		return nil, fmt.Errorf("%s: it is not JSON: %s", lineAndColumn(text, place, int(at.Offset)), what)
	}
	if err != nil {
		return nil, fmt.Errorf("%s: it is not JSON: %w", place, err)
	}
	schema, is := v.(map[string]any)
	if !is {
		return nil, fmt.Errorf(`%s:1:1: a JSON Schema of a message is an object (begin with {"type": "object"})`, place)
	}
	if twice := twiceIn(text, place); twice != nil {
		return nil, twice
	}
	if at, ref := refersElsewhere(schema, ""); ref != "" {
		return nil, fmt.Errorf("%s: $ref %q: it refers to nothing outside of its own file (#/$defs/…)",
			placeIn(text, place, at), ref)
	}
	top := placeIn(text, place, "")
	switch kind, typed := schema["type"]; {
	case kind == "object":
		return schema, nil
	case typed:
		said, _ := json.Marshal(kind, json.Deterministic(true), jsonform.Unescaped)
		return nil, fmt.Errorf(`%s: its type is %s, and a message is an object ("type": "object")`,
			placeIn(text, place, "/type"), said)
	case schema["$ref"] != nil:
		return nil, fmt.Errorf(`%s: a $ref at the top does not say that it is an object (add "type": "object" beside it)`,
			placeIn(text, place, "/$ref"))
	}
	for _, m := range toolschema.Mistakes(schema) {
		if strings.Count(m.At, "/") == 1 && strings.HasSuffix(m.Text, "(did you mean type?)") {
			return nil, fmt.Errorf("%s: %s", placeIn(text, place, m.At), m.Text)
		}
	}
	return nil, fmt.Errorf(`%s: it has no type, and a message is an object (add "type": "object")`, top)
}

// placeIn returns the place of a member of a JSON document, or of the whole, as file:line:column. One that is not there
// is in the next above it. The schemas of an AsyncAPI document have no lines.
func placeIn(text []byte, file string, pointer string) string {
	if filepath.Base(filepath.Dir(file)) != schemaFolder {
		return file
	}
	d := jsontext.NewDecoder(bytes.NewReader(text), jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true))
	for {
		t, err := d.ReadToken()
		if err != nil && pointer != "" {
			return placeIn(text, file, string(jsontext.Pointer(pointer).Parent()))
		}
		if err != nil {
			return file
		}
		if string(d.StackPointer()) == pointer {
			raw := len(t.String())
			if t.Kind() == '"' {
				raw += 2 // quotes; its name has no escapes, or the column is a little off
			}
			return lineAndColumn(text, file, max(0, int(d.InputOffset())-raw))
		}
	}
}

func lineAndColumn(text []byte, file string, offset int) string {
	before := text[:min(offset, len(text))]
	return fmt.Sprintf("%s:%d:%d", file, bytes.Count(before, []byte("\n"))+1,
		len(before)-bytes.LastIndexByte(before, '\n'))
}

// twiceIn tells a member that an object has twice: only one of them would count.
func twiceIn(text []byte, file string) error {
	d := jsontext.NewDecoder(bytes.NewReader(text), jsontext.AllowInvalidUTF8(true))
	_, err := d.ReadValue()
	var at *jsontext.SyntacticError
	if !errors.Is(err, jsontext.ErrDuplicateName) || !errors.As(err, &at) {
		return nil
	}
	return fmt.Errorf("%s: %s is there twice (leave one out)", lineAndColumn(text, file, int(at.ByteOffset)),
		at.JSONPointer.LastToken())
}

// refersElsewhere returns the first reference to another file in a schema, and where it is; "" if there is none.
func refersElsewhere(v any, at string) (where, ref string) {
	switch v := v.(type) {
	case map[string]any:
		if ref, is := v["$ref"].(string); is && !strings.HasPrefix(ref, "#") {
			return at + "/$ref", ref
		}
		for _, name := range sorted(v) {
			if where, ref = refersElsewhere(v[name], at+wjson.FormatPointer(name)); ref != "" {
				return where, ref
			}
		}
	case []any:
		for i, item := range v {
			if where, ref = refersElsewhere(item, at+wjson.FormatPointer(strconv.Itoa(i))); ref != "" {
				return where, ref
			}
		}
	}
	return "", ""
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
