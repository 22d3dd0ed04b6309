package pack

import (
	"parley/steps/doctor"
	"parley/steps/obligation"
	"parley/target"
)

// Doctor implements doctor.Examinable: whether the stages of preflight work.
func (p *Pack) Doctor() doctor.Guide {
	d := p.doc
	advice := map[int]string{
		1: "url, headers, and the paths below " + d.id,
		2: "members, names and type below " + d.id,
		3: "members and names below " + d.id,
	}
	return doctor.Guide{Checkups: map[string]doctor.Checkup{target.Server: {Advice: advice}}, Features: p.files}
}

// Chart implements steps.Charted: what the rules say is owed on which message.
func (p *Pack) Chart(string) (obligation.Chart, error) {
	duties := obligation.Duties{}
	for _, r := range p.doc.rules {
		for _, o := range r.owes {
			clauses := r.clauses
			if o.clauses != nil {
				clauses = o.clauses
			}
			if len(clauses) > 0 {
				duties.Note(r.on.words(), o.words(), clauses...)
			}
		}
	}
	return obligation.Chart{Party: target.Server, Duties: duties.List()}, nil
}
