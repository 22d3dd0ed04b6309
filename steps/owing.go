package steps

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"parley/steps/obligation"
	"parley/transport/transcript"
)

// Owed is what a party owes at a moment, for people.
type Owed struct {
	By      string    // who owes it: the role of the target
	Conn    string    // of traffic whose connections are independent: on which one; else ""
	Session string    // "" if there is but one
	What    string    // the message that must come
	Or      []string  // other messages, each of which would settle it too
	Clauses []string  // that demand it
	Record  int       // the message that obliges it to this; 0: it is not known under which number that is shown
	Cause   string    // what that message is
	Since   time.Time // when it passed

	At transcript.Record // the message that obliges it to this; only of proxied traffic
}

// MostOwed bounds the list of what is owed: the oldest are in it, and the rest is counted.
const MostOwed = 100

// Owing follows what a target owes while the records of one transcript come: it feeds each of them to a model, once. A
// nil *Owing is that of a protocol without a model, to which nothing is owed. It is safe for concurrent use.
type Owing struct {
	by, conn string

	mu      sync.Mutex
	model   obligation.Model // nil: what is owed is not known any more
	mark    int              // the last record
	records int
	bytes   int
	fresh   bool // records have come since list was made
	list    []obligation.Entry
}

// NewOwing returns what follows a target of a role; nil if the protocol has no model. conn is Owed.Conn.
func NewOwing(p Protocol, role, conn string, o obligation.Observer) *Owing {
	m, ok := p.(Modelled)
	if !ok {
		return nil
	}
	model := m.Model(role, o)
	if model == nil {
		return nil
	}
	return &Owing{by: cmp.Or(role, "target"), conn: conn, model: model}
}

// Take takes the next record, decoded. More records than a run keeps (transcript.MaxRecords, MaxBytes) leave unknown
// what is owed.
func (o *Owing) Take(r transcript.Record) {
	if o == nil {
		return
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	o.take(r)
}

func (o *Owing) take(r transcript.Record) {
	o.mark, o.records, o.bytes, o.fresh = r.N, o.records+1, o.bytes+len(r.Bytes), true
	switch {
	case o.model == nil || r.Late:
	case o.records > transcript.MaxRecords || o.bytes > transcript.MaxBytes:
		o.forget()
	default:
		o.model.Take(r)
	}
}

// Forget says that it is unknown from now on what is owed.
func (o *Owing) Forget() {
	if o == nil {
		return
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	o.forget()
}

func (o *Owing) forget() { o.model, o.list = nil, nil }

// Read takes the records of a transcript that have come since the last call, and returns what is owed now, oldest
// first: at most MostOwed, and how many there are.
func (o *Owing) Read(t *transcript.Transcript) (list []Owed, count int) {
	if o == nil {
		return nil, 0
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	for r := range t.From(o.mark) {
		if r.N != o.mark+1 { // those between are lost
			o.forget()
		}
		if o.model == nil {
			break
		}
		o.take(r)
	}
	return o.now(t.Began())
}

// Now returns what is owed after the records that were taken, as Read does. began is the beginning of their times.
func (o *Owing) Now(began time.Time) (list []Owed, count int) {
	if o == nil {
		return nil, 0
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.now(began)
}

func (o *Owing) now(began time.Time) (list []Owed, count int) {
	if o.fresh && o.model != nil {
		o.list = o.model.Owing()
	}
	o.fresh = false
	for _, e := range o.list[:min(len(o.list), MostOwed)] {
		list = append(list, Owed{By: o.by, Conn: o.conn, Session: e.Session, What: e.What, Or: e.Or, Clauses: e.Clauses,
			Record: e.Record, Cause: e.Cause, Since: began.Add(e.Since)})
	}
	return list, len(o.list)
}

// Unknown says why it is not known any more what is owed, after the records that were taken; "" if it is known.
func (o *Owing) Unknown() string {
	if o == nil {
		return ""
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.model == nil {
		return "records were lost"
	}
	if len(o.list) > 0 {
		return ""
	}
	for _, f := range o.model.Findings() {
		if !f.OK && f.Model != "" {
			return fmt.Sprintf("record %d deviates (%s), and what follows from that nobody can say", f.At,
				strings.Join(f.Clauses[:min(len(f.Clauses), fewClauses)], " "))
		}
	}
	return ""
}

// JoinOwed returns what several owe together, oldest first, as Owing.Read does.
func JoinOwed(lists ...[]Owed) []Owed {
	all := slices.Concat(lists...)
	slices.SortStableFunc(all, func(a, b Owed) int { return a.Since.Compare(b.Since) })
	return all[:min(len(all), MostOwed)]
}

// Redacted returns it without secrets in its texts, which redact removes.
func (o Owed) Redacted(redact func(string) string) Owed {
	o.What, o.Cause, o.Session = redact(o.What), redact(o.Cause), redact(o.Session)
	o.Or = slices.Clone(o.Or)
	for i := range o.Or {
		o.Or[i] = redact(o.Or[i])
	}
	return o
}

// Age returns for how long it is owed, in whole seconds.
func (o Owed) Age(now time.Time) time.Duration { return max(0, now.Sub(o.Since)).Truncate(time.Second) }

// fewClauses are the clauses of one debt that a line names.
const fewClauses = 3

// Demands names the first clauses that demand it, and counts the rest.
func (o Owed) Demands() string {
	text := strings.Join(o.Clauses[:min(len(o.Clauses), fewClauses)], " ")
	if more := len(o.Clauses) - fewClauses; more > 0 {
		text += fmt.Sprintf(" +%d", more)
	}
	return text
}

// TellWait says in a line what a step waits for that is owed: what the target must do because of the record for whose
// consequence the step waits, or else what is owed the longest. "" if nothing is owed.
func TellWait(a Awaited, owed []Owed, now time.Time) string {
	if len(owed) == 0 {
		return ""
	}
	i := slices.IndexFunc(owed, func(o Owed) bool { return o.Record == a.After })
	if i < 0 {
		return fmt.Sprintf("waiting for %s, %d s; the %s owes %s, %s; Ctrl-C", a.What, int(now.Sub(a.Since).Seconds()),
			owed[0].By, owed[0].What, owed[0].Demands())
	}
	o := owed[i]
	return fmt.Sprintf("waiting for %s from the %s, %d s, %s; Ctrl-C", o.What, o.By, int(o.Age(now).Seconds()),
		o.Demands())
}
