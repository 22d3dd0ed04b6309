package model

import (
	"slices"
	"strings"
	"time"

	vocab "parley/protocol/sessionchat"
	"parley/steps/monitor"
	"parley/transport/transcript"
)

// message is a record with its message. The zero values stand for members that are absent or not strings.
type message struct {
	r     transcript.Record
	data  map[string]any
	kind  string // its type
	agent string // its agent_id
	id    string // its session_id
}

func read(r transcript.Record) message {
	m := message{r: r}
	if r.Event != nil {
		m.kind = r.Event.Type
		m.data, _ = r.Event.Data.(map[string]any)
		m.agent, m.id = m.text(vocab.AgentID), m.text(vocab.SessionID)
	}
	return m
}

// Record implements obligation.Message.
func (m message) Record() int { return m.r.N }

// Time implements obligation.Message.
func (m message) Time() time.Duration { return m.r.At }

// Title implements obligation.Message.
func (m message) Title() string {
	if m.agent == "" {
		return m.kind
	}
	return m.kind + " of " + m.agent
}

func (m message) text(name string) string {
	s, _ := m.data[name].(string)
	return s
}

func (m message) sent() bool     { return m.r.Event != nil && m.r.Dir == transcript.Sent }
func (m message) received() bool { return m.r.Event != nil && m.r.Dir == transcript.Received }

// is reports whether a message of the target has a type.
func (m message) is(kind string) bool { return m.received() && m.kind == kind }

// told describes a message for a finding.
func (m message) told() string { return monitor.Describe(m.r) }

// ofTurn are the message types that occur only in turns.
var ofTurn = map[string]bool{vocab.SystemMessage: true, vocab.StreamMessage: true, vocab.AssistantMessage: true,
	vocab.ResultMessage: true}

// words are the message types that carry the model's words. A system message may quote anything.
var words = map[string]bool{vocab.StreamMessage: true, vocab.AssistantMessage: true, vocab.ResultMessage: true}

// legal reports whether a client message is a chat as the document defines it.
func (m message) legal() bool {
	if m.kind != vocab.ChatType || len(m.r.Event.Faults) > 0 || m.r.Cut > 0 {
		return false
	}
	options := m.data[vocab.Options]
	_, object := options.(map[string]any)
	return m.agent != "" && m.text(vocab.Content) != "" && (options == nil || object)
}

// denies reports whether an error calls a message invalid, which is not a reason to refuse a legal one.
func (m message) denies() bool {
	code := m.text(vocab.Code)
	return m.is(vocab.ErrorMessage) && (code == vocab.UnknownType || code == vocab.MissingField)
}

// lacking returns the clause about the missing member of a chat; "" if the message is complete, is not a chat, or lacks
// several members.
func (m message) lacking() string {
	if len(m.r.Event.Faults) > 0 || m.r.Cut > 0 {
		return ""
	}
	_, agent := m.data[vocab.AgentID].(string)
	_, content := m.data[vocab.Content].(string)
	chat := m.kind == vocab.ChatType
	switch {
	case chat && agent && !content:
		return "SC-031"
	case chat && content && !agent:
		return "SC-030"
	case !chat && agent && content && m.kind != vocab.InterruptType && m.kind != vocab.PingType:
		return "SC-029"
	}
	return ""
}

// accepting names the clauses that require a chat to be accepted.
func (m message) accepting() []string {
	options, has := m.data[vocab.Options].(map[string]any)
	if !has {
		return []string{"SC-013"}
	}
	out := []string{"SC-032", "SC-032a"}
	for name := range options {
		if name == vocab.Model {
			out = append(out, "SC-033")
		} else if !slices.Contains(out, "SC-034") {
			out = append(out, "SC-034")
		}
	}
	return out
}

// longest returns the longest string in the body of a message, which is its text: the others are names.
func (m message) longest() (text string) {
	var look func(v any)
	look = func(v any) {
		switch v := v.(type) {
		case string:
			if len(v) > len(text) {
				text = v
			}
		case []any:
			for _, e := range v {
				look(e)
			}
		case map[string]any:
			for _, e := range v {
				look(e)
			}
		}
	}
	look(m.data[vocab.Body])
	return text
}

// letters returns the letters of a text, sorted, without white space.
func letters(s string) string {
	list := []rune(strings.Join(strings.Fields(s), ""))
	slices.Sort(list)
	return string(list)
}

// plain returns an agent_id apart from case and white space.
func plain(agent string) string { return strings.ToLower(strings.Join(strings.Fields(agent), "")) }
