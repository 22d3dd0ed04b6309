package runtimes

import "parley/reference-server/sessionruntime/orchestrator"

// rules decide correctly, but for the functions that are given.
type rules struct {
	orchestrator.Correct
	role          func(v view, msg message) role
	takes         func(v view, msg message, from role, again bool) bool
	member        func(v view, agent string) *refusal
	mention       func(v view, msg message) (string, bool)
	target        func(v view, msg message, mentioned string) string
	ids           func(v view, msg message) (trace, turn string)
	input         func(v view, t turn, mention bool) []step
	acks          func(v view, t turn, msg message) bool
	acked         func(v view, t turn) []step
	routeTimeout  func(v view, t turn) []step
	output        func(v view, t turn, msg message) []step
	failure       func(v view, t turn, msg message) []step
	cancels       func(v view, msg message) []string
	canceling     func(v view, t turn) []step
	stops         func(v view, t turn, msg message) bool
	stopped       func(v view, t turn) []step
	cancelTimeout func(v view, t turn) []step
	change        func(v view, agent string, msg message) []step
	begin         func(v view, tx transaction) []step
	correlate     func(v view, msg message, open []transaction) string
	answered      func(v view, tx transaction, msg message) []step
	fallback      func(v view, removed string) string
}

var _ orchestrator.Policy = rules{}

func (r rules) Role(v view, msg message) role {
	if r.role == nil {
		return r.Correct.Role(v, msg)
	}
	return r.role(v, msg)
}

func (r rules) Takes(v view, msg message, from role, again bool) bool {
	if r.takes == nil {
		return r.Correct.Takes(v, msg, from, again)
	}
	return r.takes(v, msg, from, again)
}

func (r rules) Member(v view, agent string) *refusal {
	if r.member == nil {
		return r.Correct.Member(v, agent)
	}
	return r.member(v, agent)
}

func (r rules) Mention(v view, msg message) (string, bool) {
	if r.mention == nil {
		return r.Correct.Mention(v, msg)
	}
	return r.mention(v, msg)
}

func (r rules) Target(v view, msg message, mentioned string) string {
	if r.target == nil {
		return r.Correct.Target(v, msg, mentioned)
	}
	return r.target(v, msg, mentioned)
}

func (r rules) IDs(v view, msg message) (trace, turn string) {
	if r.ids == nil {
		return r.Correct.IDs(v, msg)
	}
	return r.ids(v, msg)
}

func (r rules) Input(v view, t turn, mention bool) []step {
	if r.input == nil {
		return r.Correct.Input(v, t, mention)
	}
	return r.input(v, t, mention)
}

func (r rules) Acks(v view, t turn, msg message) bool {
	if r.acks == nil {
		return r.Correct.Acks(v, t, msg)
	}
	return r.acks(v, t, msg)
}

func (r rules) Acked(v view, t turn) []step {
	if r.acked == nil {
		return r.Correct.Acked(v, t)
	}
	return r.acked(v, t)
}

func (r rules) RouteTimeout(v view, t turn) []step {
	if r.routeTimeout == nil {
		return r.Correct.RouteTimeout(v, t)
	}
	return r.routeTimeout(v, t)
}

func (r rules) Output(v view, t turn, msg message) []step {
	if r.output == nil {
		return r.Correct.Output(v, t, msg)
	}
	return r.output(v, t, msg)
}

func (r rules) Error(v view, t turn, msg message) []step {
	if r.failure == nil {
		return r.Correct.Error(v, t, msg)
	}
	return r.failure(v, t, msg)
}

func (r rules) Cancels(v view, msg message) []string {
	if r.cancels == nil {
		return r.Correct.Cancels(v, msg)
	}
	return r.cancels(v, msg)
}

func (r rules) Canceling(v view, t turn) []step {
	if r.canceling == nil {
		return r.Correct.Canceling(v, t)
	}
	return r.canceling(v, t)
}

func (r rules) Stops(v view, t turn, msg message) bool {
	if r.stops == nil {
		return r.Correct.Stops(v, t, msg)
	}
	return r.stops(v, t, msg)
}

func (r rules) Stopped(v view, t turn) []step {
	if r.stopped == nil {
		return r.Correct.Stopped(v, t)
	}
	return r.stopped(v, t)
}

func (r rules) CancelTimeout(v view, t turn) []step {
	if r.cancelTimeout == nil {
		return r.Correct.CancelTimeout(v, t)
	}
	return r.cancelTimeout(v, t)
}

func (r rules) Switch(v view, agent string, msg message) []step {
	if r.change == nil {
		return r.Correct.Switch(v, agent, msg)
	}
	return r.change(v, agent, msg)
}

func (r rules) Begin(v view, tx transaction) []step {
	if r.begin == nil {
		return r.Correct.Begin(v, tx)
	}
	return r.begin(v, tx)
}

func (r rules) Correlate(v view, msg message, open []transaction) string {
	if r.correlate == nil {
		return r.Correct.Correlate(v, msg, open)
	}
	return r.correlate(v, msg, open)
}

func (r rules) Answered(v view, tx transaction, msg message) []step {
	if r.answered == nil {
		return r.Correct.Answered(v, tx, msg)
	}
	return r.answered(v, tx, msg)
}

func (r rules) Fallback(v view, removed string) string {
	if r.fallback == nil {
		return r.Correct.Fallback(v, removed)
	}
	return r.fallback(v, removed)
}
