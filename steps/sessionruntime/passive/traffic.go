// Package passive has the monitors of session-runtime for foreign traffic, of an orchestrator on a real bus. They see
// the messages that the bus delivers to it, and those that it publishes. A message published before a delivery cannot
// be its effect. A message published after a delivery may have been in flight already, and is judged only if another
// message shows that the orchestrator had handled the delivery. If a message has several possible causes, they judge
// nothing.
package passive

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"parley/features/verdict"
	"parley/internal/cut"
	vocab "parley/protocol/sessionruntime"
	"parley/steps/monitor"
	judge "parley/steps/sessionruntime/model"
	"parley/transport/transcript"
	wjson "parley/transport/wire/json"
)

// Bounds on the state kept of a session; older state is dropped and not judged.
const (
	mostSessions = 1000
	mostTurns    = 256
	mostDue      = 64
	mostIDs      = 2048
	mostOutputs  = 512
)

// patience is the time that an effect may take, even if later messages were handled meanwhile.
const patience = 30 * time.Second

// traffic is a partly judged transcript, with the findings.
type traffic struct {
	subject string
	out     []verdict.Finding
	shown   map[string]bool
	conns   map[string]*conn
}

// conn is a connection of the bus.
type conn struct {
	v        *traffic
	sessions map[string]*session
	order    []*session
	coming   map[string]*session // sessions being set up
	fences   map[string]int      // id → record that sent the fence
	blind    bool                // it carries undecodable messages
}

func (v *traffic) take(r transcript.Record) {
	if r.Late || r.Dir == transcript.Noted {
		return
	}
	c := v.conns[r.Conn]
	if c == nil || r.Kind == transcript.Open || r.Kind == transcript.Closed || r.Kind == transcript.Failure {
		if c != nil {
			c.end()
		}
		c = &conn{v: v, sessions: map[string]*session{}, coming: map[string]*session{}, fences: map[string]int{}}
		v.conns[r.Conn] = c
	}
	if r.Kind != transcript.Frame {
		return
	}
	if r.Event == nil || r.Cut > 0 || len(r.Event.Faults) > 0 {
		c.blind = c.blind || r.Dir == transcript.Received || r.Cut > 0 || r.Event != nil
		return
	}
	if strings.HasPrefix(r.Event.Type, "parley") {
		c.control(r)
		return
	}
	m, ok := judge.Read(r)
	if !ok || c.blind {
		return
	}
	if s := c.session(m); s != nil && !s.mixed {
		s.take(m)
	}
}

// control handles a frame of the default binding that is not a message on the bus: set-up frames and fences.
func (c *conn) control(r transcript.Record) {
	data, _ := r.Event.Data.(map[string]any)
	id, _ := data[judge.ID].(string)
	name, _ := data[judge.Session].(string)
	switch r.Event.Type {
	case judge.SetupFrame:
		if old := c.sessions[name]; old != nil {
			old.close()
		}
		c.coming[name] = c.setUp(name, data)
	case judge.ReadyFrame:
		for n, s := range c.coming {
			if name == "" || n == name {
				c.add(s)
				delete(c.coming, n)
			}
		}
	case judge.FenceFrame:
		if c.fences[id] == 0 && len(c.fences) < mostIDs { // of two with one id, the first is answered first
			c.fences[id] = r.N
		}
	case judge.FencedFrame:
		if before := c.fences[id]; before > 0 {
			for _, s := range c.sessions {
				s.fenced(before, r.N)
			}
		}
		delete(c.fences, id)
	}
}

func (c *conn) setUp(name string, data map[string]any) *session {
	s := newSession(c.v, name)
	all, _ := data["agents"].([]any)
	for _, a := range all {
		s.agents[fmt.Sprint(a)] = true
	}
	s.listed = len(all) > 0
	if a, _ := data["active_agent_id"].(string); s.agents[a] {
		s.active, s.activeBy = a, bySetUp
	}
	limits, _ := data["limits"].(map[string]any)
	ms, _ := strconv.Atoi(fmt.Sprint(limits["cancel_ack_ms"]))
	s.ackLimit = time.Duration(ms) * time.Millisecond
	return s
}

func (c *conn) add(s *session) {
	if len(c.order) >= mostSessions {
		c.order[0].close()
		if c.sessions[c.order[0].id] == c.order[0] {
			delete(c.sessions, c.order[0].id)
		}
		c.order = c.order[1:]
	}
	for _, other := range c.v.conns { // its owner is unknown
		if o := other.sessions[s.id]; other != c && o != nil {
			o.mixed, s.mixed = true, true
		}
	}
	c.sessions[s.id] = s
	c.order = append(c.order, s)
}

// session returns the session of a message; nil if that is uncertain.
func (c *conn) session(m judge.Message) *session {
	if m.Session == "" && !m.Delivered {
		if len(c.sessions) != 1 {
			return nil
		}
		for _, s := range c.sessions {
			return s
		}
	}
	if c.coming[m.Session] != nil { // it may belong to the old or the new one
		c.coming[m.Session].lost = true
		return nil
	}
	s := c.sessions[m.Session]
	if s == nil {
		s = newSession(c.v, m.Session)
		c.add(s)
	}
	return s
}

func (c *conn) end() {
	for _, s := range c.sessions {
		s.close()
	}
	c.sessions, c.order, c.coming = map[string]*session{}, nil, map[string]*session{}
}

func describe(m judge.Message) string {
	return fmt.Sprintf("%s, turn_id %q: %s", m.Name(), m.Turn, cut.Head(wjson.Compact(m.Payload), 200))
}

func control(m judge.Message, subtypes ...string) bool {
	return m.Event == vocab.Control && slices.Contains(subtypes, m.Subtype)
}

// data returns a member of a decoded message that is a text.
func data(m judge.Message, name string) string { s, _ := m.Data[name].(string); return s }

// The subjects, which are the monitors' names.
const (
	inputs    = "inputs-routed"
	active    = "active-agent"
	acks      = "acks-end-the-wait"
	outputs   = "output-forwarded"
	cancels   = "cancels-wait-for-acks"
	moves     = "agents-come-and-go"
	handovers = "handovers-confirmed"
	sessions  = "sessions-open-and-close"
	errors    = "errors-told"
)

var claims = []struct {
	name, text string
	clauses    []string
}{
	{inputs, "an input is routed to its agent unchanged, and its turn is accepted", []string{"RT-001", "RT-009",
		"RT-013", "RT-015", "RT-052", "RT-053", "RT-055", "RT-067", "RT-068",
		"RT-072", "RT-074", "RT-075", "RT-076", "RT-083", "RT-084", "RT-085", "RT-086", "RT-092", "RT-093",
		"RT-170"}},
	{active, "each change of the active agent is published, and plain input goes to the active agent",
		[]string{"RT-006", "RT-014", "RT-032",
			"RT-048", "RT-063", "RT-064", "RT-065", "RT-066", "RT-069", "RT-088", "RT-089", "RT-090", "RT-091",
			"RT-112", "RT-167", "RT-176"}},
	{acks, "a turn starts with its ack, and has one outcome", []string{"RT-003", "RT-056", "RT-077", "RT-079",
		"RT-080", "RT-094", "RT-161", "RT-169"}},
	{outputs, "output of a running turn is forwarded unchanged, in its order and once", []string{"RT-002", "RT-015",
		"RT-039", "RT-042", "RT-055", "RT-079", "RT-104",
		"RT-139", "RT-140", "RT-141", "RT-145", "RT-146", "RT-148", "RT-149", "RT-150", "RT-162", "RT-168"}},
	{cancels, "a CANCEL goes to the agent that speaks, and CANCELED comes after its ack", []string{"RT-004",
		"RT-005", "RT-016", "RT-031", "RT-038", "RT-050", "RT-053",
		"RT-095", "RT-097", "RT-098", "RT-099", "RT-100", "RT-102", "RT-103", "RT-105", "RT-142", "RT-145",
		"RT-160", "RT-162"}},
	{moves, "agents are added and removed through SessionManager, each step after its receipt", []string{"RT-008",
		"RT-010", "RT-017", "RT-018", "RT-020",
		"RT-025", "RT-033", "RT-034", "RT-043", "RT-044", "RT-046", "RT-049", "RT-060", "RT-086", "RT-087",
		"RT-106", "RT-108", "RT-109", "RT-110", "RT-111", "RT-113", "RT-115", "RT-116", "RT-117", "RT-119",
		"RT-120", "RT-121", "RT-122", "RT-124", "RT-126",
		"RT-127", "RT-160", "RT-163", "RT-164", "RT-171", "RT-172"}},
	{handovers, "a handover is confirmed by the frontend before it takes place", []string{"RT-007", "RT-019",
		"RT-035", "RT-038", "RT-061", "RT-065", "RT-128", "RT-130",
		"RT-131", "RT-132", "RT-133", "RT-134", "RT-135", "RT-136", "RT-137", "RT-165", "RT-173"}},
	{sessions, "a session is opened and closed through SessionManager, each step after its receipt",
		[]string{"RT-020", "RT-036", "RT-045", "RT-046",
			"RT-151", "RT-152", "RT-153", "RT-154", "RT-155", "RT-160", "RT-166"}},
	{errors, "an ERROR of any party reaches the frontend", []string{"RT-011", "RT-040"}},
}

// Monitors lists the monitors.
func Monitors() []monitor.Monitor {
	var out []monitor.Monitor
	for _, c := range claims {
		out = append(out, monitor.Monitor{Name: c.name, Text: c.text, Clauses: c.clauses, Passive: true,
			Check: func(t []transcript.Record) []verdict.Finding { return check(t, c.name) }})
	}
	return out
}

// check judges a transcript, and returns the findings on one subject.
func check(t []transcript.Record, subject string) []verdict.Finding {
	v := &traffic{subject: subject, shown: map[string]bool{}, conns: map[string]*conn{}}
	for _, r := range t {
		v.take(r)
	}
	for _, c := range v.conns {
		c.end()
	}
	slices.SortStableFunc(v.out, func(a, b verdict.Finding) int { return a.At - b.At })
	return v.out
}

// kept records that clauses hold, each once per transcript.
func (s *session) kept(subject string, m judge.Message, clauses ...string) {
	if subject != s.v.subject || s.lost {
		return
	}
	fresh := slices.DeleteFunc(slices.Clone(clauses), func(id string) bool { return s.v.shown[id] })
	for _, id := range fresh {
		s.v.shown[id] = true
	}
	if len(fresh) > 0 {
		s.v.out = append(s.v.out, verdict.Finding{Clauses: fresh, OK: true, At: m.N})
	}
}

// broken records that clauses were broken by a message. From then on the session is not judged, because its due
// messages are no longer known.
func (s *session) broken(subject string, m judge.Message, expected string, clauses ...string) {
	s.fails(subject, m, expected, describe(m), clauses...)
}

func (s *session) fails(subject string, m judge.Message, expected, observed string, clauses ...string) {
	if s.lost {
		return
	}
	s.lost = true
	if subject == s.v.subject {
		s.v.out = append(s.v.out, verdict.Finding{Clauses: clauses, At: m.N, Expected: expected, Observed: observed})
	}
}

// told judges messages to the frontend about agents and the session.
func (s *session) told(p judge.Message) {
	if p.Kind() == judge.RemoveFailed {
		s.notRemoved(p)
		return
	}
	i := slices.IndexFunc(ways, func(w way) bool { return w.told == p.Kind() })
	w := &ways[i]
	who := p.AgentID
	if w.subject == sessions {
		who = ""
	} else if who == "" {
		return
	}
	s.sameForm(w, p, map[judge.Kind]string{judge.Added: "RT-127", judge.Removed: "RT-116"}[w.told])
	var requested []*procedure
	done, failed, doubted, asked := 0, 0, false, false
	for _, c := range s.procs {
		if c.way.request == w.request && c.who == who && !c.over {
			asked = asked || c.ask.N > 0 && c.request.N == 0 && !c.refused
			done, failed, doubted = done+c.done, failed+c.failed, doubted || c.doubted
			if c.request.N > 0 {
				requested = append(requested, c)
			}
		}
	}
	switch {
	case len(requested) == 0 && asked && done+failed == 0 && !doubted && w.subject == moves && s.listed && // all is seen
		(w.told == judge.Added && s.absent(who) || w.told == judge.Removed && s.present(who)):
		s.broken(w.subject, p, "this once SessionManager has been asked by "+w.request+" and has sent "+w.done, w.early...)
	case len(requested) == 0 || doubted && done == 0:
	case done == 0:
		clauses := w.early
		if failed > 0 && w.request == vocab.RequestRemoveAgent {
			clauses = append(slices.Clone(clauses), "RT-117")
		}
		s.broken(w.subject, p, "this once SessionManager has sent "+w.done, clauses...)
	default:
		s.kept(w.subject, p, w.result...)
		s.arrived(w, who, p, requested)
		s.round(requested[0].request, p)
	}
	for _, c := range requested {
		c.over = true
	}
	switch w.told {
	case judge.Closed:
		s.closing = true
	case judge.Removed:
		s.removes(who, p)
	case judge.Added:
		s.agents[who] = true
		delete(s.removed, who)
		if len(requested) > 0 && done > 0 && !doubted {
			s.arrives(who, p)
		}
	}
}

// arrived names the clauses that the addition of an agent shows to hold: nothing was sent to it before.
func (s *session) arrived(w *way, who string, p judge.Message, requested []*procedure) {
	if w.told == judge.Added && !slices.ContainsFunc(s.order, func(t *turn) bool {
		return t.agent == who && t.n > requested[0].request.N
	}) {
		s.kept(moves, p, "RT-025", "RT-122")
	}
}

// removes notes that an agent has left.
func (s *session) removes(who string, p judge.Message) {
	s.agents[who], s.removed[who] = false, true
	if s.active == who {
		if len(s.changes) == 1 && len(s.known()) > 0 && s.activeBy != byRoute {
			s.gone = p
		}
		s.unsure()
		return
	}
	s.changes = slices.DeleteFunc(s.changes, func(c *change) bool {
		return control(c.Message, vocab.RemoveAgent) && c.AgentID == who
	})
}

// known lists the agents that are in the session.
func (s *session) known() (out []string) {
	for a, in := range s.agents {
		if in {
			out = append(out, a)
		}
	}
	return out
}

// notRemoved judges REMOVE_AGENT_FAILED.
func (s *session) notRemoved(p judge.Message) {
	s.denied(p)
	for _, c := range s.procs {
		if c.told == judge.Removed && c.failed > 0 && !c.over && (c.who == p.AgentID || p.AgentID == "") {
			s.kept(moves, p, "RT-044", "RT-046", "RT-117", "RT-164")
			c.over = true
			s.expect(p, "", false) // what happens to the agent is unspecified
			s.unsure()
			return
		}
	}
	s.mayRefuse()
}

// mayRefuse notes an ERROR to the frontend that no other party has sent: what has not been requested of SessionManager
// may have been given up.
func (s *session) mayRefuse() {
	for _, c := range s.procs {
		c.refused = c.refused || c.request.N == 0
	}
}

// notThere judges an input for an agent that is not in the session.
func (s *session) notThere(in *input, p judge.Message) {
	if p.TargetID != in.who {
		s.broken(moves, p, "the input not routed: agent "+in.who+", which it mentions, is not in the session",
			"RT-049", "RT-086", "RT-087")
		return
	}
	clauses := []string{"RT-049", "RT-086", "RT-087"}
	if in.removed {
		clauses = append(clauses, "RT-111")
	}
	for _, c := range s.procs {
		if c.told == judge.Added && c.who == in.who && c.request.N > 0 && c.done == 0 {
			clauses = append(clauses, "RT-025", "RT-122")
		}
	}
	s.broken(moves, p, "the input not routed: agent "+in.who+" is not in the session", clauses...)
}

// refused names the clauses that a notice to the frontend, or a request to SessionManager, shows to hold if an agent is
// absent.
func (s *session) refused(p judge.Message) {
	for _, in := range s.inputs {
		if in.form == "" || !s.absent(in.who) || p.AgentID != "" && p.AgentID != in.who {
			continue
		}
		s.kept(moves, p, "RT-049", "RT-086", "RT-087")
		if in.removed {
			s.kept(moves, p, "RT-111")
		}
	}
}
