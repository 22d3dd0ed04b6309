package counterpart

import (
	"context"
	"errors"
	"maps"
	"strings"

	"parley/simulator/gate"
	"parley/simulator/judge"
	"parley/transport/driver"
	"parley/transport/transcript"
)

// sinkInto returns a sink that puts a gate's records into a transcript, and labels messages with their types.
func (p *Play) sinkInto(t *transcript.Transcript) driver.Sink {
	return func(r transcript.Record) int {
		if text := p.whyUnreachable(r.Label); r.Kind == transcript.Failure && text != "" {
			r.Label = text
			if _, told := p.told.LoadOrStore(text, true); !told && p.o.Unreachable != nil {
				p.o.Unreachable(text)
			}
		}
		return t.Append(p.labelMessage(r))
	}
}

// whyUnreachable returns the words of a gate for a program that it cannot reach, in those of a play; "" for other
// words.
func (p *Play) whyUnreachable(words string) string {
	rest, ok := strings.CutPrefix(words, "the peer at ")
	if !ok || p.o.Connect == "" || !strings.Contains(rest, "cannot be reached") {
		return ""
	}
	if where, why, ok := strings.Cut(rest, ": dial "); ok {
		rest = where + ": " + why[strings.LastIndex(why, ": ")+len(": "):]
	}
	return "your program at " + strings.TrimSpace(rest)
}

// labelMessage labels a message with its type.
func (p *Play) labelMessage(r transcript.Record) transcript.Record {
	if typ := p.o.TypeOf(r.Bytes); typ != "" {
		switch r.Kind {
		case transcript.Stream, transcript.Frame:
			r.Label = typ
		case transcript.Request:
			r.Label += " " + typ
		}
	}
	return r
}

// makeJudge makes the judge of the program's messages, if the protocol has one.
func (p *Play) makeJudge() (err error) {
	if p.o.Steps == nil {
		return nil
	}
	o := judge.Options{Protocol: p.o.Steps, Side: p.programSide(), Base: p.o.Connect, Records: p.t}
	if p.o.Faults != nil {
		if p.own, err = transcript.NewSpilling(nil, transcript.Keep{}); err != nil {
			return err
		}
		o.Records, o.Place = p.own, p.recordNumber
	}
	p.judge, err = judge.New(o)
	return err
}

// recordNumber returns the number in the transcript of a message that the program has sent or got itself. The
// transcript has it later if a fault delays it, and never if a fault drops it: place waits for it until ctx ends, and
// then returns 0.
func (p *Play) recordNumber(ctx context.Context, r transcript.Record) int {
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
	if doubt != "" && m.From != p.programSide() && p.judge != nil {
		p.judge.Doubt(m.Conn, doubt)
	}
	return d
}

// State is the mind of a Play.
type State struct {
	Mind   Mind
	Types  map[string]Mind // types with a mind of their own
	Mutant string          // the fault of the bundled target; "" for none
	Script string          // name of the script; "" for none
	At     string          // state of the script
}

// State returns the present mind.
func (p *Play) State() State {
	p.mu.Lock()
	defer p.mu.Unlock()
	s := State{Mind: p.mind, Types: maps.Clone(p.of), Mutant: p.mutant}
	if p.script != nil {
		s.Script, s.At = p.script.Name, p.engine.State()
	}
	return s
}

// SetMind sets the mind for messages of some types, in both directions; without types, for all that have no mind of
// their own. Held messages are sent on unless the new mind is Ask. Auto after Mutant starts the correct target. The
// error says what the mind lacks.
func (p *Play) SetMind(ctx context.Context, m Mind, types ...string) error {
	p.mu.Lock()
	s, mutant := p.script, p.mutant
	p.mu.Unlock()
	if err := p.o.checkMind(m, s, mutant); err != nil {
		return err
	}
	if len(types) > 0 && m == Mutant {
		return errors.New("a mutant answers all messages: set the mind mutant without types")
	}
	if len(types) == 0 && m != Mutant && mutant != "" {
		if err := p.replaceBundled(ctx, ""); err != nil {
			return err
		}
	}
	p.mu.Lock()
	if len(types) == 0 {
		p.mind = m
	}
	for _, t := range types {
		p.of[t] = m
	}
	p.wakeWaiters()
	p.mu.Unlock()
	p.sendUnasked()
	if len(types) == 0 && m == Script {
		p.performFirst()
	}
	return nil
}

// SetMutant replaces the bundled target by one with a fault, and sets the mind Mutant; "" restores the correct one and
// sets Auto. Open connections end.
func (p *Play) SetMutant(ctx context.Context, name string) error {
	m := Mutant
	if name == "" {
		m = Auto
	}
	if err := p.o.checkMind(m, nil, name); err != nil {
		return err
	}
	if err := p.replaceBundled(ctx, name); err != nil {
		return err
	}
	p.mu.Lock()
	p.mind = m
	p.wakeWaiters()
	p.mu.Unlock()
	return nil
}

// replaceBundled starts another bundled target, and then ends the previous one and all connections.
func (p *Play) replaceBundled(ctx context.Context, mutant string) error {
	p.relaunch.Lock()
	defer p.relaunch.Unlock()
	p.mu.Lock()
	before, was := p.peer, p.mutant
	p.mu.Unlock()
	if err := p.startBundled(ctx, mutant); err != nil {
		return err
	}
	switch {
	case mutant != "":
		p.t.Remark("", "the mutant %s answers from here on", mutant)
	case was != "":
		p.t.Remark("", "the correct target answers from here on")
	default:
		p.t.Remark("", "started anew")
	}
	p.dropHeld()
	p.gate.Reset()
	if before.Stop != nil {
		before.Stop()
	}
	return nil
}

// Reset ends all connections, and restores the state after Open: the mind, the bundled target, and the script with its
// variables. Held messages are dropped. The transcript continues.
func (p *Play) Reset(ctx context.Context) error {
	p.mu.Lock()
	p.mind = p.o.Mind
	clear(p.of)
	p.mu.Unlock()
	p.makeEngine(p.o.Script)
	if p.o.Start == nil {
		p.t.Remark("", "started anew")
		p.dropHeld()
		p.gate.Reset()
	} else if err := p.replaceBundled(ctx, p.o.Mutant); err != nil {
		return err
	}
	p.mu.Lock()
	p.wakeWaiters()
	p.mu.Unlock()
	if p.o.Mind == Script {
		p.performFirst()
	}
	return nil
}
