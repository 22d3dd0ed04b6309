package cli

import (
	"errors"
	"slices"

	"parley/reports"
	"parley/target"
	"parley/transport/driver/browser"
)

// withoutBrowser says why a page protocol that was not asked for by name is left out.
func withoutBrowser(protocol string) string {
	return protocol + " was not run: no Chromium found (Debian: apt-get install chromium)"
}

// missingBrowser returns an error if the target is or has a page and there is no browser to drive it. The error
// determines the exit code.
func missingBrowser(p *target.Profile) error {
	if !slices.Contains(p.Drivers, browser.Name) && p.Reach().Page == "" {
		return nil
	}
	_, err := browser.Find(p.Reach().Browser)
	var missing *browser.MissingError
	if errors.As(err, &missing) {
		missing.Key = p.Reach().BrowserKey
	}
	return err
}

// leaveOut keeps what can be judged on this machine, and says what is left out. It returns an error if something was
// asked for by name or nothing remains.
func leaveOut[T any](all []T, named bool, missing func(T) error, protocol func(T) string) (kept []T, left []string,
	err error) {
	for _, one := range all {
		switch why := missing(one); {
		case why == nil:
			kept = append(kept, one)
		case named:
			return nil, nil, why
		default:
			left, err = unique(append(left, withoutBrowser(protocol(one)))), why
		}
	}
	if len(kept) > 0 {
		err = nil
	}
	return kept, left, err
}

// noteLeft adds what was left out to the notes of the last run, just before the summary.
func noteLeft(r *reports.Results, left []string) {
	if len(r.Runs) == 0 {
		return
	}
	last := &r.Runs[len(r.Runs)-1]
	for _, text := range left {
		last.Notes = append(last.Notes, reports.Note{Kind: "harness", Text: text})
	}
}
