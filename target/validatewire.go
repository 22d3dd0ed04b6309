package target

import (
	"cmp"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"

	"parley/protocol/agentclient"
	"parley/protocol/agentselect"
	"parley/protocol/externalagent"
	"parley/protocol/sessionchat"
	"parley/protocol/sessionruntime"
)

// The names of the default binding that a profile may remap.
var (
	eventNames = []string{
		agentselect.ConnectedEvent, agentselect.AgentListEvent, agentselect.AgentSwitchedEvent, agentselect.ErrorEvent,
		agentselect.MessageEvent, agentselect.ConfirmationRequestEvent, agentselect.QuestionRequestEvent,
		agentselect.CompleteEvent, agentselect.SessionCreatedEvent, agentselect.SessionLoadedEvent,
	}
	messageNames = []string{
		agentselect.SwitchAgentType, agentselect.ChatType, agentselect.AbortType, agentselect.ConfirmationResponse,
		agentselect.QuestionResponse, agentselect.SessionCreateType, agentselect.SessionLoadType,
	}
	chatTypeNames = []string{
		sessionchat.SystemMessage, sessionchat.StreamMessage, sessionchat.AssistantMessage, sessionchat.ResultMessage,
		sessionchat.ErrorMessage, sessionchat.PongMessage,
	}
	chatOutcomeNames = []string{sessionchat.Success, sessionchat.Interrupted, sessionchat.Failed}
	chatMessageNames = []string{sessionchat.ChatType, sessionchat.InterruptType, sessionchat.PingType}
)

// wire checks the section of the profile's protocol.
func (c *checker) wire() error {
	switch c.p.Protocol {
	case sessionchat.Protocol:
		return c.sessionChat()
	case externalagent.Protocol:
		return c.externalAgent()
	case sessionruntime.Protocol:
		return c.sessionRuntime()
	case agentclient.Protocol:
		return cmp.Or(c.agentClient(), c.agentSelect())
	}
	return c.agentSelect()
}

func (c *checker) agentSelect() error {
	a := c.p.AgentSelect
	return cmp.Or(
		c.endpoints(),
		c.socket("agent-select.ws", a.WS),
		c.envelope(),
		c.places("agent-select.fields.request", "request", a.Fields.Request),
		c.correlation(),
		c.names("agent-select.events", "event", single(a.Events), eventNames),
		c.names("agent-select.messages", "message", single(a.Messages), messageNames),
	)
}

func (c *checker) sessionChat() error {
	s := c.p.SessionChat
	return cmp.Or(
		c.socket("session-chat.ws", s.WS),
		c.places("session-chat.fields.message", "message", s.Fields.Message, "body"),
		c.places("session-chat.fields.request", "request", s.Fields.Request),
		c.names("session-chat.types", "type", s.Types, chatTypeNames),
		c.names("session-chat.outcomes", "outcome", s.Outcomes, chatOutcomeNames),
		c.names("session-chat.messages", "message", single(s.Messages), chatMessageNames),
	)
}

func (c *checker) endpoints() error {
	v := reflect.ValueOf(c.p.AgentSelect.SSE)
	for i := range v.NumField() {
		key := v.Type().Field(i).Tag.Get("yaml")
		path, e := "agent-select.sse."+key, v.Field(i).Interface().(Endpoint)
		switch {
		case !strings.HasPrefix(e.Path, "/"):
			return c.fail(path, fmt.Sprintf("%q does not start with a slash", e.Path), "")
		case !httpToken.MatchString(e.Method):
			return c.fail(path, fmt.Sprintf("%q is no HTTP method", e.Method), "")
		case key == "delete" && !strings.Contains(e.Path, "{id}"):
			return c.fail(path, "the path does not say which session", "write {id} where its id belongs")
		case key != "delete" && key != "load" && strings.Contains(e.Path, "{id}"):
			return c.fail(path, "{id} stands for a session, and this endpoint has none", "only load and delete have")
		}
	}
	return nil
}

func (c *checker) socket(path string, ws WSWire) error {
	if !strings.HasPrefix(ws.Path, "/") {
		return c.fail(path+".path", fmt.Sprintf("%q does not start with a slash", ws.Path), "")
	}
	for i, name := range ws.Subprotocols {
		if !httpToken.MatchString(name) {
			return c.fail(fmt.Sprintf("%s.subprotocols[%d]", path, i), fmt.Sprintf("%q is no subprotocol", name), "")
		}
	}
	return nil
}

func (c *checker) envelope() error {
	e := c.p.AgentSelect.Envelope
	if e.Type == "" && !e.SSEEvent {
		return c.fail("agent-select.envelope.type", "the whole event cannot be its type", "write a pointer, or sse-event")
	}
	if e.RequestID == "" {
		return c.fail("agent-select.envelope.request-id", "the whole event cannot be its id", "write a pointer")
	}
	return nil
}

func (c *checker) correlation() error {
	how := c.p.AgentSelect.Correlation
	for _, place := range []struct{ key, header string }{
		{"header", how.Header}, {"create.header", how.OfCreate().Header}, {"load.header", how.OfLoad().Header},
	} {
		if h := place.header; h != "" && !httpToken.MatchString(h) {
			return c.fail("agent-select.correlation."+place.key, fmt.Sprintf("%q is no name of an HTTP header", h), "")
		}
	}
	return nil
}

// places checks that the fields of a struct of pointers are somewhere within the whole; those of the keys in but may
// be all of it.
func (c *checker) places(path, whole string, fields any, but ...string) error {
	v := reflect.ValueOf(fields)
	for i := range v.NumField() {
		key := v.Type().Field(i).Tag.Get("yaml")
		at, list := within(path, key), Pointers(nil)
		switch f := v.Field(i).Interface().(type) {
		case Pointer:
			list = Pointers{f}
		case Pointers:
			list = f
		}
		if len(list) == 0 {
			return c.fail(at, "no place", "write a name or a pointer, or a list of them")
		}
		for j, p := range list {
			switch one := c.item(at, j); {
			case p == "" && !slices.Contains(but, key):
				return c.fail(one, fmt.Sprintf("the whole %s cannot be one field", whole), "write a name or a pointer")
			case slices.Contains(list[:j], p):
				return c.fail(one, fmt.Sprintf("the place %q is given twice", p), "")
			}
		}
	}
	return nil
}

// names checks that a renaming is of known names, and that no two of them end up the same.
func (c *checker) names(path, what string, renames map[string]Names, known []string) error {
	type home struct{ name, at string }
	owner := map[string]home{}
	for _, name := range slices.Concat(slices.Sorted(maps.Keys(renames)), known) {
		at := within(path, name)
		if !slices.Contains(known, name) {
			return c.fail(at, fmt.Sprintf("unknown %s %q", what, name), suggest(name, known))
		}
		wire, given := renames[name]
		switch {
		case !given:
			wire = Names{name}
		case len(wire) == 0:
			return c.fail(at, "renamed to nothing", "")
		}
		for i, w := range wire {
			one := c.item(at, i)
			other, taken := owner[w]
			switch {
			case w == "":
				return c.fail(one, "renamed to nothing", "")
			case slices.Contains(wire[:i], w):
				return c.fail(one, fmt.Sprintf("the name %q is given twice", w), "")
			case taken && other.name != name:
				return c.fail(other.at, fmt.Sprintf("%q is already what %q is called", w, name), "rename that one too")
			}
			owner[w] = home{name, one}
		}
	}
	return nil
}

// item is the path of an item of a list that may be written as one value alone.
func (c *checker) item(path string, i int) string {
	if one := fmt.Sprintf("%s[%d]", path, i); c.given(one) {
		return one
	}
	return path
}

// single gives the form of names to renamings that have one each.
func single(renames map[string]string) map[string]Names {
	all := make(map[string]Names, len(renames))
	for name, wire := range renames {
		all[name] = Names{wire}
	}
	return all
}
