package externalagent

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/go-json-experiment/json"

	"parley/internal/deadline"
	"parley/internal/jsonform"
	"parley/steps"
	"parley/target"
	"parley/transport/driver"
	"parley/transport/driver/browser"
	"parley/transport/driver/browser/snapshot"
	"parley/transport/transcript"
)

// Names of the elements of a host's page in acts and snapshots. They are also their keys in external-agent.page.
const (
	inputField = "input"
	sendButton = "send"
	readySign  = "ready"
)

// hostPage is an open page of a host: that of a relay session.
type hostPage struct {
	name string // its party in the transcript
	url  string // as the profile gives it, so that the scenarios of a run have the same reasons
	conn driver.Conn

	frozen bool // it has not responded to a person
}

// pageError says why a person could not use a page.
type pageError struct{ url, key, hook, why string }

func (e *pageError) Error() string {
	if e.key == "" {
		return fmt.Sprintf("the host's page %s: %s", e.url, e.why)
	}
	return fmt.Sprintf("the host's page %s: external-agent.page.%s, %q: %s", e.url, e.key, e.hook, e.why)
}

// opensPage makes sure that the host's page is open in a relay session, if the profile has one. The page may be the
// host itself, so that this precedes the join of an agent, and its connection: what is wrong with the page shows in
// the first stage of preflight.
func (s *suite) opensPage(ctx context.Context, session string) error {
	page := s.wire.Page
	if page == nil || s.pages[session] != nil {
		return nil
	}
	paged, ok := s.Target.(target.Paged)
	if !ok {
		return steps.NotTestedf("the target has no page")
	}
	address, err := paged.PageURL(session)
	if err != nil {
		return steps.NotTestedf("%v", err)
	}
	named, _ := paged.PageURL("{session}")
	p := &hostPage{name: "page", url: strings.ReplaceAll(named, "%7Bsession%7D", "{session}")}
	if n := len(s.pages); n > 0 {
		p.name = fmt.Sprintf("page%d", n+1)
	}
	how := &driver.Page{Allow: page.Allow, Controls: map[string]string{
		inputField: page.Input, sendButton: page.Send, readySign: page.Ready}}
	p.conn, err = s.OpenPage(ctx, driver.OpenOptions{Party: p.name, URL: address, Page: how})
	if err != nil {
		return s.pageNotOpened(ctx, p, err)
	}
	s.pages[session] = p
	if page.Ready == "" {
		return nil
	}
	if err := s.usable(ctx, p, readySign); err != nil {
		return &steps.UnreachableError{Err: err}
	}
	return nil
}

// pageNotOpened returns the error of a page that could not be opened: no scenario can do without it.
func (s *suite) pageNotOpened(ctx context.Context, p *hostPage, err error) error {
	var missing *browser.MissingError
	if errors.As(err, &missing) {
		missing.Key = s.Env.Profile.Reach().BrowserKey
		return &steps.UnreachableError{Err: missing}
	}
	if ctx.Err() != nil {
		s.CutOff()
		return steps.NotTestedf("the scenario was cut off while the host's page was opened")
	}
	var open *driver.OpenError
	why := err.Error()
	if errors.As(err, &open) {
		why = open.Err.Error()
	}
	why = "it cannot be opened (external-agent.page.url): " + why
	return &steps.UnreachableError{Err: &pageError{url: p.url, why: why}}
}

// speaksAtPage types a text into the page of a relay session and sends it, as a person would.
func (s *suite) speaksAtPage(ctx context.Context, session, text string) error {
	if err := s.opensPage(ctx, session); err != nil {
		return err
	}
	p := s.pages[session]
	if err := s.usable(ctx, p, inputField); err != nil {
		return err
	}
	typing := object{"do": "type", "on": inputField, "text": text}
	if err := s.acts(ctx, p, inputField, "the participant types", typing); err != nil {
		return err
	}
	if err := s.typed(ctx, p, text); err != nil {
		return err
	}
	if s.wire.Page.Send == "" {
		return s.acts(ctx, p, inputField, "the participant presses Enter",
			object{"do": "press", "on": inputField, "key": "Enter"})
	}
	if err := s.usable(ctx, p, sendButton); err != nil {
		return err
	}
	return s.acts(ctx, p, sendButton, "the participant sends the message", object{"do": "click", "on": sendButton})
}

// fails returns a pageError about an element; key "": about the page.
func (s *suite) fails(p *hostPage, key, why string) error {
	page := s.wire.Page
	hook := map[string]string{inputField: page.Input, sendButton: page.Send, readySign: page.Ready}[key]
	return &pageError{url: p.url, key: key, hook: hook, why: why}
}

// acts performs an act of a person, which the page must handle within the limit of an event.
func (s *suite) acts(ctx context.Context, p *hostPage, key, label string, what object) error {
	body, err := json.Marshal(what, jsonform.Escaped)
	if err != nil {
		return fmt.Errorf("encode an act: %w", err)
	}
	limited, cancel := deadline.WithLimit(ctx, s.Env.Event())
	defer cancel()
	_, err = p.conn.Send(limited, driver.Message{Label: label, Body: body})
	return s.usedUp(ctx, limited, p, key, err)
}

// usedUp says why a page could not be used, by the error of its connection; nil for none. Limited is the context of the
// use, below ctx.
func (s *suite) usedUp(ctx, limited context.Context, p *hostPage, key string, err error) error {
	if err == nil {
		return nil
	}
	var cannot *browser.ActError
	switch ended := s.pageEnded(p); {
	case ended != "":
		return s.fails(p, "", ended)
	case errors.As(err, &cannot):
		return s.fails(p, key, cannot.Why)
	case ctx.Err() != nil:
		s.CutOff()
	case limited.Err() != nil:
		p.frozen = true
		return s.fails(p, "", fmt.Sprintf("it did not respond to a person within %s", steps.Span(s.Env.Event())))
	}
	return s.fails(p, "", err.Error())
}

// pageEnded says how a page has ended by itself, or "".
func (s *suite) pageEnded(p *hostPage) string {
	for _, r := range s.T.All() {
		if r.Conn == p.name && r.Kind == transcript.Closed && r.Dir == transcript.Received {
			return r.Label
		}
	}
	return ""
}

// usable waits until an element of a page can be used. The cause may still be on its way to the page.
func (s *suite) usable(ctx context.Context, p *hostPage, key string) error {
	why, at := "", 0
	for _, r := range s.T.All() {
		if look := lookOf(&r, p.name); look != nil {
			why, at = unusable(look.Controls[key]), r.N
		}
	}
	if at > 0 && why == "" {
		return nil
	}
	limited, cancel := deadline.WithLimit(ctx, s.Env.Event())
	defer cancel()
	defer s.Idles()()
	_, err := s.T.Await(limited, at, func(r *transcript.Record) bool {
		if r.Conn == p.name && r.Kind == transcript.Closed {
			return true
		}
		look := lookOf(r, p.name)
		if look == nil {
			return false
		}
		why = unusable(look.Controls[key])
		return why == ""
	})
	if ctx.Err() != nil {
		s.CutOff()
		return steps.NotTestedf("the scenario was cut off while the host's page was used")
	}
	if ended := s.pageEnded(p); ended != "" {
		return s.fails(p, "", ended)
	}
	if err == nil {
		return nil
	}
	return s.fails(p, key, why)
}

// unusable says why a person cannot use an element, or "".
func unusable(c snapshot.Control) string {
	switch {
	case !c.Found:
		return "there is no such element on the page"
	case !c.Visible:
		return "the element is not visible"
	case c.Disabled:
		return "the element is disabled"
	}
	return ""
}

// lookOf returns the look of a page in a record; nil if it has none.
func lookOf(r *transcript.Record, page string) *snapshot.Page {
	if r.Conn != page || r.Kind != transcript.Snapshot {
		return nil
	}
	look := &snapshot.Page{}
	if json.Unmarshal(r.Bytes, look, jsonform.Lenient) != nil {
		return nil
	}
	return look
}

// typed checks that the field holds what was typed into it. A page that shortens it, say, has another message to send.
func (s *suite) typed(ctx context.Context, p *hostPage, text string) error {
	page, ok := p.conn.(interface {
		Look(context.Context) (snapshot.Page, error)
	})
	if !ok {
		return nil
	}
	limited, cancel := deadline.WithLimit(ctx, s.Env.Event())
	defer cancel()
	look, err := page.Look(limited)
	if err != nil {
		return s.usedUp(ctx, limited, p, inputField, err)
	}
	folded := func(text string) string { return strings.Join(strings.Fields(text), " ") }
	field := look.Controls[inputField]
	got := folded(field.Value)
	if got == "" {
		got = folded(field.Text) // of an editable element
	}
	if got != folded(text) {
		return s.fails(p, inputField, fmt.Sprintf("%d characters were typed, and it holds others, %d: %q",
			len([]rune(folded(text))), len([]rune(got)), got))
	}
	return nil
}

// leavePages closes the host's pages. A page that is needed again is opened again, as a person would reload it.
func (s *suite) leavePages() {
	for session, p := range s.pages {
		_ = p.conn.Close(driver.Graceful)
		delete(s.pages, session)
	}
}

// endPages keeps pictures of the host's pages if something is wrong, and closes them.
func (s *suite) endPages(ctx context.Context) {
	if s.wire.Page == nil {
		return
	}
	for _, p := range s.pages {
		switch {
		case !s.Broken() && s.Whole():
		case p.frozen:
			s.Note("there is no picture of the host's page, which no longer responds")
		default:
			s.AttachPage(ctx, p.name, p.conn)
		}
	}
	s.TellPageTrouble("external-agent.page.allow")
	s.leavePages()
}
