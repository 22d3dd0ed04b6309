package counterpart

import (
	"context"
	"errors"
	"maps"
)

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
	if err := p.o.possible(m, s, mutant); err != nil {
		return err
	}
	if len(types) > 0 && m == Mutant {
		return errors.New("a mutant answers all messages: set the mind mutant without types")
	}
	if len(types) == 0 && m != Mutant && mutant != "" {
		if err := p.replace(ctx, ""); err != nil {
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
	p.tell()
	p.mu.Unlock()
	p.settle()
	if len(types) == 0 && m == Script {
		p.begin()
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
	if err := p.o.possible(m, nil, name); err != nil {
		return err
	}
	if err := p.replace(ctx, name); err != nil {
		return err
	}
	p.mu.Lock()
	p.mind = m
	p.tell()
	p.mu.Unlock()
	return nil
}

// replace starts another bundled target, and then ends the previous one and all connections.
func (p *Play) replace(ctx context.Context, mutant string) error {
	p.relaunch.Lock()
	defer p.relaunch.Unlock()
	p.mu.Lock()
	before, was := p.peer, p.mutant
	p.mu.Unlock()
	if err := p.start(ctx, mutant); err != nil {
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
	p.release()
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
	p.arm(p.o.Script)
	if p.o.Start == nil {
		p.t.Remark("", "started anew")
		p.release()
		p.gate.Reset()
	} else if err := p.replace(ctx, p.o.Mutant); err != nil {
		return err
	}
	p.mu.Lock()
	p.tell()
	p.mu.Unlock()
	if p.o.Mind == Script {
		p.begin()
	}
	return nil
}
