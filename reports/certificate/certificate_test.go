package certificate_test

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"crypto/sha256"
	"crypto/x509"
	"encoding/hex"
	"encoding/pem"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"parley/features/verdict"
	"parley/reports"
	"parley/reports/certificate"
	"parley/reports/lang"
)

// TestRefusals checks that each reason is given alone, and none for a conformant run.
func TestRefusals(t *testing.T) {
	if why := certificate.Refusals(results(t, "", 1), now); len(why) > 0 {
		t.Errorf("a conformant run is refused: %q", why)
	}
	for name, row := range map[string]struct {
		spoil func(*reports.Results)
		want  string
	}{
		"baseline":        {func(r *reports.Results) { r.Options.Baseline = true }, "without --baseline"},
		"baseline rows":   {func(r *reports.Results) { r.Runs[0].Baseline = make([]reports.BaselineRow, 1) }, "a baseline"},
		"incomplete":      {func(r *reports.Results) { r.Options.AllowIncomplete = true }, "--allow-incomplete"},
		"features":        {func(r *reports.Results) { r.Options.Features = []string{"my.feature"} }, "without --features"},
		"faults":          {func(r *reports.Results) { r.Options.Faults = true }, "without --faults"},
		"faults of a run": {func(r *reports.Results) { r.Runs[0].Faults = make([]reports.Fault, 1) }, "without --faults"},
		"insecure":        {func(r *reports.Results) { r.Runs[0].Target.Insecure = true }, "was not checked"},
		"filter":          {func(r *reports.Results) { r.Selection = "@AS-001" }, "a filter narrowed the run (@AS-001)"},
		"bundled":         {func(r *reports.Results) { r.Runs[0].Target.Origin = reports.FromBundle }, "bundled with"},
		"unknown origin":  {func(r *reports.Results) { r.Runs[0].Target.Origin = "" }, "where the target comes from"},
		"unknown options": {func(r *reports.Results) { r.Options = nil }, "how the run was made"},
		"interrupted":     {func(r *reports.Results) { r.Partial = true }, "interrupted"},
		"several":         {func(r *reports.Results) { r.Runs = append(r.Runs, r.Runs[0]) }, "these results have 2"},
		"none":            {func(r *reports.Results) { r.Runs = nil }, "these results have 0"},
		"passive":         {func(r *reports.Results) { r.Passive = true }, "observed traffic"},
		"future":          {func(r *reports.Results) { r.Started = now.AddDate(0, 0, 2) }, "in the future"},
		"unreachable":     {func(r *reports.Results) { r.Runs[0].Environment = "refused" }, "could not be judged: refused"},
		"as expected":     {func(r *reports.Results) { r.Verdict = verdict.AsExpected }, "the verdict is as-expected"},
		"non-conformant":  {func(r *reports.Results) { r.Verdict = verdict.NonConformant }, "the verdict is non-conformant"},
		"one incomplete":  {func(r *reports.Results) { r.Runs[0].Verdict = verdict.Incomplete }, "the verdict of agent"},
	} {
		r := results(t, "", 1)
		row.spoil(r)
		if why := certificate.Refusals(r, now); len(why) != 1 || !strings.Contains(why[0], row.want) {
			t.Errorf("%s: refused because %q, want one reason with %q", name, why, row.want)
		}
	}
}

// TestAudit checks that results which were edited so that they contradict themselves or the suite are found.
func TestAudit(t *testing.T) {
	if err := certificate.Audit(results(t, "", 2), known()); err != nil {
		t.Errorf("results of a run: %v", err)
	}
	for want, spoil := range map[string]func(*reports.Run){
		"have 3 clauses, and the suite has 4":  func(r *reports.Run) { r.Clauses = r.Clauses[:3] },
		"AS-009 of the results is not":         func(r *reports.Run) { r.Clauses[0].ID = "AS-009" },
		"AS-001 of the results is not":         func(r *reports.Run) { r.Clauses[0].Level = verdict.May },
		"AS-002 of the results is not":         func(r *reports.Run) { r.Clauses[1].Excluded = true },
		"what the suite says":                  func(r *reports.Run) { r.Clauses[3].Reason = "excluded: no" },
		"AS-001 passed, and that it is failed": func(r *reports.Run) { r.Clauses[0].ByDriver["sse"] = verdict.Failed },
		"count 1 clause as passed, and 2 are listed": func(r *reports.Run) {
			r.Clauses[2] = changed(r.Clauses[2], verdict.Passed)
		},
		"count 4 clauses in all, and 3 are listed": func(r *reports.Run) { r.Totals.Clauses.Total = 4 },
		"the verdict is incomplete":                func(r *reports.Run) { r.Verdict = verdict.Incomplete },
		"that AS-1-0 found it failed": func(r *reports.Run) {
			r.Scenarios[0].Clauses[0].Outcome = verdict.Failed
		},
		"count 2 scenarios as passed, and 1 are listed": func(r *reports.Run) { r.Scenarios = r.Scenarios[:1] },
	} {
		r := results(t, "", 2)
		spoil(&r.Runs[0])
		if err := certificate.Audit(r, known()); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("audit: %v, want %q", err, want)
		}
	}
}

// changed returns a clause with another outcome, over every driver.
func changed(c reports.Clause, o verdict.Outcome) reports.Clause {
	c.Outcome, c.ByDriver = o, nil
	return c
}

// TestVerify checks each check of a certificate, with its twin.
func TestVerify(t *testing.T) {
	dir := t.TempDir()
	r := results(t, dir, 2)
	c, err := certificate.Open(signed(t, statement(t, r), "acme"))
	if err != nil {
		t.Fatal(err)
	}
	whole := facts()
	whole.Results, whole.Dir, whole.Artifact = written(t, r), dir, c.Artifact()
	if checks := certificate.Verify(c, sampleSuite(), whole); slices.ContainsFunc(checks,
		func(c certificate.Check) bool { return c.State != certificate.Good }) {
		t.Errorf("with everything to compare: %v", checks)
	}
	for name, row := range map[string]struct {
		spoil func(*certificate.Suite, *certificate.Facts)
		bad   string
	}{
		"another key": {func(_ *certificate.Suite, f *certificate.Facts) {
			f.Keys = []certificate.Holder{{Name: "b", Public: public("b")}}
		}, certificate.OfSignature},
		"other results": {func(_ *certificate.Suite, f *certificate.Facts) { f.Results = append(f.Results, ' ') },
			certificate.OfResults},
		"no transcripts": {func(_ *certificate.Suite, f *certificate.Facts) { f.Dir = t.TempDir() }, certificate.OfResults},
		"another artifact": {func(_ *certificate.Suite, f *certificate.Facts) {
			f.Artifact = &certificate.Subject{Name: "acme.tar.gz", Digest: certificate.Digest{SHA256: digits("other")}}
		}, certificate.OfArtifact},
		"another suite": {func(s *certificate.Suite, _ *certificate.Facts) { s.Digest = "sha256:" + digits("b") },
			certificate.OfSuite},
		"other clauses": {func(s *certificate.Suite, _ *certificate.Facts) {
			s.Clauses = func(string, string) ([]reports.Clause, error) { return known()[:3], nil }
		}, certificate.OfSuite},
		"another matrix": {func(s *certificate.Suite, _ *certificate.Facts) { s.Kills.Roles[0].Unproved = []string{} },
			certificate.OfKills},
		"expired": {func(_ *certificate.Suite, f *certificate.Facts) { f.Now = now.AddDate(1, 0, 1) },
			certificate.OfExpiry},
		"not issued": {func(_ *certificate.Suite, f *certificate.Facts) { f.Now = now.AddDate(0, 0, -2) },
			certificate.OfExpiry},
	} {
		s, f := sampleSuite(), whole
		row.spoil(&s, &f)
		for _, check := range certificate.Verify(c, s, f) {
			if (check.State == certificate.Bad) != (check.Name == row.bad) {
				t.Errorf("%s: %v", name, check)
			}
		}
	}
	released := sampleSuite()
	released.Suite, released.Released = reports.Suite{Version: "2", Digest: "sha256:" + digits("2")},
		map[string]string{suite.Version: suite.Digest}
	if checks := certificate.Verify(c, released, facts()); !certificate.Sound(checks) {
		t.Errorf("of an earlier released suite: %v", checks)
	}
	if last := facts(); !certificate.Sound(certificate.Verify(c, sampleSuite(), certificate.Facts{Keys: last.Keys,
		Now: time.Date(2027, 11, 24, 23, 59, 59, 0, time.UTC)})) {
		t.Error("it is not valid on its last day")
	}
}

// TestFalseStatements checks that a good signature does not make a statement acceptable that no run can make.
func TestFalseStatements(t *testing.T) {
	for name, spoil := range map[string]func(*certificate.Statement){
		"a failed clause":      func(s *certificate.Statement) { s.Predicate.Clauses[0].Outcome = verdict.Failed },
		"an untested MUST":     func(s *certificate.Statement) { s.Predicate.Clauses[0].Outcome = verdict.NotTested },
		"a clause left out":    func(s *certificate.Statement) { s.Predicate.Clauses = s.Predicate.Clauses[1:] },
		"a clause moved out":   func(s *certificate.Statement) { s.Predicate.Clauses[1].Outside = true },
		"a clause made weaker": func(s *certificate.Statement) { s.Predicate.Clauses[0].Level = verdict.May },
		"a clause twice":       func(s *certificate.Statement) { s.Predicate.Clauses[1] = s.Predicate.Clauses[0] },
		"a bundled target":     func(s *certificate.Statement) { s.Predicate.Target.Origin = reports.FromBundle },
		"no suite":             func(s *certificate.Statement) { s.Predicate.Suite = reports.Suite{} },
		"no transcripts":       func(s *certificate.Statement) { s.Predicate.Transcripts.Files = 0 },
		"no kill matrix":       func(s *certificate.Statement) { s.Predicate.Kills = nil },
		"better figures":       func(s *certificate.Statement) { s.Predicate.Kills.Proved = 4 },
		"another subject":      func(s *certificate.Statement) { s.Subject[0].Name = "x" },
		"a malformed digest":   func(s *certificate.Statement) { s.Subject[0].Digest.SHA256 = "x" },
		"no day":               func(s *certificate.Statement) { s.Predicate.Expires = "never" },
		"another type":         func(s *certificate.Statement) { s.PredicateType += "2" },
		"a long text":          func(s *certificate.Statement) { s.Predicate.Target.Name = strings.Repeat("x", 5000) },
		"an unknown protocol":  func(s *certificate.Statement) { s.Predicate.Target.Protocol = "smoke" },
	} {
		s := statement(t, results(t, "", 1))
		spoil(s)
		refuse(t, name, signed(t, s, "acme"))
	}
}

// TestFormerType checks that a certificate of an earlier program, which had another predicate type, is read.
func TestFormerType(t *testing.T) {
	s := statement(t, results(t, "", 1))
	s.PredicateType = "https://parley.dev/certificate/v1"
	if _, err := certificate.Open(signed(t, s, "acme")); err != nil {
		t.Error(err)
	}
}

// TestKeys checks the form of keys, and that each other kind is named.
func TestKeys(t *testing.T) {
	private, pub, err := certificate.NewKey()
	if err != nil {
		t.Fatal(err)
	}
	k, err := certificate.ParsePrivate(private)
	if err != nil {
		t.Fatal(err)
	}
	if p, err := certificate.ParsePublic(pub); err != nil || !p.Equal(k.Public()) {
		t.Errorf("the public key is not that of the private one: %v", err)
	}
	ec, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	small, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		t.Fatal(err)
	}
	block := func(kind string, key any) []byte {
		der, err := x509.MarshalPKCS8PrivateKey(key)
		if err != nil {
			t.Fatal(err)
		}
		return pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der})
	}
	for want, b := range map[string][]byte{
		"another kind (ECDSA)":           block("PRIVATE KEY", ec),
		"another kind (RSA)":             block("PRIVATE KEY", small),
		"another kind (EC PRIVATE KEY)":  block("EC PRIVATE KEY", ec),
		"format of OpenSSH":              block("OPENSSH PRIVATE KEY", ec),
		"an encrypted key":               block("ENCRYPTED PRIVATE KEY", ec),
		`a "CERTIFICATE"`:                block("CERTIFICATE", ec),
		"it is a public key":             pub,
		"no key in PEM":                  []byte("ssh-ed25519 AAAA"),
		"more than one key":              append(slices.Clone(private), private...),
		"its private key cannot be read": pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: []byte("x")}),
	} {
		if _, err := certificate.ParsePrivate(b); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %q", err, want)
		}
	}
	if _, err := certificate.ParsePublic(private); err == nil || !strings.Contains(err.Error(), "it is a private key") {
		t.Errorf("a private key as a public one: %v", err)
	}
}

// TestRoot compares Merkle roots with those of RFC 6962, computed by hand.
func TestRoot(t *testing.T) {
	hash := func(parts ...string) string {
		sum := sha256.Sum256([]byte(strings.Join(parts, "")))
		return string(sum[:])
	}
	a, b, c := certificate.File{Path: "a", SHA256: "1"}, certificate.File{Path: "b", SHA256: "2"},
		certificate.File{Path: "c", SHA256: "3"}
	la, lb, lc := hash("\x00", "1  a"), hash("\x00", "2  b"), hash("\x00", "3  c")
	for want, files := range map[string][]certificate.File{
		la:                                     {a},
		hash("\x01", la, lb):                   {a, b},
		hash("\x01", hash("\x01", la, lb), lc): {a, b, c},
	} {
		if got, err := certificate.Root(files); err != nil || got.Root != hex.EncodeToString([]byte(want)) ||
			got.Files != len(files) {
			t.Errorf("%v: %v, %v", files, got, err)
		}
	}
}

// TestCheckFiles checks that files which are altered, missing, links or outside are found.
func TestCheckFiles(t *testing.T) {
	dir := t.TempDir()
	put(t, filepath.Join(dir, "transcripts", "a.txt"), "a")
	put(t, filepath.Join(filepath.Dir(dir), "outside.txt"), "o")
	good := certificate.File{Path: "transcripts/a.txt", SHA256: digits("a")}
	if err := certificate.CheckFiles(dir, []certificate.File{good}); err != nil {
		t.Error(err)
	}
	if err := os.Symlink("a.txt", filepath.Join(dir, "transcripts", "link.txt")); err != nil {
		t.Fatal(err)
	}
	for _, f := range []certificate.File{{Path: good.Path, SHA256: digits("b")},
		{Path: "transcripts/b.txt", SHA256: digits("a")},
		{Path: "../outside.txt", SHA256: digits("o")}, {Path: "transcripts/link.txt", SHA256: digits("a")},
		{Path: "transcripts", SHA256: digits("a")}} {
		err := certificate.CheckFiles(dir, []certificate.File{good, f})
		if err == nil || !strings.Contains(err.Error(), f.Path) {
			t.Errorf("%v: %v", f, err)
		}
	}
}

// TestHostilePage checks that no text of a certificate becomes markup on its page or its badge.
func TestHostilePage(t *testing.T) {
	s := statement(t, results(t, "", 1))
	const evil = `"><script>alert(1)</script><img src=x onerror=alert(1)>` + "\u202egnp"
	s.Predicate.Target.Name, s.Predicate.Target.Version, s.Predicate.Target.Protocol = evil, evil, evil
	s.Predicate.Target.Role, s.Predicate.Target.Drivers = evil, []string{evil}
	s.Predicate.Target.Capabilities = []string{evil}
	s.Predicate.Suite.Version, s.Subject[1].Name, s.Predicate.Clauses[1].Reason = evil, evil, evil
	c, err := certificate.Open(signed(t, s, "acme"))
	if err != nil {
		t.Fatal(err)
	}
	page, err := c.HTML(certificate.Page{Now: now, File: "certificate.json", Program: "parley", Holder: evil})
	if err != nil {
		t.Fatal(err)
	}
	for _, text := range []string{string(page), string(c.Badge(now).SVG())} {
		if !strings.Contains(text, "&lt;script&gt;") {
			t.Error("the text is not shown at all")
		}
		if strings.Contains(text, "<script") || strings.Contains(text, "<img") || strings.Contains(text, "\u202e") {
			t.Errorf("a text became markup:\n%s", text)
		}
	}
	for _, line := range append(c.Claims(lang.English), c.NotClaimed(lang.English, "")...) {
		if strings.ContainsAny(line, "\u202e\n\x1b") {
			t.Errorf("a line can be reordered: %q", line)
		}
	}
}

// BenchmarkCertify measures what certify does with the results of a run of 1,000 scenarios.
func BenchmarkCertify(b *testing.B) {
	dir := b.TempDir()
	raw := written(b, results(b, dir, 1000))
	st := statement(b, results(b, "", 1000))
	for b.Loop() {
		r, err := reports.ReadJSON(strings.NewReader(string(raw)))
		if err != nil || reports.CheckSeal(raw) != nil || len(certificate.Refusals(r, now)) > 0 {
			b.Fatal(err)
		}
		files := certificate.Files(r)
		if err := certificate.Audit(r, known()); err != nil {
			b.Fatal(err)
		}
		if err := certificate.CheckFiles(dir, files); err != nil {
			b.Fatal(err)
		}
		c, err := certificate.Open(signed(b, st, "acme"))
		if err != nil {
			b.Fatal(err)
		}
		if _, err := certificate.Root(files); err != nil {
			b.Fatal(err)
		}
		if _, err := c.HTML(certificate.Page{Now: now, File: "certificate.json"}); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkVerify measures what verify does with a certificate, the results and the transcripts of 1,000 scenarios.
func BenchmarkVerify(b *testing.B) {
	dir := b.TempDir()
	r := results(b, dir, 1000)
	f := facts()
	f.Results, f.Dir = written(b, r), dir
	body := signed(b, statement(b, r), "acme")
	for b.Loop() {
		c, err := certificate.Open(body)
		if err != nil {
			b.Fatal(err)
		}
		if checks := certificate.Verify(c, sampleSuite(), f); !certificate.Sound(checks) {
			b.Fatal(checks)
		}
	}
}
