// Package certificate makes, signs, reads and checks certificates: statements that a target conformed in a run. A
// certificate is an in-toto statement (https://in-toto.io/Statement/v1) in a DSSE envelope, signed with an Ed25519 key:
//
//	subject    results.json and, if given, the artifact that was tested, by SHA-256
//	predicate  target, suite, options and time of the run, outcome of each clause, Merkle root of the transcripts,
//	           kill matrix, public key, last day
//
// Only a conformant run of a whole suite against a foreign target is certified (Refusals). Nothing here uses a network.
package certificate

import (
	"time"

	"parley/features/verdict"
	"parley/reports"
)

// Types in the statement and the envelope.
const (
	StatementType = "https://in-toto.io/Statement/v1"
	PredicateType = "urn:parley:certificate:1"
	PayloadType   = "application/vnd.in-toto+json"

	formerPredicateType = "https://parley.dev/certificate/v1" // of earlier programs
)

// MaxBytes bounds a certificate, and MaxText each text in it.
const (
	MaxBytes = 1 << 20
	MaxText  = 4 << 10
)

// ResultsName is the name of the first subject.
const ResultsName = "results.json"

// Statement is what is signed.
type Statement struct {
	Type          string    `json:"_type"`
	Subject       []Subject `json:"subject"` // the results, then the artifact if there is one
	PredicateType string    `json:"predicateType"`
	Predicate     Predicate `json:"predicate"`
}

// Subject is a file that a statement is about.
type Subject struct {
	Name   string `json:"name"`
	Digest Digest `json:"digest"`
}

// Digest is the digest of a file.
type Digest struct {
	SHA256 string `json:"sha256"` // 64 hexadecimal digits
}

// Predicate is what a certificate says about its subjects.
type Predicate struct {
	Issued      time.Time     `json:"issued"`
	Expires     string        `json:"expires"` // YYYY-MM-DD, the last day on which it is valid, in UTC
	Key         string        `json:"key"`     // the public key: base64 of its SubjectPublicKeyInfo in DER
	Suite       reports.Suite `json:"suite"`
	Target      Target        `json:"target"`
	Run         Run           `json:"run"`
	Clauses     []Clause      `json:"clauses"`   // every clause of the suite for the role, in its order
	Scenarios   reports.Count `json:"scenarios"` // one per scenario and driver
	Transcripts Transcripts   `json:"transcripts"`
	Kills       *KillFigures  `json:"kill_matrix,omitzero"` // nil: the suite has no mutants
}

// Target is what was judged.
type Target struct {
	Name          string         `json:"name"`
	Version       string         `json:"version,omitzero"` // as the holder of the key states
	Protocol      string         `json:"protocol"`
	Role          string         `json:"role"`
	Drivers       []string       `json:"drivers"`
	Capabilities  []string       `json:"capabilities"` // that it declares
	Origin        reports.Origin `json:"origin"`
	ProfileDigest string         `json:"profile_digest,omitzero"` // "sha256:<hex>"; "" without a profile
}

// Run is when and how the target was judged.
type Run struct {
	Started   time.Time `json:"started"`
	Strict    bool      `json:"strict"`
	Seed      int64     `json:"seed"`
	Explored  int       `json:"explored,omitzero"` // number of random sequences
	CutPoints bool      `json:"cut_points,omitzero"`
}

// Clause is the outcome of one clause.
type Clause struct {
	ID      string          `json:"id"`
	Level   verdict.Level   `json:"level"`
	Outcome verdict.Outcome `json:"outcome"`
	Reason  string          `json:"reason,omitzero"` // why it did not pass
	// it was not judged whatever the target: excluded by the ledger, or of another role
	Outside bool `json:"outside,omitzero"`
}

// Transcripts are the files beside the results: transcripts, recordings, other evidence.
type Transcripts struct {
	Files int `json:"files"`
	// Merkle tree hash of RFC 6962, in hexadecimal, over the lines "<sha256>  <path>" sorted by path
	Root string `json:"root"`
}

// Options say what to certify, besides the results.
type Options struct {
	Version  string    // of the target; may be ""
	Artifact *Subject  // that was tested; may be nil
	Issued   time.Time // in UTC
	Expires  string
}

// New makes the statement about results of one run. Refusals must be empty, and Audit without error.
func New(r *reports.Results, digest string, files Transcripts, kills *KillFigures, o Options) *Statement {
	one := r.Runs[0]
	p := Predicate{Issued: o.Issued.Truncate(time.Second), Expires: o.Expires, Suite: r.Suite,
		Target: Target{Name: one.Target.Name, Version: o.Version, Protocol: one.Protocol, Role: one.Role,
			Drivers: one.Target.Drivers, Capabilities: one.Target.Capabilities, Origin: one.Target.Origin,
			ProfileDigest: one.Target.ProfileDigest},
		Run: Run{Started: r.Started.Truncate(time.Second), Strict: r.Strict, Seed: r.Seed, Explored: r.Options.Explore,
			CutPoints: r.Options.CutPoints},
		Scenarios: one.Totals.Scenarios, Transcripts: files, Kills: kills}
	for _, c := range one.Clauses {
		p.Clauses = append(p.Clauses, Clause{ID: c.ID, Level: c.Level, Outcome: c.Outcome, Reason: c.Reason,
			Outside: c.Excluded || c.OtherRole})
	}
	s := &Statement{Type: StatementType, Subject: []Subject{{ResultsName, Digest{digest}}}, PredicateType: PredicateType,
		Predicate: p}
	if o.Artifact != nil {
		s.Subject = append(s.Subject, *o.Artifact)
	}
	return s
}

// Artifact returns the artifact that was tested; nil if none is named.
func (s *Statement) Artifact() *Subject {
	if len(s.Subject) < 2 {
		return nil
	}
	return &s.Subject[1]
}

// Title names the target, with its version.
func (t Target) Title() string {
	if t.Version == "" {
		return t.Name
	}
	return t.Name + " " + t.Version
}

// lastMoment is when a certificate expires.
func (p *Predicate) lastMoment() (time.Time, error) {
	t, err := time.Parse(time.DateOnly, p.Expires)
	return t.AddDate(0, 0, 1), err
}

// Expired reports whether the last day is over.
func (p *Predicate) Expired(now time.Time) bool {
	end, err := p.lastMoment()
	return err != nil || !now.Before(end)
}
