package agentselect

import (
	"crypto/rand"
	"errors"
	"slices"

	"parley/internal/llm"
	proto "parley/protocol/agentselect"
	"parley/reference-server/connection"
)

// manager holds connections, sessions and their bindings. It is guarded by Server.mu; only sending needs no lock.
type manager struct {
	policy Policy
	file   *agentsFile
	limits Limits
	conns  *connection.Registry[string, conn]

	sessions map[string]*session
	order    []string          // ids of sessions, oldest first
	defaults map[string]string // connection → its default session
	agents   map[string]string // Policy.AgentKey → agent id

	sessionControllers  map[string]*controller
	pendingInteractions map[string][]*interaction
}

var _ Manager = (*manager)(nil)

// session is a conversation. Its agent is in manager.agents.
type session struct {
	id      string
	owner   string // connection that its events go to, or ""
	initial string // agent until the first switch
	turns   int
	history []llm.Message
}

var errFull = errors.New("too many sessions")

func newManager(o Options, file *agentsFile) *manager {
	return &manager{
		policy: o.Policy, file: file, limits: o.Limits, conns: connection.NewRegistry[string, conn](o.Limits.Connections),
		sessions: map[string]*session{}, defaults: map[string]string{}, agents: map[string]string{},
		sessionControllers: map[string]*controller{}, pendingInteractions: map[string][]*interaction{},
	}
}

func newID(prefix string) string { return prefix + "_" + rand.Text() }

func (m *manager) Sessions() []string                { return slices.Clone(m.order) }
func (m *manager) Exists(id string) bool             { return m.sessions[id] != nil }
func (m *manager) DefaultSession(conn string) string { return m.defaults[conn] }
func (m *manager) Agents() []Agent                   { return m.file.currentAgents() }
func (m *manager) SetDefault(conn, session string)   { m.defaults[conn] = session }

func (m *manager) Connections() []ConnInfo {
	var list []ConnInfo
	for _, c := range m.conns.All() {
		list = append(list, c.info)
	}
	return list
}

func (m *manager) Owner(id string) string {
	if s := m.sessions[id]; s != nil {
		return s.owner
	}
	return ""
}

// Running ignores parked controllers, which wait for the user and not for the model. What they wait for is in
// pendingInteractions, so that each of the two conditions of section 4.3 can hold alone (AS-111).
func (m *manager) Running(id string) bool {
	c := m.sessionControllers[id]
	return c != nil && !c.parked
}

func (m *manager) Pending(id string) []string {
	var kinds []string
	for _, it := range m.pendingInteractions[id] {
		kinds = append(kinds, it.kind)
	}
	return kinds
}

func (m *manager) AgentOf(id string) string {
	s := m.sessions[id]
	if s == nil {
		return ""
	}
	if agent, switched := m.agents[m.policy.AgentKey(id, s.owner)]; switched {
		return agent
	}
	return s.initial
}

func (m *manager) SetAgentOf(id, agent string) {
	m.agents[m.policy.AgentKey(id, m.Owner(id))] = agent
}

func (m *manager) NewSession(c ConnInfo) string {
	s := &session{id: newID("sess"), owner: c.ID, initial: m.policy.InitialAgent(c)}
	m.sessions[s.id] = s
	m.order = append(m.order, s.id)
	return s.id
}

// createSession makes a session for the connection, with the requested initial agent, if any.
func (m *manager) createSession(c ConnInfo, initial string) (string, error) {
	if len(m.sessions) >= m.limits.Sessions && !m.evictOldest() {
		return "", errFull
	}
	id := m.NewSession(c)
	m.sessions[id].owner = ""
	if initial != "" {
		m.sessions[id].initial = initial
	}
	m.bindSession(OnCreate, c, id)
	return id, nil
}

// bindSession follows section 4.3: a created or loaded session belongs to the connection from now on.
func (m *manager) bindSession(how Occasion, c ConnInfo, id string) {
	b := m.policy.Bind(m, how, c, id)
	if b.Release {
		for conn, bound := range m.defaults {
			if bound == id && conn != c.ID {
				delete(m.defaults, conn)
			}
		}
	}
	if b.Owner {
		m.sessions[id].owner = c.ID
	}
	if b.Default {
		m.defaults[c.ID] = id
	}
}

// removeConnection removes a connection that has ended. Its sessions stay and can be loaded by another.
func (m *manager) removeConnection(conn string) {
	m.conns.Remove(conn)
	delete(m.defaults, conn)
	for _, s := range m.sessions {
		if s.owner == conn {
			s.owner = ""
		}
	}
}

// evictOldest removes the oldest idle session that no connection has open.
func (m *manager) evictOldest() bool {
	for _, id := range m.order {
		if m.Owner(id) == "" && m.sessionControllers[id] == nil && len(m.pendingInteractions[id]) == 0 {
			m.removeSession(id)
			return true
		}
	}
	return false
}

func (m *manager) removeSession(id string) {
	delete(m.agents, m.policy.AgentKey(id, m.Owner(id)))
	delete(m.sessions, id)
	m.order = slices.DeleteFunc(m.order, func(s string) bool { return s == id })
	for conn, bound := range m.defaults {
		if bound == id {
			delete(m.defaults, conn)
		}
	}
}

// findInteraction finds a pending request to the user.
func (m *manager) findInteraction(requestID string) *interaction {
	for _, all := range m.pendingInteractions {
		for _, it := range all {
			if it.id == requestID {
				return it
			}
		}
	}
	return nil
}

// removeInteraction removes a pending request, and with the last one its session's entry.
func (m *manager) removeInteraction(it *interaction) {
	rest := slices.DeleteFunc(m.pendingInteractions[it.session], func(o *interaction) bool { return o == it })
	if len(rest) == 0 {
		delete(m.pendingInteractions, it.session)
		return
	}
	m.pendingInteractions[it.session] = rest
}

var errNoSession = errors.New("no such session")

// createSession creates a session and binds it to the connection (AS-098, AS-100).
func (s *Server) createSession(c *conn, msg Message) (string, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	initial, asked := msg[proto.InitialAgentID]
	id, _ := initial.(string)
	if _, listed := findAgent(s.agentsFor(ForSwitch), id); asked && !listed {
		return "", &badMessage{"initialAgentId is not an available agent"}
	}
	if s.m.conns.Get(c.info.ID) == nil {
		return "", &badMessage{"the connection has ended"}
	}
	made, err := s.m.createSession(c.info, id)
	if err == nil {
		s.o.Logger.Info("session created", "conn", c.info.ID, "session", made, "agent", s.m.AgentOf(made))
	}
	return made, err
}

// loadSession moves a session to the connection, which gets its events from now on (AS-094, AS-101).
func (s *Server) loadSession(c *conn, msg Message) (string, error) {
	id, isString := msg[proto.SessionID].(string)
	if !isString {
		return "", &badMessage{"sessionId is not a string"}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.m.Exists(id) {
		return "", errNoSession
	}
	if s.m.conns.Get(c.info.ID) == nil {
		return "", &badMessage{"the connection has ended"}
	}
	s.m.bindSession(OnLoad, c.info, id)
	s.o.Logger.Info("session loaded", "conn", c.info.ID, "session", id, "agent", s.m.AgentOf(id))
	return id, nil
}

// deleteSession ends the session's running turn and removes the session.
func (s *Server) deleteSession(id string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.m.Exists(id) {
		return false
	}
	if s.m.sessionControllers[id] != nil {
		s.emitTo(id, Event{Type: proto.CompleteEvent, Data: EventData{proto.SessionID: id, proto.Cancelled: true}}, nil)
	}
	s.endTurn(id, AbortEffect{Turn: true, Interactions: true})
	s.m.removeSession(id)
	s.o.Logger.Info("session deleted", "session", id)
	return true
}
