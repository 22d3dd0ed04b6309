package runner

import (
	"context"
	"errors"
	"testing"
	"time"

	"parley/steps"
)

// TestRations: a scenario whose size is known begins once there is memory for it; others begin at once.
func TestRations(t *testing.T) {
	r := newRations(greedy + modest)
	r.took["large"] = 10 * greedy
	back, err := r.reserveMemory(t.Context(), "large")
	if err != nil {
		t.Fatal(err)
	}
	small, err := r.reserveMemory(t.Context(), "small")
	if err != nil {
		t.Fatal(err)
	}
	small()
	granted := make(chan error)
	go func() {
		again, err := r.reserveMemory(t.Context(), "large")
		if err == nil {
			again()
		}
		granted <- err
	}()
	late := &errNoTime{"the target was overloaded", time.Millisecond}
	gone, cancel := context.WithTimeoutCause(t.Context(), time.Millisecond, late)
	defer cancel()
	if _, err := r.reserveMemory(gone, "large"); !errors.Is(err, late) {
		t.Errorf("there is memory for a second one: %v", err)
	}
	select {
	case err := <-granted:
		t.Fatalf("it began before there was memory: %v", err)
	default:
	}
	back()
	if err := <-granted; err != nil {
		t.Error(err)
	}
	r.learnMemory("large", steps.Result{}) // of another target
	if took := r.took["large"]; took != 5*greedy {
		t.Errorf("it is expected to take %d bytes", took)
	}
}
