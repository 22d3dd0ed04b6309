package host

import (
	"errors"
	"fmt"

	proto "parley/protocol/externalagent"
	"parley/reference-server/externalagent/wire"
)

// call judges a tool.call, executes it, and sends the result, then the state (EA-046, EA-051).
func (m *machine) call(msg Message) *Refusal {
	params, _ := plain(msg.Payload()["params"]).(map[string]any)
	c := Call{Tool: msg.PayloadText("toolName"), Params: params}
	p, v, announced := m.o.Policy, View{m}, m.tools()
	tool := p.Announced(v, announced, c.Tool, Find(announced, c.Tool))
	if tool == nil {
		return &Refusal{proto.UnknownTool, fmt.Sprintf("toolSchema announces no tool %.80q at this stage", c.Tool)}
	}
	if why := p.Params(v, *tool, c.Params, CheckParams(*tool, c.Params)); why != nil {
		return why
	}
	if why := p.Execute(v, c, func() *Refusal { return m.run(c) }); why != nil {
		return why
	}
	m.emit(wire.Reply(msg, proto.ToolResult, p.Result(v, c, m.result(c))))
	m.update(msg)
	return nil
}

// Find returns the tool of a name; nil if there is none.
func Find(tools []proto.Tool, name string) *proto.Tool {
	return find(tools, func(t *proto.Tool) bool { return t.Name == name })
}

// result makes the payload of a tool.result. It includes the form for tools that change only the current form.
func (m *machine) result(c Call) object {
	payload := object{"ok": true, "toolName": c.Tool}
	switch c.Tool {
	case proto.Select, proto.SetQuantity, proto.Filter, proto.Sort, proto.Highlight:
		payload["uiSpec"] = m.draw().clone().UISpec
	}
	return payload
}

// run executes a call. A faulty host may pass one that should have been refused.
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
		const most = 1 << 20 // a float may not fit into an int
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
	return errors.New("unknown tool")
}

// next books when it leaves the last stage. There is always room for the receipt in the history.
func (m *machine) next() error {
	booked, err := m.booking.next()
	if booked {
		m.chat.add(m.entry(assistant, m.booking.receipt(m.id)))
		m.internal(bookingCompleted, object{"code": bookingCode(m.id), "total": m.booking.total()})
	}
	return err
}
