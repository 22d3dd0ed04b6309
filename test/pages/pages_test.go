package pages_test

import (
	"bytes"
	"crypto/ed25519"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/chromedp"

	"parley/features/verdict"
	"parley/internal/tier"
	"parley/reports"
	"parley/reports/certificate"
	"parley/reports/certificate/site"
	"parley/reports/lang"
)

// long is a text without a place to break it.
var long = strings.Repeat("Abcdefghij", 12)

// results are those of the reports' tests, which have everything, with long words and recordings.
func results(t *testing.T) (*reports.Results, func(string) ([]byte, error)) {
	t.Helper()
	f, err := os.Open("../../reports/testdata/results.golden.json")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	r, err := reports.ReadJSON(f)
	if err != nil {
		t.Fatal(err)
	}
	run := &r.Runs[0]
	run.Target.Name, run.Target.URL = "A server "+long, "http://127.0.0.1:3000/"+long
	run.Clauses[8].Text, run.Clauses[8].Source = "`"+long+"` is "+long, "智能体编号必须完整匹配"
	run.Causes[0].Clauses = append(run.Causes[0].Clauses, "AS-001", "AS-008", "AS-011", "AS-024",
		"AS-047", "AS-048", "AS-066")
	run.Notes = append(run.Notes, reports.Note{Kind: "interop", Text: long})
	run.TargetStderr += long
	run.Cuts = []reports.Cuts{{Course: "SC-1", Name: "a course", Party: "client A", Driver: "ws", By: "reset", Points: 2,
		Reached: 2, Judged: 1, Broke: []reports.CutPoint{{Record: 1, Scenario: "x", Clauses: []string{"AS-008"}}},
		Records: []reports.CutRecord{{Sent: true, Label: "chat", How: reports.CutBroke, Clauses: []string{"AS-008"}},
			{Label: "list", How: reports.CutMissed}, {Label: "list", How: reports.CutPassed}}}}
	files := map[string][]byte{}
	for i := range run.Scenarios {
		s := &run.Scenarios[i]
		s.Evidence = nil // there are no pictures here
		if i == 8 {
			s.Name = "error code " + long
			s.Failures = append(s.Failures, reports.Failure{Clause: "AS-086", Expected: "agent_switched", Missed: true,
				At: "client B, record 4, +9 ms"})
		}
		path := fmt.Sprintf("transcripts/%d.jsonl", i)
		files[path] = []byte(fmt.Sprintf(`{"parley":"recording","version":1}
{"n":1,"at_ms":0.1,"party":"client A","dir":"sent","kind":"open","label":"GET /events"}
{"n":2,"at_ms":0.2,"party":"client B","dir":"sent","kind":"frame","label":"chat","text":"{\"type\":\"chat\",\"n\":%d}"}
{"n":4,"at_ms":3.1,"party":"client A","dir":"received","kind":"frame","label":"agent_switched","text":%q}
{"n":5,"at_ms":9.5,"dir":"noted","kind":"remark","label":"the end"}
`, i, long))
		sum := sha256.Sum256(files[path])
		s.Recording = &reports.Transcript{Path: path, SHA256: hex.EncodeToString(sum[:])}
	}
	return r, func(path string) ([]byte, error) { return files[path], nil }
}

// put writes a page to a file.
func put(t *testing.T, name string, write func(io.Writer) error) string {
	t.Helper()
	var b bytes.Buffer
	if err := write(&b); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(path, b.Bytes(), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func report(t *testing.T, l lang.Lang) string {
	t.Helper()
	r, read := results(t)
	return put(t, "report.html", func(w io.Writer) error {
		return reports.WriteHTMLWith(w, r, reports.PageOptions{Read: read, Lang: l})
	})
}

// other is another run of the same target, in which other clauses hold.
func other(t *testing.T, version string) *reports.Results {
	t.Helper()
	r, _ := results(t)
	r.Runs[0].Target.Version = version
	r.Started = r.Started.Add(24 * time.Hour)
	r.Runs[0].Clauses[2].Outcome, r.Runs[0].Clauses[8].Outcome = verdict.Failed, verdict.Passed
	for i := range r.Runs[0].Scenarios {
		r.Runs[0].Scenarios[i].Duration += 2000
	}
	return r
}

// sited makes a site of two certificates, one of which has expired, and returns its folder.
func sited(t *testing.T) string {
	t.Helper()
	dir, now := t.TempDir(), time.Date(2026, 11, 24, 12, 0, 0, 0, time.UTC)
	suite := reports.Suite{Version: "0.1.0", Digest: "sha256:" + strings.Repeat("ab", 32)}
	clauses := []reports.Clause{{ID: "AS-001", Level: verdict.Must, Section: "1", Text: "says hello " + long},
		{ID: "AS-002", Level: verdict.Should, Section: "1", Text: "is polite"}}
	seed := sha256.Sum256([]byte("acme"))
	key := ed25519.NewKeyFromSeed(seed[:])
	for i, expires := range []string{"2027-01-01", "2026-11-23"} {
		run := reports.Run{Protocol: "agent-select", Role: "server", Verdict: verdict.Conformant, Clauses: clauses,
			Target: reports.Target{Name: "Chat " + long, Drivers: []string{"sse"}, Origin: reports.FromAddress},
			Totals: reports.Totals{Clauses: reports.Count{Total: 2, ByOutcome: map[verdict.Outcome]int{verdict.Passed: 1,
				verdict.Warned: 1}}}}
		run.Clauses[0].Outcome, run.Clauses[1].Outcome = verdict.Passed, verdict.Warned
		r := &reports.Results{Suite: suite, Verdict: verdict.Conformant, Started: now.AddDate(0, -1, 0),
			Options: &reports.Options{}, Runs: []reports.Run{run}}
		root, err := certificate.Root([]certificate.File{{Path: "transcripts/a.txt", SHA256: strings.Repeat("ef", 32)}})
		if err != nil {
			t.Fatal(err)
		}
		st := certificate.New(r, strings.Repeat("cd", 32), root, nil,
			certificate.Options{Issued: now.AddDate(0, 0, -7), Expires: expires, Version: fmt.Sprint("1.", i)})
		b, err := certificate.Sign(st, key)
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, fmt.Sprint(i, ".json")), b, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	out := filepath.Join(dir, "site")
	n, refused, err := site.Build(site.Options{Dir: dir, Out: out, Now: now, Program: "parley",
		Suite: certificate.Suite{Suite: suite,
			Clauses: func(string, string) ([]reports.Clause, error) { return clauses, nil }}})
	if err != nil || n != 2 {
		t.Fatalf("%d are listed, %v: %v", n, refused, err)
	}
	return out
}

// TestReportPages: on every page axe finds nothing, in light and dark colours, and nothing is wider than the screen of
// a phone or has to be scrolled sideways, with everything unfolded.
func TestReportPages(t *testing.T) {
	v := start(t)
	folder := sited(t)
	certificates, err := filepath.Glob(filepath.Join(folder, "certificates", "*.html"))
	if err != nil || len(certificates) != 2 {
		t.Fatalf("%v, %v", certificates, err)
	}
	r, _ := results(t)
	for name, file := range map[string]string{
		"report":  report(t, lang.English),
		"Chinese": report(t, lang.Chinese),
		"matrix": put(t, "matrix.html", func(w io.Writer) error {
			return reports.WriteMatrixHTML(w, reports.NewMatrix(r, other(t, "1.0"), other(t, "1.1-"+long)))
		}),
		"comparison": put(t, "changes.html", func(w io.Writer) error {
			return reports.WriteComparisonHTML(w, reports.Compare(r, other(t, "1.1")))
		}),
		"site":            filepath.Join(folder, "index.html"),
		"certificate":     certificates[0],
		"old certificate": certificates[1],
	} {
		t.Run(name, func(t *testing.T) {
			if name != "report" && name != "certificate" {
				tier.Night(t)
			}
			for _, width := range []int64{360, 1280} {
				for _, scheme := range []string{"light", "dark"} {
					if name == "Chinese" && scheme == "dark" { // its colours are those of the report in English
						continue
					}
					where := fmt.Sprintf("%s at %d", scheme, width)
					v := v.opens(t, file, scheme, width)
					v.unfold()
					v.wait(`[...document.querySelectorAll("details[data-pack]")].every((d) => d.querySelector(".lanes"))`)
					v.run(`document.querySelectorAll(".message").forEach((d) => { d.open = true; })`)
					v.shot(where)
					v.fits(where)
					if scheme == "light" {
						v.check(where)
					} else { // only colours differ
						v.check(where, "color-contrast")
					}
				}
			}
		})
	}
}

// TestReportPageFolds: sections fold and unfold, a link opens what it leads to, a filter narrows a list, and the
// recording of a scenario is unpacked and drawn when it is opened, and not before.
func TestReportPageFolds(t *testing.T) {
	v := start(t).opens(t, report(t, lang.English), "light", 1280)
	if got := v.value(`document.querySelectorAll(".lanes").length`); got != "0" {
		t.Errorf("%s recordings are drawn before anybody asks", got)
	}
	const fold = `document.querySelector("#r1-clauses > details")`
	shown := `document.getElementById("r1-clause-list").checkVisibility()`
	v.wait(fold + ".open && " + shown)
	v.do(chromedp.Click("#r1-clauses > details > summary"))
	v.wait("!" + fold + ".open && !" + shown)

	v.run(`document.querySelector('.picture a[href="#r1-AS-080"]').click()`)
	v.wait(fold + `.open && document.getElementById("r1-AS-080").checkVisibility()`)

	v.do(chromedp.SendKeys(`form[data-for="r1-clause-list"] input`, "AS-080"))
	v.wait(`document.querySelectorAll("#r1-clause-list .item:not([hidden])").length === 1`)

	v.do(chromedp.Click(`#r1-4\.2-01-sse > summary`))
	const drawn = `document.getElementById("r1-4.2-01-sse").querySelector(".lanes")`
	v.wait(drawn + " !== null")
	if got := v.value(`document.querySelectorAll(".lanes").length`); got != "1" {
		t.Errorf("%s recordings are drawn", got)
	}
	if got := v.value(drawn + `.querySelector(".gap").textContent`); got != "awaited, and never came: agent_switched" {
		t.Errorf("the gap says %q", got)
	}
	v.run(drawn + `.querySelectorAll("summary")[1].click()`)
	v.wait(drawn + `.querySelectorAll("details")[1].querySelector("pre").checkVisibility()`)
	if got := v.value(drawn + `.querySelectorAll("details")[1].querySelector("pre").textContent`); got !=
		"{\n  \"type\": \"chat\",\n  \"n\": 8\n}" {
		t.Errorf("the message is %q", got)
	}
}

// TestReportPageSpeaksChinese: what the script says is in the language of the page, too.
func TestReportPageSpeaksChinese(t *testing.T) {
	v := start(t).opens(t, report(t, lang.Chinese), "light", 1280)
	v.do(chromedp.Click(`#r1-4\.2-01-sse > summary`))
	v.wait(`document.querySelector("#r1-4\\.2-01-sse .lanes") !== null`)
	v.unfold()
	drawn := v.value(`document.querySelector("#r1-4\\.2-01-sse .lanes").innerText`)
	for _, want := range []string{"等待却没有到来：agent_switched", "记录 2 · +0.2 毫秒 · client B 发出 frame", "目标"} {
		if !strings.Contains(drawn, want) {
			t.Errorf("the sequence lacks %s: %s", want, drawn)
		}
	}
	v.do(chromedp.SendKeys(`form[data-for="r1-clause-list"] input`, "AS-080"))
	v.wait(`document.querySelector('form[data-for="r1-clause-list"] output').textContent === "显示 1 / 15"`)
}
