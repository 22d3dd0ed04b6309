package steps

import (
	"fmt"
	"strconv"
	"strings"
	"sync"

	"parley/features/verdict"
	"parley/steps/monitor"
	"parley/transport/driver"
	"parley/transport/transcript"
)

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

	// Take handles a decoded record of the session's connections, sent or received. It returns what it means.
	Take(r *transcript.Record) LoadStep
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

// Decide carries out a claim, and reports whether no other session has the id.
func (c *Claims) Decide(one Claim) bool {
	if one.Dropped {
		c.Drop(one.Kind, one.ID, one.Session)
		return true
	}
	return c.Take(one.Kind, one.ID, one.Session)
}

// Take claims an id of a kind for a session, and reports whether no other session has it.
func (c *Claims) Take(kind, id string, session int) bool {
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

// Drop gives up an id that the session has.
func (c *Claims) Drop(kind, id string, session int) {
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

// Take takes the text of a further piece, and returns what is wrong with it; "" if nothing is.
func (p *Pieces) Take(text string) string {
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
