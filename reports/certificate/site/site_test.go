package site_test

import (
	"bytes"
	"crypto/ed25519"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"
	"golang.org/x/net/html"

	"parley/features/verdict"
	"parley/reports"
	"parley/reports/certificate"
	"parley/reports/certificate/site"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

var (
	now   = time.Date(2026, 11, 24, 12, 0, 0, 0, time.UTC)
	suite = reports.Suite{Version: "0.1.0", Digest: "sha256:" + digits("suite")}
)

func digits(text string) string {
	sum := sha256.Sum256([]byte(text))
	return hex.EncodeToString(sum[:])
}

func key(name string) ed25519.PrivateKey {
	seed := sha256.Sum256([]byte(name))
	return ed25519.NewKeyFromSeed(seed[:])
}

func holder(name string) certificate.Holder {
	return certificate.Holder{Name: name, Public: key(name).Public().(ed25519.PublicKey)}
}

// certify writes the certificate of a run with one clause and the given evidence into a folder.
func certify(t *testing.T, dir, name, protocol, by, expires string, evidence map[string]string) {
	t.Helper()
	run := reports.Run{Protocol: protocol, Role: "server", Verdict: verdict.Conformant,
		Target: reports.Target{Name: name, Drivers: []string{"sse"}, Capabilities: []string{}, Origin: reports.FromAddress},
		Totals: reports.Totals{Clauses: reports.Count{Total: 1, ByOutcome: map[verdict.Outcome]int{verdict.Passed: 1}},
			ByLevel: map[string]reports.Count{}, BySection: map[string]reports.Count{}},
		Clauses: []reports.Clause{{ID: "AS-001", Level: verdict.Must, Section: "1", Text: "says hello",
			Outcome: verdict.Passed, ByDriver: map[string]verdict.Outcome{}, Scenarios: []string{}, Monitors: []string{}}},
		Scenarios: []reports.Scenario{{ID: "AS-1-1", Name: name, Outcome: verdict.Passed, Location: "f:1", Driver: "sse",
			Feature: "f", Role: "server", Tags: []string{}, Clauses: []verdict.Judgement{}, Steps: []reports.Step{},
			Notes: []string{}, Failures: []reports.Failure{}}}}
	for path, body := range evidence {
		put(t, filepath.Join(dir, path), body)
		run.Scenarios[0].Evidence = append(run.Scenarios[0].Evidence, reports.Evidence{Name: "x", Type: "text/plain",
			Path: path, SHA256: digits(body)})
	}
	r := &reports.Results{Suite: suite, Verdict: verdict.Conformant, Started: now.AddDate(0, -1, 0),
		Options: &reports.Options{}, Runs: []reports.Run{run}}
	var raw bytes.Buffer
	if err := reports.WriteJSON(&raw, r); err != nil {
		t.Fatal(err)
	}
	root, err := certificate.Root(certificate.Files(r))
	if err != nil {
		t.Fatal(err)
	}
	b, err := certificate.Sign(certificate.New(r, digits(raw.String()), root, nil,
		certificate.Options{Issued: now.AddDate(0, 0, -7), Expires: expires}), key(by))
	if err != nil {
		t.Fatal(err)
	}
	put(t, filepath.Join(dir, "results.json"), raw.String())
	put(t, filepath.Join(dir, "certificate.json"), string(b))
}

func put(t *testing.T, path, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

func options(dir string) site.Options {
	return site.Options{Dir: dir, Out: filepath.Join(dir, "site"), Now: now, Program: "parley",
		Keys: []certificate.Holder{holder("acme"), holder("globex")},
		Suite: certificate.Suite{Suite: suite, Clauses: func(string, string) ([]reports.Clause, error) {
			return []reports.Clause{{ID: "AS-001", Level: verdict.Must, Text: "says hello"}}, nil
		}}}
}

// files returns the names and contents of a folder.
func files(t *testing.T, dir string) map[string]string {
	t.Helper()
	out := map[string]string{}
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() {
			return err
		}
		b, err := os.ReadFile(path)
		rel, _ := filepath.Rel(dir, path)
		out[filepath.ToSlash(rel)] = string(b)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// TestBuild checks the site of two good certificates, an expired one, and three that are not listed.
func TestBuild(t *testing.T) {
	dir := t.TempDir()
	log := map[string]string{"transcripts/sse-AS-1-1.txt": "hello"}
	certify(t, filepath.Join(dir, "a"), "Acme Chat", "agent-select", "acme", "2027-01-01", log)
	certify(t, filepath.Join(dir, "b"), "Globex", "session-chat", "globex", "2027-01-01", log)
	certify(t, filepath.Join(dir, "old"), "Acme Old", "agent-select", "acme", "2026-11-23", log)
	certify(t, filepath.Join(dir, "m"), "Mallory", "agent-select", "mallory", "2027-01-01", log)
	certify(t, filepath.Join(dir, "altered"), "Altered", "agent-select", "acme", "2027-01-01", log)
	altered, err := os.ReadFile(filepath.Join(dir, "altered", "certificate.json"))
	if err != nil {
		t.Fatal(err)
	}
	put(t, filepath.Join(dir, "altered", "certificate.json"), strings.Replace(string(altered), "eyJ", "eyK", 1))
	put(t, filepath.Join(dir, "note.json"), `{"a": 1}`)
	for range 2 { // the second time it replaces a site, and does not read it
		n, refused, err := site.Build(options(dir))
		if err != nil || n != 3 {
			t.Fatalf("%d are listed: %v", n, err)
		}
		var why []string
		for _, r := range refused {
			why = append(why, r.Path+": "+r.Why)
		}
		if len(why) != 2 || !strings.HasPrefix(why[0], "altered/certificate.json: ") ||
			!strings.Contains(why[1], "none of those given") {
			t.Errorf("not listed: %q", why)
		}
	}
	all := files(t, filepath.Join(dir, "site"))
	index := all["index.html"]
	for _, want := range []string{"Acme Chat", "Globex", "Acme Old", "says hello", "agent-select server",
		"session-chat server", `data-expires="2027-01-01"`, `<span class="soft">expired</span>`} {
		if !strings.Contains(index, want) {
			t.Errorf("the index does not have %q", want)
		}
	}
	if strings.Contains(index, "Mallory") || strings.Contains(index, "Altered") {
		t.Error("the index has a certificate that is not accepted")
	}
	id := regexp.MustCompile(`badges/(acme-chat-agent-select-server-[0-9a-f]{16})\.svg`).FindStringSubmatch(index)
	if id == nil {
		t.Fatalf("there is no badge:\n%s", index)
	}
	for _, name := range []string{"certificates/" + id[1] + ".html", "certificates/" + id[1] + ".json",
		"badges/" + id[1] + ".svg", "badges/" + id[1] + ".json", "evidence/" + id[1] + "/report.html",
		"evidence/" + id[1] + "/results.json", "evidence/" + id[1] + "/transcripts/sse-AS-1-1.txt"} {
		if all[name] == "" {
			t.Errorf("there is no %s", name)
		}
	}
	if _, err := certificate.Open([]byte(all["certificates/"+id[1]+".json"])); err != nil {
		t.Errorf("the certificate of the site: %v", err)
	}
	links(t, all)
}

// links checks that each link and picture of the pages is a file of the site.
func links(t *testing.T, all map[string]string) {
	t.Helper()
	found := 0
	for name, text := range all {
		if !strings.HasSuffix(name, ".html") {
			continue
		}
		for _, m := range regexp.MustCompile(`(?:href|src)="([^"#]+)"`).FindAllStringSubmatch(text, -1) {
			found++
			if _, ok := all[filepath.ToSlash(filepath.Join(filepath.Dir(name), m[1]))]; !ok {
				t.Errorf("%s links to %s, which is not there", name, m[1])
			}
		}
	}
	if found < 10 {
		t.Errorf("there are only %d links", found)
	}
}

// TestHostile checks that a certificate of an attacker, whose signature and digests are good, brings neither markup
// nor files that a browser runs, nor writes or reads outside of the folders.
func TestHostile(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "certificates")
	const evil = `../../"><script>alert(1)</script><svg onload=alert(1)>` + "\u202e"
	certify(t, filepath.Join(dir, "x"), evil, evil, "acme", "2027-01-01", map[string]string{
		"transcripts/good.txt": "kept", "transcripts/page.html": "<script>1</script>", "evidence/x.svg": "<svg/>",
		"evidence/x.txt.html": "<script>1</script>", "transcripts/a/../../../../out.txt": "outside", "up.txt": "x",
		"evidence/..txt": "x"})
	put(t, filepath.Join(filepath.Dir(dir), "secret.txt"), "secret")
	if err := os.Symlink("../../secret.txt", filepath.Join(dir, "x", "transcripts", "link.txt")); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("..", filepath.Join(dir, "loop")); err != nil {
		t.Fatal(err)
	}
	before := files(t, filepath.Dir(dir))
	if n, refused, err := site.Build(options(dir)); n != 1 || err != nil {
		t.Fatalf("%d listed, not %v: %v", n, refused, err)
	}
	all := files(t, filepath.Join(dir, "site"))
	names := map[string]bool{}
	for name, text := range all {
		if strings.HasSuffix(name, ".html") && !strings.HasSuffix(name, "report.html") {
			inert(t, name, text)
		}
		if !regexp.MustCompile(`^[a-z0-9./-]+$`).MatchString(name) {
			t.Errorf("the site has a file %q", name)
		}
		names[filepath.Base(name)] = true
	}
	if !names["good.txt"] {
		t.Error("good evidence is not there")
	}
	for _, name := range []string{"page.html", "x.svg", "x.txt.html", "out.txt", "up.txt", "..txt", "link.txt"} {
		if names[name] {
			t.Errorf("the site has %s", name)
		}
	}
	for name := range files(t, filepath.Dir(dir)) {
		if _, ok := before[name]; !ok && !strings.HasPrefix(name, "certificates/site/") {
			t.Errorf("%s was written outside of the site", name)
		}
	}
}

// inert checks that a page has only our script and style, no handlers, and no link elsewhere.
func inert(t *testing.T, name, text string) {
	t.Helper()
	doc, err := html.Parse(strings.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	if strings.Contains(text, "\u202e") {
		t.Errorf("%s has a character that reorders text", name)
	}
	scripts := 0
	for n := range doc.Descendants() {
		if n.Type != html.ElementNode {
			continue
		}
		if n.Data == "script" {
			scripts++
			if strings.Contains(n.FirstChild.Data, "alert(1)") {
				t.Errorf("%s runs a script of the certificate", name)
			}
		}
		for _, a := range n.Attr {
			if strings.HasPrefix(a.Key, "on") || slices.Contains([]string{"href", "src"}, a.Key) &&
				!regexp.MustCompile(`^[a-z0-9./-]+$`).MatchString(a.Val) {
				t.Errorf("%s has %s=%q", name, a.Key, a.Val)
			}
		}
	}
	if want := map[bool]int{true: 1}[name == "index.html"]; scripts != want {
		t.Errorf("%s has %d scripts, want %d", name, scripts, want)
	}
}

// TestForeignFolder checks that a folder that is no site is not replaced, and that a failure keeps the earlier site.
func TestForeignFolder(t *testing.T) {
	dir := t.TempDir()
	certify(t, filepath.Join(dir, "a"), "Acme", "agent-select", "acme", "2027-01-01", map[string]string{
		"transcripts/a.txt": "a"})
	o := options(dir)
	o.Out = filepath.Join(t.TempDir(), "mine")
	put(t, filepath.Join(o.Out, "index.html"), "mine")
	var foreign *site.ForeignError
	if _, _, err := site.Build(o); !errors.As(err, &foreign) {
		t.Errorf("a foreign folder: %v", err)
	}
	if got := files(t, o.Out); len(got) != 1 || got["index.html"] != "mine" {
		t.Errorf("the foreign folder has %v", got)
	}
}
