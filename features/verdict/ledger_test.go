package verdict

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// ledger is a small ledger; tests replace the part that they are about.
const ledger = `protocol: agent-select
source: agent-select.zh.md
clauses:
  - id: AS-001
    level: MUST
    section: "1.1"
    text: It does.
    source: 它做
    status: tested
  - id: AS-002a
    level: SHOULD
    section: "1.1"
    text: It should.
    source: 它应做
    status: excluded
    reason: Nobody can see it.
  - id: AS-003
    level: CONFLICT
    section: "1.2"
    text: It does, and does not.
    source: 它做不做
    fair: Either.
    strict: It does.
    status: tested
cross:
  - id: AC-110
    level: MUST
    section: "3.1"
    text: It does there too.
    source: 也做
    status: tested
    judged_by: [AS-001]
`

func TestParseLedger(t *testing.T) {
	l, err := ParseLedger([]byte(ledger))
	if err != nil {
		t.Fatal(err)
	}
	var ids []string
	for _, r := range l.Rows() {
		ids = append(ids, r.ID)
	}
	if diff := cmp.Diff([]string{"AS-001", "AS-002a", "AS-003", "AC-110"}, ids); diff != "" {
		t.Errorf("rows, the protocol's own first; want(-) got(+):\n%s", diff)
	}
	row, ok := l.Row("AC-110")
	if !ok || !row.Cross || !row.Tested() || row.Text != "It does there too." {
		t.Errorf("AC-110 is %+v", row)
	}
	if row, ok := l.Row("AS-002a"); !ok || row.Cross || row.Tested() {
		t.Errorf("AS-002a is %+v", row)
	}
	if row, ok := l.Row("AS-999"); ok {
		t.Errorf("AS-999 is %+v", row)
	}
	levels := map[string]Level{"AS-001": Must, "AS-002a": Should, "AS-003": Conflict, "AS-999": Must}
	for id, want := range levels {
		if got := l.Level(id); got != want {
			t.Errorf("the level of %s is %s, want %s", id, got, want)
		}
	}
}

// TestDefaults: a row has the ledger's defaults for what it does not say; but one with a reason says that it is
// excluded.
func TestDefaults(t *testing.T) {
	const text = `protocol: p
source: p.md
defaults: {level: MUST, observed: wire, status: tested}
clauses:
  - {id: AB-001, section: "1", text: a, source: a}
  - {id: AB-002, section: "1", text: a, source: a, level: SHOULD, observed: none, status: excluded, reason: a}
`
	l, err := ParseLedger([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	one, _ := l.Row("AB-001")
	two, _ := l.Row("AB-002")
	if one.Level != Must || one.Observed != "wire" || !one.Tested() {
		t.Errorf("AB-001 is %+v", one)
	}
	if two.Level != Should || two.Observed != "none" || two.Tested() {
		t.Errorf("AB-002 is %+v", two)
	}
	for _, r := range []struct{ old, new, want string }{
		{"status: excluded, ", "", `line 6: AB-002: it has a reason, and does not say that it is excluded`},
		{"level: MUST", "level: HAVE", `line 3: defaults: unknown level "HAVE"`},
		{"status: tested", `status: ""`, `AB-001: status is ""`},
		{"defaults: {", "defaults: {state: a, ", `unknown key "state"`},
	} {
		_, err := ParseLedger([]byte(strings.Replace(text, r.old, r.new, 1)))
		if err == nil || !strings.Contains(err.Error(), r.want) {
			t.Errorf("with %q for %q: %v; want %q in it", r.new, r.old, err, r.want)
		}
	}
}

// TestJudged: a row names one judge, or one for each thing that its sentence says.
func TestJudged(t *testing.T) {
	for words, want := range map[string]Judges{"model": {ByModel}, "[model, llm]": {ByModel, ByLLM}, "[]": {}} {
		l, err := ParseLedger([]byte(strings.Replace(ledger, "status: tested", "judged: "+words+"\n    status: tested", 1)))
		if err != nil {
			t.Fatal(err)
		}
		if row, _ := l.Row("AS-001"); !slices.Equal(row.Judged, want) {
			t.Errorf("judged: %s is read as %q", words, row.Judged)
		}
	}
}

func TestParseLedgerRefuses(t *testing.T) {
	rows := []struct{ reason, old, new, want string }{
		{"invalid YAML", "clauses:", "clauses: [", "ledger: "},
		{"an unknown key", "    status: tested", "    state: tested", "state"},
		{"an unknown key at the top", "protocol:", "version: 1\nprotocol:", "version"},
		{"no protocol", "protocol: agent-select", "protocol: \"\"", "protocol, source and clauses are required"},
		{"a ledger without a source", "source: agent-select.zh.md", "source: \"\"",
			"protocol, source and clauses are required"},
		{"a malformed id", "id: AS-001", "id: AS-1", "AS-1: malformed id"},
		{"an id in lower case", "id: AS-001", "id: as-001", "as-001: malformed id"},
		{"an id with a suffix", "id: AS-001", "id: AS-001ab", "malformed id"},
		{"a duplicate id", "id: AS-003", "id: AS-001", "AS-001 is listed twice"},
		{"an id that is also in cross", "id: AC-110", "id: AS-001", "AS-001 is listed twice"},
		{"an unknown level", "level: MUST", "level: HAVE", `AS-001: unknown level "HAVE"`},
		{"no level", "    level: MUST\n", "", `unknown level ""`},
		{"no text", "    text: It does.\n", "", "AS-001: text, source and section are required"},
		{"no source", "    source: 它做\n", "", "AS-001: text, source and section are required"},
		{"no section", "    section: \"1.2\"\n", "", "AS-003: text, source and section are required"},
		{"an unknown status", "status: tested", "status: later", `AS-001: status is "later"`},
		{"no status", "    status: excluded\n", "", `AS-002a: it has a reason, and does not say`},
		{"an unknown judge", "status: tested", "judged: jury\n    status: tested",
			"AS-001: judged is [\"jury\"]; want one of"},
		{"a judge named twice", "status: tested", "judged: [llm, llm]\n    status: tested", "judged is [\"llm\" \"llm\"]"},
		{"judged, and excluded", "status: excluded", "judged: log\n    status: excluded", "but it is not tested"},
		{"excluded without a reason", "    reason: Nobody can see it.\n", "", "AS-002a: excluded without a reason"},
		{"a CONFLICT without its fair reading", "    fair: Either.\n", "", "AS-003: a CONFLICT needs its fair reading"},
	}
	for _, r := range rows {
		t.Run(r.reason, func(t *testing.T) {
			text := strings.Replace(ledger, r.old, r.new, 1)
			if text == ledger {
				t.Fatalf("%q is not in the ledger", r.old)
			}
			if _, err := ParseLedger([]byte(text)); err == nil || !strings.Contains(err.Error(), r.want) {
				t.Errorf("ParseLedger: %v; want %q in it", err, r.want)
			}
		})
	}
	for _, empty := range []string{"", "\n", "# nothing\n", "protocol: p\nsource: s\nclauses: []\n"} {
		if _, err := ParseLedger([]byte(empty)); err == nil {
			t.Errorf("ParseLedger takes %q", empty)
		}
	}
}

func TestAudit(t *testing.T) {
	all := func() Cover {
		return Cover{"AS-001": {"AS-1.1-01"}, "AS-003": {"AS-1.2-01"}, "AC-110": {"AS-3.1-01"}}
	}
	with := func(c Cover, id string, by ...string) Cover { c[id] = by; return c }
	without := func(c Cover, id string) Cover { delete(c, id); return c }
	rows := []struct {
		reason    string
		scenarios Cover
		monitors  Cover
		want      []string
	}{
		{"everything is judged", all(), nil, nil},
		{"a monitor is a judge too", without(all(), "AS-003"), Cover{"AS-003": {"shape"}}, nil},
		{"tested, but not judged", without(all(), "AS-003"), nil,
			[]string{"AS-003 is marked tested, but no scenario or monitor judges it"}},
		{"an entry without a judge does not count", with(all(), "AS-001"), nil,
			[]string{"AS-001 is marked tested, but no scenario or monitor judges it"}},
		{"a row of cross needs a judge as well", without(all(), "AC-110"), nil,
			[]string{"AC-110 is marked tested, but no scenario or monitor judges it"}},
		{"excluded, and judged", with(all(), "AS-002a", "AS-1.1-02"), nil,
			[]string{"AS-002a is excluded, but judged by [AS-1.1-02][]"}},
		{"excluded, and judged by a monitor", all(), Cover{"AS-002a": {"shape"}},
			[]string{"AS-002a is excluded, but judged by [][shape]"}},
		{"a tag that names no clause", with(all(), "AS-999", "AS-1.1-02"), nil,
			[]string{"[AS-1.1-02] names AS-999, which is not a clause of agent-select"}},
		{"a monitor that names no clause", all(), Cover{"AS-998": {"shape"}},
			[]string{"[shape] names AS-998, which is not a clause of agent-select"}},
		{"faults are sorted", Cover{"ZZ-001": {"x"}}, nil, []string{
			"AC-110 is marked tested, but no scenario or monitor judges it",
			"AS-001 is marked tested, but no scenario or monitor judges it",
			"AS-003 is marked tested, but no scenario or monitor judges it",
			"[x] names ZZ-001, which is not a clause of agent-select"}},
	}
	l, err := ParseLedger([]byte(ledger))
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range rows {
		t.Run(r.reason, func(t *testing.T) {
			if diff := cmp.Diff(r.want, l.Audit(r.scenarios, r.monitors)); diff != "" {
				t.Errorf("want(-) got(+):\n%s", diff)
			}
		})
	}
}
