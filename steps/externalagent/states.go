package externalagent

import (
	"context"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"time"

	"parley/features/verdict"
	"parley/internal/cut"
	vocab "parley/protocol/externalagent"
	"parley/steps"
	wjson "parley/transport/wire/json"
)

// updates returns the states that a party was sent in state.updated after a mark.
func (s *suite) updates(p *party, mark int) []state {
	var out []state
	for _, r := range s.Between(p.name, mark, 0) {
		if received(vocab.StateUpdated)(&r) {
			out = append(out, stateOf(&r))
		}
	}
	return out
}

// same reports whether two states agree apart from what changes by itself.
func (s *suite) same(a, b state) bool { return s.difference(a, b) == "" }

// difference returns how two states differ, as a diff with - expected and + observed, or "".
func (s *suite) difference(want, got state) string {
	for _, name := range members {
		if d := s.differs(name, want, got); d != "" {
			return d
		}
	}
	return ""
}

// differs is difference for one member.
func (s *suite) differs(name string, want, got state) string {
	a, b := want.member(name), got.member(name)
	if identical(a, b) {
		return ""
	}
	if a, b = s.settled(name, a), s.settled(name, b); wjson.Equal(a, b) {
		return ""
	}
	return apart(name, a, b)
}

// identical reports whether two values are the same one in memory, as after repeats. For long values that is faster
// than a comparison.
func identical(a, b any) bool {
	switch x := a.(type) {
	case []any:
		y, ok := b.([]any)
		return ok && len(x) == len(y) && len(x) > 0 && &x[0] == &y[0]
	case object:
		y, ok := b.(object)
		return ok && reflect.ValueOf(x).UnsafePointer() == reflect.ValueOf(y).UnsafePointer()
	}
	return false
}

// apart lists the places at which two values differ, each with the expected (-) and observed (+) value.
func apart(name string, want, got any) string {
	const most = 8
	lines := []string{name + ":"}
	all := changes(name, want, got)
	for i, at := range all {
		if i == most {
			lines = append(lines, fmt.Sprintf("  and %d places more", len(all)-most))
			break
		}
		lines = append(lines, "  at "+at, "  - "+there(want, strings.TrimPrefix(at, name)),
			"  + "+there(got, strings.TrimPrefix(at, name)))
	}
	return strings.Join(lines, "\n")
}

// there renders the target of a JSON Pointer.
func there(doc any, pointer string) string {
	v, ok := wjson.Lookup(doc, pointer)
	if !ok {
		return "nothing"
	}
	return cut.Head(wjson.Compact(v), 160)
}

// settled returns a member of a state without what changes by itself or is specific to a session.
func (s *suite) settled(name string, v any) any {
	s.adopt()
	return s.perSession.settled(name, s.drift.settled(name, v))
}

// leftOut notes what is not compared from now on.
func (s *suite) leftOut(news []string) {
	if len(news) > 0 {
		s.Note("not compared, as it changes on its own: %s", strings.Join(news, ", "))
	}
}

// changes returns the places at which two values differ, as JSON Pointers after a name.
func changes(at string, a, b any) []string {
	if wjson.Equal(a, b) {
		return nil
	}
	switch a := a.(type) {
	case object:
		if b, ok := b.(object); ok {
			var out []string
			for _, name := range names(a) {
				out = append(out, changes(at+wjson.FormatPointer(name), a[name], b[name])...)
			}
			for _, name := range names(b) {
				if _, there := a[name]; !there {
					out = append(out, at+wjson.FormatPointer(name))
				}
			}
			return out
		}
	case []any:
		if b, ok := b.([]any); ok && len(a) == len(b) {
			var out []string
			for i := range a {
				out = append(out, changes(fmt.Sprintf("%s/%d", at, i), a[i], b[i])...)
			}
			return out
		}
	}
	return []string{at}
}

// inStep judges that a party's last state.updated and a snapshot agree (EA-072, EA-073): at once or, because the two
// may cross, within the event limit. It ignores what changes by itself.
func (s *suite) inStep(ctx context.Context, p *party) error {
	_, err := s.stepped(ctx, p)
	return err
}

// stepped is inStep, but returns the snapshot. Once a party is out of step, it counts as such for the rest of the
// scenario: no further miss is awaited or judged.
func (s *suite) stepped(ctx context.Context, p *party) (state, error) {
	clauses := []string{"EA-072", "EA-073", "EA-051", "EA-055"}
	agrees := func(at int) verdict.Finding { return verdict.Finding{Clauses: clauses, OK: true, At: at} }
	from := s.startOf(p)
	const kind = "a state.updated that agrees with the snapshot"
	for range 20 {
		snap, err := s.snapshot(ctx, p)
		if err != nil || s.missedUpdates[p.name+" "+kind] {
			return snap, err
		}
		last := s.lastUpdate(p, from)
		if last.at > 0 && s.same(snap, last) {
			return snap, s.Judge(agrees(snap.at))
		}
		if last.at > snap.at {
			continue // it is newer than the snapshot
		}
		first := s.firstSnapshot(p, from)
		if last.at == 0 && s.same(first, snap) && s.nothingDone(p, from) {
			return snap, nil // nothing has changed, so no update is due
		}
		if _, miss := s.Await(ctx, steps.Wait{Conn: p.name, After: max(last.at, from), Within: s.dueWithin(p), Kind: kind,
			Family: vocab.StateUpdated, Fence: s.fence(p), Match: received(vocab.StateUpdated)}); miss == nil {
			continue // one was still in transit
		}
		again, err := s.snapshot(ctx, p)
		if err != nil {
			return snap, err
		}
		told := last
		if told.at == 0 {
			told = first
		}
		if !s.same(again, told) {
			s.observe(ctx, told, again)
		}
		if last.at > 0 && s.same(again, last) {
			return again, s.Judge(agrees(again.at))
		}
		d := s.difference(again, last)
		check := unlike(again.at, d, s.agreeing(again), clauses...)
		check.Observed = fmt.Sprintf("the last state.updated, record %d, has %s", last.at, check.Observed)
		if last.at == 0 {
			if d = s.difference(first, again); d == "" {
				return again, nil // the actions have changed nothing
			}
			check = unlike(snap.at, d, s.agreeing(snap), clauses...)
			check.Observed = fmt.Sprintf("no state.updated since the session began, and %s than in its first snapshot, %d",
				check.Observed, first.at)
		}
		if alone := s.alone(p, last, again); last.at > 0 && alone > 0 {
			check = unlike(again.at, s.difference(last, again), fmt.Sprintf("a snapshot that agrees with the last "+
				"state.updated, record %d, and with the tool.result before it, record %d", last.at, alone), "EA-073")
			check.Observed = fmt.Sprintf("the snapshot, record %d, alone has %s", again.at, check.Observed)
		}
		s.missedUpdates[p.name+" "+kind] = true
		return snap, s.Judge(check)
	}
	return state{}, steps.NotTestedf("the state changes faster than snapshots can be requested")
}

// dueWithin returns how long a state may still take that is due since the latest act in a party's relay session, or the
// answer to it: the event limit, or what is left of it if the state was awaited for half of it before; at least two
// seconds.
func (s *suite) dueWithin(p *party) time.Duration {
	const least = 2 * time.Second
	limit, at := s.Env.Event(), s.spokenAt
	for _, other := range s.parties {
		for _, q := range other.asked {
			if other.session != p.session || q.kind == vocab.SnapshotGet || q.mark <= at {
				continue
			}
			at = q.mark
			if r := s.got(q); r != nil {
				at = r.N
			}
		}
	}
	acts := s.T.Page(at-1, 1)
	if at == 0 || len(acts) == 0 {
		return limit
	}
	left := limit - time.Since(s.T.Began().Add(acts[0].At))
	if left > limit/2 {
		return limit
	}
	return max(left, min(least, limit))
}

// alone returns the record of the latest tool.result before a state.updated if its quick uiSpec agrees with that and
// contradicts a later snapshot, so that the snapshot is wrong; 0 if not, or if something was done after that update, of
// which the snapshot may tell.
func (s *suite) alone(p *party, last, snap state) int {
	for _, r := range s.Between(p.name, last.at, snap.at) {
		if received(vocab.ToolResult)(&r) {
			return 0
		}
	}
	for _, other := range s.parties {
		for _, q := range other.asked {
			if q.mark > last.at && q.mark < snap.at && q.kind != vocab.SnapshotGet {
				return 0
			}
		}
	}
	at := 0
	for _, r := range s.Between(p.name, s.startOf(p), last.at) {
		quick, ok := payload(&r)[vocab.Spec].(object)
		if !received(vocab.ToolResult)(&r) || !ok {
			continue
		}
		against := func(st state) string {
			return contradiction("", s.settled("uiSpec", quick), s.settled("uiSpec", st.ui))
		}
		if at = 0; against(last) == "" && against(snap) != "" {
			at = r.N
		}
	}
	return at
}

// agreeing describes the state.updated expected for a snapshot.
func (s *suite) agreeing(snap state) string {
	return fmt.Sprintf("a state.updated that agrees with the snapshot in record %d", snap.at)
}

// lastUpdate returns the latest state that a party was sent in state.updated after a mark.
func (s *suite) lastUpdate(p *party, mark int) (last state) {
	if all := s.updates(p, mark); len(all) > 0 {
		last = all[len(all)-1]
	}
	return last
}

// firstSnapshot returns the first snapshot that a party got after a mark.
func (s *suite) firstSnapshot(p *party, from int) state {
	for _, r := range s.Between(p.name, from, 0) {
		if received(vocab.SnapshotState)(&r) {
			return stateOf(&r)
		}
	}
	return state{}
}

// nothingDone reports whether, since a mark, nothing has been done in a party's relay session that a host must
// announce: neither agents nor the participant spoke, and every call was refused.
func (s *suite) nothingDone(p *party, from int) bool {
	for _, other := range s.parties {
		for _, q := range other.asked {
			if q.mark < from || other.session != p.session {
				continue
			}
			switch q.kind {
			case vocab.RelayJoin, vocab.SessionStart, vocab.SnapshotGet:
			case vocab.ToolCall:
				if !s.wasRefused(q) {
					return false
				}
			default:
				return false
			}
		}
	}
	return s.spokenAt < from
}

// startOf returns the mark from which states belong to the party's session: that of its latest join or session.start.
func (s *suite) startOf(p *party) int {
	for _, q := range slices.Backward(p.asked) {
		if (q.kind == vocab.SessionStart || q.kind == vocab.RelayJoin) && q.mark > p.opened {
			return q.mark
		}
	}
	return p.opened
}

// hearsOfState judges that a party is sent a new state, unrequested, after the latest act (EA-055).
func (s *suite) hearsOfState(ctx context.Context, p *party) error {
	if p.conn == nil || s.mark <= p.opened {
		return steps.NotTestedf("nothing was done since agent %s connected", p.name)
	}
	clauses := []string{"EA-055", "EA-072", "EA-054", "EA-051"}
	rec, miss := s.Await(ctx, steps.Wait{Conn: p.name, After: s.mark, Kind: "a state.updated", Family: vocab.StateUpdated,
		Fence: s.fence(p),
		Match: received(vocab.StateUpdated)})
	if miss != nil {
		return s.Need(miss.Check("state.updated", clauses...))
	}
	return s.Need(steps.CheckOf(rec, true, "", clauses...))
}
