package replay

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"time"

	"parley/internal/cut"
	"parley/protocol/messages"
	"parley/transport/recording"
	"parley/transport/transcript"
	wjson "parley/transport/wire/json"
)

// DeviationKind says in which way two targets differ.
type DeviationKind string

// The kinds of deviations.
const (
	Changed DeviationKind = "changed" // both sent a message of one type, with different content or status
	Instead DeviationKind = "instead" // they sent messages of different types, or one ended the connection instead
	OnlyA   DeviationKind = "only-a"  // B sent nothing like it
	OnlyB   DeviationKind = "only-b"  // A sent nothing like it
	Order   DeviationKind = "order"   // both sent it, at different places among the messages of one connection
)

// Deviation is one difference between what two targets did when the harness did the same.
type Deviation struct {
	Kind   DeviationKind
	Conn   string // the connection, by its name in the recording of A
	A, B   *Wire  // nil where the target sent nothing
	Places []Place
	Diff   string // of Changed: the lines that differ, for people
	AtA    int    // number of the record at which it shows in A: the message, or what the harness had done before
	AtB    int    // the same in B
}

// Structural reports whether what the targets do next may differ because of this deviation alone: they went different
// ways, or a connection has ended on one side.
func (d Deviation) Structural() bool { return d.Kind == Instead || d.A.isLast() || d.B.isLast() }

// isLast reports whether nothing comes on the connection behind it.
func (w *Wire) isLast() bool { return w != nil && w.End }

// Wire is a message as it was on the wire.
type Wire struct {
	N     int    // number of its record
	What  string // kind and type: "frame agent_switched"
	Type  string // the type alone; "" where it has none
	Text  string // the payload, or how a connection ended; bounded
	After string // What of the target's message before it on the connection; "" for the first
	Act   string // what the harness had done: what it answers, or the last act on the connection; "" for nothing
	Said  string // the payload of that act, bounded

	End    bool // the connection has ended with it
	Status int  // of an HTTP answer, or with which a connection ended
}

// Comparison is what CompareRecordings has found.
type Comparison struct {
	Compared   int // pairs of messages of the targets
	Deviations []Deviation
	// the profiles name the members of messages differently: only which messages there are and their status was compared
	Mapped bool
	Parted bool // the harness did not do the same on both sides up to the end: it reacts to the targets
}

// ErrEnds is returned for recordings of which one was made at the server's end, and the other at the client's.
var ErrEnds = errors.New("they were made at different ends: one at the server's, one at the client's")

// CompareRecordings compares what two targets did in recordings of one scenario, A and B, in each of which the harness
// recorded. It compares by connection and direction: how the messages of different connections interleave does not
// count, nor does that of an answer and what comes beside it. Ids and what a schema says may differ are no
// deviations; of o, Messages, Words, Quiet and Ignore count. From where the harness itself does something else,
// nothing is compared. That a last message is missing counts only if the other recording shows Quiet without it. Both
// recordings are read into memory. Errors are those of the readers, and ErrEnds.
func CompareRecordings(a, b *recording.Reader, o Options) (Comparison, error) {
	o.setDefaults()
	m := &comparer{o: o, ids: newIDs(), twin: map[int]int{}, back: map[int]int{}, lanes: map[string]string{},
		solo: map[laneOfConn]bool{}}
	m.ids.loose = true
	var err error
	if m.a, err = readTape(a, o.Messages); err != nil {
		return Comparison{}, err
	}
	if m.b, err = readTape(b, o.Messages); err != nil {
		return Comparison{}, err
	}
	if m.a.atServer != m.b.atServer && len(m.a.acts)+len(m.a.came) > 0 && len(m.b.acts)+len(m.b.came) > 0 {
		return Comparison{}, ErrEnds
	}
	if m.found.Mapped = hasMappedNames(m.a.acts, m.b.acts); m.found.Mapped {
		m.a.relabelMessages(o.Messages)
		m.b.relabelMessages(o.Messages)
	}
	m.pairActs()
	m.alignThreads()
	m.comparePaired()
	slices.SortStableFunc(m.found.Deviations, func(x, y Deviation) int { return cmp.Compare(x.AtA, y.AtA) })
	return m.found, nil
}

// recordedMessages is a recording in memory.
type recordedMessages struct {
	atServer bool
	acts     []message                // of the harness, by number
	came     []message                // of the target, by number
	ends     map[string]time.Duration // connection → when it ended
	closed   map[string]bool          // those that the target ended
	late     map[int]bool             // requests that were answered when the harness had gone
	last     time.Duration
	opened   map[string]int // party → its connections so far
	asked    map[int]string // number of a request → its connection
}

func readTape(in *recording.Reader, set *messages.Set) (*recordedMessages, error) {
	t := &recordedMessages{ends: map[string]time.Duration{}, closed: map[string]bool{}, late: map[int]bool{},
		opened: map[string]int{}, asked: map[int]string{}}
	view := recording.NewClientView(in)
	for {
		r, err := view.Next()
		if errors.Is(err, io.EOF) {
			return t, nil
		}
		if err != nil {
			return nil, err
		}
		t.atServer = view.AtServer()
		t.sortRecord(r, set)
	}
}

// sortRecord sorts a record.
func (t *recordedMessages) sortRecord(r transcript.Record, set *messages.Set) {
	dir, target, harness := transcript.Received, messages.Server, messages.Client
	if t.atServer {
		dir, target, harness = transcript.Sent, messages.Client, messages.Server
	}
	t.last = max(t.last, r.At)
	t.renameConns(&r)
	from := harness
	if isCompared(r, dir) {
		from = target
	}
	m := rules{set: set}.readFrom(r, from)
	switch {
	case m.rule != nil && m.rule.Aside:
	case r.Late && r.Reply != 0:
		t.late[r.Reply] = true
	case isCompared(r, dir) && (r.Kind != transcript.Request || !strings.HasPrefix(r.Label, "OPTIONS ")):
		t.came = append(t.came, m)
	case !r.Late && isPlayed(r, dir):
		t.acts = append(t.acts, m)
	}
	if r.Kind == transcript.Closed {
		t.ends[r.Conn] = r.At
		t.closed[r.Conn] = isCompared(r, dir)
	}
}

// renameConns gives each connection of a party a name of its own: that of the second one of A is A (2). Requests and
// their answers keep the name that the connection had when they were made.
func (t *recordedMessages) renameConns(r *transcript.Record) {
	if r.Kind == transcript.Open && r.Reply == 0 && r.Status == 0 {
		t.opened[r.Conn]++
	}
	if n := t.opened[r.Conn]; n > 1 {
		r.Conn = fmt.Sprintf("%s (%d)", r.Conn, n)
	}
	switch name, asked := t.asked[r.Reply]; {
	case r.Kind == transcript.Request:
		t.asked[r.N] = r.Conn
	case asked && r.Reply != 0:
		r.Conn = name
	}
}

func byNumber(m message, n int) int { return m.N - n }

// lastActBefore returns the number of the harness's last act before a record; 0 for none.
func (t *recordedMessages) lastActBefore(n int) int {
	at, _ := slices.BinarySearchFunc(t.acts, n, byNumber)
	if at == 0 {
		return 0
	}
	return t.acts[at-1].N
}

// recordTime returns when a record was made; 0 for none.
func (t *recordedMessages) recordTime(n int) time.Duration {
	if i, is := slices.BinarySearchFunc(t.acts, n, byNumber); is {
		return t.acts[i].At
	}
	return 0
}

// observedUntil returns until when a thread was observed.
func (t *recordedMessages) observedUntil(key thread) time.Duration {
	if at, ended := t.ends[key.conn]; ended && key.place == "" && !t.closed[key.conn] {
		return at
	}
	return t.last
}

// maxWire bounds the text of a message that is shown.
const maxWire = 4 << 10

// wireMessage describes a message of a series, of which it has the index.
func (t *recordedMessages) wireMessage(all []message, at int) *Wire {
	m := all[at]
	w := &Wire{N: m.N, What: messageName(m), Type: m.name, Text: cut.Text(string(m.Bytes), maxWire),
		End: m.Kind == transcript.Closed || m.Kind == transcript.Failure}
	if m.Type != "text" && m.Type != "binary" {
		w.Status = m.Status
	}
	for i, _ := slices.BinarySearchFunc(t.acts, m.N, byNumber); i > 0; i-- {
		act := t.acts[i-1]
		if m.Reply == act.N || m.Conn == act.Conn && (m.Reply == 0 || t.atServer) && act.Kind != transcript.Closed {
			w.Act, w.Said = messageName(act), cut.Text(string(act.Bytes), maxWire)
			break
		}
	}
	switch {
	case w.End:
		w.Text = strings.TrimSpace(m.Label + " " + w.Text)
	case m.Status != 0 && m.Kind != transcript.Frame:
		w.Text = strings.TrimSpace(strconv.Itoa(m.Status) + " " + w.Text)
	}
	if at > 0 {
		w.After = messageName(all[at-1])
	}
	return w
}

// messageName names a message without its connection.
func messageName(m message) string {
	m.Conn = ""
	return m.titleFor()
}

// hasMappedNames reports whether the harness gives members other names for one of two targets: an act that is the same
// in the protocol has names on each side that it has not on the other.
func hasMappedNames(a, b []message) bool {
	known := map[string][]wjson.Object{}
	for _, one := range a {
		if o, is := one.value.(wjson.Object); is && messageLabel(one) != "" {
			known[messageLabel(one)] = append(known[messageLabel(one)], o)
		}
	}
	for _, one := range b {
		theirs, is := one.value.(wjson.Object)
		if mine := known[messageLabel(one)]; is && len(mine) > 0 &&
			!slices.ContainsFunc(mine, func(o wjson.Object) bool {
				return !lacksMember(o, theirs) || !lacksMember(theirs, o)
			}) {
			return true
		}
	}
	return false
}

func lacksMember(a, b wjson.Object) bool {
	for name := range b {
		if _, there := a[name]; !there {
			return true
		}
	}
	return false
}

// messageLabel is what a message is in the protocol, as the harness has recorded it.
func messageLabel(m message) string {
	if m.Kind == transcript.Request {
		return m.Type
	}
	return m.Label
}

// relabelMessages names messages by what they are in the protocol, whatever they are on the wire.
func (t *recordedMessages) relabelMessages(set *messages.Set) {
	for _, all := range []*[]message{&t.acts, &t.came} {
		*all = slices.DeleteFunc(*all, func(m message) bool {
			rule := set.Find(messageLabel(m), "")
			return rule != nil && rule.Aside
		})
		for i := range *all {
			m := &(*all)[i]
			switch m.Kind {
			case transcript.Frame, transcript.Stream, transcript.Request:
				m.name, m.rule = messageLabel(*m), set.Find(messageLabel(*m), messages.Server)
			}
		}
	}
}
