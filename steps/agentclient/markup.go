package agentclient

import (
	"context"
	"fmt"
	"net/url"
	"slices"
	"strings"

	"github.com/cucumber/godog"

	vocab "parley/protocol/agentselect"
	"parley/steps"
	"parley/transport/transcript"
)

// trap is the path that an armed text requests if it runs.
const trap = "parley-trap"

// armed returns a feature's text with PARLEY replaced by a script that makes a request.
func (s *suite) armed(text string) string {
	text = strings.ReplaceAll(text, `\"`, `"`)
	return strings.ReplaceAll(text, "PARLEY", "fetch('/"+trap+"')")
}

// markup returns a text that makes a request if it runs; the request names where the text stood.
func markup(where string) string {
	return fmt.Sprintf(`text <img src=x onerror="fetch('/%s?in=%s')">`, trap, url.QueryEscape(where))
}

// marked is an event of the scripted server with markup in one of its texts.
type marked struct {
	kind string
	data fields
	at   string // its time; "": the scenario's
}

// inText returns events with a text of the server in the named place.
func (s *suite) inText(where, text string) ([]marked, error) {
	id := s.now.session
	list := fields{"agents": usual, "currentAgentId": "general"}
	switch where {
	case "an event's type":
		return []marked{{kind: text, data: fields{"sessionId": id}}}, nil
	case "a timestamp":
		return []marked{{kind: vocab.AgentListEvent, data: list, at: text}}, nil
	case "an agent's description":
		agents := slices.Clone(usual)
		agents[0].description = text
		list["agents"] = agents
		return []marked{{kind: vocab.AgentListEvent, data: list}}, nil
	case "a message of the assistant":
		return []marked{{kind: vocab.MessageEvent,
			data: fields{"role": "assistant", "content": "**Result** " + text, "sessionId": id}}}, nil
	case "a message in pieces":
		var out []marked
		for _, piece := range []string{text[:len(text)/2], text[len(text)/2:]} {
			out = append(out, marked{kind: vocab.MessageEvent,
				data: fields{"role": "assistant", "content": piece, "streaming": true, "sessionId": id}})
		}
		return append(out, marked{kind: vocab.CompleteEvent, data: fields{"sessionId": id}}), nil
	case "the role of a message":
		return []marked{{kind: vocab.MessageEvent, data: fields{"role": text, "content": "text", "sessionId": id}}}, nil
	case "an undocumented error":
		return []marked{{kind: vocab.ErrorEvent, data: fields{"errorCode": "parley_" + text, "message": text}}}, nil
	case "the name of a tool":
		return []marked{{kind: vocab.ConfirmationRequestEvent, data: fields{"requestId": "request-1", "sessionId": id,
			"toolName": text, "toolArgs": fields{"path": text}, "description": text}}}, nil
	case "a question":
		return []marked{{kind: vocab.QuestionRequestEvent, data: fields{"requestId": "request-2", "sessionId": id,
			"question": text, "options": []any{text, "other"}}}}, nil
	}
	return nil, fmt.Errorf("there is no markup in %s", where)
}

// sendsMarkup sends events with markup in the texts that a table names.
func (s *suite) sendsMarkup(ctx context.Context, table *godog.Table) error {
	for _, row := range table.Rows {
		where := row.Cells[0].Value
		events, err := s.inText(where, markup(where))
		if err != nil {
			return err
		}
		s.clock("")
		for _, e := range events {
			if err := s.emitMarked(ctx, e); err != nil {
				return err
			}
		}
		s.settle(ctx)
	}
	return nil
}

func (s *suite) emitMarked(ctx context.Context, e marked) error {
	if e.at == "" {
		return s.emit(ctx, e.kind, e.data)
	}
	s.remember()
	n, err := s.emitRaw(ctx, e.kind, s.now.server.event(e.kind, e.data, e.at))
	if err == nil {
		s.now.word = n
	}
	return err
}

// noScript judges that no armed text has made a request, up to a fence.
func (s *suite) noScript(ctx context.Context) error {
	if err := s.fence(ctx); err != nil {
		return err
	}
	told := map[string]bool{}
	for _, r := range s.T.All() {
		if r.Conn != s.now.name || r.Kind != transcript.Ask || !strings.Contains(r.Label, trap) {
			continue
		}
		if _, where, ok := strings.Cut(r.Label, trap+"?in="); ok {
			if !told[where] {
				place, _ := url.QueryUnescape(where) // written by markup
				s.Security("the page executes the server's texts: a script in %s ran (%s)", place, r.Label)
			}
			told[where] = true
			continue
		}
		s.Security("the page executes the server's texts: a script in a text ran (%s)", r.Label)
		c := steps.CheckOf(r, false, "the server's text shown as text",
			"AC-030", "AC-023", "AC-044", "AC-060", "AC-070", "AC-103", "AC-115")
		c.Observed = "it was carried out: " + c.Observed
		return s.Judge(c)
	}
	return nil
}
