package counterpart

import (
	"context"
	"errors"
	"io"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/coder/websocket"
	"github.com/go-json-experiment/json"

	"parley/internal/httpclient"
	"parley/internal/jsonform"
	"parley/internal/script"
	"parley/simulator/gate"
	"parley/transport/driver"
	"parley/transport/transcript"
)

// SetScript arms a script, with its initial variables. It answers messages whose mind is Script. The error says that
// the script is for another protocol or party.
func (p *Play) SetScript(s *script.Script) error {
	if s == nil {
		return errors.New("there is no script")
	}
	if err := s.Plays(p.o.Protocol, p.o.As); err != nil {
		return err
	}
	p.makeEngine(s)
	p.mu.Lock()
	begins := p.mind == Script
	p.wakeWaiters()
	p.mu.Unlock()
	if begins {
		p.performFirst()
	}
	return nil
}

// makeEngine makes the engine of a script.
func (p *Play) makeEngine(s *script.Script) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.script, p.engine = s, nil
	if s != nil {
		p.engine = s.Engine(script.EngineOptions{})
	}
}

// performFirst carries out the first actions of the script.
func (p *Play) performFirst() {
	p.mu.Lock()
	var actions []script.Action
	if p.engine != nil {
		actions = p.engine.Start()
		p.noteFailure("", p.engine.Trace().Failed)
	}
	p.mu.Unlock()
	p.performActions(gate.Message{}, actions)
}

// noteFailure writes what a script could not do into the transcript.
func (p *Play) noteFailure(conn string, all []string) {
	for _, text := range all {
		p.t.Remark(conn, "%s", text)
	}
}

// performActions carries out actions of a script in order, each after its own delay, and closes the channel after the
// last. What answers a message at once goes out behind what answers earlier messages of its connection at once.
func (p *Play) performActions(m gate.Message, actions []script.Action) <-chan struct{} {
	done := make(chan struct{})
	if len(actions) == 0 {
		close(done)
		return done
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed {
		close(done)
		return done
	}
	p.work.Add(1)
	n := promptly(actions)
	earlier, prompt := p.prompt[m.Conn], make(chan struct{})
	if n > 0 {
		p.prompt[m.Conn] = prompt
	}
	go func() {
		defer p.work.Done()
		defer close(done)
		if n > 0 && earlier != nil {
			select {
			case <-earlier:
			case <-p.ctx.Done():
			}
		}
		p.performInOrder(m, actions[:n])
		p.endPrompt(m.Conn, prompt)
		p.performInOrder(m, actions[n:])
	}()
	return done
}

// promptly counts the actions at the beginning that need no time: that have no delay, and wait for no other party.
func promptly(actions []script.Action) int {
	n := slices.IndexFunc(actions, func(a script.Action) bool {
		return a.After > 0 || a.Do == script.Connect || a.Do == script.Request
	})
	if n < 0 {
		return len(actions)
	}
	return n
}

// endPrompt lets what answers the connection's next message go out.
func (p *Play) endPrompt(conn string, prompt chan struct{}) {
	close(prompt)
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.prompt[conn] == prompt {
		delete(p.prompt, conn)
	}
}

func (p *Play) performInOrder(m gate.Message, actions []script.Action) {
	for _, a := range actions {
		if !waitFor(p.ctx, a.After) {
			return
		}
		if err := p.performAction(m, a); err != nil && p.ctx.Err() == nil {
			p.t.Remark(a.Party, "line %d of the script: %s: %v", a.Line, a.Do, err)
		}
	}
}

// waitFor waits, and reports whether ctx has not ended.
func waitFor(ctx context.Context, d time.Duration) bool {
	if d <= 0 {
		return ctx.Err() == nil
	}
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-ctx.Done():
		return false
	}
}

// patience bounds how long a script waits for a connection to open, or to take a message.
const patience = 10 * time.Second

// performAction carries out one action of a script.
func (p *Play) performAction(m gate.Message, a script.Action) error {
	ctx, cancel := context.WithTimeout(p.ctx, patience)
	defer cancel()
	if a.Do == script.Connect {
		return p.connectProgram(ctx, a)
	}
	if a.Do == script.Request {
		return p.sendRequest(ctx, a)
	}
	conn, err := p.actionParty(m, a.Party)
	if err != nil {
		return err
	}
	switch a.Do {
	case script.Send:
		return p.sendNumbered(ctx, conn, a)
	case script.Close:
		if a.Status == 0 && len(a.Body) == 0 {
			return p.gate.End(conn, driver.Graceful)
		}
		return p.gate.Send(ctx, conn, p.programSide(),
			gate.Message{Kind: transcript.Closed, Status: a.Status, Body: a.Body})
	case script.Cut:
		return p.gate.End(conn, driver.Reset)
	}
	return errors.New("it is not possible here")
}

// sendNumbered sends a message of the script as the next one on its connection.
func (p *Play) sendNumbered(ctx context.Context, conn string, a script.Action) error {
	p.mu.Lock()
	sent := p.sent[conn]
	if sent == nil {
		sent = &numbering{}
		p.sent[conn] = sent
	}
	p.mu.Unlock()
	sent.mu.Lock()
	defer sent.mu.Unlock()
	body := a.Numbered(sent.n + 1)
	p.rememberTexts(conn, body)
	err := p.gate.Send(ctx, conn, p.programSide(), gate.Message{Event: a.Event, Body: body, Binary: a.Binary})
	if err == nil {
		sent.n++
	}
	return err
}

// forgetConn forgets what is known of a connection that has ended.
func (p *Play) forgetConn(conn string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.sent, conn)
	delete(p.heard, conn)
}

// numbering counts the messages that a script has sent on a connection. It is held while one is being sent.
type numbering struct {
	mu sync.Mutex
	n  int
}

// actionParty returns the connection that an action is about: the one it names, or that of the message, or the stream
// to which an HTTP request belongs.
func (p *Play) actionParty(m gate.Message, named string) (string, error) {
	open := p.Parties()
	switch {
	case named != "" && slices.Contains(open, named):
		return named, nil
	case named != "":
		return "", errors.New(named + " is not connected (connected: " + strings.Join(open, ", ") + ")")
	case m.Kind != transcript.Request && m.Conn != "":
		return m.Conn, nil
	case len(open) == 0:
		return "", errors.New("nobody is connected")
	}
	if conn := p.streamOf(idTexts(m.Body)); conn != "" {
		return conn, nil
	}
	return open[len(open)-1], nil
}

// known bounds the texts that are kept of the script's messages on a stream.
const known = 64

// rememberTexts remembers the texts in a message on a stream, such as the id of the connection.
func (p *Play) rememberTexts(conn string, body []byte) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if len(p.heard[conn]) < known {
		p.heard[conn] = append(p.heard[conn], idTexts(body)...)
	}
}

// streamOf finds the stream to which a request with these texts belongs: the newest one on which the script has sent
// one of them; "" if there is none.
func (p *Play) streamOf(in []string) string {
	open := p.Parties()
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, conn := range slices.Backward(open) {
		if slices.ContainsFunc(p.heard[conn], func(text string) bool { return slices.Contains(in, text) }) {
			return conn
		}
	}
	return ""
}

// idTexts returns the strings in a JSON object that could be ids: those of its members and of nested objects.
func idTexts(body []byte) (out []string) {
	var object map[string]any
	if json.Unmarshal(body, &object, jsonform.Lenient) != nil {
		return nil
	}
	var take func(v any, depth int)
	take = func(v any, depth int) {
		switch v := v.(type) {
		case string:
			if len(v) >= 8 && len(v) <= 256 {
				out = append(out, v)
			}
		case map[string]any:
			for _, member := range v {
				if depth < 2 {
					take(member, depth+1)
				}
			}
		}
	}
	take(object, 0)
	return out
}

// connectProgram opens a connection to the program, through the gate: the program's messages on it go to the script.
func (p *Play) connectProgram(ctx context.Context, a script.Action) error {
	at := p.gate.URL() + a.Path
	if a.Transport == "sse" {
		return p.openStream(at, a)
	}
	c, res, err := websocket.Dial(ctx, at, &websocket.DialOptions{Subprotocols: a.Subprotocols,
		HTTPHeader: requestHeaders(a.Header)}) //nolint:bodyclose // it has none
	if err != nil {
		return p.whyRefused(res, err)
	}
	c.SetReadLimit(-1)
	p.runBackground(func() {
		defer c.CloseNow()
		for {
			if _, _, err := c.Read(p.ctx); err != nil {
				return
			}
		}
	})
	return nil
}

// whyRefused returns why a connection has not opened: in the words of the gate if that has not reached the program.
func (p *Play) whyRefused(res *http.Response, err error) error {
	if res == nil || res.StatusCode != http.StatusBadGateway {
		return err
	}
	said, _ := io.ReadAll(io.LimitReader(res.Body, 1<<10))
	if text := p.whyUnreachable(string(said)); text != "" {
		return errors.New(text)
	}
	return err
}

// runBackground runs do until the play is closed.
func (p *Play) runBackground(do func()) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if !p.closed {
		p.work.Go(do)
	}
}

// asking sends the requests of scripts.
var asking = httpclient.New(&http.Transport{})

// openStream opens an event stream.
func (p *Play) openStream(at string, a script.Action) error {
	req, err := http.NewRequestWithContext(p.ctx, http.MethodGet, at, nil)
	if err != nil {
		return err
	}
	req.Header = requestHeaders(a.Header)
	req.Header.Set("Accept", "text/event-stream")
	res, err := asking.Do(req)
	if err != nil {
		return err
	}
	p.runBackground(func() {
		defer res.Body.Close()
		_, _ = io.Copy(io.Discard, res.Body)
	})
	return nil
}

// sendRequest sends an HTTP request of the script.
func (p *Play) sendRequest(ctx context.Context, a script.Action) error {
	method := a.Method
	if method == "" {
		method = http.MethodPost
	}
	req, err := http.NewRequestWithContext(ctx, method, p.gate.URL()+a.Path, strings.NewReader(string(a.Body)))
	if err != nil {
		return err
	}
	req.Header = requestHeaders(a.Header)
	if req.Header.Get("Content-Type") == "" {
		req.Header.Set("Content-Type", "application/json")
	}
	res, err := asking.Do(req)
	if err != nil {
		return err
	}
	defer res.Body.Close()
	_, err = io.Copy(io.Discard, res.Body)
	return err
}

func requestHeaders(all map[string]string) http.Header {
	h := http.Header{}
	for name, value := range all {
		h.Set(name, value)
	}
	return h
}
