package reports

import (
	"bytes"
	"encoding/json"
	"reflect"
	"slices"
	"strings"
	"testing"

	"parley/features/verdict"
)

// schemaNode is the part of JSON Schema that results.schema.json uses.
type schemaNode struct {
	ID         string                `json:"$id"`
	Ref        string                `json:"$ref"`
	Type       string                `json:"type"`
	Format     string                `json:"format"`
	Enum       []any                 `json:"enum"`
	Const      any                   `json:"const"`
	Properties map[string]schemaNode `json:"properties"`
	Required   []string              `json:"required"`
	Additional json.RawMessage       `json:"additionalProperties"`
	Items      *schemaNode           `json:"items"`
	Names      *schemaNode           `json:"propertyNames"`
	Defs       map[string]schemaNode `json:"$defs"`
}

func parsedSchema(t *testing.T) schemaNode {
	t.Helper()
	var root schemaNode
	if err := json.Unmarshal(Schema(), &root); err != nil {
		t.Fatal(err)
	}
	return root
}

// TestSchemaMatchesModel compares Results with the schema: each field is a property, each property a field, fields
// without omitempty are required, and the types agree.
func TestSchemaMatchesModel(t *testing.T) {
	root := parsedSchema(t)
	if root.ID != SchemaID {
		t.Errorf("$id is %q, want %q", root.ID, SchemaID)
	}
	used := map[string]bool{}
	w := schemaWalk{t, root, used}
	w.object("results", reflect.TypeFor[Results](), root)
	for name := range root.Defs {
		if !used[name] {
			t.Errorf("$defs/%s is used by no field", name)
		}
	}
}

type schemaWalk struct {
	t    *testing.T
	root schemaNode
	used map[string]bool
}

func (w schemaWalk) object(at string, typ reflect.Type, node schemaNode) {
	if string(node.Additional) != "false" {
		w.t.Errorf("%s: additionalProperties is %s, want false", at, node.Additional)
	}
	var fields, required []string
	for f := range typ.Fields() {
		name, opts, _ := strings.Cut(f.Tag.Get("json"), ",")
		if name == "-" {
			continue
		}
		fields = append(fields, name)
		if opts != "omitempty" {
			required = append(required, name)
		}
		prop, ok := node.Properties[name]
		if !ok {
			w.t.Errorf("%s: field %s is missing in the schema", at, name)
			continue
		}
		w.value(at+"."+name, f.Type, prop)
	}
	for name := range node.Properties {
		if !slices.Contains(fields, name) {
			w.t.Errorf("%s: property %s is no field", at, name)
		}
	}
	slices.Sort(required)
	if got := slices.Sorted(slices.Values(node.Required)); !slices.Equal(got, required) {
		w.t.Errorf("%s: required are %v, want %v", at, got, required)
	}
}

func (w schemaWalk) value(at string, typ reflect.Type, node schemaNode) {
	if name, ok := strings.CutPrefix(node.Ref, "#/$defs/"); ok {
		w.used[name] = true
		node = w.root.Defs[name]
	}
	want := map[reflect.Kind]string{
		reflect.Bool: "boolean", reflect.Int: "integer", reflect.Int64: "integer", reflect.Float64: "number",
		reflect.String: "string",
		reflect.Slice:  "array", reflect.Map: "object", reflect.Struct: "object",
	}
	if typ.Kind() == reflect.Pointer {
		typ = typ.Elem()
	}
	switch {
	case node.Enum != nil || node.Const != nil:
		return
	case node.Format == "date-time" && typ.String() == "time.Time":
		return
	case node.Type != want[typ.Kind()]:
		w.t.Errorf("%s: type is %q, want %q", at, node.Type, want[typ.Kind()])
		return
	}
	switch typ.Kind() {
	case reflect.Struct:
		w.object(at, typ, node)
	case reflect.Slice:
		w.value(at+"[]", typ.Elem(), *node.Items)
	case reflect.Map:
		var elem schemaNode
		if err := json.Unmarshal(node.Additional, &elem); err != nil {
			w.t.Fatalf("%s: %v", at, err)
		}
		if node.Names != nil {
			w.value(at+" keys", typ.Key(), *node.Names)
		}
		w.value(at+"{}", typ.Elem(), elem)
	}
}

func TestSchemaEnums(t *testing.T) {
	defs := parsedSchema(t).Defs
	same := func(def string, want []string) {
		var got []string
		for _, v := range defs[def].Enum {
			got = append(got, v.(string))
		}
		if !slices.Equal(got, want) {
			t.Errorf("%s: enum is %q, want %q", def, got, want)
		}
	}
	same("outcome", texts(verdict.Outcomes))
	same("level", texts(verdict.Levels))
	same("verdict", texts([]verdict.Verdict{verdict.Conformant, verdict.AsExpected, verdict.NonConformant,
		verdict.Incomplete}))
}

func texts[T ~string](list []T) []string {
	var out []string
	for _, v := range list {
		out = append(out, string(v))
	}
	return out
}

func TestSchemaIsACopy(t *testing.T) {
	Schema()[0] = 'x'
	if Schema()[0] != '{' {
		t.Error("a caller changed the schema of others")
	}
}

func TestValidate(t *testing.T) {
	good := written(t, sample())
	if err := Validate(good); err != nil {
		t.Errorf("what WriteJSON writes: %v", err)
	}
	for _, tt := range []struct{ reason, old, new, want string }{
		{"an outcome of its own", `"outcome": "warned"`, `"outcome": "meh"`, "/outcome"},
		{"an unknown verdict", `"verdict": "incomplete"`, `"verdict": "fine"`, "/runs/1/verdict"},
		{"an unknown level", `"level": "INFO"`, `"level": "info"`, "/level"},
		{"an unknown key", `"seed": 42`, `"sead": 42, "seed": 42`, "sead"},
		{"a missing key", `"seed": 42,`, ``, "seed"},
		{"an exit code of its own", `"exit": 4`, `"exit": 7`, "/exit"},
		{"a time without a zone", `"started": "2026-03-01T09:30:00Z"`, `"started": "2026-03-01"`, "/started"},
		{"an outcome as a map's key", `"passed": 1`, `"succeeded": 1`, "succeeded"},
		{"evidence without a path", `"path": "evidence/sse-AS-4.2-01-page-A.png",`, ``, "path"},
		{"evidence without a type", `"type": "text/html",`, ``, "type"},
		{"evidence with a key of its own", `"type": "image/png"`, `"type": "image/png", "size": 1`, "size"},
		{"not JSON", `{`, ``, "not JSON"},
	} {
		t.Run(tt.reason, func(t *testing.T) {
			bad := bytes.Replace(good, []byte(tt.old), []byte(tt.new), 1)
			if bytes.Equal(bad, good) {
				t.Fatalf("%s does not occur", tt.old)
			}
			err := Validate(bad)
			if err == nil || !strings.Contains(err.Error(), tt.want) || strings.Contains(err.Error(), "\n") {
				t.Errorf("error is %v, want one line that names %s", err, tt.want)
			}
		})
	}
}

// TestResultsOfOld: results without evidence are read and written as before.
func TestResultsOfOld(t *testing.T) {
	r := sample()
	for i := range r.Runs[0].Scenarios {
		r.Runs[0].Scenarios[i].Evidence = nil
	}
	old := written(t, r)
	if bytes.Contains(old, []byte("evidence")) {
		t.Error("no evidence is written as something")
	}
	if _, err := ReadJSON(bytes.NewReader(old)); err != nil {
		t.Error(err)
	}
}

// TestBaselineStates: results with a row in any state can be read.
func TestBaselineStates(t *testing.T) {
	for _, state := range []string{verdict.RowApplied, verdict.RowStale, verdict.RowExpired, verdict.RowUnknown,
		verdict.RowUnused} {
		r := sample()
		r.Runs[0].Baseline = []BaselineRow{{Clause: "AS-080", Reason: "issue 1", State: state}}
		if err := Validate(written(t, r)); err != nil {
			t.Errorf("%s: %v", state, err)
		}
	}
}
