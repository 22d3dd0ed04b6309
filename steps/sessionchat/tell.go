package sessionchat

import (
	"encoding/json"
	"fmt"
	"regexp"
	"strings"

	"parley/transcript"
)

var (
	tellable = regexp.MustCompile(`^\w+$`)
	fences   = regexp.MustCompile(`^fence\d*-`)
)

// Tell implements steps.Teller. A conversation is named by what stands before the first hyphen of its agent_id. The
// fences that the harness sends to prove an absence are left out: the steps that need them send their own.
func (Protocol) Tell() func(transcript.Record) ([]string, bool) {
	return func(r transcript.Record) ([]string, bool) {
		switch {
		case r.Dir != transcript.Sent:
			return nil, true
		case !tellable.MatchString(r.Conn):
			return nil, false
		case r.Kind == transcript.Open:
			return []string{fmt.Sprintf("client %s connects", r.Conn)}, true
		}
		return sent("client "+r.Conn, r.Bytes)
	}
}

func sent(who string, body []byte) ([]string, bool) {
	var m struct {
		Type    string          `json:"type"`
		Agent   string          `json:"agent_id"`
		Content string          `json:"content"`
		Options json.RawMessage `json:"options"`
	}
	if json.Unmarshal(body, &m) != nil {
		return nil, false
	}
	name, _, _ := strings.Cut(m.Agent, "-")
	named := tellable.MatchString(name)
	switch {
	case m.Type == "ping":
		return []string{who + " pings", who + " gets a pong"}, true
	case m.Type == "chat" && fences.MatchString(m.Agent):
		return nil, true
	case m.Type == "chat" && named && m.Content != "" && m.Options == nil && !directs(m.Content):
		return []string{fmt.Sprintf("%s chats with %q", who, name), fmt.Sprintf("%s is answered by %q", who, name)}, true
	}
	return nil, false
}

// directs reports whether a text tells the model of the harness to do more than repeat it.
func directs(content string) bool {
	return strings.Contains(strings.ReplaceAll(content, "[[echo", ""), "[[")
}
