package host

import proto "parley/protocol/externalagent"

// rules decide correctly, but for the functions that are given.
type rules struct {
	Correct
	connected func(v View, again bool) Keep
	malformed func(v View, data []byte, why *Refusal) ([]Message, *Refusal)
	accept    func(v View, msg Message) *Refusal
	ready     func(v View, msg Message) *Refusal
	tools     func(v View) []proto.Tool
	announced func(v View, announced []proto.Tool, name string) (proto.Tool, *Refusal)
	params    func(v View, tool proto.Tool, params map[string]any) *Refusal
	execute   func(v View, c Call, run func() *Refusal) *Refusal
	result    func(v View, c Call) map[string]any
	updates   func(v View, msg Message) bool
	state     func(v View, in Part) State
	refused   func(v View, request Message, r Refusal) Message
	reset     func(v View) Keep
	record    func(v View, e Entry) []Entry
}

func (r rules) Connected(v View, again bool) Keep {
	if r.connected == nil {
		return r.Correct.Connected(v, again)
	}
	return r.connected(v, again)
}

func (r rules) Malformed(v View, data []byte, why *Refusal) ([]Message, *Refusal) {
	if r.malformed == nil {
		return r.Correct.Malformed(v, data, why)
	}
	return r.malformed(v, data, why)
}

func (r rules) Accept(v View, msg Message) *Refusal {
	if r.accept == nil {
		return r.Correct.Accept(v, msg)
	}
	return r.accept(v, msg)
}

func (r rules) Ready(v View, msg Message) *Refusal {
	if r.ready == nil {
		return r.Correct.Ready(v, msg)
	}
	return r.ready(v, msg)
}

func (r rules) Tools(v View) []proto.Tool {
	if r.tools == nil {
		return r.Correct.Tools(v)
	}
	return r.tools(v)
}

func (r rules) Announced(v View, announced []proto.Tool, name string) (proto.Tool, *Refusal) {
	if r.announced == nil {
		return r.Correct.Announced(v, announced, name)
	}
	return r.announced(v, announced, name)
}

func (r rules) Params(v View, tool proto.Tool, params map[string]any) *Refusal {
	if r.params == nil {
		return r.Correct.Params(v, tool, params)
	}
	return r.params(v, tool, params)
}

func (r rules) Execute(v View, c Call, run func() *Refusal) *Refusal {
	if r.execute == nil {
		return r.Correct.Execute(v, c, run)
	}
	return r.execute(v, c, run)
}

func (r rules) Result(v View, c Call) map[string]any {
	if r.result == nil {
		return r.Correct.Result(v, c)
	}
	return r.result(v, c)
}

func (r rules) Updates(v View, msg Message) bool {
	if r.updates == nil {
		return r.Correct.Updates(v, msg)
	}
	return r.updates(v, msg)
}

func (r rules) State(v View, in Part) State {
	if r.state == nil {
		return r.Correct.State(v, in)
	}
	return r.state(v, in)
}

func (r rules) Refused(v View, request Message, why Refusal) Message {
	if r.refused == nil {
		return r.Correct.Refused(v, request, why)
	}
	return r.refused(v, request, why)
}

func (r rules) Reset(v View) Keep {
	if r.reset == nil {
		return r.Correct.Reset(v)
	}
	return r.reset(v)
}

func (r rules) Record(v View, e Entry) []Entry {
	if r.record == nil {
		return r.Correct.Record(v, e)
	}
	return r.record(v, e)
}
