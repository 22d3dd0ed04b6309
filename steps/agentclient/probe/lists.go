package probe

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"parley/steps/agentclient/visit"
	"parley/transport/driver/browser/snapshot"
)

// listing returns hooks for the lists of offered items: by their contents, and the guessed ones.
func listing(key string) []string {
	var by []string
	switch key {
	case "selector":
		by = []string{fmt.Sprintf("select:has(option[value=%q])", visit.Agent), "select:not([id*=agent i],[name*=agent i])",
			"select:nth-of-type(2)", "select:nth-of-type(3)"}
	case "sessions":
		for _, attribute := range []string{"data-session-id", "data-session", "data-id", "id"} {
			by = append(by, fmt.Sprintf(":has(> [%s=%q])", attribute, visit.Session))
		}
	}
	for _, place := range likelyPlaces {
		if place.key == key {
			by = append(by, place.candidates()...)
		}
	}
	return by
}

// lists finds the agent selector and the list of sessions by what the server has offered; this may replace an earlier
// guess.
func (p *inquiry) lists(ctx context.Context, v *visit.Visit) {
	shows := func(key string, fits func(snapshot.Control) bool, text string) snapshot.Page {
		return v.Shows(ctx, func(l snapshot.Page) bool { return offered(l, key, fits, text) != "" })
	}
	l := shows("selector", isSelect, visit.AgentName)
	p.revise(l, "selector", isSelect, visit.AgentName, "the agents that its server has offered")
	l = shows("sessions", isBox, visit.Session)
	if p.revise(l, "sessions", isBox, visit.Session, "the session that its server has offered") {
		return
	}
	if hook := p.hooks["sessions"]; hook != "" && strings.Contains(l.Controls["sessions"].Text, visit.AgentName) {
		delete(p.hooks, "sessions")
		p.Forget("sessions")
		p.Note("no sessions", "no list of sessions was recognised: %s shows agents", hook)
	}
}

// offered returns the likeliest hook of an element that shows something offered; "" for none.
func offered(l snapshot.Page, key string, fits func(snapshot.Control) bool, text string) string {
	for _, hook := range listing(key) {
		if c := l.Controls[key+" "+hook]; c.Found && fits(c) && shown(c, hook, text) {
			return hook
		}
	}
	return ""
}

// shown reports whether an element shows a text, or the hook finds it by its contents.
func shown(c snapshot.Control, hook, text string) bool {
	return strings.Contains(c.Text, text) || strings.Contains(hook, ":has(")
}

// revise replaces the hook of a key by that of an element that shows something offered, and reports whether there is
// one.
func (p *inquiry) revise(l snapshot.Page, key string, fits func(snapshot.Control) bool, text, what string) bool {
	hook := offered(l, key, fits, text)
	if hook == "" {
		return false
	}
	c := l.Controls[key+" "+hook]
	if known := l.Controls[key]; p.hooks[key] != "" && known.Found && known.Rect == c.Rect { // the guess was right
		return true
	}
	if strings.Contains(hook, ":has(") && hookOf(c, hook) == hook { // a profile can use a guess that finds the same
		i := slices.IndexFunc(listing(key), func(guess string) bool {
			known := l.Controls[key+" "+guess]
			return !strings.Contains(guess, ":has(") && known.Found && known.Rect == c.Rect
		})
		if i < 0 {
			return false
		}
		hook = listing(key)[i]
	}
	if now := hookOf(c, hook); now != p.hooks[key] {
		p.hooks[key] = now
		p.Forget(key, "no "+key)
		p.Note(key, "%s, which shows %s", visit.Describe(c), what)
	}
	return true
}
