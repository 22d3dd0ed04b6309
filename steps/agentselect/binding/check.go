package binding

import (
	"cmp"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"

	"parley/protocol/agentselect"
	"parley/target"
)

// Names of the default binding that a profile may remap.
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

// checker checks the wire of a profile and the agents that it declares.
type checker struct {
	*target.Checker
	b *Binding
}

// Check returns the first mistake in a profile's wire and agents.
func Check(c *target.Checker) error {
	own := checker{c, Of(c.Profile)}
	return cmp.Or(own.agents(), own.wire())
}

// CheckWire returns the first mistake in the wire alone.
func CheckWire(c *target.Checker) error { return checker{c, Of(c.Profile)}.wire() }

func (c checker) wire() error {
	a := c.b
	return cmp.Or(
		c.endpoints(),
		c.Socket("agent-select.ws", a.WS),
		c.envelope(),
		c.Places("agent-select.fields.request", "request", a.Fields.Request),
		c.correlation(),
		c.Names("agent-select.events", "event", target.Single(a.Events), eventNames),
		c.Names("agent-select.messages", "message", target.Single(a.Messages), messageNames),
	)
}

func (c checker) endpoints() error {
	v := reflect.ValueOf(c.b.SSE)
	for i := range v.NumField() {
		key := v.Type().Field(i).Tag.Get("yaml")
		path, e := "agent-select.sse."+key, v.Field(i).Interface().(Endpoint)
		switch {
		case !strings.HasPrefix(e.Path, "/"):
			c.Fail(path, fmt.Sprintf("%q does not start with a slash", e.Path), "")
		case !target.MethodName(e.Method):
			c.Fail(path, fmt.Sprintf("%q is not an HTTP method", e.Method), "")
		case key == "delete" && !strings.Contains(e.Path, "{id}"):
			c.Fail(path, "the path does not name the session", "write {id} where its id belongs")
		case key != "delete" && key != "load" && strings.Contains(e.Path, "{id}"):
			c.Fail(path, "{id} stands for a session, but this endpoint has none", "only load and delete have")
		}
	}
	return nil
}

func (c checker) envelope() error {
	e := c.b.Envelope
	if e.Type == "" && !e.SSEEvent {
		c.Fail("agent-select.envelope.type", "the whole event cannot be its type", "write a pointer, or sse-event")
	}
	if e.RequestID == "" {
		c.Fail("agent-select.envelope.request-id", "the whole event cannot be its id", "write a pointer")
	}
	return nil
}

func (c checker) correlation() error {
	how := c.b.Correlation
	for _, place := range []struct{ key, header string }{
		{"header", how.Header}, {"create.header", how.OfCreate().Header}, {"load.header", how.OfLoad().Header},
	} {
		if h := place.header; h != "" && !target.HeaderName(h) {
			c.Fail("agent-select.correlation."+place.key, fmt.Sprintf("%q is not the name of an HTTP header", h), "")
		}
	}
	return nil
}

func (c checker) agents() error {
	a := c.Profile.Agents
	if !agentselect.IDPattern.MatchString(a.Default) {
		c.Fail("agents.default", fmt.Sprintf("%q is not an agent id", a.Default), "a-z, 0-9, _ and -")
	}
	seen := map[string]bool{}
	for i, agent := range a.Custom {
		path := fmt.Sprintf("agents.custom[%d]", i)
		switch {
		case !agentselect.IDPattern.MatchString(agent.ID):
			c.Fail(path+".id", fmt.Sprintf("%q is not an agent id", agent.ID), "a-z, 0-9, _ and -")
		case seen[agent.ID]:
			c.Fail(path+".id", fmt.Sprintf("the agent %q is given twice", agent.ID), "")
		}
		seen[agent.ID] = true
	}
	return c.agentTools()
}

func (c checker) agentTools() error {
	a := c.Profile.Agents
	for _, id := range slices.Sorted(maps.Keys(a.Tools)) {
		path := "agents.tools." + id
		if !agentselect.IDPattern.MatchString(id) {
			c.Fail(path, fmt.Sprintf("%q is not an agent id", id), "a-z, 0-9, _ and -")
		}
		seen := map[string]bool{}
		for i, name := range a.Tools[id] {
			at := fmt.Sprintf("%s[%d]", path, i)
			switch {
			case name == "":
				c.Fail(at, "has no name", "")
			case seen[name]:
				c.Fail(at, fmt.Sprintf("the tool %q is given twice", name), "")
			}
			seen[name] = true
		}
	}
	for i, agent := range a.Custom {
		all, whole := a.Tools[agent.ID]
		for j, name := range agent.Tools {
			if whole && !slices.Contains(all, name) {
				c.Fail(fmt.Sprintf("agents.custom[%d].tools[%d]", i, j),
					fmt.Sprintf("the tool %q is not among agents.tools.%s", name, agent.ID),
					"that list contains every tool of the agent: add it there, or delete it here")
			}
		}
	}
	return nil
}
