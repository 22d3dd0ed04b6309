package target

import (
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"

	"parley/protocol/agentselect"
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
)

func (c *checker) agentSelect() error {
	for _, part := range []func() error{c.endpoints, c.socket, c.envelope, c.pointers} {
		if err := part(); err != nil {
			return err
		}
	}
	if h := c.p.AgentSelect.Correlation.Header; h != "" && !httpToken.MatchString(h) {
		return c.fail("agent-select.correlation.header", fmt.Sprintf("%q is no name of an HTTP header", h), "")
	}
	if err := c.names("agent-select.events", "event", c.p.AgentSelect.Events, eventNames); err != nil {
		return err
	}
	return c.names("agent-select.messages", "message", c.p.AgentSelect.Messages, messageNames)
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

func (c *checker) socket() error {
	ws := c.p.AgentSelect.WS
	if !strings.HasPrefix(ws.Path, "/") {
		return c.fail("agent-select.ws.path", fmt.Sprintf("%q does not start with a slash", ws.Path), "")
	}
	for i, name := range ws.Subprotocols {
		if !httpToken.MatchString(name) {
			return c.fail(fmt.Sprintf("agent-select.ws.subprotocols[%d]", i), fmt.Sprintf("%q is no subprotocol", name), "")
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

// pointers checks that a field of a request has a place: it is put there, unlike the others, which are looked up.
func (c *checker) pointers() error {
	fields := reflect.ValueOf(c.p.AgentSelect.Fields.Request)
	for i := range fields.NumField() {
		if fields.Field(i).String() == "" {
			key := fields.Type().Field(i).Tag.Get("yaml")
			return c.fail("agent-select.fields.request."+key, "the whole request cannot be one field", "write a name or a pointer")
		}
	}
	return nil
}

// names checks that a renaming is of known names, and that no two of them end up the same.
func (c *checker) names(path, what string, renames map[string]string, known []string) error {
	owner := map[string]string{}
	for _, name := range slices.Concat(slices.Sorted(maps.Keys(renames)), known) {
		if !slices.Contains(known, name) {
			return c.fail(within(path, name), fmt.Sprintf("unknown %s %q", what, name), suggest(name, known))
		}
		wire := renamed(renames, name)
		if wire == "" {
			return c.fail(within(path, name), "renamed to nothing", "")
		}
		if other, taken := owner[wire]; taken && other != name {
			return c.fail(within(path, other), fmt.Sprintf("%q is already what %q is called", wire, name), "rename that one too")
		}
		owner[wire] = name
	}
	return nil
}
