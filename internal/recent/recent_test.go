package recent

import "testing"

// TestMap: what is used stays, and of the rest only the latest.
func TestMap(t *testing.T) {
	m := Map[int, int]{Most: 10}
	m.Set(-1, 7)
	for i := range 1000 {
		m.Set(i, i)
		if v, found := m.Get(-1); !found || v != 7 {
			t.Fatal("what is used was forgotten after", i)
		}
		if v, found := m.Get(max(0, i-2)); !found || v != max(0, i-2) {
			t.Fatal("one of the latest was forgotten after", i)
		}
		if m.Len() > 20 {
			t.Fatalf("%d are kept", m.Len())
		}
	}
	if _, found := m.Get(900); found {
		t.Error("an old one is kept")
	}
	m.Delete(-1)
	if _, found := m.Get(-1); found {
		t.Error("a deleted one is kept")
	}
}

// TestConns: an open connection is known however many have ended.
func TestConns(t *testing.T) {
	var c Conns[int]
	c.Set("open", 1)
	for i := range 100 * endedKept {
		name := string(rune('a' + i))
		c.Set(name, i)
		c.End(name)
		if v, found := c.Get(name); !found || v != i {
			t.Fatal("one that has just ended is not known")
		}
	}
	if v, found := c.Get("open"); !found || v != 1 || c.Len() > 2*endedKept+1 {
		t.Errorf("%d %v of %d", v, found, c.Len())
	}
}
