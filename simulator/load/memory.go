package load

import (
	"runtime"
	"sync"
	"time"

	"parley/target"
)

// memory measures both sides.
type memory struct {
	pid int // of the target; 0: not started by us

	mu         sync.Mutex
	peak       int64
	targetPeak int64
}

func newMemory(running target.Running) *memory {
	m := &memory{}
	if p, ok := running.(target.Process); ok {
		m.pid = p.PID()
	}
	return m
}

// own returns the bytes that this process uses, after a collection.
func own() int64 {
	runtime.GC()
	runtime.GC() // what a pool has kept since the parsing of the suite goes at the second
	var s runtime.MemStats
	runtime.ReadMemStats(&s)
	return int64(s.HeapAlloc + s.StackInuse)
}

// ofTarget returns the bytes of the target's process; 0 if that is unknown.
func (m *memory) ofTarget() int64 {
	if m.pid == 0 {
		return 0
	}
	return resident(m.pid)
}

// sample updates the peaks.
func (m *memory) sample() {
	ours, theirs := resident(0), m.ofTarget()
	m.mu.Lock()
	defer m.mu.Unlock()
	m.peak, m.targetPeak = max(m.peak, ours), max(m.targetPeak, theirs)
}

// most returns the peak of this process.
func (m *memory) most() int64 {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.peak
}

// each samples until stop closes.
func (m *memory) each(every time.Duration, stop <-chan struct{}) {
	tick := time.NewTicker(every)
	defer tick.Stop()
	for {
		m.sample()
		select {
		case <-stop:
			return
		case <-tick.C:
		}
	}
}
