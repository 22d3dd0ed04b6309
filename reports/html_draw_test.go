package reports

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"parley/reports/lang"
)

// TestHTMLDraws runs the page's script in Node.js: an opened scenario shows its lanes, its messages in order, where a
// clause broke, and what never came in its place.
func TestHTMLDraws(t *testing.T) {
	node, err := exec.LookPath("node")
	if err != nil {
		t.Fatal("node is missing: make tools says how to install it")
	}
	r := sample()
	r.Runs[0].Scenarios = r.Runs[0].Scenarios[8:9]
	s := &r.Runs[0].Scenarios[0]
	s.Failures = []Failure{{Clause: "AS-085", At: "client A, record 3, +3.1 ms"},
		{Clause: "AS-086", Expected: "agent_switched", Missed: true, At: "client B, record 4, +9 ms"},
		{Clause: "AS-087", Expected: "agent_list", Missed: true}}
	recording := strings.Join([]string{
		`{"parley":"recording","version":1}`,
		`{"n":1,"at_ms":0.1,"party":"A","dir":"sent","kind":"open","label":"GET /events"}`,
		`{"n":2,"at_ms":0.2,"party":"B","dir":"sent","kind":"frame","label":"chat","text":"{\"type\":\"chat\"}"}`,
		`{"n":3,"at_ms":3.1,"party":"A","dir":"received","kind":"frame","label":"er\u202eror","text":"no \u202e JSON <b>"}`,
		`{"n":4,"at_ms":9,"party":"B","dir":"received","kind":"closed","label":"1000"}`,
		`{"n":5,"at_ms":9.5,"dir":"noted","kind":"remark","label":"the end"}`,
	}, "\n") + "\n"
	o := recorded(r, func(int) string { return recording })
	page := newPage(makePresentable(r), o)
	in := struct {
		Packs     []string            `json:"packs"`
		Script    string              `json:"script"`
		Scenarios []map[string]string `json:"scenarios"`
	}{Script: pageScript, Scenarios: []map[string]string{
		{"pack": "0", "index": "0", "missed": missedRecords(*s, lang.English), "broke": brokenRecords(*s)},
		{"pack": "0", "index": "7"}}}
	for _, p := range page.Packs {
		in.Packs = append(in.Packs, string(p))
	}
	b, err := json.Marshal(in)
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "page.json")
	if err := os.WriteFile(file, b, 0o600); err != nil {
		t.Fatal(err)
	}
	out, err := exec.Command(node, filepath.Join("testdata", "draw.cjs"), file).CombinedOutput()
	if err != nil {
		t.Fatalf("%v:\n%s", err, out)
	}
	want := []string{
		"heads|||A,B,target|",
		"|arrow right|2 / 6|open GET /events|",
		`|arrow right|4 / 6|chat|{ "type": "chat" }`,
		`broke|arrow left|2 / 6|er\u202eror ✗ AS-085|no \u202e JSON <b>`,
		"|arrow left|4 / 6|closed 1000|",
		"gap|arrow left|4 / 6|awaited, and never came: agent_switched|",
		"|arrow note|1 / -1|remark the end|",
		"gap|arrow left|2 / 6|awaited, and never came: agent_list|",
		"The recording cannot be shown: it is not in the page",
	}
	if diff := cmp.Diff(want, strings.Split(strings.TrimSuffix(string(out), "\n"), "\n")); diff != "" {
		t.Errorf("want(-) got(+):\n%s", diff)
	}
}
