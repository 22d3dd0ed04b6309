package certificate_test

import (
	"encoding/json"
	"regexp"
	"slices"
	"strings"
	"testing"

	"parley/features/verdict"
	"parley/reports"
	"parley/reports/certificate"
	"parley/reports/lang"
)

var letters = regexp.MustCompile(`[A-Za-z]{2,}`)

// ours are words that are the same in each language.
var ours = []string{"Parley", "parley", "verify", "SHA", "sha", "DSSE", "in", "toto", "Merkle", "kill", "matrix", "UTC",
	"target", "json", "id", "PUBLIC", "KEY", "public", "key"}

// leftOver returns the words of texts that are neither ours nor in what was signed.
func leftOver(t *testing.T, c *certificate.Certificate, texts []string) (left []string) {
	t.Helper()
	statement, err := json.Marshal(c.Statement)
	if err != nil {
		t.Fatal(err)
	}
	values := regexp.MustCompile(`"[^"]*":|"(?:passed|warned|not-applicable|not-tested)"`).ReplaceAllString(
		string(statement), "")
	known := append(letters.FindAllString(values, -1), ours...)
	for _, w := range letters.FindAllString(strings.ReplaceAll(strings.Join(texts, " "), c.KeyID, ""), -1) {
		if !slices.Contains(known, w) && !slices.Contains(left, w) {
			left = append(left, w)
		}
	}
	return left
}

// TestNoEnglishIsLeft: a page, the claims and the checks in Chinese have no English word but those of the certificate
// and names. The same in English has many, which proves that the test sees them.
func TestNoEnglishIsLeft(t *testing.T) {
	told := func(c *certificate.Certificate, l lang.Lang) (texts []string) {
		now := now.AddDate(2*len(c.Predicate.Target.Version), 0, 0) // one of them has expired
		texts = append(c.Claims(l), c.NotClaimed(l, "")...)
		s, other := sampleSuite(), sampleSuite()
		other.Suite.Digest, other.Kills = "", nil
		for _, check := range append(certificate.Verify(c, s, certificate.Facts{Now: now, Lang: l}),
			certificate.Verify(c, other, certificate.Facts{Now: now, Lang: l, Results: []byte("{}"),
				Artifact: &certificate.Subject{}, Keys: facts().Keys})...) {
			texts = append(texts, l.Say(check.Name), l.Say(string(check.State)), check.Text)
		}
		page, err := c.HTML(certificate.Page{Now: now, File: "certificate.json", Program: "parley", Lang: l,
			Texts: certificate.Texts([]reports.Clause{{ID: "AS-001", Text: "An English text", Source: "原文"}}, l)})
		if err != nil {
			t.Fatal(err)
		}
		page = regexp.MustCompile(`(?s)<style>.*?</style>|<svg.*?</svg>|<[^>]*>|&\w+;`).ReplaceAll(page, []byte(" "))
		return append(texts, string(page))
	}
	bare := statement(t, results(t, "", 1))
	bare.Subject, bare.Predicate.Kills = bare.Subject[:1], nil
	bare.Predicate.Target.Version, bare.Predicate.Target.Capabilities, bare.Predicate.Run.Strict = "", nil, true
	bare.Predicate.Clauses[1].Outcome, bare.Predicate.Clauses[1].Level = verdict.NotTested, verdict.Should
	for name, s := range map[string]*certificate.Statement{"whole": statement(t, results(t, "", 2)), "bare": bare} {
		c, err := certificate.Open(signed(t, s, "acme"))
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if left := leftOver(t, c, told(c, lang.Chinese)); len(left) > 0 {
			t.Errorf("%s: left in English: %q, in\n%s", name, left, strings.Join(told(c, lang.Chinese), "\n"))
		}
		if left := leftOver(t, c, told(c, lang.English)); len(left) < 50 {
			t.Errorf("%s: only the words %q are left in English", name, left)
		}
	}
}
