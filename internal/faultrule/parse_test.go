package faultrule_test

import (
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"parley/internal/faultrule"
	"parley/internal/schematest"
)

// mistakes are files with a mistake, and their correct twins.
var mistakes = []struct{ wrong, right, want string }{
	{"faults:\n  - do: dropp\n", "faults:\n  - do: drop\n", `f.yaml:2:9: "dropp" is not a fault (did you mean "drop"?)`},
	{"faults:\n  - do: {split: 0}\n", "faults:\n  - do: {split: 1}\n", "f.yaml:2:17: split is a whole number from 1 to"},
	{"faults:\n  - do: split\n", "faults:\n  - do: {split: 3}\n", "f.yaml:2:9: split needs a value (do: {split: 3})"},
	{"faults:\n  - do: {drop: true}\n", "faults:\n  - do: drop\n", "drop has no value (do: drop)"},
	{"faults:\n  - do: {split: 3, cut: 3}\n", "faults:\n  - do: {cut: 3}\n",
		"f.yaml:2:10: do takes one fault, and this has split and cut (write a fault for each"},
	{"faults:\n  - do: {drop: true, delay: 2s}\n", "faults:\n  - do: {delay: 2s}\n",
		"do takes one fault, and this has drop"},
	{"faults:\n  - do: {}\n", "faults:\n  - do: drop\n", "do has no fault"},
	{"faults:\n  - do: {delay: 2}\n", "faults:\n  - do: {delay: 2s}\n",
		"with its unit, of at most 10m (write 2s or 200ms)"},
	{"faults:\n  - {on: {typ: a}, do: drop}\n", "faults:\n  - {on: {type: a}, do: drop}\n", `on has no "typ"`},
	{"faults:\n  - {nth: 1, every: 2, do: drop}\n", "faults:\n  - {nth: 1, do: drop}\n",
		"f.yaml:2:11: nth is one message"},
	{"faults:\n  - {from: nobody, do: drop}\n", "faults:\n  - {from: server, do: drop}\n", "from is client or server"},
	{"faults:\n  - {on: {where: {a: 1}}, do: drop}\n", "faults:\n  - {on: {where: {/a: 1}}, do: drop}\n",
		"no JSON Pointer"},
	{"faults:\n  - {on: {where: {/a: \"${x}\"}}, do: drop}\n", "faults:\n  - {on: {where: {/a: x}}, do: drop}\n",
		"f.yaml:2:23: nothing is filled in here"},
	{"faults:\n  - {do: {delay: 1h}}\n", "faults:\n  - {do: {delay: 10m}}\n", "at most 10m"},
	{"faults:\n  - {nth: 1}\n", "faults:\n  - {nth: 1, do: drop}\n", "do is missing"},
	{"faults:\n  - {chance: 0, do: drop}\n", "faults:\n  - {chance: 0.1, do: drop}\n", "chance is a number above 0"},
	{"seed: -1\nfaults: []\n", "seed: 0\nfaults: []\n", "f.yaml:1:7: seed is a whole number from 0"},
	{"faults:\n  - {do: {corrupt: {at: /a}}}\n", "faults:\n  - {do: {corrupt: {at: /a, set: null}}}\n",
		"corrupt has one of"},
	{"faults:\n  - {do: {corrupt: {at: a, draw: true}}}\n", "faults:\n  - {do: {corrupt: {at: /a, draw: true}}}\n",
		`"a" is no JSON Pointer`},
	{"faults:\n  - {on: {request: GET /}, do: silence}\n", "faults:\n  - {on: {request: GET /}, do: reset}\n",
		"silence is not for a request"},
	{"faults:\n  - {on: {request: POST /a}, do: {status: 500}}\n",
		"faults:\n  - {on: {request: POST /a}, from: server, do: {status: 500}}\n", "add from: server"},
	{"faults:\n  - {on: {open: true}, do: {content-type: a}}\n",
		"faults:\n  - {on: {open: true}, from: server, do: {content-type: a}}\n", "add from: server"},
	{"faults:\n  - {on: {close: true}, do: drop}\n", "faults:\n  - {on: {open: true}, do: drop}\n", "close is no message"},
	{"faults:\n  - {on: {request: GET /}, connection: C1, do: drop}\n", "faults:\n  - {on: {request: GET /}, do: drop}\n",
		"a request belongs to no connection"},
	{"faults:\n  - {do: {set: {a: 1}}}\n", "faults:\n  - {do: {set: {/a: 1}}}\n", `"a" is no JSON Pointer`},
	{"faults:\n  - {do: {set: {}}}\n", "faults:\n  - {do: {set: {/a: null}}}\n",
		"set has members to change (do: {set: {/data/id: 7}})"},
	{"faults:\n  - {do: {set: {/a: \"${x}\"}}}\n", "faults:\n  - {do: {set: {/a: \"${/x}\"}}}\n",
		"${x} is neither a member"},
	{"faults:\n  - {do: {rename: {/a: b}}}\n", "faults:\n  - {do: {rename: {/a: /b}}}\n", `"b" is no JSON Pointer`},
	{"faults:\n  - {do: {remove: [a]}}\n", "faults:\n  - {do: {remove: [/a]}}\n", `"a" is no JSON Pointer`},
	{"faults:\n  - {do: {wrap: \"\"}}\n", "faults:\n  - {do: {wrap: /a}}\n", "wrap is a text that is not empty"},
	{"faults:\n  - {do: {wrap: a}}\n", "faults:\n  - {do: {wrap: /a}}\n", `"a" is no JSON Pointer`},
	{"faults:\n  - {on: {request: GET /}, do: {retype: a}}\n", "faults:\n  - {do: {retype: a}}\n",
		"retype is not for a request"},
	{"faults:\n  - {do: {behind: {open: true}}}\n", "faults:\n  - {do: {behind: a}}\n", "behind is for a message"},
	{"faults:\n  - {on: a, after: {open: true}, do: drop}\n", "faults:\n  - {on: a, after: b, do: drop}\n",
		"after is for a message"},
	{"faults:\n  - {per: a, do: drop}\n", "faults:\n  - {per: /a, do: drop}\n", `"a" is no JSON Pointer`},
	{"faults:\n  - {connection: A, do: drop}\n", "faults:\n  - {connection: C1, do: drop}\n",
		`f.yaml:2:18: no connection is called "A": they are C1, C2, …`},
	{"faults: 1\n", "faults: []\n", "faults is a list"},
	{"{}\n", "faults: []\n", "faults is missing"},
	{"", "faults: []\n", "the file of faults is empty"},
}

// TestMistakes: each mistake is reported with its place and the remedy; its correct twin is accepted, and valid by the
// schema.
func TestMistakes(t *testing.T) {
	valid := schema(t)
	for _, one := range mistakes {
		if _, err := faultrule.Parse("f.yaml", []byte(one.wrong)); err == nil || !strings.Contains(err.Error(), one.want) {
			t.Errorf("%q: %v, want %q", one.wrong, err, one.want)
		}
		if _, err := faultrule.Parse("f.yaml", []byte(one.right)); err != nil {
			t.Errorf("%q: %v", one.right, err)
		}
		if err := valid(one.right); err != nil {
			t.Errorf("%q, by the schema: %v", one.right, err)
		}
	}
}

// TestSchemaRejects: the schema finds the mistakes that an editor should show.
func TestSchemaRejects(t *testing.T) {
	valid := schema(t)
	for _, text := range []string{"faults: [{do: dropp}]", "faults: [{do: {split: 0}}]", "faults: [{}]", "{}",
		"faults: [{nth: 1, every: 2, do: drop}]", "faults: [{do: {corrupt: {at: /a}}}]"} {
		if valid(text) == nil {
			t.Errorf("%s is valid by the schema", text)
		}
	}
}

// schema returns a check of files by the schema.
func schema(t *testing.T) func(text string) error {
	t.Helper()
	s := schematest.Compile(t, faultrule.Schema())
	return func(text string) error { return s.YAML([]byte(text)) }
}

// TestDocs: every example in the documentation is a valid file of faults, and the table has every kind.
func TestDocs(t *testing.T) {
	text, err := os.ReadFile("../../docs/faults.md")
	if err != nil {
		t.Fatal(err)
	}
	valid := schema(t)
	blocks := regexp.MustCompile("(?s)```yaml\n(.*?)```").FindAllSubmatch(text, -1)
	rows := regexp.MustCompile("(?m)^\\| `([a-z-]+)` \\|.*\\| `([^`]*do: [^`]*)` \\|$").FindAllSubmatch(text, -1)
	var files, names []string
	for _, b := range blocks {
		files = append(files, string(b[1]))
	}
	for _, r := range rows {
		names = append(names, string(r[1]))
		files = append(files, "faults: [{"+strings.Trim(string(r[2]), "{")+strings.Repeat("}",
			1-strings.Count(string(r[2][:1]), "{"))+"]")
	}
	slices.Sort(names)
	if len(blocks) == 0 || !slices.Equal(names, faultrule.Kinds()) {
		t.Fatalf("%d blocks, and the kinds %v, want %v", len(blocks), names, faultrule.Kinds())
	}
	for _, f := range files {
		if _, err := faultrule.Parse("faults.md", []byte(f)); err != nil {
			t.Errorf("%s: %v", f, err)
		}
		if err := valid(f); err != nil {
			t.Errorf("%s, by the schema: %v", f, err)
		}
	}
}

// FuzzParse: every text is a valid file or is reported with mistakes.
func FuzzParse(f *testing.F) {
	f.Add("seed: 3\nfaults:\n  - {on: {type: a}, chance: 0.5, do: {split: 3}}\n")
	f.Fuzz(func(t *testing.T, text string) {
		if set, err := faultrule.Parse("f", []byte(text)); (set == nil) == (err == nil) {
			t.Fatal("neither a file nor an error, or both")
		}
	})
}
