package runner

import (
	"context"
	"errors"
	"slices"
	"time"

	"parley/internal/deadline"
	"parley/steps"
	"parley/transport/driver"
	"parley/transport/driver/stdio"
	"parley/transport/transcript"
)

// A target that has accepted a connection but sent nothing may be slow with its first answer, or may never send
// anything. A probe tells the two apart: on its own connection it sends messages that a target can answer at once. If
// the probe and the preflight stage beside it both receive nothing at all for firstWord, the stage is given up. A
// probe that receives anything, cannot be sent, or loses its connection changes nothing.

// insist is how long a probe waits for an answer to a message before it sends the next one.
const insist = time.Second

var errMute = errors.New("nothing whatever came from the target within limits.event")

// stage runs a stage of preflight.
func (r *run) stage(ctx context.Context, d *driverRun, stage int) {
	p, ok := r.protocol.(steps.Prober)
	if !ok || stage == 1 || d.heard || d.mute.Load() || r.recognisable(d) == nil || d.reached != steps.Reach(stage) ||
		!wordless(d.records()) || r.o.Profile.Resets() { // a probe would see a reset
		r.suite(ctx, d, stage, 1)
		return
	}
	limited, giveUp := context.WithCancelCause(ctx)
	defer giveUp(nil)
	begun := make(chan *transcript.Transcript, 1)
	d.envs.Begun = func(t *transcript.Transcript) {
		select {
		case begun <- t:
		default: // a stage has only one scenario
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

// firstWord is how long a target may take for its first message: limits.event. If a process is started for the
// connection, it is limits.open if that is longer, since an interpreter may still be loading.
func (d *driverRun) firstWord() time.Duration {
	if d.name == stdio.Name {
		return max(d.envs.Event(), d.envs.Profile.Limits.Open.Duration)
	}
	return d.envs.Event()
}

// records returns all records of the preflight so far.
func (d *driverRun) records() (all []transcript.Record) {
	for _, h := range d.held {
		all = append(all, h.res.Records...)
	}
	return all
}

// wordless reports whether a target has done nothing but accept connections.
func wordless(records []transcript.Record) bool {
	return !slices.ContainsFunc(records, spoken)
}

// spoken matches any sign of life of the target: any message, and the end of a connection.
func spoken(r transcript.Record) bool {
	return r.Dir == transcript.Received && r.Kind != transcript.Open && r.Label != "closed by the harness"
}

// probe is a connection on which the target is asked for a sign of life.
type probe struct {
	conn driver.Conn
	t    *transcript.Transcript
	rest []driver.Message // not sent yet
}

// probe connects and sends its first message before the stage begins, because a target that handles messages in
// sequence answers that one first. It returns nil if it cannot connect or send.
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

// hearsNothing sends the remaining messages, reports whether nothing at all arrives within the limit, and closes the
// connection.
func (p *probe) hearsNothing(ctx context.Context, limit time.Duration) bool {
	defer p.t.Release()
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
