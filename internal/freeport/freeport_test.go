package freeport

import (
	"net"
	"os"
	"os/exec"
	"strconv"
	"sync"
	"testing"
)

// TestMain also runs as the other process of TestOtherProcess: it takes the port in TAKE and ends.
func TestMain(m *testing.M) {
	if n, err := strconv.Atoi(os.Getenv("TAKE")); err == nil {
		p := Port{Number: n}
		if !p.takePort() {
			os.Exit(1)
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}

func TestLend(t *testing.T) {
	t.Parallel()
	var mu sync.Mutex
	var all sync.WaitGroup
	seen := map[int]bool{}
	for range 50 {
		all.Go(func() {
			p, err := Lend()
			if err != nil {
				t.Error(err)
				return
			}
			t.Cleanup(p.Release)
			l, err := net.Listen("tcp", p.Addr())
			if err != nil {
				t.Error(err)
				return
			}
			_ = l.Close()
			mu.Lock()
			defer mu.Unlock()
			if seen[p.Number] || p.Number < first || p.Number >= first+count {
				t.Errorf("port %d, of those that have been lent: %v", p.Number, seen[p.Number])
			}
			seen[p.Number] = true
		})
	}
	all.Wait()
}

// TestOtherProcess checks that a port lent to one process is not lent to another until it is released.
func TestOtherProcess(t *testing.T) {
	t.Parallel()
	p, err := Lend()
	if err != nil {
		t.Fatal(err)
	}
	defer p.Release()
	other := func() error {
		c := exec.Command(os.Args[0])
		c.Env = append(os.Environ(), "TAKE="+strconv.Itoa(p.Number))
		return c.Run()
	}
	if other() == nil {
		t.Errorf("port %d is lent twice", p.Number)
	}
	p.Release()
	p.Release()
	if err := other(); err != nil {
		t.Errorf("port %d has been given back, and is not lent: %v", p.Number, err)
	}
}

// TestTaken checks that a port with a listener is not lent, and that the failed try does not keep it marked as lent.
// It is not parallel: a process started by another test would hold a copy of the mark for a moment.
func TestTaken(t *testing.T) {
	p, err := Lend()
	if err != nil {
		t.Fatal(err)
	}
	l, err := net.Listen("tcp", p.Addr())
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	p.Release()
	for range 2 {
		again := Port{Number: p.Number}
		if again.takePort() {
			t.Fatalf("%s is lent, and %s listens there", again.Addr(), l.Addr())
		}
		if again.lent == nil {
			t.Fatal("the second try did not come as far as to the first")
		}
	}
	var none *Port
	none.Release()
}

// TestForks checks that ports can be listened on, and listened on again, while this process starts others: each of them
// holds copies of all sockets for a moment.
func TestForks(t *testing.T) {
	t.Parallel()
	done := make(chan struct{})
	var forks sync.WaitGroup
	for range 4 {
		forks.Go(func() {
			for {
				select {
				case <-done:
					return
				default:
				}
				c := exec.Command(os.Args[0])
				c.Env = append(os.Environ(), "TAKE=1") // a privileged port, or a free one: it ends at once
				_ = c.Run()
			}
		})
	}
	defer forks.Wait()
	defer close(done)
	for range 200 {
		p, err := Lend()
		if err != nil {
			t.Fatal(err)
		}
		l, err := net.Listen("tcp", p.Addr())
		if err != nil {
			t.Fatalf("a lent port: %v", err)
		}
		_ = l.Close()
		if l, err = Relisten(p.Addr()); err != nil {
			t.Fatalf("once more: %v", err)
		}
		_ = l.Close()
		p.Release()
	}
}
