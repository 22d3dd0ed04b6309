package model

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"parley/features/verdict"
	"parley/steps/monitor"
	"parley/steps/obligation"
	"parley/transport/transcript"
)

// All lists the monitors of session-runtime.
func All() []monitor.Monitor {
	return []monitor.Monitor{{Name: "life-cycles", Clauses: Clauses(), Of: session,
		Text: "turns and transactions follow sections 2 and 4, each step once, and nothing is published without " +
			"a cause",
		Check: func(t []transcript.Record) []verdict.Finding { return found(busOf(t)) }, Read: found}}
}

// found returns what a bus has found, without the absences that only steps report.
func found(bus obligation.Model) []verdict.Finding {
	return slices.DeleteFunc(bus.Findings(), func(f verdict.Finding) bool {
		return f.OK && f.Expected == obligation.Absence
	})
}

// session returns the session that a record is about; "" if none.
func session(r transcript.Record) string {
	if m, ok := Read(r); ok {
		return m.Session
	}
	return ""
}

// Judge compares a transcript with a model of each session that the harness set up. Whatever a model finds after its
// first deviation counts as a consequence.
func Judge(t []transcript.Record) []verdict.Finding { return busOf(t).Findings() }

func busOf(t []transcript.Record) *Bus {
	b := NewBus(obligation.Ours)
	for _, r := range t {
		b.Take(r)
	}
	return b
}

// Bus folds the records of a bus: it has a Model of each session. It implements obligation.Model.
type Bus struct {
	observer obligation.Observer
	models   map[string]*Model // current sessions
	coming   map[string]*Model // sessions that are being set up again
	all      []*Model          // including sessions since set up again
	over     []verdict.Finding // of sessions that were dropped
	fences   map[string]int    // id → record that sent the fence
	shared   *shared
	blind    bool // it carries messages that cannot be read
}

// NewBus returns a Bus without sessions.
func NewBus(o obligation.Observer) *Bus {
	return &Bus{observer: o, models: map[string]*Model{}, coming: map[string]*Model{}, shared: newShared()}
}

// Overdue counts the messages that were due by a fence and have not come since either.
func (j *Bus) Overdue() (n int) {
	for _, m := range j.all {
		n += m.book.Overdue()
	}
	return n
}

// Fresh returns the findings in a session, or in all if it is "", up to a record, that it has not returned before.
func (j *Bus) Fresh(session string, last int) (out []verdict.Finding) {
	for _, m := range j.all {
		if session == "" || session == m.id {
			out = append(out, m.Fresh(last)...)
		}
	}
	return out
}

// Strict makes the bus judge by the strict reading where the documents contradict each other.
func (j *Bus) Strict() *Bus {
	j.shared.strict = true
	return j
}

// Duty names what a step waits for.
type Duty struct {
	Kinds       []Kind // any of these
	Of          int    // the record of its cause
	Since       int    // instead: a record; its cause is that one or a later one
	Turn, Agent string // that it is about; "": any
}

// After returns the record of its cause, or the one since which its cause came.
func (d Duty) After() int { return max(d.Of, d.Since) }

func (d Duty) fits(o *owed) bool {
	if d.After() == 0 { // nothing was done
		return false
	}
	about, turn := o.About, o.Cause.Turn
	if about.turn != nil {
		turn = about.turn.id
	}
	return o.Cause.N >= d.Since && (d.Of == 0 || o.Cause.N == d.Of) && slices.Contains(d.Kinds, about.kind) &&
		(d.Turn == "" || d.Turn == turn) && (d.Agent == "" || about.agent == d.Agent)
}

// Fate returns what has become of a duty in a session, and the message that fulfilled it.
func (j *Bus) Fate(session string, d Duty) (obligation.State, Message) {
	m := j.models[session]
	if m == nil {
		return obligation.Unknown, Message{}
	}
	return m.book.Fate(d.fits)
}

// Owes reports whether a duty must still be fulfilled in a session.
func (j *Bus) Owes(session string, d Duty) bool {
	m := j.models[session]
	return m != nil && m.Owes(d.fits)
}

// Due reports whether a message is still due by the fence that was sent in record before.
func (j *Bus) Due(before int) bool {
	return slices.ContainsFunc(j.all, func(m *Model) bool { return m.book.Due(before) })
}

// Findings implements obligation.Model: those of one session after those of another.
func (j *Bus) Findings() (out []verdict.Finding) {
	out = slices.Clone(j.over)
	for _, m := range j.all {
		out = append(out, m.Found()...)
	}
	return out
}

// Owing implements obligation.Model.
func (j *Bus) Owing() (out []obligation.Entry) {
	for _, m := range j.all {
		for _, e := range m.Owing() {
			e.Session = m.id
			out = append(out, e)
		}
	}
	slices.SortStableFunc(out, func(a, b obligation.Entry) int { return a.Record - b.Record })
	return out
}

// Reached implements obligation.Reaching.
func (j *Bus) Reached() []obligation.Reached { return j.shared.tally.List() }

// End implements obligation.Model.
func (j *Bus) End() {
	for _, m := range j.all {
		m.end()
	}
}

// Take implements obligation.Model.
func (j *Bus) Take(r transcript.Record) {
	if r.Dir == transcript.Noted {
		j.noted(r)
		return
	}
	if r.Event != nil && j.frame(r) {
		return
	}
	msg, ok := Read(r)
	if !ok {
		return
	}
	switch m := j.session(msg); {
	case m == nil:
	case j.observer != obligation.Ours:
		m.see(msg)
	case msg.Delivered:
		m.Delivered(msg)
	default:
		m.Published(msg)
	}
}

// session returns the session of a message; nil if it is none that is judged.
func (j *Bus) session(msg Message) *Model {
	m := j.models[msg.Session]
	switch {
	case m == nil && !msg.Delivered && msg.Session == "" && len(j.models) == 1: // a bus with a single session
		for _, m = range j.models {
		}
	case j.observer == obligation.Ours:
	case j.coming[msg.Session] != nil: // it may belong to the old one or to the new one
		j.coming[msg.Session].off = true
		return nil
	case m == nil && msg.Session == "" && !msg.Delivered:
		return nil
	case m == nil: // joined in the middle
		m = newModel(j.shared, msg.Session, Limits{}, nil, "", Message{N: msg.N, At: msg.At})
		m.watch()
		m.active = map[string]bool{}
		j.add(m)
		j.models[msg.Session] = m
	}
	return m
}

// add keeps a new model, and drops the oldest if there are too many.
func (j *Bus) add(m *Model) {
	if j.all = append(j.all, m); len(j.all) > mostSessions && j.observer != obligation.Ours {
		old := j.all[0]
		old.end()
		j.over = append(j.over, old.Found()...)
		j.all = j.all[1:]
		if j.models[old.id] == old {
			delete(j.models, old.id)
		}
	}
}

// noted takes a remark of the harness.
func (j *Bus) noted(r transcript.Record) {
	if n, ok := strings.CutPrefix(r.Label, Quiet); ok {
		before, _ := strconv.Atoi(n)
		j.fenced(before+1, r.N, r.At)
	}
	if said := past.FindStringSubmatch(r.Label); said != nil {
		last, _ := strconv.Atoi(said[2])
		for _, m := range j.models {
			m.past(said[1], last, r.N)
		}
	}
	if said := inVain.FindStringSubmatch(r.Label); said != nil {
		record, _ := strconv.Atoi(said[1])
		for _, m := range j.models {
			m.Expire(func(o *owed) bool { return o.About.kind == Kind(said[2]) && o.Cause.N >= record }, said[3])
		}
	}
	if r.Label == Anew {
		j.forget()
	}
}

// frame takes a frame of the harness's binding, and reports whether r is one.
func (j *Bus) frame(r transcript.Record) bool {
	data, _ := r.Event.Data.(map[string]any)
	id, _ := data[ID].(string)
	switch r.Event.Type {
	case SetupFrame:
		j.setUp(data, r)
	case ReadyFrame:
		session, _ := data[Session].(string)
		for id, m := range j.coming {
			if session == "" || id == session {
				j.models[id] = m
				delete(j.coming, id)
			}
		}
	case FenceFrame:
		if j.fences == nil {
			j.fences = map[string]int{}
		}
		j.fences[id] = r.N
	case FencedFrame:
		if before, asked := j.fences[id]; asked {
			j.fenced(before, r.N, r.At)
		}
	default:
		return false
	}
	return true
}

// forget ends all models: their findings stay, and nothing is due any more.
func (j *Bus) forget() {
	j.models, j.coming, j.fences = map[string]*Model{}, map[string]*Model{}, nil
	for _, m := range j.all {
		m.Close()
	}
}

func (j *Bus) fenced(before, at int, now time.Duration) {
	for _, m := range j.models {
		if j.observer == obligation.Ours {
			m.Fenced(before, at, now)
		} else if !m.off {
			m.fenced(before, at, now)
		}
	}
}

// setUp creates the model of a session, or a new one if the session exists.
func (j *Bus) setUp(data map[string]any, r transcript.Record) {
	id, _ := data[Session].(string)
	active, _ := data["active_agent_id"].(string)
	var agents []string
	if all, ok := data["agents"].([]any); ok {
		for _, a := range all {
			agents = append(agents, fmt.Sprint(a))
		}
	}
	limits, _ := data["limits"].(map[string]any)
	ms := func(name string) time.Duration {
		n, _ := strconv.Atoi(fmt.Sprint(limits[name]))
		return time.Duration(n) * time.Millisecond
	}
	m := newModel(j.shared, id, Limits{InputAck: ms("input_ack_ms"), CancelAck: ms("cancel_ack_ms")}, agents, active,
		Message{N: r.N, At: r.At})
	if j.observer != obligation.Ours {
		if m.watch(); len(agents) > 0 {
			m.open = false
		}
		if old := j.models[id]; old != nil {
			old.end()
		}
		j.coming[id] = m
		j.add(m)
		return
	}
	j.add(m)
	if j.models[id] == nil {
		j.models[id] = m
		return
	}
	m.shift = []string{"RT-064"}
	j.coming[id] = m // until it is ready, messages belong to the old one
}

// Clauses lists the clauses that the model judges, sorted.
func Clauses() []string { return slices.Clone(judged) }

var judged = []string{
	"RT-001", "RT-002", "RT-003", "RT-004", "RT-005", "RT-006", "RT-007", "RT-008", "RT-009", "RT-010", "RT-011",
	"RT-013", "RT-014", "RT-015", "RT-016", "RT-017", "RT-018", "RT-019", "RT-020", "RT-025", "RT-028", "RT-030",
	"RT-031", "RT-032", "RT-033", "RT-034", "RT-035", "RT-036", "RT-038", "RT-039", "RT-040", "RT-042", "RT-043",
	"RT-044", "RT-045", "RT-046", "RT-048", "RT-049", "RT-050", "RT-052", "RT-053", "RT-055", "RT-056", "RT-059",
	"RT-060", "RT-061", "RT-062", "RT-063", "RT-064", "RT-065", "RT-066", "RT-067", "RT-068", "RT-069", "RT-070",
	"RT-071", "RT-072", "RT-073", "RT-074", "RT-075", "RT-076", "RT-077", "RT-078", "RT-079", "RT-080", "RT-082",
	"RT-083", "RT-084", "RT-085", "RT-086", "RT-087", "RT-088", "RT-089", "RT-090", "RT-091", "RT-092", "RT-093",
	"RT-094", "RT-095", "RT-097", "RT-098", "RT-099", "RT-100", "RT-102", "RT-103", "RT-104", "RT-105", "RT-106",
	"RT-108", "RT-109", "RT-110", "RT-111", "RT-112", "RT-113", "RT-115", "RT-116", "RT-117", "RT-119", "RT-120",
	"RT-121", "RT-122", "RT-124", "RT-126", "RT-127", "RT-128", "RT-129", "RT-130", "RT-131", "RT-132", "RT-133",
	"RT-134", "RT-135", "RT-136", "RT-137", "RT-139", "RT-140", "RT-141", "RT-142", "RT-145", "RT-146", "RT-148",
	"RT-149", "RT-150", "RT-151", "RT-152", "RT-153", "RT-154", "RT-155", "RT-159", "RT-160", "RT-161", "RT-162",
	"RT-163", "RT-164", "RT-165", "RT-166", "RT-167", "RT-168", "RT-169", "RT-170", "RT-171", "RT-172", "RT-173",
	"RT-174", "RT-175", "RT-176",
}
