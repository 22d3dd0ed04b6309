package steps

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"parley/features/verdict"
	"parley/steps/obligation"
	"parley/transport/transcript"
)

// counting is a protocol whose model owes one message for each record, and counts what it is asked.
type counting struct {
	Protocol
	*countingModel
}

type countingModel struct {
	seen  []int // numbers of records
	asked int   // calls of Owing
}

// Model implements Modelled.
func (p counting) Model(string, obligation.Observer) obligation.Model { return p.countingModel }

func (m *countingModel) Take(r transcript.Record)    { m.seen = append(m.seen, r.N) }
func (m *countingModel) End()                        {}
func (m *countingModel) Findings() []verdict.Finding { return nil }

func (m *countingModel) Owing() (out []obligation.Entry) {
	m.asked++
	for _, n := range m.seen {
		out = append(out, obligation.Entry{What: fmt.Sprintf("answer %d", n), Clauses: []string{"X-001"}, Record: n,
			Since: time.Duration(n) * time.Second})
	}
	return out
}

// TestOwing: the model sees each record once, and is asked once after new ones; the oldest debts are listed, and all
// are counted.
func TestOwing(t *testing.T) {
	m := &countingModel{}
	o := NewOwing(counting{countingModel: m}, "server", "C1", obligation.Foreign)
	records := transcript.New(nil)
	for range 3 {
		for range MostOwed / 2 {
			records.Append(transcript.Record{})
		}
		for range 2 {
			o.Read(records)
		}
	}
	list, count := o.Read(records)
	if len(list) != MostOwed || count != 3*MostOwed/2 || m.asked != 3 || len(m.seen) != count || m.seen[count-1] != count {
		t.Errorf("%d of %d are listed; the model has seen %v, and was asked %d times", len(list), count, m.seen, m.asked)
	}
	if got := list[6]; got.By != "server" || got.Conn != "C1" || got.What != "answer 7" ||
		!got.Since.Equal(records.Began().Add(7*time.Second)) {
		t.Errorf("the seventh is %+v", got)
	}
	o.Forget()
	if list, count := o.Read(records); list != nil || count != 0 {
		t.Errorf("what is not known any more is %v", list)
	}
}

// TestOwingIsUnknown: when records are lost, or are more than a run keeps, nothing is listed, and the model sees no
// more.
func TestOwingIsUnknown(t *testing.T) {
	m := &countingModel{}
	o := NewOwing(counting{countingModel: m}, "", "", obligation.Ours)
	for n := 1; n <= transcript.MaxRecords; n++ {
		o.Take(transcript.Record{N: n})
	}
	if list, _ := o.Now(time.Now()); len(list) != MostOwed || list[0].By != "target" {
		t.Errorf("after the most records that a run keeps, %v is owed", list)
	}
	o.Take(transcript.Record{N: transcript.MaxRecords + 1})
	if list, count := o.Now(time.Now()); count != 0 || len(m.seen) != transcript.MaxRecords {
		t.Errorf("%v is owed; the model has seen %d records", list, len(m.seen))
	}
	m = &countingModel{}
	o = NewOwing(counting{countingModel: m}, "", "", obligation.Ours)
	records, err := transcript.NewSpilling(nil, transcript.Keep{Records: 10})
	if err != nil {
		t.Fatal(err)
	}
	for range 1000 {
		records.Append(transcript.Record{Bytes: make([]byte, 1000)})
	}
	if err := records.Close(); err != nil { // what was in the file is lost
		t.Fatal(err)
	}
	if _, count := o.Read(records); count != 0 || len(m.seen) > 0 {
		t.Errorf("%d are owed after lost records; the model has seen %d", count, len(m.seen))
	}
}

// TestOwingWithoutModel: a protocol without a model owes nothing, and nothing says that it does.
func TestOwingWithoutModel(t *testing.T) {
	var p struct{ Protocol }
	o := NewOwing(p, "server", "", obligation.Ours)
	o.Take(transcript.Record{N: 1})
	o.Forget()
	list, count := o.Read(transcript.New(nil))
	more, _ := o.Now(time.Now())
	if o != nil || count > 0 || list != nil || more != nil {
		t.Errorf("%v, %d and %v are owed", list, count, more)
	}
}

// TestTellWait: the line of a step that waits names the debt that its act has caused, or else the oldest.
func TestTellWait(t *testing.T) {
	now := time.Now()
	owed := []Owed{{By: "server", What: "a pong", Clauses: []string{"X-001"}, Record: 3,
		Since: now.Add(-90 * time.Second)},
		{By: "server", What: "agent_switched to client A", Clauses: strings.Fields("X-002 X-003 X-004 X-005"), Record: 7,
			Since: now.Add(-12500 * time.Millisecond)}}
	a := Awaited{What: "client A is switched", After: 7, Since: now.Add(-2 * time.Second)}
	for _, row := range []struct {
		reason string
		after  int
		owed   []Owed
		want   string
	}{
		{"its act's", 7, owed,
			"waiting for agent_switched to client A from the server, 12 s, X-002 X-003 X-004 +1; Ctrl-C"},
		{"another one's", 5, owed, "waiting for client A is switched, 2 s; the server owes a pong, X-001; Ctrl-C"},
		{"nothing is owed", 7, nil, ""},
	} {
		a.After = row.after
		if got := TellWait(a, row.owed, now); got != row.want {
			t.Errorf("%s: %q, want %q", row.reason, got, row.want)
		}
	}
	joined := JoinOwed(owed[1:], owed[:1])
	if len(joined) != 2 || joined[0].Record != 3 {
		t.Errorf("joined: %+v", joined)
	}
}

// TestWaits: of the scenarios that wait, the one that has waited the longest is told, once it has waited for long and
// if something is owed in it; its model sees each record once.
func TestWaits(t *testing.T) {
	m := &countingModel{}
	s := NewWaits(counting{countingModel: m})
	world := func(records int) *World {
		w := NewWorld(&Env{Role: "server"}, nil, "", nil, nil)
		for range records {
			w.T.Append(transcript.Record{})
		}
		return w
	}
	now := time.Now()
	wants := func(when, want string, least time.Duration) {
		t.Helper()
		if got := s.Longest(least); !strings.HasPrefix(got, want) || want == "" && got != "" {
			t.Errorf("%s: %q, want %q", when, got, want)
		}
	}
	wants("nobody waits", "", 0)
	one := world(2)
	ended := s.begin(one, Awaited{What: "an answer", After: 2, Since: now.Add(-time.Minute)})
	s.begin(world(0), Awaited{What: "a greeting", Since: now.Add(-time.Hour)}) // in which nothing is owed
	wants("it has not waited for so long", "", 2*time.Hour)
	wants("it has waited for long", "waiting for answer 2 from the server, ", 30*time.Second)
	wants("again", "waiting for answer 2 from the server, ", 30*time.Second)
	if fmt.Sprint(m.seen) != "[1 2]" {
		t.Errorf("the model has seen %v", m.seen)
	}
	ended()
	wants("it no longer waits", "", 0)
	if none := NewWaits(struct{ Protocol }{}); none != nil || none.Longest(0) != "" {
		t.Error("without a model, something is told")
	}
	var none *Waits
	none.begin(one, Awaited{})()
}
