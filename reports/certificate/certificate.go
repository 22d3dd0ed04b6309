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
	"errors"
	"fmt"
	"regexp"
	"slices"
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

// Refusals returns the reasons why results are not certified, each a sentence for people; none if they can be.
func Refusals(r *reports.Results, now time.Time) []string {
	var why []string
	add := func(applies bool, format string, args ...any) {
		if applies {
			why = append(why, fmt.Sprintf(format, args...))
		}
	}
	add(r.Passive, "observed traffic is not a run: the suite has to act itself")
	add(!r.Passive && r.Options == nil, "the results do not record how the run was made: run again with this version")
	if o := r.Options; o != nil {
		add(o.Baseline, "a baseline excuses failures: run without --baseline")
		add(o.AllowIncomplete, "--allow-incomplete accepts clauses that were not tested: run without it")
		add(len(o.Features) > 0, "scenarios of your own are not the suite's: run without --features")
		add(o.Faults, "faults were injected: run without --faults")
	}
	add(r.Selection != "", "a filter narrowed the run (%s): run the whole suite", r.Selection)
	add(r.Partial, "the run was interrupted")
	add(r.Started.After(now.Add(time.Hour)), "the run began in the future, at %s", r.Started.Format(time.RFC3339))
	add(!r.Passive && len(r.Runs) != 1, "a certificate is about one run, and these results have %d", len(r.Runs))
	for _, run := range r.Runs {
		switch run.Target.Origin {
		case reports.FromBundle:
			add(true, "the target is bundled with the suite, which proves nothing about anybody's program: judge yours")
		case "":
			add(!r.Passive && r.Options != nil, "the results do not record where the target comes from: run again")
		}
		add(run.Target.Insecure, "the certificate of the target was not checked, so that anybody could have answered: run "+
			"without --insecure and tls.insecure (--ca names an authority)")
		add(len(run.Faults) > 0 && (r.Options == nil || !r.Options.Faults), "faults were injected: run without --faults")
		add(len(run.Baseline) > 0 && (r.Options == nil || !r.Options.Baseline), "a baseline was applied")
		add(run.Environment != "", "the target could not be judged: %s", run.Environment)
		add(r.Verdict == verdict.Conformant && run.Verdict != verdict.Conformant, "the verdict of %s is %s", run.Protocol,
			run.Verdict)
	}
	add(r.Verdict != verdict.Conformant, "the verdict is %s, not conformant", r.Verdict)
	return why
}

// Audit checks that results agree with themselves and with the clauses of the suite that judged, as Clauses of the
// runner lists them. The error says where they do not, as after an edit.
func Audit(r *reports.Results, known []reports.Clause) error {
	run := &r.Runs[0]
	if len(run.Clauses) != len(known) {
		return fmt.Errorf("the results have %d clauses, and the suite has %d for this role", len(run.Clauses), len(known))
	}
	var counted []verdict.Judgement
	levels := map[string]verdict.Level{}
	for i, c := range run.Clauses {
		if err := sameClause(c, known[i]); err != nil {
			return err
		}
		for driver, o := range c.ByDriver {
			if c.Outcome == verdict.Passed && isBad(o) {
				return fmt.Errorf("the results say that %s passed, and that it is %s over %s", c.ID, o, driver)
			}
		}
		levels[c.ID] = c.Level
		if !c.Excluded && !c.OtherRole {
			counted = append(counted, verdict.Judgement{Clause: c.ID, Outcome: c.Outcome})
		}
	}
	if err := reports.CheckTotals(run); err != nil {
		return err
	}
	level := func(id string) verdict.Level { return levels[id] }
	v, _ := verdict.Decide(counted, level, verdict.Circumstances{CutOff: cutOff(run, level)})
	if v != run.Verdict {
		return fmt.Errorf("the results say that the verdict is %s, and their clauses that it is %s", run.Verdict, v)
	}
	return auditScenarios(run)
}

func sameClause(c, known reports.Clause) error {
	switch {
	case c.ID != known.ID, c.Level != known.Level, c.Section != known.Section, c.Text != known.Text,
		c.Excluded != known.Excluded, c.OtherRole != known.OtherRole:
		return fmt.Errorf("the clause %s of the results is not the suite's %s", c.ID, known.ID)
	case (c.Excluded || c.OtherRole) && (c.Outcome != known.Outcome || c.Reason != known.Reason):
		return fmt.Errorf("the results do not say of %s what the suite says: %s", c.ID, known.Reason)
	}
	return nil
}

// cutOff reports whether a scenario was cut off that might have broken a binding clause.
func cutOff(run *reports.Run, level func(clause string) verdict.Level) bool {
	return slices.ContainsFunc(run.Scenarios, func(sc reports.Scenario) bool {
		return slices.ContainsFunc(sc.Clauses, func(j verdict.Judgement) bool {
			return j.Unfinished && level(j.Clause).Binding()
		})
	})
}

func auditScenarios(run *reports.Run) error {
	outcomes := map[string]verdict.Outcome{}
	for _, c := range run.Clauses {
		outcomes[c.ID] = c.Outcome
	}
	for _, sc := range run.Scenarios {
		for _, j := range sc.Clauses {
			if isBad(j.Outcome) && outcomes[j.Clause] == verdict.Passed {
				return fmt.Errorf("the results say that %s passed, and that %s found it %s", j.Clause, sc.ID, j.Outcome)
			}
		}
	}
	return nil
}

func isBad(o verdict.Outcome) bool {
	return o == verdict.Failed || o == verdict.HarnessError || o == verdict.EnvError
}

var (
	sha256Hex    = regexp.MustCompile(`\A[0-9a-f]{64}\z`)
	sha256Digest = regexp.MustCompile(`\Asha256:[0-9a-f]{64}\z`)
	clauseID     = regexp.MustCompile(`\A[A-Z]{2}-\d{3}[a-z]?\z`)
)

// maxList bounds the lists in a statement.
const maxList = 5000

// certifiable are the outcomes that clauses of a conformant run can have.
var certifiable = []verdict.Outcome{verdict.Passed, verdict.Warned, verdict.NotApplicable, verdict.NotTested}

// checkFields checks that the fields of a statement have values that New could have given them. A good signature shows
// only that the holder of some key signed them.
func (s *Statement) checkFields() error {
	p := &s.Predicate
	end, err := p.lastMoment()
	switch {
	case len(s.Subject) < 1 || len(s.Subject) > 2 || s.Subject[0].Name != ResultsName:
		return errors.New("it is not about the results of a run")
	case slices.ContainsFunc(s.Subject, func(x Subject) bool { return !sha256Hex.MatchString(x.Digest.SHA256) }):
		return errors.New("the digest of a subject is malformed")
	case err != nil:
		return fmt.Errorf("its last day %q is not a date", p.Expires)
	case p.Issued.IsZero() || !p.Issued.Before(end):
		return errors.New("it expires before it was issued")
	case p.Run.Started.IsZero() || p.Issued.Before(p.Run.Started.Truncate(time.Second)):
		return errors.New("it was issued before the run began")
	case !sha256Digest.MatchString(p.Suite.Digest) || p.Suite.Version == "":
		return errors.New("it does not name the suite that judged")
	case p.Target.Name == "" || p.Target.Protocol == "" || p.Target.Role == "" || len(p.Target.Drivers) == 0:
		return errors.New("it does not say what was judged")
	case p.Target.Origin != reports.FromProfile && p.Target.Origin != reports.FromAddress:
		return fmt.Errorf("its target is %q, which is not certified", p.Target.Origin)
	case p.Target.ProfileDigest != "" && !sha256Digest.MatchString(p.Target.ProfileDigest):
		return errors.New("the digest of the profile is malformed")
	case p.Transcripts.Files < 1 || !sha256Hex.MatchString(p.Transcripts.Root):
		return errors.New("it names no transcripts")
	}
	return errors.Join(s.checkTexts(), p.checkClauses(), p.Kills.check())
}

// checkTexts checks the lengths of texts and lists.
func (s *Statement) checkTexts() error {
	t := s.Predicate.Target
	texts := slices.Concat([]string{t.Name, t.Version, t.Protocol, t.Role, s.Predicate.Suite.Version}, t.Drivers,
		t.Capabilities)
	for _, x := range s.Subject {
		texts = append(texts, x.Name)
	}
	for _, c := range s.Predicate.Clauses {
		texts = append(texts, c.Reason)
	}
	if len(texts) > maxList {
		return errors.New("it has too many texts")
	}
	if slices.ContainsFunc(texts, func(text string) bool { return len(text) > MaxText }) {
		return fmt.Errorf("a text in it is longer than %d bytes", MaxText)
	}
	return nil
}

// checkClauses checks that the outcomes are those of a conformant run.
func (p *Predicate) checkClauses() error {
	levels := map[string]verdict.Level{}
	var counted []verdict.Judgement
	for _, c := range p.Clauses {
		_, twice := levels[c.ID]
		switch {
		case !clauseID.MatchString(c.ID) || !slices.Contains(verdict.Levels, c.Level):
			return fmt.Errorf("it names the clause %q of the level %q, which cannot be", c.ID, c.Level)
		case twice:
			return fmt.Errorf("it names the clause %s twice", c.ID)
		case !slices.Contains(certifiable, c.Outcome), c.Outside && c.Outcome != verdict.NotApplicable:
			return fmt.Errorf("its clause %s is %s, which is not certified", c.ID, c.Outcome)
		}
		levels[c.ID] = c.Level
		if !c.Outside {
			counted = append(counted, verdict.Judgement{Clause: c.ID, Outcome: c.Outcome})
		}
	}
	level := func(id string) verdict.Level { return levels[id] }
	if v, _ := verdict.Decide(counted, level, verdict.Circumstances{}); v != verdict.Conformant || len(counted) == 0 {
		return fmt.Errorf("the outcomes of its clauses are not those of a conformant run, but %s", v)
	}
	return nil
}
