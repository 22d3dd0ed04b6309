package host

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"time"
)

var idForm = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$`)

// check collects all problems of a catalogue.
func (c *Catalogue) check() error {
	p := &problems{}
	p.unless(c.Currency != "", "currency is missing")
	p.between("days", c.Days, 2, 60)
	p.between("maxSeats", c.MaxSeats, 1, 100)
	p.unless(c.Evening >= 0, "evening is negative")
	checkIDs(p, "movie", c.Movies, func(m movie) string { return m.ID })
	checkIDs(p, "hall", c.Halls, func(h hall) string { return h.ID })
	checkIDs(p, "theater", c.Theaters, func(t theater) string { return t.ID })
	checkIDs(p, "ticket", c.Tickets, func(t ticket) string { return t.ID })
	for _, h := range c.Halls {
		h.check(p)
	}
	for _, t := range c.Theaters {
		t.check(p, c)
	}
	for i, m := range c.Movies {
		m.check(p, c, i == 0)
	}
	for i, t := range c.Tickets {
		p.unless(t.Label != "", "ticket %s has no label", t.ID)
		p.unless(t.Price >= 0, "ticket %s has a negative price", t.ID)
		p.between("max of ticket "+t.ID, t.Max, 1, 100)
		p.unless(i > 0 || t.Under == 0, "ticket %s is the first, so it must be for everybody", t.ID)
	}
	return errors.Join(p.found...)
}

func (h hall) check(p *problems) {
	p.unless(h.Name != "", "hall %s has no name", h.ID)
	p.between("rows of hall "+h.ID, h.Rows, 1, 26)
	p.between("seats of hall "+h.ID, h.Seats, 1, 60)
	p.unless(len(h.Sold) > 0, "hall %s has no sold seat", h.ID)
	p.unless(!slices.Contains(h.Sold, seatID(0, 0)), "hall %s: its first seat is sold", h.ID)
	for _, id := range h.Sold {
		p.unless(h.has(id), "hall %s has no seat %s", h.ID, id)
	}
}

// has looks only at rows and seats that check allows.
func (h hall) has(id string) bool {
	for row := range min(h.Rows, 26) {
		for seat := range min(h.Seats, 60) {
			if seatID(row, seat) == id {
				return true
			}
		}
	}
	return false
}

func (t theater) check(p *problems, c *Catalogue) {
	p.unless(t.Name != "" && t.District != "" && t.Sound != "", "theater %s: name, district or sound is missing", t.ID)
	p.unless(len(t.Shows) <= 200, "theater %s has more than 200 shows", t.ID)
	seen := map[string]bool{}
	for _, s := range t.Shows {
		where := fmt.Sprintf("theater %s, show of %s", t.ID, s.Movie)
		p.unless(c.movie(s.Movie) != nil, "%s: there is no such movie", where)
		p.unless(c.hall(s.Hall) != nil, "%s: there is no hall %s", where, s.Hall)
		p.unless(!seen[s.Movie], "%s: is there twice", where)
		seen[s.Movie] = true
		p.between(where+": occupancy", s.Backend.Occupancy, 0, 90)
		p.between(where+": number of times", len(s.At), 1, 20)
		p.unless(slices.IsSorted(s.At) && len(slices.Compact(slices.Clone(s.At))) == len(s.At),
			"%s: times are not in order", where)
		for _, at := range s.At {
			_, err := time.Parse(clockTime, at)
			p.unless(err == nil && len(at) == len(clockTime), "%s: %q is not a time like 20:15", where, at)
		}
		for _, at := range s.SoldOut {
			p.unless(slices.Contains(s.At, at), "%s: sold out at %s, when there is no show", where, at)
			p.unless(s.At == nil || s.At[0] != at, "%s: the first time is sold out", where)
		}
	}
}

// check requires that the first choice of each stage can be made.
func (m movie) check(p *problems, c *Catalogue, first bool) {
	p.unless(m.Title != "" && m.Genre != "" && m.Language != "", "movie %s: title, genre or language is missing", m.ID)
	p.unless(m.Minutes > 0 && m.Rating >= 0 && m.AgeLimit >= 0, "movie %s: minutes, rating or ageLimit is impossible",
		m.ID)
	p.unless(!first || !m.Upcoming, "movie %s is the first, so it must be on sale", m.ID)
	at := find(c.Theaters, func(t *theater) bool { return t.show(m.ID) != nil })
	p.unless(at != nil, "movie %s is shown nowhere", m.ID)
	p.unless(at == nil || !at.Closed, "movie %s: the first theater that shows it is closed", m.ID)
}

type problems struct{ found []error }

func (p *problems) unless(ok bool, format string, args ...any) {
	if !ok {
		p.found = append(p.found, fmt.Errorf(format, args...))
	}
}

func (p *problems) between(what string, n, low, high int) {
	p.unless(low <= n && n <= high, "%s is %d; it is from %d to %d", what, n, low, high)
}

func checkIDs[T any](p *problems, what string, all []T, id func(T) string) {
	p.between("number of "+what+"s", len(all), 1, 500)
	seen := map[string]bool{}
	for _, v := range all {
		p.unless(idForm.MatchString(id(v)), "%s id %q: letters, digits, dots, dashes only", what, id(v))
		p.unless(!seen[id(v)], "%s id %s is there twice", what, id(v))
		seen[id(v)] = true
	}
}
