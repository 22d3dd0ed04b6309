package connection

import (
	"context"
	"errors"
	"testing"
)

func TestRegistry(t *testing.T) {
	type conn struct{ name string }
	a, b := &conn{"a"}, &conn{"b"}
	r := NewRegistry[string, conn](2)
	if err := errors.Join(r.Add("a", a), r.Add("b", b)); err != nil {
		t.Fatal(err)
	}
	if err := r.Add("c", &conn{}); !errors.Is(err, ErrMany) {
		t.Errorf("a third: %v", err)
	}
	if all := r.All(); len(all) != 2 || all[0] != a || all[1] != b || r.Get("b") != b || r.Get("c") != nil {
		t.Errorf("open: %v", all)
	}
	r.Close()
	r.Remove("a")
	if err := r.Add("c", &conn{}); !errors.Is(err, ErrClosing) {
		t.Errorf("when it closes: %v", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := Await(ctx, r.Wait); !errors.Is(err, context.Canceled) {
		t.Errorf("one is open: %v", err)
	}
	r.Remove("b")
	if err := Await(t.Context(), r.Wait); err != nil {
		t.Errorf("all are removed: %v", err)
	}
}
