package toolschema

import (
	"strings"
	"testing"

	wjson "parley/transport/wire/json"
)

// TestOthers: each value is changed alone, to legal ones.
func TestOthers(t *testing.T) {
	for _, row := range []struct{ reason, properties, known, want string }{
		{"a number goes one further, and to its limits", `{"n":{"type":"integer","minimum":0,"maximum":8}}`, `{"n":2}`,
			`{"n":3} {"n":1} {"n":8} {"n":0}`},
		{"a limit that is used is no other value", `{"n":{"type":"integer","minimum":0,"maximum":1}}`, `{"n":1}`, `{"n":0}`},
		{"without limits the neighbours are left", `{"n":{"type":"integer"}}`, `{"n":1}`, `{"n":2} {"n":0}`},
		{"the last value of an enum", `{"s":{"enum":["a","b","c"]}}`, `{"s":"a"}`, `{"s":"c"}`},
		{"or the first, if the last is used", `{"s":{"enum":["a","b","c"]}}`, `{"s":"c"}`, `{"s":"a"}`},
		{"one value alone has no other", `{"s":{"enum":["a"]}}`, `{"s":"a"}`, ``},
		{"a null is no other", `{"s":{"enum":["a",null]}}`, `{"s":"a"}`, ``},
		{"a boolean", `{"b":{"type":"boolean"}}`, `{"b":true}`, `{"b":false}`},
		{"texts stay", `{"t":{"type":"string"}}`, `{"t":"x"}`, ``},
		{"each alone", `{"b":{"type":"boolean"},"s":{"enum":["a","b"]}}`, `{"b":true,"s":"a"}`,
			`{"b":false,"s":"a"} {"b":true,"s":"b"}`},
	} {
		known := decode(t, row.known).(object)
		tool := announced(t, "x", `{"type":"object","properties":`+row.properties+`,"additionalProperties":false}`)
		var got []string
		for _, params := range tool.Others(known) {
			got = append(got, wjson.Compact(params))
		}
		if s := strings.Join(got, " "); s != row.want {
			t.Errorf("%s: %s, want %s", row.reason, s, row.want)
		}
	}
}
