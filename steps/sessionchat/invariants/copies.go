package invariants

import (
	"fmt"
	"slices"
	"strings"

	"parley/features/verdict"
	vocab "parley/protocol/sessionchat"
	"parley/steps/monitor"
	"parley/transport/transcript"
	wjson "parley/transport/wire/json"
)

// saidOnce judges that each message with the model's words is forwarded once (SC-020), since a person would read the
// words of a copy twice. The model says the words of a chat, which contain its nonce, once. A second message of the
// turn with the same body is therefore a copy; a different message with the same text has its own id or differs
// otherwise.
//
// Two kinds of message are not copies: those of a turn that sends the text so far, which a client replaces, and those
// with their own timestamps in a turn that streams nothing, where the second may be the whole of a single piece.
func saidOnce(t []transcript.Record) []verdict.Finding {
	var out []verdict.Finding
	agents := asked(t)
	for _, s := range saidIn(t) {
		if s.grows() {
			continue
		}
		first := map[string]transcript.Record{} // by body
		for _, r := range s.whole {
			data, _ := r.Event.Data.(map[string]any)
			body := fmt.Sprintf("%s\n%v", wjson.Compact(data[vocab.Body]), data[vocab.Text])
			was, again := first[body]
			if !again {
				if slices.ContainsFunc(noncesIn(r, agents), func(n string) bool { return agents[n] == s.agent }) {
					first[body] = r
					out = append(out, verdict.Finding{Clauses: []string{"SC-020"}, OK: true, At: r.N})
				}
				continue
			}
			before, _ := was.Event.Data.(map[string]any)
			if s.streamed || wjson.Equal(before[vocab.Timestamp], data[vocab.Timestamp]) {
				out = append(out, verdict.Finding{Clauses: []string{"SC-020"}, At: r.N,
					Expected: fmt.Sprintf("the message of record %d forwarded once", was.N),
					Observed: "a copy of it: " + monitor.Describe(r)})
				break
			}
		}
	}
	return out
}

// said holds the messages of a session on a connection from one chat to the next.
type said struct {
	agent    string
	whole    []transcript.Record // assistant messages
	streamed bool                // words also came in stream messages
}

// saidIn returns the messages of each chat. A new connection may receive messages again that an old one has received.
func saidIn(t []transcript.Record) []*said {
	var all []*said
	now := map[[2]string]*said{}
	for _, r := range t {
		if r.Kind == transcript.Open || r.Kind == transcript.Closed {
			for at := range now {
				if at[0] == r.Conn {
					delete(now, at)
				}
			}
		}
		if r.Event == nil {
			continue
		}
		data, _ := r.Event.Data.(map[string]any)
		agent, _ := data[vocab.AgentID].(string)
		at := [2]string{r.Conn, agent}
		s := now[at]
		if s == nil || r.Dir == transcript.Sent && r.Event.Type == vocab.ChatType {
			s = &said{agent: agent}
			now[at] = s
			all = append(all, s)
		}
		switch {
		case r.Dir != transcript.Received || r.Cut > 0:
		case r.Event.Type == vocab.StreamMessage:
			s.streamed = s.streamed || data[vocab.Text] != nil && data[vocab.Text] != ""
		case r.Event.Type == vocab.AssistantMessage:
			s.whole = append(s.whole, r)
		}
	}
	return all
}

// grows reports whether some message continues the text of an earlier one.
func (s *said) grows() bool {
	for i, r := range s.whole {
		text := longest(r.Event.Data)
		if text != "" && slices.ContainsFunc(s.whole[i+1:], func(later transcript.Record) bool {
			more := longest(later.Event.Data)
			return len(more) > len(text) && strings.HasPrefix(more, text)
		}) {
			return true
		}
	}
	return false
}

// longest returns the longest string in the body of a message, which is its text: the others are names.
func longest(data any) (text string) {
	m, _ := data.(map[string]any)
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
	look(m[vocab.Body])
	return text
}
