package main

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"sync/atomic"
	"time"

	"github.com/go-json-experiment/json"

	"parley/driver"
	"parley/driver/browser"
	sight "parley/driver/browser/look"
	"parley/driver/sse"
	"parley/internal/stall"
	"parley/target"
	"parley/transcript"
)

// visit is a page that is open in a browser, which stays open, and a server that tells what the page asks of it: it opens event streams and says
// nothing on them unless it is to offer agents, and answers everything else by success, and with a session in a list.
type visit struct {
	offers  atomic.Bool // agents, from now on
	profile *target.Profile
	page    *browser.Conn
	server  *sse.Listener
	t       *transcript.Transcript
}

// asker is who asks the server, in the transcript.
const asker = "page asks"

// openVisit opens a profile's page, which is at a base URL, with a server that it is told of. Controls name the hooks that are
// looked at and acted on.
func openVisit(ctx context.Context, d *browser.Driver, p *target.Profile, base string, controls map[string]string) (*visit, error) {
	v := &visit{profile: p, t: transcript.New(nil)}
	server, err := sse.Listen(sse.ListenOptions{Sink: v.t.Append, Party: func(*http.Request) string { return asker }, Answer: v.answer, Opened: v.offer})
	if err != nil {
		return nil, err
	}
	v.server = server
	a := p.AgentClient
	ctx, cancel := stall.WithLimit(ctx, max(p.Limits.Open.Duration, patience))
	defer cancel()
	conn, err := d.Open(ctx, driver.OpenOptions{Party: "page", URL: a.PageURL(base, server.URL()),
		Page: &driver.Page{Language: a.Language, Allow: a.Allow, Select: a.Hooks.Selector, Controls: controls, Dismiss: a.Hooks.Dismiss}}, v.t.Append)
	if err != nil {
		server.Close()
		return nil, err
	}
	v.page = conn.(*browser.Conn)
	return v, nil
}

// patience is how long the browser may take for anything: it may have to be started first. A page that answers late is told by the
// limits of its profile.
const patience = 20 * time.Second

// close closes the page, and ends its server.
func (v *visit) close() {
	_ = v.page.Close(driver.Graceful)
	v.server.Close()
}

// answer answers the page.
func (v *visit) answer(in sse.Incoming) sse.Answer {
	r := in.Request
	if r.Method == http.MethodGet && (r.URL.Path == v.profile.AgentSelect.SSE.Stream.Path || strings.Contains(r.Header.Get("Accept"), "text/event-stream")) {
		return sse.Answer{Stream: true}
	}
	return sse.Answer{Body: fmt.Appendf(nil, `{"success":true,"sessions":[{"id":%[1]q,"sessionId":%[1]q,"name":%[1]q,"title":%[1]q}]}`, offeredSession)}
}

// look is what is to be seen once the page has carried out what it has begun.
func (v *visit) look(ctx context.Context) (sight.Look, error) {
	ctx, cancel := stall.WithLimit(ctx, patience)
	defer cancel()
	if err := v.page.Settle(ctx); err != nil {
		return sight.Look{}, err
	}
	return v.page.Look(ctx)
}

// connect types the server's address, where there is a field for it, and connects: the controls server-url and connect.
func (v *visit) connect(ctx context.Context) error {
	acts := []map[string]string{{"do": "click", "on": "connect"}}
	if a := v.profile.AgentClient; a.Hooks.ServerURL != "" {
		acts = append([]map[string]string{{"do": "type", "on": "server-url", "text": a.Server.For(v.server.URL())}}, acts...)
	}
	ctx, cancel := stall.WithLimit(ctx, patience)
	defer cancel()
	for _, act := range acts {
		b, err := json.Marshal(act)
		if err != nil {
			return fmt.Errorf("act on the page: %w", err)
		}
		if _, err := v.page.Send(ctx, driver.Message{Body: b}); err != nil {
			return err
		}
	}
	return nil
}

// asked is what the page has asked its server, once it has asked anything within the limit for events.
func (v *visit) asked(ctx context.Context) []string {
	ctx, cancel := stall.WithLimit(ctx, v.profile.Limits.Event.Duration)
	defer cancel()
	isAsked := func(r *transcript.Record) bool {
		return r.Conn == asker && r.Dir == transcript.Received && r.Kind == transcript.Request
	}
	_, _ = v.t.Await(ctx, 0, isAsked)
	var out []string
	for _, r := range v.t.All() {
		if isAsked(&r) {
			out = append(out, r.Label)
		}
	}
	return unique(out)
}

// seenAs says in few words what a control is.
func seenAs(c sight.Control) string {
	text := c.Tag
	if c.ID != "" {
		text += "#" + c.ID
	}
	if words := strings.TrimSpace(c.Text); words != "" {
		text += fmt.Sprintf(" %q", shorten(words))
	}
	switch {
	case !c.Visible:
		text += ", not visible"
	case c.Disabled:
		text += ", disabled"
	}
	return text
}
