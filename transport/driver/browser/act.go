package browser

import (
	"context"
	"errors"
	"fmt"
	"unicode/utf8"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/input"
	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/chromedp/kb"
	"github.com/go-json-experiment/json"

	"parley/transport/driver"
	"parley/transport/transcript"
)

// act is the body of a message.
type act struct {
	Do    string `json:"do"`    // click, choose, type, press, reload or open
	On    string `json:"on"`    // a control name of driver.Page, or "select", "chat", "log", "dismiss"
	Text  string `json:"text"`  // type: the text; click: what the element's text or an attribute must contain
	Value string `json:"value"` // choose: the option's value, else its text
	Key   string `json:"key"`   // press: a key name such as "Enter", or a character
	URL   string `json:"url"`   // open
}

func (a act) label() string {
	s := a.Do
	for _, w := range []string{a.On, a.Value, a.Key, a.URL} {
		if w != "" {
			s += " " + w
		}
	}
	if a.Text != "" {
		s += fmt.Sprintf(" %q", a.Text)
	}
	return s
}

// ActError reports an act that a user could not perform.
type ActError struct{ Do, On, Why string }

func (e *ActError) Error() string {
	if e.On == "" {
		return e.Do + ": " + e.Why
	}
	return e.Do + " " + e.On + ": " + e.Why
}

// Send implements driver.Conn: it performs one user act, given as JSON in the body. It waits until the page has
// handled the act and had one turn of its event loop, but never for the network.
//
//	{"do":"click","on":"connect"}                     with the mouse, in the middle of it
//	{"do":"click","on":"session","text":"sess_1"}     of what the hook names, the one with that text or attribute
//	{"do":"choose","on":"select","value":"general"}   an option, by its value, else by its text
//	{"do":"type","on":"message","text":"hi"}          replaces the previous text
//	{"do":"press","key":"Enter"}                      with "on": there, otherwise wherever the focus is
//	{"do":"reload"}
//	{"do":"open","url":"http://127.0.0.1:8080/"}
//
// If something covers the element to click, Send first clicks driver.Page.Dismiss if that is visible; if the element
// is still covered, it is clicked by script. If the page redraws the element between press and release, so that the
// click is lost, Send clicks again, at most twice. For an act that a user could not perform it records a Failure and
// returns an *[ActError]. It returns driver.ErrClosed after Close.
func (c *Conn) Send(ctx context.Context, m driver.Message) (int, error) {
	var a act
	if err := json.Unmarshal(m.Body, &a, json.RejectUnknownMembers(true)); err != nil {
		return 0, fmt.Errorf("read act: %w", err)
	}
	do := map[string]func(context.Context, act, int) error{"click": c.clickElement, "choose": c.chooseOption,
		"type":   c.enterText,
		"press":  c.pressKey,
		"reload": c.reloadPage, "open": c.visitURL}[a.Do]
	if do == nil {
		return 0, fmt.Errorf("read act: %q is not an act of a user", a.Do)
	}
	select {
	case c.acting <- struct{}{}:
		defer func() { <-c.acting }()
	case <-ctx.Done():
		return 0, context.Cause(ctx)
	}
	if errors.Is(context.Cause(c.live), driver.ErrClosed) {
		return 0, driver.ErrClosed
	}
	label := m.Label
	if label == "" {
		label = a.label()
	}
	n := c.recordAct(transcript.Record{Dir: transcript.Sent, Kind: transcript.Act, Label: label, Bytes: m.Body})
	ctx, cancel := c.boundByPage(ctx)
	defer cancel()
	err := do(ctx, a, n)
	if err == nil {
		return n, nil
	}
	err = c.explainEnd(err)
	if errors.Is(err, driver.ErrClosed) || errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) {
		return n, err
	}
	var no *ActError
	if !errors.As(err, &no) {
		no = &ActError{Do: a.Do, On: a.On, Why: err.Error()}
	}
	c.recordAct(transcript.Record{Dir: transcript.Received, Kind: transcript.Failure, Label: no.Error(), Reply: n})
	return n, no
}

// recordAct records a user act, even if the page has ended by itself.
func (c *Conn) recordAct(r transcript.Record) int {
	c.telling.Lock()
	defer c.telling.Unlock()
	if errors.Is(context.Cause(c.live), driver.ErrClosed) {
		return 0
	}
	r.Conn = c.o.Party
	return c.sink(r)
}

// namedHook returns the hook that an act's On names.
func (c *Conn) namedHook(a act) (string, error) {
	p := c.o.Page
	hook := p.Controls[a.On]
	if hook == "" {
		hook = map[string]string{"select": p.Select, "chat": p.Chat, "log": p.Log, "dismiss": p.Dismiss}[a.On]
	}
	if hook == "" {
		return "", &ActError{a.Do, a.On, "its place on the page is unknown"}
	}
	return hook, nil
}

// verdict is the reader's answer about an act: why it is impossible, or where to perform it.
type verdict struct {
	Why     string  `json:"why"`
	X       float64 `json:"x"`
	Y       float64 `json:"y"`
	Covered bool    `json:"covered"`
	Dismiss *struct {
		X float64 `json:"x"`
		Y float64 `json:"y"`
	} `json:"dismiss"`
}

// prepareReader makes the reader do its part of an act.
func (c *Conn) prepareReader(ctx context.Context, a act, function string, args ...any) (verdict, error) {
	var v verdict
	if err := c.evaluateRetrying(ctx, readerCall(function, args...), &v); err != nil {
		return v, err
	}
	if v.Why != "" {
		return v, &ActError{a.Do, a.On, v.Why}
	}
	return v, nil
}

// awaitTurn waits for one turn of the page's event loop. If the page has moved on, that counts as one.
func (c *Conn) awaitTurn(ctx context.Context) error {
	c.mu.Lock()
	world := c.world
	c.mu.Unlock()
	if world == "" {
		return nil
	}
	if err := c.evaluateOnce(ctx, readerCall("turn"), nil); err != nil && !errors.Is(err, errMoved) {
		return err
	}
	return nil
}

// clicks is how often to click if the page swallows clicks by redrawing the element between press and release.
const clicks = 3

const again = "the user clicks again: the page redrew the pressed element before the mouse was released"

func (c *Conn) clickElement(ctx context.Context, a act, n int) error {
	for i := 1; ; i++ {
		if err := c.clickOnce(ctx, a); err != nil {
			return err
		}
		var torn bool
		if err := c.evaluateOnce(ctx, readerCall("torn"), &torn); err != nil && !errors.Is(err, errMoved) {
			return err
		}
		if !torn || i == clicks {
			return c.awaitTurn(ctx)
		}
		body := []byte(a.label())
		c.recordAct(transcript.Record{Dir: transcript.Sent, Kind: transcript.Act, Reply: n, Label: again, Bytes: body})
	}
}

func (c *Conn) clickOnce(ctx context.Context, a act) error {
	hook, err := c.namedHook(a)
	if err != nil {
		return err
	}
	v, err := c.prepareReader(ctx, a, "aim", hook, a.Text, a.On)
	if err == nil && v.Dismiss != nil {
		if err := c.clickAt(ctx, v.Dismiss.X, v.Dismiss.Y); err != nil {
			return err
		}
		if err := c.awaitTurn(ctx); err != nil {
			return err
		}
		v, err = c.prepareReader(ctx, a, "aim", hook, a.Text, a.On)
	}
	if err != nil {
		return err
	}
	if v.Covered {
		err = c.evaluateOnce(ctx, readerCall("press"), nil)
	} else {
		err = c.clickAt(ctx, v.X, v.Y)
	}
	if err != nil && !errors.Is(err, errMoved) {
		return err
	}
	return nil
}

// clickAt clicks at a position in the viewport, and waits until the page has handled it.
func (c *Conn) clickAt(ctx context.Context, x, y float64) error {
	p := input.DispatchMouseEventParams{Type: "mouseMoved", X: x, Y: y}
	moved := startCommand(c.s, input.DispatchMouseEvent, p)
	p.Type, p.Button, p.Buttons, p.ClickCount = "mousePressed", "left", 1, 1
	pressed := startCommand(c.s, input.DispatchMouseEvent, p)
	p.Type, p.Buttons = "mouseReleased", 0
	released := startCommand(c.s, input.DispatchMouseEvent, p)
	return awaitReplies(ctx, moved, pressed, released)
}

// awaitReplies waits for the answers to several commands.
func awaitReplies(ctx context.Context, replies ...reply[cdp.Empty]) error {
	for _, r := range replies {
		if _, err := r.awaitReply(ctx); err != nil {
			return err
		}
	}
	return nil
}

func (c *Conn) chooseOption(ctx context.Context, a act, _ int) error {
	hook, err := c.namedHook(a)
	if err != nil {
		return err
	}
	if _, err := c.prepareReader(ctx, a, "choose", hook, a.Value, a.On); err != nil {
		return err
	}
	return c.awaitTurn(ctx)
}

func (c *Conn) enterText(ctx context.Context, a act, _ int) error {
	hook, err := c.namedHook(a)
	if err != nil {
		return err
	}
	if _, err := c.prepareReader(ctx, a, "focus", hook, a.On, true); err != nil {
		return err
	}
	if a.Text == "" {
		err = c.evaluateRetrying(ctx, readerCall("erase"), nil)
	} else {
		_, err = callCommand(ctx, c.s, input.InsertText, input.InsertTextParams{Text: a.Text})
	}
	if err != nil {
		return err
	}
	return c.awaitTurn(ctx)
}

func (c *Conn) pressKey(ctx context.Context, a act, _ int) error {
	key, ok := keyNamed(a.Key)
	if !ok {
		return &ActError{a.Do, a.On, fmt.Sprintf("there is no key %q", a.Key)}
	}
	if a.On != "" {
		hook, err := c.namedHook(a)
		if err != nil {
			return err
		}
		if _, err := c.prepareReader(ctx, a, "focus", hook, a.On, false); err != nil {
			return err
		}
	}
	var sent []reply[cdp.Empty]
	for _, e := range kb.Encode(key) {
		sent = append(sent, startCommand(c.s, input.DispatchKeyEvent, *e))
	}
	if err := awaitReplies(ctx, sent...); err != nil {
		return err
	}
	return c.awaitTurn(ctx)
}

// keyNamed returns a key by its DOM name or by the character that it types.
func keyNamed(name string) (rune, bool) {
	if r, n := utf8.DecodeRuneInString(name); n > 0 && n == len(name) {
		return r, true
	}
	if name == "Enter" { // two keys have this name
		return '\r', true
	}
	for r, k := range kb.Keys {
		if k.Key == name {
			return r, true
		}
	}
	return 0, false
}

func (c *Conn) reloadPage(ctx context.Context, _ act, n int) error {
	l := c.awaitDocument(n, false)
	_, err := callCommand(ctx, c.s, page.Reload, page.ReloadParams{})
	if err != nil {
		c.documentArrived(l, err)
	}
	return err
}

func (c *Conn) visitURL(ctx context.Context, a act, n int) error {
	l := c.awaitDocument(n, false)
	r := startCommand(c.s, page.Navigate, page.NavigateParams{URL: a.URL})
	go func() { // its answer may wait for the network
		v, err := r.awaitReply(c.live)
		c.s.queueHandler(func() {
			switch {
			case c.onItsWay() != l || err == nil && v.ErrorText == "":
			case err != nil:
				c.recordFailedDocument(err.Error())
			default:
				c.recordFailedDocument(v.ErrorText)
			}
		})
	}()
	return nil
}
