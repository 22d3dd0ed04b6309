// Package browser drives web pages: it opens them in headless Chromium, acts on them as a user would, and records
// what a user would see and what the page requests from its server.
//
// One browser runs for all pages of a [Driver]; the first Open starts it, Close ends it. Each page has its own
// window, 1280x800, and a fresh profile, unless driver.Page.With names another page's. For root the browser runs
// without its sandbox, which does not support root. Frames within a page and closed shadow roots are not read.
//
// Records of a page, received unless noted otherwise:
//
//   - Open (sent, then received with the document's HTTP status once it has loaded; received again for each later
//     document, with Reply being the act that requested it, or 0 if the page did);
//   - Snapshot whenever the visible state has changed (see package snapshot), at the end of a task of the page;
//   - Act (sent) for each user act, and Failure if a user could not perform it;
//   - Ask for each network request of the page, in order, and Answered when it has ended. A request to a host that is
//     neither loopback nor the page's own nor allowed is refused on this machine, and recorded once per URL, with a
//     Label that begins "blocked ";
//   - Dialog, which is accepted at once, and Console;
//   - Closed when the page has crashed or closed itself, the browser has ended, or the harness has closed it.
package browser

import (
	"context"
	"crypto/sha256"
	"crypto/tls"
	"encoding/base64"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"sync"
	"time"

	cdpbrowser "github.com/chromedp/cdproto/browser"
	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/fetch"
	"github.com/chromedp/cdproto/security"

	"parley/internal/deadline"
	"parley/internal/unixurl"
	"parley/transport/driver"
	"parley/transport/transcript"
)

// Name is the driver's name on the command line and in results.
const Name = "browser"

// Options say which browser is used.
type Options struct {
	Command string // program name or path; "": the first that [Find] finds

	// TLS says which certificates pages at https URLs may have: with RootCAs what these authorities have signed, which is
	// checked for the host of the page; with InsecureSkipVerify any, also of other hosts. Nil: the browser decides. The
	// browser presents no certificate. One browser accepts only the keys of its first page's host.
	TLS *tls.Config

	// Header is sent with the requests of pages to their own origins, but not by their workers and WebSockets.
	Header http.Header
}

// Driver opens pages in one browser. It is safe for concurrent use.
type Driver struct {
	o    Options
	turn chan struct{} // a one-slot lock for starting and ending the browser

	mu     sync.Mutex
	b      *browser
	closed bool
}

// New makes a driver. It does not start the browser yet.
func New(o Options) *Driver { return &Driver{o: o, turn: make(chan struct{}, 1)} }

// Name implements driver.Driver.
func (*Driver) Name() string { return Name }

// Open implements driver.Driver: it opens o.URL in a page, and returns once the page has loaded and the first look at
// it is recorded. The Conn is a *[Conn]. If there is no browser, the error is a *[MissingError].
func (d *Driver) Open(ctx context.Context, o driver.OpenOptions, sink driver.Sink) (driver.Conn, error) {
	if o.Page == nil {
		o.Page = &driver.Page{}
	}
	n := sink(transcript.Record{Conn: o.Party, Dir: transcript.Sent, Kind: transcript.Open, Label: "GET " + o.URL})
	c, err := d.openPage(ctx, o, sink, n)
	if err == nil {
		return c, nil
	}
	r := transcript.Record{Conn: o.Party, Dir: transcript.Received, Kind: transcript.Failure, Label: err.Error(), Reply: n}
	e := &driver.OpenError{URL: o.URL, Err: err}
	var status *statusError
	if errors.As(err, &status) {
		e.Status, r.Status, r.Kind = status.status, status.status, transcript.Response
	}
	sink(r)
	var missing *MissingError
	if errors.As(err, &missing) {
		return nil, missing
	}
	return nil, e
}

func (d *Driver) openPage(ctx context.Context, o driver.OpenOptions, sink driver.Sink, n int) (*Conn, error) {
	hosts, err := allowedHosts(o.URL, o.Page.Allow)
	if err != nil {
		return nil, err
	}
	script, err := readerFor(o.Page)
	if err != nil {
		return nil, err
	}
	pin, err := d.certificatePin(ctx, o.URL)
	if err != nil {
		return nil, err
	}
	b, err := d.runningBrowser(ctx, pin)
	if err != nil {
		return nil, err
	}
	t, err := b.takeTab(ctx, o.Page.With, hosts)
	if err != nil {
		return nil, b.explainEnd(err)
	}
	c := newConn(b, t, o, sink)
	if !b.registerPage(c) {
		c.closeUnopened("")
		return nil, errEnded
	}
	c.prepareTab(d.o)
	if err := c.openDocument(ctx, script, n); err != nil {
		c.closeUnopened("")
		return nil, b.explainEnd(err)
	}
	b.makeSpareTab()
	return c, nil
}

// runningBrowser returns the browser, and starts one, which accepts a key, if none is running.
func (d *Driver) runningBrowser(ctx context.Context, pin string) (*browser, error) {
	select {
	case d.turn <- struct{}{}:
		defer func() { <-d.turn }()
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
	d.mu.Lock()
	b, closed := d.b, d.closed
	d.mu.Unlock()
	switch {
	case closed:
		return nil, driver.ErrClosed
	case b != nil && !b.isLost() && pin != "" && pin != b.pin:
		return nil, errors.New("the host has another key than the first page had, and the browser accepts no other")
	case b != nil && !b.isLost():
		return b, nil
	case b != nil:
		_ = b.stop() // clean up its remains
	}
	path, err := Find(d.o.Command)
	if err != nil {
		return nil, err
	}
	if b, err = startBrowser(ctx, path, pin); err != nil {
		return nil, err
	}
	d.mu.Lock()
	d.b = b
	d.mu.Unlock()
	return b, nil
}

// Close closes every page, ends the browser and removes its folder. Nothing can be opened afterwards.
func (d *Driver) Close() error {
	d.turn <- struct{}{}
	defer func() { <-d.turn }()
	d.mu.Lock()
	b := d.b
	d.b, d.closed = nil, true
	d.mu.Unlock()
	if b == nil {
		return nil
	}
	for _, c := range b.openPages() {
		_ = c.Close(driver.Reset)
	}
	return b.stop()
}

// browser is a running browser.
type browser struct {
	p     *process
	c     *client
	fence *fence // for the browser's own requests, which are not needed
	agent string // its user agent
	pin   string // the key that it accepts besides those that the system trusts; "" for none

	live context.Context // ends with the browser
	stop func() error    // ends it; may be called again
	work sync.WaitGroup

	mu       sync.Mutex
	stopping bool
	n        int
	conns    map[*Conn]bool
	profiles map[string]*profile
	spare    *spare
}

func startBrowser(ctx context.Context, path, pin string) (*browser, error) {
	f, err := newFence(nil)
	if err != nil {
		return nil, err
	}
	p, err := startProcess(path, f.address(), pin)
	if err != nil {
		f.close()
		return nil, err
	}
	b := &browser{p: p, c: newClient(p.out, p.in), fence: f, pin: pin, conns: map[*Conn]bool{},
		profiles: map[string]*profile{}}
	live, cancel := context.WithCancelCause(context.Background())
	b.live = live
	b.stop = sync.OnceValue(func() error {
		b.mu.Lock()
		b.stopping = true
		b.mu.Unlock()
		cancel(driver.ErrClosed)
		err := b.p.stop()
		b.c.close()
		b.work.Wait()
		b.fence.close()
		b.mu.Lock()
		defer b.mu.Unlock()
		for _, p := range b.profiles {
			p.fence.close()
		}
		return err
	})
	v, err := callCommand(ctx, b.c.browserSession(), cdpbrowser.GetVersion, cdp.Empty{})
	if err != nil {
		err = b.explainEnd(err)
		return nil, errors.Join(fmt.Errorf("start %s: %w", path, err), b.stop())
	}
	b.agent = v.UserAgent
	b.makeSpareTab()
	return b, nil
}

func (b *browser) isLost() bool {
	select {
	case <-b.c.lost:
		return true
	default:
		return false
	}
}

// explainEnd replaces errEnded by how the browser ended, if it has.
func (b *browser) explainEnd(err error) error {
	if !errors.Is(err, errEnded) || !b.isLost() {
		return err
	}
	return errors.New(b.endError())
}

// endError says how the browser ended, once it has.
func (b *browser) endError() string {
	b.mu.Lock()
	stopping := b.stopping
	b.mu.Unlock()
	if stopping {
		return byHarness
	}
	ctx, cancel := deadline.WithLimit(context.Background(), killWait)
	defer cancel()
	select {
	case <-b.p.exited:
		return b.p.describeExit()
	case <-ctx.Done():
		return "the browser no longer responds"
	}
}

// registerPage registers an open page; false if the browser is being stopped.
func (b *browser) registerPage(c *Conn) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	if !b.stopping {
		b.conns[c] = true
	}
	return !b.stopping
}

func (b *browser) forgetPage(c *Conn) {
	b.mu.Lock()
	defer b.mu.Unlock()
	delete(b.conns, c)
}

func (b *browser) openPages() []*Conn {
	b.mu.Lock()
	defer b.mu.Unlock()
	var out []*Conn
	for c := range b.conns {
		out = append(out, c)
	}
	return out
}

// names are the programs to look for, in this order. The headless shells are the same engine without the window
// decoration, and take half of the processor time.
var names = []string{"chromium-headless-shell", "chrome-headless-shell", "chromium", "chromium-browser",
	"google-chrome", "google-chrome-stable", "chrome"}

// apps are their paths on macOS.
var apps = []string{
	"/Applications/Chromium.app/Contents/MacOS/Chromium",
	"/Applications/Google Chrome.app/Contents/MacOS/Google Chrome",
}

// MissingError reports that no browser was found.
type MissingError struct {
	Command string // the requested one; "": any
	Err     error  // why the requested one cannot be started
	Key     string // profile key that names the browser; "": unknown
}

func (e *MissingError) Error() string {
	mend := "on Debian: apt-get install chromium, or the faster chromium-headless-shell; or name the program in the " +
		"profile"
	if e.Key != "" {
		mend += ": " + e.Key
	}
	if e.Command != "" {
		return "the browser " + e.Command + " cannot be started: " + e.Err.Error() + " (" + mend + ")"
	}
	return "no browser was found, neither Chromium nor Chrome (" + mend + ")"
}

func (e *MissingError) Unwrap() error { return e.Err }

// Find returns the path of a browser. If command is not empty, it is a path or a name on the PATH. Otherwise Find
// returns the first of chromium-headless-shell, chrome-headless-shell, chromium, chromium-browser, google-chrome,
// google-chrome-stable and chrome on the PATH, and on macOS also looks among the applications. The error is a
// *MissingError.
func Find(command string) (string, error) {
	if command != "" {
		path, err := exec.LookPath(command)
		if err != nil {
			return "", &MissingError{Command: command, Err: err}
		}
		return path, nil
	}
	for _, name := range names {
		if path, err := exec.LookPath(name); err == nil {
			return path, nil
		}
	}
	if runtime.GOOS == "darwin" {
		for _, path := range apps {
			if _, err := os.Stat(path); err == nil {
				return path, nil
			}
		}
	}
	return "", &MissingError{}
}

// The browser checks certificates by itself, and knows no authority but the system's. With other authorities we
// therefore check the certificate of the page's host, and the browser accepts its key: a switch of the whole browser.

// pinTime bounds the check of a host's certificate.
const pinTime = 5 * time.Second

// pinFlag is the switch that names accepted keys.
const pinFlag = "--ignore-certificate-errors-spki-list="

// certificatePin returns the key that the browser must accept to open a URL; "" if the browser decides alone. The
// host's certificate is checked first.
func (d *Driver) certificatePin(ctx context.Context, address string) (string, error) {
	u, err := url.Parse(address)
	if err != nil || u.Scheme != "https" || d.o.TLS == nil || d.o.TLS.InsecureSkipVerify || d.o.TLS.RootCAs == nil {
		return "", err
	}
	limited, cancel := deadline.WithLimit(ctx, pinTime)
	defer cancel()
	c, err := unixurl.DialTLS(limited, "tcp", hostPort(address), d.o.TLS)
	if err != nil {
		return "", fmt.Errorf("check the certificate of %s: %w", u.Host, err)
	}
	defer c.Close()
	leaf := c.(*tls.Conn).ConnectionState().PeerCertificates[0]
	sum := sha256.Sum256(leaf.RawSubjectPublicKeyInfo)
	return base64.StdEncoding.EncodeToString(sum[:]), nil
}

// prepareTab prepares a tab for the certificates and headers of its page, before it navigates.
func (c *Conn) prepareTab(o Options) {
	if o.TLS != nil && o.TLS.InsecureSkipVerify {
		startCommand(c.s, security.SetIgnoreCertificateErrors, security.SetIgnoreCertificateErrorsParams{Ignore: true})
	}
	u, err := url.Parse(c.o.URL)
	if err != nil || len(o.Header) == 0 || u.Host == "" {
		return
	}
	c.header = o.Header
	startCommand(c.s, fetch.Enable, fetch.EnableParams{Patterns: []*fetch.RequestPattern{
		{URLPattern: u.Scheme + "://" + u.Host + "/*", RequestStage: fetch.RequestStageRequest}}})
}

// pausedEvent has the relevant fields of a request that waits for its headers.
type pausedEvent struct {
	RequestID fetch.RequestID `json:"requestId"`
	Request   struct {
		Headers map[string]string `json:"headers"`
	} `json:"request"`
}

// onPaused lets a request to the page's own origin go on with our headers.
func (c *Conn) onPaused(e pausedEvent) {
	var all []*fetch.HeaderEntry
	for name, value := range e.Request.Headers {
		if c.header.Get(name) == "" {
			all = append(all, &fetch.HeaderEntry{Name: name, Value: value})
		}
	}
	for name, values := range c.header {
		all = append(all, &fetch.HeaderEntry{Name: http.CanonicalHeaderKey(name), Value: strings.Join(values, ", ")})
	}
	startCommand(c.s, fetch.ContinueRequest, fetch.ContinueRequestParams{RequestID: e.RequestID, Headers: all})
}
