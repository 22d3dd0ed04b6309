package agent

import (
	"fmt"
	"testing"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/google/go-cmp/cmp"

	proto "parley/protocol/externalagent"
)

func decoded(t testing.TB, text string) any {
	t.Helper()
	var v any
	if err := json.Unmarshal([]byte(text), &v); err != nil {
		t.Fatal(err)
	}
	return v
}

// two is a screen with two items, where the second is the preferred choice.
func two() source {
	a := item{id: "a", value: "a", available: true}
	b := item{id: "b", value: "b", available: true}
	return source{screen: screen{items: []item{a, b}}, items: []item{b, a}}
}

func TestParamsFitTheSchema(t *testing.T) {
	three := 3.0
	for _, c := range []struct{ parameters, want, reason string }{
		{`null`, `{}`, "no parameters announced"},
		{`{}`, `{}`, "neither form has any"},
		{`{"type":"object"}`, `{}`, "an empty JSON Schema"},
		{`{"itemId":{"type":"string"}}`, `{"itemId":"b"}`, "flat, the first item to choose from"},
		{`{"itemId":{"type":"string","optional":true}}`, `{"itemId":"b"}`, "flat, optional but meant for an item"},
		{`{"note":{"type":"string","optional":true}}`, `{}`, "flat, optional"},
		{`{"order":{"type":"string","enum":["asc","desc"]}}`, `{"order":"asc"}`, "flat, enum"},
		{`{"type":{"type":"string","enum":["x"]}}`, `{"type":"x"}`, "flat, a parameter named type"},
		{`{"properties":{"type":"string","enum":["x"]}}`, `{"properties":"x"}`, "flat, a parameter named properties"},
		{`{"itemId":"string"}`, `{"itemId":"b"}`, "flat, the type alone"},
		{`{"n":{"type":"int"},"f":{"type":"float"},"b":{"type":"bool"}}`, `{"b":true,"f":1,"n":1}`,
			"flat, types of other languages"},
		{`{"itemId":{"enum":["z","a","b"]}}`, `{"itemId":"b"}`, "an enum of items, best first"},
		{`{"type":"object","properties":{"itemId":{"type":"string"},"quantity":{"type":"integer","minimum":0}},` +
			`"required":["itemId","quantity"]}`,
			`{"itemId":"b","quantity":3}`, "a quantity to set"},
		{`{"type":"object","properties":{"itemId":{"type":"string"},"x":{"type":"number"}},"required":["itemId"]}`,
			`{"itemId":"b"}`, "required alone"},
		{`{"type":"object","required":["x"]}`, `{"x":"b"}`, "required without a property"},
		{`{"type":"object","properties":{"seats":{"type":"array","items":{"type":"string"},"minItems":2}},` +
			`"required":["seats"]}`,
			`{"seats":["b","a"]}`, "an array"},
		{`{"type":"object","properties":{"at":{"$ref":"#/$defs/at"}},"required":["at"],"$defs":{"at":{"type":"object",` +
			`"properties":{"itemId":{"type":"string"}},"required":["itemId"]}}}`,
			`{"at":{"itemId":"b"}}`, "an object by reference"},
		{`{"type":"object","properties":{"v":{"anyOf":[{"type":"null"},{"const":7}]}},"required":["v"]}`, `{"v":null}`,
			"one of several"},
		{`{"type":"object","properties":{"v":{"const":{"a":[1]}}},"required":["v"]}`, `{"v":{"a":[1]}}`, "a constant"},
		{`{"type":"object","properties":{"text":{"type":"string","maxLength":4}},"required":["text"]}`, `{"text":"I am"}`,
			"a short text"},
		{`{"type":"object","properties":{"count":{"type":"integer","minimum":10}},"required":["count"]}`, ``,
			"a quantity that is too small for the schema"},
		{`{"type":"object","properties":{"id":{"type":"string","pattern":"^a$"}},"required":["id"]}`, `{"id":"a"}`,
			"the other item"},
		{`{"type":"object","properties":{"id":{"type":"string","pattern":"^9$"}},"required":["id"]}`, ``,
			"none that is known"},
		{`{"type":"object","properties":{"size":{"type":"integer","minimum":5,"maximum":6}},"required":["size"]}`,
			`{"size":5}`, "a number in a range"},
		{`{"type":"object","properties":{"id":{"type":"string"}},"required":["id"],` +
			`"not":{"properties":{"id":{"const":"b"}}}}`, `{"id":"a"}`, "what is not allowed"},
		{`{"type":"string"}`, ``, "no object at all"},
	} {
		src := two()
		if c.reason != "a number in a range" && c.reason != "flat, types of other languages" {
			src.quantity = &three
		}
		found := schemas{}.paramsFor(proto.Tool{Name: "t", Parameters: decoded(t, c.parameters)}, src)
		got := ""
		if len(found) > 0 {
			got = canonicalText(found[0])
		}
		if got != c.want {
			t.Errorf("%s: %s gives %s, not %s", c.reason, c.parameters, got, c.want)
		}
	}
}

// Schemas that would take forever, or that name files, yield parameters or none, but quickly.
func TestParamsOfHostileSchemas(t *testing.T) {
	wide := object{}
	for i := range 200 {
		wide[fmt.Sprint("p", i)] = object{"enum": []any{"a", "b", "c", "d"}}
	}
	begin := time.Now()
	for _, parameters := range []any{
		decoded(t, `{"$ref":"#"}`), decoded(t,
			`{"$ref":"#/$defs/a","$defs":{"a":{"$ref":"#/$defs/b"},"b":{"$ref":"#/$defs/a"}}}`),
		decoded(t,
			`{"type":"object","properties":{"a":{"$ref":"#"},"b":{"$ref":"#"},"c":{"anyOf":[{"$ref":"#"},{"$ref":"#"},`+
				`{"$ref":"#"}]}},"required":["a","b","c"]}`),
		decoded(t, `{"type":"object","properties":{"a":{"$ref":"file:///etc/hostname"}}}`),
		decoded(t, `{"type":"object","properties":{"a":{"$ref":"http://127.0.0.1:1/x"}},"required":["a"]}`),
		decoded(t, `{"$schema":"http://127.0.0.1:1/x","type":"object"}`),
		decoded(t, `{"type":7,"properties":7,"required":7}`), decoded(t, `{"type":["object",7],"required":[7]}`),
		decoded(t, `[]`), decoded(t, `"x"`), true,
		decoded(t,
			`{"type":"object","properties":{"a":{"type":"array","minItems":1e300},"b":{"minLength":1e300}},"required":["a"]}`),
		wide,
	} {
		schemas{}.paramsFor(proto.Tool{Name: "t", Parameters: parameters}, two())
	}
	if took := time.Since(begin); took > 20*time.Second {
		t.Errorf("it took %v", took)
	}
}

func TestReadsScreens(t *testing.T) {
	type seen struct {
		Stage          string
		Items, Chosen  []string
		Shows, HasSums bool
		Seats          int
	}
	for _, c := range []struct {
		spec   string
		want   seen
		reason string
	}{
		{`{"stage":"movie","items":[{"id":"a","available":true}],"selected":["a"]}`, seen{Stage: "movie",
			Items: []string{"a"}, Chosen: []string{"a"}, Shows: true}, "the default host"},
		{`{"title":"Seats","rows":[{"seats":[{"id":1,"selected":true},{"id":2}]}]}`, seen{Stage: "Seats",
			Items: []string{"1", "2"}, Chosen: []string{"1"}, Shows: true}, "items somewhere, numbers as ids"},
		{`{"options":[{"id":"x"},{"id":"x"},{"name":"none"},7]}`, seen{Stage: "x\n", Items: []string{"x"}},
			"no stage; twice the same"},
		{`{"stage":"a","selectedItem":{"id":"x"},"selectedIds":["y"]}`, seen{Stage: "a", Chosen: []string{"y", "x"},
			Shows: true}, "other names of what is chosen"},
		{`{"stage":"t","quantities":{"adult":2},"summary":[{"label":"Seats","value":"A1, A2, A3"}]}`, seen{Stage: "t",
			HasSums: true, Seats: 3}, "a summary"},
		{`{"stage":"t","summary":[{"label":"Seats","value":"Row A, seat 1; Row A, seat 2"},7]}`, seen{Stage: "t",
			Seats: 2}, "a summary in words"},
		{`{"stage":7,"items":{"id":"a"},"selected":{},"quantities":[],"summary":{}}`, seen{Shows: true},
			"nothing as expected"},
	} {
		s := readScreen(decoded(t, c.spec).(object))
		got := seen{Stage: s.stage, Chosen: s.chosen, Shows: s.shows, HasSums: s.quantities != nil, Seats: s.seats}
		for _, i := range s.items {
			got.Items = append(got.Items, i.id)
		}
		if diff := cmp.Diff(c.want, got); diff != "" {
			t.Errorf("%s: %s", c.reason, diff)
		}
	}
}

func TestPrefersWhatTheUserNames(t *testing.T) {
	items := readScreen(decoded(t, `{"items":[
		{"id":"1","label":"Matinee, 13:30","available":true,"attributes":{"part":"afternoon"}},
		{"id":"2","label":"Late show","available":true,"attributes":{"part":"evening","imax":true}},
		{"id":"3","label":"夜场","available":true,"attributes":{"part":"night"}},
		{"id":"4","label":"Premiere","available":false,"attributes":{"part":"evening"}}]}`).(object)).items
	for text, want := range map[string]string{
		"I prefer evening showtimes.":   "2",
		"IMAX please!":                  "2",
		"13:30 would suit me":           "1",
		"不要太早，我想看夜场的电影":                 "3",
		"not evening but night":         "3",
		"The premiere!":                 "1",
		"":                              "1",
		"something with no such words.": "1",
	} {
		p := newPlanner()
		p.addWish(text)
		if got := p.wishes.sortBest(items)[0].id; got != want {
			t.Errorf("%q: item %s, not %s", text, got, want)
		}
	}
}
