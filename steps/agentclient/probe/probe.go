// Package probe opens a page, finds the elements to use, and writes its agent-client profile.
package probe

import (
	"context"

	"parley/steps/probe"
	"parley/transport/driver/browser"
)

// Guide returns how to probe targets of agent-client.
func Guide() probe.Guide {
	return probe.Guide{
		Profile: profile,
		Text: `agent-client: a page is given as a URL, a folder with an index.html, or a file that ends in .html.
The probe opens it in a browser and looks for its elements by the ids of the default binding, by the texts of
buttons, and by words in ids and classes. It connects the page to a server of its own to see what the page requests.`,
		Examples: []string{
			"parley init ./dist",
			"parley init --protocol agent-client http://localhost:5173",
		},
	}
}

// profile examines the target and returns the text of its profile. Without a browser the error is a
// *browser.MissingError.
func profile(ctx context.Context, s *probe.Session) (string, error) {
	s.Welcome() // a page's responses do not identify it
	program, err := browser.Find(s.Profile.Reach().Browser)
	if err != nil {
		return "", err
	}
	d := browser.New(browser.Options{Command: program, TLS: s.Profile.TLSConfig(), Header: s.Profile.Header()})
	defer d.Close()
	p := &inquiry{Session: s, browser: d}
	if err := p.all(ctx); err != nil {
		return "", err
	}
	return draft(s, p.hooks), nil
}
