package browser

import (
	"sync/atomic"
	"time"
)

const (
	maxProcess = 1 << 30 // bytes of its own memory that one process of a browser may use, such as a page's
	maxBrowser = 3 << 30 // bytes that all of them may use
	watchPace  = 200 * time.Millisecond
	blameTime  = 5 * time.Second // an end so soon after a kill is the kill's
)

const overMemory = "the browser used more memory than it may, 1 GiB for a page and 3 GiB in all"

// watch ends processes of a browser that use too much memory; on Linux only. A page whose process is killed crashes;
// the browser goes on.
type watch struct{ killed atomic.Int64 } // when it last did so, in Unix nanoseconds

// run watches a browser until over closes.
func (w *watch) run(pid int, over <-chan struct{}) {
	pace := time.NewTicker(watchPace)
	defer pace.Stop()
	g := &gauge{pid: pid}
	for {
		select {
		case <-over:
			return
		case <-pace.C:
		}
		if hog := greediest(g.used()); hog != 0 {
			w.killed.Store(time.Now().UnixNano())
			kill(hog)
		}
	}
}

// justKilled reports, once for each kill, whether a process was killed a moment ago.
func (w *watch) justKilled() bool { return time.Since(time.Unix(0, w.killed.Swap(0))) < blameTime }

// greediest returns the process that has to end, given the bytes that each uses; 0 if none has to.
func greediest(bytes map[int]int) (pid int) {
	sum, most := 0, 0
	for id, n := range bytes {
		if sum += n; n > most {
			pid, most = id, n
		}
	}
	if most <= maxProcess && sum <= maxBrowser {
		return 0
	}
	return pid
}
