package host

import (
	"errors"
	"fmt"
	"hash/fnv"
	"maps"
	"math"
	"slices"
	"strconv"
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

// stageName returns the stage of the current form; "" if no form is shown.
func (b *booking) stageName() string {
	if b.stage == noStage {
		return ""
	}
	return proto.Stages()[b.stage]
}

// singleChoice returns the choice at a single-choice stage; "" if nothing is chosen.
func (b *booking) singleChoice(stage string) string {
	if len(b.chosen[stage]) == 0 {
		return ""
	}
	return b.chosen[stage][0]
}

// findItem finds an item on display.
func (b *booking) findItem(id string) (proto.Item, error) {
	items := b.displayedItems()
	i := slices.IndexFunc(items, func(i proto.Item) bool { return i.ID == id })
	if i < 0 {
		return proto.Item{}, fmt.Errorf("%.80q is not on display", id)
	}
	return items[i], nil
}

// selectItem is the tool select: it replaces the chosen item, or toggles a seat.
func (b *booking) selectItem(id string) error {
	stage := b.stageName()
	if stage == proto.TicketStage || stage == proto.ConfirmStage {
		return errors.New("nothing can be selected here")
	}
	item, err := b.findItem(id)
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
	if b.stageName() != proto.TicketStage {
		return errors.New("no tickets are on display")
	}
	item, err := b.findItem(id)
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

// nextStage goes to the following stage; at the last one it books and reports so.
func (b *booking) nextStage() (booked bool, err error) {
	switch stage := b.stageName(); stage {
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

// previousStage goes back one stage. The choices stay.
func (b *booking) previousStage() error {
	if b.stage <= 0 {
		return errors.New("this is the first stage")
	}
	b.turnTo(b.stage - 1)
	return nil
}

func (b *booking) highlightItem(id string) error {
	item, err := b.findItem(id)
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
		available := b.isAvailable(stage)
		b.chosen[stage] = slices.DeleteFunc(slices.Clone(b.chosen[stage]), func(id string) bool { return !available[id] })
	}
	available := b.isAvailable(proto.TicketStage)
	for id := range b.quantities {
		if !available[id] {
			delete(b.quantities, id)
		}
	}
	if b.ticketCount() > len(b.chosen[proto.SeatStage]) {
		clear(b.quantities)
	}
}

func (b *booking) isAvailable(stage string) map[string]bool {
	ids := map[string]bool{}
	for _, item := range b.stageItems(stage) {
		ids[item.ID] = item.Available
	}
	return ids
}

func (b *booking) totalPrice() float64 {
	sum := 0.0
	for _, t := range b.cat.Tickets {
		sum += float64(b.quantities[t.ID]) * b.ticketPrice(t)
	}
	return roundToCents(sum)
}

// roundToCents rounds a price to cents.
func roundToCents(price float64) float64 { return math.Round(price*100) / 100 }

const (
	clockTime = "15:04"
	dateForm  = "2006-01-02"
	evening   = "17:00" // start of the evening surcharge
	night     = "21:00"
)

// titles of the stages, as they head a form.
var titles = map[string]string{
	proto.MovieStage:   "Choose a movie",
	proto.TheaterStage: "Choose a theater",
	proto.DateStage:    "Choose a date",
	proto.TimeStage:    "Choose a time",
	proto.SeatStage:    "Choose seats",
	proto.TicketStage:  "Choose tickets",
	proto.ConfirmStage: "Confirm the booking",
}

// attributes lists by stage the attributes for filters and sorting.
var attributes = map[string][]string{
	proto.MovieStage:   {"genre", "rating", "minutes", "language", "ageLimit"},
	proto.TheaterStage: {"district", "sound", "distanceKm"},
	proto.DateStage:    {"weekday", "weekend"},
	proto.TimeStage:    {"part", "ends"},
	proto.SeatStage:    {"row", "number", "zone", "aisle"},
	proto.TicketStage:  {"price"},
}

// stageItems returns the items of a stage in catalogue order, given the earlier choices.
func (b *booking) stageItems(stage string) []proto.Item {
	switch stage {
	case proto.MovieStage:
		return b.movieItems()
	case proto.TheaterStage:
		return b.theaterItems()
	case proto.DateStage:
		return b.dateItems()
	case proto.TimeStage:
		return b.timeItems()
	case proto.SeatStage:
		return b.seatItems()
	case proto.TicketStage:
		return b.ticketItems()
	}
	return nil
}

func (b *booking) movieItems() (items []proto.Item) {
	for _, m := range b.cat.Movies {
		items = append(items, proto.Item{ID: m.ID, Label: m.Title, Available: !m.Upcoming, Attributes: map[string]any{
			"genre": m.Genre, "rating": m.Rating, "minutes": m.Minutes, "language": m.Language, "ageLimit": m.AgeLimit,
		}})
	}
	return items
}

func (b *booking) theaterItems() (items []proto.Item) {
	for _, t := range b.cat.Theaters {
		if t.show(b.singleChoice(proto.MovieStage)) == nil {
			continue
		}
		items = append(items, proto.Item{ID: t.ID, Label: t.Name, Available: !t.Closed, Attributes: map[string]any{
			"district": t.District, "sound": t.Sound, "distanceKm": t.DistanceKm,
		}})
	}
	return items
}

func (b *booking) dateItems() (items []proto.Item) {
	for i := range b.cat.Days {
		day := b.today.AddDate(0, 0, i+1)
		weekend := day.Weekday() == time.Saturday || day.Weekday() == time.Sunday
		items = append(items, proto.Item{
			ID: day.Format(dateForm), Label: day.Format("Monday, 2 January 2006"), Available: i+1 < b.cat.Days,
			Attributes: map[string]any{"weekday": day.Weekday().String(), "weekend": weekend},
		})
	}
	return items
}

func (b *booking) timeItems() (items []proto.Item) {
	s, m := b.chosenShow(), b.cat.movie(b.singleChoice(proto.MovieStage))
	if s == nil {
		return nil
	}
	for _, at := range s.At {
		begins, _ := time.Parse(clockTime, at) // the catalogue has been checked
		ends := begins.Add(time.Duration(m.Minutes) * time.Minute)
		items = append(items, proto.Item{
			ID: at, Label: at + ", " + b.cat.hall(s.Hall).Name, Available: !slices.Contains(s.SoldOut, at),
			Attributes: map[string]any{"part": partOf(at), "ends": ends.Format(clockTime)},
		})
	}
	return items
}

func partOf(at string) string {
	switch {
	case at < evening:
		return "afternoon"
	case at < night:
		return "evening"
	}
	return "night"
}

func (b *booking) seatItems() (items []proto.Item) {
	s := b.chosenShow()
	if s == nil || b.singleChoice(proto.TimeStage) == "" {
		return nil
	}
	h := b.cat.hall(s.Hall)
	for row := range h.Rows {
		for seat := range h.Seats {
			id := seatID(row, seat)
			items = append(items, proto.Item{
				ID: id, Label: "Row " + id[:1] + ", seat " + id[1:], Available: !b.isSold(s, h, row, id),
				Attributes: map[string]any{
					"row": id[:1], "number": seat + 1, "zone": zone(row, h.Rows), "aisle": seat == 0 || seat == h.Seats-1,
				},
			})
		}
	}
	return items
}

func seatID(row, seat int) string { return string(rune('A'+row)) + strconv.Itoa(seat+1) }

func zone(row, rows int) string {
	switch 3 * row / rows {
	case 0:
		return "front"
	case 1:
		return "middle"
	}
	return "back"
}

// isSold reports whether a seat is taken: it is sold in the hall itself or, behind the first row, picked by a hash so
// that about Occupancy percent are taken. The result is the same each time, so that a booking can be repeated.
func (b *booking) isSold(s *show, h *hall, row int, id string) bool {
	if slices.Contains(h.Sold, id) {
		return true
	}
	sum := fnv.New32a()
	for _, word := range []string{s.Movie, b.singleChoice(proto.TheaterStage), b.singleChoice(proto.DateStage),
		b.singleChoice(proto.TimeStage), id} {
		_, _ = sum.Write([]byte(word + "\x00"))
	}
	return row > 0 && int(sum.Sum32()%100) < s.Backend.Occupancy
}

func (b *booking) ticketItems() (items []proto.Item) {
	m := b.cat.movie(b.singleChoice(proto.MovieStage))
	for _, t := range b.cat.Tickets {
		price := b.ticketPrice(t)
		items = append(items, proto.Item{
			ID: t.ID, Label: fmt.Sprintf("%s, %.2f %s", t.Label, price, b.cat.Currency),
			Available:  t.Under == 0 || m != nil && m.AgeLimit < t.Under,
			Attributes: map[string]any{"price": price},
		})
	}
	return items
}

// ticketPrice returns the price of a ticket for the chosen show.
func (b *booking) ticketPrice(t ticket) float64 {
	if b.singleChoice(proto.TimeStage) >= evening {
		return roundToCents(t.Price + b.cat.Evening)
	}
	return roundToCents(t.Price)
}

// chosenShow returns the show in the chosen theater; nil while none is chosen.
func (b *booking) chosenShow() *show {
	t := b.cat.theater(b.singleChoice(proto.TheaterStage))
	if t == nil {
		return nil
	}
	return t.show(b.singleChoice(proto.MovieStage))
}

// backendData returns the backend data of a stage's items by id.
func (b *booking) backendData(stage string) map[string]any {
	known := map[string]any{}
	switch stage {
	case proto.MovieStage:
		for _, m := range b.cat.Movies {
			known[m.ID] = map[string]any(m.Backend)
		}
	case proto.TheaterStage:
		for _, t := range b.cat.Theaters {
			known[t.ID] = map[string]any(t.Backend)
		}
	case proto.TicketStage, proto.ConfirmStage:
		for _, t := range b.cat.Tickets {
			known[t.ID] = map[string]any(t.Backend)
		}
	default:
		if s := b.chosenShow(); s != nil {
			known[s.Movie] = map[string]any{"occupancy": s.Backend.Occupancy}
			known[s.Hall] = map[string]any(b.cat.hall(s.Hall).Backend)
		}
	}
	return known
}
