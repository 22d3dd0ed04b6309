package probe

import (
	"context"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	"parley/steps/agentclient/binding"
	"parley/steps/agentclient/visit"
	server "parley/steps/agentselect/binding"
	"parley/steps/probe"
	"parley/transport/driver/browser"
	"parley/transport/driver/browser/snapshot"
)

// inquiry opens a page and finds the elements to use.
type inquiry struct {
	*probe.Session
	browser *browser.Driver
	hooks   map[string]string // the found hooks, by key
}

// all finds everything, and connects the page if the required hooks were found.
func (p *inquiry) all(ctx context.Context) error {
	controls := map[string]string{}
	for _, l := range likelyPlaces {
		for _, hook := range l.candidates() {
			controls[l.key+" "+hook] = hook
		}
	}
	v, err := visit.Open(ctx, p.browser, p.Profile, p.Target.BaseURL(), controls)
	if err != nil {
		return err
	}
	defer v.Close()
	l, err := v.Look(ctx)
	if err != nil {
		return fmt.Errorf("look at the page: %w", err)
	}
	p.recognise(l)
	return p.asks(ctx)
}

// recognise picks the likely elements from a snapshot.
func (p *inquiry) recognise(l snapshot.Page) {
	p.hooks = map[string]string{}
	taken := map[snapshot.Rect]bool{}
	for _, place := range likelyPlaces {
		hook, c := place.pick(l, taken)
		if hook == "" {
			p.Note("no "+place.key, "%s", place.missed())
			continue
		}
		taken[c.Rect] = c.Visible
		p.hooks[place.key] = hookOf(c, hook)
		p.Note(place.key, "%s, by %s", visit.Describe(c), byWhat(place.key, hook))
	}
}

// plainID matches a hand-written id; others are generated with the page and may change.
var plainID = regexp.MustCompile(`\A[A-Za-z_][A-Za-z0-9_-]*\z`)

// hookOf returns how a profile names an element: by its id, if it has a plain one.
func hookOf(c snapshot.Control, hook string) string {
	if plainID.MatchString(c.ID) {
		return "#" + c.ID
	}
	return hook
}

// asks connects the page in a second visit with the found hooks, and records its requests to the server.
func (p *inquiry) asks(ctx context.Context) error {
	if p.hooks["connect"] == "" {
		p.Unseen("its requests to the server: no control that connects it was found")
		return nil
	}
	knowing := p.Profile.Clone()
	binding.Of(knowing).Hooks.ServerURL = p.hooks["server-url"]
	controls := maps.Clone(p.hooks)
	for _, place := range p.missing() {
		for _, hook := range place.candidates() {
			controls[place.key+" "+hook] = hook
		}
	}
	for _, key := range []string{"selector", "sessions"} {
		for _, hook := range listing(key) {
			controls[key+" "+hook] = hook
		}
	}
	v, err := visit.Open(ctx, p.browser, knowing, p.Target.BaseURL(), controls)
	if err != nil {
		return err
	}
	defer v.Close()
	v.Offer()
	if err := v.Connect(ctx); err != nil {
		p.Unseen("its requests to the server: the user cannot connect: %v", err)
		return nil
	}
	asked, stream := v.Asked(ctx), server.Of(p.Profile).SSE.Stream
	switch {
	case len(asked) == 0:
		p.Unseen("it sent its server no request when the user connected: see hooks.server-url, hooks.connect, " +
			"and server.parameter")
	case !slices.ContainsFunc(asked, func(label string) bool { return visit.AsksFor(label, stream) }):
		p.Unseen("when the user connected it did not request %s %s, but %s: see agent-select.sse",
			stream.Method, stream.Path, strings.Join(asked, ", "))
	default:
		p.Note("requests", "when the user connected it requested %s", strings.Join(asked, ", "))
		p.lists(ctx, v)
		p.appeared(ctx, v)
	}
	return nil
}

// missing returns the controls that were not found before the page was connected.
func (p *inquiry) missing() (out []likely) {
	late := []string{"disconnect", "new-session", "message", "send", "abort"}
	for _, place := range likelyPlaces {
		if p.hooks[place.key] == "" && slices.Contains(late, place.key) {
			out = append(out, place)
		}
	}
	return out
}

// appeared finds what exists only once the page is connected, such as a button that has replaced another.
func (p *inquiry) appeared(ctx context.Context, v *visit.Visit) {
	l, err := v.Look(ctx)
	if err != nil {
		return
	}
	taken := map[snapshot.Rect]bool{}
	for key := range p.hooks {
		if c := l.Controls[key]; c.Found && c.Visible {
			taken[c.Rect] = true
		}
	}
	for _, place := range p.missing() {
		hook, c := place.pick(l, taken)
		if hook == "" || !c.Visible {
			continue
		}
		taken[c.Rect] = true
		p.hooks[place.key] = hookOf(c, hook)
		p.Forget("no " + place.key)
		p.Note(place.key, "%s, by %s, once the page is connected", visit.Describe(c), byWhat(place.key, hook))
	}
}
