package main

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/go-json-experiment/json"

	sight "parley/driver/browser/look"
	"parley/driver/sse"
	"parley/internal/stall"
	"parley/transcript"
)

// What the server of a visit offers, in words that no page has by itself.
const (
	offeredAgent   = "parley-probe-agent"
	offeredName    = "Parley Probe Agent"
	offeredSession = "parley-probe-session"
)

// offering is what it says on each event stream.
var offering = []string{
	`{"type":"connected","data":{"connectionId":"parley-probe"}}`,
	fmt.Sprintf(`{"type":"agent_list","data":{"agents":[{"id":%q,"name":%q,"description":"one"},{"id":"parley-probe-other","name":"Parley Probe Other","description":"two"}],"currentAgentId":%[1]q}}`,
		offeredAgent, offeredName),
}

// offer tells a page that has connected of agents, where the visit is to see what becomes of them.
func (v *visit) offer(_ sse.Incoming, st *sse.Streamed) {
	if !v.offers.Load() {
		return
	}
	for _, event := range offering {
		if _, err := st.Emit(context.Background(), "offered", []byte("data: "+event+"\n\n")); err != nil {
			return // the page has closed it
		}
	}
}

// shows is the first look at the page that is as it should be, within the limit for events; without one, the latest.
func (v *visit) shows(ctx context.Context, is func(sight.Look) bool) (l sight.Look) {
	ctx, cancel := stall.WithLimit(ctx, v.profile.Limits.Event.Duration)
	defer cancel()
	_, _ = v.t.Await(ctx, 0, func(r *transcript.Record) bool {
		var now sight.Look
		if r.Kind != transcript.Look || json.Unmarshal(r.Bytes, &now) != nil {
			return false
		}
		l = now
		return is(now)
	})
	return l
}

// listing are the hooks of the lists that a page makes of what it is told: by what is in them, and as they are guessed.
func listing(key string) []string {
	var by []string
	switch key {
	case "selector":
		by = []string{fmt.Sprintf("select:has(option[value=%q])", offeredAgent), "select:not([id*=agent i],[name*=agent i])",
			"select:nth-of-type(2)", "select:nth-of-type(3)"}
	case "sessions":
		for _, attribute := range []string{"data-session-id", "data-session", "data-id", "id"} {
			by = append(by, fmt.Sprintf(":has(> [%s=%q])", attribute, offeredSession))
		}
	}
	for _, place := range likelyPlaces {
		if place.key == key {
			by = append(by, place.candidates()...)
		}
	}
	return by
}

// lists looks for the select element of the agents, and the list of the sessions, by what the server has offered: what was
// guessed before may be another.
func (p *pageProbe) lists(ctx context.Context, v *visit) {
	l := v.shows(ctx, func(l sight.Look) bool { return offered(l, "selector", isSelect, offeredName) != "" })
	p.revise(l, "selector", isSelect, offeredName, "the agents that its server has offered")
	if l = v.shows(ctx, func(l sight.Look) bool { return offered(l, "sessions", isBox, offeredSession) != "" }); p.revise(l, "sessions", isBox, offeredSession, "the session that its server has offered") {
		return
	}
	if hook := p.found["sessions"]; hook != "" && strings.Contains(l.Controls["sessions"].Text, offeredName) {
		delete(p.found, "sessions")
		delete(p.seen, "sessions")
		p.note("no sessions", "no list of sessions was recognised: %s shows agents", hook)
	}
}

// offered is the hook of what shows something that was offered, of the likeliest; "" for none.
func offered(l sight.Look, key string, fits func(sight.Control) bool, text string) string {
	for _, hook := range listing(key) {
		if c := l.Controls[key+" "+hook]; c.Found && fits(c) && shown(c, hook, text) {
			return hook
		}
	}
	return ""
}

// shown tells whether an element shows a text, or is one by what it has within.
func shown(c sight.Control, hook, text string) bool {
	return strings.Contains(c.Text, text) || strings.Contains(hook, ":has(")
}

// revise takes what shows something that was offered for what a key means, and tells whether there is such a thing.
func (p *pageProbe) revise(l sight.Look, key string, fits func(sight.Control) bool, text, what string) bool {
	hook := offered(l, key, fits, text)
	if hook == "" {
		return false
	}
	c := l.Controls[key+" "+hook]
	if strings.Contains(hook, ":has(") && hookOf(c, hook) == hook { // a profile can name it by a guess that finds the same
		i := slices.IndexFunc(listing(key), func(guess string) bool {
			return !strings.Contains(guess, ":has(") && l.Controls[key+" "+guess].Found && l.Controls[key+" "+guess].Rect == c.Rect
		})
		if i < 0 {
			return false
		}
		hook = listing(key)[i]
	}
	if now := hookOf(c, hook); now != p.found[key] {
		p.found[key] = now
		delete(p.seen, key)
		delete(p.seen, "no "+key)
		p.note(key, "%s, which shows %s", seenAs(c), what)
	}
	return true
}
