// Package replay plays one side of a recording against a live other side, and says where what comes differs from what
// was recorded. Ids that the other side draws anew are learnt, and replaced in what is sent afterwards. What else may
// differ, such as times and a model's words, the schemas of the protocol's messages say; where there is none, what
// looks like an id or a time may.
package replay

import (
	"crypto/tls"
	"errors"
	"net/http"
	"time"

	"parley/protocol/messages"
	"parley/transport/driver"
)

// Options say how to replay.
type Options struct {
	Messages *messages.Set // the protocol's; nil: none is known
	// a model's words must be as recorded, and as many messages as recorded must have them
	Words bool
	// 2: twice as fast as recorded; 0: each message is sent as soon as what was received before it has come
	Speed   float64
	Within  time.Duration // limit for what is to come, from the last thing that came; default 10 s
	Quiet   time.Duration // how long silence is shown by silence: see Result.Behind; default 250 ms
	Ignore  []Ignore
	Differs func(Difference) // is called for each message that differs, in order

	// Serve only: Within counts only while no client is connected, since a person may think for any time.
	Thinks bool

	// Against only:
	URL          string         // base URL of the server, http or https
	Header       http.Header    // sent with every request
	TLS          *tls.Config    // nil: Go's defaults
	Subprotocols []string       // offered by sockets
	Process      driver.Starter // what a recording over stdio is played against
	Secrets      Secrets        // the server's

	// Serve only:
	Addr  string           // host:port to listen on; default a free port of loopback
	Ready func(url string) // called with the URL where it listens
}

// Result says what was done.
type Result struct {
	Sent        int // messages, opening a connection included
	Compared    int // messages that came and were compared
	Differences int // messages that differ, did not come, or were not recorded
	// recorded messages that were left out, because Ignore names them
	Ignored int
	// messages that came behind the last one that was recorded of their connection, where the recording ends, or the
	// connection was closed, within Quiet: nobody knows whether they would have come then
	Behind int
}

// Errors of a replay.
var (
	// ErrUnreachable is returned when no connection to the server could be made.
	ErrUnreachable = errors.New("the target cannot be reached")
	// ErrNothing is returned when a recording has nothing that the side to be played does.
	ErrNothing = errors.New("there is no connection or request in it")
)

// defaults fills in the defaults.
func (o *Options) defaults() {
	if o.Within <= 0 {
		o.Within = 10 * time.Second
	}
	if o.Quiet <= 0 {
		o.Quiet = 250 * time.Millisecond
	}
	if o.Differs == nil {
		o.Differs = func(Difference) {}
	}
}
