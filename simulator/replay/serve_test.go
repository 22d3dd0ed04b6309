package replay

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/coder/websocket"

	"parley/protocol/messages"
	"parley/transport/recording"
)

const head = `{"parley":"recording","version":1,"protocol":"p"}` + "\n"

func reader(t testing.TB, text string) *recording.Reader {
	t.Helper()
	in, err := recording.NewReader(strings.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	return in
}

// lineup makes a recording of records, each without its number and time.
func lineup(records ...string) string {
	var b strings.Builder
	b.WriteString(head)
	for n, r := range records {
		fmt.Fprintf(&b, `{"n":%d,"at_ms":%d,%s`+"\n", n+1, n, strings.TrimPrefix(r, "{"))
	}
	return b.String()
}

// outcome is what became of a replay.
type outcome struct {
	result Result
	err    error
	said   []string
}

// serving plays the server of a recording, and returns where, and what becomes of it.
func serving(t *testing.T, text string, o Options) (url string, done <-chan outcome) {
	t.Helper()
	ready, over := make(chan string, 1), make(chan outcome, 1)
	var p outcome
	o.Ready = func(url string) { ready <- url }
	o.Differs = func(d Difference) { p.said = append(p.said, d.String()) }
	go func() {
		p.result, p.err = Serve(t.Context(), reader(t, text), o)
		close(ready)
		over <- p
	}()
	url = <-ready
	if url == "" {
		t.Fatalf("it does not listen: %v", (<-over).err)
	}
	return url, over
}

// against plays the client of a recording.
func against(t *testing.T, text, url string, o Options) (p outcome) {
	t.Helper()
	o.URL = url
	o.Differs = func(d Difference) { p.said = append(p.said, d.String()) }
	p.result, p.err = PlayClient(t.Context(), reader(t, text), o)
	return p
}

func file(t *testing.T, name string) string {
	t.Helper()
	text, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// TestServe checks that both sides of a recording play it with each other without a difference, over both transports.
func TestServe(t *testing.T) {
	for _, name := range []string{"socket", "stream"} {
		text := file(t, "../mock/testdata/"+name+".jsonl")
		for _, speed := range []float64{0, 0.1, 100} {
			url, done := serving(t, text, Options{Speed: speed})
			client := against(t, text, url, Options{Speed: speed})
			server := <-done
			for who, p := range map[string]outcome{"client": client, "server": server} {
				if p.err != nil || len(p.said) > 0 || p.result.Sent < 2 || p.result.Compared < 2 {
					t.Errorf("%s, %s at %v: %+v", name, who, speed, p)
				}
			}
		}
	}
}

// TestServeFinds checks that a client that does something else is found out, that ids which it draws are mapped, and
// that what was not recorded is refused.
func TestServeFinds(t *testing.T) {
	text := lineup(`{"party":"A","dir":"sent","kind":"open","label":"GET ws://then/ws (upgrade)"}`,
		`{"party":"A","dir":"received","kind":"open","status":101,"to":1}`,
		`{"party":"A","dir":"sent","kind":"frame","type":"text","text":"{\"type\":\"ask\",\"id\":\"c-A1B2C3D4E5\"}"}`,
		`{"party":"A","dir":"received","kind":"frame","type":"text","text":"{\"type\":\"told\",\"to\":\"c-A1B2C3D4E5\"}"}`,
		`{"party":"A","dir":"sent","kind":"frame","type":"text","text":"{\"type\":\"ask\",\"of\":\"red\"}"}`,
		`{"party":"A","dir":"received","kind":"closed","status":4001,"label":"the target closed the connection: \"over\""}`)
	url, done := serving(t, text, Options{})
	other := make(chan int, 1)
	c, _, err := websocket.Dial(t.Context(), url+"/ws", nil)
	if err != nil {
		t.Fatal(err)
	}
	defer c.CloseNow()
	ask := func(text string) {
		t.Helper()
		if err := c.Write(t.Context(), websocket.MessageText, []byte(text)); err != nil {
			t.Fatal(err)
		}
	}
	ask(`{"type":"ask","id":"c-F6G7H8I9J0"}`)
	if _, got, err := c.Read(t.Context()); err != nil || string(got) != `{"type":"told","to":"c-F6G7H8I9J0"}` {
		t.Errorf("%s, %v", got, err)
	}
	go func() { other <- status(url + "/other") }()
	ask(`{"type":"ask","of":"blue"}`)
	_, _, err = c.Read(t.Context())
	var closed websocket.CloseError
	if !errors.As(err, &closed) || closed.Code != 4001 || closed.Reason != "over" {
		t.Errorf("%v", err)
	}
	p := <-done
	if got := <-other; got != http.StatusNotImplemented && got != http.StatusServiceUnavailable && got != 0 {
		t.Errorf("what was not recorded got %d", got)
	}
	if p.err != nil || p.result.Differences < 1 || !strings.HasPrefix(p.said[0], "A frame ask (record 5) at /of\n") {
		t.Errorf("%+v", p)
	}
}

// status asks for a page; 0 if there is nobody.
func status(url string) int {
	resp, err := http.Get(url)
	if err != nil {
		return 0
	}
	resp.Body.Close()
	http.DefaultClient.CloseIdleConnections()
	return resp.StatusCode
}

// TestServeRefuses checks that a request which was not recorded does not keep its client waiting, and is a difference.
func TestServeRefuses(t *testing.T) {
	text := lineup(`{"dir":"sent","kind":"request","label":"GET /a"}`,
		`{"dir":"received","kind":"response","status":200,"text":"yes","to":1}`,
		`{"dir":"sent","kind":"request","label":"GET /b"}`,
		`{"dir":"received","kind":"response","status":200,"text":"yes","to":3}`)
	url, done := serving(t, text, Options{Within: 3 * time.Second})
	for _, row := range []struct {
		at   string
		want int
	}{{"/a", 200}, {"/c", 501}} {
		if got := status(url + row.at); got != row.want {
			t.Errorf("%s: %d, want %d", row.at, got, row.want)
		}
	}
	p := <-done
	if want := []string{"GET /b (record 3) did not come", "GET /c came, and was not recorded"}; p.err != nil ||
		!slices.Equal(p.said, want) {
		t.Errorf("%+v", p)
	}
}

// TestServeEarly checks that a client which waits for an answer gets it, though the recorded one did not wait.
func TestServeEarly(t *testing.T) {
	text := lineup(`{"dir":"sent","kind":"request","label":"GET /a"}`, `{"dir":"sent","kind":"request","label":"GET /b"}`,
		`{"dir":"sent","kind":"request","label":"GET /a"}`,
		`{"dir":"received","kind":"response","status":200,"text":"yes","to":1}`,
		`{"dir":"received","kind":"response","status":201,"text":"yes","to":2}`,
		`{"dir":"received","kind":"response","status":202,"text":"yes","to":3}`)
	url, done := serving(t, text, Options{Quiet: 10 * time.Millisecond})
	for i, at := range []string{"/a", "/b", "/a"} {
		if got := status(url + at); got != 200+i {
			t.Errorf("%d: %d", i, got)
		}
	}
	if p := <-done; p.err != nil || len(p.said) > 0 || p.result.Compared != 3 || p.result.Sent != 3 {
		t.Errorf("%+v", p)
	}
}

// TestServeOrder checks that requests to one place are distinguished by their content, whichever comes first.
func TestServeOrder(t *testing.T) {
	text := lineup(`{"dir":"sent","kind":"request","label":"GET /a?n=1"}`,
		`{"dir":"received","kind":"response","status":201,"text":"yes","to":1}`,
		`{"dir":"sent","kind":"request","label":"GET /a?n=2"}`,
		`{"dir":"received","kind":"response","status":202,"text":"yes","to":3}`)
	url, done := serving(t, text, Options{Within: time.Minute, Quiet: 3 * time.Second})
	var both sync.WaitGroup
	for _, n := range []int{2, 1} {
		both.Go(func() {
			if got := status(fmt.Sprintf("%s/a?n=%d", url, n)); got != 200+n {
				t.Errorf("%d: %d", n, got)
			}
		})
	}
	both.Wait()
	if p := <-done; p.err != nil || len(p.said) > 0 || p.result.Compared != 2 {
		t.Errorf("%+v", p)
	}
}

// TestServeEnds checks that a replay whose client never comes ends with its context, and that an address that is taken
// is an error.
func TestServeEnds(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	taken := ""
	_, err := Serve(ctx, reader(t, file(t, "../mock/testdata/socket.jsonl")), Options{Ready: func(url string) {
		taken = strings.TrimPrefix(url, "http://")
		_, err := Serve(ctx, reader(t, head), Options{Addr: taken})
		if err == nil || !strings.Contains(err.Error(), "address already in use") {
			t.Error(err)
		}
		cancel()
	}})
	if !errors.Is(err, context.Canceled) || taken == "" {
		t.Errorf("%v", err)
	}
}

// TestLongLine checks that a line beyond the bound is said to be.
func TestLongLine(t *testing.T) {
	text := lineup(`{"party":"bus","dir":"sent","kind":"open","label":"stdio"}`,
		`{"party":"bus","dir":"received","kind":"open","label":"a new process","to":1}`,
		`{"party":"bus","dir":"sent","kind":"frame","type":"text","text":"a"}`)
	var all []string
	result, err := ServeLines(t.Context(), reader(t, text), strings.NewReader(strings.Repeat("x", maxMessage+1)),
		io.Discard, Options{Within: 3 * time.Second, Differs: func(d Difference) { all = append(all, d.String()) }})
	if err != nil || result.Differences < 1 || !strings.HasPrefix(all[0], "bus frame (record 3) did not come") ||
		result.Behind+result.Differences < 2 {
		t.Errorf("%+v, %v, %q", result, err, all)
	}
}

// TestServeLines checks the server's side over stdio.
func TestServeLines(t *testing.T) {
	text := lineup(`{"party":"bus","dir":"sent","kind":"open","label":"stdio"}`,
		`{"party":"bus","dir":"received","kind":"open","label":"a new process","to":1}`,
		`{"party":"bus","dir":"sent","kind":"frame","type":"text","text":"`+
			`{\"parley\":\"setup\",\"id\":\"m-A1B2C3D4E5\"}"}`,
		`{"party":"bus","dir":"received","kind":"frame","type":"text","text":"`+
			`{\"parley\":\"ready\",\"id\":\"m-A1B2C3D4E5\"}"}`,
		`{"party":"bus","dir":"sent","kind":"frame","type":"text","text":"{\"parley\":\"fence\"}"}`)
	in, to := io.Pipe()
	from, out := io.Pipe()
	done := make(chan outcome, 1)
	go func() {
		var p outcome
		p.result, p.err = ServeLines(t.Context(), reader(t, text), in, out, Options{
			Messages: messages.For("session-runtime"), Within: 3 * time.Second,
			Differs: func(d Difference) { p.said = append(p.said, d.String()) }})
		done <- p
	}()
	fmt.Fprintln(to, `{"parley":"setup","id":"m-F6G7H8I9J0"}`)
	line, err := bufio.NewReader(from).ReadString('\n')
	if err != nil || line != `{"parley":"ready","id":"m-F6G7H8I9J0"}`+"\n" {
		t.Errorf("%q, %v", line, err)
	}
	fmt.Fprintln(to, `{"parley":"fenced"}`)
	p := <-done
	to.Close()
	if p.err != nil || p.result.Sent != 2 || p.result.Compared != 2 || p.result.Differences != 1 {
		t.Errorf("%+v", p)
	}
}

// TestServeStreamUnasked checks that a client gets the recorded stream whether it asks for an event stream or not. With
// a page at the same address, each gets its own, also in another order, which is a difference.
func TestServeStreamUnasked(t *testing.T) {
	text := lineup(`{"dir":"sent","kind":"request","label":"GET /"}`,
		`{"dir":"received","kind":"response","label":"200 OK","status":200,"text":"page","to":1}`,
		`{"party":"A","dir":"sent","kind":"open","label":"GET /"}`,
		`{"party":"A","dir":"received","kind":"open","label":"stream","status":200,"type":"text/event-stream","to":3}`,
		`{"party":"A","dir":"received","kind":"event","type":"message","text":"hi"}`)
	for name, accepts := range map[string][]string{"as recorded": {"", "text/event-stream"}, "never asked": {"", ""},
		"the stream first": {"text/event-stream", ""}} {
		t.Run(name, func(t *testing.T) {
			differences := map[string]int{"the stream first": 1}[name]
			url, done := serving(t, text, Options{Within: 5 * time.Second})
			var heads []string
			for _, accept := range accepts {
				heads = append(heads, headOf(t, url+"/", accept))
			}
			slices.Sort(heads)
			p := <-done
			if p.err != nil || p.result.Differences != differences || !slices.Equal(heads, []string{"data", "page"}) {
				t.Errorf("%q; %+v", heads, p)
			}
		})
	}
}

// headOf returns the first four bytes of an answer, once they have come.
func headOf(t *testing.T, url, accept string) string {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url, nil)
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Accept", accept)
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	text := make([]byte, 4)
	if _, err := io.ReadFull(res.Body, text); err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// TestServeThinking: a client that thinks is waited for; the answer comes behind what it answers, and not before.
func TestServeThinking(t *testing.T) {
	frame := func(dir, text string) string {
		return fmt.Sprintf(`{"party":"bus","dir":%q,"kind":"frame","type":"text","text":%q}`, dir, text)
	}
	const ask, answer = `{"type":"chat","agent_id":"a1"}`, `{"type":"result","agent_id":"a1"}`
	text := lineup(`{"party":"bus","dir":"sent","kind":"open","label":"stdio"}`,
		`{"party":"bus","dir":"received","kind":"open","label":"a new process","to":1}`,
		frame("sent", ask), frame("received", answer),
		frame("sent", `{"type":"more"}`), frame("received", `{"type":"done"}`))
	in, to := io.Pipe()
	from, out := io.Pipe()
	done := make(chan outcome, 1)
	go func() {
		var p outcome
		p.result, p.err = ServeLines(t.Context(), reader(t, text), in, out, Options{Quiet: 5 * time.Millisecond,
			Differs: func(d Difference) { p.said = append(p.said, d.String()) }})
		done <- p
	}()
	lines := make(chan string)
	go func() {
		for all := bufio.NewScanner(from); all.Scan(); {
			lines <- all.Text()
		}
	}()
	for _, turn := range [][2]string{{ask, answer}, {`{"type":"more"}`, `{"type":"done"}`}} {
		select {
		case early := <-lines:
			t.Fatalf("%s came before %s", early, turn[0])
		case <-time.After(150 * time.Millisecond): // the client thinks
		}
		fmt.Fprintln(to, turn[0])
		if got := <-lines; got != turn[1] {
			t.Errorf("%s, want %s", got, turn[1])
		}
	}
	if p := <-done; p.err != nil || p.result.Differences != 0 {
		t.Errorf("%+v", p)
	}
	_, _ = to.Close(), from.Close()
}

// TestServeThinks checks that a client that is connected may take any time, and that one that has left may not.
func TestServeThinks(t *testing.T) {
	text := lineup(`{"dir":"sent","kind":"open","party":"A","label":"GET /events"}`,
		`{"dir":"received","kind":"open","party":"A","status":200,"type":"text/event-stream","to":1}`,
		`{"dir":"received","kind":"event","party":"A","type":"message","text":"which?"}`,
		`{"dir":"sent","kind":"request","party":"A","label":"GET /a"}`,
		`{"dir":"received","kind":"response","party":"A","status":200,"text":"yes","to":4}`)
	for _, row := range []struct {
		asks bool
		want []string
	}{{true, nil}, {false, []string{"A GET /a (record 4) did not come"}}} {
		url, done := serving(t, text, Options{Within: time.Millisecond, Quiet: time.Millisecond, Thinks: true})
		req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url+"/events", nil)
		if err != nil {
			t.Fatal(err)
		}
		req.Header.Set("Accept", "text/event-stream")
		resp, err := http.DefaultClient.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		question := make([]byte, len("event: message"))
		if _, err := io.ReadFull(resp.Body, question); err != nil {
			t.Fatalf("%q: %v", question, err)
		}
		for range 3 { // longer than the limit
			select {
			case p := <-done:
				t.Fatalf("it was over while the client was thinking: %+v", p)
			case <-time.After(20 * time.Millisecond):
			}
		}
		if row.asks && status(url+"/a") != 200 {
			t.Error("the request was not answered")
		}
		resp.Body.Close()
		if p := <-done; p.err != nil || !slices.Equal(p.said, row.want) {
			t.Errorf("asks: %t: %+v", row.asks, p)
		}
	}
}
