package browser

import (
	"fmt"
	"strings"
	"time"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/cdproto/target"
)

// What one page may use before it is ended. A client of a chat server stays far below each of them; a page beyond one
// would keep the browser from showing the others.
const (
	maxDialogs   = 200   // in all
	maxWindows   = 20    // opened in all
	maxWorkers   = 32    // at once
	maxRequests  = 700   // within burst, except for files
	maxFiles     = 20000 // in all; a development server may serve each module as a file of its own
	maxDocuments = 100   // requested in all

	burst = 10 * time.Second
)

// Beginnings of the label of the Closed record of a page that ended by its own fault.
const (
	crashed = "the page has crashed"
	excess  = "the page was ended: "
)

// ByFault reports whether the label of a Closed record says that the page ended by its own fault: its renderer has
// crashed, or it used more than a page may.
func ByFault(label string) bool {
	return strings.HasPrefix(label, crashed) || strings.HasPrefix(label, excess)
}

// uses counts what a page has used. Only the session's goroutine changes it.
type uses struct {
	dialogs, windows, files, documents int

	requests int       // of the present burst
	began    time.Time // when it did
	workers  map[target.SessionID]bool
}

// count adds one to a count, and ends the page if that is more than it may have.
func (c *Conn) count(n *int, most int, what string) {
	if *n++; *n > most {
		c.exceed(fmt.Sprintf("%s, more than %d", what, most))
	}
}

// countRequest counts a request, apart from one for a document, and ends the page if there are too many.
func (c *Conn) countRequest(kind string) {
	switch kind {
	case "script", "stylesheet", "image", "font", "media":
		c.count(&c.uses.files, maxFiles, "it has requested files without end")
	case "document":
	default:
		if now := time.Now(); now.Sub(c.uses.began) > burst {
			c.uses.began, c.uses.requests = now, 0
		}
		if c.uses.requests++; c.uses.requests > maxRequests {
			c.exceed(fmt.Sprintf("it has sent requests without end, more than %d within %.0f s", maxRequests,
				burst.Seconds()))
		}
	}
}

// exceed ends the page, which has used more than it may. Its renderer is crashed, as it may not respond to anything
// else.
func (c *Conn) exceed(what string) {
	if c.fault != "" {
		return
	}
	c.fault = excess + what
	start(c.s, page.Crash, cdp.Empty{})
	c.s.c.end(c.s.id)
}

// onWorker counts a worker of the page, and prepares it.
func (c *Conn) onWorker(e target.EventAttachedToTarget) {
	c.uses.workers[e.SessionID] = true
	if len(c.uses.workers) > maxWorkers {
		c.exceed(fmt.Sprintf("it has started workers without end, more than %d at once", maxWorkers))
		return
	}
	c.prepareWorker(e.SessionID)
}

func (c *Conn) onWorkerGone(e target.EventDetachedFromTarget) { delete(c.uses.workers, e.SessionID) }

// whyEnded says why the page has ended by itself.
func (c *Conn) whyEnded() string {
	switch {
	case c.fault != "":
		return c.fault
	case c.crashed && c.b.p.watch.justKilled():
		return crashed + ": " + overMemory
	case c.crashed:
		return crashed
	case c.b.isLost():
		return c.b.ended()
	}
	return "the page closed itself"
}
