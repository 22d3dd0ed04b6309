package browser

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/go-json-experiment/json"
	"go.uber.org/goleak"

	"parley/internal/tier"
	"parley/transport/driver"
	"parley/transport/driver/browser/snapshot"
	"parley/transport/transcript"
)

// within bounds each wait of a test.
const within = time.Minute

// shared is the driver of most tests, since a browser is slow to start.
var shared = New(Options{})

type run struct{ m *testing.M }

// Run runs the tests, and ends the shared browser before goroutines are counted.
func (r run) Run() int {
	defer tier.AllPages()()
	code := r.m.Run()
	if err := shared.Close(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		code = 1
	}
	return code
}

func TestMain(m *testing.M) { goleak.VerifyTestMain(run{m}) }

// site serves pages and whatever else they request.
type site struct {
	*httptest.Server
	mu     sync.Mutex
	pages  map[string]string // HTML by path
	handle map[string]http.HandlerFunc
}

func serve(t testing.TB, html string) *site {
	t.Helper()
	s := &site{pages: map[string]string{"/": html}, handle: map[string]http.HandlerFunc{}}
	s.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		s.mu.Lock()
		html, ok := s.pages[r.URL.Path]
		h := s.handle[r.URL.Path]
		s.mu.Unlock()
		switch {
		case h != nil:
			h(w, r)
		case ok:
			w.Header().Set("Content-Type", "text/html; charset=utf-8")
			_, _ = io.WriteString(w, "<!doctype html><title>t</title>"+html)
		default:
			http.NotFound(w, r)
		}
	}))
	t.Cleanup(func() {
		s.CloseClientConnections()
		s.Close()
	})
	return s
}

// tester is a page with its transcript.
type tester struct {
	*testing.T
	ctx context.Context
	log *transcript.Transcript
	c   *Conn
}

func bounded(t *testing.T) context.Context {
	ctx, cancel := context.WithTimeout(t.Context(), within)
	t.Cleanup(cancel)
	return ctx
}

// openPage opens a page; it is closed when the test ends.
func openPage(t *testing.T, d *Driver, url string, p driver.Page) *tester {
	t.Helper()
	u := &tester{T: t, ctx: bounded(t), log: transcript.New(nil)}
	c, err := d.Open(u.ctx, driver.OpenOptions{Party: "A", URL: url, Page: &p}, u.log.Append)
	if err != nil {
		t.Fatalf("Open: %v", err)
	}
	u.c = c.(*Conn)
	t.Cleanup(func() { _ = c.Close(driver.Reset) })
	return u
}

// openHTML opens a page with the given HTML.
func openHTML(t *testing.T, html string, p driver.Page) *tester {
	t.Helper()
	return openPage(t, shared, serve(t, html).URL+"/", p)
}

// acts performs an act that must succeed.
func (u *tester) acts(body string) int {
	u.Helper()
	n, err := u.c.Send(u.ctx, driver.Message{Body: []byte(body)})
	if err != nil {
		u.Fatalf("%s: %v", body, err)
	}
	return n
}

func (u *tester) settles() {
	u.Helper()
	if err := u.c.AwaitIdle(u.ctx); err != nil {
		u.Fatalf("Settle: %v", err)
	}
}

// presentPage returns the present state of the page.
func (u *tester) presentPage() snapshot.Page {
	u.Helper()
	l, err := u.c.Look(u.ctx)
	if err != nil {
		u.Fatalf("Look: %v", err)
	}
	return l
}

// await waits for a record.
func (u *tester) await(mark int, what string, match func(*transcript.Record) bool) transcript.Record {
	u.Helper()
	r, err := u.log.Await(u.ctx, mark, match)
	if err != nil {
		u.Fatalf("no %s: %v; there is:\n%s", what, err, u.recordLines())
	}
	return r
}

// awaitKind waits for a record of a kind whose label has the given prefix.
func (u *tester) awaitKind(mark int, k transcript.Kind, label string) transcript.Record {
	u.Helper()
	return u.await(mark, string(k)+" "+label, func(r *transcript.Record) bool {
		return r.Kind == k &&
			strings.HasPrefix(r.Label, label)
	})
}

// awaitSnapshot waits for a matching look.
func (u *tester) awaitSnapshot(mark int, what string, match func(snapshot.Page) bool) transcript.Record {
	u.Helper()
	return u.await(mark, "look with "+what, func(r *transcript.Record) bool {
		return r.Kind == transcript.Snapshot && match(decode(u.T, r.Bytes))
	})
}

func decode(t *testing.T, b []byte) (l snapshot.Page) {
	t.Helper()
	if err := json.Unmarshal(b, &l, json.RejectUnknownMembers(true)); err != nil {
		t.Fatalf("a look cannot be decoded: %v\n%s", err, b)
	}
	return l
}

func (u *tester) recordLines() string {
	var b strings.Builder
	for _, r := range u.log.All() {
		b.WriteString(r.Line(300) + "\n")
	}
	return b.String()
}

// count counts the records of a kind whose label has the given prefix.
func (u *tester) count(k transcript.Kind, label string) (n int) {
	for _, r := range u.log.All() {
		if r.Kind == k && strings.HasPrefix(r.Label, label) {
			n++
		}
	}
	return n
}
