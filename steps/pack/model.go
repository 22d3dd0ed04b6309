package pack

import (
	"fmt"
	"maps"
	"slices"

	"parley/features/verdict"
	"parley/internal/expression"
	"parley/steps/obligation"
	"parley/transport/driver"
	"parley/transport/transcript"
)

type (
	book = obligation.Book[*message, *rule]
	owed = obligation.Owed[*message, *rule]
)

// model folds the records of a transcript by the rules of a document. It implements obligation.Reaching.
type model struct {
	doc      *document
	observer obligation.Observer
	books    map[string]*book // by connection
	order    []string         // the connections, in their order
	bags     map[string]map[string]any
	seen     map[*rule]map[string]int // unique: value → record
	last     map[*rule]map[string]any // grows: by connection
	begun    map[string]bool          // connections on which the server has sent a message
	bans     []ban
	fences   map[string][]*message // requests that fence, by connection
	tally    obligation.Tally
	lapses   bool            // what is owed on a connection may end by a message on another
	lost     map[string]bool // keys of states whose values are unknown
	caused   map[int]bool    // records because of which something was owed; only of ours
}

// ban forbids messages.
type ban struct {
	rule  *rule
	cause *message
}

// Bounds of what a model remembers of one transcript.
const (
	mostBags   = 20_000
	mostSeen   = 100_000
	mostBans   = 1000
	mostFences = 1000
	mostBooked = 1000    // of each connection
	mostText   = 1 << 20 // bytes of a text in a state
	mostItems  = 10_000  // of a list in a state
)

func newModel(d *document, o obligation.Observer) *model {
	return &model{doc: d, observer: o, books: map[string]*book{}, bags: map[string]map[string]any{},
		seen: map[*rule]map[string]int{}, last: map[*rule]map[string]any{}, begun: map[string]bool{},
		fences: map[string][]*message{}, tally: obligation.Tally{}, caused: map[int]bool{},
		lost: map[string]bool{}, lapses: slices.ContainsFunc(d.rules, func(r *rule) bool {
			return len(r.owes) > 0 && r.until != nil && r.elsewhere
		})}
}

// bookOf returns the book of a connection.
func (mo *model) bookOf(conn string) *book {
	b := mo.books[conn]
	if b == nil {
		b = &book{Model: "connection " + conn, Tally: mo.tally, Patient: mo.observer != obligation.Ours,
			Loose: mo.observer == obligation.Partial,
			Name:  func(o *owed) (on, owes string) { return o.About.on.words(), o.What }}
		mo.books[conn], mo.order = b, append(mo.order, conn)
	}
	return b
}

// Take implements obligation.Model.
func (mo *model) Take(r transcript.Record) {
	if r.Late {
		return
	}
	if r.Kind == transcript.Remark && !isRestart(r) {
		mo.givenUp(r)
		return
	}
	if mo.observer != obligation.Ours && r.Conn == "" && (r.Kind == transcript.Request || r.Reply > 0) &&
		mo.doc.post.path != "" {
		return // it is unknown whose request it is, and so what its answer must be
	}
	for _, m := range mo.doc.messages(r) {
		mo.take(m)
	}
	mo.answerEnded(r)
}

// answerEnded finds missing what is owed because of a request whose answer has ended, in traffic of others: nothing can
// come any more. In a run the steps wait for it.
func (mo *model) answerEnded(r transcript.Record) {
	whole := r.Kind == transcript.Response && r.Flushed || r.Kind == transcript.Comment && r.Label == driver.AnswerEnded
	if mo.observer == obligation.Ours || mo.doc.post.path == "" || r.Reply == 0 || !whole {
		return
	}
	mo.bookOf(r.Conn).Expire(func(o *owed) bool { return o.Cause.r.N == r.Reply && o.Cause.r.Kind == transcript.Request },
		"the answer has ended without it")
}

func (mo *model) take(m *message) {
	r := m.r
	b := mo.bookOf(r.Conn)
	if m.kind == connecting { // a new connection of the party owes nothing of the former one
		b.Close()
		delete(mo.bags, "connection "+r.Conn)
		delete(mo.lost, "connection "+r.Conn)
		delete(mo.fences, r.Conn)
		delete(mo.begun, r.Conn)
		for _, of := range mo.last {
			delete(of, r.Conn)
		}
	}
	in := mo.scopeOf(m)
	if m.from == "server" {
		mo.settle(m, b)
	} else {
		b.Delivered(m)
	}
	mo.lapse(m, in, b)
	mo.judgeFirst(m, in, b)
	mo.judgeBans(m, in)
	for _, rule := range mo.doc.rules {
		if rule.on.selects(m, in) && rule.belongs(in) && rule.when.Holds(in) {
			mo.apply(rule, m, in, b)
		}
	}
	mo.fenced(m, in, b)
	b.Forget(mostBooked)
}

// settle takes a message of the server: of each rule it is the first answer that is owed and that it matches.
func (mo *model) settle(m *message, b *book) {
	done := map[*rule]bool{}
	if o, _ := b.Settle(m); o != nil {
		done[o.About] = true
	}
	if len(done) == 0 {
		return
	}
	b.Each(func(o *owed) {
		if !done[o.About] && o.Match(m) {
			done[o.About] = true
			b.Fulfil(o, m)
		}
	})
}

// apply applies a rule to a message that it is about.
func (mo *model) apply(r *rule, m *message, in expression.Scope, b *book) {
	mo.check(r, m, in, b)
	if len(r.owes) > 0 {
		mo.owe(r, m, b)
	}
	if r.forbids != nil && len(mo.bans) < mostBans {
		mo.bans = append(mo.bans, ban{r, m})
		b.Hold(m, r.clauses...)
	}
	for _, s := range r.set {
		values, _ := in[s.bag].(map[string]any)
		v, err := s.value.Value(in)
		switch {
		case err != nil || values == nil:
		case isHuge(v): // from now on the state is unknown, and no rule that names it is applied
			mo.lose(s.bag, m, in)
		default:
			values[s.member] = v
		}
	}
}

// check judges what a rule requires of the message itself.
func (mo *model) check(r *rule, m *message, in expression.Scope, b *book) {
	member := func(ok bool, expected string) {
		b.Member(ok, m, r.clauses, r.expects(expected), "%s", m.described())
	}
	if r.require != nil {
		ok, expected := r.require.Holds(in), "a message where "+r.require.Text
		if len(r.states) > 0 { // by a state that is unknown after a deviation
			b.Check(ok, m, r.clauses, r.expects(expected), "%s", m.described())
		} else {
			member(ok, expected)
		}
	}
	if r.valid {
		mo.checkValid(r, m, b)
	}
	if r.unique != nil {
		mo.checkUnique(r, m, in, member)
	}
	if r.grows != nil {
		mo.checkGrows(r, m, in, member)
	}
}

// judgeFirst judges the first message of the server on a connection.
func (mo *model) judgeFirst(m *message, in expression.Scope, b *book) {
	if m.from != "server" || m.kind == connected || m.kind == answer || m.kind == ended || mo.begun[m.r.Conn] {
		return
	}
	mo.begun[m.r.Conn] = true
	for _, r := range mo.doc.rules {
		if r.first && r.when.Holds(in) {
			b.Member(r.on.selects(m, in), m, r.clauses, r.expects(r.on.words()+" as the first message"), "%s",
				m.described())
		}
	}
}

func (mo *model) checkUnique(r *rule, m *message, in expression.Scope, member func(bool, string)) {
	v, err := r.unique.Value(in)
	if err != nil || v == nil {
		return
	}
	if mo.seen[r] == nil {
		mo.seen[r] = map[string]int{}
	}
	before := mo.seen[r][textOf(v)]
	if before == 0 && len(mo.seen[r]) < mostSeen {
		mo.seen[r][textOf(v)] = m.r.N
	}
	member(before == 0, fmt.Sprintf("%s other than %v, which record %d has", r.unique.Text, v, before))
}

// checkGrows judges a number that is 1 more with each message of a connection.
func (mo *model) checkGrows(r *rule, m *message, in expression.Scope, member func(bool, string)) {
	v, err := r.grows.Value(in)
	if mo.last[r] == nil {
		mo.last[r] = map[string]any{}
	}
	n, isNumber := v.(int)
	before, any := mo.last[r][m.r.Conn].(int)
	want := 1
	if any {
		want = before + 1
	}
	member(err == nil && isNumber && n == want, fmt.Sprintf("%s is %d", r.grows.Text, want))
	if isNumber {
		mo.last[r][m.r.Conn] = n
	} else {
		mo.last[r][m.r.Conn] = want
	}
}

// owe enters what a rule obliges the server to.
func (mo *model) owe(r *rule, m *message, b *book) {
	choice := &obligation.Choice{}
	for _, o := range r.owes {
		if slices.Equal(o.types, []string{answer}) && m.r.Kind != transcript.Request {
			continue // only a request is answered so
		}
		clauses := r.clauses
		if o.clauses != nil {
			clauses = o.clauses
		}
		if len(clauses) > 0 && mo.observer == obligation.Ours {
			mo.caused[m.r.N] = true
		}
		b.Owe(&owed{What: o.words(), Cause: m, Clauses: clauses, About: r, Choice: choice, Unfenced: r.within != "",
			Optional: len(r.clauses) == 0,
			Unshown:  o.must != nil,
			Match:    func(p *message) bool { return mo.answers(o, m, p) },
			Met: func(p *message) {
				if o.must != nil {
					b.Member(o.must.Holds(mo.answering(m, p)), p, clauses, r.expects(o.words()+" with "+o.must.Text), "%s",
						p.described())
				}
			}})
	}
}

// lapse ends what is owed until such a message, on its connection or, if the rule says so, on any.
func (mo *model) lapse(m *message, in expression.Scope, b *book) {
	end := func(o *owed) {
		if o.About.until == nil || o.Cause.r.N == m.r.N || o.Cause.r.Conn != m.r.Conn && !o.About.elsewhere {
			return
		}
		with := maps.Clone(in)
		with["act"] = o.Cause.it
		o.Done = o.Done || !o.Cause.ofAnother(m) && o.About.until.selects(m, with)
	}
	if !mo.lapses {
		b.Each(end)
		return
	}
	for _, conn := range mo.order {
		mo.books[conn].Each(end)
	}
}

// answers reports whether a message is what a rule obliges the server to because of another.
func (mo *model) answers(o *owing, act, p *message) bool {
	return !act.ofAnother(p) && o.selects(p, mo.answering(act, p))
}

// answering is what expressions know of a message that may be because of another.
func (mo *model) answering(act, p *message) expression.Scope {
	in := mo.scopeOf(p)
	in["act"] = act.it
	return in
}

// judgeBans judges whether a message is forbidden because of an earlier one, and ends what it lifts.
func (mo *model) judgeBans(m *message, in expression.Scope) {
	mo.bans = slices.DeleteFunc(mo.bans, func(b ban) bool {
		if m.r.Conn != b.cause.r.Conn && !b.rule.elsewhere || m.r.N == b.cause.r.N {
			return false
		}
		with := maps.Clone(in)
		with["act"] = b.cause.it
		if m.from == "server" && b.rule.forbids.selects(m, with) {
			expected := fmt.Sprintf("no %s after %s (record %d)", b.rule.forbids.words(), b.cause.Title(), b.cause.r.N)
			mo.bookOf(b.cause.r.Conn).Fail(m, b.rule.clauses, b.rule.expects(expected), "%s", m.described())
		}
		return b.rule.until != nil && b.rule.until.selects(m, with)
	})
}

// fenced notes requests that fence, and lets their answers prove that everything before them has been handled.
func (mo *model) fenced(m *message, in expression.Scope, b *book) {
	f := mo.doc.fence
	if f == nil {
		return
	}
	if m.from == "client" && m.kind == f.send {
		if of := mo.fences[m.r.Conn]; len(of) < mostFences {
			mo.fences[m.r.Conn] = append(of, m)
		}
		return
	}
	if m.from != "server" || m.kind != f.answer {
		return
	}
	for i, act := range mo.fences[m.r.Conn] {
		with := maps.Clone(in)
		with["act"] = act.it
		if f.where.Holds(with) {
			mo.fences[m.r.Conn] = slices.Delete(mo.fences[m.r.Conn], 0, i+1)
			b.Fence(act.r.N, m.r.N, m.r.At)
			return
		}
	}
}

// inVain begins a remark: a wait for what the act in a record obliges the server to ended at its limit.
const inVain = "waited in vain: "

// givenUp finds missing what was waited for in vain.
func (mo *model) givenUp(r transcript.Record) {
	var act int
	if n, err := fmt.Sscanf(r.Label, inVain+"record %d", &act); n != 1 || err != nil {
		return
	}
	b := mo.bookOf(r.Conn)
	b.Expire(func(o *owed) bool { return o.Cause.r.N == act }, "no such message within the limit")
}

// End implements obligation.Model.
func (mo *model) End() {
	for _, conn := range mo.order {
		mo.books[conn].Prove()
	}
}

// Findings implements obligation.Model.
func (mo *model) Findings() (out []verdict.Finding) {
	for _, conn := range mo.order {
		out = append(out, mo.books[conn].Found()...)
	}
	slices.SortStableFunc(out, func(a, b verdict.Finding) int { return a.At - b.At })
	return out
}

// Owing implements obligation.Model.
func (mo *model) Owing() (out []obligation.Entry) {
	for _, conn := range mo.order {
		for _, e := range mo.books[conn].Owing() {
			e.Session = conn
			out = append(out, e)
		}
	}
	slices.SortStableFunc(out, func(a, b obligation.Entry) int { return a.Record - b.Record })
	return out
}

// owed lists what is owed on a connection because of a record, and has not come; act 0: because of any. Unlike Owing
// it does so after a deviation, too.
func (mo *model) owed(conn string, act int) (out []*owed) {
	mo.bookOf(conn).Each(func(o *owed) {
		if !o.Optional && (act == 0 || o.Cause.r.N == act) {
			out = append(out, o)
		}
	})
	return out
}

// missed returns what was owed because of a record and found missing, among what fits (nil: anything).
func (mo *model) missed(conn string, act int, fits func(*owed) bool) (what string, is bool) {
	state, _ := mo.bookOf(conn).Fate(func(o *owed) bool {
		if o.Cause.r.N != act || fits != nil && !fits(o) {
			return false
		}
		what = o.What
		return true
	})
	return what, state == obligation.Missing
}

// Reached implements obligation.Reaching.
func (mo *model) Reached() []obligation.Reached { return mo.tally.List() }
