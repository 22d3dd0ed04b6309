package mock

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/coder/websocket"

	"parley/protocol/messages"
	"parley/simulator/replay"
	"parley/transport/recording"
)

// called are the results of a Call.
type called struct {
	ClientResult
	unknown []string
	err     error
}

// call plays the clients of recordings against a server.
func call(t *testing.T, url string, o ClientOptions, texts ...string) (c called) {
	t.Helper()
	var all []Recording
	for i, text := range texts {
		in, err := recording.NewReader(strings.NewReader(text))
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, Recording{fmt.Sprint(i, ".jsonl"), in})
	}
	o.To.URL = url
	o.Unknown = func(s string) { c.unknown = append(c.unknown, s) }
	c.ClientResult, c.err = Call(t.Context(), o, all...)
	return c
}

// talk is a socket of a server in a test.
type talk struct {
	*testing.T
	ctx context.Context
	c   *websocket.Conn
}

func (k talk) say(text string) {
	if err := k.c.Write(k.ctx, websocket.MessageText, []byte(text)); err != nil {
		k.Errorf("say %s: %v", text, err)
	}
}

// hears checks what comes next; "" for the end.
func (k talk) hears(want string) {
	_, text, err := k.c.Read(k.ctx)
	if err != nil && want != "" || string(text) != want {
		k.Errorf("it hears %s, %v; want %s", text, err, want)
	}
}

// sockets is a server that talks on each socket.
func sockets(t *testing.T, do func(talk)) string {
	t.Helper()
	var open sync.WaitGroup
	web := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		open.Add(1)
		defer open.Done()
		c, err := websocket.Accept(w, r, nil)
		if err != nil {
			t.Error(err)
			return
		}
		defer c.CloseNow()
		do(talk{t, r.Context(), c})
	}))
	t.Cleanup(func() { web.Close(); open.Wait() })
	return web.URL
}

// Records of a client at a socket.
const (
	opens  = `{"party":"A","dir":"sent","kind":"open","label":"GET ws://then/ws (upgrade)"}`
	opened = `{"party":"A","dir":"received","kind":"open","status":101,"to":1}`
	closes = `{"party":"A","dir":"received","kind":"closed","label":"closed by the harness"}`
)

func comes(text string) string { return frame("received", text) }
func goes(text string) string  { return frame("sent", text) }
func frame(dir, text string) string {
	return fmt.Sprintf(`{"party":"A","dir":%q,"kind":"frame","type":"text","text":%q}`, dir, text)
}

// working is a client that answers two calls, the second one first, and leaves when it is told to.
var working = lineup(opens, opened, comes(`{"type":"hello","you":"c_1A2B3C4D5E"}`),
	goes(`{"type":"join","as":"c_1A2B3C4D5E"}`),
	comes(`{"type":"call","id":"x_1111aaaa2222","of":"red"}`), comes(`{"type":"call","id":"x_3333bbbb4444","of":"blue"}`),
	goes(`{"type":"did","id":"x_3333bbbb4444","is":"cold"}`), goes(`{"type":"did","id":"x_1111aaaa2222","is":"warm"}`),
	comes(`{"type":"over"}`), closes)

// TestCallOrder checks that a client answers what it is asked, in the order in which it is asked now, with the ids of
// now, also once more; and that it leaves when it was told to, as recorded.
func TestCallOrder(t *testing.T) {
	url := sockets(t, func(k talk) {
		k.say(`{"type":"hello","you":"c_9Z8Y7X6W5V"}`)
		k.hears(`{"type":"join","as":"c_9Z8Y7X6W5V"}`)
		for i, of := range []string{"red", "blue", "blue", "red"} {
			k.say(fmt.Sprintf(`{"type":"call","id":"x_555%dcccc666%d","of":%q}`, i, i, of))
			is := map[string]string{"red": "warm", "blue": "cold"}[of]
			k.hears(fmt.Sprintf(`{"type":"did","id":"x_555%dcccc666%d","is":%q}`, i, i, is))
		}
		k.say(`{"type":"over"}`)
		k.hears("")
	})
	c := call(t, url, ClientOptions{}, working)
	if c.err != nil || c.Sent != 5 || c.Again != 2 || c.Known != 7 || len(c.unknown)+len(c.Undone)+c.Unknown > 0 {
		t.Errorf("%+v", c)
	}
}

// TestCallUnknown checks that what was never shown is said with what is most like it, and not answered, and that what
// never becomes due is named with what it waits for.
func TestCallUnknown(t *testing.T) {
	url := sockets(t, func(k talk) {
		k.say(`{"type":"hello","you":"c_9Z8Y7X6W5V"}`)
		k.hears(`{"type":"join","as":"c_9Z8Y7X6W5V"}`)
		k.say(`{"type":"call","id":"x_5555cccc6666","of":"green"}`)
		k.say(`{"type":"dance"}`)
		k.say(`{"type":"call","id":"x_7777cccc6666","of":"red"}`)
		k.hears(`{"type":"did","id":"x_7777cccc6666","is":"warm"}`)
		_ = k.c.Close(websocket.StatusNormalClosure, "")
	})
	c := call(t, url, ClientOptions{Within: time.Minute}, working)
	unknown, undone := strings.Join(c.unknown, "\n"), strings.Join(c.Undone, "\n")
	for _, want := range []string{`never shown: A frame call {"type":"call","id":"x_5555cccc6666","of":"green"} ` +
		`(record 5 of 0.jsonl differs at /of)`, `never shown: A frame dance {"type":"dance"} (nothing of the kind was shown)`,
		`never shown: A closed 1000`} {
		if !strings.Contains(unknown, want) {
			t.Errorf("%s\nhas no %s", unknown, want)
		}
	}
	if want := "A frame did (record 7 of 0.jsonl) cannot be sent: the target has closed the connection\n" +
		"closing A (record 10 of 0.jsonl) never became due: it waits for A frame over (record 9)"; undone != want {
		t.Errorf("%s\nwant %s", undone, want)
	}
	if c.err != nil || c.Unknown != 3 || c.Sent != 3 {
		t.Errorf("%+v", c)
	}
}

// TestCallOdd checks that a message which differs from the recorded one is told once, also if it comes again, and that
// what follows it is done and compared: once nothing else has come for a while, so that the recorded one comes first.
func TestCallOdd(t *testing.T) {
	text := lineup(opens, opened, goes(`{"type":"look"}`), comes(`{"type":"state","of":"x","list":["red","one"]}`),
		goes(`{"type":"next"}`), comes(`{"type":"state","of":"y","list":["two","red"]}`), goes(`{"type":"end"}`),
		comes(`{"type":"over"}`))
	url := sockets(t, func(k talk) {
		k.hears(`{"type":"look"}`)
		k.say(`{"type":"state","of":"x","list":["blue","one"]}`)
		k.hears(`{"type":"next"}`)
		k.say(`{"type":"state","of":"z","list":["two","red"]}`)
		k.say(`{"type":"state","of":"y","list":["two","blue"]}`)
		k.hears(`{"type":"end"}`)
		k.say(`{"type":"over"}`)
		k.hears("")
	})
	c := call(t, url, ClientOptions{Within: 3 * time.Second}, text)
	if want := []string{`never shown: A frame state {"type":"state","of":"x","list":["blue","one"]} ` +
		`(record 4 of 0.jsonl differs at /list/0)`, "goes on as if it were A frame state (record 4 of 0.jsonl)",
		`never shown: A frame state {"type":"state","of":"z","list":["two","red"]} (record 6 of 0.jsonl differs at /of)`,
	}; !slices.Equal(c.unknown, want) {
		t.Errorf("%s\nwant %s", strings.Join(c.unknown, "\n"), strings.Join(want, "\n"))
	}
	if c.err != nil || c.Sent != 4 || c.Unknown != 2 || c.Known != 3 || len(c.Undone) > 0 {
		t.Errorf("%+v", c)
	}
}

// TestCallLimit checks that a client does not wait for ever: also a server that goes on sending what is known does not
// make anything due.
func TestCallLimit(t *testing.T) {
	url := sockets(t, func(k talk) {
		k.say(`{"type":"hello","you":"c_9Z8Y7X6W5V"}`)
		for k.c.Write(k.ctx, websocket.MessageText, []byte(`{"type":"call","id":"x_7777cccc6666","of":"red"}`)) == nil {
		}
	})
	c := call(t, url, ClientOptions{Within: 100 * time.Millisecond}, working)
	if c.err != nil || c.Sent != 3 || len(c.Undone) != 2 || c.Unknown > 0 {
		t.Errorf("%+v", c)
	}
}

// TestCallOwn checks that an answer waits for what the client has done by itself before it, and that what it does by
// itself follows what came before.
func TestCallOwn(t *testing.T) {
	text := lineup(opens, opened, goes(`{"type":"start"}`), comes(`{"type":"asked","id":"q_1111aaaa2222"}`),
		goes(`{"type":"look"}`), comes(`{"type":"seen"}`),
		goes(`{"type":"yes","id":"q_1111aaaa2222"}`), comes(`{"type":"end"}`))
	url := sockets(t, func(k talk) {
		k.hears(`{"type":"start"}`)
		k.say(`{"type":"asked","id":"q_7777aaaa9999"}`)
		k.hears(`{"type":"look"}`)
		k.say(`{"type":"seen"}`)
		k.hears(`{"type":"yes","id":"q_7777aaaa9999"}`)
		k.say(`{"type":"end"}`)
		k.hears("")
	})
	if c := call(t, url, ClientOptions{}, text); c.err != nil || c.Sent != 4 || c.Unknown+len(c.Undone) > 0 {
		t.Errorf("%+v", c)
	}
}

// TestCallSeveral checks that the clients of two recordings act at once, each with ids of its own, and that one answers
// what only the other was shown.
func TestCallSeveral(t *testing.T) {
	other := strings.ReplaceAll(working, "red", "green") // it is asked about something else
	var together sync.WaitGroup
	var number atomic.Int64
	together.Add(2)
	url := sockets(t, func(k talk) {
		together.Done()
		together.Wait()
		me := fmt.Sprintf("c_9Z8Y7X6W5%d", number.Add(1))
		k.say(`{"type":"hello","you":"` + me + `"}`)
		k.hears(`{"type":"join","as":"` + me + `"}`)
		for i, of := range []string{"green", "blue", "red"} {
			k.say(fmt.Sprintf(`{"type":"call","id":"x_555%dcccc666%d","of":%q}`, i, i, of))
			is := map[string]string{"red": "warm", "blue": "cold", "green": "warm"}[of]
			k.hears(fmt.Sprintf(`{"type":"did","id":"x_555%dcccc666%d","is":%q}`, i, i, is))
		}
		k.say(`{"type":"over"}`)
		k.hears("")
	})
	c := call(t, url, ClientOptions{}, working, other)
	if c.err != nil || c.Sent != 10 || c.Again != 2 || c.Unknown+len(c.Undone) > 0 {
		t.Errorf("%+v", c)
	}
}

// TestCallRequests checks requests: what follows an answer is done when that answer comes, whichever request got it;
// another status is told, and taken for the recorded one.
func TestCallRequests(t *testing.T) {
	text := lineup(`{"party":"A","dir":"sent","kind":"request","label":"POST /say","text":"{\"n\":1}"}`,
		`{"party":"A","dir":"received","kind":"response","status":200,"type":"application/json",`+
			`"text":"{\"s\":\"s_1111aaaa22\"}","to":1}`,
		`{"party":"A","dir":"sent","kind":"request","label":"GET /of/s_1111aaaa22"}`,
		`{"party":"A","dir":"received","kind":"response","status":204,"to":3}`,
		`{"party":"A","dir":"sent","kind":"request","label":"POST /end","text":"{}"}`)
	for status, want := range map[int]called{204: {ClientResult: ClientResult{Sent: 3, Known: 2, Behind: 1}},
		404: {ClientResult: ClientResult{Sent: 3, Known: 1, Unknown: 1, Behind: 1},
			unknown: []string{"never shown: A response 404 (record 4 of 0.jsonl differs at status)",
				"goes on as if it were A response (record 4 of 0.jsonl)"}}} {
		web := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			switch r.URL.Path {
			case "/say":
				w.Header().Set("Content-Type", "application/json")
				fmt.Fprint(w, `{"s":"s_7777bbbb88"}`)
			case "/of/s_7777bbbb88":
				w.WriteHeader(status)
			case "/end":
			default:
				t.Errorf("%s", r.URL)
			}
		}))
		c := call(t, web.URL, ClientOptions{Within: time.Minute}, text)
		web.Close()
		got, _ := json.Marshal([]any{c.ClientResult, c.unknown})
		if wanted, _ := json.Marshal([]any{want.ClientResult, want.unknown}); string(got) != string(wanted) || c.err != nil {
			t.Errorf("%d: %s, %v\nwant %s", status, got, c.err, wanted)
		}
	}
}

// TestCallWords checks that a model may answer in more or fewer pieces, and that anything else differs.
func TestCallWords(t *testing.T) {
	piece := func(text string) string {
		return fmt.Sprintf(`{"message_type":"stream","agent_id":"a","session_id":"1","message":{"text":%q}}`, text)
	}
	result := func(of string) string {
		return fmt.Sprintf(`{"message_type":"result","agent_id":"a","session_id":"1","message":{"subtype":%q}}`, of)
	}
	text := lineup(opens, opened, comes(piece("a")), comes(piece("b")), comes(result("success")), closes)
	for subtype, want := range map[string]int{"success": 0, "error": 1} {
		for n := range 4 {
			url := sockets(t, func(k talk) {
				for range n {
					k.say(piece("other"))
				}
				k.say(result(subtype))
				_, _, _ = k.c.Read(k.ctx)
			})
			c := call(t, url, ClientOptions{Messages: messages.For("session-chat"),
				Within: 100 * time.Millisecond}, text)
			if c.err != nil || c.Unknown != want || len(c.Undone) > 0 || c.Known != n+2-want {
				t.Errorf("%s, %d pieces: %+v", subtype, n, c)
			}
		}
	}
}

// TestCallErrors checks what cannot be played.
func TestCallErrors(t *testing.T) {
	web := httptest.NewServer(http.NotFoundHandler())
	web.Close()
	if c := call(t, web.URL, ClientOptions{}, working); !errors.Is(c.err, replay.ErrUnreachable) {
		t.Errorf("%+v", c)
	}
	asks := lineup(`{"party":"A","dir":"sent","kind":"request","label":"POST /say","text":"{}"}`)
	if c := call(t, web.URL, ClientOptions{}, asks); !errors.Is(c.err, replay.ErrUnreachable) {
		t.Errorf("%+v", c)
	}
	if c := call(t, web.URL, ClientOptions{}, head); !errors.Is(c.err, replay.ErrNothing) {
		t.Errorf("%+v", c)
	}
	if c := call(t, web.URL, ClientOptions{}); c.err == nil {
		t.Errorf("%+v", c)
	}
	for text, want := range map[string]string{strings.Replace(asks, "{}", "«redacted»", 1): "a secret was removed",
		strings.Replace(asks, `"text"`, `"cut":5,"text"`, 1): "5 bytes of it were not recorded"} {
		if c := call(t, web.URL, ClientOptions{}, text); c.err == nil || !strings.Contains(c.err.Error(), want) {
			t.Errorf("%+v, want %s", c, want)
		}
	}
}

// FuzzCall checks that no recording makes the mock of a client panic, and that everything becomes due when all comes.
func FuzzCall(f *testing.F) {
	f.Add(socket)
	f.Add(stream)
	f.Add(working)
	f.Fuzz(func(t *testing.T, text string) {
		in, err := recording.NewReader(strings.NewReader(text))
		if err != nil {
			return
		}
		c := &Client{}
		p := &played{ids: replay.NewIDs(), byServer: map[string]bool{}}
		size := 0
		if c.readCourse(recording.NewClientView(in), p, &size) != nil {
			return
		}
		c.ready = p.linkWaits()
		done := 0
		carryOut := func() {
			for len(c.ready) > 0 {
				d := c.ready[0]
				c.ready = c.ready[1:]
				c.meetCondition(d.then)
				done++
			}
		}
		carryOut()
		for _, h := range p.heard {
			c.noteArrival(h)
			carryOut()
		}
		if done != len(p.acts) {
			t.Errorf("%d of %d become due when all comes that was recorded", done, len(p.acts))
		}
	})
}
