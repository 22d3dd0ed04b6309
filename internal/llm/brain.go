// Package llm is a scripted language model: the conversation brain behind the model stub (package stub) and behind the
// bundled servers, which call it in process.
//
// It obeys directives in the last user text of a request: the last non-empty text with role user. Later user texts
// without a directive are reminders added by the target, and left out, unless an answer in words precedes them. A
// directive is written in double brackets and carries a nonce, so that parallel scenarios can share one brain:
//
//	[[hold N]]             say "holding N", wait for Release(N) or the end of the context, say "released N"
//	[[hold N 2s]]          the same, released after that time by itself (at most MaxHold)
//	[[stream N n]]         say n parts (1 without n, at most MaxParts)
//	[[tool N name {json}]] ask for that tool call; once its result follows, say "tool N answered"
//	[[fail N 500]]         fail with that status (400 to 599, default 500)
//	[[echo N]]             say the user's text, unchanged
//	[[recall N]]           say the nonces of the earlier turns in this request, and their number: "a b (2)"
//
// The rules, in order:
//
//  1. A text without directives is answered by "ok".
//  2. Several directives in one text are carried out in order, each from the second on starting a new line. Directives
//     in lines before the last line with directives are left out if they carry another nonce: some targets join the
//     text of an aborted turn with that of the next one.
//  3. A tool directive ends the answer at its call. Every tool result after the user text, counted by call id, answers
//     one tool directive: the next request continues after the last one answered. The answer says so first, unless a
//     fail directive comes next, so that a failure after a result keeps its HTTP status.
//  4. A fail directive ends the answer. Parts before it have already been said.
//  5. An earlier turn is a user message before the last user text. Recall names each nonce once per turn, in order.
//  6. A malformed directive is text.
//
// The brain keeps no conversation: everything comes from the request itself. It records all requests as evidence,
// failed ones included; see Brain for the bounds.
package llm

import (
	"container/list"
	"context"
	"crypto/rand"
	"strconv"
	"sync"
)

// Brain answers requests and records them. It is safe for concurrent use.
//
// The record is bounded by MaxRequests and MaxBytes: the oldest requests are dropped first, and each text is cut at
// MaxText. Answers are made from the whole texts.
type Brain struct {
	journal *journal
	gates   *gates
}

// New returns a brain with an empty record.
func New() *Brain {
	return &Brain{journal: newJournal(MaxRequests, MaxBytes), gates: newGates(MaxRequests)}
}

// NewUnrecorded returns a brain that keeps no record: Requests and Find return nothing, and a wait for a request ends
// with its context. It is for a server that nobody asks what its model was asked, and that may run for days.
func NewUnrecorded() *Brain {
	return &Brain{journal: newJournal(0, 0), gates: newGates(MaxRequests)}
}

// Answer records the request, then answers it by sequential calls of emit from this goroutine. It returns nil at the
// end of the answer, a *Failure if a directive asks for one, the context's error as soon as that ends, and otherwise
// the first error of emit, unwrapped. Request fields that the brain sets are ignored.
func (b *Brain) Answer(ctx context.Context, r Request, emit func(Part) error) error {
	t := turnOf(r.Messages)
	b.journal.addRequest(r, nonceList(t.directives))
	return t.runDirectives(&voice{ctx: ctx, emit: emit, gates: b.gates})
}

// Release frees every request held for the nonce, now and later, until Forget.
func (b *Brain) Release(nonce string) { b.gates.releaseNonce(nonce) }

// Abandoned waits until the requests whose answers are held for a nonce have been given up by whoever made them. It
// reports false if ctx ends first, or if the nonce has been released.
func (b *Brain) Abandoned(ctx context.Context, nonce string) bool {
	return b.gates.awaitAbandoned(ctx, nonce)
}

// Forget drops everything kept for a nonce: its release, and its requests except those whose last user text carries
// another nonce that is not forgotten yet. A request held for the nonce is released; later ones are held again.
func (b *Brain) Forget(nonce string) {
	b.gates.forgetNonce(nonce)
	b.journal.forgetNonce(nonce)
}

// Requests returns copies of the recorded requests whose last user text carries a directive with the nonce, oldest
// first.
func (b *Brain) Requests(nonce string) []Request {
	found, _ := b.journal.requestsOf(nonce)
	return requestsIn(found)
}

// Await returns the result of Requests as soon as it has at least n. If the context ends first, it returns those
// present, and an error that wraps the context's.
func (b *Brain) Await(ctx context.Context, nonce string, n int) ([]Request, error) {
	return b.journal.awaitRequests(ctx, nonce, n)
}

// Find returns copies of the recorded requests that match, oldest first. Match must not change its argument; it may
// call the brain.
func (b *Brain) Find(match func(Request) bool) []Request {
	found, _ := b.journal.requestsSince(0)
	return requestsIn(filter(found, match))
}

// AwaitMatch returns the requests that match, oldest first, as soon as at least n have been recorded. It examines
// each request once, so it also counts those forgotten or dropped while it waits. Match and the end of the context
// are as in Find and Await.
func (b *Brain) AwaitMatch(ctx context.Context, n int, match func(Request) bool) ([]Request, error) {
	return b.journal.awaitMatch(ctx, n, match)
}

// gates holds answers until their nonce is released. It remembers at most limit released nonces for later holds; the
// oldest is dropped first.
type gates struct {
	limit int

	mu       sync.Mutex
	held     map[string]*gate
	released map[string]*list.Element // of order
	order    list.List                // of string: the released nonces, oldest first
}

type gate struct {
	open    chan struct{} // closed by the release
	left    chan struct{} // closed once nobody waits
	waiters int
}

func newGates(limit int) *gates {
	return &gates{limit: limit, held: map[string]*gate{}, released: map[string]*list.Element{}}
}

// awaitRelease returns when the nonce is released or forgotten, or with the context's error if that ends first.
func (g *gates) awaitRelease(ctx context.Context, nonce string) error {
	h := g.enterGate(nonce)
	if h == nil {
		return nil
	}
	select {
	case <-h.open:
		return nil
	case <-ctx.Done():
		g.leaveGate(nonce, h)
		return ctx.Err()
	}
}

// enterGate returns the gate to wait at; nil if the nonce has been released.
func (g *gates) enterGate(nonce string) *gate {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.released[nonce] != nil {
		return nil
	}
	h := g.held[nonce]
	if h == nil {
		h = &gate{open: make(chan struct{}), left: make(chan struct{})}
		g.held[nonce] = h
	}
	h.waiters++
	return h
}

func (g *gates) leaveGate(nonce string, h *gate) {
	g.mu.Lock()
	defer g.mu.Unlock()
	h.waiters--
	if h.waiters == 0 && g.held[nonce] == h {
		delete(g.held, nonce)
		close(h.left)
	}
}

// awaitAbandoned waits until no answer of a nonce is held, and reports whether all have gone without a release.
func (g *gates) awaitAbandoned(ctx context.Context, nonce string) bool {
	g.mu.Lock()
	h, released := g.held[nonce], g.released[nonce] != nil
	g.mu.Unlock()
	if h == nil {
		return !released
	}
	select {
	case <-h.left:
		return true
	case <-h.open:
	case <-ctx.Done():
	}
	return false
}

func (g *gates) releaseNonce(nonce string) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.openGate(nonce)
	if g.released[nonce] != nil {
		return
	}
	g.released[nonce] = g.order.PushBack(nonce)
	if g.order.Len() > g.limit {
		delete(g.released, g.order.Remove(g.order.Front()).(string))
	}
}

// forgetNonce opens the gate of a nonce and forgets its release, so that a later hold waits again.
func (g *gates) forgetNonce(nonce string) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.openGate(nonce)
	if mark := g.released[nonce]; mark != nil {
		g.order.Remove(mark)
		delete(g.released, nonce)
	}
}

// openGate frees the current waiters. The caller holds the lock.
func (g *gates) openGate(nonce string) {
	if h := g.held[nonce]; h != nil {
		close(h.open)
		delete(g.held, nonce)
	}
}

// voice emits one answer. It stops when the context ends.
type voice struct {
	ctx   context.Context
	emit  func(Part) error
	gates *gates

	spoken  bool // something has been said
	newLine bool // the next text starts a line
}

// startLine makes the next text start a new line, unless it is the first.
func (v *voice) startLine() { v.newLine = v.spoken }

func (v *voice) emitText(text string) error {
	if err := v.ctx.Err(); err != nil {
		return err
	}
	if v.newLine {
		text = "\n" + text
	}
	v.spoken, v.newLine = true, false
	return v.emit(Part{Text: text})
}

// emitCall emits a tool call. Its id is unique across brains, because a target may keep it longer than this one exists.
func (v *voice) emitCall(name, args string) error {
	if err := v.ctx.Err(); err != nil {
		return err
	}
	return v.emit(Part{Call: &ToolCall{ID: "call_" + rand.Text(), Name: name, Arguments: args}})
}

func (v *voice) holdAnswer(d Directive) error {
	if err := v.emitText("holding " + d.Nonce); err != nil {
		return err
	}
	ctx, cancel := v.ctx, context.CancelFunc(func() {})
	if d.For > 0 {
		ctx, cancel = context.WithTimeout(v.ctx, d.For)
	}
	defer cancel()
	if err := v.gates.awaitRelease(ctx, d.Nonce); err != nil && (d.For == 0 || v.ctx.Err() != nil) {
		return err
	}
	return v.emitText("\nreleased " + d.Nonce)
}

func (v *voice) streamPieces(nonce string, n int) error {
	of := "/" + strconv.Itoa(n) + " "
	for i := range n {
		if err := v.emitText("stream " + nonce + " " + strconv.Itoa(i+1) + of); err != nil {
			return err
		}
	}
	return nil
}

func (v *voice) failAnswer(d Directive) error {
	if err := v.ctx.Err(); err != nil {
		return err
	}
	return &Failure{Status: d.Status, Text: "failing " + d.Nonce + " as asked"}
}
