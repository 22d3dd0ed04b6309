// Package client is a client that judges nothing: it opens a connection and sends requests beside it, as a profile
// says. It is for quick checks that do not need a scenario.
package client

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/go-json-experiment/json"

	"parley/internal/deadline"
	"parley/protocol/agentselect"
	"parley/steps/agentselect/binding"
	"parley/steps/probe"
	"parley/target"
	"parley/transport/driver"
	"parley/transport/transcript"
	wjson "parley/transport/wire/json"
)

// Client is one connection, with its session if one was created. Only one goroutine may use it. The records of its
// transcript have the events that the profile decodes.
type Client struct {
	*probe.Line

	Driver  string
	ID      any    // of the connection, as the server sent it; nil: it did not
	Session string // "" if none was created

	of *probe.Session
}

// Open opens a connection by the profile of a session, as far as it is known, and waits for the list of agents:
// limits.open and limits.event bound the two.
func Open(ctx context.Context, s *probe.Session, d driver.Driver) (*Client, error) {
	l, err := s.Open(ctx, d, Path(s.Profile, d), s.Decoder(d))
	if err != nil {
		return nil, fmt.Errorf("no connection: %s", probe.Refusal(err))
	}
	c := &Client{Line: l, Driver: d.Name(), of: s}
	list, err := c.Await(ctx, 0, s.Profile.Limits.Event, agentselect.AgentListEvent)
	if err != nil {
		c.Close()
		return nil, fmt.Errorf("no list of agents: %w", err)
	}
	for _, r := range c.Transcript.All() {
		if r.N < list.N && r.Event != nil && r.Event.Type == agentselect.ConnectedEvent {
			c.ID, _ = wjson.Lookup(r.Event.Data, "/"+agentselect.ConnectionID)
		}
	}
	return c, nil
}

// Path returns the path on which a driver reaches the server.
func Path(p *target.Profile, d driver.Driver) string {
	if d.Name() == target.WS {
		return binding.Of(p).WS.Path
	}
	return binding.Of(p).SSE.Stream.Path
}

// Await waits for an event of one of some kinds after a mark. If the connection ends first, it returns an error.
func (c *Client) Await(
	ctx context.Context, mark int, limit target.Duration, kinds ...string,
) (transcript.Record, error) {
	ctx, cancel := deadline.WithLimitCause(ctx, limit.Duration, fmt.Errorf("no such message within %v", limit))
	defer cancel()
	ended := false
	r, err := c.Transcript.Await(ctx, mark, func(r *transcript.Record) bool {
		ended = r.Dir == transcript.Received && r.Kind == transcript.Closed
		return ended || r.Dir == transcript.Received && r.Event != nil && slices.Contains(kinds, r.Event.Type)
	})
	if err == nil && ended {
		err = errors.New(r.Label)
	}
	return r, err
}

// Ask sends a request and waits for its answer, which is nil if it is not JSON. The request identifies the connection
// as how says for this endpoint.
func (c *Client) Ask(
	ctx context.Context, e binding.Endpoint, how binding.Correlation, body map[string]any,
) (status int, answer any, err error) {
	switch wire := binding.Of(c.of.Profile).SSE; e {
	case wire.Create:
		how = how.OfCreate()
	case wire.Load:
		how = how.OfLoad()
	}
	m := driver.Message{Method: e.Method, URL: c.of.Target.BaseURL() + e.For(c.Session), Header: http.Header{}}
	if body != nil {
		if how.Body != "" {
			how.Body.Put(body, c.ID)
		}
		if m.Body, err = json.Marshal(body, json.Deterministic(true)); err != nil {
			return 0, nil, err
		}
	}
	if how.Header != "" {
		m.Header.Set(how.Header, fmt.Sprint(c.ID))
	}
	limit := c.of.Profile.Limits.HTTP
	ctx, cancel := deadline.WithLimitCause(ctx, limit.Duration, fmt.Errorf("no answer within %v", limit))
	defer cancel()
	mark, err := c.Conn.Send(ctx, m)
	if err != nil {
		return 0, nil, err
	}
	r, err := c.Transcript.Await(ctx, mark, func(r *transcript.Record) bool {
		return r.Reply == mark && (r.Kind == transcript.Response || r.Kind == transcript.Failure)
	})
	if err != nil {
		return 0, nil, err
	}
	if r.Kind == transcript.Failure {
		return 0, nil, errors.New(r.Label)
	}
	answer, _, _ = wjson.Decode(r.Bytes)
	return r.Status, answer, nil
}

// Accepted is Ask, but returns an error unless the answer accepts.
func (c *Client) Accepted(
	ctx context.Context, e binding.Endpoint, how binding.Correlation, body map[string]any,
) (answer any, err error) {
	status, answer, err := c.Ask(ctx, e, how, body)
	if err == nil {
		err = accepted(status, answer)
	}
	return answer, err
}

// Answers returns an error unless an endpoint answers with success.
func (c *Client) Answers(ctx context.Context, e binding.Endpoint) error {
	if _, err := c.Accepted(ctx, e, binding.Correlation{}, nil); err != nil {
		return fmt.Errorf("%s: %w", Label(e), err)
	}
	return nil
}

// Create creates a session as the profile says, and reads its id at the profile's place in the answer.
func (c *Client) Create(ctx context.Context) error {
	wire := binding.Of(c.of.Profile)
	answer, err := c.Accepted(ctx, wire.SSE.Create, wire.Correlation, map[string]any{})
	if err != nil {
		return err
	}
	if c.Session = probe.Text(wire.Fields.Answer.SessionID, answer); c.Session == "" {
		return fmt.Errorf("no session id in %s", probe.Shorten(wjson.Compact(answer)))
	}
	return nil
}

// RefusedError says that an answer does not accept.
type RefusedError struct{ Reason string }

func (e *RefusedError) Error() string { return e.Reason }

// accepted returns why an answer does not accept; nil if it does.
func accepted(status int, answer any) error {
	obj, _ := answer.(map[string]any)
	key := probe.Member(obj, "success", "ok")
	switch {
	case (status < 200 || status > 299) && answer == nil:
		return &RefusedError{fmt.Sprintf("HTTP %d", status)}
	case status < 200 || status > 299:
		return &RefusedError{fmt.Sprintf("HTTP %d %s", status, probe.Shorten(wjson.Compact(answer)))}
	case key != "" && obj[key] == false:
		return &RefusedError{"refused: " + probe.Shorten(wjson.Compact(answer))}
	}
	return nil
}

// Label returns an endpoint as shown to users.
func Label(e binding.Endpoint) string {
	path, err := url.PathUnescape(e.Path)
	if err != nil {
		path = e.Path
	}
	return strings.TrimSpace(e.Method + " " + path)
}
