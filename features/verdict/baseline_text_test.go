package verdict

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

const commented = `# known failures of my server
expected:
  # of the lists
  - clause: AS-042
    reason: issue 7   # ask Kim
    expires: 2026-12-31

  # of switching
  - {clause: AS-043, reason: later}
  - clause: AS-044
    driver: ws
    # why so long
    reason: >
      a text
      of two lines
  # the end
  - reason: "quoted,
      over two lines"
    clause: AS-045
# behind everything
`

func TestDropRows(t *testing.T) {
	rows := []struct {
		reason   string
		drop     []int
		gone     []string // of the text, in order
		replaced bool
	}{
		{"nothing", nil, nil, false},
		{"the first", []int{0}, []string{"  - clause: AS-042\n    reason: issue 7   # ask Kim\n    expires: 2026-12-31\n"},
			false},
		{"one on one line", []int{1}, []string{"  - {clause: AS-043, reason: later}\n"}, false},
		{"one with a folded text", []int{2},
			[]string{"  - clause: AS-044\n    driver: ws\n    # why so long\n    reason: >\n" +
				"      a text\n      of two lines\n"}, false},
		{"the last, whose keys are in another order", []int{3},
			[]string{"  - reason: \"quoted,\n      over two lines\"\n    clause: AS-045\n"}, false},
		{"two", []int{0, 3}, []string{"  - clause: AS-042\n    reason: issue 7   # ask Kim\n    expires: 2026-12-31\n",
			"  - reason: \"quoted,\n      over two lines\"\n    clause: AS-045\n"}, false},
	}
	for _, r := range rows {
		t.Run(r.reason, func(t *testing.T) {
			for _, ends := range []string{"\n", "\r\n"} {
				text := strings.ReplaceAll(commented, "\n", ends)
				want := text
				for _, g := range r.gone {
					g = strings.ReplaceAll(g, "\n", ends)
					if !strings.Contains(want, g) {
						t.Fatalf("the text has no %q", g)
					}
					want = strings.Replace(want, g, "", 1)
				}
				got, err := DropRows([]byte(text), func(i int) bool { return slices.Contains(r.drop, i) })
				if err != nil {
					t.Fatal(err)
				}
				if diff := cmp.Diff(want, string(got)); diff != "" {
					t.Errorf("want(-) got(+):\n%s", diff)
				}
			}
		})
	}
}

func TestDropRowsAll(t *testing.T) {
	got, err := DropRows([]byte("# mine\nexpected: # rows\n  - clause: AS-042\n    reason: r\n# end\n"),
		func(int) bool { return true })
	if want := "# mine\nexpected: [] # rows\n# end\n"; err != nil || string(got) != want {
		t.Errorf("%q, %v; want %q", got, err, want)
	}
}

func TestDropRowsRefuses(t *testing.T) {
	for _, text := range []string{
		"expected: [{clause: AS-042, reason: r}, {clause: AS-043, reason: s}]\n",
		"expected:\n  - {clause: AS-042, reason: &why r}\n  - {clause: AS-043, reason: *why}\n",
	} {
		if got, err := DropRows([]byte(text), func(i int) bool { return i == 0 }); err == nil {
			t.Errorf("%q became %q", text, got)
		}
	}
}

func TestBaselineText(t *testing.T) {
	b := &Baseline{Expected: []Expected{
		{Clause: "AS-042", Reason: "issue 7: \"quoted\"\nand # more", Expires: "2026-12-31"},
		{Clause: "EA-001", Reason: "true", Role: "relay", Driver: "ws", Flaky: true}}}
	text := b.Text("one", "two")
	got, err := ParseBaseline([]byte(text))
	if err != nil {
		t.Fatalf("%v:\n%s", err, text)
	}
	if diff := cmp.Diff(b, got); diff != "" {
		t.Errorf("want(-) got(+):\n%s\n%s", diff, text)
	}
	if !strings.HasPrefix(text, "# one\n# two\nexpected:\n  - clause: AS-042\n    reason: ") {
		t.Errorf("the text is\n%s", text)
	}
	if none, err := ParseBaseline([]byte((&Baseline{}).Text())); err != nil || len(none.Expected) != 0 {
		t.Errorf("an empty baseline is read as %v, %v", none, err)
	}
}
