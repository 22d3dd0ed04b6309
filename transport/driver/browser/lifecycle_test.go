package browser

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/chromedp/cdproto/target"

	"parley/transport/driver"
	"parley/transport/driver/browser/snapshot"
	"parley/transport/transcript"
)

// TestNamesElsewhere: scripts that look for a browser before the tests use the same names as the product.
func TestNamesElsewhere(t *testing.T) {
	for _, file := range []string{"../../../test/tools.sh", "../../../.ci/run"} {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if want := strings.Join(names, " "); !strings.Contains(string(text), want) {
			t.Errorf("%s does not look for %s", file, want)
		}
	}
}

func TestFind(t *testing.T) {
	path, err := Find("")
	if err != nil {
		t.Fatal(err)
	}
	if again, err := Find(path); err != nil || again != path {
		t.Errorf("Find(%q) is %q, %v", path, again, err)
	}
	var missing *MissingError
	if _, err := Find("no-such-browser"); !errors.As(err, &missing) || !strings.Contains(err.Error(), "no-such-browser") ||
		!strings.Contains(err.Error(), "name the program in the profile") {
		t.Errorf("Find of what is not there: %v", err)
	}
	t.Setenv("PATH", t.TempDir())
	if _, err := Find(""); !errors.As(err, &missing) || !strings.Contains(err.Error(), "apt-get install chromium") {
		t.Errorf("Find of nothing: %v", err)
	}
	log := transcript.New(nil)
	d := New(Options{Command: "no-such-browser"})
	if _, err := d.Open(t.Context(), driver.OpenOptions{Party: "A", URL: "http://127.0.0.1/"}, log.Append); !errors.As(err,
		&missing) {
		t.Errorf("Open without a browser: %v", err)
	}
	if all := log.All(); len(all) != 2 || all[1].Kind != transcript.Failure || all[1].Reply != 1 {
		t.Errorf("recorded is %v", all)
	}
	_ = d.Close()
}

func TestOpenIsTold(t *testing.T) {
	u := openHTML(t, "<p>hi</p>", driver.Page{})
	all := u.log.All()
	if r := all[0]; r.Kind != transcript.Open || r.Dir != transcript.Sent || r.Conn != "A" {
		t.Errorf("first is %s", r.Line(200))
	}
	open := u.awaitKind(1, transcript.Open, "page")
	if open.Reply != 1 || open.Status != 200 || open.Dir != transcript.Received {
		t.Errorf("opened is %s", open.Line(200))
	}
	for _, r := range all[:open.N] {
		if r.Kind == transcript.Snapshot {
			t.Errorf("a look before the page is open: %s", r.Line(200))
		}
	}
	if r := all[len(all)-1]; r.Kind != transcript.Snapshot && r.Kind != transcript.Answered {
		t.Errorf("last is %s", r.Line(200))
	}
	u.awaitKind(open.N, transcript.Snapshot, "")
}

func TestOpenErrors(t *testing.T) {
	site := serve(t, "<p>hi</p>")
	let := make(chan struct{})
	defer close(let)
	site.handle["/slow"] = func(_ http.ResponseWriter, r *http.Request) {
		select {
		case <-let:
		case <-r.Context().Done():
		}
	}
	site.handle["/none"] = func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusInternalServerError) }
	short, cancel := context.WithCancel(t.Context())
	defer cancel()
	rows := []struct {
		reason, url string
		ctx         context.Context
		page        driver.Page
		status      int
		want        string
	}{
		{"a page that is not there", site.URL + "/x", bounded(t), driver.Page{}, 404, "404"},
		{"an answer without a page", site.URL + "/none", bounded(t), driver.Page{}, 0, "ERR_HTTP_RESPONSE_CODE_FAILURE"},
		{"no server", "http://127.0.0.1:1/", bounded(t), driver.Page{}, 0, "ERR_"},
		{"no URL", "http://[", bounded(t), driver.Page{}, 0, "missing"},
		{"no profile to share", site.URL + "/", bounded(t), driver.Page{With: "nobody"}, 0,
			"the page whose profile it should share is gone"},
		{"an invalid host in Allow", site.URL + "/", bounded(t), driver.Page{Allow: []string{"a;b"}}, 0,
			"not a host that could be allowed"},
		{"it takes too long", site.URL + "/slow", short, driver.Page{}, 0, "context canceled"},
	}
	for _, r := range rows {
		t.Run(r.reason, func(t *testing.T) {
			log := transcript.New(nil)
			if r.ctx == short {
				go func() {
					_, _ = log.Await(bounded(t), 0, func(r *transcript.Record) bool { return r.Kind == transcript.Ask })
					cancel()
				}()
			}
			_, err := shared.Open(r.ctx, driver.OpenOptions{Party: "A", URL: r.url, Page: &r.page}, log.Append)
			var e *driver.OpenError
			if !errors.As(err, &e) {
				t.Fatalf("Open is %v", err)
			}
			if e.Status == http.StatusInternalServerError && r.status == 0 {
				// a headless shell shows an empty page instead of an error page
				r.status, r.want = e.Status, "500"
			}
			if e.Status != r.status || !strings.Contains(err.Error(), r.want) {
				t.Fatalf("Open is %v", err)
			}
			all := log.All()
			last := all[len(all)-1]
			if last.Reply != 1 || last.Status != r.status || (last.Kind != transcript.Failure &&
				last.Kind != transcript.Response) {
				t.Errorf("last is %s", last.Line(200))
			}
		})
	}
}

func TestCrash(t *testing.T) {
	u := openHTML(t, `<p>hi</p>`, driver.Page{})
	n := u.acts(`{"do":"open","url":"chrome://crash"}`)
	if r := u.awaitKind(n, transcript.Closed, ""); r.Label != "the page has crashed" {
		t.Errorf("closed is %s", r.Line(200))
	}
	if err := u.c.AwaitIdle(u.ctx); err == nil || err.Error() != "the page has crashed" {
		t.Errorf("Settle: %v", err)
	}
	var no *ActError
	if _, err := u.c.Send(u.ctx, driver.Message{Body: []byte(`{"do":"press","key":"Enter"}`)}); !errors.As(err, &no) {
		t.Errorf("Send: %v", err)
	}
}

func TestPageIsClosed(t *testing.T) {
	u := openHTML(t, "<p>hi</p>", driver.Page{})
	startCommand(u.c.b.c.browserSession(), target.CloseTarget, target.CloseTargetParams{TargetID: u.c.t.id})
	if r := u.awaitKind(0, transcript.Closed, ""); r.Label != "the page closed itself" {
		t.Errorf("closed is %s", r.Line(200))
	}
}

// TestBrowserDies: every page records it, and the next one opens in a new browser.
func TestBrowserDies(t *testing.T) {
	d := New(Options{})
	defer func() { _ = d.Close() }()
	site := serve(t, "<p>hi</p>")
	a, b := openPage(t, d, site.URL+"/", driver.Page{}), openPage(t, d, site.URL+"/", driver.Page{})
	p := d.b.p
	process, err := os.FindProcess(p.pid)
	if err == nil {
		err = process.Kill()
	}
	if err != nil {
		t.Fatal(err)
	}
	for _, u := range []*tester{a, b} {
		if r := u.awaitKind(0, transcript.Closed, ""); !strings.HasPrefix(r.Label, "the browser has ended (signal: killed)") {
			t.Errorf("closed is %s", r.Line(200))
		}
	}
	c := openPage(t, d, site.URL+"/", driver.Page{})
	if c.presentPage().Text != "hi" || d.b.p == p {
		t.Error("there is no other browser")
	}
	if _, err := os.Stat(p.folder); !os.IsNotExist(err) {
		t.Errorf("the folder of the first is left: %v", err)
	}
	folder := d.b.p.folder
	if err := d.Close(); err != nil {
		t.Fatal(err)
	}
	if r := c.awaitKind(0, transcript.Closed, ""); r.Label != byHarness {
		t.Errorf("closed is %s", r.Line(200))
	}
	if _, err := os.Stat(folder); !os.IsNotExist(err) {
		t.Errorf("the folder of the second is left: %v", err)
	}
	if _, err := d.Open(c.ctx, driver.OpenOptions{URL: site.URL}, transcript.New(nil).Append); !errors.Is(err,
		driver.ErrClosed) {
		t.Errorf("Open after Close: %v", err)
	}
}

// TestBrowserDoesNotStart: the error contains its last output.
func TestBrowserDoesNotStart(t *testing.T) {
	path := filepath.Join(t.TempDir(), "browser")
	if err := os.WriteFile(path, []byte("#!/bin/sh\necho no display today >&2\nexit 3\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	d := New(Options{Command: path})
	defer func() { _ = d.Close() }()
	_, err := d.Open(bounded(t), driver.OpenOptions{URL: "http://127.0.0.1/"}, transcript.New(nil).Append)
	if err == nil || !strings.Contains(err.Error(), "exit status 3") ||
		!strings.Contains(err.Error(), "no display today") {
		t.Errorf("Open: %v", err)
	}
}

func TestProfiles(t *testing.T) {
	site := serve(t, `<p id=p></p><script>p.textContent=localStorage.k+' '+document.cookie;localStorage.k='kept';`+
		`document.cookie='c=1'</script>`)
	a := openPage(t, shared, site.URL+"/", driver.Page{})
	b := openPage(t, shared, site.URL+"/", driver.Page{With: a.c.Profile()})
	other := openPage(t, shared, site.URL+"/", driver.Page{})
	if got := []string{a.presentPage().Text, b.presentPage().Text, other.presentPage().Text}; strings.Join(got,
		"|") != "undefined|kept c=1|undefined" {
		t.Errorf("the pages show %q", got)
	}
	if a.c.Profile() != b.c.Profile() || a.c.Profile() == other.c.Profile() {
		t.Error("profiles are not named apart")
	}
	_ = a.c.Close(driver.Graceful)
	if got := b.presentPage().Text; got != "kept c=1" {
		t.Errorf("after the first has gone, the second shows %q", got)
	}
	third := openPage(t, shared, site.URL+"/", driver.Page{With: b.c.Profile()})
	if got := third.presentPage().Text; got != "kept c=1" {
		t.Errorf("the third shows %q", got)
	}
	u := &tester{T: t, ctx: bounded(t), log: transcript.New(nil)}
	if _, err := shared.Open(u.ctx, driver.OpenOptions{URL: site.URL,
		Page: &driver.Page{With: b.c.Profile(), Allow: []string{"a.example"}}}, u.log.Append); err == nil ||
		!strings.Contains(err.Error(), "does not allow a.example") {
		t.Errorf("a wider page beside: %v", err)
	}
}

// TestManyPages: each page gets only its own records.
func TestManyPages(t *testing.T) {
	site := serve(t, `<button id=b onclick="document.body.append('clicked '+location.search)">Go</button>`)
	ctx := bounded(t)
	var all sync.WaitGroup
	for i := range 8 {
		all.Go(func() {
			log := transcript.New(nil)
			c, err := shared.Open(ctx, driver.OpenOptions{Party: fmt.Sprint(i), URL: fmt.Sprintf("%s/?page%d", site.URL, i),
				Page: &driver.Page{Controls: map[string]string{"go": "#b"}}}, log.Append)
			if err != nil {
				t.Error(err)
				return
			}
			defer func() { _ = c.Close(driver.Graceful) }()
			n, err := c.Send(ctx, driver.Message{Body: []byte(`{"do":"click","on":"go"}`)})
			if err != nil {
				t.Error(err)
			}
			want := fmt.Sprintf("clicked ?page%d", i)
			if _, err := log.Await(ctx, n, func(r *transcript.Record) bool {
				return r.Kind == transcript.Snapshot && strings.Contains(decode(t, r.Bytes).Text, want)
			}); err != nil {
				t.Errorf("page %d does not show it: %v", i, err)
			}
		})
	}
	all.Wait()
}

// TestClose: a pending act ends, and nothing is recorded afterwards.
func TestClose(t *testing.T) {
	site := serve(t, `<button id=b>Go</button><script>let n=0;setInterval(()=>{document.title=n++;b.textContent='Go '+n;`+
		`console.error(n)},0);b.onclick=()=>{const end=Date.now()+60000;fetch('/busy');while(Date.now()<end);}</script>`)
	site.handle["/busy"] = func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "ok") }
	u := openPage(t, shared, site.URL+"/", driver.Page{Controls: map[string]string{"go": "#b"}})
	u.awaitSnapshot(0, "some turns", func(l snapshot.Page) bool { return strings.Contains(l.Text, "Go 9") })
	done := make(chan error, 1)
	go func() {
		_, err := u.c.Send(u.ctx, driver.Message{Body: []byte(`{"do":"click","on":"go"}`)})
		done <- err
	}()
	u.awaitKind(0, transcript.Act, "click go")
	_ = u.c.Close(driver.Graceful)
	after := u.log.Len()
	if err := <-done; err != nil && !errors.Is(err, driver.ErrClosed) {
		t.Errorf("the act: %v", err)
	}
	if _, err := u.c.Send(u.ctx, driver.Message{Body: []byte(`{"do":"reload"}`)}); !errors.Is(err, driver.ErrClosed) {
		t.Errorf("Send after Close: %v", err)
	}
	for name, err := range map[string]error{"Settle": u.c.AwaitIdle(u.ctx), "Close": u.c.Close(driver.Reset)} {
		if err != nil && !errors.Is(err, driver.ErrClosed) {
			t.Errorf("%s after Close: %v", name, err)
		}
	}
	if r := u.log.All()[after-1]; r.Kind != transcript.Closed || r.Label != byHarness || u.log.Len() != after {
		t.Errorf("last is %s, and %d records more", r.Line(200), u.log.Len()-after)
	}
}

// TestEnvironment: variables that Chromium would set are set in advance, and existing ones stay.
func TestEnvironment(t *testing.T) {
	for _, row := range []struct{ have, want string }{
		{"HOME=/h", "HOME=/h DBUS_SESSION_BUS_ADDRESS=disabled: FC_FONTATIONS=1"},
		{"DBUS_SESSION_BUS_ADDRESS=unix:path=/run/bus HOME=/h",
			"DBUS_SESSION_BUS_ADDRESS=unix:path=/run/bus HOME=/h FC_FONTATIONS=1"},
		{"FC_FONTATIONS=0 DBUS_SESSION_BUS_ADDRESS_=x",
			"FC_FONTATIONS=0 DBUS_SESSION_BUS_ADDRESS_=x DBUS_SESSION_BUS_ADDRESS=disabled:"},
	} {
		if got := strings.Join(chromiumEnvironment(strings.Fields(row.have)), " "); got != row.want {
			t.Errorf("%q becomes %q, want %q", row.have, got, row.want)
		}
	}
}
