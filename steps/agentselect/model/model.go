// Package model is the model of agent-select: what a server owes its clients, and what it must not do. It is a fold
// over the records of a transcript, decoded as by the binding: Data has the names of the default binding.
//
// It follows each connection, the session bound to it, and the switches that are not answered yet, in one pass. If an
// answer has several possible causes, it judges nothing by it. Of foreign traffic (obligation.Foreign) a list may be
// out of date, so that a difference counts only once the lists before and after agree; in a run of the harness
// (obligation.Ours) only hooks change the agents, which remarks tell.
package model

import (
	"slices"
	"sync"

	"parley/features/verdict"
	vocab "parley/protocol/agentselect"
	"parley/steps/agentselect/binding"
	"parley/steps/obligation"
	"parley/transport/transcript"
)

// maxKept bounds the stored connections, sessions and requests. Beyond it no switch is judged.
const maxKept = 10_000

// maxOpen bounds what is kept of each connection.
const maxOpen = 100

// Model is the state of all connections as derived from the messages so far. It implements obligation.Model.
type Model struct {
	Known
	observer   obligation.Observer
	out        []verdict.Finding
	tally      obligation.Tally
	duties     obligation.Duties // nil: they are not collected
	conns      map[string]*conn
	ended      map[string]*conn    // the latest ones that the server has ended; kept in a run only
	sessions   map[string]*session // by id
	requests   map[int]request     // unanswered session requests over HTTP, by record
	posts      map[int]*ask        // switches over HTTP whose requests are not answered
	strange    bool                // an unknown message may have acted on any session: no further switch is judged
	changed    bool                // a hook has changed the configuration, so lists need not agree any more
	removed    bool                // by removing an agent
	change     change              // the latest of a hook
	seated     map[string]bool     // clients that have had a session, or asked for a switch without one; kept in a run
	said       map[pair]bool       // by agent_switched; kept in a run only
	now        int                 // the latest record
	acted      int                 // the latest act: a message but a switch to an unknown agent, or a hook
	contested  bool                // a client has tried to load the session of another connection
	announced  *ask                // the latest switch of a named session
	refusedTo  *ask                // a switch that was refused to the client whose session it named
	Mixed      []Mixture
	deviations []string
	usual      any            // the current agent in the list of a connection whose address names none; nil: none is known
	agents     map[string]any // as every list must have them now; nil: unknown since a hook has changed them
	former     map[string]any // that a hook has changed
	latest     *session       // the session of the latest switch
	fresh      string         // the agent that a new session was first switched from; "" if none was
	refused    refusal
	doubted    []doubted
	wanted     map[string]map[any]bool // connection → agents that it has asked for; kept in a run only
	named      map[any]bool            // agents asked for in a session that was named; kept in a run only
	namedAt    int                     // the latest such switch
	hearing    hearing                 // of one; kept if connections cannot be told apart
}

// Known is what a run of the harness knows of its target. The zero value: nothing.
type Known struct {
	Default string            // the agent that new sessions begin with
	Custom  []vocab.AgentInfo // agents that the target is configured with; an empty name or description: unknown
	Strict  bool              // where the source contradicts itself, its strict reading counts
	Single  bool              // it cannot tell connections apart
	Answers binding.AnswerFields
	Shared  func() bool                  // sessions share one agent, as is known; nil: it is not
	Alone   func(deviation string) bool  // the target has shown it to a client that had it to itself; nil: nothing
	Apart   func(one, other string) bool // clients that may be led to different instances; nil: none are
}

// conn is an open connection.
type conn struct {
	name       string   // of the client
	address    string   // that it was opened at
	former     *session // that it had before its session
	initial    string   // the agent that the session request in progress names
	latest     *ask     // the latest switch that was refused; kept in a run only
	latestList transcript.Record
	confirmed  transcript.Record // the latest agent_switched that answered a switch; kept in a run only
	twice      transcript.Record // a repeated agent_switched that came while a switch was open
	given      int               // the record that gave it its session
	act        int               // its latest message that is no switch to an unknown agent
	listAt     int               // the latest agent_list
	excused    int               // one that may belong to the session
	extraList  int               // one that nothing calls for
	uncalled   int               // an answer that it has not asked for
	seeking    *seeking          // the latest session request; kept in a run only
	id         string            // as named by connected
	joined     bool              // its beginning was not seen
	told       bool              // connected was seen
	events     int               // events of the protocol
	listed     bool              // agent_list was seen
	judged     bool              // an answer was seen
	names      map[string]any    // agent → name, from the latest agent_list; nil if it cannot be read
	acted      bool              // the client has sent something
	asks       int               // switches that it has sent
	asked      int               // unanswered session requests
	sought     bool              // a session was requested at any time
	bound      *session
	lost       *session // the session that another connection has loaded since
	moving     int      // requests of others to load its session, unanswered
	loads      string   // the session that a request in progress names; "" for a new one
	plain      bool     // the request in progress asks for a new session without naming an agent
	unsure     bool     // an event here may answer several messages
	odd        bool     // messages of types that the source does not name were sent, or no messages at all
	other      bool     // other messages than switches and session requests were sent
	failed     bool     // a switch was refused
	elsewhere  bool     // a switch of an unknown session was refused since its latest switch; kept in a run only
	open       []*ask
	extra      transcript.Record   // an agent_list while a switch was open; N is 0 for none
	instead    announced           // of the latest switch
	vain       []*ask              // switches whose answers were waited for in vain; kept in a run only
	wants      map[any]bool        // agents that it has asked for; not all if there are many
	misfit     map[string]misnamed // names in agent_switched that are not in the list, by agent
	opened     int                 // the record
	heard      int                 // the latest event
	list       *owed               // the first agent_list
	book       *book
	// told once it has outlived what another connection was told; nil: nothing
	waiting func()
}

// refusal is the latest error with a code of section 4.2, and the switch that it answers; nil if that is unknown.
type refusal struct {
	r transcript.Record
	a *ask
}

// announced is a switch that was answered by the announcement of another agent, and the finding that says so.
type announced struct {
	a     *ask
	found int
}

// misnamed is an agent_switched whose agent is not in the list, or has another name there.
type misnamed struct {
	r      transcript.Record
	listed any
	has    bool // the agent is in the list
}

// doubted is a finding that counts if the next agent_list has the agents of the list before it.
type doubted struct {
	before map[string]any
	judge  func()
}

// session is a session that was created or loaded over an observed connection.
type session struct {
	id        string
	owner     *conn
	agent     string             // of the latest switch; "" if unknown
	refused   string             // the agent of a switch refused since; "" for none
	created   bool               // its beginning was observed
	loaded    bool               // it was loaded, and no other client has named it
	virgin    bool               // it was created without naming an agent, and nothing can have switched it
	before    *session           // that the connection had before
	chats     bool               // a client has chatted in it
	running   bool               // a chat was sent, and its end was not observed
	holds     bool               // its turn certainly runs; known in a run only
	begun     bool               // an event of the running turn was observed
	waiting   bool               // a request to the user is open
	during    *transcript.Record // the switch that was carried out in the running turn
	said      map[string]bool    // events of its turns
	by        string             // its client
	left      string             // its agent when its connection ended, or it was loaded; "" if it was not switched
	first     string             // its agent when it was created; "" if that, or left, is unknown
	past      past
	astray    transcript.Record // a switch of it that was announced to the client that asked, and not here
	chat      int               // the record of the latest chat
	told      bool              // a message has come since
	responded bool              // its user has answered a request
	elsewhere bool              // a complete for an unknown session has come since
	doubled   bool              // a chat was sent in mid-turn
}

// request is a session request.
type request struct {
	c     *conn
	id    string   // of the session to load
	sure  bool     // it is certain that it is of that connection
	moves *session // that is bound to another connection
}

// ask is an unanswered switch_agent.
type ask struct {
	r       transcript.Record
	c       *conn
	id      any
	named   bool              // it names a session
	session string            // that it names
	of      *session          // nil: none was observed
	clear   bool              // the next answer can only be for it
	crowd   bool              // it was sent while another one was open
	begun   bool              // a turn of the session went on when it was sent
	held    bool              // the turn certainly went on when it was sent
	rounds  []int             // records that answer switches which were sent after this one
	run     bool              // the session's turn may run when it was sent
	tests   []string          // clauses that it tests if it should succeed; kept in a run only
	no      transcript.Record // that refused it
	what    string            // the only answer that is right; "" if several are
	clauses []string          // broken if no answer comes
	owed    []*owed
	duty    *duty
}

// usualAnswers is where answers have their members in the default binding, which is read once.
var usualAnswers = sync.OnceValue(func() binding.AnswerFields { return binding.Default().Fields.Answer })

// New returns the model of a transcript that has no record yet.
func New(o obligation.Observer) *Model {
	return &Model{Known: Known{Answers: usualAnswers()}, observer: o,
		strange: o == obligation.Partial, conns: map[string]*conn{}, ended: map[string]*conn{},
		sessions: map[string]*session{}, requests: map[int]request{}, posts: map[int]*ask{},
		wanted: map[string]map[any]bool{}, named: map[any]bool{}, seated: map[string]bool{}, said: map[pair]bool{},
		tally: obligation.Tally{}}
}

// ours reports whether all clients are the harness's own.
func (m *Model) ours() bool { return m.observer == obligation.Ours }

// Take implements obligation.Model.
func (m *Model) Take(r transcript.Record) {
	if r.Late {
		return
	}
	c := m.conns[r.Conn]
	m.now = r.N
	switch {
	case r.Dir == transcript.Noted:
		m.remarked(c, r)
	case r.Kind == transcript.Open && r.Dir == transcript.Sent:
		m.closed(c)
		delete(m.seated, r.Conn)
		c = m.newConn(r)
		c.opens(r)
		m.conns[r.Conn] = c
		delete(m.ended, r.Conn)
		m.bound()
	case r.Kind == transcript.Open && m.ours():
		m.streams(r)
	case r.Kind == transcript.Closed:
		m.closed(c)
		delete(m.conns, r.Conn)
		if m.ours() {
			m.ended[r.Conn] = c
		}
	case r.Dir == transcript.Sent && (r.Kind == transcript.Request || r.Kind == transcript.Frame):
		m.sent(c, r)
	case r.Kind == transcript.Response && r.Dir == transcript.Received:
		m.answered(r)
	case r.Event != nil && r.Dir == transcript.Received:
		m.event(m.known(r, c), r)
	}
}

// newConn returns the connection that a record opens.
func (m *Model) newConn(r transcript.Record) *conn {
	c := &conn{name: r.Conn, misfit: map[string]misnamed{}, wants: map[any]bool{}, opened: r.N, address: r.Label}
	c.book = &book{Name: named, Tally: m.tally, Duties: m.duties, Rate: func(o *owed, p message) int {
		if o.About != nil && o.About.fits(transcript.Record(p)) {
			return 1
		}
		return 0
	}}
	return c
}

// known returns the connection of a record. If its beginning was not seen, its session is unknown.
func (m *Model) known(r transcript.Record, c *conn) *conn {
	if c == nil {
		c = m.newConn(r)
		c.joined, c.unsure, c.acted, c.sought, c.other = true, true, true, true, true
		m.conns[r.Conn] = c
		m.bound()
	}
	return c
}

// End implements obligation.Model.
func (m *Model) End() {
	for _, c := range m.conns {
		m.unanswered(c)
	}
}

// Findings implements obligation.Model.
func (m *Model) Findings() []verdict.Finding {
	out := slices.Clone(m.out)
	slices.SortStableFunc(out, func(a, b verdict.Finding) int { return a.At - b.At })
	return out
}

// Fresh returns the findings but the first ones, in the order in which they were made.
func (m *Model) Fresh(told int) []verdict.Finding { return slices.Clone(m.out[told:]) }

// Owing implements obligation.Model.
func (m *Model) Owing() (out []obligation.Entry) {
	for _, c := range m.conns {
		for _, e := range c.book.Owing() {
			if e.Session = "client " + c.name; c.bound != nil && c.bound.id != "" {
				e.Session = c.bound.id
			}
			out = append(out, e)
		}
	}
	slices.SortStableFunc(out, func(a, b obligation.Entry) int { return a.Record - b.Record })
	return out
}

func (m *Model) kept(r transcript.Record, ids ...string) { m.judge(r, true, "", ids...) }

func (m *Model) broken(r transcript.Record, expected string, ids ...string) {
	m.judge(r, false, expected, ids...)
}

func (m *Model) judge(r transcript.Record, ok bool, expected string, ids ...string) {
	if len(ids) == 0 {
		return
	}
	m.out = append(m.out, finding(r, ok, expected, ids...))
}
