package console

import (
	"context"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"sync"
	"time"

	"parley/simulator"
	"parley/transport/transcript"
)

// Kinds of sessions.
const (
	kindTest   = "test"
	kindPlay   = "play"
	kindReplay = "replay"
)

// session is a session of a console.
type session struct {
	id, kind, protocol string
	began              time.Time
	records            source
	redact             func(string) string
	types              func(protocol string, body []byte) string // may be nil

	test      *simulator.Session // of a test
	options   TestOptions        // of a test
	player    Player             // of a play
	judge     Judge              // of a play; nil: not judged
	dials     bool               // of a play: the party connects to the program
	endpoints []string           // of a play: where the program connects, with paths
	replay    *replay            // of a replay

	ready chan struct{}   // closed when records is set
	ctx   context.Context // ends with the session
	end   context.CancelFunc
	work  sync.WaitGroup
	log   notices
	once  sync.Once

	mu          sync.Mutex
	connections map[string]Connection // by party
	breaks      map[int][]string      // clauses that a record breaks
	progress    *Progress             // of the suite's last run; nil before the first
	pending     []*pendingStep        // steps that run or wait, in the order in which they were given
	stepSerial  int                   // steps so far
	edits       []edit                // whose record has not come
	edited      map[int]string        // what a record was sent instead of
	findings    []Failure             // of steps and monitors, the first ones; those of a play are its judge's
	owed        OwedList              // see watchOwed
	owedVersion int                   // how often it has changed
}

// Connection describes a party's connection.
type Connection struct {
	Party string  `json:"party"`
	State string  `json:"state"` // open or closed
	Since float64 `json:"since"` // milliseconds since the session began
}

// Session is a session as the API shows it.
type Session struct {
	ID          string            `json:"id"`
	Kind        string            `json:"kind"` // test, play or replay
	Protocol    string            `json:"protocol"`
	Role        string            `json:"role"` // of the target, or in which the program is judged
	As          string            `json:"as"`   // the party that is played
	Driver      string            `json:"driver"`
	URL         string            `json:"url"`
	Endpoints   []string          `json:"endpoints"` // of a play: URLs, with their paths, where your program connects
	Target      string            `json:"target"`
	State       string            `json:"state"` // open or ended
	Began       time.Time         `json:"began"`
	Parties     []string          `json:"parties"` // with an open connection
	Connections []Connection      `json:"connections"`
	Records     int               `json:"records"`  // number of the latest
	Overflow    int               `json:"overflow"` // number of records that exceeded the limit
	Running     bool              `json:"running"`  // the suite runs
	Busy        bool              `json:"busy"`     // a step runs
	Pending     []PendingStep     `json:"pending"`  // of a test: the step that runs, and those behind it
	Mind        string            `json:"mind"`
	Minds       map[string]string `json:"minds"` // by type of message
	Mutant      string            `json:"mutant"`
	Script      string            `json:"script"`
	Held        int               `json:"held"`     // messages that wait for a decision
	Connects    bool              `json:"connects"` // of a play: the party connects to the program
	Judges      int               `json:"judges"`   // of a play: clauses that can be judged by the program's messages
	Unjudged    string            `json:"unjudged"` // of a play: why the program's messages are not judged; "" if they are
	Doubt       string            `json:"doubt"`    // of a play: why some clauses are not tested; "" if all can be
	Steps       []string          `json:"steps"`    // executed; of a replay: to continue with
}

// sessionView returns the session in the form of the API.
func (s *session) sessionView() Session {
	out := Session{ID: s.id, Kind: s.kind, Protocol: s.protocol, State: "open", Began: s.began, Records: s.records.Len(),
		Overflow: s.records.Overflow(), Minds: map[string]string{}, Connections: []Connection{}, Parties: []string{},
		Steps: []string{}, Pending: []PendingStep{}, Endpoints: []string{}}
	if s.ctx.Err() != nil {
		out.State = "ended"
	}
	s.mu.Lock()
	out.Running, out.Busy = s.progress != nil && s.progress.Running, len(s.pending) > 0
	for _, name := range slices.Sorted(maps.Keys(s.connections)) {
		c := s.connections[name]
		out.Connections = append(out.Connections, c)
		if c.State == "open" {
			out.Parties = append(out.Parties, name)
		}
	}
	s.mu.Unlock()
	switch s.kind {
	case kindTest:
		out.Pending = s.pendingSteps()
		out.Driver, out.URL, out.Role, out.Target = s.test.Driver(), s.redact(s.test.URL()), s.test.Role(), s.options.Target
		for _, d := range s.test.Steps() {
			out.Steps = append(out.Steps, s.redact(d.Text))
		}
	case kindPlay:
		state := s.player.State()
		out.As, out.Driver, out.URL = s.player.As(), s.player.Driver(), s.redact(s.player.URL())
		out.Mind, out.Mutant, out.Script, out.Held = state.Mind, state.Mutant, state.Script, len(s.player.Held())
		maps.Copy(out.Minds, state.Types)
		out.Connects, out.Endpoints = s.dials, append(out.Endpoints, s.endpoints...)
		if out.Unjudged = s.player.Unjudged(); s.judge != nil {
			out.Role, out.Judges = s.judge.Role(), len(s.judge.Clauses())
			_, out.Doubt = s.judge.Untested()
		}
		out.Parties = append(out.Parties[:0], s.player.Parties()...)
	case kindReplay:
		h := s.replay.header
		out.Role, out.Driver, out.URL = h.Role, h.Driver, h.URL
		out.Steps = append(out.Steps, s.replay.steps...)
	}
	return out
}

// observeRecord updates the connections from a record, and reports whether one has changed.
func (s *session) observeRecord(r transcript.Record) bool {
	state := ""
	switch {
	case r.Kind == transcript.Open && r.Dir == transcript.Received && (r.Status < 300):
		state = "open"
	case r.Kind == transcript.Closed, r.Kind == transcript.Failure:
		state = "closed"
	}
	if state == "" || r.Conn == "" {
		return false
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.connections) >= maxConnections && s.connections[r.Conn].State == "" {
		for name, c := range s.connections { // forget one that has ended
			if c.State == "closed" {
				delete(s.connections, name)
				break
			}
		}
	}
	changed := s.connections[r.Conn].State != state
	s.connections[r.Conn] = Connection{Party: r.Conn, State: state, Since: float64(r.At.Microseconds()) / 1000}
	return changed
}

// Bounds of what is kept about a session in addition to its records.
const (
	maxConnections = 1000
	maxBreaks      = 10_000
)

// breaks remembers that a record breaks a clause.
func (s *session) breaksAt(n int, clause string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if n > 0 && len(s.breaks) < maxBreaks && !slices.Contains(s.breaks[n], clause) {
		s.breaks[n] = append(s.breaks[n], clause)
	}
}

// brokenClauses returns the clauses that a record breaks.
func (s *session) brokenClauses(n int) []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]string{}, s.breaks[n]...)
}

// endedError returns the error for a session that has ended.
func (s *session) endedError() error {
	return newError(http.StatusConflict, "session "+s.id+" has ended (start another by POST "+prefix+"/sessions)")
}

// requireKind returns an error if the session is of another kind, or has ended.
func (s *session) requireKind(kind string) error {
	if s.kind != kind {
		return newError(http.StatusConflict, "session "+s.id+" is a "+s.kind+", and this is for a "+kind)
	}
	if s.ctx.Err() != nil {
		return s.endedError()
	}
	return nil
}

// closeSession ends the session, and waits for it.
func (s *session) closeSession() {
	s.once.Do(func() {
		s.end()
		switch s.kind {
		case kindTest:
			s.test.Close()
		case kindPlay:
			s.player.Close()
		}
	})
	s.work.Wait()
}

func (s *session) showSession(http.ResponseWriter, *http.Request) (any, error) {
	return s.sessionView(), nil
}

// findSession returns the session with an id.
func (c *Console) findSession(id string) (*session, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	i := slices.IndexFunc(c.sessions, func(s *session) bool { return s.id == id })
	if i < 0 {
		return nil, newError(http.StatusNotFound,
			"there is no session "+strconv.Quote(id)+" (GET "+prefix+"/sessions lists them)")
	}
	return c.sessions[i], nil
}

func (c *Console) listSessions(http.ResponseWriter, *http.Request) (any, error) {
	c.mu.Lock()
	all := slices.Clone(c.sessions)
	c.mu.Unlock()
	out := make([]Session, len(all))
	for i, s := range all {
		out[i] = s.sessionView()
	}
	return out, nil
}

// removeSession ends a session and forgets it.
func (c *Console) removeSession(_ http.ResponseWriter, r *http.Request) (any, error) {
	s, err := c.findSession(r.PathValue("id"))
	if err != nil {
		return nil, err
	}
	c.mu.Lock()
	c.sessions = slices.DeleteFunc(slices.Clone(c.sessions), func(other *session) bool { return other == s })
	c.mu.Unlock()
	s.closeSession()
	return nil, nil
}
