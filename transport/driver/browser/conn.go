package browser

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/cdproto/target"
	"github.com/go-json-experiment/json"

	"parley/transport/driver"
	"parley/transport/driver/browser/snapshot"
	"parley/transport/transcript"
)

// closeTime bounds the wait for a page to disappear.
const closeTime = 2 * time.Second

const byHarness = "closed by the harness"

// errMoved is the cause of failure after the page has moved on to another document.
var errMoved = errors.New("the page has moved on to another document")

// statusError reports a document that the server refused.
type statusError struct{ status int }

func (e *statusError) Error() string { return fmt.Sprintf("the document has HTTP status %d", e.status) }

var _ driver.PageConn = (*Conn)(nil)

// Conn is an open page. It is safe for concurrent use; acts are performed one after the other, as by one user.
type Conn struct {
	b    *browser
	t    *tab
	s    *session
	o    driver.OpenOptions
	told *driver.Tap
	sink driver.Sink // the sink of told

	live   context.Context // ends with the page
	cancel context.CancelCauseFunc
	stop   chan struct{} // closed to stop handling events
	done   chan struct{} // closed when no more events are handled
	acting chan struct{} // a one-slot lock
	ending sync.Once

	telling sync.Mutex // held while a record is passed to the sink
	silent  bool       // nothing more may reach it
	last    string     // the last look recorded

	mu    sync.Mutex
	world string        // unique id of the reader's world in the document; "" between documents
	moved chan struct{} // closed and replaced when world changes
	load  *loading      // of a document on its way; nil if there is none

	header http.Header // of requests to the page's own origin; nil for none

	// Used only by the session's goroutine.
	asks     map[network.RequestID]*sentRequest
	blocked  map[string]bool
	consoles int
	chatter  int
	document struct {
		request network.RequestID
		status  int
		fault   string
	}
	crashed bool
	fault   string // what the page has used too much of; nothing it sends counts any more
	uses    uses
	faulted bool // it is recorded that the document will not come
}

// loading is a document on its way.
type loading struct {
	reply int           // record that requested it; 0: the page did
	first bool          // the page was opened with it
	done  chan struct{} // closed when it has arrived or failed
	err   error         // why it failed
}

func newConn(b *browser, t *tab, o driver.OpenOptions, sink driver.Sink) *Conn {
	told := driver.NewTap(sink)
	c := &Conn{b: b, t: t, s: t.s, o: o, told: told, sink: told.Sink, stop: make(chan struct{}), done: make(chan struct{}),
		acting: make(chan struct{}, 1),
		moved:  make(chan struct{}), asks: map[network.RequestID]*sentRequest{}, blocked: map[string]bool{},
		uses: uses{workers: map[target.SessionID]bool{}}}
	c.live, c.cancel = context.WithCancelCause(context.Background())
	c.s.handle = c.handleEvent
	go c.handleEvents()
	return c
}

// handleEvents handles the page's events until the page ends or the harness closes it.
func (c *Conn) handleEvents() {
	defer close(c.done)
	c.s.runHandlers(c.stop)
	select {
	case <-c.stop:
		return
	default:
	}
	why := c.whyEnded()
	c.cancel(errors.New(why))
	c.documentArrived(c.onItsWay(), errors.New(why))
	c.recordEnd(why)
}

// recordEnd records that the page has ended; nothing is recorded afterwards.
func (c *Conn) recordEnd(why string) {
	c.telling.Lock()
	defer c.telling.Unlock()
	if !c.silent && why != "" {
		c.sink(transcript.Record{Conn: c.o.Party, Dir: transcript.Received, Kind: transcript.Closed, Label: why})
	}
	c.silent = true
}

// appendRecord passes a record to the sink, and returns its number.
func (c *Conn) appendRecord(r transcript.Record) int {
	c.telling.Lock()
	defer c.telling.Unlock()
	if c.silent {
		return 0
	}
	r.Conn = c.o.Party
	if r.Dir == "" {
		r.Dir = transcript.Received
	}
	return c.sink(r)
}

// recordLook records a look if it differs from the last.
func (c *Conn) recordLook(l string) {
	c.telling.Lock()
	defer c.telling.Unlock()
	if c.silent || l == c.last {
		return
	}
	c.last = l
	c.sink(transcript.Record{Conn: c.o.Party, Dir: transcript.Received, Kind: transcript.Snapshot, Bytes: []byte(l)})
}

// awaitDocument begins the wait for a document that record reply requested.
func (c *Conn) awaitDocument(reply int, first bool) *loading {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.load != nil { // the previous document will not come any more
		close(c.load.done)
	}
	c.load = &loading{reply: reply, first: first, done: make(chan struct{})}
	return c.load
}

// documentArrived ends the wait for a document, unless another one is awaited by now.
func (c *Conn) documentArrived(l *loading, err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if l != nil && c.load == l {
		l.err = err
		close(l.done)
		c.load = nil
	}
}

// onItsWay returns the awaited document; nil if there is none.
func (c *Conn) onItsWay() *loading {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.load
}

// openDocument opens the first document, which record n requested.
func (c *Conn) openDocument(ctx context.Context, script string, n int) error {
	l := c.awaitDocument(n, true)
	if lang := c.o.Page.Language; lang != "" {
		startCommand(c.s, emulation.SetUserAgentOverride, emulation.SetUserAgentOverrideParams{UserAgent: c.b.agent,
			AcceptLanguage: lang})
		startCommand(c.s, emulation.SetLocaleOverride,
			emulation.SetLocaleOverrideParams{Locale: strings.ReplaceAll(lang, "-", "_")})
	}
	// The document may load in another browser process than the one that gets this command, and before it: hence the
	// wait.
	if _, err := callCommand(ctx, c.s, page.AddScriptToEvaluateOnNewDocument,
		page.AddScriptToEvaluateOnNewDocumentParams{Source: script, WorldName: worldName}); err != nil {
		return err
	}
	r := startCommand(c.s, page.Navigate, page.NavigateParams{URL: c.o.URL})
	for {
		select {
		case <-l.done:
			return l.err
		case m := <-r.answer:
			v, err := r.decode(m)
			switch {
			case err != nil:
				return err
			case v.ErrorText != "":
				return errors.New(v.ErrorText)
			}
			r.answer = nil // the document is on its way
		case <-ctx.Done():
			return fmt.Errorf("the page did not load: %w", context.Cause(ctx))
		}
	}
}

// Profile names the page's profile, for driver.Page.With of another page of the same Driver that is to share its
// cookies and storage. It lasts until its last page is closed. Its pages may request what the first one may.
func (c *Conn) Profile() string { return c.t.profile.token }

// boundByPage bounds a context by the page's life.
func (c *Conn) boundByPage(ctx context.Context) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancelCause(ctx)
	stop := context.AfterFunc(c.live, func() { cancel(context.Cause(c.live)) })
	return ctx, func() {
		stop()
		cancel(nil)
	}
}

// awaitReader waits for the reader of the document, and returns its world.
func (c *Conn) awaitReader(ctx context.Context) (string, error) {
	for {
		c.mu.Lock()
		world, moved := c.world, c.moved
		c.mu.Unlock()
		if world != "" {
			return world, nil
		}
		select {
		case <-moved:
		case <-ctx.Done():
			return "", context.Cause(ctx)
		}
	}
}

// evaluateOnce evaluates an expression in the reader's world, and decodes the result. If the document has gone
// meanwhile, the error is errMoved.
func (c *Conn) evaluateOnce(ctx context.Context, expression string, out any) error {
	world, err := c.awaitReader(ctx)
	if err != nil {
		return err
	}
	yes := true
	r, err := callCommand(ctx, c.s, runtime.Evaluate,
		runtime.EvaluateParams{Expression: expression, UniqueContextID: world,
			AwaitPromise: &yes, ReturnByValue: &yes})
	switch {
	case err != nil && ctx.Err() == nil && !errors.Is(err, errEnded):
		c.mu.Lock()
		if c.world == world { // the event that says so is on its way, or lost
			c.world = ""
		}
		c.mu.Unlock()
		return errors.Join(errMoved, err)
	case err != nil:
		return err
	case r.ExceptionDetails != nil:
		return errors.New("the reader has failed: " + exceptionText(r.ExceptionDetails))
	case out == nil || r.Result == nil || len(r.Result.Value) == 0:
		return nil
	}
	return json.Unmarshal(r.Result.Value, out, lenient)
}

// evaluateRetrying is evaluateOnce, repeated if the page has moved on meanwhile.
func (c *Conn) evaluateRetrying(ctx context.Context, expression string, out any) error {
	for {
		if err := c.evaluateOnce(ctx, expression, out); !errors.Is(err, errMoved) {
			return err
		}
	}
}

// AwaitIdle waits until the page has had several turns of its event loop, and the resulting look is recorded. If a
// document is on its way, it waits for that first.
func (c *Conn) AwaitIdle(ctx context.Context) error {
	ctx, cancel := c.boundByPage(ctx)
	defer cancel()
	if l := c.onItsWay(); l != nil {
		select {
		case <-l.done:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
	if err := c.evaluateRetrying(ctx, readerCall("settle"), nil); err != nil {
		return c.explainEnd(err)
	}
	return c.awaitRecorded(ctx)
}

// awaitRecorded waits until everything received so far is recorded.
func (c *Conn) awaitRecorded(ctx context.Context) error {
	done := make(chan struct{})
	c.s.queueHandler(func() { close(done) })
	select {
	case <-done:
		return nil
	case <-c.done:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// explainEnd replaces errEnded by the reason why the page ended.
func (c *Conn) explainEnd(err error) error {
	if errors.Is(err, errEnded) {
		<-c.done // then the reason is known
	}
	if cause := context.Cause(c.live); cause != nil {
		return cause
	}
	return err
}

// Look returns the present state of the page. It records nothing.
func (c *Conn) Look(ctx context.Context) (snapshot.Page, error) {
	ctx, cancel := c.boundByPage(ctx)
	defer cancel()
	var s string
	var l snapshot.Page
	if err := c.evaluateRetrying(ctx, readerCall("look"), &s); err != nil {
		return l, c.explainEnd(err)
	}
	if err := json.Unmarshal([]byte(s), &l, lenient); err != nil {
		return l, fmt.Errorf("decode look: %w", err)
	}
	return l, nil
}

// Shot returns a screenshot of the viewport as PNG.
func (c *Conn) Shot(ctx context.Context) ([]byte, error) {
	ctx, cancel := c.boundByPage(ctx)
	defer cancel()
	r, err := callCommand(ctx, c.s, page.CaptureScreenshot,
		page.CaptureScreenshotParams{Format: page.CaptureScreenshotFormatPng})
	if err != nil {
		return nil, c.explainEnd(err)
	}
	return r.Data, nil
}

// DOM returns the page's body as HTML without scripts and styles, at most 256 KiB.
func (c *Conn) DOM(ctx context.Context) (string, error) {
	ctx, cancel := c.boundByPage(ctx)
	defer cancel()
	var s string
	if err := c.evaluateRetrying(ctx, readerCall("dom"), &s); err != nil {
		return "", c.explainEnd(err)
	}
	return s, nil
}

// Close implements driver.Conn: it closes the page. Graceful waits until the page is gone, Reset does not. The
// profile goes with its last page.
func (c *Conn) Close(how driver.CloseMode) error {
	c.told.Close()
	c.finishPage(byHarness, how == driver.Graceful)
	return nil
}

// closeUnopened closes a page that was never recorded as open.
func (c *Conn) closeUnopened(why string) { c.finishPage(why, false) }

func (c *Conn) finishPage(why string, wait bool) {
	c.ending.Do(func() {
		c.cancel(driver.ErrClosed)
		close(c.stop)
		<-c.done
		c.recordEnd(why)
		c.acting <- struct{}{} // waits for a pending act
		<-c.acting
		c.b.closeTab(c.t, wait)
		c.b.forgetPage(c)
	})
	<-c.done
}
