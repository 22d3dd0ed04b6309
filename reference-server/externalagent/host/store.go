package host

import (
	_ "embed"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"strconv"
	"strings"
	"sync"
	"time"

	"parley/internal/yamltext"
	proto "parley/protocol/externalagent"
	"parley/reference-server/externalagent/wire"
)

// Store keeps the logs of sessions. It is safe for concurrent use.
type Store interface {
	// Create makes a log with an id that is unique in the store, also across processes.
	Create(now time.Time) (Log, error)

	// Close ends the use of the store. Open logs stay open.
	Close() error
}

// Log is the log of one session. It is used by one goroutine at a time.
type Log interface {
	ID() string   // session id: s-20260213-001
	Name() string // slash-separated file name within the store: study/s-20260213-001.jsonl

	// Append adds a line, given without a line end. The line is complete in the file when it returns nil.
	Append(line []byte) error

	// Close completes the log.
	Close() error
}

// study is the folder of the logs within a store, as named in the source.
const study = "study"

// OpenStore opens the store in a folder and creates the folder if necessary; "" selects a temporary one, which Close
// removes. Logs are files study/<id>.jsonl in it. It never reopens a file of an earlier process: the remains of a
// crash, such as a torn last line, stay as they are.
//
// Appended lines are handed to the operating system, so they survive the process. They are not synced to disk.
func OpenStore(dir string) (Store, error) {
	temporary := dir == ""
	if temporary {
		var err error
		if dir, err = os.MkdirTemp("", "booking-logs-"); err != nil {
			return nil, fmt.Errorf("make a folder for the logs: %w", err)
		}
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return nil, fmt.Errorf("make the folder of the logs: %w", err)
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, fmt.Errorf("open the folder of the logs: %w", err)
	}
	f := &folder{root: root, temporary: temporary}
	if err := root.MkdirAll(study, 0o755); err != nil {
		return nil, errors.Join(fmt.Errorf("make the folder of the logs: %w", err), f.Close())
	}
	return f, nil
}

// folder is a store of files. No name can escape it, not even through a symbolic link.
type folder struct {
	root      *os.Root
	temporary bool

	mu   sync.Mutex
	day  string
	last int // highest log number of that day
}

// Create implements Store.
func (f *folder) Create(now time.Time) (Log, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if day := now.UTC().Format("20060102"); day != f.day {
		last, err := f.lastOf(day)
		if err != nil {
			return nil, fmt.Errorf("read the folder of the logs: %w", err)
		}
		f.day, f.last = day, last
	}
	for {
		f.last++
		id := fmt.Sprintf("s-%s-%03d", f.day, f.last)
		name := study + "/" + id + ".jsonl"
		// Another process may use the same folder, so an existing file belongs to that process.
		file, err := f.root.OpenFile(name, os.O_WRONLY|os.O_APPEND|os.O_CREATE|os.O_EXCL, 0o600)
		if errors.Is(err, fs.ErrExist) {
			continue
		}
		if err != nil {
			return nil, fmt.Errorf("make the log %s: %w", name, err)
		}
		return &logFile{id: id, name: name, file: file}, nil
	}
}

// lastOf returns the highest log number of that day.
func (f *folder) lastOf(day string) (last int, err error) {
	dir, err := f.root.Open(study)
	if err != nil {
		return 0, err
	}
	defer dir.Close()
	names, err := dir.Readdirnames(-1)
	for _, name := range names {
		number, found := strings.CutPrefix(name, "s-"+day+"-")
		number, isLog := strings.CutSuffix(number, ".jsonl")
		if n, err := strconv.Atoi(number); found && isLog && err == nil {
			last = max(last, n)
		}
	}
	return last, err
}

// Close implements Store.
func (f *folder) Close() error {
	err := f.root.Close()
	if f.temporary {
		err = errors.Join(err, os.RemoveAll(f.root.Name()))
	}
	return err
}

type logFile struct {
	id, name string
	file     *os.File
}

func (l *logFile) ID() string   { return l.id }
func (l *logFile) Name() string { return l.name }

// Append writes the line and its end in one call, so that a crash can tear only the last line.
func (l *logFile) Append(line []byte) error {
	_, err := l.file.Write(append(line[:len(line):len(line)], '\n'))
	return err
}

func (l *logFile) Close() error { return l.file.Close() }

// rfc3339Millis always has milliseconds, like JavaScript's toISOString.
const rfc3339Millis = "2006-01-02T15:04:05.000Z"

// Internal events in the log.
const (
	messageInvalid   = "message.invalid"   // the host received a frame that is not an envelope
	toolExecuted     = "tool.executed"     // stage: the current stage, "" when the booking is done
	userInput        = "user.input"        // the participant said something
	bookingCompleted = "booking.completed" // code, total
	stateReset       = "state.reset"       // reason, as in session.end
	sessionClosed    = "session.closed"    // the host ended the session without a request: reason
)

// journal is the log of the active session.
type journal struct {
	log    Log // nil while no session is active
	index  int
	bytes  int64
	failed error // the first failure
}

// logEvent logs an event.
func (m *machine) logEvent(direction, kind string, payload any) {
	if m.journal.log == nil {
		return
	}
	m.journal.index++
	e := Entry{
		"sessionId": m.id, "eventIndex": m.journal.index, "timestamp": m.timestamp(),
		"direction": direction, "type": kind, "payload": payload,
	}
	for _, e := range m.o.Policy.Record(View{m}, e) {
		m.writeLog(e)
	}
}

func (m *machine) internalError(kind string, payload map[string]any) {
	m.logEvent(proto.Internal, kind, payload)
}

func (m *machine) writeLog(e Entry) {
	j := &m.journal
	if j.log == nil || j.failed != nil {
		return
	}
	line := wire.Encode(e)
	if err := j.log.Append(line); err != nil {
		j.failed = fmt.Errorf("log session %s: %w", m.id, err)
	}
	j.bytes += int64(len(line)) + 1
}

// recordArrival logs a frame as it arrived. It decodes the frame again, because the handled message may have been
// changed. A frame that is not an envelope has no type and no payload to log.
func (m *machine) recordArrival(data []byte) {
	if m.journal.log == nil || data == nil {
		return
	}
	msg, _ := decodeEnvelope(data, m.o.Limits.Message)
	if kind, isString := msg["type"].(string); isString && msg.Payload() != nil {
		m.logEvent(proto.In, kind, msg["payload"])
		return
	}
	m.internalError(messageInvalid, object{"bytes": len(data)})
}

// closeLog completes the log.
func (m *machine) closeLog() {
	j := &m.journal
	if j.log == nil {
		return
	}
	if err := j.log.Close(); err != nil && j.failed == nil {
		j.failed = fmt.Errorf("close the log of session %s: %w", m.id, err)
	}
	j.log = nil
}

func (m *machine) timestamp() string { return m.o.Now().UTC().Format(rfc3339Millis) }

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
	if err := c.findProblems(); err != nil {
		return nil, fmt.Errorf("catalogue: %w", err)
	}
	return c, nil
}

func (c *Catalogue) movie(id string) *movie {
	return firstMatch(c.Movies, func(m *movie) bool { return m.ID == id })
}

func (c *Catalogue) hall(id string) *hall {
	return firstMatch(c.Halls, func(h *hall) bool { return h.ID == id })
}

func (c *Catalogue) theater(id string) *theater {
	return firstMatch(c.Theaters, func(t *theater) bool { return t.ID == id })
}

func (c *Catalogue) ticket(id string) *ticket {
	return firstMatch(c.Tickets, func(t *ticket) bool { return t.ID == id })
}

func (t *theater) show(movieID string) *show {
	return firstMatch(t.Shows, func(s *show) bool { return s.Movie == movieID })
}

// firstMatch returns the first match; nil if there is none.
func firstMatch[T any](all []T, meant func(*T) bool) *T {
	for i := range all {
		if meant(&all[i]) {
			return &all[i]
		}
	}
	return nil
}
