package spread

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"os"
	"sync/atomic"
	"time"

	"github.com/nats-io/nats.go"

	"parley/runner"
	"parley/simulator/load"
	"parley/steps"
	"parley/target"
)

// WorkerOptions describe a worker.
type WorkerOptions struct {
	Access
	Name     string        // of the load; "": "load"
	Within   time.Duration // for the coordinator to be there; 0: 1 minute
	Workshop load.Workshop

	// Tell is called with lines for whoever runs the worker. nil: no calls.
	Tell func(line string)

	local int
}

// worker is a worker in its process.
type worker struct {
	o      WorkerOptions
	conn   *nats.Conn
	id     string
	orders chan *nats.Msg
	give   context.CancelCauseFunc // ends the part
}

// errStopped ends a part that the coordinator has stopped.
var errStopped = errors.New("stopped")

// Work joins a load, carries out one task, and returns. The error is a *runner.UsageError if the load does not take
// this worker, or its task cannot be carried out here.
func Work(ctx context.Context, o WorkerOptions) error {
	o.Name, o.Within = cmp.Or(o.Name, "load"), cmp.Or(o.Within, time.Minute)
	if o.Tell == nil {
		o.Tell = func(string) {}
	}
	if !nameOf.MatchString(o.Name) {
		return usagef("--name %q: letters, digits, _ and - make a name", o.Name)
	}
	if err := o.checkAccess(); err != nil {
		return err
	}
	ctx, give := context.WithCancelCause(ctx)
	defer give(nil)
	conn, err := o.connectServer(nats.ClosedHandler(func(*nats.Conn) { give(errors.New("the NATS server is gone")) }))
	if err != nil {
		return err
	}
	defer conn.Close()
	w := &worker{o: o, conn: conn, id: rand.Text(), orders: make(chan *nats.Msg, 16), give: give}
	sub, err := conn.ChanSubscribe(subjectOf(o.Name, ordering)+"."+w.id, w.orders)
	if err != nil {
		return fmt.Errorf("subscribe: %w", err)
	}
	defer func() { _ = sub.Unsubscribe() }()
	if err := w.joinLoad(ctx); err != nil {
		return err
	}
	o.Tell("joined")
	job, err := w.awaitTask(ctx)
	if err != nil {
		return err
	}
	return w.carryOut(ctx, job)
}

// joinLoad asks to take part until a coordinator answers.
func (w *worker) joinLoad(ctx context.Context) error {
	b, err := encodeMessage(hello{Version: version, Suite: w.o.Workshop.Protocols.Digest(), ID: w.id, Local: w.o.local,
		PID: os.Getpid(), Host: machineName()})
	if err != nil {
		return err
	}
	late := time.After(w.o.Within)
	again := time.NewTicker(250 * time.Millisecond)
	defer again.Stop()
	for {
		a, err := w.askCoordinator(ctx, joining, b)
		switch {
		case err == nil && a.Error != "":
			return usagef("--name %s: %s", w.o.Name, a.Error)
		case err == nil:
			return nil
		case !errors.Is(err, nats.ErrNoResponders) && !errors.Is(err, context.DeadlineExceeded):
			return fmt.Errorf("join the load: %w", err)
		}
		select {
		case <-again.C:
		case <-late:
			return usagef("--name %s: nobody began a load of this name within %v (begin it, or give more time with --within)",
				w.o.Name, w.o.Within)
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

// askCoordinator sends a request to the coordinator.
func (w *worker) askCoordinator(ctx context.Context, what string, b []byte) (a answer, err error) {
	ctx, cancel := context.WithTimeout(ctx, answering)
	defer cancel()
	m, err := w.conn.RequestWithContext(ctx, subjectOf(w.o.Name, what), b)
	if err != nil {
		return a, err
	}
	return a, decodeMessage(m.Data, &a)
}

// sendToCoordinator sends a message to the coordinator. An answer that is an error is one.
func (w *worker) sendToCoordinator(ctx context.Context, what string, m message) (answer, error) {
	m.ID = w.id
	b, err := encodeMessage(m)
	if err != nil {
		return answer{}, err
	}
	a, err := w.askCoordinator(ctx, what, b)
	if err == nil && a.Error != "" {
		err = errors.New(a.Error)
	}
	return a, err
}

// nextOrder returns the next order.
func (w *worker) nextOrder(ctx context.Context) (o order, m *nats.Msg, err error) {
	select {
	case m = <-w.orders:
		return o, m, decodeMessage(m.Data, &o)
	case <-ctx.Done():
		return o, nil, context.Cause(ctx)
	}
}

// awaitTask awaits the task, and answers whether it can be carried out.
func (w *worker) awaitTask(ctx context.Context) (*load.Worker, error) {
	o, m, err := w.nextOrder(ctx)
	if err != nil {
		return nil, err
	}
	if o.Do != doTask || o.Task == nil {
		return nil, fmt.Errorf("the coordinator orders %q before it gives a task", o.Do)
	}
	job, err := load.NewWorker(ctx, *o.Task, w.o.Workshop)
	var a answer
	if err != nil {
		var usage *runner.UsageError
		var profile *target.ProfileError
		a = answer{Error: err.Error(), Usage: errors.As(err, &usage) || errors.As(err, &profile)}
	}
	replyTo(m, a)
	return job, err
}

// carryOut carries out the task.
func (w *worker) carryOut(ctx context.Context, job *load.Worker) error {
	o, _, err := w.nextOrder(ctx)
	if err != nil || o.Do != doOpen {
		job.Close()
		if err == nil {
			err = fmt.Errorf("the coordinator orders %q before the sessions are open", o.Do)
		}
		return err
	}
	act := make(chan bool, 1)
	listening, deaf := context.WithCancel(ctx)
	defer deaf()
	go w.obeyOrders(listening, act)
	var unknown atomic.Int64
	last, err := job.Run(ctx, w.linkPart(act, &unknown))
	m := message{Report: &last}
	cause := context.Cause(ctx)
	switch {
	case err != nil:
		m.Why = err.Error()
	case unknown.Load() > 0:
		m.Why = fmt.Sprintf("the coordinator did not say of %d ids whether another session has them", unknown.Load())
	case cause != nil && !errors.Is(cause, errStopped):
		m.Why = "it has ended early: " + cause.Error()
	}
	if _, told := w.sendToCoordinator(context.Background(), ended, m); told != nil {
		return fmt.Errorf("the last report was not taken: %w", told)
	}
	if m.Why != "" {
		return errors.New(m.Why)
	}
	return nil
}

// linkPart connects a part with the coordinator. act gives the answer about acts; unknown counts claims without an
// answer.
func (w *worker) linkPart(act <-chan bool, unknown *atomic.Int64) load.Link {
	heard := &patience{time.Now()}
	deaf := func(err error) { w.give(fmt.Errorf("the coordinator does not answer: %w", err)) }
	return load.Link{
		Opened: func(ctx context.Context, r load.Report) bool {
			if _, err := w.sendToCoordinator(ctx, opened, message{Report: &r}); err != nil {
				deaf(err)
				return false
			}
			select {
			case yes := <-act:
				return yes
			case <-ctx.Done():
				return false
			}
		},
		Report: func(r load.Report) {
			if _, err := w.sendToCoordinator(context.Background(), report, message{Report: &r}); heard.isOver(err) {
				deaf(err)
			}
		},
		Show: func(s load.Shown) error {
			_, err := w.sendToCoordinator(context.Background(), show, message{Shown: &s})
			return err
		},
		Claim: func(c steps.Claim) bool {
			a, err := w.sendToCoordinator(context.Background(), claim, message{Claim: &c})
			if err != nil { // nothing is known, which the result has to say
				unknown.Add(1)
			}
			return !a.No
		},
	}
}

// obeyOrders carries out orders that come while the sessions act.
func (w *worker) obeyOrders(ctx context.Context, act chan<- bool) {
	for {
		o, _, err := w.nextOrder(ctx)
		switch {
		case err != nil:
			return
		case o.Do == doAct:
			select {
			case act <- o.Acts:
			default:
			}
		case o.Do == doStop:
			w.give(errStopped)
			return
		}
	}
}

// patience is how long requests may fail.
type patience struct{ last time.Time }

// isOver reports whether requests have failed for Silence.
func (p *patience) isOver(err error) bool {
	if err == nil {
		p.last = time.Now()
	}
	return time.Since(p.last) > Silence
}
