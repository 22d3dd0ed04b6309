package passive

import (
	"slices"
	"time"

	vocab "parley/protocol/sessionruntime"
	judge "parley/steps/sessionruntime/model"
	wjson "parley/transport/wire/json"
)

// way describes one kind of request to SessionManager, and the forwarding of its receipt to the frontend.
type way struct {
	subject                     string
	asked, request, done, fails string
	told                        judge.Kind
	accept                      []string // clauses that a request shows to hold, and its absence breaks
	result                      []string // clauses that a forwarded result shows to hold
	missing                     []string // clauses that a receipt breaks if it is not forwarded
	early                       []string // clauses that a result before the receipt breaks
}

var ways = []way{
	{moves, vocab.RemoveAgent, vocab.RequestRemoveAgent, vocab.RemoveAgentDone, vocab.RemoveAgentFailed, judge.Removed,
		[]string{"RT-008", "RT-018", "RT-020", "RT-034", "RT-108", "RT-110"}, []string{"RT-010", "RT-018", "RT-044",
			"RT-046", "RT-115", "RT-116", "RT-160", "RT-164", "RT-171"}, []string{"RT-010", "RT-018", "RT-044",
			"RT-046", "RT-116", "RT-164"},
		[]string{"RT-115", "RT-116", "RT-160", "RT-171"}},
	{moves, vocab.InviteAgent, vocab.RequestAddAgent, vocab.AddAgentDone, vocab.AddAgentFailed, judge.Added,
		[]string{"RT-017", "RT-020", "RT-033", "RT-119", "RT-120", "RT-121"}, []string{"RT-010", "RT-017", "RT-043",
			"RT-046", "RT-119", "RT-124", "RT-126", "RT-127", "RT-160", "RT-163"},
		[]string{"RT-010", "RT-017", "RT-043", "RT-046", "RT-124", "RT-127", "RT-163"}, []string{"RT-119", "RT-122",
			"RT-126", "RT-127", "RT-160"}},
	{sessions, vocab.SessionOpen, vocab.RequestSessionOpen, vocab.SessionOpened, vocab.SessionFailed, judge.Opened,
		[]string{"RT-020", "RT-036", "RT-151", "RT-153"}, []string{"RT-045", "RT-046", "RT-154", "RT-155", "RT-160",
			"RT-166"}, []string{"RT-045", "RT-046", "RT-155", "RT-166"}, []string{"RT-154", "RT-155", "RT-160"}},
	{sessions, vocab.SessionClose, vocab.RequestSessionClose, vocab.SessionClosed, vocab.SessionFailed, judge.Closed,
		[]string{"RT-020", "RT-036", "RT-151", "RT-153"}, []string{"RT-045", "RT-046", "RT-154", "RT-155", "RT-160",
			"RT-166"}, []string{"RT-045", "RT-046", "RT-155", "RT-166"}, []string{"RT-154", "RT-155", "RT-160"}},
}

// procedure is one request with its consequences.
type procedure struct {
	*way
	who           string // the agent; "" for the session
	ask, request  judge.Message
	speaking      *turn // the turn that had to be stopped first
	idle          bool  // no turn was in flight when it was requested
	done, failed  int   // receipts
	over, doubted bool
	refused       bool // the frontend may have been told that it does not take place
}

// open returns the unfinished procedures of a kind.
func (s *session) open(w *way, who string) (out []*procedure) {
	for _, p := range s.procs {
		if p.way.request == w.request && !p.over && (p.who == who || who == "" || p.who == "") {
			out = append(out, p)
		}
	}
	return out
}

// asked handles a request of the frontend about an agent or the session.
func (s *session) asked(m judge.Message) {
	i := slices.IndexFunc(ways, func(w way) bool { return w.asked == m.Subtype })
	if i < 0 {
		return
	}
	w := &ways[i]
	p := &procedure{way: w, who: m.AgentID, ask: m, idle: !s.busy()}
	if w.subject == sessions {
		p.who = ""
	}
	s.closing = s.closing || w.asked == vocab.SessionClose
	alone := len(s.open(w, p.who)) == 0
	for _, other := range s.open(w, p.who) {
		other.doubted, p.doubted = true, true
	}
	if t := s.speaker(); t != nil && (t.agent == p.who || w.asked == vocab.SessionClose) && w.asked != vocab.SessionOpen {
		p.speaking = t
	}
	s.stir(m)
	if w.asked == vocab.RemoveAgent {
		if a, sure := s.sure(); !sure || a == p.who {
			s.expect(m, "", false)
		}
	}
	if s.procs = append(s.procs, p); len(s.procs) > mostTurns {
		s.procs = s.procs[1:]
	}
	if !alone || !firm(m, false) || !p.idle && w.asked != vocab.InviteAgent ||
		w.asked == vocab.RemoveAgent && !s.present(p.who) ||
		w.asked == vocab.InviteAgent && (!s.absent(p.who) || p.who == "") {
		return
	}
	s.owe(&due{subject: w.subject, cause: m, what: "CONTROL " + w.request + " published", clauses: w.accept,
		met: func(p judge.Message) bool { return p.Subtype == w.request }, excused: func(o judge.Message) bool {
			return news(o) || o.Kind() == w.told || o.Delivered && o.Event != vocab.AgentOutput && !control(o, vocab.InputAck)
		}})
}

// owesRequest notes that what waited for a turn to stop must go on once its agent has acknowledged, whatever else has
// come between.
func (s *session) owesRequest(t *turn, ack judge.Message) {
	if t.cancel.N == 0 || t.stops > 1 || t.lost && t.fault == 0 || s.loose > 0 ||
		s.ackLimit < time.Minute || !firm(ack, true) {
		return
	}
	for _, p := range s.procs {
		if p.speaking != t || p.over || p.doubted || p.refused || p.request.N > 0 ||
			p.subject == moves && !s.present(p.who) {
			continue
		}
		clauses := p.accept
		if p.subject == moves {
			clauses = append(slices.Clone(clauses), "RT-060", "RT-106")
		}
		s.owe(&due{subject: p.subject, cause: ack, what: "CONTROL " + p.way.request + " published", clauses: clauses,
			met: func(o judge.Message) bool { return o.Subtype == p.way.request }, excused: func(o judge.Message) bool {
				return news(o) && s.faultIn(o) < 0 || o.Kind() == p.told
			}})
	}
}

// requested judges a request to SessionManager.
func (s *session) requested(m judge.Message) {
	if m.Subtype == "REQUEST_REMOVE" {
		s.broken(moves, m, "the request named REQUEST_REMOVE_AGENT", "RT-172")
	}
	i := slices.IndexFunc(ways, func(w way) bool { return w.request == m.Subtype })
	if i < 0 {
		return
	}
	w := &ways[i]
	who := m.AgentID
	if w.subject == sessions {
		who = ""
	}
	if m.Target != vocab.ToSystem {
		s.toManager(w, m)
		return
	}
	s.sameForm(w, m, map[string]string{vocab.RequestRemoveAgent: "RT-110", vocab.RequestAddAgent: "RT-121"}[w.request])
	switch w.request {
	case vocab.RequestRemoveAgent:
		s.whole(m)
	case vocab.RequestAddAgent:
		s.refused(m)
	}
	var p *procedure
	for _, c := range s.open(w, who) {
		if p == nil && c.request.N == 0 {
			p = c
		}
	}
	if p == nil { // unrequested, or a second time
		p = &procedure{way: w, who: who, doubted: true}
		s.procs = append(s.procs, p)
	} else {
		s.inOrder(p, m)
		s.kept(w.subject, m, w.accept...)
		if w.request == vocab.RequestRemoveAgent {
			s.kept(moves, m, "RT-113", "RT-172")
		}
	}
	p.request = m
	if w.request == vocab.RequestRemoveAgent {
		s.answersAbout(who)
		delete(s.arrivals, who)
	}
	s.round(p.ask, m)
}

// inOrder judges that a speaking agent has stopped before the steps that must wait for that.
func (s *session) inOrder(p *procedure, m judge.Message) {
	t := p.speaking
	if t == nil || t.lost || s.loose > 0 {
		return
	}
	clauses := []string{"RT-060", "RT-106", "RT-109"}
	if p.subject == sessions {
		clauses = []string{"RT-152"}
	}
	switch {
	case t.stops == 0 && t.final == 0 && t.fault == 0 && t.timeout == 0:
		s.broken(p.subject, m, "CANCEL_ACK of agent "+t.agent+" first, which has been speaking since record "+
			number(t.told), clauses...)
	case t.stops > 0 && t.cancel.N > 0 && t.final == 0:
		s.kept(p.subject, m, clauses...)
	}
}

// whole judges the payload of a REQUEST_REMOVE_AGENT.
func (s *session) whole(m judge.Message) {
	object, _ := m.Payload.(map[string]any)
	_, reason := m.Data[judge.Reason]
	if m.AgentID == "" || !reason || m.Session == "" && object["session_id"] == nil {
		s.broken(moves, m, "REQUEST_REMOVE_AGENT with session_id, agent_id and reason", "RT-110")
	}
}

// toManager judges a request with another target: it must also be on SYSTEM.
func (s *session) toManager(w *way, m judge.Message) {
	if slices.ContainsFunc(s.open(w, m.AgentID), func(p *procedure) bool { return p.request.N > 0 }) {
		return
	}
	clauses := map[string][]string{vocab.RequestRemoveAgent: {"RT-113"}, vocab.RequestAddAgent: {"RT-121"}}[m.Subtype]
	if clauses == nil {
		clauses = []string{"RT-153"}
	}
	s.owe(&due{subject: w.subject, cause: m, what: m.Subtype + " on SYSTEM", clauses: clauses,
		met: func(p judge.Message) bool { return p.Subtype == m.Subtype && p.Target == vocab.ToSystem }})
}

// receipt handles a receipt of SessionManager.
func (s *session) receipt(m judge.Message) {
	for i := range ways {
		w := &ways[i]
		if m.Subtype != w.done && m.Subtype != w.fails {
			continue
		}
		who := m.AgentID
		if w.subject == sessions {
			who = ""
		}
		open := s.open(w, who)
		if len(open) == 0 && w.request == vocab.RequestRemoveAgent && s.present(who) {
			return // about another agent of the session, whose removal nobody has asked for
		}
		if len(open) == 0 { // for an unobserved request, or under another name
			open = s.open(w, "")
			for _, p := range open {
				p.doubted = true
			}
		}
		if m.Subtype == vocab.SessionFailed && len(s.open(&ways[2], "")) > 0 && len(s.open(&ways[3], "")) > 0 {
			for _, p := range open {
				p.doubted = true
			}
		}
		for _, p := range open {
			if m.Subtype == w.done {
				p.done++
			} else {
				p.failed++
			}
		}
		if len(open) == 1 {
			s.owesResult(open[0], m)
		}
		if w.request == vocab.RequestAddAgent && m.Subtype == w.done {
			s.expect(m, m.AgentID, true)
			delete(s.agents, m.AgentID)
			delete(s.removed, m.AgentID)
			s.listed = false
		}
	}
}

// owesResult notes that a receipt must be forwarded to the frontend.
func (s *session) owesResult(p *procedure, m judge.Message) {
	if p.doubted || p.request.N == 0 || p.done+p.failed > 1 || !firm(m, false) || !echoes(m, p.request) {
		return
	}
	w := p.way
	if m.Subtype == w.done {
		s.owe(&due{subject: w.subject, cause: m, what: string(w.told) + " sent to the frontend", clauses: w.missing,
			met: func(o judge.Message) bool {
				return o.Kind() == w.told || w.subject == sessions && judge.TellsOfSession(o, w.done)
			}, excused: func(o judge.Message) bool { return o.Kind() == judge.Failure }})
		return
	}
	clauses := w.missing
	switch m.Subtype {
	case vocab.RemoveAgentFailed:
		clauses = []string{"RT-044", "RT-046", "RT-117", "RT-164"}
	case vocab.AddAgentFailed:
		clauses = []string{"RT-043", "RT-046", "RT-163"}
	}
	s.owe(&due{subject: w.subject, cause: m, what: "the failure sent to the frontend", clauses: clauses,
		met: func(o judge.Message) bool { return o.Target == vocab.ToFrontend && o.Event != vocab.AgentOutput }})
}

// echoes reports whether an answer carries the ids of its request.
func echoes(m, request judge.Message) bool {
	return (request.Tx == "" || m.Tx == request.Tx) && (request.Turn == "" || m.Turn == request.Turn)
}

func equalPayload(a, b judge.Message) bool {
	return a.Payload != nil && wjson.Equal(a.Payload, b.Payload)
}
