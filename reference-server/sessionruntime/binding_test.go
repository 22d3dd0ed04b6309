package sessionruntime

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/coder/websocket"

	"github.com/google/go-cmp/cmp"
	"parley/reference-server/connection"
)

// A whole turn, and the format of the output.
func TestTurn(t *testing.T) {
	overBoth(t, Options{}, func(t *testing.T, p *party) {
		p.setUp("s", nil)
		p.input("s", "t1")
		got := p.wantMessages("USER_INPUT", "TURN_ACCEPTED")
		want := object{
			"session_id": "s", "event": "USER_INPUT", "sender": "session", "target": "AGENT", "target_id": "a",
			"payload":  "hello",
			"metadata": object{"turn_id": "t1", "trace_id": got[1]["metadata"].(object)["trace_id"]},
		}
		for _, name := range []string{"id", "timestamp"} {
			if s, _ := got[0][name].(string); s == "" {
				t.Errorf("%s is missing: %v", name, got[0])
			}
			delete(got[0], name)
		}
		if diff := cmp.Diff(want, got[0]); diff != "" {
			t.Errorf("USER_INPUT (-want +got):\n%s", diff)
		}
		p.message("s", "CONTROL", "INPUT_ACK", "a", nil, object{"turn_id": "t1"})
		p.message("s", "AGENT_OUTPUT", "", "a", "hi", object{"turn_id": "t1"})
		p.wantMessages("AGENT_STARTED", "AGENT_OUTPUT")
	})
}

// Numbers, names and their order are passed on unchanged.
func TestPassedOnAsItCame(t *testing.T) {
	overBoth(t, Options{}, func(t *testing.T, p *party) {
		p.setUp("s", nil)
		p.input("s", "t1")
		p.wantMessages("USER_INPUT", "TURN_ACCEPTED")
		payload := `{"Big":12345678901234567890,"big":1.50,"e":1E400,"text":"\u0000 é <","list":[null,true,-0]}`
		p.sendRaw(`{"id":"1","session_id":"s","event":"AGENT_OUTPUT","sender":"a","target":"BROADCAST","payload":` + payload +
			`,"metadata":{"turn_id":"t1","n":1.0},"more":1}`)
		var text string
		for !strings.Contains(text, `"AGENT_OUTPUT"`) {
			text, _ = p.read()
		}
		for _, want := range []string{`12345678901234567890`, `"big":1.50`, `1E400`, `-0]`, `"n":1.0`, `"é <"`[1:],
			`\u0000`} {
			if !strings.Contains(text, want) {
				t.Errorf("%s is missing in %s", want, text)
			}
		}
	})
}

func TestFramesThatCannotBeTaken(t *testing.T) {
	overBoth(t, Options{}, func(t *testing.T, p *party) {
		p.setUp("s", nil)
		for _, text := range []string{
			`x`, `null`, `[]`, `"x"`, `7`, `{`, `{} {}`, `{"a":1,"a":2}`, `{"parley":"what"}`, `{"parley":7}`, `{"parley":{}}`,
			`{"session_id":"s","event":7}`, `{"session_id":"s","metadata":"x"}`, `{"session_id":"s2","event":"USER_INPUT"}`,
			`{}`,
			`{"SESSION_ID":"s","event":"USER_INPUT"}`,
			`{"parley":"setup"}`, `{"parley":"setup","session_id":""}`, `{"parley":"setup","session_id":7}`,
			`{"parley":"setup","session_id":"n","agents":"a"}`, `{"parley":"setup","session_id":"n","agents":["a","a"]}`,
			`{"parley":"setup","session_id":"n","agents":["a"],"active_agent_id":"b"}`,
			`{"parley":"setup","session_id":"n","agents":["frontend"]}`,
			`{"parley":"setup","session_id":"n","limits":{"input_ack_ms":-1}}`,
			`{"parley":"setup","session_id":"n","limits":{"cancel_ack_ms":1e9}}`,
			`{"parley":"setup","session_id":"n","limits":{"cancel_ack_ms":"1"}}`,
			`{"parley":"setup","session_id":"n","limits":[]}`,
			`{"session_id":"s","payload":` + strings.Repeat(`[`, 100_000) + `}`,
		} {
			p.sendRaw(text)
			got := p.next()
			if why, _ := got["text"].(string); got["parley"] != "error" || why == "" || len(got) != 2 {
				t.Errorf("%.80s: %v", text, got)
			}
		}
		p.input("s", "t1")
		p.wantMessages("USER_INPUT", "TURN_ACCEPTED")
		p.input("n", "t1")
		p.wantMessages("error")
	})
}

// A frame of maximum depth remains readable when it comes back, with what was wrapped around it.
func TestDepth(t *testing.T) {
	overBoth(t, Options{}, func(t *testing.T, p *party) {
		p.setUp("s", nil)
		invite := func(depth int) string {
			return `{"session_id":"s","event":"CONTROL","subtype":"INVITE_AGENT","sender":"frontend","target":"SYSTEM",` +
				`"payload":` +
				strings.Repeat(`[`, depth) + `"]\"]"` + strings.Repeat(`]`, depth) + `}`
		}
		p.sendRaw(invite(maxDepth - 1))
		p.wantMessages("REQUEST_ADD_AGENT", "ADDING_AGENT")
		p.sendRaw(invite(maxDepth))
		p.wantMessages("error")
	})
}

// Sessions are independent, and another set-up frame of a session resets it.
func TestSessions(t *testing.T) {
	overBoth(t, Options{Limits: Limits{Sessions: 2}}, func(t *testing.T, p *party) {
		p.setUp("s1", nil)
		p.setUp("s2", object{})
		p.message("s1", "CONTROL", "SWITCH_AGENT", "frontend", object{"to": "b"}, nil)
		if got := p.wantMessages("SWITCH_AGENT"); got[0]["session_id"] != "s1" {
			t.Errorf("switch: %v", got[0])
		}
		p.input("s2", "t1")
		if got := p.wantMessages("USER_INPUT", "TURN_ACCEPTED"); got[0]["target_id"] != "a" || got[0]["session_id"] != "s2" {
			t.Errorf("input: %v", got[0])
		}
		p.message("s1", "AGENT_OUTPUT", "", "a", "x", object{"turn_id": "t1"})
		p.wantMessages("UNEXPECTED_OUTPUT")
		p.setUp("s1", nil)
		p.input("s1", "t1")
		if got := p.wantMessages("USER_INPUT", "TURN_ACCEPTED"); got[0]["target_id"] != "a" {
			t.Errorf("after the reset: %v", got[0])
		}
		p.sendFrame(object{"parley": "setup", "session_id": "s3"})
		p.wantMessages("error")
		p.input("s2", "t2")
		p.wantMessages("USER_INPUT", "TURN_ACCEPTED")
	})
}

// Real time: a timeout fires, and after the fence that was answered before it.
func TestTimeout(t *testing.T) {
	overBoth(t, Options{}, func(t *testing.T, p *party) {
		p.setUp("s", object{"input_ack_ms": 30})
		p.input("s", "t1")
		p.wantMessages("USER_INPUT", "TURN_ACCEPTED")
		if got := p.next(); kindOf(got) != "ROUTE_TIMEOUT" {
			t.Errorf("got %v", got)
		}
	})
}

// inPipes runs f over stdio in virtual time.
func inPipes(t *testing.T, o Options, f func(p *party)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		p, in, done := pipes(t, context.Background(), o)
		f(p)
		_ = in.Close()
		for _, err := p.read(); err == nil; _, err = p.read() {
		}
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
}

// One goroutine handles the timeouts of many runtimes in order.
func TestTimeoutsOfManySessions(t *testing.T) {
	inPipes(t, Options{}, func(p *party) {
		began := time.Now()
		const many = 20
		for i := range many { // the first is due last
			p.setUp(fmt.Sprint("s", i), object{"input_ack_ms": 1000 * (many - i)})
			p.input(fmt.Sprint("s", i), "t1")
			p.wantMessages("USER_INPUT", "TURN_ACCEPTED")
		}
		p.message("s10", "CONTROL", "INPUT_ACK", "a", nil, nil)
		p.wantMessages("AGENT_STARTED")
		p.setUp("s5", nil)
		for i := many - 1; i >= 0; i-- {
			if i == 10 || i == 5 {
				continue
			}
			got := p.next()
			if want := fmt.Sprint("s", i); got["session_id"] != want || kindOf(got) != "ROUTE_TIMEOUT" {
				t.Errorf("got %v, want the time-out of %s", got, want)
			}
			if after := time.Since(began); after != time.Duration(many-i)*time.Second {
				t.Errorf("s%d: after %v", i, after)
			}
		}
		p.wantMessages()
	})
}

func TestDefaultLimits(t *testing.T) {
	for _, c := range []struct {
		o      Options
		limits object
		want   time.Duration
	}{
		{Options{}, nil, 10 * time.Second},
		{Options{}, object{"input_ack_ms": 0, "cancel_ack_ms": nil}, 10 * time.Second},
		{Options{InputAck: time.Second, CancelAck: time.Second}, object{}, time.Second},
		{Options{InputAck: time.Second, CancelAck: time.Second}, object{"input_ack_ms": 1.5, "cancel_ack_ms": 1.5},
			1500 * time.Microsecond},
	} {
		inPipes(t, c.o, func(p *party) {
			p.setUp("s", c.limits)
			p.input("s", "t1")
			p.wantMessages("USER_INPUT", "TURN_ACCEPTED")
			began := time.Now()
			if got, after := kindOf(p.next()), time.Since(began); got != "ROUTE_TIMEOUT" || after != c.want {
				t.Errorf("limits %v: %s after %v", c.limits, got, after)
			}
			p.input("s", "t2")
			p.message("s", "AGENT_OUTPUT", "", "a", "x", object{"turn_id": "t2", "stream": object{"is_chunk": true}})
			p.message("s", "CONTROL", "CANCEL", "frontend", nil, nil)
			p.wantMessages("USER_INPUT", "TURN_ACCEPTED", "AGENT_STARTED", "AGENT_OUTPUT", "CANCEL", "CANCEL_SENT")
			began = time.Now()
			if got, after := kindOf(p.next()), time.Since(began); got != "CANCEL_TIMEOUT" || after != c.want {
				t.Errorf("limits %v: %s after %v", c.limits, got, after)
			}
		})
	}
}

func TestNegativeLimits(t *testing.T) {
	for _, o := range []Options{{InputAck: -1}, {Limits: Limits{Message: -1}}, {Limits: Limits{Sessions: -1}}} {
		if _, err := NewServer(o); err == nil {
			t.Errorf("NewServer takes %+v", o)
		}
		if err := ServeStdio(t.Context(), strings.NewReader(""), io.Discard, o); err == nil {
			t.Errorf("ServeStdio takes %+v", o)
		}
	}
	o := Options{Runtime: Options{}.Runtime}
	o.Runtime.Turns = -1
	if _, err := NewServer(o); err == nil {
		t.Error("NewServer takes a negative limit of runtimes")
	}
}

func TestLongFrames(t *testing.T) {
	o := Options{Limits: Limits{Message: 200 << 10}}
	long := `{"parley":"fence","id":"` + strings.Repeat("x", 200<<10) + `"}`
	fits := `{"parley":"fence","id":"` + strings.Repeat("x", 200<<10-26) + `"}`
	t.Run("ws", func(t *testing.T) {
		p, _ := startServer(t, o).dial()
		p.sendRaw(fits)
		if got := p.next(); got["parley"] != "fenced" {
			t.Errorf("got %v", got)
		}
		_ = p.send(long)
		if _, err := p.read(); websocket.CloseStatus(err) != websocket.StatusMessageTooBig ||
			!strings.Contains(err.Error(), "send at most 204800 bytes in a message") {
			t.Errorf("the connection ended with %v", err)
		}
	})
	t.Run("stdio", func(t *testing.T) {
		inPipes(t, o, func(p *party) {
			p.sendRaw(long)
			p.sendRaw(long + long + long)
			p.sendRaw("")
			p.sendRaw(fits + "\r")
			for _, want := range []string{"error", "error", "fenced"} {
				if got := p.next(); got["parley"] != want {
					t.Errorf("got %.80v, want %s", got, want)
				}
			}
		})
	})
}

func TestStdioEnds(t *testing.T) {
	t.Run("the last line has no end", func(t *testing.T) {
		var out strings.Builder
		if err := ServeStdio(t.Context(), strings.NewReader(`{"parley":"fence","id":"1"}`), &out, Options{}); err != nil ||
			out.String() != `{"id":"1","parley":"fenced"}`+"\n" {
			t.Errorf("%v: %q", err, out.String())
		}
	})
	t.Run("with ctx", func(t *testing.T) {
		ctx, cancel := context.WithCancelCause(context.Background())
		p, _, done := pipes(t, ctx, Options{})
		p.setUp("s", nil)
		stop := errors.New("stop")
		cancel(stop)
		if err := <-done; !errors.Is(err, stop) {
			t.Errorf("serve: %v", err)
		}
		if err := p.send("{}"); err == nil {
			t.Error("in is open")
		}
	})
	t.Run("a reader that can't be ended", func(t *testing.T) {
		ctx, cancel := context.WithCancel(context.Background())
		in, w := io.Pipe()
		cancel()
		if err := ServeStdio(ctx, struct{ io.Reader }{in}, io.Discard, Options{}); !errors.Is(err, context.Canceled) {
			t.Errorf("serve: %v", err)
		}
		_ = w.Close()
	})
	t.Run("no reader", func(t *testing.T) {
		outR, outW := io.Pipe()
		_ = outR.CloseWithError(io.ErrClosedPipe)
		inR, inW := io.Pipe()
		failed := make(chan error, 1)
		go func() { failed <- ServeStdio(context.Background(), inR, outW, Options{}) }()
		_, _ = io.WriteString(inW, "{}\n")
		if err := <-failed; !errors.Is(err, io.ErrClosedPipe) {
			t.Errorf("serve: %v", err)
		}
		_ = inW.Close()
	})
	t.Run("in fails", func(t *testing.T) {
		p, in, done := pipes(t, context.Background(), Options{})
		broken := errors.New("broken")
		p.sendRaw(`{"parley":"fence","id":"1"}`)
		_ = in.CloseWithError(broken)
		if got := p.next(); got["parley"] != "fenced" {
			t.Errorf("got %v", got)
		}
		if err := <-done; !errors.Is(err, broken) {
			t.Errorf("serve: %v", err)
		}
	})
}

// An ack that arrived before the timeout but was not yet handled is in time.
func TestAckBeforeTimeout(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		o, err := Options{}.withDefaults()
		if err != nil {
			t.Fatal(err)
		}
		b, in, out := newBus(o), make(chan arrival, o.Limits.Incoming), connection.New(t.Context(), connection.Limits{})
		defer out.End(nil)
		for _, text := range []string{
			`{"parley":"setup","session_id":"s","agents":["a"],"active_agent_id":"a","limits":{"input_ack_ms":5}}`,
			`{"session_id":"s","event":"USER_INPUT","sender":"frontend","target":"SYSTEM","metadata":{"turn_id":"t1"}}`,
		} {
			b.handleFrame([]byte(text))
		}
		<-time.After(time.Second)
		in <- arrival{data: []byte(`{"session_id":"s","event":"CONTROL","subtype":"INPUT_ACK","sender":"a",` +
			`"target":"SYSTEM"}`)}
		close(in)
		handleAll(b, in, out)
		out.Finish(websocket.CloseError{})
		frame, err := out.Next(t.Context())
		if err != nil || !strings.Contains(string(frame), "AGENT_STARTED") {
			t.Errorf("published %s, %v", frame, err)
		}
		if more, err := out.Next(t.Context()); err == nil {
			t.Errorf("published %s too", more)
		}
	})
}
