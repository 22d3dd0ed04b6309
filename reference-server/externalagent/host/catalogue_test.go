package host

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	proto "parley/protocol/externalagent"
)

// Taking the first item of each form leads to a booking for every movie; and somewhere something is sold out.
func TestEveryMovieCanBeBooked(t *testing.T) {
	c, err := LoadCatalogue("")
	if err != nil {
		t.Fatal(err)
	}
	if len(c.Movies) < 8 || len(c.Theaters) < 4 {
		t.Errorf("%d movies, %d theaters", len(c.Movies), len(c.Theaters))
	}
	for _, m := range c.Movies {
		if m.Upcoming {
			continue
		}
		for _, th := range c.Theaters {
			if th.Closed || th.show(m.ID) == nil {
				continue
			}
			b := newBooking(c, february())
			pick := func(stage, id string) {
				t.Helper()
				if b.stageName() != stage {
					t.Fatalf("%s at %s: stage %s", m.ID, th.ID, b.stageName())
				}
				if err := b.selectItem(id); err != nil {
					t.Fatalf("%s at %s: %v", m.ID, th.ID, err)
				}
				if _, err := b.nextStage(); err != nil {
					t.Fatalf("%s at %s: %v", m.ID, th.ID, err)
				}
			}
			pick(proto.MovieStage, m.ID)
			pick(proto.TheaterStage, th.ID)
			pick(proto.DateStage, b.displayedItems()[0].ID)
			pick(proto.TimeStage, b.displayedItems()[0].ID)
			sold := 0
			for _, seat := range b.displayedItems() {
				if !seat.Available {
					sold++
				}
			}
			if sold == 0 || sold > len(b.displayedItems())*9/10 {
				t.Errorf("%s at %s: %d of %d seats are sold", m.ID, th.ID, sold, len(b.displayedItems()))
			}
			pick(proto.SeatStage, b.displayedItems()[0].ID)
			if err := b.setQuantity(b.displayedItems()[0].ID, 1); err != nil {
				t.Error(err)
			}
			if _, err := b.nextStage(); err != nil {
				t.Error(err)
			}
			if booked, err := b.nextStage(); !booked || err != nil {
				t.Errorf("%v", err)
			}
		}
	}
}

func TestCatalogueErrors(t *testing.T) {
	whole := string(embedded)
	for _, row := range []struct{ old, new, want string }{
		{"currency: EUR", "money: EUR", "unknown key"},
		{"days: 6 ", "days: 1 ", "days is 1; it is from 2 to 60"},
		{"id: m2,", "id: m1,", "movie id m1 is there twice"},
		{"id: m2,", "id: ../m2,", `movie id "../m2"`},
		{"title: Orbit of Glass", "title: ''", "movie m2: title, genre or language is missing"},
		{"ageLimit: 6,\n     backendData: {supplierId: SUP-2201",
			"ageLimit: 6, upcoming: true,\n     backendData: {supplierId: SUP-2201",
			"movie m1 is the first, so it must be on sale"},
		{"sold: [A3, A4, C5]", "sold: [A1]", "hall h1: its first seat is sold"},
		{"sold: [A3, A4, C5]", "sold: []", "hall h1 has no sold seat"},
		{"sold: [A3, A4, C5]", "sold: [Z9]", "hall h1 has no seat Z9"},
		{"rows: 6,", "rows: 60,", "rows of hall h1 is 60"},
		{`soldOut: ["18:00"]`, `soldOut: ["14:00"]`, "the first time is sold out"},
		{`soldOut: ["18:00"]`, `soldOut: ["18:01"]`, "sold out at 18:01, when there is no show"},
		{`at: ["18:30", "21:15"]`, `at: ["18:30", "9:15"]`, `"9:15" is not a time`},
		{`at: ["18:30", "21:15"]`, `at: []`, "number of times is 0"},
		{`at: ["18:30", "21:15"]`, `at: ["21:15", "18:30"]`, "times are not in order"},
		{"{movie: m9, hall: h1", "{movie: m10, hall: h1", "there is no such movie"},
		{"{movie: m9, hall: h1", "{movie: m9, hall: h9", "there is no hall h9"},
		{"occupancy: 45", "occupancy: 100", "occupancy is 100"},
		{"    distanceKm: 1.2\n", "    closed: true\n", "movie m1: the first theater that shows it is closed"},
		{"label: Adult, price: 12.5, max: 8", "label: Adult, price: -1, max: 0", "ticket adult has a negative price"},
		{"label: Adult, price: 12.5, max: 8", "label: Adult, price: 1, max: 8, under: 10", "it must be for everybody"},
	} {
		text := strings.Replace(whole, row.old, row.new, 1)
		if text == whole {
			t.Errorf("%q is not there", row.old)
			continue
		}
		if _, err := parseCatalogue([]byte(text)); err == nil || !strings.Contains(err.Error(), row.want) {
			t.Errorf("%s: want %q, got %v", row.new, row.want, err)
		}
	}
}

func TestCatalogueFile(t *testing.T) {
	file := filepath.Join(t.TempDir(), "cinema.yaml")
	if _, err := LoadCatalogue(file); err == nil {
		t.Error("no error for no file")
	}
	write := func(text string) {
		t.Helper()
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write(strings.Replace(string(embedded), "Orbit of Glass", "Another Orbit", 1))
	c, err := LoadCatalogue(file)
	if err != nil {
		t.Fatal(err)
	}
	if c.Movies[1].Title != "Another Orbit" {
		t.Errorf("%v", c.Movies[1])
	}
	write("#" + strings.Repeat(" ", maxCatalogue))
	if _, err := LoadCatalogue(file); err == nil || !strings.Contains(err.Error(), "longer than") {
		t.Errorf("%v", err)
	}
}
