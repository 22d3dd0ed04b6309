package steps

import (
	"context"
	"errors"
	"strings"
	"time"

	"parley/internal/cut"
	"parley/internal/deadline"
	"parley/transport/driver"
	"parley/transport/transcript"
)

// openPage is the least limit for opening a page beside the target's connections: the first one waits for the browser.
const openPage = 20 * time.Second

// OpenPage opens a page of the target in Env.Pages, beside the scenario's connections. Finish closes it. The limit is
// that of the profile, or 20s if that is longer.
func (w *World) OpenPage(ctx context.Context, o driver.OpenOptions) (driver.Conn, error) {
	if w.Env.Pages == nil {
		return nil, errors.New("there is no browser to open a page")
	}
	limited, cancel := deadline.WithLimit(ctx, max(w.Env.Profile.Limits.Open.Duration, openPage))
	defer cancel()
	o.MaxEvent = int(w.Env.Profile.Limits.MaxEvent)
	c, err := w.Env.Pages.Open(limited, o, w.T.Append)
	if err != nil {
		w.cut = w.cut || ctx.Err() != nil
		return nil, err
	}
	if old := w.parties[o.Party]; old != nil {
		_ = old.Close(driver.Reset)
	}
	w.parties[o.Party] = c
	return c, nil
}

// evidenceTime bounds the wait for the evidence of a page, beyond the limits of its scenario.
const evidenceTime = 5 * time.Second

// AttachPage keeps a picture of a page and its DOM with the scenario's result, if its connection offers them and it
// responds.
func (w *World) AttachPage(ctx context.Context, name string, c driver.Conn) {
	ctx, cancel := deadline.WithLimit(context.WithoutCancel(ctx),
		min(evidenceTime, w.Env.Profile.Limits.Open.Duration))
	defer cancel()
	page, ok := c.(interface {
		Shot(context.Context) ([]byte, error)
		DOM(context.Context) (string, error)
	})
	if !ok {
		return
	}
	if png, err := page.Shot(ctx); err == nil {
		w.Attach("page-"+name+".png", "image/png", png)
	}
	if dom, err := page.DOM(ctx); err == nil {
		w.Attach("page-"+name+"-dom.txt", "text/html", []byte(dom)) // as text, so that it stays inert when opened
	}
}

// Blocked is the beginning of the label of a record of a page's request to another host, which was blocked.
const Blocked = "blocked "

// TellPageTrouble adds observations about what may explain the behaviour of the scenario's pages: each blocked request
// to another host, and each exception that no code has caught. They fail no clause. Key is the profile key that permits
// such requests.
func (w *World) TellPageTrouble(key string) {
	for _, r := range w.T.All() {
		switch what, blocked := strings.CutPrefix(r.Label, Blocked); {
		case blocked && r.Kind == transcript.Ask:
			w.NoteTarget("the page asks another host, which was blocked: %s (%s permits it)", what, key)
		case r.Kind == transcript.Console && r.Type == transcript.Exception:
			first, _, _ := strings.Cut(string(r.Bytes), "\n")
			w.NoteTarget(PageException+"%s", cut.Text(first, longestException))
		}
	}
}

// PageException is the beginning of an observation about an exception in a page.
const PageException = "an exception in the page: "

// longestException is how many bytes of an exception's first line are told.
const longestException = 200
