package host

import (
	_ "embed"
	"fmt"
	"io"
	"os"

	"parley/internal/yamltext"
)

//go:embed catalogue.yaml
var embedded []byte

// maxCatalogue is the maximum size of a catalogue file.
const maxCatalogue = 4 << 20

// Catalogue is what a cinema shows and sells. It is immutable, so hosts may share it.
type Catalogue struct {
	Currency string    `yaml:"currency"`
	Days     int       `yaml:"days"`     // dates on display, from the day after the session began; the last is not on sale
	MaxSeats int       `yaml:"maxSeats"` // per booking
	Evening  float64   `yaml:"evening"`  // surcharge per ticket
	Movies   []movie   `yaml:"movies"`
	Halls    []hall    `yaml:"halls"`
	Theaters []theater `yaml:"theaters"`
	Tickets  []ticket  `yaml:"tickets"`
}

// backendData is data that the cinema must not send (EA-015, EA-102).
type backendData map[string]any

type movie struct {
	ID       string      `yaml:"id"`
	Title    string      `yaml:"title"`
	Genre    string      `yaml:"genre"`
	Rating   float64     `yaml:"rating"`
	Minutes  int         `yaml:"minutes"`
	Language string      `yaml:"language"`
	AgeLimit int         `yaml:"ageLimit"`
	Upcoming bool        `yaml:"upcoming"` // on display, but not yet on sale
	Backend  backendData `yaml:"backendData"`
}

type hall struct {
	ID      string      `yaml:"id"`
	Name    string      `yaml:"name"`
	Rows    int         `yaml:"rows"`
	Seats   int         `yaml:"seats"` // per row
	Sold    []string    `yaml:"sold"`  // for every show
	Backend backendData `yaml:"backendData"`
}

type theater struct {
	ID         string      `yaml:"id"`
	Name       string      `yaml:"name"`
	District   string      `yaml:"district"`
	Sound      string      `yaml:"sound"`
	DistanceKm float64     `yaml:"distanceKm"`
	Closed     bool        `yaml:"closed"` // on display, but nothing is on sale
	Shows      []show      `yaml:"shows"`
	Backend    backendData `yaml:"backendData"`
}

// show is a movie in a hall, at the same times every day.
type show struct {
	Movie   string   `yaml:"movie"`
	Hall    string   `yaml:"hall"`
	At      []string `yaml:"at"` // 15:04
	SoldOut []string `yaml:"soldOut"`
	Backend struct {
		Occupancy int `yaml:"occupancy"` // percent of the seats already sold, besides those sold in the hall itself
	} `yaml:"backendData"`
}

type ticket struct {
	ID      string      `yaml:"id"`
	Label   string      `yaml:"label"`
	Price   float64     `yaml:"price"`
	Max     int         `yaml:"max"`
	Under   int         `yaml:"under"` // only for people younger than this; 0: for everyone
	Backend backendData `yaml:"backendData"`
}

// LoadCatalogue reads a catalogue, a YAML file of at most 4 MiB; "" selects the built-in one. It fails on unknown
// keys, and on a cinema in which taking the first of everything does not lead to a booking.
func LoadCatalogue(file string) (*Catalogue, error) {
	if file == "" {
		return parseCatalogue(embedded)
	}
	f, err := os.Open(file)
	if err != nil {
		return nil, fmt.Errorf("open catalogue: %w", err)
	}
	defer f.Close()
	text, err := io.ReadAll(io.LimitReader(f, maxCatalogue+1))
	if err != nil {
		return nil, fmt.Errorf("read catalogue: %w", err)
	}
	if len(text) > maxCatalogue {
		return nil, fmt.Errorf("catalogue %s is longer than %d bytes", file, maxCatalogue)
	}
	c, err := parseCatalogue(text)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", file, err)
	}
	return c, nil
}

func parseCatalogue(text []byte) (*Catalogue, error) {
	c := new(Catalogue)
	if err := yamltext.Strict(text, c); err != nil {
		return nil, fmt.Errorf("parse catalogue: %w", err)
	}
	if err := c.check(); err != nil {
		return nil, fmt.Errorf("catalogue: %w", err)
	}
	return c, nil
}

func (c *Catalogue) movie(id string) *movie {
	return find(c.Movies, func(m *movie) bool { return m.ID == id })
}

func (c *Catalogue) hall(id string) *hall {
	return find(c.Halls, func(h *hall) bool { return h.ID == id })
}

func (c *Catalogue) theater(id string) *theater {
	return find(c.Theaters, func(t *theater) bool { return t.ID == id })
}

func (c *Catalogue) ticket(id string) *ticket {
	return find(c.Tickets, func(t *ticket) bool { return t.ID == id })
}

func (t *theater) show(movieID string) *show {
	return find(t.Shows, func(s *show) bool { return s.Movie == movieID })
}

// find returns the first match; nil if there is none.
func find[T any](all []T, meant func(*T) bool) *T {
	for i := range all {
		if meant(&all[i]) {
			return &all[i]
		}
	}
	return nil
}
