package browser

import (
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/coder/websocket"
	"github.com/google/go-cmp/cmp"

	"parley/transport/driver"
	"parley/transport/driver/browser/snapshot"
	"parley/transport/transcript"
)

// asking is a page that makes requests of every kind.
const asking = `<button id=b>Go</button><script>document.getElementById('b').onclick=async()=>{
await fetch('/a',{method:'POST',body:'{"x":1}'});
await fetch('/b',{method:'PUT',headers:{'x-h':'1'},body:new Blob(['blob'])});
await fetch('/go').then(r=>r.text());
await fetch('/lost').catch(()=>0);
const w=new WebSocket(location.href.replace('http','ws')+'ws');await new Promise(r=>{w.onclose=r;w.onopen=()=>` +
	`w.close()});
const e=new EventSource('/events');await new Promise(r=>{e.onmessage=r});e.close();
await fetch('/long',{method:'POST',body:'z'.repeat(1<<20)+'tail'});
const k=new Worker(URL.createObjectURL(new Blob(['fetch("'+location.origin+'/work").then(()=>postMessage(1))'])));` +
	`await new Promise(r=>{k.onmessage=r});
document.title='x';document.body.append('all done')}</script>`

// answersAsking makes a site answer the requests of the page asking.
func answersAsking(site *site) {
	for _, p := range []string{"/a", "/b", "/to", "/long", "/work"} {
		site.handle[p] = func(w http.ResponseWriter, r *http.Request) {
			_, _ = io.Copy(io.Discard, r.Body)
			w.Header().Set("Access-Control-Allow-Origin", "*")
			_, _ = io.WriteString(w, "ok")
		}
	}
	site.handle["/go"] = func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, "/to", http.StatusFound) }
	site.handle["/lost"] = func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) }
	site.handle["/ws"] = func(w http.ResponseWriter, r *http.Request) {
		if c, err := websocket.Accept(w, r, nil); err == nil {
			_, _, _ = c.Read(r.Context())
			_ = c.CloseNow()
		}
	}
	site.handle["/events"] = func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		_, _ = io.WriteString(w, "data: 1\n\n")
		w.(http.Flusher).Flush()
		<-r.Context().Done()
	}
}

func TestAsks(t *testing.T) {
	site := serve(t, asking)
	answersAsking(site)
	u := openPage(t, shared, site.URL+"/", driver.Page{Controls: map[string]string{"go": "#b"}})
	n := u.acts(`{"do":"click","on":"go"}`)
	u.awaitSnapshot(n, "the end", func(l snapshot.Page) bool { return strings.Contains(l.Text, "all done") })
	u.settles()
	var asks, answers []string
	byN := map[int]string{}
	for _, r := range u.log.After(n) {
		switch r.Kind {
		case transcript.Ask:
			label := strings.NewReplacer(site.URL, "", strings.Replace(site.URL, "http", "ws", 1), "").Replace(r.Label)
			byN[r.N] = label
			asks = append(asks, fmt.Sprintf("%s (%s) %.10s %d %d", label, r.Type, r.Bytes, len(r.Bytes), r.Cut))
		case transcript.Answered:
			answers = append(answers, fmt.Sprintf("%s %d %s", byN[r.Reply], r.Status, r.Label))
		}
	}
	want := []string{`POST /a (fetch) {"x":1} 7 0`, "PUT /b (fetch) blob 4 0", "GET /go (fetch)  0 0",
		"GET /to (fetch)  0 0", "GET /lost (fetch)  0 0",
		"GET /ws (websocket)  0 0", "GET /events (eventsource)  0 0", "POST /long (fetch) zzzzzzzzzz 1048576 4",
		"GET /work (fetch)  0 0"}
	if diff := cmp.Diff(want, asks); diff != "" {
		t.Errorf("asks want(-) got(+):\n%s", diff)
	}
	for _, want := range []string{"POST /a 200 finished", "GET /go 302 finished", "GET /to 200 finished",
		"GET /ws 101 finished", "GET /lost 0 failed: net::ERR_"} {
		found := false
		for _, a := range answers {
			found = found || strings.HasPrefix(a, want)
		}
		if !found {
			t.Errorf("no answer %q in %q", want, answers)
		}
	}
}

// TestPreflights: the browser's preflights are not requests of the page.
func TestPreflights(t *testing.T) {
	other := serve(t, "")
	var methods []string
	other.handle["/x"] = func(w http.ResponseWriter, r *http.Request) {
		methods = append(methods, r.Method)
		w.Header().Set("Access-Control-Allow-Origin", "*")
		w.Header().Set("Access-Control-Allow-Methods", "PUT")
	}
	u := openHTML(t, `<button id=b onclick="fetch('`+other.URL+`/x',{method:'PUT',body:'1'}).then(()=>`+
		`document.body.append('put'))">Go</button>`,
		driver.Page{Controls: map[string]string{"go": "#b"}})
	n := u.acts(`{"do":"click","on":"go"}`)
	u.awaitSnapshot(n, "the end", func(l snapshot.Page) bool { return strings.Contains(l.Text, "put") })
	u.settles()
	if got := u.count(transcript.Ask, "PUT"); got != 1 || u.count(transcript.Ask, "OPTIONS") != 0 || len(methods) != 2 {
		t.Errorf("the server was asked %q; there is:\n%s", methods, u.recordLines())
	}
}

// TestBlocked: nothing leaves the machine, and each attempt is recorded once.
func TestBlocked(t *testing.T) {
	urls := []string{"http://blocked.example/a?q=1", "https://blocked.example/b", "http://203.0.113.9/ip",
		"http://[2001:db8::1]/six", "http://169.254.1.1/link",
		"http://0.0.0.0/any", "http://192.168.1.1:8080/lan"}
	var script strings.Builder
	for _, url := range urls {
		fmt.Fprintf(&script, "await fetch(%q,{mode:'no-cors'}).catch(()=>0);", url)
	}
	u := openHTML(t, `<link rel=dns-prefetch href="//prefetch.example"><link rel=preconnect `+
		`href="https://preconnect.example"><button id=b>Go</button><script>document.getElementById('b').onclick=async()=>{`+
		script.String()+script.String()+
		`for(const a of ['ws://socket.example/s','wss://203.0.113.9/t'])await new Promise(r=>{const w=new WebSocket(a);`+
		`w.onerror=r;w.onclose=r});
document.body.append('all done')}</script>`, driver.Page{Controls: map[string]string{"go": "#b"}})
	n := u.acts(`{"do":"click","on":"go"}`)
	u.awaitSnapshot(n, "the end", func(l snapshot.Page) bool { return strings.Contains(l.Text, "all done") })
	u.settles()
	var want, got []string
	for _, url := range append(urls, "ws://socket.example/s", "wss://203.0.113.9/t") {
		want = append(want, "blocked GET "+url)
	}
	for _, r := range u.log.After(n) {
		if r.Kind == transcript.Ask {
			got = append(got, r.Label)
		}
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("want(-) got(+):\n%s", diff)
	}
	refused := strings.Join(u.c.t.profile.fence.refused(), "\n")
	for _, at := range []string{"GET http://blocked.example/a?q=1", "CONNECT blocked.example:443",
		"GET http://203.0.113.9/ip", "GET http://[2001:db8::1]/six",
		"GET http://169.254.1.1/link", "GET http://0.0.0.0/any", "GET http://192.168.1.1:8080/lan", "CONNECT " +
			"socket.example:80", "CONNECT 203.0.113.9:443"} {
		if !strings.Contains(refused, at) {
			t.Errorf("%s went elsewhere than to the fence, which has refused:\n%s", at, refused)
		}
	}
}

func TestAllowed(t *testing.T) {
	f := func(page string, allow ...string) *fence {
		hosts, err := allowedHosts(page, allow)
		if err != nil {
			t.Fatal(err)
		}
		return &fence{hosts: hosts}
	}
	rows := []struct {
		reason string
		f      *fence
		url    string
		want   bool
	}{
		{"loopback", f("http://127.0.0.1:1/"), "http://127.0.0.1:2/", true},
		{"loopback's names", f("http://127.0.0.1:1/"), "ws://a.LOCALHOST:2/", true},
		{"loopback's sixth", f("http://127.0.0.1:1/"), "http://[::1]:2/", true},
		{"another", f("http://127.0.0.1:1/"), "http://h:2/", false},
		{"a name that only begins so", f("http://127.0.0.1:1/"), "http://localhost.h/", false},
		{"its own", f("http://h:1/"), "http://H:2/", true},
		{"its own, an address", f("http://[2001:db8::1]:1/"), "http://[2001:db8::1]:2/", true},
		{"allowed", f("http://127.0.0.1:1/", "a.example"), "https://a.example/", true},
		{"a subdomain of an allowed host", f("http://127.0.0.1:1/", "a.example"), "https://b.a.example/", false},
		{"allowed at a port", f("http://127.0.0.1:1/", "a.example:81"), "http://a.example:81/", true},
		{"allowed at another port", f("http://127.0.0.1:1/", "a.example:81"), "http://a.example/", false},
		{"no place on a network", f("http://127.0.0.1:1/"), "data:text/html,x", true},
	}
	for _, r := range rows {
		if got := r.f.allowsURL(r.url); got != r.want {
			t.Errorf("%s: lets %s is %v", r.reason, r.url, got)
		}
	}
	for _, bad := range []string{"a;b", "*", "a b", "http://a/", "<local>"} {
		if _, err := allowedHosts("http://127.0.0.1/", []string{bad}); err == nil {
			t.Errorf("%q can be allowed", bad)
		}
	}
}

func TestConsole(t *testing.T) {
	u := openHTML(t, `<button id=b>Go</button><script>console.error('boo',1,{a:2});console.warn('hm');setTimeout(()=>`+
		`{throw new Error('thrown')},0);
document.getElementById('b').onclick=()=>{for(let i=0;i<300;i++)console.error('flood',i)}`+
		`</script>`, driver.Page{Controls: map[string]string{"go": "#b"}})
	r := u.awaitKind(0, transcript.Console, "")
	if r.Type != "error" || !strings.HasPrefix(string(r.Bytes), "boo 1 ") {
		t.Errorf("the first is %s", r.Line(200))
	}
	u.await(r.N, "warning", func(r *transcript.Record) bool { return r.Type == "warning" && string(r.Bytes) == "hm" })
	u.await(r.N, "exception", func(r *transcript.Record) bool {
		return r.Type == "exception" && strings.HasPrefix(string(r.Bytes), "Uncaught Error: thrown")
	})
	u.acts(`{"do":"click","on":"go"}`)
	u.settles()
	if n := u.count(transcript.Console, ""); n != maxConsole {
		t.Errorf("%d messages are recorded", n)
	}
}

// refused returns the refused requests.
func (f *fence) refused() []string {
	f.mu.Lock()
	defer f.mu.Unlock()
	return append([]string(nil), f.attempts...)
}
