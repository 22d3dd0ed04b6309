package pack

import (
	"time"

	"parley/internal/expression"
	"parley/steps/toolschema"
	"parley/target"
)

// document is a protocol.yaml as it was read.
type document struct {
	id, prefix string
	stages     [3]string
	reached    [3][]string // types whose receipt shows the stages

	open, send   string // SSE: the path of the stream, and the method and path of messages, with ${name}
	ws           string // path; "": none
	subprotocols []string
	post         postWire
	before       requestBefore
	drivers      []string
	capabilities []string // optional features, which a profile declares

	typeAt   target.Pointer // of the server's messages
	sentAt   target.Pointer // of a client's
	untyped  []untyped
	only     string // the only type that clients send, which is not on the wire; "": messages have their types
	members  map[string]target.Pointer
	sends    map[string]any // templates of what a client sends, by type
	receives []string       // types that the server sends
	keeps    []keep
	fence    *fenceRule
	bags     []bag
	// the names of the members of each state, with those that rules set
	stateMembers map[string][]string
	rules        []*rule
	phrases      []phrase
	begins       string                      // the step with which a client of a random sequence begins, with {c}
	beginsAt     int                         // its line; 0: it is the usual one
	load         []string                    // types that a session under load sends
	schemas      map[string]*toolschema.Tool // JSON Schemas of messages, by type

	stepClauses []string // tested clauses of which no rule says anything
}

// postWire is how clients send requests that are answered by JSON or by an event stream.
type postWire struct {
	path     string                     // "": they do not
	headers  map[string]string          // of all requests, with holes; one that cannot be filled is left out
	requests map[string]bodylessRequest // those without a body, by type
	reads    []string                   // headers that expressions know
	client   string                     // header that tells whose request it is, in traffic of others; "": none does
	begins   string                     // the type with which a client begins, which has no such header yet
}

// bodylessRequest is a request that is told by its method and headers alone.
type bodylessRequest struct {
	method  string
	headers map[string]string
}

// untyped is the type of messages without one for which an expression holds.
type untyped struct {
	name string
	is   *expression.Expression
}

// keep says what a client keeps from messages that it receives, for the holes of later ones.
type keep struct {
	on    trigger
	name  string
	value *expression.Expression
}

// fenceRule is a request whose answer shows that everything before it has been handled.
type fenceRule struct {
	send, answer string
	where        *expression.Expression // of the answer, with act
}

// bag is a part of the state: values by a key, such as those of each ticket.
type bag struct {
	name  string
	key   *expression.Expression // nil: one for each connection, or for the whole transcript (shared)
	start map[string]any
}

// trigger selects messages.
type trigger struct {
	from  string   // client, server; "": either
	types []string // nil: any
	where *expression.Expression
}

// rule is what the document says about messages.
type rule struct {
	line    int
	name    string
	on      trigger
	when    *expression.Expression
	clauses []string
	says    string // what is expected, for reports; "": the text of the clause

	require   *expression.Expression
	states    []string // that when, require and set name: the rule is only about messages that belong to one of each
	grows     *expression.Expression
	unique    *expression.Expression
	first     bool
	valid     bool          // by the JSON Schema of its type
	owes      []*owing      // alternatives
	lasts     time.Duration // of within, if that is a time
	within    string        // name of a limit of the profile; "": an event
	forbids   *trigger
	until     *trigger
	elsewhere bool // on other connections too: what it forbids, and what ends it
	set       []assignment
}

// owing is a message that a rule obliges the server to.
type owing struct {
	trigger
	must    *expression.Expression // of the message that comes; nil: nothing more
	clauses []string               // instead of the rule's, if this alternative comes; nil: the rule's
}

type assignment struct {
	bag, member string
	value       *expression.Expression
}
