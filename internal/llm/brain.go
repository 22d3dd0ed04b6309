package llm

import "context"

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
	b.journal.add(r, nonces(t.directives))
	return t.answer(&voice{ctx: ctx, emit: emit, gates: b.gates})
}

// Release frees every request held for the nonce, now and later, until Forget.
func (b *Brain) Release(nonce string) { b.gates.release(nonce) }

// Abandoned waits until the requests whose answers are held for a nonce have been given up by whoever made them. It
// reports false if ctx ends first, or if the nonce has been released.
func (b *Brain) Abandoned(ctx context.Context, nonce string) bool {
	return b.gates.abandoned(ctx, nonce)
}

// Forget drops everything kept for a nonce: its release, and its requests except those whose last user text carries
// another nonce that is not forgotten yet. A request held for the nonce is released; later ones are held again.
func (b *Brain) Forget(nonce string) {
	b.gates.forget(nonce)
	b.journal.forget(nonce)
}

// Requests returns copies of the recorded requests whose last user text carries a directive with the nonce, oldest
// first.
func (b *Brain) Requests(nonce string) []Request {
	found, _ := b.journal.of(nonce)
	return requests(found)
}

// Await returns the result of Requests as soon as it has at least n. If the context ends first, it returns those
// present, and an error that wraps the context's.
func (b *Brain) Await(ctx context.Context, nonce string, n int) ([]Request, error) {
	return b.journal.await(ctx, nonce, n)
}

// Find returns copies of the recorded requests that match, oldest first. Match must not change its argument; it may
// call the brain.
func (b *Brain) Find(match func(Request) bool) []Request {
	found, _ := b.journal.since(0)
	return requests(filter(found, match))
}

// AwaitMatch returns the requests that match, oldest first, as soon as at least n have been recorded. It examines
// each request once, so it also counts those forgotten or dropped while it waits. Match and the end of the context
// are as in Find and Await.
func (b *Brain) AwaitMatch(ctx context.Context, n int, match func(Request) bool) ([]Request, error) {
	return b.journal.awaitMatch(ctx, n, match)
}
