// Package trafficview shows on a terminal what passes a proxy: a line for each message with its judgement, and keys to
// move, inspect, filter, follow, pause, hold, copy and export.
package trafficview

import (
	"context"
	"errors"
	"io"
	"sync"
	"time"

	tea "charm.land/bubbletea/v2"

	"parley/simulator/gate"
	"parley/simulator/proxy"
	"parley/steps"
	"parley/transport/transcript"
)

// Bounds of what a view keeps.
const (
	maxItems   = 10_000   // messages; of more, the first ones are forgotten
	maxPayload = 16 << 10 // bytes of a message
)

// redraw is how often what has come is shown.
const redraw = 100 * time.Millisecond

// Options configure a View.
type Options struct {
	Judges string                   // what is judged, in a few words
	TypeOf func(body []byte) string // the type of a message of the protocol; "" if it has none. May be nil
	// Export writes records to a file and returns its name; nil: they cannot be exported.
	Export func(records []transcript.Record) (name string, err error)
	Color  bool
	// Explain returns what a clause says; nil: nothing is said of it.
	Explain func(clause string) string

	In  io.Reader // keys
	Out io.Writer // the terminal
}

// View is what a terminal shows. It is safe for concurrent use.
type View struct {
	o    Options
	hold holder

	title   string  // see Run
	traffic Traffic // see Run

	mu      sync.Mutex
	come    []transcript.Record // not shown yet
	checked []proxy.Checked     // not shown yet
}

// Traffic is what passes; a *proxy.Proxy is one.
type Traffic interface {
	Stats() proxy.Stats
	Owed() (list []steps.Owed, count int)
}

// New makes a view that shows nothing yet.
func New(o Options) *View { return &View{o: o} }

// Add shows a record, without what redact removes. It does not block.
func (v *View) Add(r transcript.Record, redact *transcript.Redactor) {
	if r.Kind == transcript.Comment {
		return
	}
	if more := len(r.Bytes) - maxPayload; more > 0 {
		r.Bytes, r.Cut = r.Bytes[:maxPayload], r.Cut+more
	}
	r.Bytes, r.Label, r.Type = redact.Bytes(r.Bytes), redact.String(r.MaskedLabel()), redact.String(r.Type)
	r.Event = nil
	v.mu.Lock()
	defer v.mu.Unlock()
	v.come = append(v.come, r)
	if more := len(v.come) - maxItems; more > 0 {
		v.come = append(v.come[:0:0], v.come[more:]...)
	}
}

// Check marks the messages that a round of judging is about. It does not block.
func (v *View) Check(c proxy.Checked) {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.checked = append(v.checked, c)
}

// takeNew returns what has come since the last call.
func (v *View) takeNew() (come []transcript.Record, checked []proxy.Checked) {
	v.mu.Lock()
	defer v.mu.Unlock()
	come, checked = v.come, v.checked
	v.come, v.checked = nil, nil
	return come, checked
}

// Hold lets a message wait while messages are held back by hand. It is called before the message passes on.
func (v *View) Hold(ctx context.Context, m gate.Message) {
	typ := ""
	if v.o.TypeOf != nil {
		typ = v.o.TypeOf(m.Body)
	}
	v.hold.wait(ctx, m, typ)
}

// Held returns how many messages were held back so far.
func (v *View) Held() int { return v.hold.count() }

// Run shows the view until the person leaves it, or ctx ends. Then nothing is held back any more. title says where
// clients connect, and where the messages go; traffic may be nil.
func (v *View) Run(ctx context.Context, title string, traffic Traffic) error {
	v.title, v.traffic = title, traffic
	defer v.hold.releaseAll()
	p := tea.NewProgram(newScreen(v), tea.WithContext(ctx), tea.WithInput(v.o.In), tea.WithOutput(v.o.Out),
		tea.WithoutSignalHandler())
	_, err := p.Run()
	if ctx.Err() != nil || errors.Is(err, tea.ErrProgramKilled) {
		return nil
	}
	return err
}
