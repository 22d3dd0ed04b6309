package agent

import (
	"errors"
	"fmt"
	"log/slog"
	"net/url"
	"time"

	proto "parley/protocol/externalagent"
)

// Options configures a Run. Everything but URL may be left out.
type Options struct {
	URL           string // of the relay's endpoint, path included; ws, wss, http or https
	Session       string // the relay session; proto.DefaultSession without it
	StudyID       string // "default" without it
	ParticipantID string // "default" without it

	MaxCalls int           // tool.calls of a run; then the session is ended; 200 without it
	Patience time.Duration // how long a confirmed call may lack a changed state before a snapshot is asked for; 1 s without it
	Backoff  Backoff       // between connections; DefaultBackoff for fields that are zero
	GiveUp   time.Duration // how long the agent goes on without a connection; 10 s without it
	Limits   Limits        // DefaultLimits for fields that are zero

	Policy   Policy       // Correct{} without it
	Inbound  Inbound      // sees envelopes before the agent does; may be nil
	Outbound Outbound     // sees envelopes before the connection does; may be nil
	Dial     Dialer       // opens connections; a WebSocket without it
	Log      *slog.Logger // told what the agent does, one line each; discards without it
}

// Backoff is the wait before a new connection, and before a request that was refused is made again: First, then twice as
// long each time, up to Max.
type Backoff struct{ First, Max time.Duration }

// DefaultBackoff holds where Options names none.
var DefaultBackoff = Backoff{First: 5 * time.Millisecond, Max: 500 * time.Millisecond}

// Limits bounds what the agent takes and waits for.
type Limits struct {
	Frame int64 // bytes of a message; more ends the connection with 1009

	Dial   time.Duration // an opening handshake
	Join   time.Duration // relay.joined; without it a new connection is made
	Answer time.Duration // any other answer; without it the state counts as stale
	Write  time.Duration // one write
	Close  time.Duration // the relay's half of a closing handshake
}

// DefaultLimits hold where Options names none.
var DefaultLimits = Limits{
	Frame:  16 << 20,
	Dial:   5 * time.Second,
	Join:   5 * time.Second,
	Answer: 5 * time.Second,
	Write:  10 * time.Second,
	Close:  time.Second,
}

// Inbound sees a decoded envelope, and returns the envelopes to handle in its place: none drops it. The envelope may be
// changed in place. What is no JSON object never comes here; what is no envelope does.
type Inbound func(v View, msg Message) []Message

// Outbound sees an envelope on its way out, and sends what is to be sent in its place: send may be called any number of
// times, during the call.
type Outbound func(v View, msg Message, send func(msg Message))

// Outcome is what a Run came to.
type Outcome struct {
	Booked      bool   // a call was confirmed, and then nothing was left to do
	Ended       bool   // session.ended came, or the host has said since that no session is active
	Reason      string // as session.end gave it; "" if the run was cut short
	Calls       int    // tool.calls sent
	Failed      int    // of these, the ones that an error or ok:false answered
	Connections int    // opened
	Session     string // the study session's id; "" if the host gave none
	LogFile     string // as session.ended named it
}

// ErrNoConnection is what Run returns, wrapped, when it has been without a connection for Options.GiveUp.
var ErrNoConnection = errors.New("no connection")

func or[T comparable](v, fallback T) T {
	var zero T
	if v == zero {
		return fallback
	}
	return v
}

func (o Options) withDefaults() Options {
	o.Session = or(o.Session, proto.DefaultSession)
	o.StudyID = or(o.StudyID, "default")
	o.ParticipantID = or(o.ParticipantID, "default")
	o.MaxCalls = or(o.MaxCalls, 200)
	o.Patience = or(o.Patience, time.Second)
	o.Backoff.First = or(o.Backoff.First, DefaultBackoff.First)
	o.Backoff.Max = or(o.Backoff.Max, DefaultBackoff.Max)
	o.GiveUp = or(o.GiveUp, 10*time.Second)
	o.Limits = o.Limits.withDefaults()
	if o.Policy == nil {
		o.Policy = Correct{}
	}
	if o.Inbound == nil {
		o.Inbound = func(_ View, msg Message) []Message { return []Message{msg} }
	}
	if o.Outbound == nil {
		o.Outbound = func(_ View, msg Message, send func(Message)) { send(msg) }
	}
	if o.Dial == nil {
		o.Dial = dialer(o.Limits)
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	return o
}

func (l Limits) withDefaults() Limits {
	l.Frame = or(l.Frame, DefaultLimits.Frame)
	l.Dial = or(l.Dial, DefaultLimits.Dial)
	l.Join = or(l.Join, DefaultLimits.Join)
	l.Answer = or(l.Answer, DefaultLimits.Answer)
	l.Write = or(l.Write, DefaultLimits.Write)
	l.Close = or(l.Close, DefaultLimits.Close)
	return l
}

// check finds what no later attempt would mend.
func (o Options) check() error {
	u, err := url.Parse(o.URL)
	if err != nil {
		return fmt.Errorf("url of the relay: %w", err)
	}
	switch u.Scheme {
	case "ws", "wss", "http", "https":
	default:
		return fmt.Errorf("url of the relay: %q is not ws, wss, http or https", o.URL)
	}
	if u.Host == "" {
		return fmt.Errorf("url of the relay: %q names no host", o.URL)
	}
	return nil
}
