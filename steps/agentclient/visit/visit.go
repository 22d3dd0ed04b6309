// Package visit opens a page in a browser beside a passive server and records the page's requests: a first look at a
// page, on which no verdict depends.
package visit

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/go-json-experiment/json"

	"parley/internal/cut"
	"parley/internal/deadline"
	"parley/steps/agentclient/binding"
	server "parley/steps/agentselect/binding"
	"parley/target"
	"parley/transport/driver"
	"parley/transport/driver/browser"
	"parley/transport/driver/browser/snapshot"
	"parley/transport/driver/sse"
	"parley/transport/transcript"
)

// Visit is an open page in a browser that stays open, and a server that records the page's requests. The server opens
// event streams and sends nothing on them unless Offer was called. It answers everything else with success, and with
// a session in a list.
type Visit struct {
	// Transcript records what the page shows and requests.
	Transcript *transcript.Transcript

	// URL is the server's URL.
	URL string

	offers  atomic.Bool
	profile *target.Profile
	page    *browser.Conn
	server  *sse.Listener
}

// Patience is how long the browser may take for anything, because it may have to be started first. The limits of the
// profile detect a slow page.
const Patience = 20 * time.Second

// asker names the party of the requests in the transcript.
const asker = "page asks"

// Open opens a profile's page at a base URL, with its server. Controls name the hooks to read and act on. A page that
// cannot be opened is a *target.StartError.
func Open(
	ctx context.Context, d *browser.Driver, p *target.Profile, base string, controls map[string]string,
) (*Visit, error) {
	v := &Visit{profile: p, Transcript: transcript.New(nil)}
	var err error
	v.server, err = sse.Listen(sse.ListenOptions{
		Sink: v.Transcript.Append, Party: func(*http.Request) string { return asker }, Answer: v.answer, Opened: v.offer,
	})
	if err != nil {
		return nil, err
	}
	v.URL = v.server.URL()
	page := binding.Of(p)
	ctx, cancel := deadline.WithLimit(ctx, max(p.Limits.Open.Duration, Patience))
	defer cancel()
	conn, err := d.Open(ctx, driver.OpenOptions{Party: "page", URL: page.PageURL(base, v.URL), Page: &driver.Page{
		Language: page.Language, Allow: page.Allow, Select: page.Hooks.Selector,
		Controls: controls, Dismiss: page.Hooks.Dismiss,
	}}, v.Transcript.Append)
	if err != nil {
		v.server.Close()
		return nil, &target.StartError{Command: []string{base + page.Page}, Reason: "cannot be opened", Err: err}
	}
	v.page = conn.(*browser.Conn)
	return v, nil
}

// Close closes the page and its server.
func (v *Visit) Close() {
	_ = v.page.Close(driver.Graceful)
	v.server.Close()
}

// answer answers the page.
func (v *Visit) answer(in sse.Incoming) sse.Answer {
	r := in.Request
	usual := r.URL.Path == server.Of(v.profile).SSE.Stream.Path
	if r.Method == http.MethodGet && (usual || strings.Contains(r.Header.Get("Accept"), "text/event-stream")) {
		return sse.Answer{Stream: true}
	}
	return sse.Answer{Body: fmt.Appendf(nil, `{"success":true,"sessions":[%s]}`, session)}
}

// Look returns what is visible once the page has finished its current work.
func (v *Visit) Look(ctx context.Context) (snapshot.Page, error) {
	ctx, cancel := deadline.WithLimit(ctx, Patience)
	defer cancel()
	if err := v.page.AwaitIdle(ctx); err != nil {
		return snapshot.Page{}, err
	}
	return v.page.Look(ctx)
}

// Connect types the server's address, if there is a field for it, and connects, using the controls server-url and
// connect.
func (v *Visit) Connect(ctx context.Context) error {
	acts := []map[string]string{{"do": "click", "on": "connect"}}
	if a := binding.Of(v.profile); a.Hooks.ServerURL != "" {
		acts = append([]map[string]string{{"do": "type", "on": "server-url", "text": a.Server.For(v.URL)}}, acts...)
	}
	ctx, cancel := deadline.WithLimit(ctx, Patience)
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

// Asked returns the page's requests to its server, after waiting for the first within the limit for events.
func (v *Visit) Asked(ctx context.Context) []string {
	ctx, cancel := deadline.WithLimit(ctx, v.profile.Limits.Event.Duration)
	defer cancel()
	isAsked := func(r *transcript.Record) bool {
		return r.Conn == asker && r.Dir == transcript.Received && r.Kind == transcript.Request
	}
	_, _ = v.Transcript.Await(ctx, 0, isAsked)
	var out []string
	for _, r := range v.Transcript.All() {
		if isAsked(&r) && !slices.Contains(out, r.Label) {
			out = append(out, r.Label)
		}
	}
	return out
}

// Describe describes a control in a few words.
func Describe(c snapshot.Control) string {
	text := c.Tag
	if c.ID != "" {
		text += "#" + c.ID
	}
	if words := strings.TrimSpace(c.Text); words != "" {
		text += fmt.Sprintf(" %q", cut.Line(words, 120))
	}
	switch {
	case !c.Visible:
		text += ", not visible"
	case c.Disabled:
		text += ", disabled"
	}
	return text
}
