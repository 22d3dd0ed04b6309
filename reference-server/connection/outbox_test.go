package connection

import (
	"context"
	"errors"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/coder/websocket"
)

var bye = websocket.CloseError{Code: websocket.StatusGoingAway, Reason: "bye"}

// read reads the queued frames, up to an error.
func read(b *Outbox) (frames []string, err error) {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	for {
		frame, err := b.Next(ctx)
		if err != nil {
			return frames, err
		}
		frames = append(frames, string(frame))
	}
}

func TestOutboxEnds(t *testing.T) {
	why := errors.New("why")
	for _, row := range []struct {
		reason string
		do     func(b *Outbox)
		frames []string
		err    error
	}{
		{"not ended", func(*Outbox) {}, []string{"a", "b"}, context.Canceled},
		{"End drops queued frames", func(b *Outbox) { b.End(why) }, nil, why},
		{"a farewell follows the queued frames", func(b *Outbox) { b.Finish(bye) }, []string{"a", "b"}, bye},
		{"the first farewell counts", func(b *Outbox) { b.Finish(bye); b.Finish(websocket.CloseError{}) },
			[]string{"a", "b"}, bye},
		{"nothing is queued after it", func(b *Outbox) { b.Finish(bye); b.Push([]byte("c")) }, []string{"a", "b"}, bye},
		{"the end drops nothing before a farewell", func(b *Outbox) { b.Finish(bye); b.End(why) }, []string{"a", "b"}, bye},
		{"a farewell after the end is ignored", func(b *Outbox) { b.End(why); b.Finish(bye) }, nil, why},
		{"empty frames are frames", func(b *Outbox) { b.Push(nil, []byte{}) }, []string{"a", "b", "", ""}, context.Canceled},
	} {
		b := New(t.Context(), Limits{})
		b.Push([]byte("a"), []byte("b"))
		row.do(b)
		if frames, err := read(b); !slices.Equal(frames, row.frames) || !errors.Is(err, row.err) {
			t.Errorf("%s: %q, %v", row.reason, frames, err)
		}
		b.End(nil)
	}
}

func TestOutboxLimits(t *testing.T) {
	for _, row := range []struct {
		reason string
		limits Limits
		frames []string
		slow   bool
	}{
		{"no limit", Limits{}, []string{"long", "long", "long"}, false},
		{"as many frames as may wait", Limits{Frames: 2}, []string{"a", "b"}, false},
		{"one more", Limits{Frames: 2}, []string{"a", "b", "c"}, true},
		{"as many bytes as may wait", Limits{Bytes: 8}, []string{"long", "long"}, false},
		{"one more", Limits{Bytes: 8}, []string{"long", "long", "x"}, true},
		{"a single frame may be longer", Limits{Bytes: 2}, []string{"long"}, false},
	} {
		b := New(t.Context(), row.limits)
		for _, frame := range row.frames {
			b.Then(func() {}) // which does not count
			b.Push([]byte(frame))
		}
		if slow := errors.Is(context.Cause(b.Context()), ErrSlow); slow != row.slow {
			t.Errorf("%s: %v", row.reason, slow)
		}
		b.End(nil)
	}
}

// TestPump checks that a callback runs once the frame before it is written, and that written frames make room.
func TestPump(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := New(t.Context(), Limits{})
		var mu sync.Mutex
		var written []string
		add := func(what string) { mu.Lock(); defer mu.Unlock(); written = append(written, what) }
		sofar := func() []string { mu.Lock(); defer mu.Unlock(); return slices.Clone(written) }
		pumped := make(chan error, 1)
		go func() {
			pumped <- b.Pump(Wire{
				Write: func(_ context.Context, frame []byte) error {
					time.Sleep(time.Second)
					add(string(frame))
					return nil
				},
				Quiet: time.Minute,
				Beat:  func(context.Context) error { add("beat"); return nil },
			})
		}()
		b.Push([]byte("one"))
		b.Then(func() { add("then") })
		b.Push([]byte("two"))
		b.AwaitRoom(t.Context(), 3)
		synctest.Wait()
		if want := []string{"one", "then"}; !slices.Equal(sofar(), want) {
			t.Errorf("with room: %q", sofar())
		}
		b.AwaitRoom(t.Context(), 0)
		time.Sleep(90 * time.Second)
		b.Push([]byte("three"))
		b.Finish(bye)
		if err := <-pumped; !errors.Is(err, bye) {
			t.Errorf("ended with %v", err)
		}
		if want := []string{"one", "then", "two", "beat", "three"}; !slices.Equal(sofar(), want) {
			t.Errorf("written: %q", sofar())
		}
	})
}

func TestPumpFails(t *testing.T) {
	b := New(t.Context(), Limits{})
	defer b.End(nil)
	broken := errors.New("broken")
	b.Push([]byte("one"))
	if err := b.Pump(Wire{Write: func(context.Context, []byte) error { return broken }}); !errors.Is(err, broken) {
		t.Errorf("ended with %v", err)
	}
}

// TestAwaitRoomEnds checks that AwaitRoom returns when the connection has ended.
func TestAwaitRoomEnds(t *testing.T) {
	b := New(t.Context(), Limits{})
	b.Push([]byte("one"))
	time.AfterFunc(0, func() { b.End(nil) })
	b.AwaitRoom(t.Context(), 0)
	other := New(t.Context(), Limits{})
	defer other.End(nil)
	other.Push([]byte("one"))
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	other.AwaitRoom(ctx, 0)
}

// TestLastFrame checks that frames queued before a reader's context ended are read, whenever it reads.
func TestLastFrame(t *testing.T) {
	for range 20000 {
		b := New(context.Background(), Limits{})
		ctx, cancel := context.WithCancel(context.Background())
		go func() {
			b.Push([]byte("last"))
			cancel()
		}()
		if frame, err := b.Next(ctx); string(frame) != "last" {
			t.Fatalf("%q, %v", frame, err)
		}
		b.End(nil)
	}
}
