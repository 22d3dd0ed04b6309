package console

import (
	"context"
	"errors"
	"net/http"

	"parley/simulator/counterpart"
	"parley/simulator/script"
	"parley/transport/driver"
	"parley/transport/transcript"
)

// Counterpart returns a play as a player. scriptOf reads a script: the name of a ready one, or the text of one.
func Counterpart(p *counterpart.Play, scriptOf func(text string) (*script.Script, error)) Player {
	return player{p, scriptOf}
}

type player struct {
	*counterpart.Play
	scriptOf func(text string) (*script.Script, error)
}

// Driver implements Player.
func (player) Driver() string { return "" }

// State implements Player.
func (p player) State() PlayState {
	s := p.Play.State()
	out := PlayState{Mind: string(s.Mind), Types: map[string]string{}, Mutant: s.Mutant, Script: s.Script}
	for typ, mind := range s.Types {
		out.Types[typ] = string(mind)
	}
	return out
}

// Judge implements Player.
func (p player) Judge() Judge {
	if j := p.Play.Judge(); j != nil {
		return j
	}
	return nil
}

// SetMind implements Player.
func (p player) SetMind(ctx context.Context, mind string, types ...string) error {
	return p.Play.SetMind(ctx, counterpart.Mind(mind), types...)
}

// SetScript implements Player.
func (p player) SetScript(_ context.Context, text string) error {
	s, err := p.scriptOf(text)
	if err != nil {
		return err
	}
	return p.Play.SetScript(s)
}

// Held implements Player.
func (p player) Held() []Held {
	var out []Held
	for _, h := range p.Play.Held() {
		to := h.What
		if h.Latest != "" {
			to += " after " + h.Latest
		}
		out = append(out, Held{N: h.N, Party: h.Party, Type: h.Type, To: to, Body: h.Body, Since: h.Since,
			Until: h.Until})
	}
	return out
}

// Decide implements Player.
func (p player) Decide(n int, d Decision) error {
	err := p.Play.Decide(n, counterpart.Decision{Drop: d.Drop, After: d.After, Instead: d.Instead})
	var gone *counterpart.NotHeldError
	if errors.As(err, &gone) {
		return &Error{Status: http.StatusNotFound, Text: err.Error()}
	}
	return err
}

// Send implements Player.
func (p player) Send(ctx context.Context, party string, body []byte) (int, error) {
	mark := p.Transcript().Len()
	if err := p.Play.Send(ctx, party, body); err != nil {
		return 0, err
	}
	for _, r := range p.Transcript().After(mark) {
		if r.Dir == transcript.Sent && r.Conn == party && string(r.Bytes) == string(body) {
			return r.N, nil
		}
	}
	return 0, nil
}

// Hang implements Player.
func (p player) Hang(_ context.Context, party string, how driver.CloseMode) error {
	return p.Play.Hang(party, how)
}
