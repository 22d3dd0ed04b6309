package host

import (
	"cmp"
	"fmt"
	"hash/fnv"
	"slices"
	"strings"

	proto "parley/protocol/externalagent"
)

// display returns the items of the form, filtered and sorted.
func (b *booking) display() []proto.Item {
	items := b.options(b.name())
	if f := b.filter; f != nil {
		items = slices.DeleteFunc(items, func(i proto.Item) bool {
			return !strings.EqualFold(fmt.Sprint(i.Attributes[f.Attribute]), f.Value)
		})
	}
	if s := b.sort; s != nil {
		slices.SortStableFunc(items, func(x, y proto.Item) int {
			order := compare(x.Attributes[s.Attribute], y.Attributes[s.Attribute])
			if s.Order == "desc" {
				return -order
			}
			return order
		})
	}
	return items
}

// compare compares numbers by value and everything else as text; the values of an attribute have one type.
func compare(x, y any) int {
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
	if !slices.Contains(attributes[b.name()], attribute) {
		return fmt.Errorf("the items have no attribute %.80q", attribute)
	}
	b.filter = nil
	if value != "" {
		b.filter = &proto.FilterSpec{Attribute: attribute, Value: value}
	}
	return nil
}

func (b *booking) setSort(attribute, order string) error {
	if !slices.Contains(attributes[b.name()], attribute) {
		return fmt.Errorf("the items have no attribute %.80q", attribute)
	}
	b.sort = &proto.SortSpec{Attribute: attribute, Order: order}
	return nil
}

// uiSpec returns the current form; nil if none is shown.
func (b *booking) uiSpec() *proto.UISpec {
	stage := b.name()
	if stage == "" {
		return nil
	}
	spec := &proto.UISpec{
		Stage: stage, Stages: proto.Stages(), Title: titles[stage], Items: b.display(), Selected: b.chosen[stage],
		Highlighted: b.highlighted, Filter: b.filter, Sort: b.sort, Summary: b.summary(),
	}
	if stage == proto.TicketStage || stage == proto.ConfirmStage {
		total := b.total()
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

// summary lists the choices so far, in stage order.
func (b *booking) summary() []proto.Line {
	lines := []proto.Line{}
	add := func(label, stage string) {
		if len(b.chosen[stage]) == 0 {
			return
		}
		var values []string
		options := b.options(stage)
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

// receipt returns the assistant's message after the booking. The booking code is derived from the session ID, so that
// a session can be repeated verbatim.
func (b *booking) receipt(sessionID string) string {
	var text strings.Builder
	fmt.Fprintf(&text, "Your booking is done. Booking code: %s.", bookingCode(sessionID))
	for _, line := range b.summary() {
		fmt.Fprintf(&text, " %s: %s.", line.Label, line.Value)
	}
	fmt.Fprintf(&text, " Total: %.2f %s.", b.total(), b.cat.Currency)
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
