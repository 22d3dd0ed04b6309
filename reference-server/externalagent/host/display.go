package host

import (
	"cmp"
	"errors"
	"fmt"
	"hash/fnv"
	"slices"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	proto "parley/protocol/externalagent"
	"parley/reference-server/externalagent/wire"
)

// displayedItems returns the items of the form, filtered and sorted.
func (b *booking) displayedItems() []proto.Item {
	items := b.stageItems(b.stageName())
	if f := b.filter; f != nil {
		items = slices.DeleteFunc(items, func(i proto.Item) bool {
			return !strings.EqualFold(fmt.Sprint(i.Attributes[f.Attribute]), f.Value)
		})
	}
	if s := b.sort; s != nil {
		slices.SortStableFunc(items, func(x, y proto.Item) int {
			order := compareValues(x.Attributes[s.Attribute], y.Attributes[s.Attribute])
			if s.Order == "desc" {
				return -order
			}
			return order
		})
	}
	return items
}

// compareValues compares numbers by value and everything else as text; the values of an attribute have one type.
func compareValues(x, y any) int {
	switch x := x.(type) {
	case float64:
		y, _ := y.(float64)
		return cmp.Compare(x, y)
	case int:
		y, _ := y.(int)
		return cmp.Compare(x, y)
	}
	return strings.Compare(fmt.Sprint(x), fmt.Sprint(y))
}

// setFilter shows only the items with the value, ignoring case; "" shows all.
func (b *booking) setFilter(attribute, value string) error {
	if !slices.Contains(attributes[b.stageName()], attribute) {
		return fmt.Errorf("the items have no attribute %.80q", attribute)
	}
	b.filter = nil
	if value != "" {
		b.filter = &proto.FilterSpec{Attribute: attribute, Value: value}
	}
	return nil
}

func (b *booking) setSort(attribute, order string) error {
	if !slices.Contains(attributes[b.stageName()], attribute) {
		return fmt.Errorf("the items have no attribute %.80q", attribute)
	}
	b.sort = &proto.SortSpec{Attribute: attribute, Order: order}
	return nil
}

// uiSpec returns the current form; nil if none is shown.
func (b *booking) uiSpec() *proto.UISpec {
	stage := b.stageName()
	if stage == "" {
		return nil
	}
	spec := &proto.UISpec{
		Stage: stage, Stages: proto.Stages(), Title: titles[stage], Items: b.displayedItems(), Selected: b.chosen[stage],
		Highlighted: b.highlighted, Filter: b.filter, Sort: b.sort, Summary: b.summarizeChoices(),
	}
	if stage == proto.TicketStage || stage == proto.ConfirmStage {
		total := b.totalPrice()
		spec.Total = &total
	}
	if stage == proto.TicketStage {
		spec.Quantities = map[string]int{}
		for _, t := range b.cat.Tickets {
			spec.Quantities[t.ID] = b.quantities[t.ID]
			if b.quantities[t.ID] > 0 {
				spec.Selected = append(spec.Selected, t.ID)
			}
		}
	}
	return spec
}

// summarizeChoices lists the choices so far, in stage order.
func (b *booking) summarizeChoices() []proto.Line {
	lines := []proto.Line{}
	add := func(label, stage string) {
		if len(b.chosen[stage]) == 0 {
			return
		}
		var values []string
		options := b.stageItems(stage)
		for _, id := range b.chosen[stage] {
			if i := slices.IndexFunc(options, func(i proto.Item) bool { return i.ID == id }); i >= 0 {
				values = append(values, options[i].Label)
			}
		}
		if len(values) > 0 {
			lines = append(lines, proto.Line{Label: label, Value: strings.Join(values, "; ")})
		}
	}
	add("Movie", proto.MovieStage)
	add("Theater", proto.TheaterStage)
	add("Date", proto.DateStage)
	add("Time", proto.TimeStage)
	add("Seats", proto.SeatStage)
	var tickets []string
	for _, t := range b.cat.Tickets {
		if n := b.quantities[t.ID]; n != 0 {
			tickets = append(tickets, fmt.Sprintf("%d × %s", n, t.Label))
		}
	}
	if len(tickets) > 0 {
		lines = append(lines, proto.Line{Label: "Tickets", Value: strings.Join(tickets, "; ")})
	}
	return lines
}

// receiptText returns the assistant's message after the booking. The booking code is derived from the session ID, so
// that a session can be repeated verbatim.
func (b *booking) receiptText(sessionID string) string {
	var text strings.Builder
	fmt.Fprintf(&text, "Your booking is done. Booking code: %s.", bookingCode(sessionID))
	for _, line := range b.summarizeChoices() {
		fmt.Fprintf(&text, " %s: %s.", line.Label, line.Value)
	}
	fmt.Fprintf(&text, " Total: %.2f %s.", b.totalPrice(), b.cat.Currency)
	return text.String()
}

func bookingCode(sessionID string) string {
	const letters = "ABCDEFGHJKLMNPQRSTUVWXYZ23456789" // no two letters look alike
	sum := fnv.New64a()
	_, _ = sum.Write([]byte(sessionID))
	code, n := make([]byte, 6), sum.Sum64()
	for i := range code {
		code[i], n = letters[n%32], n/32
	}
	return string(code)
}

// currentTools returns the tools of the current form for the displayed items. text is the maximum size of a message in
// bytes.
func (b *booking) currentTools(text int) []proto.Tool {
	stage := b.stageName()
	if stage == "" {
		return nil
	}
	ids := []any{}
	for _, item := range b.displayedItems() {
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
	if stage == b.stageName() {
		return b.currentTools(text)
	}
	there := *b
	there.turnTo(slices.Index(proto.Stages(), stage))
	return there.currentTools(text)
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

// Roles of history entries.
const (
	user      = "user"
	agent     = "agent"
	assistant = "assistant"
)

// Errors of Say.
var (
	ErrNoSession = errors.New("no session is active")
	ErrText      = errors.New("the text is not accepted")
	ErrFull      = errors.New("the chat has no room for more: end the session")
)

// chat is the message history.
type chat struct {
	all   []proto.ChatMessage
	bytes int // size of the entries as JSON
}

func (c *chat) addEntry(msg proto.ChatMessage) {
	c.all = append(c.all, msg)
	c.bytes += entrySize(msg)
}

func entrySize(msg proto.ChatMessage) int {
	data, _ := json.Marshal(msg, jsontext.AllowInvalidUTF8(true)) // cannot fail: it holds only strings
	return len(data)
}

func (c *chat) entries() []any {
	entries := make([]any, len(c.all))
	for i, msg := range c.all {
		entries[i] = object{"id": msg.ID, "role": msg.Role, "text": msg.Text, "stage": msg.Stage, "timestamp": msg.Timestamp}
	}
	return entries
}

func (m *machine) newEntry(role, text string) proto.ChatMessage {
	id := fmt.Sprintf("msg-%d", len(m.chat.all)+1)
	return proto.ChatMessage{ID: id, Role: role, Text: text, Stage: m.stage, Timestamp: m.timestamp()}
}

// addToHistory adds an entry to the history, if there is room.
func (m *machine) addToHistory(role, text string) error {
	l := m.o.Limits
	if len(text) > l.Text {
		return fmt.Errorf("%w: send at most %d bytes", ErrText, l.Text)
	}
	msg := m.newEntry(role, text)
	if len(m.chat.all) >= l.History || m.chat.bytes+entrySize(msg) > l.HistoryBytes {
		return ErrFull
	}
	m.chat.addEntry(msg)
	return nil
}

// agentSays shows and records a message and has no other effect (EA-008). It has no reply; state.updated shows it.
func (m *machine) agentSays(msg Message) *Refusal {
	if err := m.addToHistory(agent, msg.PayloadText("text")); err != nil {
		return &Refusal{proto.InvalidMessage, err.Error()}
	}
	m.sendUpdate(msg)
	return nil
}

// userSays handles the participant's input (EA-009, EA-060 to EA-062).
func (m *machine) userSays(text string) error {
	if m.id == "" {
		return ErrNoSession
	}
	text = strings.ToValidUTF8(text, "\uFFFD")
	if text == "" {
		return fmt.Errorf("%w: it is empty", ErrText)
	}
	if err := m.addToHistory(user, text); err != nil {
		return err
	}
	m.internalError(userInput, object{"text": text, "stage": m.stage})
	msg := wire.New(proto.UserMessage, object{"text": text, "stage": m.stage})
	m.emitMessage(msg)
	m.sendUpdate(msg)
	m.endStep(nil)
	return nil
}
