package agent

import (
	"errors"
	"fmt"
	"log/slog"
	"net/url"
	"slices"
	"time"

	proto "parley/protocol/externalagent"
	"parley/reference-server/defaults"
)

// Options configures a Run. Only URL is required.
type Options struct {
	URL           string // of the relay's endpoint, path included; ws, wss, http or https
	Session       string // the relay session; default: proto.DefaultSession
	StudyID       string // default: "default"
	ParticipantID string // default: "default"

	MaxCalls int // maximum number of tool.calls; then the session is ended; default: 200
	// maximum wait for the state after a confirmed call before the agent asks for one; default: 1 s
	Patience time.Duration
	Backoff  Backoff       // between connections; zero fields are those of DefaultBackoff
	GiveUp   time.Duration // maximum time without a connection; default: 10 s
	Limits   Limits        // zero fields are those of DefaultLimits

	Policy   Policy       // makes a faulty agent
	Inbound  Inbound      // sees envelopes before the agent does; may be nil
	Outbound Outbound     // sees envelopes before the connection does; may be nil
	Dial     Dialer       // opens connections; default: WebSockets
	Log      *slog.Logger // one line per agent action; default: none
}

// Backoff is the delay before a new connection, and before a refused request is repeated: First, then doubled each
// time, up to Max.
type Backoff struct{ First, Max time.Duration }

// DefaultBackoff is the default Backoff of an agent.
var DefaultBackoff = Backoff{First: 5 * time.Millisecond, Max: 500 * time.Millisecond}

// Limits bounds message size and waits.
type Limits struct {
	Frame int64 // maximum bytes of a message; a longer one ends the connection with 1009

	Dial   time.Duration // opening handshake
	Join   time.Duration // wait for relay.joined; then the agent reconnects
	Answer time.Duration // wait for any other reply; then the state counts as stale
	Write  time.Duration // one write
	Close  time.Duration // the relay's half of a closing handshake
}

// DefaultLimits are the default limits of an agent.
var DefaultLimits = Limits{
	Frame:  16 << 20,
	Dial:   5 * time.Second,
	Join:   5 * time.Second,
	Answer: 5 * time.Second,
	Write:  10 * time.Second,
	Close:  time.Second,
}

// Inbound sees a decoded envelope and returns the envelopes to handle instead; an empty result drops it. The envelope
// may be changed in place. Inbound also sees objects that are not envelopes, but no other frames.
type Inbound func(v View, msg Message) []Message

// Outbound sees an outgoing envelope and sends its replacements: send may be called any number of times during the
// call.
type Outbound func(v View, msg Message, send func(msg Message))

// Outcome is the result of a Run.
type Outcome struct {
	Booked      bool   // a call was confirmed and nothing was left to do
	Ended       bool   // session.ended arrived, or the host later reported no active session
	Reason      string // as in session.end; "" if the run was cut short
	Calls       int    // tool.calls sent
	Failed      int    // tool.calls answered by an error or ok:false
	Connections int    // connections opened
	Session     string // the study session's id; "" if the host gave none
	LogFile     string // as in session.ended
}

// ErrNoConnection is wrapped by the error of a Run that was without a connection for Options.GiveUp.
var ErrNoConnection = errors.New("no connection")

func (o Options) withDefaults() Options {
	defaults.Fill(&o, Options{
		Session: proto.DefaultSession, StudyID: "default", ParticipantID: "default",
		MaxCalls: 200, Patience: time.Second, Backoff: DefaultBackoff, GiveUp: 10 * time.Second, Limits: DefaultLimits,
		Policy:   right,
		Inbound:  func(_ View, msg Message) []Message { return []Message{msg} },
		Outbound: func(_ View, msg Message, send func(Message)) { send(msg) },
		Log:      slog.New(slog.DiscardHandler),
	})
	if o.Dial == nil {
		o.Dial = dialer(o.Limits)
	}
	return o
}

// check rejects options that no retry can fix.
func (o Options) check() error {
	u, err := url.Parse(o.URL)
	if err != nil {
		return fmt.Errorf("url of the relay: %w", err)
	}
	if !slices.Contains([]string{"ws", "wss", "http", "https"}, u.Scheme) {
		return fmt.Errorf("url of the relay: %q is not ws, wss, http or https", o.URL)
	}
	if u.Host == "" {
		return fmt.Errorf("url of the relay: %q has no host", o.URL)
	}
	return nil
}
