package host

import (
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"time"

	proto "parley/protocol/externalagent"
)

// booking is the flow of one booking: the current form and the choices so far. It knows nothing about messages.
type booking struct {
	cat   *Catalogue
	today time.Time // when the session began, UTC

	stage       int                 // index in proto.Stages; noStage while no form is shown
	chosen      map[string][]string // item ids by stage, up to SeatStage
	quantities  map[string]int      // number of tickets by type
	highlighted []string
	filter      *proto.FilterSpec
	sort        *proto.SortSpec
}

const noStage = -1

// newBooking shows the first form.
func newBooking(cat *Catalogue, now time.Time) *booking {
	return &booking{cat: cat, today: now.UTC(), chosen: map[string][]string{}, quantities: map[string]int{}}
}

func (b *booking) clone() booking {
	c := *b
	c.chosen, c.quantities, c.highlighted = maps.Clone(b.chosen), maps.Clone(b.quantities), slices.Clone(b.highlighted)
	return c
}

// name returns the stage of the current form; "" if no form is shown.
func (b *booking) name() string {
	if b.stage == noStage {
		return ""
	}
	return proto.Stages()[b.stage]
}

// one returns the choice at a single-choice stage; "" if nothing is chosen.
func (b *booking) one(stage string) string {
	if len(b.chosen[stage]) == 0 {
		return ""
	}
	return b.chosen[stage][0]
}

// item finds an item on display.
func (b *booking) item(id string) (proto.Item, error) {
	items := b.display()
	i := slices.IndexFunc(items, func(i proto.Item) bool { return i.ID == id })
	if i < 0 {
		return proto.Item{}, fmt.Errorf("%.80q is not on display", id)
	}
	return items[i], nil
}

// choose is the tool select: it replaces the chosen item, or toggles a seat.
func (b *booking) choose(id string) error {
	stage := b.name()
	if stage == proto.TicketStage || stage == proto.ConfirmStage {
		return errors.New("nothing can be selected here")
	}
	item, err := b.item(id)
	if err != nil {
		return err
	}
	if at := slices.Index(b.chosen[stage], id); stage == proto.SeatStage && at >= 0 {
		b.chosen[stage] = slices.Delete(slices.Clone(b.chosen[stage]), at, at+1)
		b.keepPossible()
		return nil
	}
	if !item.Available {
		return fmt.Errorf("%s is sold out", item.Label)
	}
	if stage != proto.SeatStage {
		b.chosen[stage] = []string{id}
		b.keepPossible()
		return nil
	}
	if len(b.chosen[stage]) >= b.cat.MaxSeats {
		return fmt.Errorf("a booking has at most %d seats", b.cat.MaxSeats)
	}
	b.chosen[stage] = append(slices.Clone(b.chosen[stage]), id)
	return nil
}

// setQuantity sets the number of tickets of a type.
func (b *booking) setQuantity(id string, quantity int) error {
	if b.name() != proto.TicketStage {
		return errors.New("no tickets are on display")
	}
	item, err := b.item(id)
	if err != nil {
		return err
	}
	if !item.Available {
		return fmt.Errorf("%s is not sold for this movie", item.Label)
	}
	if t := b.cat.ticket(id); quantity > t.Max {
		return fmt.Errorf("at most %d tickets of this type are sold at once: %s", t.Max, t.Label)
	}
	if seats, sum := len(b.chosen[proto.SeatStage]), b.ticketCount()-b.quantities[id]+quantity; quantity > 0 &&
		sum > seats {
		return fmt.Errorf("%d tickets are more than the seats that are chosen: %d", sum, seats)
	}
	b.quantities[id] = quantity
	return nil
}

func (b *booking) ticketCount() (sum int) {
	for _, n := range b.quantities {
		sum += n
	}
	return sum
}

// next goes to the following stage; at the last one it books and reports so.
func (b *booking) next() (booked bool, err error) {
	switch stage := b.name(); stage {
	case "":
		return false, errors.New("no form is shown")
	case proto.ConfirmStage:
		b.turnTo(noStage)
		return true, nil
	case proto.TicketStage:
		if seats, sum := len(b.chosen[proto.SeatStage]), b.ticketCount(); sum != seats {
			return false, fmt.Errorf("the tickets must be as many as the seats: %d seats are chosen, and %d tickets", seats, sum)
		}
	default:
		if len(b.chosen[stage]) == 0 {
			return false, fmt.Errorf("nothing is chosen: %s first", titles[stage])
		}
	}
	b.turnTo(b.stage + 1)
	return false, nil
}

// prev goes back one stage. The choices stay.
func (b *booking) prev() error {
	if b.stage <= 0 {
		return errors.New("this is the first stage")
	}
	b.turnTo(b.stage - 1)
	return nil
}

func (b *booking) highlight(id string) error {
	item, err := b.item(id)
	if err == nil && !slices.Contains(b.highlighted, item.ID) {
		b.highlighted = append(b.highlighted, item.ID)
	}
	return err
}

// turnTo goes to a stage and clears the filter, order and highlights, which belong to one form.
func (b *booking) turnTo(stage int) {
	b.stage = stage
	b.highlighted, b.filter, b.sort = nil, nil, nil
}

// keepPossible drops later choices that an earlier one rules out.
func (b *booking) keepPossible() {
	for _, stage := range proto.Stages()[:5] { // up to the seats
		available := b.available(stage)
		b.chosen[stage] = slices.DeleteFunc(slices.Clone(b.chosen[stage]), func(id string) bool { return !available[id] })
	}
	available := b.available(proto.TicketStage)
	for id := range b.quantities {
		if !available[id] {
			delete(b.quantities, id)
		}
	}
	if b.ticketCount() > len(b.chosen[proto.SeatStage]) {
		clear(b.quantities)
	}
}

func (b *booking) available(stage string) map[string]bool {
	ids := map[string]bool{}
	for _, item := range b.options(stage) {
		ids[item.ID] = item.Available
	}
	return ids
}

func (b *booking) total() float64 {
	sum := 0.0
	for _, t := range b.cat.Tickets {
		sum += float64(b.quantities[t.ID]) * b.price(t)
	}
	return cents(sum)
}

// cents rounds a price to cents.
func cents(price float64) float64 { return math.Round(price*100) / 100 }
