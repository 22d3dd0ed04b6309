package steps

import (
	"context"
	"errors"
	"testing"

	"parley/features/verdict"
	"parley/transport/driver"
	"parley/transport/transcript"
)

// cutWorld returns a world with a connected party A whose connection is cut after a record.
func cutWorld(t *testing.T, at int) (*World, driver.Conn) {
	w := world(t, false, "@AS-001")
	w.severing = &pendingCut{w: w, protocol: uncounted{}, party: "A", at: at, by: ByReset, fired: make(chan struct{}),
		done: make(chan struct{})}
	c, err := w.Open(context.Background(), driver.OpenOptions{Party: "A"})
	if err != nil {
		t.Fatal(err)
	}
	return w, c
}

func wrong() verdict.Finding {
	return verdict.Finding{Clauses: []string{"AS-001"}, Expected: "one thing", Observed: "another"}
}

func TestCutHappens(t *testing.T) {
	w, c := cutWorld(t, 2) // the opening is record 1
	if w.isSevered() {
		t.Fatal("cut before its record")
	}
	if _, err := c.Send(context.Background(), driver.Message{Label: "hello"}); err != nil {
		t.Fatal(err)
	}
	if !w.isSevered() {
		t.Fatal("not cut after its record")
	}
	if w.judgeChecks([]verdict.Finding{wrong()}); len(w.failures) > 0 {
		t.Errorf("judged between the cut and the party's coming back: %+v", w.failures)
	}
	told := ""
	w.Severed = func(party string, by Way) error { told = party + " by " + string(by); return nil }
	if err := w.comesBack(context.Background()); err != nil || told != "A by reset" || w.isSevered() {
		t.Errorf("err %v, told %q, severed %v", err, told, w.isSevered())
	}
	if w.judgeChecks([]verdict.Finding{wrong()}); len(w.failures) != 1 {
		t.Errorf("not judged once the party is back: %+v", w.failures)
	}
}

func TestCutAtTheEnd(t *testing.T) {
	w, _ := cutWorld(t, 0)
	if w.isSevered() {
		t.Fatal("cut before the end")
	}
	if err := w.comesBack(context.Background()); err != nil {
		t.Error(err)
	}
}

func TestCutDoesNotHappen(t *testing.T) {
	w, c := cutWorld(t, 3)
	var none *NotTestedError
	if err := w.comesBack(context.Background()); !errors.As(err, &none) {
		t.Fatalf("a cut that did not happen gives %v", err)
	}
	for range 3 {
		if _, err := c.Send(context.Background(), driver.Message{Label: "late"}); err != nil {
			t.Fatal(err)
		}
	}
	if w.isSevered() {
		t.Error("cut after the course")
	}
}

// TestCutEndsWaits: a wait in progress ends with the cut, and does not count as late.
func TestCutEndsWaits(t *testing.T) {
	w, c := cutWorld(t, 2)
	go func() { _, _ = c.Send(context.Background(), driver.Message{Label: "hello"}) }()
	_, miss := w.Await(context.Background(), Wait{Conn: "B", Greeting: true, Match: nothing})
	if miss == nil || miss.Late || w.late > 0 || w.cut {
		t.Errorf("miss %+v, late %d, cut off %v", miss, w.late, w.cut)
	}
	if err := w.comesBack(context.Background()); err != nil {
		t.Error(err)
	}
}

func nothing(*transcript.Record) bool { return false }

// uncounted is a protocol whose courses count only the records of the connection.
type uncounted struct{ Protocol }

// doubling is a protocol whose courses also count the records of a second connection.
type doubling struct{ Protocol }

func (doubling) CountsRecord(r *transcript.Record, party string) bool {
	return r.Conn == party || r.Conn == "second"
}

func TestCountedRecords(t *testing.T) {
	for _, v := range []struct {
		p    Protocol
		conn string
		want bool
	}{
		{uncounted{}, "A", true}, {uncounted{}, "second", false},
		{doubling{}, "A", true}, {doubling{}, "second", true}, {doubling{}, "third", false},
	} {
		if got := CountsRecord(v.p, &transcript.Record{Conn: v.conn}, "A"); got != v.want {
			t.Errorf("%T: a record of %s counts: %v", v.p, v.conn, got)
		}
	}
}
