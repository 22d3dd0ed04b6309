package certificate

import (
	"bytes"
	"crypto/ed25519"
	"fmt"
	"slices"
	"time"

	"parley/reports"
	"parley/reports/lang"
	"parley/transport/transcript"
)

// Suite is what a program knows of suites.
type Suite struct {
	reports.Suite // that it has

	Released map[string]string                                     // version → digest, of released versions
	Clauses  func(protocol, role string) ([]reports.Clause, error) // of the suite that it has
	Kills    *Kills                                                // may be of another suite, or nil
	Mutants  bool                                                  // it has mutants: certificates need a kill matrix
}

// Holder is a public key, with the name of the file that it came from.
type Holder struct {
	Name   string
	Public ed25519.PublicKey
}

// Facts are what a certificate is compared with.
type Facts struct {
	Now      time.Time
	Keys     []Holder // that are trusted; none: any
	Results  []byte   // results.json; nil: not compared
	Dir      string   // the folder of its transcripts
	Artifact *Subject // nil: not compared
	Lang     lang.Lang
}

// State is the result of a check.
type State string

// States of checks. A certificate is good if none is Bad.
const (
	Good    State = "good"
	Bad     State = "bad"
	Unknown State = "not compared" // there was nothing to compare with
)

// Check is one thing that was checked.
type Check struct {
	Name  string
	State State
	Text  string // what was found, for people
}

// Names of checks.
const (
	OfSignature = "signature"
	OfResults   = "results"
	OfArtifact  = "artifact"
	OfSuite     = "suite"
	OfKills     = "kill matrix"
	OfExpiry    = "expiry"
)

// Sound reports whether no check is Bad, apart from those named.
func Sound(checks []Check, but ...string) bool {
	return !slices.ContainsFunc(checks, func(c Check) bool { return c.State == Bad && !slices.Contains(but, c.Name) })
}

// Verify checks a certificate whose signature is good against what is known. Texts are in the language of the facts,
// but for those of errors.
func Verify(c *Certificate, s Suite, f Facts) []Check {
	return []Check{c.checkKey(f), c.checkResults(f), c.checkArtifact(f), c.checkSuite(s, f.Lang), c.checkKills(s, f.Lang),
		c.checkExpiry(f)}
}

// HolderOf names the holder of the key of a certificate; "" if none of the keys is his.
func HolderOf(c *Certificate, keys []Holder) string {
	for _, k := range keys {
		if k.Public.Equal(c.Public) {
			return k.Name
		}
	}
	return ""
}

func (c *Certificate) checkKey(f Facts) Check {
	l := f.Lang
	if len(f.Keys) == 0 {
		return Check{OfSignature, Good,
			l.Say("matches its content; made with the key %s, and nothing here says who holds it", c.KeyID)}
	}
	if name := HolderOf(c, f.Keys); name != "" {
		return Check{OfSignature, Good,
			l.Say("matches its content; made with the key of %s", transcript.Printable(name))}
	}
	return Check{OfSignature, Bad, l.Say("made with the key %s, which is none of those given", c.KeyID)}
}

func (c *Certificate) checkResults(f Facts) Check {
	l := f.Lang
	if f.Results == nil {
		return Check{OfResults, Unknown, l.Say("no results.json was given")}
	}
	sum, err := DigestOf(bytes.NewReader(f.Results))
	if err != nil || sum != c.Subject[0].Digest.SHA256 {
		return Check{OfResults, Bad, l.Say("this results.json is not the one that was certified")}
	}
	r, err := reports.ReadJSON(bytes.NewReader(f.Results))
	if err != nil {
		return Check{OfResults, Bad, err.Error()}
	}
	files := Files(r)
	if root, err := Root(files); err != nil || root != c.Predicate.Transcripts {
		return Check{OfResults, Bad, l.Say("the transcripts that results.json names are not those that were certified")}
	}
	if err := CheckFiles(f.Dir, files); err != nil {
		return Check{OfResults, Bad, transcript.Printable(err.Error())}
	}
	return Check{OfResults, Good, l.Say("results.json and its %d files are those that were certified", len(files))}
}

func (c *Certificate) checkArtifact(f Facts) Check {
	named, mine, l := c.Artifact(), f.Artifact, f.Lang
	switch {
	case mine == nil && named == nil:
		return Check{OfArtifact, Unknown, l.Say("the certificate names none")}
	case mine == nil:
		return Check{OfArtifact, Unknown,
			l.Say("%s, sha256 %s", transcript.Printable(named.Name), named.Digest.SHA256)}
	case named == nil:
		return Check{OfArtifact, Bad, l.Say("the certificate names none, so that it says nothing about this file")}
	case named.Digest != mine.Digest:
		return Check{OfArtifact, Bad, l.Say("this file is not the one that was certified")}
	}
	return Check{OfArtifact, Good, l.Say("this file is the one that was certified")}
}

func (c *Certificate) checkSuite(s Suite, l lang.Lang) Check {
	p := &c.Predicate
	named := fmt.Sprintf("%s (%s)", transcript.Printable(p.Suite.Version), p.Suite.Digest)
	switch {
	case p.Suite == s.Suite:
		if differs := c.otherClauses(s, l); differs != "" {
			return Check{OfSuite, Bad, differs}
		}
		return Check{OfSuite, Good, l.Say("%s, which this program has; the clauses are the suite's", named)}
	case s.Released[p.Suite.Version] == p.Suite.Digest:
		return Check{OfSuite, Good,
			l.Say("%s, a released one; this program has %s, and did not compare the clauses", named, s.Version)}
	}
	return Check{OfSuite, Bad, l.Say("%s is unknown: this program has %s (%s); verify with the version that has it",
		named, s.Version, s.Digest)}
}

// otherClauses says how the clauses differ from those that the suite has for the role; "" if they do not.
func (c *Certificate) otherClauses(s Suite, l lang.Lang) string {
	t := c.Predicate.Target
	known, err := s.Clauses(t.Protocol, t.Role)
	if err != nil {
		return l.Say("the suite judges no such target: %s", transcript.Printable(err.Error()))
	}
	if len(known) != len(c.Predicate.Clauses) {
		return l.Say("the certificate has %d clauses, and the suite has %d", len(c.Predicate.Clauses), len(known))
	}
	for i, k := range known {
		if x := c.Predicate.Clauses[i]; x.ID != k.ID || x.Level != k.Level || x.Outside != (k.Excluded || k.OtherRole) {
			return l.Say("the clause %s of the certificate is not the suite's %s", x.ID, k.ID)
		}
	}
	return ""
}

func (c *Certificate) checkKills(s Suite, l lang.Lang) Check {
	p := &c.Predicate
	switch {
	case p.Kills == nil && s.Mutants && p.Suite == s.Suite:
		return Check{OfKills, Bad, l.Say("the certificate has none, although the suite has mutants")}
	case p.Kills == nil:
		return Check{OfKills, Unknown, l.Say("none: nothing shows that the suite detects faults")}
	case s.Kills == nil || s.Kills.Suite != p.Suite:
		return Check{OfKills, Unknown, l.Say("this program has none of that suite")}
	}
	mine, ok := s.Kills.Figures(p.Target.Protocol, p.Target.Role)
	if !ok || mine.Digest != p.Kills.Digest || mine.Mutants != p.Kills.Mutants || mine.Killed != p.Kills.Killed ||
		mine.Proved != p.Kills.Proved || !slices.Equal(mine.Unproved, p.Kills.Unproved) {
		return Check{OfKills, Bad, l.Say("it is not the one that this program has for the suite")}
	}
	return Check{OfKills, Good, l.Say("the one that this program has for the suite")}
}

func (c *Certificate) checkExpiry(f Facts) Check {
	p, now, l := &c.Predicate, f.Now, f.Lang
	switch {
	case p.Issued.After(now.Add(24 * time.Hour)):
		return Check{OfExpiry, Bad, l.Say("it was issued in the future, at %s", p.Issued.Format(time.RFC3339))}
	case p.Expired(now):
		return Check{OfExpiry, Bad, l.Say("it expired after %s", p.Expires)}
	}
	end, _ := p.lastMoment()
	return Check{OfExpiry, Good, l.Say("valid until %s, for %d more days", p.Expires, int(end.Sub(now).Hours()/24))}
}
