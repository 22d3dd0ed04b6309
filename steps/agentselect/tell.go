package agentselect

import (
	"encoding/json"
	"fmt"
	"regexp"
	"strings"

	vocab "parley/protocol/agentselect"
	"parley/transcript"
)

var (
	tellable = regexp.MustCompile(`^\w+$`)
	nameable = regexp.MustCompile(`^[\w-]+$`)
)

// account is what the steps of a recording so far say of a client.
type account struct {
	opened  bool
	offered map[string]bool
	session string // "" before the first one
	agent   string // as a step names it
}

// message is what a recording shows of messages of either direction.
type message struct {
	Type string `json:"type"`

	AgentID        string          `json:"agentId"`
	SessionID      string          `json:"sessionId"`
	InitialAgentID json.RawMessage `json:"initialAgentId"`

	Session struct{ ID string } `json:"session"`
	Data    struct {
		SessionID string                `json:"sessionId"`
		Agents    []struct{ ID string } `json:"agents"`
	} `json:"data"`
}

// Tell implements steps.Teller. Messages are told by their names in the document: those of a profile that maps them to
// others are not known.
func (Protocol) Tell() func(transcript.Record) ([]string, bool) {
	clients := map[string]*account{}
	return func(r transcript.Record) ([]string, bool) {
		if !tellable.MatchString(r.Conn) {
			return nil, r.Dir != transcript.Sent
		}
		c := clients[r.Conn]
		if c == nil {
			c = &account{offered: map[string]bool{}}
			clients[r.Conn] = c
		}
		if r.Dir == transcript.Sent {
			return c.sent(r)
		}
		c.received(r)
		return nil, true
	}
}

func (c *account) received(r transcript.Record) {
	var m message
	_ = json.Unmarshal(r.Bytes, &m) // what is none has no members
	if m.Type == vocab.AgentListEvent {
		for _, a := range m.Data.Agents {
			c.offered[a.ID] = true
		}
	}
	if id := m.Session.ID + m.Data.SessionID; c.session == "" && id != "" {
		c.session, c.agent = id, "the default agent"
	}
}

func (c *account) sent(r transcript.Record) ([]string, bool) {
	who := "client " + r.Conn
	if r.Kind == transcript.Open {
		again := c.opened
		*c = account{offered: map[string]bool{}, opened: true}
		if again || strings.Contains(r.Label, "?") { // "is connected" would do nothing again
			return nil, false
		}
		return []string{who + " is connected", who + " receives the list of agents"}, true
	}
	var m message
	if json.Unmarshal(r.Bytes, &m) != nil {
		return nil, false
	}
	if m.Type == "" {
		m.Type = r.Type
	}
	switch {
	case m.Type == vocab.SessionCreateType && m.InitialAgentID == nil:
		return []string{who + " creates a session", who + " has its session"}, true
	case m.Type == vocab.SwitchAgentType && nameable.MatchString(m.AgentID) &&
		c.session != "" && (m.SessionID == "" || m.SessionID == c.session):
		does := fmt.Sprintf("%s switches to %q", who, m.AgentID)
		if !c.offered[m.AgentID] {
			return []string{does, who + ` is refused with "agent_not_found"`}, true
		}
		was := c.agent
		c.agent = fmt.Sprintf("%q", m.AgentID)
		return []string{does, fmt.Sprintf("%s is switched from %s to %s", who, was, c.agent)}, true
	}
	return nil, false
}
