package load

import (
	"context"
	"crypto/rand"
	"fmt"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"parley/internal/deadline"
	"parley/internal/httpclient"
	"parley/internal/llm"
	"parley/internal/llm/stub"
	"parley/reports"
	"parley/simulator/proxy"
	"parley/steps"
	"parley/target"
	"parley/transport/driver"
	"parley/transport/driver/sse"
	"parley/transport/driver/ws"
	"parley/transport/transcript"
)

// Paces of a load.
const (
	watch    = 250 * time.Millisecond // between two looks for acts that are overdue
	progress = time.Second
	opening  = 256 // connections that open at once: more than a system queues would be dropped, and tried again late
	closing  = 64  // connections that end at once
)

// run is a load in progress.
type run struct {
	o        Options
	protocol steps.Protocol
	role     proxy.Role
	plan     steps.Load
	driver   driver.Driver
	target   target.Running
	brain    *llm.Brain
	salt     string
	schedule schedule
	part     Part
	sessions []*session
	meter    *meter
	judge    *judge
	memory   *memory

	began          time.Time // of the first connection
	acting         time.Time // of the schedule
	over           atomic.Bool
	ctx            context.Context // of everything that connects and sends
	work           sync.WaitGroup  // goroutines of sessions
	phase          atomic.Value    // string
	sent, received atomic.Int64
	ready          atomic.Int64 // sessions that were open before the first act
	rested         atomic.Int64 // bytes of this process for the sessions at rest
	unfinished     atomic.Int64
	lag            atomic.Int64 // nanoseconds
	out            reports.Load
	state          func() Progress
	also           func(stop <-chan struct{}) // beside the sessions; nil: nothing
}

// Run carries out a load. Errors are *runner.UsageError, those of target.Launcher, and *steps.UnreachableError if no
// session could be opened. If ctx ends, the load ends early, and the results say so.
func Run(ctx context.Context, o Options) (*reports.Results, error) {
	o = o.withDefaults()
	if err := o.checkOptions(); err != nil {
		return nil, err
	}
	r, err := newRun(o, Part{Of: 1})
	if err != nil {
		return nil, err
	}
	if url := o.Profile.URL; url != "" {
		if err := rejectRemote(ctx, target.SampleURL(url), o.Hosts); err != nil {
			return nil, err
		}
	}
	stop, err := r.launchTarget(ctx)
	if err != nil {
		return nil, err
	}
	defer stop()
	if err := r.prepareSessions(ctx); err != nil {
		return nil, err
	}
	defer r.judge.judgeRest(1)
	if o.Crew != nil {
		return r.spreadLoad(ctx)
	}
	if r.driveSessions(ctx, func(opened int) bool { return opened > 0 }); r.ready.Load() == 0 && ctx.Err() == nil {
		return nil, r.whyUnreachable()
	}
	return r.makeResults(ctx)
}

// newRun makes a run of the sessions of a part.
func newRun(o Options, part Part) (*run, error) {
	r := &run{o: o, part: part, salt: o.Salt, schedule: schedule{o.Rate, o.Duration, o.Shape}}
	if r.salt == "" {
		r.salt = strings.ToLower(rand.Text()[:5])
	}
	r.state, r.also = r.progressState, func(<-chan struct{}) {}
	var err error
	r.protocol, err = o.Protocols.Find(o.Profile.Protocol)
	return r, err
}

func (r *run) whyUnreachable() error {
	return &steps.UnreachableError{Err: fmt.Errorf("no session of %s got ready: %s (if the target speaks another "+
		"protocol, name it with --protocol)", r.o.Profile.Protocol, r.meter.mostFrequentError())}
}

// launchTarget starts the target, and the model if it needs one.
func (r *run) launchTarget(ctx context.Context) (stop func(), err error) {
	stopModel, url := func() {}, ""
	if r.brain = r.o.Brain; r.brain == nil && r.o.Profile.UsesModel() {
		r.brain = llm.NewUnrecorded()
		srv, err := stub.Start(r.brain)
		if err != nil {
			return nil, fmt.Errorf("start the model stub: %w", err)
		}
		url, stopModel = srv.URL(), func() { stopWithin(5*time.Second, srv.Close) }
	}
	if err := r.checkOpenFiles(false); err != nil { // before the target starts, which inherits the limit
		stopModel()
		return nil, err
	}
	r.target, err = r.o.Launcher.Launch(ctx, target.LaunchOptions{ModelURL: url})
	if err != nil {
		stopModel()
		return nil, err
	}
	return func() {
		stopWithin(15*time.Second, r.target.Stop)
		stopModel()
	}, nil
}

func stopWithin(d time.Duration, stop func(context.Context) error) {
	ctx, cancel := deadline.WithLimit(context.Background(), d)
	defer cancel()
	_ = stop(ctx)
}

// prepareSessions makes what the sessions share.
func (r *run) prepareSessions(ctx context.Context) error {
	base := r.target.BaseURL()
	name := steps.Name(r.protocol)
	loadable, ok := r.protocol.(steps.Loadable)
	if !ok || base == "" {
		return usagef("--protocol %s: its targets cannot be put under load", name)
	}
	if err := rejectRemote(ctx, base, r.o.Hosts); err != nil {
		return err
	}
	r.memory = newMemory(r.target)
	switch r.o.Driver {
	case target.SSE:
		r.driver = sse.NewTLS(r.o.Profile.TLSConfig())
	case target.WS:
		over := ws.New(r.protocol.Subprotocols(r.o.Profile)...)
		over.TLS = r.o.Profile.TLSConfig()
		r.driver = over
	default:
		return usagef("--driver %s: a load goes over sse or ws", r.o.Driver)
	}
	codec, err := proxy.CodecOf(r.protocol, r.o.Profile, r.o.Strict, base)
	if err != nil {
		return err
	}
	r.plan = loadable.Load(&steps.Env{Profile: r.o.Profile, Role: codec.Env.Role, Driver: r.driver, Brain: r.brain,
		Ledger: codec.Env.Ledger, Strict: r.o.Strict}, base)
	switch {
	case r.plan.Unfit != "":
		return usagef("--protocol %s: this target cannot be put under load: %s", name, r.plan.Unfit)
	case r.plan.New == nil:
		return usagef("--driver %s: no load of %s goes over it", r.o.Driver, name)
	}
	_, away := r.target.(elsewhere)
	if err := r.checkOpenFiles(r.memory.pid == 0 && r.o.Profile.Bundled && !away); err != nil {
		return err
	}
	roles, err := proxy.RolesOf(r.protocol, r.targetRoles())
	if err != nil {
		return err
	}
	r.role = roles[0]
	stages := 0
	if r.o.Shape == Step {
		stages = steppings
	}
	r.meter, r.judge = newMeter(stages), newJudge(codec, r.role.Monitors, r.plan.Judges, r.o.Found)
	r.judge.judged, r.judge.began = r.o.Judged, func() time.Time { return r.began }
	return nil
}

// targetRoles names the role of the target; nil if the protocol has only one.
func (r *run) targetRoles() []string {
	if r.o.Profile.Role == "" {
		return nil
	}
	return []string{r.o.Profile.Role}
}

// driveSessions opens the sessions of the part, lets them act unless ready says no, and ends them.
func (r *run) driveSessions(ctx context.Context, ready func(opened int) bool) {
	rest, targetRest := ownMemory(), r.memory.ofTarget()
	claims := &steps.Claims{Elsewhere: r.o.claim}
	for n := r.part.N; n < r.o.Sessions; n += r.part.Of {
		s := &session{l: r, n: n, jar: httpclient.NewJar(), by: r.plan.New(steps.Mark{Salt: r.salt, Session: n}, claims)}
		s.pairPeer()
		r.sessions = append(r.sessions, s)
	}
	var drop context.CancelFunc
	r.ctx, drop = context.WithCancel(context.WithoutCancel(ctx))
	defer drop()
	r.began = time.Now()
	r.phase.Store("opening")
	end := r.sampleBeside(r.failOverdue, r.also)

	r.openSessions(ctx)
	opened := r.countConnected()
	r.ready.Store(int64(opened))
	if opened > 0 && ctx.Err() == nil {
		r.rested.Store(max(ownMemory()-rest, 0))
		if targetRest > 0 {
			r.out.Memory.TargetSession = max(r.memory.ofTarget()-targetRest, 0) / int64(opened)
		}
	}
	if ready(opened) && ctx.Err() == nil {
		r.phase.Store("acting")
		r.scheduleActs(ctx)
	}
	r.phase.Store("ending")
	r.endSessions(ctx)
	r.phase.Store("judging")
	r.judge.judgeRest(runtime.GOMAXPROCS(0))
	end()
	if c, ok := r.driver.(interface{ Close() error }); ok {
		_ = c.Close()
	}
}

// sampleBeside samples the memory and reports the progress, and does more, until end is called.
func (r *run) sampleBeside(more ...func(stop <-chan struct{})) (end func()) {
	stop := make(chan struct{})
	var all sync.WaitGroup
	for _, f := range append(more, func(stop <-chan struct{}) { r.memory.sampleUntil(progress, stop) },
		r.reportProgress) {
		all.Go(func() { f(stop) })
	}
	return func() {
		close(stop)
		all.Wait()
	}
}

func (r *run) elapsed() time.Duration { return time.Since(r.began) }

// sleepUntil sleeps until a time of the load; false if ctx has ended. It returns how late it is.
func sleepUntil(ctx context.Context, due time.Time) (late time.Duration, ok bool) {
	if wait := time.Until(due); wait > 0 {
		timer := time.NewTimer(wait)
		defer timer.Stop()
		select {
		case <-timer.C:
		case <-ctx.Done():
		}
	}
	return time.Since(due), ctx.Err() == nil
}

// openSessions opens the sessions on a schedule, and waits until each is ready or has failed.
func (r *run) openSessions(ctx context.Context) {
	slots := make(chan struct{}, opening)
	for _, s := range r.sessions {
		due := time.Duration(float64(s.n) / r.o.Opening * float64(time.Second))
		if _, ok := sleepUntil(ctx, r.began.Add(due)); !ok {
			return
		}
		select {
		case slots <- struct{}{}:
			s.connectFirst(due, func() { <-slots })
		case <-ctx.Done():
			return
		}
	}
	r.awaitIdle(ctx, 2*r.o.Timeout)
}

// scheduleActs lets acts arrive by the schedule, at the sessions of the whole load in turn, of which the part takes its
// own. It waits for their answers.
func (r *run) scheduleActs(ctx context.Context) {
	r.acting = time.Now()
	from, all := r.elapsed(), r.schedule.countActs()
	for round := 0; round < all; round += r.o.Sessions {
		for _, s := range r.sessions {
			if round+s.n >= all {
				break
			}
			due := r.schedule.actTime(round + s.n)
			late, ok := sleepUntil(ctx, r.acting.Add(due))
			if !ok {
				return
			}
			r.lag.Store(max(r.lag.Load(), int64(late)))
			s.arriveAct(from + due)
		}
	}
	if _, ok := sleepUntil(ctx, r.acting.Add(r.o.Duration)); ok {
		r.awaitIdle(ctx, r.o.Timeout)
	}
}

// awaitIdle waits until all sessions are idle, for a time at most.
func (r *run) awaitIdle(ctx context.Context, most time.Duration) {
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	late := time.After(most)
	for i := 0; i < len(r.sessions); {
		if r.sessions[i].isIdle() {
			i++
			continue
		}
		select {
		case <-tick.C:
		case <-late:
			return
		case <-ctx.Done():
			return
		}
	}
}

// endSessions ends all sessions.
func (r *run) endSessions(ctx context.Context) {
	r.over.Store(true)
	r.out.Interrupted = ctx.Err() != nil
	for _, s := range r.sessions {
		if n := s.forgetUnanswered(); n > 0 && !r.out.Interrupted {
			r.unfinished.Add(int64(n))
		}
		if s.peer != nil {
			s.peer.forgetUnanswered()
		}
	}
	slots := make(chan struct{}, closing)
	var all sync.WaitGroup
	for _, s := range r.sessions {
		slots <- struct{}{}
		all.Go(func() {
			for _, p := range s.sessionAndPeer() {
				p.endConnection()
			}
			<-slots
		})
	}
	all.Wait()
	r.work.Wait()
	for _, s := range r.sessions { // those that were connecting
		for _, p := range s.sessionAndPeer() {
			p.endConnection()
		}
	}
}

// failOverdue fails acts that are overdue.
func (r *run) failOverdue(stop <-chan struct{}) {
	tick := time.NewTicker(watch)
	defer tick.Stop()
	for {
		select {
		case <-stop:
			return
		case <-tick.C:
		}
		now := r.elapsed()
		for _, s := range r.sessions {
			s.failOverdue(now)
		}
	}
}

// reportProgress tells the progress.
func (r *run) reportProgress(stop <-chan struct{}) {
	if r.o.Progress == nil {
		return
	}
	tick := time.NewTicker(progress)
	defer tick.Stop()
	for before := int64(0); ; {
		select {
		case <-stop:
			return
		case <-tick.C:
		}
		p := r.state()
		p.Rate, before = float64(p.Acts-before)/progress.Seconds(), p.Acts
		r.o.Progress(p)
	}
}

// progressState returns the state of the load.
func (r *run) progressState() Progress {
	p := Progress{Phase: r.phase.Load().(string), Elapsed: r.elapsed(), Open: r.countConnected(),
		Violations: r.judge.violationsSoFar()}
	p.Acts, p.Errors, p.P50, p.P99 = r.meter.recentFigures()
	return p
}

// countConnected returns how many sessions have a connection.
func (r *run) countConnected() (n int) {
	for _, s := range r.sessions {
		if s.isConnected() {
			n++
		}
	}
	return n
}

// measureAct measures an act that was due at a time of the load.
func (r *run) measureAct(name string, due time.Duration, kind, example string) {
	stage := 0
	if name != steps.LoadConnect {
		stage = r.schedule.stepAt(due - r.acting.Sub(r.began))
	}
	r.meter.measureAct(name, stage, r.elapsed()-due, kind, example)
}

// countMessages counts messages.
func (r *run) countMessages(rec transcript.Record) {
	switch rec.Kind {
	case transcript.Request, transcript.Response, transcript.Stream, transcript.Frame:
		if rec.Dir == transcript.Sent {
			r.sent.Add(1)
		} else {
			r.received.Add(1)
		}
	}
}
