package runner

import (
	"context"
	"errors"
	"slices"
	"time"

	"parley/driver"
	"parley/driver/stdio"
	"parley/internal/deadline"
	"parley/steps"
	"parley/transcript"
)

// A target of which nothing but the opening of a connection has come may be one whose first answer takes its time, or
// one that will never say a word. A probe tells the one from the other: on a connection of its own it says what needs
// no time to be answered. Where the probe and the stage of preflight that runs beside it both hear nothing whatever for
// limits.event (firstWord), the stage is given up. A probe that hears anything, or cannot be sent, or whose connection
// ends, shortens nothing.

// insist is how long a probe waits for an answer to one message before it sends the next.
const insist = time.Second

var errMute = errors.New("nothing whatever came from the target within limits.event")

// stage runs a stage of preflight.
func (r *run) stage(ctx context.Context, d *driverRun, stage int) {
	p, ok := r.protocol.(steps.Prober)
	if !ok || stage == 1 || d.heard || d.mute.Load() || r.recognisable(d) == nil || d.reached != steps.Reach(stage) ||
		!wordless(d.records()) {
		r.suite(ctx, d, stage, 1)
		return
	}
	limited, giveUp := context.WithCancelCause(ctx)
	defer giveUp(nil)
	begun := make(chan *transcript.Transcript, 1)
	d.envs.Begun = func(t *transcript.Transcript) {
		select {
		case begun <- t:
		default: // a stage has one scenario
		}
	}
	defer func() { d.envs.Begun = nil }()
	probe := r.probe(limited, d, p)
	over := make(chan struct{})
	go func() {
		defer close(over)
		if probe == nil || !probe.hearsNothing(limited, d.firstWord()) {
			return
		}
		select {
		case t := <-begun:
			if limited.Err() == nil && wordless(t.All()) {
				d.mute.Store(true)
				giveUp(errMute)
			}
		default:
		}
	}()
	r.suite(limited, d, stage, 1)
	giveUp(nil)
	<-over
}

// firstWord is how long a target may take for its first word: limits.event, and where a process is started for the
// connection, limits.open if that is longer, as an interpreter may still be loading.
func (d *driverRun) firstWord() time.Duration {
	if d.name == stdio.Name {
		return max(d.envs.Event(), d.envs.Profile.Limits.Open.Duration)
	}
	return d.envs.Event()
}

// records are those of the preflight so far.
func (d *driverRun) records() (all []transcript.Record) {
	for _, h := range d.held {
		all = append(all, h.res.Records...)
	}
	return all
}

// wordless reports whether a target has done nothing but open connections.
func wordless(records []transcript.Record) bool {
	return !slices.ContainsFunc(records, spoken)
}

// spoken matches what shows that somebody is there: whatever it says, and how it ends a connection.
func spoken(r transcript.Record) bool {
	return r.Dir == transcript.Received && r.Kind != transcript.Open && r.Label != "closed by the harness"
}

// probe is a connection on which a target is asked for a sign of life.
type probe struct {
	conn driver.Conn
	t    *transcript.Transcript
	rest []driver.Message // that are not sent yet
}

// probe connects and sends its first message. It does so before the stage begins: a target that handles one message
// after the other answers it first. Nil where it cannot.
func (r *run) probe(ctx context.Context, d *driverRun, p steps.Prober) *probe {
	running, err := r.alive(ctx)
	if err != nil {
		return nil
	}
	o, say, err := p.Probe(d.envs, running)
	if err != nil || len(say) == 0 {
		return nil
	}
	opening, cancel := deadline.WithLimit(ctx, d.envs.Profile.Limits.Open.Duration)
	defer cancel()
	t := transcript.New(nil)
	conn, err := d.d.Open(opening, o, t.Append)
	if err != nil {
		return nil
	}
	if _, err := conn.Send(opening, say[0]); err != nil {
		_ = conn.Close(driver.Reset)
		return nil
	}
	return &probe{conn, t, say[1:]}
}

// hearsNothing reports whether nothing whatever comes within a limit, and closes the connection. The rest of the
// messages is sent meanwhile.
func (p *probe) hearsNothing(ctx context.Context, limit time.Duration) bool {
	defer p.conn.Close(driver.Reset)
	limited, cancel := deadline.WithLimit(ctx, limit)
	defer cancel()
	for _, m := range p.rest {
		if p.hears(limited, min(insist, limit/4)) {
			return false
		}
		if _, err := p.conn.Send(limited, m); err != nil {
			return false
		}
	}
	return !p.hears(limited, limit) && ctx.Err() == nil
}

func (p *probe) hears(ctx context.Context, within time.Duration) bool {
	ctx, cancel := deadline.WithLimit(ctx, within)
	defer cancel()
	_, err := p.t.Await(ctx, 0, func(r *transcript.Record) bool { return spoken(*r) })
	return err == nil
}
