package runner

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"parley/features/verdict"
	"parley/internal/cut"
	"parley/internal/deadline"
	"parley/steps"
	"parley/transport/driver"
	"parley/transport/driver/r3labs"
	"parley/transport/driver/sse"
	"parley/transport/driver/stdio"
	"parley/transport/driver/ws"
	"parley/transport/transcript"
)

// A target that has accepted a connection but sent nothing may be slow with its first answer, or may never send
// anything. A probe tells the two apart: on its own connection it sends messages that a target can answer at once. If
// the probe and the preflight stage beside it both receive nothing at all for firstWord, the stage is given up. A
// probe that receives anything, cannot be sent, or loses its connection changes nothing.

// insist is how long a probe waits for an answer to a message before it sends the next one.
const insist = time.Second

var errMute = errors.New("nothing whatever came from the target within limits.event")

// runPreflightStage runs a stage of preflight.
func (r *run) runPreflightStage(ctx context.Context, d *driverRun, stage int) {
	p, ok := r.protocol.(steps.Prober)
	if !ok || stage == 1 || d.heard || d.mute.Load() || r.recognisableProtocol(d) == nil ||
		d.reached != steps.Reach(stage) ||
		!isWordless(d.preflightRecords()) || r.o.Profile.Resets() { // a probe would see a reset
		r.runStage(ctx, d, stage, 1)
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
	probe := r.sendProbe(limited, d, p)
	over := make(chan struct{})
	go func() {
		defer close(over)
		if probe == nil || !probe.hearsNothing(limited, d.firstWord()) {
			return
		}
		select {
		case t := <-begun:
			if limited.Err() == nil && isWordless(t.All()) {
				d.mute.Store(true)
				giveUp(errMute)
			}
		default:
		}
	}()
	r.runStage(limited, d, stage, 1)
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

// preflightRecords returns all records of the preflight so far.
func (d *driverRun) preflightRecords() (all []transcript.Record) {
	for _, h := range d.held {
		all = append(all, h.res.Records...)
	}
	return all
}

// isWordless reports whether a target has done nothing but accept connections.
func isWordless(records []transcript.Record) bool {
	return !slices.ContainsFunc(records, isSignOfLife)
}

// isSignOfLife matches any sign of life of the target: any message, and the end of a connection.
func isSignOfLife(r transcript.Record) bool {
	return r.Dir == transcript.Received && r.Kind != transcript.Open && r.Label != "closed by the harness"
}

// probe is a connection on which the target is asked for a sign of life.
type probe struct {
	conn driver.Conn
	t    *transcript.Transcript
	rest []driver.Message // not sent yet
}

// sendProbe connects and sends its first message before the stage begins, because a target that handles messages in
// sequence answers that one first. It returns nil if it cannot connect or send.
func (r *run) sendProbe(ctx context.Context, d *driverRun, p steps.Prober) *probe {
	running, err := r.aliveTarget(ctx)
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
		if p.hasAnswer(limited, min(insist, limit/4)) {
			return false
		}
		if _, err := p.conn.Send(limited, m); err != nil {
			return false
		}
	}
	return !p.hasAnswer(limited, limit) && ctx.Err() == nil
}

func (p *probe) hasAnswer(ctx context.Context, within time.Duration) bool {
	ctx, cancel := deadline.WithLimit(ctx, within)
	defer cancel()
	_, err := p.t.Await(ctx, 0, func(r *transcript.Record) bool { return isSignOfLife(*r) })
	return err == nil
}

// A target that has sent nothing of the protocol by the end of preflight is not judged: it requires credentials,
// speaks another protocol, or is silent. Preflight results are therefore held back until something arrives.

// heldResult is a preflight result that has not been reported yet.
type heldResult struct {
	pl  Planned
	res steps.Result
}

// recognisableProtocol returns the protocol's Recognisable if the target is a server, on a network or behind a pipe;
// else nil.
func (r *run) recognisableProtocol(d *driverRun) steps.Recognisable {
	p, ok := r.protocol.(steps.Recognisable)
	listens := d.name == sse.Name || d.name == ws.Name || d.name == r3labs.Name || d.name == stdio.Name
	if !ok || !listens || r.o.known || r.o.unguarded || r.o.Profile.Dials() {
		return nil
	}
	return p
}

// holdPreflight holds back a preflight result until something of the protocol arrives, and reports whether it did so.
// The exit of a process by itself is the target's fault, and is judged at once. Without fresh data the target is not
// asked for anything.
func (r *run) holdPreflight(d *driverRun, pl Planned, res steps.Result) bool {
	p := r.recognisableProtocol(d)
	if d.heard || p == nil || pl.Stage == 0 {
		return false
	}
	if !d.mute.Load() && (steps.SpeaksProtocol(p, res.Records) || sawUnflushed(res.Records)) ||
		res.Outcome == verdict.EnvError || hasExited(res.Run, 0) ||
		d.name == stdio.Name && brokenOff(res.Records) || res.Run == nil && r.unfresh.Load() {
		d.heard = true
		r.reportHeld(d, nil)
		return false
	}
	d.held = append(d.held, heldResult{pl, res})
	return true
}

// sawUnflushed reports whether an event stream arrived whose compression is not flushed: it is judged as one that sends
// nothing in time.
func sawUnflushed(records []transcript.Record) bool {
	return slices.ContainsFunc(records, func(r transcript.Record) bool {
		return r.Kind == transcript.Remark && strings.HasPrefix(r.Label, driver.Unflushed)
	})
}

// reportHeld reports the results that were held back, after applying change if it is not nil.
func (r *run) reportHeld(d *driverRun, change func(*steps.Result)) {
	list := d.held
	d.held = nil
	for _, h := range list {
		if change != nil {
			change(&h.res)
		}
		r.storeResult(d, h.pl, h.res)
	}
}

// settleSilent continues with the drivers over which nothing of the protocol arrived, if it arrived over another
// driver. If it arrived over none, settle says what is there instead.
func (r *run) settleSilent(ctx context.Context, parallel int) {
	var mute []*driverRun
	for _, d := range r.drivers {
		if len(d.held) > 0 {
			mute = append(mute, d)
		}
	}
	if len(mute) == 0 {
		return
	}
	if len(mute) == len(r.drivers) && ctx.Err() == nil {
		d := mute[0]
		first := d.held[0].res.Records
		for _, h := range d.held { // the last one says most: in the first, opening may not have been answered yet
			if len(h.res.Records) > 0 {
				first = withoutPages(slices.Concat(h.res.Records, h.res.Last))
			}
		}
		why := ""
		if d.name == stdio.Name {
			why = explainProcess(steps.Name(r.protocol), first)
		} else {
			why = explainAnswer(ctx, r.o.Protocols, r.protocol, r.o.Profile, r.shared.BaseURL(), d.name, first)
		}
		why += steps.QuoteStderr(r.redact, r.shared.Stderr())
		r.mu.Lock()
		r.env = why
		r.mu.Unlock()
		for _, d := range mute {
			r.reportHeld(d, func(res *steps.Result) { asUnspoken(res, why) })
		}
		return
	}
	for _, d := range mute {
		r.reportHeld(d, nil)
		if ctx.Err() == nil {
			r.driveRest(ctx, d, parallel)
		}
	}
}

// withoutPages leaves out the records of pages, which show nothing of the protocol.
func withoutPages(records []transcript.Record) []transcript.Record {
	pages := map[string]bool{}
	for _, r := range records {
		pages[r.Conn] = pages[r.Conn] || r.Kind == transcript.Snapshot
	}
	return slices.DeleteFunc(records, func(r transcript.Record) bool { return pages[r.Conn] })
}

// asUnspoken changes a result to that of a target that does not speak the protocol: no clause is judged.
func asUnspoken(res *steps.Result, why string) {
	res.Outcome, res.Reason, res.Failures, res.Monitors = verdict.EnvError, why, nil, nil
	for i := range res.Clauses {
		res.Clauses[i].Outcome, res.Clauses[i].Reason = verdict.EnvError, why
	}
}

// explainProcess says in one line what a process does instead of speaking a protocol on its stdout.
func explainProcess(protocol string, records []transcript.Record) string {
	does := "writes nothing to its stdout (is it still starting? does it flush each line?)"
	if s := seenIn(records); s.said != "" {
		does = fmt.Sprintf("writes %s there (each line of its stdout is one JSON message; text for people goes to stderr)",
			cut.Text(strconv.QuoteToGraphic(cut.Line(s.said, 80)), 100))
	} else if s.fault != "" {
		does = fmt.Sprintf("writes nothing that can be decoded: %s (each line of its stdout is one JSON message)",
			lastPart(s.fault))
	}
	return fmt.Sprintf("the target's process does not speak %s: it received a line on its stdin, and %s", protocol, does)
}
