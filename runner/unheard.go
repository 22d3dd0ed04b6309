package runner

import (
	"context"

	"parley/driver/r3labs"
	"parley/driver/sse"
	"parley/driver/ws"
	"parley/steps"
	"parley/verdict"
)

// A target from which nothing of the protocol has come by the end of preflight is not judged: it wants credentials, speaks
// another protocol, or says nothing. So what preflight found is held back until something came.

// held is a result of preflight that is not told yet.
type held struct {
	pl  Planned
	res steps.Result
}

// recognisable gives the protocol of a target that is a server on a network, and has to be recognised; nil of any other.
func (r *run) recognisable(d *driverRun) steps.Recognisable {
	p, ok := r.protocol.(steps.Recognisable)
	onNetwork := d.name == sse.Name || d.name == ws.Name || d.name == r3labs.Name
	if !ok || !onNetwork || r.o.known || r.o.unguarded || r.o.Profile.Dials() {
		return nil
	}
	return p
}

// hold keeps a result of preflight back as long as nothing of the protocol has come; it reports whether it did. A process that
// has ended by itself is a target's fault, and is judged.
func (r *run) hold(d *driverRun, pl Planned, res steps.Result) bool {
	p := r.recognisable(d)
	if d.heard || p == nil || pl.Stage == 0 {
		return false
	}
	if steps.Heard(p, res.Records) || res.Outcome == verdict.EnvError || exited(res.Run, 0) {
		d.heard = true
		r.release(d, nil)
		return false
	}
	d.held = append(d.held, held{pl, res})
	return true
}

// release tells what was held back, changed by a function, if there is one.
func (r *run) release(d *driverRun, change func(*steps.Result)) {
	list := d.held
	d.held = nil
	for _, h := range list {
		if change != nil {
			change(&h.res)
		}
		r.keep(d, h.pl, h.res)
	}
}

// settle goes on with the drivers over which nothing of the protocol has come, where it came over another; where it came over
// none, it says what is there instead.
func (r *run) settle(ctx context.Context, parallel int) {
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
		for _, h := range d.held { // what came last tells most: who opens has not answered yet
			if len(h.res.Records) > 0 {
				first = h.res.Records
			}
		}
		why := explain(ctx, r.recognisable(d), r.protocol.Name(), r.o.Profile, r.shared.BaseURL(), d.name, first)
		r.mu.Lock()
		r.env = why
		r.mu.Unlock()
		for _, d := range mute {
			r.release(d, func(res *steps.Result) { unspoken(res, why) })
		}
		return
	}
	for _, d := range mute {
		r.release(d, nil)
		if ctx.Err() == nil {
			r.driveRest(ctx, d, parallel)
		}
	}
}

// unspoken turns a result into that of a target which does not speak the protocol: no clause was judged.
func unspoken(res *steps.Result, why string) {
	res.Outcome, res.Reason, res.Failures, res.Monitors = verdict.EnvError, why, nil, nil
	for i := range res.Clauses {
		res.Clauses[i].Outcome, res.Clauses[i].Reason = verdict.EnvError, why
	}
}
