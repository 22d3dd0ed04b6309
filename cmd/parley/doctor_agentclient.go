package main

import (
	"context"
	"errors"
	"fmt"
	"os/exec"
	"reflect"
	"slices"
	"strings"
	"time"

	"parley/driver/browser"
	sight "parley/driver/browser/look"
	"parley/internal/stall"
	"parley/target"
)

// agentClientCheckup is what the doctor looks at in a page. Each item has a scenario; its hooks and its first requests are
// looked at before.
var agentClientCheckup = checkup{
	items: []item{
		{key: "switch", tag: "@doctor-switch",
			look:     "events.agent_switched and fields.event under agent-select: whether the page understands the server by these names",
			declared: always, needed: takes(`the server switches`)},
		{key: "chat", tag: "@doctor-chat", after: []string{"switch"}, look: "agent-client.hooks.chat",
			declared: always, needed: takes(`the chat tells of`)},
		{key: "log", tag: "@doctor-log", look: "log, log-row, level-info and level-error under agent-client.hooks",
			declared: always, needed: takes(`the log has`)},
		{key: "loading", tag: "@doctor-loading",
			look:     "agent-client.hooks.loading: what is visible during a switch, where neither aria-busy nor a class tells it",
			declared: always, needed: takes(`looks busy`)},
		{key: "disconnect", tag: "@doctor-disconnect", look: "agent-client.hooks.disconnect",
			declared: always, needed: takes(`the user disconnects$`)},
		{key: "message", tag: "@doctor-message",
			look:     "message and send under agent-client.hooks; messages.chat and sse.message under agent-select",
			declared: always, needed: takes(`the user has sent "`)},
		{key: "abort", tag: "@doctor-abort", after: []string{"message"},
			look:     "agent-client.hooks.abort; messages.abort under agent-select",
			declared: always, needed: takes(`the user aborts$`)},
		{key: target.SessionList, tag: "@doctor-session-list", optional: true,
			look:     "sessions and session under agent-client.hooks; sse.load under agent-select",
			declared: has(target.SessionList), needed: takes(`the user loads the first session$`)},
	},
	look: map[int]string{
		1: "server-url and connect under agent-client.hooks, agent-client.server, and agent-select.sse.stream",
		2: "agent-client.hooks.selector; envelope, events, fields.event and fields.agent under agent-select",
		3: "agent-client.hooks.new-session; sse.create, sse.message, messages and fields.request under agent-select",
	},
	before: lookForBrowser,
	first:  lookAtHooks,
}

// lookForBrowser tells whether there is a browser, where, and which.
func lookForBrowser(ctx context.Context, d *exam) error {
	path, err := browser.Find(d.profile.BrowserProgram())
	if err != nil {
		d.tell(failed, "browser", "%v", err)
		return err
	}
	d.tell(ok, "browser", "%s: %s", path, versionOf(ctx, path))
	d.browser = browser.New(browser.Options{Command: path})
	return nil
}

// versionOf is how a browser calls itself.
func versionOf(ctx context.Context, path string) string {
	ctx, cancel := stall.WithLimit(ctx, 10*time.Second)
	defer cancel()
	out, err := exec.CommandContext(ctx, path, "--version").Output()
	if first, _, _ := strings.Cut(strings.TrimSpace(string(out)), "\n"); err == nil && first != "" {
		return first
	}
	return "it does not tell its version"
}

// lookAtHooks opens the page, says of each hook what it finds, before the page is connected or once it is, and what the page asks
// of its server. Only a page that cannot be opened ends the examination.
func lookAtHooks(ctx context.Context, d *exam) error {
	hooks := hooksOf(d.profile.AgentClient.Hooks)
	v, err := openVisit(ctx, d.browser, d.profile, d.running.BaseURL(), hooks)
	if err != nil {
		d.tell(failed, "page", "%v (look at url, agent-client.folder and agent-client.page)", err)
		return cannotOpen(d.profile, d.running.BaseURL(), err)
	}
	defer v.close()
	d.tell(ok, "page", "it is open: %s", d.profile.AgentClient.PageURL(d.running.BaseURL(), v.server.URL()))
	before, err := v.look(ctx)
	if err != nil {
		return fmt.Errorf("look at the page: %w", err)
	}
	trouble := v.connect(ctx)
	var asked []string
	if trouble == nil {
		asked = v.asked(ctx)
	}
	after, err := v.look(ctx)
	if err != nil {
		return fmt.Errorf("look at the page: %w", err)
	}
	for _, key := range hookKeys() {
		if hooks[key] != "" && (key != "sessions" || d.profile.Has(target.SessionList)) {
			d.tellHook(key, hooks[key], before, after)
		}
	}
	d.tellAsked(asked, trouble)
	return nil
}

// tellHook tells what a hook finds.
func (d *exam) tellHook(key, hook string, before, after sight.Look) {
	c, when := before.Controls[key], ""
	if later := after.Controls[key]; !c.Found && later.Found {
		c, when = later, ", once the page is connected"
	}
	what, where := "hooks."+key, "(look at agent-client.hooks."+key+"; parley init finds the likely ones)"
	switch {
	case !c.Found && slices.Contains(laterHooks, key):
		d.tell(notChecked, what, "nothing matches %q before there is a session", hook)
	case !c.Found:
		d.tell(failed, what, "nothing matches %q %s", hook, where)
	case key == "selector" && c.Tag != "select":
		d.tell(failed, what, "%s, which is no select element %s", seenAs(c), where)
	default:
		d.tell(ok, what, "%s%s", seenAs(c), when)
	}
}

// laterHooks are those that may well be of what is not there before the page has a session.
var laterHooks = []string{"disconnect", "message", "send", "abort", "sessions"}

// tellAsked tells what the page asked of its server when the user connected.
func (d *exam) tellAsked(asked []string, trouble error) {
	const what = "requests"
	var cannot *browser.ActError
	stream := d.profile.AgentSelect.SSE.Stream
	switch {
	case errors.As(trouble, &cannot):
		d.tell(failed, what, "the user cannot connect: %v (look at agent-client.hooks)", trouble)
	case trouble != nil:
		d.tell(failed, what, "the user cannot connect: %v", trouble)
	case len(asked) == 0:
		d.tell(failed, what, "the page asked its server for nothing within %v (look at agent-client.hooks.connect and agent-client.server)",
			d.profile.Limits.Event)
	case !slices.ContainsFunc(asked, func(label string) bool { return asksFor(label, stream) }):
		d.tell(failed, what, "%s, but not %s %s (look at agent-select.sse.stream)", strings.Join(asked, ", "), stream.Method, stream.Path)
	default:
		d.tell(ok, what, "%s", strings.Join(asked, ", "))
	}
}

// asksFor tells whether a request is for an endpoint.
func asksFor(label string, e target.Endpoint) bool {
	path, _, _ := strings.Cut(label, "?")
	return path == e.Method+" "+e.Path
}

// hookKeys are the keys of the hooks that are on a page from its beginning, in the order of the profile. The others tell how what
// comes later is read.
func hookKeys() []string {
	later := []string{"log-row", "level-info", "level-error", "loading", "dismiss", "session"}
	var out []string
	for f := range reflect.TypeFor[target.PageHooks]().Fields() {
		if key := f.Tag.Get("yaml"); !slices.Contains(later, key) {
			out = append(out, key)
		}
	}
	return out
}

// hooksOf are the hooks of a profile, by their keys.
func hooksOf(h target.PageHooks) map[string]string {
	out := map[string]string{}
	for f, v := range reflect.ValueOf(h).Fields() {
		out[f.Tag.Get("yaml")] = v.String()
	}
	return out
}
