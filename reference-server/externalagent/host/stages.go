package host

import (
	"fmt"
	"hash/fnv"
	"slices"
	"strconv"
	"time"

	proto "parley/protocol/externalagent"
)

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

// options returns the items of a stage in catalogue order, given the earlier choices.
func (b *booking) options(stage string) []proto.Item {
	switch stage {
	case proto.MovieStage:
		return b.movies()
	case proto.TheaterStage:
		return b.theaters()
	case proto.DateStage:
		return b.dates()
	case proto.TimeStage:
		return b.times()
	case proto.SeatStage:
		return b.seats()
	case proto.TicketStage:
		return b.tickets()
	}
	return nil
}

func (b *booking) movies() (items []proto.Item) {
	for _, m := range b.cat.Movies {
		items = append(items, proto.Item{ID: m.ID, Label: m.Title, Available: !m.Upcoming, Attributes: map[string]any{
			"genre": m.Genre, "rating": m.Rating, "minutes": m.Minutes, "language": m.Language, "ageLimit": m.AgeLimit,
		}})
	}
	return items
}

func (b *booking) theaters() (items []proto.Item) {
	for _, t := range b.cat.Theaters {
		if t.show(b.one(proto.MovieStage)) == nil {
			continue
		}
		items = append(items, proto.Item{ID: t.ID, Label: t.Name, Available: !t.Closed, Attributes: map[string]any{
			"district": t.District, "sound": t.Sound, "distanceKm": t.DistanceKm,
		}})
	}
	return items
}

func (b *booking) dates() (items []proto.Item) {
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

func (b *booking) times() (items []proto.Item) {
	s, m := b.show(), b.cat.movie(b.one(proto.MovieStage))
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

func (b *booking) seats() (items []proto.Item) {
	s := b.show()
	if s == nil || b.one(proto.TimeStage) == "" {
		return nil
	}
	h := b.cat.hall(s.Hall)
	for row := range h.Rows {
		for seat := range h.Seats {
			id := seatID(row, seat)
			items = append(items, proto.Item{
				ID: id, Label: "Row " + id[:1] + ", seat " + id[1:], Available: !b.sold(s, h, row, id),
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

// sold reports whether a seat is taken: it is sold in the hall itself or, behind the first row, picked by a hash so
// that about Occupancy percent are taken. The result is the same each time, so that a booking can be repeated.
func (b *booking) sold(s *show, h *hall, row int, id string) bool {
	if slices.Contains(h.Sold, id) {
		return true
	}
	sum := fnv.New32a()
	for _, word := range []string{s.Movie, b.one(proto.TheaterStage), b.one(proto.DateStage), b.one(proto.TimeStage), id} {
		_, _ = sum.Write([]byte(word + "\x00"))
	}
	return row > 0 && int(sum.Sum32()%100) < s.Backend.Occupancy
}

func (b *booking) tickets() (items []proto.Item) {
	m := b.cat.movie(b.one(proto.MovieStage))
	for _, t := range b.cat.Tickets {
		price := b.price(t)
		items = append(items, proto.Item{
			ID: t.ID, Label: fmt.Sprintf("%s, %.2f %s", t.Label, price, b.cat.Currency),
			Available:  t.Under == 0 || m != nil && m.AgeLimit < t.Under,
			Attributes: map[string]any{"price": price},
		})
	}
	return items
}

// price returns the price of a ticket for the chosen show.
func (b *booking) price(t ticket) float64 {
	if b.one(proto.TimeStage) >= evening {
		return cents(t.Price + b.cat.Evening)
	}
	return cents(t.Price)
}

// show returns the show in the chosen theater; nil while none is chosen.
func (b *booking) show() *show {
	t := b.cat.theater(b.one(proto.TheaterStage))
	if t == nil {
		return nil
	}
	return t.show(b.one(proto.MovieStage))
}

// backend returns the backend data of a stage's items by id.
func (b *booking) backend(stage string) map[string]any {
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
		if s := b.show(); s != nil {
			known[s.Movie] = map[string]any{"occupancy": s.Backend.Occupancy}
			known[s.Hall] = map[string]any(b.cat.hall(s.Hall).Backend)
		}
	}
	return known
}
