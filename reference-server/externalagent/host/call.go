package host

import (
	"errors"

	proto "parley/protocol/externalagent"
)

// call judges a tool.call, executes it, and tells so: first the result, then the state (EA-046, EA-051).
func (m *machine) call(msg Message) *Refusal {
	params, _ := plain(msg.Payload()["params"]).(map[string]any)
	c := Call{Tool: msg.text("toolName"), Params: params}
	p := m.o.Policy
	tool, refusal := p.Announced(m, p.Tools(m), c.Tool)
	if refusal != nil {
		return refusal
	}
	if refusal := p.Params(m, tool, c.Params); refusal != nil {
		return refusal
	}
	if refusal := p.Execute(m, c, func() *Refusal { return m.run(c) }); refusal != nil {
		return refusal
	}
	m.emit(Reply(msg, proto.ToolResult, p.Result(m, c)))
	m.update(msg)
	return nil
}

// run executes a call. A call that should have been refused may come here: it fails, or does what it says.
func (m *machine) run(c Call) *Refusal {
	if err := m.tool(c); err != nil {
		return &Refusal{proto.ToolExecutionFailed, c.Tool + " failed: " + err.Error()}
	}
	m.look()
	m.internal(toolExecuted, object{"toolName": c.Tool, "stage": m.booking.name()})
	return nil
}

func (m *machine) tool(c Call) error {
	b := m.booking
	m.drawn.booking = nil
	text := func(name string) string { s, _ := c.Params[name].(string); return s }
	switch c.Tool {
	case proto.Select:
		return b.choose(text("itemId"))
	case proto.SetQuantity:
		const most = 1 << 20 // beyond what anybody sells; a float may be beyond any int
		quantity, _ := c.Params["quantity"].(float64)
		return b.setQuantity(text("itemId"), int(max(-most, min(quantity, most))))
	case proto.Next:
		return m.next()
	case proto.Prev:
		return b.prev()
	case proto.Filter:
		return b.setFilter(text("attribute"), text("value"))
	case proto.Sort:
		return b.setSort(text("attribute"), text("order"))
	case proto.Highlight:
		return b.highlight(text("itemId"))
	case proto.PostMessage:
		return m.say(assistant, text("text"))
	}
	return errors.New("there is no such tool")
}

// next books when it leaves the last stage. The receipt has a place of its own in the history.
func (m *machine) next() error {
	booked, err := m.booking.next()
	if booked {
		m.chat.add(m.entry(assistant, m.booking.receipt(m.id)))
		m.internal(bookingCompleted, object{"code": bookingCode(m.id), "total": m.booking.total()})
	}
	return err
}
