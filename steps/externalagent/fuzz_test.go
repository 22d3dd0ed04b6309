package externalagent

import "testing"

// FuzzDecode: any frame is an event or none, and the same each time.
func FuzzDecode(f *testing.F) {
	for _, text := range []string{`{"v":"mvp-0.2","type":"tool.result","id":"a","payload":{"ok":true}}`, `{}`,
		`[]`, "\xff", `{"type":7,"id":[[]]}`,
		`{"type":"a","type":"b","payload":"\ud800"}`} {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		one, two := heard(string(text)), heard(string(text))
		if (one.Event == nil) != (two.Event == nil) || one.Label != two.Label {
			t.Errorf("%q and %q", one.Label, two.Label)
		}
		if one.Event == nil && one.Label != "" {
			t.Errorf("%q is no event, and labelled %q", text, one.Label)
		}
	})
}
