package checkup

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"parley/steps/agentclient/binding"
	"parley/steps/agentclient/visit"
	server "parley/steps/agentselect/binding"
	"parley/steps/doctor"
	"parley/transport/driver/browser"
	"parley/transport/driver/browser/snapshot"
)

// findBrowser reports whether there is a browser, where, and which version.
func findBrowser(ctx context.Context, e *doctor.Exam) error {
	path, err := e.FindBrowser(ctx)
	if err != nil {
		return err
	}
	e.Browser = browser.New(browser.Options{Command: path, TLS: e.Profile.TLSConfig(), Header: e.Profile.Header()})
	return nil
}

// visitPage opens the page and reports what each hook finds, before or after the page is connected, and what the page
// requests from its server. Only a page that cannot be opened ends the examination.
func visitPage(ctx context.Context, e *doctor.Exam) error {
	hooks := visit.Hooks(binding.Of(e.Profile).Hooks)
	v, err := visit.Open(ctx, e.Browser, e.Profile, e.Running.BaseURL(), hooks)
	if err != nil {
		e.AddLine(doctor.Failed, "page", "%v (look at url, agent-client.folder and agent-client.page)",
			cmp.Or(errors.Unwrap(err), err))
		return err
	}
	defer v.Close()
	e.AddLine(doctor.OK, "page", "it is open: %s", binding.Of(e.Profile).PageURL(e.Running.BaseURL(), v.URL))
	before, err := v.Look(ctx)
	if err != nil {
		return fmt.Errorf("look at the page: %w", err)
	}
	trouble := v.Connect(ctx)
	var asked []string
	if trouble == nil {
		asked = v.Asked(ctx)
	}
	after, err := v.Look(ctx)
	if err != nil {
		return fmt.Errorf("look at the page: %w", err)
	}
	for _, key := range visit.Keys() {
		if hooks[key] != "" && (key != "sessions" || e.Profile.Has(server.SessionList)) {
			tellHook(e, key, hooks[key], before, after)
		}
	}
	tellAsked(e, asked, trouble)
	return nil
}

// tellHook reports what a hook finds.
func tellHook(e *doctor.Exam, key, hook string, before, after snapshot.Page) {
	c, when := before.Controls[key], ""
	if later := after.Controls[key]; !c.Found && later.Found {
		c, when = later, ", once the page is connected"
	}
	what, where := "hooks."+key, "(look at agent-client.hooks."+key+"; parley init finds the likely ones)"
	switch {
	case !c.Found && slices.Contains(laterHooks, key):
		e.AddLine(doctor.NotChecked, what, "nothing matches %q before there is a session", hook)
	case !c.Found:
		e.AddLine(doctor.Failed, what, "nothing matches %q %s", hook, where)
	case key == "selector" && c.Tag != "select":
		e.AddLine(doctor.Failed, what, "%s, which is not a select element %s", visit.Describe(c), where)
	default:
		e.AddLine(doctor.OK, what, "%s%s", visit.Describe(c), when)
	}
}

// laterHooks are those of elements that may appear only once the page has a session.
var laterHooks = []string{"disconnect", "message", "send", "abort", "sessions"}

// tellAsked reports the page's requests to its server after the user connected.
func tellAsked(e *doctor.Exam, asked []string, trouble error) {
	const what = "requests"
	var cannot *browser.ActError
	stream := server.Of(e.Profile).SSE.Stream
	switch {
	case errors.As(trouble, &cannot):
		e.AddLine(doctor.Failed, what, "the user cannot connect: %v (look at agent-client.hooks)", trouble)
	case trouble != nil:
		e.AddLine(doctor.Failed, what, "the user cannot connect: %v", trouble)
	case len(asked) == 0:
		e.AddLine(doctor.Failed, what, "the page sent its server no request within %v "+
			"(look at agent-client.hooks.connect and agent-client.server)", e.Profile.Limits.Event)
	case !slices.ContainsFunc(asked, func(label string) bool { return visit.AsksFor(label, stream) }):
		e.AddLine(doctor.Failed, what, "%s, but not %s %s (look at agent-select.sse.stream)",
			strings.Join(asked, ", "), stream.Method, stream.Path)
	default:
		e.AddLine(doctor.OK, what, "%s", strings.Join(asked, ", "))
	}
}
