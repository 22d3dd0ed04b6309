package bench

import (
	"context"
	"fmt"
	"io"
	"net/http"

	"parley/transport/driver"
	"parley/transport/driver/browser"
	"parley/transport/transcript"
)

// pages are empty pages of one browser, in which nothing is done.
type pages struct {
	*site
	browser *browser.Driver
}

func newPages() (transport, error) {
	s, err := newSite(func(w http.ResponseWriter, _ *http.Request, _ *script) {
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
		_, _ = io.WriteString(w, "<!doctype html><title>empty</title>")
	})
	return pages{s, browser.New(browser.Options{})}, err
}

func (p pages) open(ctx context.Context, _ []act) (link, error) {
	c, err := p.browser.Open(ctx, driver.OpenOptions{Party: "A", URL: p.add(nil)}, transcript.New(nil).Append)
	if err != nil {
		return nil, fmt.Errorf("open a page: %w", err)
	}
	return page{c}, nil
}

func (p pages) close() error {
	err := p.browser.Close()
	if end := p.site.close(); err == nil {
		err = end
	}
	return err
}

type page struct{ driver.Conn }

func (page) send(act) error    { return nil }
func (page) receive(act) error { return nil }
func (p page) close() error    { return p.Close(driver.Graceful) }
