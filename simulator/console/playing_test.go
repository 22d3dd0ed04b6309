package console

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"parley/simulator/fault"
	"parley/transport/driver"
	"parley/transport/transcript"
)

// fake is a Player that records the calls to it.
type fake struct {
	t *transcript.Transcript

	mu      sync.Mutex
	o       PlayOptions
	state   PlayState
	held    []Held
	told    []string
	changed chan struct{}
}

// Judge implements Player.
func (f *fake) Judge() Judge { return nil }

// Faults implements Player.
func (f *fake) Faults() []fault.Fired {
	return []fault.Fired{{Name: "lost", Line: 2, Met: 3, Fired: 1}}
}

// Unjudged implements Player.
func (f *fake) Unjudged() string { return "it is a test" }

func newFake() *fake {
	return &fake{t: transcript.New(nil), state: PlayState{Mind: "auto", Types: map[string]string{}},
		changed: make(chan struct{})}
}

// offer makes a console play the fake.
func (f *fake) offer(o *Options) {
	o.TypeOf = func(_ string, body []byte) string {
		if _, rest, ok := strings.Cut(string(body), `"type":"`); ok {
			typ, _, _ := strings.Cut(rest, `"`)
			return typ
		}
		return ""
	}
	o.Play = func(_ context.Context, o PlayOptions) (Player, error) {
		if o.As == "nobody" {
			return nil, errors.New(`--as: there is no party "nobody"`)
		}
		f.o = o
		return f, nil
	}
}

func (f *fake) tell(format string, args ...any) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.told = append(f.told, fmt.Sprintf(format, args...))
	close(f.changed)
	f.changed = make(chan struct{})
}

func (f *fake) hold(h Held) {
	f.mu.Lock()
	f.held = append(f.held, h)
	f.mu.Unlock()
	f.tell("held")
}

func (f *fake) Protocol() string                   { return cmp.Or(f.o.Protocol, "p") }
func (f *fake) As() string                         { return f.o.As }
func (f *fake) Driver() string                     { return "" }
func (f *fake) URL() string                        { return "http://127.0.0.1:1/?key=secret" }
func (f *fake) Transcript() *transcript.Transcript { return f.t }
func (f *fake) Redact(text string) string          { return strings.ReplaceAll(text, "secret", "«redacted»") }
func (f *fake) Parties() []string                  { return []string{"C1"} }
func (f *fake) Close()                             { f.tell("close") }

func (f *fake) State() PlayState {
	f.mu.Lock()
	defer f.mu.Unlock()
	s := f.state
	s.Types = maps.Clone(s.Types)
	return s
}

func (f *fake) SetMind(_ context.Context, mind string, types ...string) error {
	f.mu.Lock()
	if len(types) == 0 {
		f.state.Mind = mind
	}
	for _, t := range types {
		f.state.Types[t] = mind
	}
	f.mu.Unlock()
	f.tell("mind %s %v", mind, types)
	return nil
}

func (f *fake) SetScript(_ context.Context, text string) error {
	f.tell("script %s", text)
	return nil
}

func (f *fake) SetMutant(_ context.Context, name string) error {
	if name == "none" {
		return &Error{Status: http.StatusNotFound, Text: `there is no mutant "none"`}
	}
	f.mu.Lock()
	f.state.Mutant = name
	f.mu.Unlock()
	f.tell("mutant %s", name)
	return nil
}

func (f *fake) Held() []Held {
	f.mu.Lock()
	defer f.mu.Unlock()
	return slices.Clone(f.held)
}

func (f *fake) Decide(n int, d Decision) error {
	f.mu.Lock()
	i := slices.IndexFunc(f.held, func(h Held) bool { return h.N == n })
	if i >= 0 {
		f.held = slices.Delete(f.held, i, i+1)
	}
	f.mu.Unlock()
	if i < 0 {
		return &Error{Status: http.StatusNotFound, Text: fmt.Sprintf("message %d is not held", n)}
	}
	f.tell("decide %d %v %v %q", n, d.Drop, d.After, d.Instead)
	return nil
}

func (f *fake) Send(_ context.Context, party string, body []byte) (int, error) {
	if party != "C1" {
		return 0, nil
	}
	return f.t.Append(transcript.Record{Conn: party, Dir: transcript.Sent, Kind: transcript.Frame, Bytes: body}), nil
}

func (f *fake) Hang(_ context.Context, party string, how driver.CloseMode) error {
	f.tell("hang %s %v", party, how == driver.Reset)
	return nil
}

func (f *fake) Changed() <-chan struct{} {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.changed
}

func (f *fake) Reset(context.Context) error {
	f.tell("reset")
	return nil
}

func (f *fake) has(text string) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return slices.Contains(f.told, text)
}

// TestUnjudged: if the program is not judged, the session and its findings say so, and why.
func TestUnjudged(t *testing.T) {
	c, _ := serve(t, newFake().offer)
	s := do[Session](c, 201, "POST", "/sessions", m{"kind": "play", "protocol": "p", "as": "server", "mind": "auto",
		"listen": "127.0.0.1:0"})
	told := do[[]Failure](c, 200, "GET", "/sessions/"+s.ID+"/findings", nil)
	if len(told) != 1 || told[0].Outcome != "not-tested" ||
		told[0].Observed != "your program is not judged: it is a test" || s.Unjudged != "it is a test" {
		t.Errorf("nobody says that nothing is judged: %+v, %q", told, s.Unjudged)
	}
}

// TestPlay: all operations on a play reach the player, and held messages are reported as events.
func TestPlay(t *testing.T) {
	f := newFake()
	c, _ := serve(t, f.offer)
	s := do[Session](c, 201, "POST", "/sessions", m{"kind": "play", "protocol": "p", "as": "server", "mind": "auto",
		"listen": "127.0.0.1:0"})
	at := "/sessions/" + s.ID
	if s.Kind != "play" || s.As != "server" || s.URL != "http://127.0.0.1:1/?key=«redacted»" || s.Mind != "auto" {
		t.Errorf("begun: %+v", s)
	}
	next, _ := c.listen(at+"/events", "")
	c.awaitEvent(next, "held", func(data []byte) bool { return string(data) == "[]" })
	f.hold(Held{N: 1, Party: "C1", Type: "text", To: "message", Body: []byte(`{"type":"text","key":"secret"}`),
		Since: time.Now(), Until: time.Now().Add(time.Minute)})
	f.hold(Held{N: 2, Party: "C1", Body: []byte("\xff"), Since: time.Now(), Until: time.Now()})
	c.awaitEvent(next, "held", func(data []byte) bool { return strings.Contains(string(data), `"n":2`) })
	held := do[[]HeldMessage](c, 200, "GET", at+"/held", nil)
	if len(held) != 2 || *held[0].Text != `{"type":"text","key":"«redacted»"}` || *held[1].Base64 != "/w==" {
		t.Errorf("held: %+v", held)
	}
	c.wantRefusal(404, "POST", at+"/held/3", m{"do": "send"}, "message 3 is not held")
	c.wantRefusal(404, "POST", at+"/held/x", m{"do": "send"}, `no message "x"`)
	c.wantRefusal(400, "POST", at+"/held/1", m{"do": "keep"}, "send or drop")
	c.wantRefusal(400, "POST", at+"/held/1", m{"do": "drop", "body": "x"}, "not both")
	c.wantRefusal(400, "POST", at+"/held/1", m{"do": "send", "after": "2h"}, "not a duration up to 1h")
	c.wantRefusal(400, "POST", at+"/held/1", m{"do": "send", "base64": "%"}, "base64")
	held = do[[]HeldMessage](c, 200, "POST", at+"/held/1", m{"do": "send", "body": "y", "after": "5ms"})
	if len(held) != 1 {
		t.Errorf("left: %v", held)
	}
	do[[]HeldMessage](c, 200, "POST", at+"/held/2", m{"do": "drop"})
	s = do[Session](c, 200, "PUT", at+"/mind", m{"mind": "ask", "types": []string{"text"}})
	if s.Mind != "auto" || s.Minds["text"] != "ask" {
		t.Errorf("then: %+v", s)
	}
	c.wantRefusal(400, "PUT", at+"/mind", m{"mind": "x"}, `"x" is not one of auto, ask, script, mutant`)
	do[Session](c, 200, "PUT", at+"/script", m{"script": "ready"})
	c.wantRefusal(404, "PUT", at+"/mutant", m{"mutant": "none"}, "there is no mutant")
	if s = do[Session](c, 200, "PUT", at+"/mutant", m{"mutant": "faulty"}); s.Mutant != "faulty" {
		t.Errorf("then: %+v", s)
	}
	do[Session](c, 200, "POST", at+"/reset", nil)
	do[Session](c, 200, "POST", at+"/hang", m{"party": "C1", "how": "cut"})
	for _, want := range []string{`decide 1 false 5ms ["y"]`, "decide 2 true 0s []", "mind ask [text]", "script ready",
		"mutant faulty", "reset", "hang C1 true"} {
		if !f.has(want) {
			t.Errorf("the player was not told %q", want)
		}
	}
	n := do[map[string]int](c, 200, "POST", at+"/raw", m{"party": "C1", "text": `{"type":"x"}`})["n"]
	if found := do[Record](c, 200, "POST", at+"/wait", m{"type": "x", "dir": "sent"}); found.N != n {
		t.Errorf("found: %+v", found)
	}
	c.wantRefusal(409, "POST", at+"/raw", m{"party": "C2", "text": ""}, "the connection of C2 has ended")
	c.wantRefusal(409, "POST", at+"/steps", m{"text": "x"}, "is a play, and this is for a test")
	do[string](c, 200, "GET", at+"/recording", nil)
	do[string](c, 204, "DELETE", at, nil)
	if !f.has("close") {
		t.Error("the play goes on")
	}
}

// TestHeldIsCut: an event has the beginning of a long message, and GET all of it.
func TestHeldIsCut(t *testing.T) {
	f := newFake()
	c, _ := serve(t, f.offer)
	at := "/sessions/" + do[Session](c, 201, "POST", "/sessions", m{"kind": "play"}).ID
	next, _ := c.listen(at+"/events", "")
	f.hold(Held{N: 1, Body: []byte(strings.Repeat("主", heldInEvent))})
	c.awaitEvent(next, "held", func(data []byte) bool { return strings.Contains(string(data), `"cut":`) })
	whole := do[[]HeldMessage](c, 200, "GET", at+"/held", nil)[0]
	if whole.Cut != 0 || len(*whole.Text) != 3*heldInEvent {
		t.Errorf("%d bytes are held, %d are cut", len(*whole.Text), whole.Cut)
	}
}

// TestPlayFaults: a play says what its faults have done, also after its end.
func TestPlayFaults(t *testing.T) {
	f := newFake()
	c, _ := serve(t, f.offer)
	s := do[Session](c, 201, "POST", "/sessions", map[string]string{"kind": "play", "as": "server"})
	all := do[[]fault.Fired](c, 200, "GET", "/sessions/"+s.ID+"/faults", nil)
	if want := f.Faults()[0]; len(all) != 1 || all[0] != want {
		t.Errorf("faults: %+v, want %+v", all, want)
	}
}

// TestPlayScript: a script is armed by its text.
func TestPlayScript(t *testing.T) {
	f := newFake()
	c, _ := serve(t, f.offer)
	s := do[Session](c, 201, "POST", "/sessions", m{"kind": "play"})
	req, err := http.NewRequestWithContext(t.Context(), "PUT", c.url+prefix+"/sessions/"+s.ID+"/script",
		strings.NewReader("on: message\n"))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Content-Type", "application/yaml")
	res, err := c.http.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	_ = res.Body.Close()
	if res.StatusCode != 200 || !f.has("script on: message\n") {
		t.Errorf("%d, told %q", res.StatusCode, f.told)
	}
}

// TestPlayRefused: the addresses on which a play may listen; an error of the player is the answer.
func TestPlayRefused(t *testing.T) {
	c, _ := serve(t, newFake().offer)
	for _, addr := range []string{"0.0.0.0:0", ":0", "example.org:80", "x"} {
		c.wantRefusal(400, "POST", "/sessions", m{"kind": "play", "listen": addr}, "is not a loopback address")
	}
	c.wantRefusal(400, "POST", "/sessions", m{"kind": "play", "as": "nobody"}, `as: there is no party "nobody"`)
	c, _ = serve(t, newFake().offer, func(o *Options) { o.Exposed = true })
	do[Session](c, 201, "POST", "/sessions", m{"kind": "play", "listen": "0.0.0.0:0"})
}
