package steps

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"parley/features/verdict"
	"parley/steps/monitor"
	"parley/transport/driver"
	"parley/transport/transcript"
)

// sluggish: an answer is late if it takes more than this fraction (1/sluggish) of its limit.
const sluggish = 8

// Sluggish returns the longest time of an answer that came late in its limit; 0 if none did. It distinguishes an
// overloaded target from one that omits answers.
func (e *Env) Sluggish() time.Duration {
	e.load.Lock()
	defer e.load.Unlock()
	return e.slowest
}

// tookFor records the time of an answer. Limits below limits.event are ignored: they are for messages that should not
// come.
func (e *Env) tookFor(took, limit time.Duration) {
	if limit < e.Event() || took < limit/sluggish {
		return
	}
	e.load.Lock()
	defer e.load.Unlock()
	e.slowest = max(e.slowest, took)
}

// tryAgainLater is a WebSocket close code from the registry of RFC 6455, 11.7.
const tryAgainLater = 1013

// NoRoom reports whether a record says that the target, or a gateway before it, has no room: HTTP 429 or 502 to 504, or
// close code 1013.
func NoRoom(r transcript.Record) bool {
	return driver.ByGateway(&r) || r.Dir == transcript.Received && r.Status == tryAgainLater
}

// Unheard reports whether a record says that the connection for a request was refused.
func Unheard(r transcript.Record) bool {
	return r.Kind == transcript.Failure && strings.Contains(r.Label, syscall.ECONNREFUSED.Error())
}

// Lacks reports whether a scenario failed only by missing something: answers that came too late or were refused for
// lack of room. Its other failures stand, whatever a rerun shows.
func (r Result) Lacks() bool {
	found, missing := false, false // by steps
	for _, f := range r.Failures {
		if !f.Missing && !f.Stands(r.Records) {
			return false
		}
		found, missing = found || f.Monitor == "", missing || f.Missing
	}
	return missing || !found
}

// Stands reports whether a failure holds regardless of the target's load at the time: it is about a message that
// came. A missing message or the end of a connection may be due to the load.
func (f Failure) Stands(records []transcript.Record) bool {
	return !f.Missing && slices.ContainsFunc(f.allSightings(), func(s *Failure) bool {
		if s.gone || s.At <= 0 || s.At > len(records) || records[s.At-1].Dir != transcript.Received {
			return false
		}
		switch records[s.At-1].Kind {
		case transcript.Stream, transcript.Comment, transcript.Frame, transcript.Response:
			return true
		}
		return false
	})
}

// Forget resets what was learnt of the target's pace, and which clauses have failed, because circumstances change
// from now on. No scenario may run meanwhile.
func (e *Env) Forget() {
	e.patience.mu.Lock()
	defer e.patience.mu.Unlock()
	e.patience.kinds, e.patience.families, e.patience.failed = nil, nil, nil
	e.patience.came, e.patience.overtaken = false, false
	e.patience.longest, e.patience.newer, e.patience.counted = 0, 0, 0
}

// Loadable is an optional interface of protocols whose servers can be put under load (package load).
type Loadable interface {
	// Load returns how sessions act on a target at a base URL, over the driver of env. Without env.Brain the target's
	// answers are unknown, and acts that need them are left out.
	Load(env *Env, base string) Load
}

// Load describes the sessions of a protocol under load.
type Load struct {
	// Acts are the names of what a session does, in its order. Each begins and ends with the session at rest.
	Acts []string

	// Judges names the clauses that the sessions judge. Its Check is not used.
	Judges monitor.Monitor

	// Decode adds the protocol's event to a record. It has no state, and is safe for concurrent use.
	Decode func(r *transcript.Record)

	// New makes a session that has no connection yet. Nil: no load goes over the driver, or to this target.
	New func(mark Mark, claims *Claims) LoadSession

	// Unfit says why no load goes to this target, as a sentence without a full stop; "" if New is not nil, or the driver
	// is at fault.
	Unfit string

	// Paired reports whether the sessions are LoadPaired.
	Paired bool

	// Files is how many files a bundled target keeps open for each session, beside its connections.
	Files int
}

// LoadPaired is an optional interface of sessions of two parties, each with a connection of its own. The two together
// are used by one goroutine at a time.
type LoadPaired interface {
	// Peer returns the other party, which connects before the session does and has no acts of its own; nil if there is
	// none.
	Peer() LoadSession
}

// Names of acts that every protocol has. LoadConnect opens the first connection and awaits that the session is ready;
// LoadReconnect drops the connection, opens another one, and continues with the session.
const (
	LoadConnect   = "connect"
	LoadReconnect = "reconnect"
)

// LoadSession acts as the clients of one session, and judges what it receives by all that it knows: nobody else acts in
// the session. It is used by one goroutine at a time.
type LoadSession interface {
	// Dial forgets the connection, and returns where the next one opens. That is the beginning of an act.
	Dial() driver.OpenOptions

	// Act begins an act other than connecting, and returns what to send.
	Act(name string) []driver.Message

	// HandleRecord handles a decoded record of the session's connections, sent or received. It returns what it means.
	HandleRecord(r *transcript.Record) LoadStep
}

// LoadStep is what a record means to a session.
type LoadStep struct {
	Send     []driver.Message
	Done     bool              // the act is complete
	Failed   string            // the act has failed: the kind of error, in a few words
	Findings []verdict.Finding // on the record

	// Other is what the record means to the session whose peer has received it; its Findings are not used. Nil: nothing.
	Other *LoadStep
}

// Find adds a finding on the record.
func (s *LoadStep) Find(r *transcript.Record, ok bool, expected string, clauses ...string) {
	s.Findings = append(s.Findings, CheckOf(*r, ok, expected, clauses...))
}

// Mark makes the texts by which a session recognises what is its own. Marks of the sessions of one load share a salt.
type Mark struct {
	Salt    string // lower-case letters and digits
	Session int
}

// Prefix begins all nonces of the session.
func (m Mark) Prefix() string { return fmt.Sprintf("l%s-%d-", m.Salt, m.Session) }

// Nonce returns the session's nonce with a number.
func (m Mark) Nonce(n int) string { return m.Prefix() + strconv.Itoa(n) }

// Foreign returns the first nonce in a text that belongs to another session of the load; "" if there is none.
func (m Mark) Foreign(text string) string {
	any, own := "l"+m.Salt+"-", m.Prefix()
	for {
		at := strings.Index(text, any)
		if at < 0 {
			return ""
		}
		if text = text[at:]; !strings.HasPrefix(text, own) {
			end := strings.IndexFunc(text, func(r rune) bool {
				return r != '-' && (r < '0' || r > '9') && (r < 'a' || r > 'z')
			})
			if end < 0 {
				end = len(text)
			}
			return text[:end]
		}
		text = text[len(any):]
	}
}

// Claims holds which session has which id, over all sessions of a load. It is safe for concurrent use.
type Claims struct {
	// Elsewhere decides instead, for a worker that has only some of the sessions of a load. Nil: nobody.
	Elsewhere func(c Claim) bool

	mu    sync.Mutex
	owner map[string]int
}

// Claim says that a session has got an id of a kind, or has given it up.
type Claim struct {
	Kind    string `json:"kind"`
	ID      string `json:"id"`
	Session int    `json:"session"`
	Dropped bool   `json:"dropped,omitempty"`
}

// DecideClaim carries out a claim, and reports whether no other session has the id.
func (c *Claims) DecideClaim(one Claim) bool {
	if one.Dropped {
		c.ReleaseID(one.Kind, one.ID, one.Session)
		return true
	}
	return c.ClaimID(one.Kind, one.ID, one.Session)
}

// ClaimID claims an id of a kind for a session, and reports whether no other session has it.
func (c *Claims) ClaimID(kind, id string, session int) bool {
	if c.Elsewhere != nil {
		return c.Elsewhere(Claim{Kind: kind, ID: id, Session: session})
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.owner == nil {
		c.owner = map[string]int{}
	}
	key := kind + " " + id
	was, taken := c.owner[key]
	if taken && was != session {
		return false
	}
	c.owner[key] = session
	return true
}

// ReleaseID gives up an id that the session has.
func (c *Claims) ReleaseID(kind, id string, session int) {
	if id == "" {
		return
	}
	if c.Elsewhere != nil {
		c.Elsewhere(Claim{Kind: kind, ID: id, Session: session, Dropped: true})
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if key := kind + " " + id; c.owner[key] == session {
		delete(c.owner, key)
	}
}

// Pieces follows the pieces "stream NONCE i/n " of an answer, which the model makes for the directive
// [[stream NONCE n]].
type Pieces struct {
	Nonce string
	Of    int // number of pieces
	next  int // the last piece that came
}

// CheckPiece takes the text of a further piece, and returns what is wrong with it; "" if nothing is.
func (p *Pieces) CheckPiece(text string) string {
	mark := "stream " + p.Nonce + " "
	for {
		at := strings.Index(text, mark)
		if at < 0 {
			return ""
		}
		text = text[at+len(mark):]
		number, _, _ := strings.Cut(text, "/")
		n, err := strconv.Atoi(number)
		switch {
		case err != nil:
		case n <= p.next:
			return fmt.Sprintf("piece %d of %d, which came before", n, p.Of)
		case n > p.next+1:
			return fmt.Sprintf("piece %d of %d, although piece %d has not come", n, p.Of, p.next+1)
		default:
			p.next = n
		}
	}
}

// Whole reports whether all pieces have come.
func (p *Pieces) Whole() bool { return p.next == p.Of }

// Any reports whether a piece has come.
func (p *Pieces) Any() bool { return p.next > 0 }

// Expected describes the piece that must come next.
func (p *Pieces) Expected() string {
	return fmt.Sprintf("piece %d of %d of %s", p.next+1, p.Of, p.Nonce)
}
