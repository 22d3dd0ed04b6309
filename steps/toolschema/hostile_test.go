package toolschema

import (
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	wjson "parley/transport/wire/json"
)

// use does everything with a tool that a scenario does.
func use(t *Tool, params any) error {
	err := t.Accepts(params)
	known, _ := params.(object)
	t.Example(nil)
	t.Example(known)
	for _, how := range ways {
		t.Wrong(how, known, nil)
	}
	return err
}

// TestNothingElseIsRead checks that nothing a schema from the wire refers to is read.
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
		{"a file under a base", `{"$id":"file://` + file +
			`/../x","type":"object","properties":{"p":{"$ref":"schema.json"}}}`},
		{"a file of a flat map", `{"p":{"$ref":"file://` + file + `"}}`},
		{"an unknown scheme", requiring(`{"$ref":"parley:other"}`)},
	} {
		t.Run(r.reason, func(t *testing.T) {
			tool := announced(t, "tool", r.parameters)
			if err := use(tool, object{"p": "a"}); err == nil && len((Tools{*tool}).Odd()) == 0 &&
				r.reason != "a URL as a dialect" {
				t.Error("it is taken for a schema all the same")
			}
		})
	}
	if n := asked.Load(); n != 0 {
		t.Errorf("the server was asked %d times", n)
	}
}

// TestHostile checks that huge, deep or endless schemas terminate, and that none causes a panic.
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
		{"it needs itself within", `{"type":"object","properties":{"p":{"$ref":"#"}},"required":["p"]}`, `{"p":{"p":{}}}`,
			false},
		{"it may have itself within", `{"type":"object","properties":{"p":{"$ref":"#"}}}`, `{"p":{"p":{}}}`, true},
		{"it is one of itself", `{"anyOf":[{"$ref":"#"},{"allOf":[{"$ref":"#"}]}]}`, `{}`, false},
		{"two that are each other", `{"$ref":"#/$defs/a","$defs":{"a":{"$ref":"#/$defs/b"},"b":{"$ref":"#/$defs/a"}}}`, `{}`,
			false},
		{"a reference to nothing", requiring(`{"$ref":"#/$defs/none"}`), `{"p":1}`, true},
		{"a reference that is not a text", requiring(`{"$ref":7}`), `{"p":1}`, true},
		{"objects within one another", deep(200, `{"type":"object","properties":{"p":`, `{}`, `}}`), `{"p":{"p":{}}}`, true},
		{"negations of negations", requiring(deep(201, `{"not":`, `{}`, `}`)), `{"p":1}`, false},
		{"values within one another", `{"type":"object"}`, deep(900, `{"p":`, `1`, `}`), true},
		{"many params", `{` + wide.String() + `"p":"string"}`, `{}`, false},
		{"one of many", `{"anyOf":[` + either.String() + `{"required":["p"]}]}`, `{"p":1}`, true},
		{"a slow pattern", requiring(`{"type":"string","pattern":"^(a+)+$"}`), `{"p":"` +
			strings.Repeat("a", 1000) + `b"}`, false},
		{"a pattern that would be huge", requiring(`{"type":"string","pattern":"(a{1000}){1000}"}`), `{"p":"a"}`, true},
		{"a param with a name that no pointer has", `{"~/%\u0000":"string"}`, `{"~/%\u0000":"a"}`, true},
		{"a param without a name", `{"":"string"}`, `{"":"a"}`, true},
		{"properties that are a list", `{"type":"object","properties":[]}`, `{}`, true},
		{"an enum that is not a list", requiring(`{"enum":"a"}`), `{"p":"a"}`, true},
		{"an enum without values", requiring(`{"enum":[]}`), `{"p":"a"}`, false},
		{"an invalid id", `{"$id":"%zz","type":"object"}`, `{}`, true},
		{"an unknown dialect", `{"$schema":"parley:dialect","type":"object"}`, `{}`, true},
		{"a length below zero", requiring(`{"type":"string","maxLength":-1}`), `{"p":"a"}`, true},
		{"a divisor of zero", requiring(`{"type":"integer","multipleOf":0}`), `{"p":1}`, true},
		{"a minimum of a thousand digits", requiring(`{"type":"integer","minimum":` + strings.Repeat("9", 1000) + `}`),
			`{"p":1}`, false},
		{"a maximum too great to be written out", requiring(`{"type":"integer","maximum":1e999999999}`), `{"p":1}`, false},

		{"a divisor too great to be written out", requiring(`{"type":"integer","multipleOf":1e999999999}`), `{"p":1}`, false},
		{"a divisor too small to be written out", requiring(`{"type":"integer","multipleOf":1e-999999999}`), `{"p":1}`,
			false},
		{"a minimum of a million digits", requiring(`{"type":"integer","minimum":1e1000000}`), `{"p":1}`, false},
		{"doubled and doubled again", doubled("allOf", 40), `{}`, false},
		{"doubled and doubled again, and false", doubled("anyOf", 40), `{}`, false},
	} {
		t.Run(r.reason, func(t *testing.T) {
			if err := use(announced(t, "tool", r.parameters), decode(t, r.params)); (err == nil) != r.want {
				t.Errorf("it takes %s: %v", r.params, err)
			}
		})
	}
}

// doubled returns a schema of n definitions, each of which refers to the next one twice: short, but expensive to
// evaluate.
func doubled(how string, n int) string {
	var b strings.Builder
	b.WriteString(`{"type":"object","$ref":"#/$defs/a0","$defs":{`)
	for i := range n {
		fmt.Fprintf(&b, `"a%[1]d":{"%[3]s":[{"$ref":"#/$defs/a%[2]d"},{"$ref":"#/$defs/a%[2]d"}]},`, i, i+1, how)
	}
	fmt.Fprintf(&b, `"a%d":%v}}`, n, how == "allOf")
	return b.String()
}

// halved applies itself twice to its param: checking a value nested n deep takes 2^n steps.
const halved = `{"type":"object","properties":{"p":{"allOf":[{"$ref":"#"},{"$ref":"#"}]}}}`

// within50 is a value nested 50 levels deep.
var within50 = strings.Repeat(`{"p":`, 50) + `{}` + strings.Repeat(`}`, 50)

var stepsRows = []struct {
	reason, parameters, params string
	understood                 bool
}{
	{"an ordinary tool", stage, `{"itemId":"adult","quantity":1}`, true},
	{"many params", `{` + wideParams() + `"p":"string"}`, `{}`, true},
	{"too many params", `{"type":"object","properties":{` +
		strings.ReplaceAll(wideParams(), `"string"`, `{"type":"string","title":"a"}`) + `"p":{}}}`, `{}`, false},
	{"an enum of as many values as a hall has seats", requiring(`{"enum":[` + strings.Repeat(`"a1",`, 5000) + `"b"]}`),
		`{"p":"b"}`, true},
	{"an enum without an end", requiring(`{"enum":[` + strings.Repeat(`"a1",`, 30_000) + `"b"]}`), `{"p":"b"}`, false},
	{"doubled", doubled("allOf", 8), `{}`, true},
	{"doubled too often", doubled("allOf", 40), `{}`, false},
	{"doubled by the value, and a flat one", halved, `{"p":{}}`, true},
	{"doubled by the value", halved, within50, false},
	{"a reference that leads back", `{"$ref":"#"}`, `{}`, false},
	{"all of all the others", tangle(30), `{}`, false},
	{"a dynamic reference", `{"$dynamicAnchor":"a","type":"object","properties":{"p":{"$dynamicRef":"#a"}}}`, `{}`,
		false},
	{"a pattern of a few characters that is long", requiring(`{"type":"string","pattern":"` +
		strings.Repeat(`(a?){900}`, 3) + `"}`), `{"p":"a"}`, false},
	{"a text that takes a pattern long", requiring(`{"type":"string","pattern":"^(?:a?){900}$"}`), `{"p":"` +
		strings.Repeat("a", 1<<20) + `"}`, false},
	{"a pattern of a price", requiring(`{"type":"string","pattern":"^\\d+\\.\\d{2}$"}`), `{"p":"1.50"}`, true},
	{"a list that is too long", `{"type":"object"}`, `{"p":[` + strings.Repeat("1,", 70_000) + `1]}`, false},
	{"a number of more digits than anyone has", `{"type":"object"}`, `{"p":` + strings.Repeat("9", 3000) + `}`, false},
	{"a minimum of more digits than anyone has", requiring(`{"minimum":` + strings.Repeat("9", 41) + `}`), `{"p":1}`,
		false},
	{"a minimum that is far away", requiring(`{"minimum":1e-401}`), `{"p":1}`, false},
	{"a zero with many noughts", requiring(`{"minimum":0e999999999}`), `{"p":1}`, true},
}

// TestSteps checks that steps are counted before they are taken, and that counting is cheap.
func TestSteps(t *testing.T) {
	for _, r := range stepsRows {
		t.Run(r.reason, func(t *testing.T) {
			tool := announced(t, "tool", r.parameters)
			params := decode(t, r.params)
			steps, err := tool.accepts(params)
			if errors.Is(err, ErrNotUnderstood) == r.understood || steps > maxSteps {
				t.Errorf("%d steps: %v", steps, err)
			}
			schema, err := tool.validator()
			if err != nil {
				if example, _ := tool.Example(nil); example != nil || tool.Wrong("missing", nil, nil) != nil ||
					tool.Examples(nil) != nil {
					t.Error("there are calls of what is not understood")
				}
				return
			}
			c := counting{known: map[pair]int{}, open: map[pair]bool{}}
			if c.add(params) {
				_, _ = c.steps(schema, 0)
			}
			if len(c.known) > maxSteps {
				t.Errorf("counting took %d steps", len(c.known))
			}
		})
	}
}

// tangle returns n definitions, each of which is any of the others.
func tangle(n int) string {
	var b strings.Builder
	b.WriteString(`{"$ref":"#/$defs/a0","$defs":{`)
	for i := range n {
		fmt.Fprintf(&b, `"a%d":{"allOf":[`, i)
		for j := range n {
			if i != j {
				fmt.Fprintf(&b, `{"$ref":"#/$defs/a%d"},`, j)
			}
		}
		b.WriteString(`true]},`)
	}
	b.WriteString(`"x":true}}`)
	return b.String()
}

// TestFarNumbers checks that very large and very small numbers in params compare correctly.
func TestFarNumbers(t *testing.T) {
	for _, r := range []struct {
		reason, property, value string
		want                    bool
	}{
		{"great, and above the minimum", `{"type":"number","minimum":0}`, `1e999999999`, true},
		{"great, and beyond what any exponent is", `{"type":"number","minimum":0}`, `1e99999999999999999999`, true},
		{"great, and above the maximum", `{"type":"number","maximum":1e400}`, `1e999999999`, false},
		{"great below zero", `{"type":"number","minimum":0}`, `-1e999999999`, false},
		{"great, and whole", `{"type":"integer"}`, `1e999999999`, true},
		{"great, and a multiple", `{"multipleOf":8}`, `1e999999999`, true},
		{"great, and no multiple", `{"multipleOf":7}`, `1e999999999`, false},
		{"small, and above zero", `{"exclusiveMinimum":0}`, `1e-999999999`, true},
		{"small, and not whole", `{"type":"integer"}`, `1e-999999999`, false},
		{"small, and no multiple", `{"multipleOf":1e-400}`, `1e-999999999`, false},
		{"zero, however it is written", `{"type":"integer","maximum":0}`, `0.0e999999999`, true},
		{"one with a million noughts", `{"type":"integer","maximum":1}`, `1.` + strings.Repeat("0", 1_000_000), true},
		{"ten to the million, written out", `{"type":"integer","maximum":1}`, `1` + strings.Repeat("0", 1_000_000), false},
		{"a length of more than 64 bits", `{"maxLength":36893488147419103232}`, `"a"`, true},
		{"and one that is wanted", `{"minLength":36893488147419103232}`, `"a"`, false},
		{"a const that looks like a length", `{"const":{"maxLength":36893488147419103232}}`,
			`{"maxLength":36893488147419103232}`, true},
		{"items that are alike", `{"type":"array","uniqueItems":true}`, `[1e999999999,1e999999999]`, false},
	} {
		t.Run(r.reason, func(t *testing.T) {
			if err := use(announced(t, "tool", requiring(r.property)), decode(t, `{"p":`+r.value+`}`)); (err == nil) != r.want {
				t.Errorf("%v", err)
			}
		})
	}
}

// TestWrongIsBounded checks that the number of calls, and of attempts, is bounded for any number of params.
func TestWrongIsBounded(t *testing.T) {
	var b strings.Builder
	for i := range 300 {
		fmt.Fprintf(&b, `"p%d":"integer",`, i)
	}
	tool := announced(t, "tool", `{`+b.String()+`"p":"integer"}`)
	for how, want := range map[string]int{"missing": maxWrong, "of another type": maxWrong, "null": maxWrong,
		"negative": 0, "unknown": 0} {
		right, _ := tool.Example(nil)
		d := &deriving{tool: tool, right: right}
		all, of := tool.properties()
		for _, name := range all {
			s, _ := of[name].(object)
			d.param(how, name, s, nil)
		}
		if d.tried > maxTried || d.steps > maxWrongSteps+1000 || len(d.out) != want ||
			len(tool.Wrong(how, nil, nil)) != want {
			t.Errorf("%s: %d calls, %d tried in %d steps", how, len(d.out), d.tried, d.steps)
		}
	}
}

// TestDoubled checks that such a schema is evaluated correctly if it is small enough.
func TestDoubled(t *testing.T) {
	for how, want := range map[string]bool{"allOf": true, "anyOf": false} {
		if err := use(announced(t, "tool", doubled(how, 8)), object{}); (err == nil) != want {
			t.Errorf("%s: %v", how, err)
		}
	}
}

// TestNoLoader checks that the loader reads nothing, whatever the scheme.
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

// FuzzParse checks that no announcement and no params cause a panic, that an example keeps to its schema, and that a
// wrong call breaks it or has a negative number.
func FuzzParse(f *testing.F) {
	for _, parameters := range []string{stage,
		`{"itemId":{"type":"string","enum":["a"]},"n":{"type":"integer","optional":true}}`, `{"p":"string"}`,
		`{"type":{"type":"string"}}`,
		requiring(`{"const":null}`), requiring(`{"$ref":"#"}`), requiring(`{"type":["string","null"],"maxLength":2}`),
		requiring(`{"minimum":1.5,"maximum":1e3,"type":"number"}`), `{"type":7}`} {
		f.Add(`[{"name":"setQuantity","parameters":`+parameters+`}]`, `{"p":"a","quantity":1}`)
	}
	for _, property := range []string{`{"multipleOf":1e999999999}`, `{"multipleOf":1e-999999999}`,
		`{"type":"integer","minimum":1e1000000}`, `{"minimum":0}`, `{"enum":[{"a":1},[1],2]}`,
		`{"type":["integer","null"],"exclusiveMinimum":0.5,"multipleOf":0.25}`, `{"uniqueItems":true}`, `{"default":7}`,
		`{"type":"string","maxLength":18446744073709551616}`} {
		for _, value := range []string{`{"a":1}`, `[1]`, `1e999999999`, `-1e-999999999`, `null`, `1e1000000`} {
			f.Add(`[{"name":"a","parameters":`+requiring(property)+`}]`, `{"p":`+value+`}`)
		}
	}
	f.Add(`[{"name":"a","parameters":`+doubled("allOf", 40)+`}]`, `{}`)
	f.Add(`[{"name":"a","parameters":`+doubled("anyOf", 20)+`}]`, `{}`)
	f.Add(`[{"name":"a","parameters":`+halved+`}]`, within50)
	f.Add(`[null]`, `[]`)
	f.Fuzz(func(t *testing.T, list, params string) {
		v, _, err := wjson.Decode([]byte(list))
		items, ok := v.([]any)
		p, _, bad := wjson.Decode([]byte(params))
		if err != nil || bad != nil || !ok {
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
			for _, example := range tool.Examples(offered) {
				if err := tool.Accepts(example); err != nil {
					t.Errorf("the example %s: %v", wjson.Compact(example), err)
				}
			}
			for _, how := range ways {
				wrong := tool.Wrong(how, offered, map[string][]any{"p": {p}})
				if len(wrong) > maxWrong {
					t.Errorf("%d calls that are %s", len(wrong), how)
				}
				for _, w := range wrong {
					if how != "negative" && tool.Accepts(w.Params) == nil {
						t.Errorf("%s: %s keeps to the schema", how, wjson.Compact(w.Params))
					}
				}
			}
		}
	})
}

// BenchmarkAccepts parses one stage's announcement and checks a call against it, as is done for every state.
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

// wideParams are 900 params of a flat map.
func wideParams() string {
	var b strings.Builder
	for i := range 900 {
		fmt.Fprintf(&b, `"p%d":"string",`, i)
	}
	return b.String()
}
