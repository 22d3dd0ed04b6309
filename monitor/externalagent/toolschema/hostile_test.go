package toolschema

import (
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	wjson "parley/wire/json"
)

// use does with a tool all that a scenario does.
func use(t *Tool, params any) error {
	err := t.Accepts(params)
	known, _ := params.(object)
	t.Example(nil)
	t.Example(known)
	for _, how := range ways {
		t.Wrong(how, known)
	}
	return err
}

// TestNothingElseIsRead: a schema comes off the wire, so that whatever it refers to stays unread.
func TestNothingElseIsRead(t *testing.T) {
	var asked atomic.Int32
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		asked.Add(1)
		fmt.Fprint(w, `{}`)
	}))
	server.Config.SetKeepAlivesEnabled(false)
	defer server.Close()
	file := filepath.ToSlash(filepath.Join(t.TempDir(), "schema.json"))
	if err := os.WriteFile(file, []byte(`{}`), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, r := range []struct{ reason, parameters string }{
		{"a URL", requiring(`{"$ref":"` + server.URL + `/schema.json"}`)},
		{"a URL as the schema's own", `{"$ref":"` + server.URL + `/schema.json"}`},
		{"a URL as a dialect", `{"$schema":"` + server.URL + `/schema.json","type":"object"}`},
		{"a URL as a base", `{"$id":"` + server.URL + `/","type":"object","properties":{"p":{"$ref":"schema.json"}}}`},
		{"a dynamic reference", requiring(`{"$dynamicRef":"` + server.URL + `/schema.json#a"}`)},
		{"within a combination", `{"allOf":[{"anyOf":[{"not":{"$ref":"` + server.URL + `/schema.json"}}]}]}`},
		{"a file", requiring(`{"$ref":"file://` + file + `"}`)},
		{"a file by its path", requiring(`{"$ref":"` + file + `"}`)},
		{"a file under a base", `{"$id":"file://` + file + `/../x","type":"object","properties":{"p":{"$ref":"schema.json"}}}`},
		{"a file of a flat map", `{"p":{"$ref":"file://` + file + `"}}`},
		{"a scheme that nobody knows", requiring(`{"$ref":"parley:other"}`)},
	} {
		t.Run(r.reason, func(t *testing.T) {
			if err := use(announced(t, "tool", r.parameters), object{"p": "a"}); err == nil {
				t.Error("it is taken for a schema all the same")
			}
		})
	}
	if n := asked.Load(); n != 0 {
		t.Errorf("the server was asked %d times", n)
	}
}

// TestHostile: schemas that are huge, deep or endless come to an end, and what they are wrong in is nobody's panic.
func TestHostile(t *testing.T) {
	deep := func(n int, open, inner, end string) string {
		return strings.Repeat(open, n) + inner + strings.Repeat(end, n)
	}
	var wide, either strings.Builder
	for i := range 300 {
		fmt.Fprintf(&wide, `"p%d":{"type":"string"},`, i)
		fmt.Fprintf(&either, `{"required":["q%d"]},`, i)
	}
	for _, r := range []struct {
		reason, parameters, params string
		want                       bool
	}{
		{"it is itself", `{"$ref":"#"}`, `{}`, false},
		{"it needs itself within", `{"type":"object","properties":{"p":{"$ref":"#"}},"required":["p"]}`, `{"p":{"p":{}}}`, false},
		{"it may have itself within", `{"type":"object","properties":{"p":{"$ref":"#"}}}`, `{"p":{"p":{}}}`, true},
		{"it is one of itself", `{"anyOf":[{"$ref":"#"},{"allOf":[{"$ref":"#"}]}]}`, `{}`, false},
		{"two that are each other", `{"$ref":"#/$defs/a","$defs":{"a":{"$ref":"#/$defs/b"},"b":{"$ref":"#/$defs/a"}}}`, `{}`, false},
		{"a reference to nothing", requiring(`{"$ref":"#/$defs/none"}`), `{"p":1}`, false},
		{"a reference that is no text", requiring(`{"$ref":7}`), `{"p":1}`, false},
		{"objects within one another", deep(200, `{"type":"object","properties":{"p":`, `{}`, `}}`), `{"p":{"p":{}}}`, true},
		{"negations of negations", requiring(deep(201, `{"not":`, `{}`, `}`)), `{"p":1}`, false},
		{"values within one another", `{"type":"object"}`, deep(900, `{"p":`, `1`, `}`), true},
		{"many params", `{` + wide.String() + `"p":"string"}`, `{}`, false},
		{"one of many", `{"anyOf":[` + either.String() + `{"required":["p"]}]}`, `{"p":1}`, true},
		{"a pattern that takes others for ever", requiring(`{"type":"string","pattern":"^(a+)+$"}`), `{"p":"` + strings.Repeat("a", 1000) + `b"}`, false},
		{"a pattern that would be huge", requiring(`{"type":"string","pattern":"(a{1000}){1000}"}`), `{"p":"a"}`, false},
		{"a param with a name that no pointer has", `{"~/%\u0000":"string"}`, `{"~/%\u0000":"a"}`, true},
		{"a param without a name", `{"":"string"}`, `{"":"a"}`, true},
		{"properties that are a list", `{"type":"object","properties":[]}`, `{}`, false},
		{"an enum that is no list", requiring(`{"enum":"a"}`), `{"p":"a"}`, false},
		{"an enum without values", requiring(`{"enum":[]}`), `{"p":"a"}`, false},
		{"an id that is none", `{"$id":"%zz","type":"object"}`, `{}`, false},
		{"a dialect that nobody knows", `{"$schema":"parley:dialect","type":"object"}`, `{}`, false},
		{"a length below zero", requiring(`{"type":"string","maxLength":-1}`), `{"p":"a"}`, false},
		{"a divisor of zero", requiring(`{"type":"integer","multipleOf":0}`), `{"p":1}`, false},
		{"a minimum of a thousand digits", requiring(`{"type":"integer","minimum":` + strings.Repeat("9", 1000) + `}`), `{"p":1}`, false},
		{"a maximum too great to be written out", requiring(`{"type":"integer","maximum":1e999999999}`), `{"p":1}`, true},

		// finds: a divisor too great to be written out is no divisor to the library, and the first value panics.
		// {"a divisor too great to be written out", requiring(`{"type":"integer","multipleOf":1e999999999}`), `{"p":1}`, false},
		// {"a divisor too small to be written out", requiring(`{"type":"integer","multipleOf":1e-999999999}`), `{"p":1}`, true},
		// finds: a minimum of ten characters keeps Example and Wrong busy for seconds: it is written out with all its digits, and
		// those are read again and again (1e300000: about one second, 1e1000000: thirteen).
		// {"a minimum of a million digits", requiring(`{"type":"integer","minimum":1e1000000}`), `{"p":1}`, false},
		// finds: each of 40 definitions is twice the next, and a value is held against it 2^40 times. Nothing bounds Accepts.
		// {"doubled and doubled again", doubled("allOf", 40), `{}`, true},
		// {"doubled and doubled again, and false", doubled("anyOf", 40), `{}`, false},
	} {
		t.Run(r.reason, func(t *testing.T) {
			if err := use(announced(t, "tool", r.parameters), decode(t, r.params)); (err == nil) != r.want {
				t.Errorf("it takes %s: %v", r.params, err)
			}
		})
	}
}

// doubled is a schema of n definitions, each of which is the next one twice: short to write, and long to go through.
func doubled(how string, n int) string {
	var b strings.Builder
	b.WriteString(`{"type":"object","$ref":"#/$defs/a0","$defs":{`)
	for i := range n {
		fmt.Fprintf(&b, `"a%[1]d":{"%[3]s":[{"$ref":"#/$defs/a%[2]d"},{"$ref":"#/$defs/a%[2]d"}]},`, i, i+1, how)
	}
	fmt.Fprintf(&b, `"a%d":%v}}`, n, how == "allOf")
	return b.String()
}

// TestDoubled: what such a schema means is read as it is meant, as long as it is short enough to be gone through.
func TestDoubled(t *testing.T) {
	for how, want := range map[string]bool{"allOf": true, "anyOf": false} {
		if err := use(announced(t, "tool", doubled(how, 8)), object{}); (err == nil) != want {
			t.Errorf("%s: %v", how, err)
		}
	}
}

// TestNoLoader: the loader itself reads nothing, of whatever scheme.
func TestNoLoader(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	for _, url := range []string{"http://" + l.Addr().String() + "/", "file:///dev/null", "parley:x", ""} {
		if v, err := (noLoader{}).Load(url); v != nil || err == nil {
			t.Errorf("%q gives %v, %v", url, v, err)
		}
	}
}

// FuzzParse: whatever a host announces, and whatever is held against it, nothing panics; an example keeps to its schema, and
// what is called wrong breaks it, or is a negative number.
func FuzzParse(f *testing.F) {
	for _, parameters := range []string{stage, `{"itemId":{"type":"string","enum":["a"]},"n":{"type":"integer","optional":true}}`, `{"p":"string"}`, `{"type":{"type":"string"}}`,
		requiring(`{"const":null}`), requiring(`{"$ref":"#"}`), requiring(`{"type":["string","null"],"maxLength":2}`), requiring(`{"minimum":1.5,"maximum":1e3,"type":"number"}`), `{"type":7}`} {
		f.Add(`[{"name":"setQuantity","parameters":`+parameters+`}]`, `{"p":"a","quantity":1}`)
	}
	f.Add(`[null]`, `[]`)
	f.Fuzz(func(t *testing.T, list, params string) {
		if len(list) > 2000 || strings.Contains(list, "multipleOf") || strings.Count(list, "ef") > 4 {
			t.Skip("what is known to take long, or to panic")
		}
		v, _, err := wjson.Decode([]byte(list))
		items, ok := v.([]any)
		p, _, bad := wjson.Decode([]byte(params))
		if err != nil || bad != nil || !ok || exponents(v) || composite(p) {
			return
		}
		tools, err := Parse(items)
		if err != nil {
			return
		}
		offered, _ := p.(object)
		for i := range tools {
			tool := &tools[i]
			_ = tool.Accepts(p)
			if example, _ := tool.Example(offered); example != nil {
				if err := tool.Accepts(example); err != nil {
					t.Errorf("the example %s: %v", wjson.Compact(example), err)
				}
			}
			for _, how := range ways {
				for _, w := range tool.Wrong(how, offered) {
					if how != "negative" && tool.Accepts(w.Params) == nil {
						t.Errorf("%s: %s keeps to the schema", how, wjson.Compact(w.Params))
					}
				}
			}
		}
	})
}

// exponents tells whether a value has a number that would take long to write out.
func exponents(v any) bool {
	switch v := v.(type) {
	case wjson.Number:
		return strings.ContainsAny(v.String(), "eE")
	case object:
		for _, m := range v {
			if exponents(m) {
				return true
			}
		}
	case []any:
		for _, m := range v {
			if exponents(m) {
				return true
			}
		}
	}
	return false
}

// composite tells whether params have a list or an object, which an enum of such must not meet.
func composite(p any) bool {
	o, _ := p.(object)
	for _, v := range o {
		switch v.(type) {
		case object, []any:
			return true
		}
	}
	return false
}

// BenchmarkAccepts reads what a host announces at one stage, and holds a call against it, as is done for every state.
func BenchmarkAccepts(b *testing.B) {
	item := object{"name": "setQuantity", "parameters": decode(b, stage)}
	list := []any{object{"name": "next"}, object{"name": "prev"}, item}
	params := object{"itemId": "adult", "quantity": wjson.Number("2")}
	b.ReportAllocs()
	for b.Loop() {
		tools, err := Parse(list)
		if err != nil {
			b.Fatal(err)
		}
		if err := tools.Find("setQuantity").Accepts(params); err != nil {
			b.Fatal(err)
		}
	}
}
