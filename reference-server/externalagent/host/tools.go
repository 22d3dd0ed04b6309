package host

import (
	"slices"

	proto "parley/protocol/externalagent"
)

// tools returns the tools of the current form for the displayed items. text is the maximum size of a message in
// bytes.
func (b *booking) tools(text int) []proto.Tool {
	stage := b.name()
	if stage == "" {
		return nil
	}
	ids := []any{}
	for _, item := range b.display() {
		ids = append(ids, item.ID)
	}
	item := object{"type": "string", "enum": ids}

	var tools []proto.Tool
	add := func(name, description string, required []any, properties object) {
		tools = append(tools, proto.Tool{Name: name, Description: description, Parameters: object{
			"type": "object", "properties": properties, "required": required, "additionalProperties": false,
		}})
	}
	switch {
	case len(ids) == 0: // JSON Schema has no enum without values
	case stage == proto.TicketStage:
		add(proto.SetQuantity, "Set how many tickets of a type are wanted. The tickets must be as many as the seats.",
			[]any{"itemId", "quantity"}, object{"itemId": item, "quantity": object{"type": "integer", "minimum": 0,
				"maximum": b.mostTickets()}})
	case stage == proto.SeatStage:
		add(proto.Select, "Choose a seat, or give a chosen one back.", []any{"itemId"}, object{"itemId": item})
	default:
		add(proto.Select, "Choose an item, in place of the one that is chosen.", []any{"itemId"}, object{"itemId": item})
	}
	if len(ids) > 0 {
		add(proto.Highlight, "Draw the participant's attention to an item.", []any{"itemId"}, object{"itemId": item})
	}
	if names := attributes[stage]; len(names) > 0 {
		attribute := object{"type": "string", "enum": anys(names)}
		add(proto.Filter, "Show only the items whose attribute has the value; an empty value shows all.",
			[]any{"attribute", "value"}, object{"attribute": attribute, "value": object{"type": "string", "maxLength": 100}})
		add(proto.Sort, "Show the items in the order of an attribute.",
			[]any{"attribute", "order"}, object{"attribute": attribute, "order": object{"type": "string", "enum": []any{"asc",
				"desc"}}})
	}
	if stage == proto.ConfirmStage {
		add(proto.Next, "Book what the summary says.", []any{}, object{})
	} else {
		add(proto.Next, "Go to the next stage, once this one's choice is made.", []any{}, object{})
	}
	if b.stage > 0 {
		add(proto.Prev, "Go back to the stage before. What has been chosen stays.", []any{}, object{})
	}
	add(proto.PostMessage, "Say something to the participant in the chat.",
		// a character takes up to 4 bytes
		[]any{"text"}, object{"text": object{"type": "string", "minLength": 1, "maxLength": text / 4}})
	return tools
}

// toolsAt returns the tools that a stage has while it is shown.
func (b *booking) toolsAt(stage string, text int) []proto.Tool {
	if stage == b.name() {
		return b.tools(text)
	}
	there := *b
	there.turnTo(slices.Index(proto.Stages(), stage))
	return there.tools(text)
}

func (b *booking) mostTickets() int {
	most := 0
	for _, t := range b.cat.Tickets {
		most = max(most, t.Max)
	}
	return most
}

func anys(names []string) []any {
	all := make([]any, len(names))
	for i, name := range names {
		all[i] = name
	}
	return all
}
