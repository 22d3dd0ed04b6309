package relay

import (
	"github.com/coder/websocket"

	proto "parley/protocol/externalagent"
)

// rules decide correctly, but for the functions that are given.
type rules struct {
	Correct
	checks     func(from Party) []Check
	join       func(r Relay, from Party, e *Envelope) (proto.Join, *Refusal)
	key        func(j proto.Join) string
	rejoin     func() *Refusal
	joined     func(msg Message) Message
	unjoined   func() *Refusal
	recipients func(r Relay, from Party, e *Envelope) []Party
	pass       func(e *Envelope) []byte
	absent     func() *Refusal
	replaced   func() *websocket.CloseError
	gone       func(outstanding []Request) []Request
	failure    func(msg Message) Message
	ends       func(why Refusal) *websocket.CloseError
}

func (u rules) Checks(from Party) []Check {
	if u.checks != nil {
		return u.checks(from)
	}
	return u.Correct.Checks(from)
}

func (u rules) Join(r Relay, from Party, e *Envelope) (proto.Join, *Refusal) {
	if u.join != nil {
		return u.join(r, from, e)
	}
	return u.Correct.Join(r, from, e)
}

func (u rules) Key(j proto.Join) string {
	if u.key != nil {
		return u.key(j)
	}
	return u.Correct.Key(j)
}

func (u rules) Rejoin(r Relay, from Party, j proto.Join, key string) *Refusal {
	if u.rejoin != nil {
		return u.rejoin()
	}
	return u.Correct.Rejoin(r, from, j, key)
}

func (u rules) Joined(r Relay, to Party, e *Envelope, j proto.Join) Message {
	msg := u.Correct.Joined(r, to, e, j)
	if u.joined != nil {
		return u.joined(msg)
	}
	return msg
}

func (u rules) Unjoined(r Relay, from Party, e *Envelope) *Refusal {
	if u.unjoined != nil {
		return u.unjoined()
	}
	return u.Correct.Unjoined(r, from, e)
}

func (u rules) Recipients(r Relay, from Party, e *Envelope) []Party {
	if u.recipients != nil {
		return u.recipients(r, from, e)
	}
	return u.Correct.Recipients(r, from, e)
}

func (u rules) Pass(from, to Party, e *Envelope) []byte {
	if u.pass != nil {
		return u.pass(e)
	}
	return u.Correct.Pass(from, to, e)
}

func (u rules) HostAbsent(r Relay, from Party, e *Envelope) *Refusal {
	if u.absent != nil {
		return u.absent()
	}
	return u.Correct.HostAbsent(r, from, e)
}

func (u rules) HostReplaced(r Relay, old, by Party) *websocket.CloseError {
	if u.replaced != nil {
		return u.replaced()
	}
	return u.Correct.HostReplaced(r, old, by)
}

func (u rules) HostGone(r Relay, session string, outstanding []Request) ([]Request, Refusal) {
	told, why := u.Correct.HostGone(r, session, outstanding)
	if u.gone != nil {
		told = u.gone(told)
	}
	return told, why
}

func (u rules) Error(r Relay, to Party, about Request, why Refusal) Message {
	msg := u.Correct.Error(r, to, about, why)
	if u.failure != nil {
		return u.failure(msg)
	}
	return msg
}

func (u rules) Ends(r Relay, from Party, e *Envelope, why Refusal) *websocket.CloseError {
	if u.ends != nil {
		return u.ends(why)
	}
	return u.Correct.Ends(r, from, e, why)
}
