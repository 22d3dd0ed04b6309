package orchestrator

import proto "parley/protocol/sessionruntime"

// rules is a policy of which single decisions are replaced.
type rules struct {
	Correct
	role          func(proto.Message) Role
	takes         func(View, proto.Message, Role, bool) bool
	member        func(View, string) *Refusal
	mention       func(View, proto.Message) (string, bool)
	target        func(View, proto.Message, string) string
	ids           func(View, proto.Message) (string, string)
	input         func(View, Turn, bool) []Step
	acks          func(View, Turn, proto.Message) bool
	acked         func(View, Turn) []Step
	routeTimeout  func(View, Turn) []Step
	output        func(View, Turn, proto.Message) []Step
	onError       func(View, Turn, proto.Message) []Step
	cancels       func(View, proto.Message) []string
	canceling     func(View, Turn) []Step
	stops         func(View, Turn, proto.Message) bool
	cancelTimeout func(View, Turn) []Step
	begin         func(View, Transaction) []Step
	correlate     func(View, proto.Message, []Transaction) string
	answered      func(View, Transaction, proto.Message) []Step
	fallback      func(View, string) string
}

func (r rules) Role(v View, msg proto.Message) Role {
	if r.role != nil {
		return r.role(msg)
	}
	return r.Correct.Role(v, msg)
}

func (r rules) Takes(v View, msg proto.Message, from Role, again bool) bool {
	if r.takes != nil {
		return r.takes(v, msg, from, again)
	}
	return r.Correct.Takes(v, msg, from, again)
}

func (r rules) Member(v View, agent string) *Refusal {
	if r.member != nil {
		return r.member(v, agent)
	}
	return r.Correct.Member(v, agent)
}

func (r rules) Mention(v View, msg proto.Message) (string, bool) {
	if r.mention != nil {
		return r.mention(v, msg)
	}
	return r.Correct.Mention(v, msg)
}

func (r rules) Target(v View, msg proto.Message, mentioned string) string {
	if r.target != nil {
		return r.target(v, msg, mentioned)
	}
	return r.Correct.Target(v, msg, mentioned)
}

func (r rules) IDs(v View, msg proto.Message) (trace, turn string) {
	if r.ids != nil {
		return r.ids(v, msg)
	}
	return r.Correct.IDs(v, msg)
}

func (r rules) Input(v View, t Turn, mention bool) []Step {
	if r.input != nil {
		return r.input(v, t, mention)
	}
	return r.Correct.Input(v, t, mention)
}

func (r rules) Acks(v View, t Turn, msg proto.Message) bool {
	if r.acks != nil {
		return r.acks(v, t, msg)
	}
	return r.Correct.Acks(v, t, msg)
}

func (r rules) Acked(v View, t Turn) []Step {
	if r.acked != nil {
		return r.acked(v, t)
	}
	return r.Correct.Acked(v, t)
}

func (r rules) RouteTimeout(v View, t Turn) []Step {
	if r.routeTimeout != nil {
		return r.routeTimeout(v, t)
	}
	return r.Correct.RouteTimeout(v, t)
}

func (r rules) Output(v View, t Turn, msg proto.Message) []Step {
	if r.output != nil {
		return r.output(v, t, msg)
	}
	return r.Correct.Output(v, t, msg)
}

func (r rules) Error(v View, t Turn, msg proto.Message) []Step {
	if r.onError != nil {
		return r.onError(v, t, msg)
	}
	return r.Correct.Error(v, t, msg)
}

func (r rules) Cancels(v View, msg proto.Message) []string {
	if r.cancels != nil {
		return r.cancels(v, msg)
	}
	return r.Correct.Cancels(v, msg)
}

func (r rules) Canceling(v View, t Turn) []Step {
	if r.canceling != nil {
		return r.canceling(v, t)
	}
	return r.Correct.Canceling(v, t)
}

func (r rules) Stops(v View, t Turn, msg proto.Message) bool {
	if r.stops != nil {
		return r.stops(v, t, msg)
	}
	return r.Correct.Stops(v, t, msg)
}

func (r rules) CancelTimeout(v View, t Turn) []Step {
	if r.cancelTimeout != nil {
		return r.cancelTimeout(v, t)
	}
	return r.Correct.CancelTimeout(v, t)
}

func (r rules) Begin(v View, tx Transaction) []Step {
	if r.begin != nil {
		return r.begin(v, tx)
	}
	return r.Correct.Begin(v, tx)
}

func (r rules) Correlate(v View, msg proto.Message, open []Transaction) string {
	if r.correlate != nil {
		return r.correlate(v, msg, open)
	}
	return r.Correct.Correlate(v, msg, open)
}

func (r rules) Answered(v View, tx Transaction, msg proto.Message) []Step {
	if r.answered != nil {
		return r.answered(v, tx, msg)
	}
	return r.Correct.Answered(v, tx, msg)
}

func (r rules) Fallback(v View, removed string) string {
	if r.fallback != nil {
		return r.fallback(v, removed)
	}
	return r.Correct.Fallback(v, removed)
}
