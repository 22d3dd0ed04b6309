package faultrule_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"parley/internal/faultrule"
)

// form is a program whose messages are lines. The type is the member "type", or a word before the data.
var form = faultrule.Form[string]{
	TypeOf: func(body []byte) string {
		var m struct {
			Type string `json:"type"`
		}
		_ = json.Unmarshal(body, &m)
		return m.Type
	},
	Write: func(m string) faultrule.Content {
		event, body, found := strings.Cut(m, " ")
		if !found {
			event, body = "", m
		}
		return faultrule.Content{Body: []byte(body), Event: event}
	},
	Read: func(_ string, c faultrule.Content) string { return strings.TrimSpace(c.Event + " " + string(c.Body)) },
}

// TestInside: each fault makes these messages of what passes. > is from the client.
func TestInside(t *testing.T) {
	const two = `{"id":1,"type":"a"} {"id":2,"type":"b"}`
	for _, tt := range []struct{ faults, in, want string }{
		{"{on: a, do: {set: {/id: 7}}}", two, `{"id":7,"type":"a"} {"id":2,"type":"b"}`},
		{"{do: {set: {/new/one: 7}}}", two, two}, // there is no object new
		{`{do: {set: {/id: ["${/id}"], /was: "${/type} ${/id}"}}}`, `{"id":1,"type":"a"}`,
			`{"id":[1],"type":"a","was":"a_1"}`},
		{`{do: {set: {/id: "${/other}"}}}`, `{"id":1,"type":"a"}`, `{"type":"a"}`},
		{`{do: {set: {/id: {in: "${/other}"}}}}`, `{"id":1,"type":"a"}`, `{"type":"a"}`},
		{"{do: {remove: [/id, /none]}}", `{"id":1,"type":"a"}`, `{"type":"a"}`},
		{"{do: {remove: /l/0}}", `{"l":[1,2]}`, `{"l":[2]}`},
		{"{do: {rename: {/id: /o/key, /none: /o/none}}}", `{"id":1,"o":{}}`, `{"o":{"key":1}}`},
		{"{do: {wrap: /o/data}}", `{"o":{"a":1}}`, `{"o":{"data":{"a":1}}}`},
		{"{do: {wrap: /data}}", `{"a":1}`, `{"data":{"a":1}}`},
		{"{on: a, do: {retype: c}}", `{"a":"a","id":1,"type":"a"} {"type":"b"}`, `{"a":"a","id":1,"type":"c"} {"type":"b"}`},
		{"{on: a, do: {retype: c}}", `e:{"id":1} a:{"id":1}`, `e:{"id":1} c:{"id":1}`},
		{"{on: a, do: drop}", two, `{"id":2,"type":"b"}`},
		{"{on: a, do: {duplicate: 1}}", `{"type":"a"} {"type":"b"}`, `{"type":"a"} {"type":"a"} {"type":"b"}`},
		{"{on: a, do: {reorder: 1}}", `{"type":"a"} {"type":"b"}`, `{"type":"b"} {"type":"a"}`},
		{"{on: a, do: {behind: c}}", `{"type":"a"} {"type":"b"} {"type":"c"}`, `{"type":"b"} {"type":"c"} {"type":"a"}`},
		{"{on: a, per: /of, do: {behind: c}}", `{"of":1,"type":"a"} {"of":2,"type":"c"} {"of":1,"type":"c"}`,
			`{"of":2,"type":"c"} {"of":1,"type":"c"} {"of":1,"type":"a"}`},
		{"{on: a, per: /of, nth: 2, do: drop}", `{"of":1,"type":"a"} {"of":2,"type":"a"} {"of":2,"type":"a"}`,
			`{"of":1,"type":"a"} {"of":2,"type":"a"}`},
		{"{on: a, after: b, nth: 1, do: drop}", `{"type":"a"} >{"type":"b"} {"type":"a"} {"type":"a"} >{"type":"b"}`,
			`{"type":"a"} >{"type":"b"} {"type":"a"} >{"type":"b"}`},
		{"{on: a, do: {retype: b}}, {on: b, do: {retype: a}}", `{"type":"a"} {"type":"b"}`, `{"type":"b"} {"type":"a"}`},
	} {
		set, err := faultrule.Parse("f", []byte("faults: ["+tt.faults+"]"))
		if err != nil {
			t.Errorf("%s: %v", tt.faults, err)
			continue
		}
		x, err := faultrule.NewInside("f", set, form)
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for m := range strings.FieldsSeq(tt.in) {
			from, mark := faultrule.Server, ""
			if strings.HasPrefix(m, ">") {
				from, mark, m = faultrule.Client, ">", m[1:]
			}
			if m[0] != '{' {
				m = strings.Replace(m, ":", " ", 1)
			}
			for _, one := range x.Pass("C1", from, m) {
				got = append(got, mark+one)
			}
		}
		want := strings.NewReplacer(" ", "\n", "_", " ", "e:", "e ", "a:{", "a {", "c:", "c ").Replace(tt.want)
		if diff := cmp.Diff(want, strings.Join(got, "\n")); diff != "" {
			t.Errorf("%s: %s", tt.faults, diff)
		}
	}
}

// TestNotInside: a program has neither sockets nor requests of its own.
func TestNotInside(t *testing.T) {
	for _, text := range []string{"{do: fin}", "{do: bom}", "{on: {request: GET /}, do: drop}"} {
		set, err := faultrule.Parse("f", []byte("faults: ["+text+"]"))
		if err != nil {
			t.Fatal(err)
		}
		if _, err := faultrule.NewInside("f", set, form); err == nil {
			t.Errorf("%s: no error", text)
		}
	}
}
