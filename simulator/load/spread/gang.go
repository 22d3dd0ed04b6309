package spread

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/nats-io/nats.go"

	"parley/simulator/load"
)

// ending is how long workers may take to end early, with what they have to judge.
const ending = time.Minute

// workerGroup are the workers of one load, as the coordinator sees them. It is safe for concurrent use.
type workerGroup struct {
	c        *Crew
	tasks    []load.Task
	d        *load.Collector
	children []*child
	subs     []*nats.Subscription
	work     sync.WaitGroup // goroutines that wait for children

	changed chan struct{} // has an element if something has changed

	handling sync.Mutex // one message at a time
	closed   bool       // no more of them

	mu     sync.Mutex
	all    []*member
	failed string // a worker that was started here has ended; "" if none has
}

// member is a worker that has joined. Its number, from 0, is that of its task.
type member struct {
	n     int
	id    string
	pid   int
	host  string // "": this machine
	local int    // as in hello

	heard  time.Time
	opened bool
	over   bool
}

func (m *member) workerName() string {
	if m.host != "" {
		return fmt.Sprintf("worker %d (process %d on %s)", m.n+1, m.pid, m.host)
	}
	return fmt.Sprintf("worker %d (process %d)", m.n+1, m.pid)
}

func newGang(c *Crew, tasks []load.Task, d *load.Collector) *workerGroup {
	return &workerGroup{c: c, tasks: tasks, d: d, changed: make(chan struct{}, 1)}
}

// signalChange says that something has changed.
func (g *workerGroup) signalChange() {
	select {
	case g.changed <- struct{}{}:
	default:
	}
}

// subscribeWorkers subscribes to what workers say.
func (g *workerGroup) subscribeWorkers() error {
	for what, handle := range map[string]func(m *nats.Msg){
		joining: g.joinWorker, report: g.handleMessage(g.handleReport),
		show: g.handleMessage(g.handleShown), claim: g.handleMessage(g.handleClaim),
		opened: g.handleMessage(g.hasOpened), ended: g.handleMessage(g.hasEnded),
	} {
		sub, err := g.c.conn.Subscribe(subjectOf(g.c.o.Name, what), handle)
		if err != nil {
			return fmt.Errorf("subscribe: %w", err)
		}
		if err := sub.SetPendingLimits(100_000, 256<<20); err != nil {
			return err
		}
		g.subs = append(g.subs, sub)
	}
	return g.c.conn.Flush()
}

// leaveLoad ends what the load has begun here.
func (g *workerGroup) leaveLoad() {
	g.handling.Lock()
	g.closed = true
	g.handling.Unlock()
	for _, c := range g.children {
		c.awaitLeaving()
	}
	g.work.Wait()
	for _, sub := range g.subs {
		_ = sub.Unsubscribe()
	}
}

// joinWorker takes a worker.
func (g *workerGroup) joinWorker(m *nats.Msg) {
	var h hello
	if err := decodeMessage(m.Data, &h); err != nil {
		replyTo(m, answer{Error: err.Error()})
		return
	}
	replyTo(m, g.addWorker(h))
}

func (g *workerGroup) addWorker(h hello) answer {
	o := g.c.o
	g.mu.Lock()
	defer g.mu.Unlock()
	defer g.signalChange()
	if h.Version != version || h.Suite != o.Suite {
		return answer{Error: "the coordinator is of another version (use the same parley-load)", Usage: true}
	}
	remote := 0
	for _, m := range g.all {
		if m.id == h.ID {
			return answer{} // its request was repeated
		}
		if m.local == 0 {
			remote++
		}
		if h.Local > 0 && m.local == h.Local {
			return answer{Error: fmt.Sprintf("worker %d is there already", h.Local), Usage: true}
		}
	}
	switch {
	case !nameOf.MatchString(h.ID) || h.Local > o.Workers-o.Remote || h.Local < 0:
		return answer{Error: "this is no worker of the load", Usage: true}
	case h.Local == 0 && remote == o.Remote:
		return answer{Error: "the load has all its workers", Usage: true}
	}
	host := h.Host
	if host == machineName() {
		host = ""
	}
	m := &member{n: len(g.all), id: h.ID, pid: h.PID, host: host, local: h.Local}
	g.all = append(g.all, m)
	o.Tell(m.workerName() + " has joined")
	return answer{}
}

// countJoined returns how many workers have joined, and why the load cannot begin.
func (g *workerGroup) countJoined() (n int, failed string) {
	g.mu.Lock()
	defer g.mu.Unlock()
	return len(g.all), g.failed
}

// joinedWorkers returns the workers that have joined.
func (g *workerGroup) joinedWorkers() []*member {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.all
}

// handleMessage handles a message of a worker by f, and answers it.
func (g *workerGroup) handleMessage(f func(m *member, what message) answer) func(*nats.Msg) {
	return func(raw *nats.Msg) {
		var what message
		if err := decodeMessage(raw.Data, &what); err != nil {
			replyTo(raw, answer{Error: err.Error()})
			return
		}
		g.mu.Lock()
		var from *member
		for _, m := range g.all {
			if m.id == what.ID && !m.over {
				from, m.heard = m, time.Now()
			}
		}
		g.mu.Unlock()
		g.handling.Lock()
		defer g.handling.Unlock()
		if from == nil || g.closed {
			replyTo(raw, answer{Error: "this is no worker of the load, or no longer"})
			return
		}
		replyTo(raw, f(from, what))
	}
}

func (g *workerGroup) handleReport(m *member, what message) answer {
	if what.Report == nil {
		return answer{Error: "no report"}
	}
	return answerWith(g.d.Report(m.n, *what.Report))
}

func (g *workerGroup) handleShown(_ *member, what message) answer {
	if what.Shown == nil {
		return answer{Error: "nothing shown"}
	}
	return answerWith(g.d.Show(*what.Shown))
}

func (g *workerGroup) handleClaim(_ *member, what message) answer {
	if what.Claim == nil {
		return answer{Error: "no claim"}
	}
	return answer{No: !g.d.Claim(*what.Claim)}
}

func (g *workerGroup) hasOpened(m *member, what message) answer {
	a := g.handleReport(m, what)
	g.mu.Lock()
	defer g.mu.Unlock()
	m.opened = true
	g.signalChange()
	return a
}

// hasEnded takes the last report of a worker, which is lost nevertheless if it says that its part is not complete.
func (g *workerGroup) hasEnded(m *member, what message) answer {
	var a answer
	switch {
	case what.Report == nil:
		g.loseWorker(m, what.Why)
	case what.Why != "":
		a = g.handleReport(m, what)
		g.loseWorker(m, what.Why)
	default:
		a = answerWith(g.d.Ended(m.n, *what.Report))
		if a.Error != "" {
			g.loseWorker(m, a.Error)
		}
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	m.over = true
	g.signalChange()
	return a
}

func answerWith(err error) answer {
	if err != nil {
		return answer{Error: err.Error()}
	}
	return answer{}
}

// loseWorker says that a worker is lost.
func (g *workerGroup) loseWorker(m *member, why string) {
	g.mu.Lock()
	over := m.over
	m.over = true
	g.mu.Unlock()
	if !over {
		g.d.Lost(m.n, why)
	}
	g.signalChange()
}

// watchWorker waits for the end of a worker that was started here.
func (g *workerGroup) watchWorker(c *child) {
	how := c.awaitEnd()
	g.mu.Lock()
	var of *member
	for _, m := range g.all {
		if m.local == c.n {
			of = m
		}
	}
	g.failed = fmt.Sprintf("worker %d %s", c.n, how)
	g.mu.Unlock()
	g.signalChange()
	if of != nil {
		g.loseWorker(of, "its process "+how)
	}
}

// orderAll says something to all workers.
func (g *workerGroup) orderAll(o order) {
	b, err := encodeMessage(o)
	if err != nil {
		return
	}
	for _, m := range g.joinedWorkers() {
		_ = g.c.conn.Publish(subjectOf(g.c.o.Name, ordering)+"."+m.id, b) // who does not hear it is lost
	}
}

// followLoad follows the load until all workers have ended or are lost. Once ctx ends, they are told to end early.
func (g *workerGroup) followLoad(ctx context.Context) {
	g.mu.Lock()
	for _, m := range g.all {
		m.heard = time.Now()
	}
	g.mu.Unlock()
	tick := time.NewTicker(time.Second)
	defer tick.Stop()
	acting, stop, late := false, ctx.Done(), (<-chan time.Time)(nil)
	for {
		open, left := g.countOpened()
		if left == 0 {
			return
		}
		if open && !acting {
			acting = true
			g.orderAll(order{Do: doAct, Acts: g.d.Opened()})
		}
		select {
		case <-g.changed:
		case <-tick.C:
			g.dropSilent()
		case <-stop:
			stop, late = nil, time.After(ending)
			g.orderAll(order{Do: doStop})
		case <-late:
			for _, m := range g.joinedWorkers() {
				g.loseWorker(m, fmt.Sprintf("it did not end within %v", ending))
			}
		}
	}
}

// countOpened returns whether all workers that are left have opened their sessions, and how many are left.
func (g *workerGroup) countOpened() (open bool, left int) {
	g.mu.Lock()
	defer g.mu.Unlock()
	open = true
	for _, m := range g.all {
		if !m.over {
			left++
			open = open && m.opened
		}
	}
	return open, left
}

// dropSilent gives up workers that were not heard for too long.
func (g *workerGroup) dropSilent() {
	for _, m := range g.joinedWorkers() {
		g.mu.Lock()
		since := time.Since(m.heard)
		g.mu.Unlock()
		if since > g.c.o.Silence {
			g.loseWorker(m, fmt.Sprintf("it was not heard for %v", since.Round(time.Second)))
			g.killWorker(m)
		}
	}
}

// killWorker ends the process of a worker that was started here.
func (g *workerGroup) killWorker(m *member) {
	for _, c := range g.children {
		if c.n == m.local {
			c.killProcess()
		}
	}
}
