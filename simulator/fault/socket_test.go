package fault_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/coder/websocket"

	"parley/internal/faultrule"
	"parley/simulator/fault"
	"parley/simulator/gate"
)

// socketGate is a gate with faults in front of an echo server. err is how its connection ended.
func socketGate(t *testing.T, x *fault.Faults) (url string, ended <-chan error) {
	t.Helper()
	done := make(chan error, 1)
	up := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		c, err := websocket.Accept(w, r, nil)
		if err != nil {
			return
		}
		defer c.CloseNow()
		c.SetReadLimit(1 << 20)
		for {
			typ, b, err := c.Read(r.Context())
			if err == nil {
				err = c.Write(r.Context(), typ, b)
			}
			if err != nil {
				done <- err
				return
			}
		}
	}))
	t.Cleanup(up.Close)
	g, err := gate.New(gate.Options{Upstream: func() string { return up.URL }, Handle: x.Handle})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(g.Close)
	return g.URL(), done
}

// echoed sends 1, 2, 3 and an end, and returns the messages that come back before the end, or how the connection ended.
func echoed(t *testing.T, url string) string {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	c, _, err := websocket.Dial(ctx, url, nil) //nolint:bodyclose // it has none
	if err != nil {
		t.Fatal(err)
	}
	defer c.CloseNow()
	c.SetReadLimit(1 << 20)
	for _, text := range []string{"1", "2", "3", `{"end":true}`} {
		_ = c.Write(ctx, websocket.MessageText, []byte(text))
	}
	var got []string
	for {
		_, b, err := c.Read(ctx)
		if code := websocket.CloseStatus(err); code > 0 {
			return strings.Join(append(got, fmt.Sprint(int(code))), ",")
		}
		if err != nil {
			return strings.Join(append(got, "ended"), ",")
		}
		if strings.Contains(string(b), "end") {
			return strings.Join(got, ",")
		}
		got = append(got, string(b))
	}
}

// TestSocket: faults of messages of a client, whose frames are masked, are seen in the echoes; and so are faults of
// messages of a server.
func TestSocket(t *testing.T) {
	for do, want := range map[string]string{"drop": "1,3", "{delay: 1ms}": "1,2,3", "{duplicate: 1}": "1,2,2,3",
		"{reorder: 1}": "1,3,2", "{burst: 2}": "1,2,3", "{truncate: 0}": "1,,3", "bom": "1,\uFEFF2,3",
		"{pad: 70000}": "1," + strings.Repeat(" ", 69999) + "2,3", "{pad: 300}": "1," + strings.Repeat(" ", 299) + "2,3",
		"{split: 2}": "1,2,3", "dribble": "1,2,3", "{fragments: 1000}": "1,2,3", "{slow: 1000}": "1,2,3",
		"{close: 4007}": "1,4007", "reset": "1,ended", "fin": "1,ended", "{cut: 1}": "1,ended", "half-close": "1,ended",
	} {
		for _, from := range []string{"client", "server"} {
			t.Run(from+" "+do, func(t *testing.T) {
				x := faults(t, "on: {where: {/end: {exists: false}}}, from: "+from+", nth: 2, do: "+do)
				url, _ := socketGate(t, x)
				got := echoed(t, url)
				lost := strings.HasSuffix(want, "ended") || strings.HasSuffix(want, "4007")
				if got != want && !(from == "client" && lost && strings.HasSuffix(want, got)) {
					t.Errorf("%q, want %q", got, want)
				}
				if f := x.Fired()[0]; f.Fired != 1 {
					t.Errorf("told %+v", f)
				}
				twin := faults(t, "on: {where: {/none: 1}}, from: "+from+", nth: 2, do: "+do)
				url, _ = socketGate(t, twin)
				if got := echoed(t, url); got != "1,2,3" || twin.Fired()[0].Fired != 0 {
					t.Errorf("without the fault: %q", got)
				}
			})
		}
	}
}

// TestClose: both sides see the close code of a fault.
func TestClose(t *testing.T) {
	x := faults(t, "from: client, nth: 2, do: {close: 4123}")
	url, ended := socketGate(t, x)
	if got := echoed(t, url); !strings.HasSuffix("1,4123", got) {
		t.Errorf("the client got %q", got)
	}
	if err := <-ended; websocket.CloseStatus(err) != 4123 {
		t.Errorf("the server got %v", err)
	}
}

// TestSilence: after a silence nothing arrives, but the connection stays open: the other direction continues.
func TestSilence(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	x := faults(t, "from: server, nth: 2, do: silence")
	got := make(chan string, 10)
	up := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		c, err := websocket.Accept(w, r, nil)
		if err != nil {
			return
		}
		defer c.CloseNow()
		for {
			typ, b, err := c.Read(ctx)
			if err != nil || c.Write(ctx, typ, b) != nil {
				return
			}
			got <- string(b)
		}
	}))
	defer up.Close()
	g, err := gate.New(gate.Options{Upstream: func() string { return up.URL }, Handle: x.Handle})
	if err != nil {
		t.Fatal(err)
	}
	defer g.Close()
	c, _, err := websocket.Dial(ctx, g.URL(), nil) //nolint:bodyclose // it has none
	if err != nil {
		t.Fatal(err)
	}
	defer c.CloseNow()
	for _, text := range []string{"1", "2", "3"} {
		if err := c.Write(ctx, websocket.MessageText, []byte(text)); err != nil {
			t.Fatal(err)
		}
		if back := <-got; back != text {
			t.Errorf("the server got %q, want %q", back, text)
		}
	}
	if _, b, err := c.Read(ctx); err != nil || string(b) != "1" {
		t.Errorf("the client got %q, %v", b, err)
	}
	if err := g.Send(ctx, "C1", gate.Client, gate.Message{Body: []byte("mark")}); err != nil {
		t.Fatal(err)
	}
	if _, b, err := c.Read(ctx); err != nil || string(b) != "mark" {
		t.Errorf("behind the silence came %q, %v", b, err)
	}
}

// TestPerConnection: messages are counted for each connection, and a fault of one leaves the others alone.
func TestPerConnection(t *testing.T) {
	x := faults(t, "connection: C2, from: client, nth: 3, do: drop")
	url, _ := socketGate(t, x)
	for i, want := range []string{"1,2,3", "1,2", "1,2,3"} {
		if got := echoed(t, url); got != want {
			t.Errorf("C%d: %q, want %q", i+1, got, want)
		}
	}
	if f := x.Fired()[0]; f.Fired != 1 || f.Met != 4 {
		t.Errorf("told %+v", f)
	}
}

// TestSeed: drawn values are equal for equal seeds, and differ for different ones.
func TestSeed(t *testing.T) {
	drawn := func(seed int) (out string) {
		set, err := faultrule.Parse("f", []byte(fmt.Sprintf("seed: %d\nfaults:\n"+
			"  - {on: {where: {/end: {exists: false}}}, from: client, chance: 0.5, do: drop}", seed)))
		if err != nil {
			t.Fatal(err)
		}
		url, _ := socketGate(t, fault.New(set, nil))
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		c, _, err := websocket.Dial(ctx, url, nil) //nolint:bodyclose // it has none
		if err != nil {
			t.Fatal(err)
		}
		defer c.CloseNow()
		for i := range 64 {
			if err := c.Write(ctx, websocket.MessageText, []byte(fmt.Sprint(100+i))); err != nil {
				t.Fatal(err)
			}
		}
		_ = c.Write(ctx, websocket.MessageText, []byte(`{"end":true}`))
		for {
			_, b, err := c.Read(ctx)
			if err != nil {
				t.Fatal(err)
			}
			if strings.Contains(string(b), "end") {
				return out
			}
			out += string(b)
		}
	}
	first, again, other := drawn(0), drawn(0), drawn(1)
	if first != again || first == other || first == "" || len(first) == 64*3 {
		t.Errorf("%q, again %q, by another seed %q", first, again, other)
	}
}

// TestRequests: faults of requests and of their answers.
func TestRequests(t *testing.T) {
	for text, want := range map[string]string{
		"do: {corrupt: {at: /a, set: 2}}":       `application/json {"a":2} -> application/json {"a":1}`,
		"do: {wrap: /data}":                     `application/json {"data":{"a":1}} -> application/json {"a":1}`,
		"do: bom":                               "application/json \uFEFF{\"a\":1} -> application/json {\"a\":1}",
		"do: {content-type: a/b}":               `a/b {"a":1} -> application/json {"a":1}`,
		"from: server, do: {content-type: a/b}": `application/json {"a":1} -> a/b {"a":1}`,
		"from: server, do: {status: 503}":       `application/json {"a":1} -> 503 application/json {"a":1}`,
		"from: server, do: {truncate: 3}":       `application/json {"a":1} -> application/json {"a`,
		"from: server, do: {delay: 1ms}":        `application/json {"a":1} -> application/json {"a":1}`,
		"from: server, do: reset":               `application/json {"a":1} -> ended`,
		"do: reset":                             ` -> ended`,
		"nth: 2, do: reset":                     `application/json {"a":1} -> application/json {"a":1}`,
		"from: server, nth: 1, do: {corrupt: {at: /a, remove: true}}": `application/json {"a":1} -> application/json {}`,
	} {
		asked := ""
		up := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			b, _ := io.ReadAll(r.Body)
			asked = r.Header.Get("Content-Type") + " " + string(b)
			w.Header().Set("Content-Type", "application/json")
			fmt.Fprint(w, `{"a":1}`)
		}))
		x := faults(t, "on: {request: POST /message}, "+text)
		g, err := gate.New(gate.Options{Upstream: func() string { return up.URL }, Handle: x.Handle})
		if err != nil {
			t.Fatal(err)
		}
		client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
		got := "ended"
		r, err := client.Post(g.URL()+"/message", "application/json", strings.NewReader(`{"a":1}`))
		if err == nil {
			b, _ := io.ReadAll(r.Body)
			r.Body.Close()
			got = strings.TrimPrefix(fmt.Sprint(r.StatusCode, " ", r.Header.Get("Content-Type"), " ", string(b)), "200 ")
		}
		g.Close()
		up.Close()
		if got = asked + " -> " + got; got != want {
			t.Errorf("%s: %q, want %q", text, got, want)
		}
		if f := x.Fired()[0]; (f.Fired == 1) != !strings.HasPrefix(text, "nth: 2") {
			t.Errorf("%s: told %+v", text, f)
		}
	}
}

// TestTogether: faults of the content are applied in order, and of the others only the first is carried out.
func TestTogether(t *testing.T) {
	set, err := faultrule.Parse("f", []byte(`faults:
  - {from: server, nth: 2, do: {truncate: 1}}
  - {from: server, nth: 2, do: {corrupt: {at: /n, set: 5}}}
  - {from: server, nth: 2, do: {duplicate: 1}}
  - {from: server, nth: 2, do: drop}
  - {from: server, nth: 2, do: {fragments: 9}}
  - {from: server, nth: 2, do: dribble}
`))
	if err != nil {
		t.Fatal(err)
	}
	x := fault.New(set, func(b []byte) string { return "" })
	url, _ := socketGate(t, x)
	if got := echoed(t, url); got != "1,2,2,3" {
		t.Errorf("got %q", got)
	}
	var fired []int
	for _, f := range x.Fired() {
		fired = append(fired, f.Fired)
	}
	if b, _ := json.Marshal(fired); string(b) != "[0,0,1,0,1,0]" {
		t.Errorf("fired %s", b)
	}
}
