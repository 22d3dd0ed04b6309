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

var (
	sha256Hex    = regexp.MustCompile(`\A[0-9a-f]{64}\z`)
	sha256Digest = regexp.MustCompile(`\Asha256:[0-9a-f]{64}\z`)
	clauseID     = regexp.MustCompile(`\A[A-Z]{2}-\d{3}[a-z]?\z`)
)

// maxList bounds the lists in a statement.
const maxList = 5000

// certifiable are the outcomes that clauses of a conformant run can have.
var certifiable = []verdict.Outcome{verdict.Passed, verdict.Warned, verdict.NotApplicable, verdict.NotTested}

// check checks that the fields of a statement have values that New could have given them. A good signature shows only
// that the holder of some key signed them.
func (s *Statement) check() error {
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
