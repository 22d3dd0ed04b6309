package counterpart

import (
	"context"

	"parley/simulator/gate"
	"parley/simulator/judge"
	"parley/transport/transcript"
)

// makeJudge makes the judge of the program's messages, if the protocol has one.
func (p *Play) makeJudge() (err error) {
	if p.o.Steps == nil {
		return nil
	}
	o := judge.Options{Protocol: p.o.Steps, Side: p.program(), Base: p.o.Connect, Records: p.t}
	if p.o.Faults != nil {
		if p.own, err = transcript.NewSpilling(nil, transcript.Keep{}); err != nil {
			return err
		}
		o.Records, o.Place = p.own, p.place
	}
	p.judge, err = judge.New(o)
	return err
}

// place returns the number in the transcript of a message that the program has sent or got itself. The transcript has
// it later if a fault delays it, and never if a fault drops it: place waits for it until ctx ends, and then returns 0.
func (p *Play) place(ctx context.Context, r transcript.Record) int {
	for {
		mark := p.t.Len()
		if n := p.t.Like(r); n > 0 {
			return n
		}
		if _, err := p.t.Await(ctx, mark, func(r *transcript.Record) bool { return r.N > mark }); err != nil {
			return 0
		}
	}
}

// Judge returns the judge of the program's messages; nil if they are not judged: see Unjudged.
func (p *Play) Judge() *judge.Judge { return p.judge }

// Unjudged says why the program's messages are not judged; "" if they are.
func (p *Play) Unjudged() string {
	switch {
	case p.judge != nil:
		return ""
	case p.o.Steps == nil:
		return "no clause of " + p.o.Protocol + " is about what a " + p.o.As + " gets"
	}
	return p.o.Protocol + " has no clauses that what your program sends can show"
}

// applyFaults lets the faults decide on a message.
func (p *Play) applyFaults(ctx context.Context, m gate.Message) gate.Decision {
	d, doubt := p.o.Faults.Decide(ctx, m)
	if doubt != "" && m.From != p.program() && p.judge != nil {
		p.judge.Doubt(m.Conn, doubt)
	}
	return d
}
