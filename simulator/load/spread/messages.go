package spread

import (
	"fmt"
	"regexp"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/nats-io/nats.go"

	"parley/internal/jsonform"
	"parley/simulator/load"
	"parley/steps"
)

// version is that of the messages; other versions cannot take part.
const version = 1

// maxMessage bounds a message: the default of NATS servers. Evidence is the largest, see load.Shown.
const maxMessage = 1 << 20

// Silence is how long the coordinator and a worker do without hearing each other by default.
const Silence = 15 * time.Second

// answering is how long an answer to a message may take.
const answering = 5 * time.Second

// Subjects of a load, after its prefix. Workers send to all but orders, which are followed by the id of a worker.
const (
	joining  = "join"
	report   = "report"
	show     = "show"
	claim    = "claim"
	opened   = "opened"
	ended    = "ended"
	ordering = "to"
)

// hello asks to take part.
type hello struct {
	Version int    `json:"version"`
	Suite   string `json:"suite"` // digest
	ID      string `json:"id"`    // made at random by the worker
	Local   int    `json:"local"` // number of a worker that the coordinator has started, from 1; 0: of another one
	PID     int    `json:"pid"`
	Host    string `json:"host"`
}

// message is what a worker says later.
type message struct {
	ID     string       `json:"id"`
	Report *load.Report `json:"report,omitempty"`
	Shown  *load.Shown  `json:"shown,omitempty"`
	Claim  *steps.Claim `json:"claim,omitempty"`
	Why    string       `json:"why,omitempty"` // the part did not end as it should
}

// answer answers both.
type answer struct {
	Error string `json:"error,omitempty"`
	Usage bool   `json:"usage,omitempty"` // the error is one of whoever began the load
	No    bool   `json:"no,omitempty"`    // to a claim: another session has the id
}

// order is what the coordinator says to a worker.
type order struct {
	Do   string     `json:"do"`
	Task *load.Task `json:"task,omitempty"`
	Acts bool       `json:"acts,omitempty"` // with act: acts are to arrive
}

// What the coordinator orders. The answer to a task says whether it can be carried out.
const (
	doTask = "task"
	doOpen = "open" // open the sessions
	doAct  = "act"  // all workers have opened theirs
	doStop = "stop" // end early
)

var nameOf = regexp.MustCompile(`\A[A-Za-z0-9_-]{1,64}\z`)

func subjectOf(name, what string) string { return "parley.load." + name + "." + what }

// encodeMessage encodes a message.
func encodeMessage(v any) ([]byte, error) {
	b, err := json.Marshal(v, jsonform.Escaped)
	if err == nil && len(b) > maxMessage {
		err = fmt.Errorf("a message of %d bytes is too long", len(b))
	}
	return b, err
}

// decodeMessage decodes a message strictly.
func decodeMessage(b []byte, v any) error {
	if len(b) > maxMessage {
		return fmt.Errorf("a message of %d bytes is too long", len(b))
	}
	return json.Unmarshal(b, v, jsonform.Lenient, json.RejectUnknownMembers(true))
}

// replyTo answers a request, unless the connection is gone: then nobody waits for it.
func replyTo(m *nats.Msg, a answer) {
	if b, err := encodeMessage(a); err == nil {
		_ = m.Respond(b)
	}
}
