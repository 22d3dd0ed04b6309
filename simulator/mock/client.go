package mock

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"parley/internal/deadline"
	"parley/protocol/messages"
	"parley/simulator/replay"
	"parley/transport/driver"
	"parley/transport/recording"
	"parley/transport/transcript"
)

// ClientOptions configure the mock of a client.
type ClientOptions struct {
	To       replay.Dial     // the server; Within is 10 s at least by default
	Within   time.Duration   // how long to wait for what makes something due; default 10 s
	Messages *messages.Set   // the protocol's; nil: none is known
	Ignore   []replay.Ignore // members that need not be as recorded for a message to match
	Unknown  func(string)    // gets, on one line, what no recording shows
	Secrets  replay.Secrets  // the server's
}

// ClientResult says what the mock of a client did.
type ClientResult struct {
	Sent    int      // what was done of the recordings
	Again   int      // answers that were given once more
	Known   int      // messages that came and were recorded
	Unknown int      // messages that came and were not
	Behind  int      // messages that came behind the end of what was recorded, and were not known
	Undone  []string // what was not done, and why, for people
}

// Client acts as recorded clients did. It is for one goroutine.
type Client struct {
	o      ClientOptions
	all    []*played
	call   *replay.Caller
	inbox  chan transcript.Record
	over   chan struct{} // closed when nothing is read any more
	number atomic.Int64
	work   sync.WaitGroup

	ready  []*clientAct     // what is due
	todo   int              // what may still be done
	conns  map[string]*link // by party
	opens  map[string]int   // how often a connection was opened
	asked  map[int]*asking  // by the number now of a request or opening
	await  map[int]bool     // requests without an answer
	result ClientResult

	unrecorded []unrecorded    // what came and may stand for a recorded message
	accepted   map[string]bool // differences that were told, by difference
	excuses    bool            // such differences are none
}

// link is a connection to the server.
type link struct {
	of    *played
	conn  string // its name in the recording
	open  bool
	left  bool     // the server has ended it
	ended bool     // by the mock
	over  bool     // everything recorded has happened
	later []*table // of messages that came once more
}

// asking is a request or opening that was made.
type asking struct {
	act   *clientAct
	ids   *replay.IDs
	party string
}

// maxInbox bounds what has come and was not looked at.
const maxInbox = 1000

// Call plays the clients of recordings against a server, all at once. What they did by themselves is done at once;
// what they did upon a message is done when one comes that matches it, in any order. It returns when all has been
// done, or when nothing of it has become due for o.Within. Errors: replay.ErrUnreachable, replay.ErrNothing; those
// of a recording, with its name; the context's cause.
func Call(ctx context.Context, o ClientOptions, recordings ...Recording) (ClientResult, error) {
	if o.Unknown == nil {
		o.Unknown = func(string) {}
	}
	if o.Within <= 0 {
		o.Within = 10 * time.Second
	}
	if o.To.Within <= 0 {
		o.To.Within = max(o.Within, 10*time.Second)
	}
	c := &Client{o: o, inbox: make(chan transcript.Record, maxInbox), over: make(chan struct{}),
		conns: map[string]*link{}, opens: map[string]int{}, asked: map[int]*asking{}, await: map[int]bool{},
		accepted: map[string]bool{}}
	size := 0
	for i, one := range recordings {
		p := &played{name: one.Name, ids: replay.NewIDs(), byServer: map[string]bool{}}
		if len(recordings) > 1 {
			p.label = fmt.Sprintf(" of %d", i+1)
		}
		if err := c.readCourse(recording.NewClientView(one.In), p, &size); err != nil {
			return ClientResult{}, fmt.Errorf("%s: %w", one.Name, err)
		}
		if len(p.acts) == 0 {
			return ClientResult{}, fmt.Errorf("%s: %w", one.Name, replay.ErrNothing)
		}
		c.all, c.ready, c.todo = append(c.all, p), append(c.ready, p.linkWaits()...), c.todo+len(p.acts)
	}
	if len(c.all) == 0 {
		return ClientResult{}, errors.New("there is no recording")
	}
	c.call = replay.NewCaller(ctx, o.To, c.sinkRecord)
	defer func() {
		close(c.over)
		c.call.Close()
		c.work.Wait()
	}()
	err := c.runActs(ctx)
	if err == nil && c.call.Unreached() {
		err = replay.ErrUnreachable
	}
	return c.result, err
}

// sinkRecord takes what is sent and what comes.
func (c *Client) sinkRecord(r transcript.Record) int {
	r.N = int(c.number.Add(1))
	if !r.Late && replay.FromServer(r) {
		select {
		case c.inbox <- r:
		case <-c.over:
		}
	}
	return r.N
}

// runActs does what is due, and reads what comes, until all is done or nothing becomes due any more.
func (c *Client) runActs(ctx context.Context) error {
	limit, news := deadline.In(c.o.Within), deadline.In(c.unrecordedLimit())
	progress := func() { limit, news = deadline.In(c.o.Within), deadline.In(c.unrecordedLimit()) }
	for {
		did, err := c.doFirstDue(ctx)
		if err != nil {
			return err
		}
		if did {
			progress()
			continue
		}
		if c.todo == 0 && len(c.await) == 0 {
			c.noteLeftover()
			return nil
		}
		until, is := c.nextUnrecorded(news)
		if !is {
			until = limit
		}
		r, ok, err := c.awaitMessage(ctx, until)
		switch {
		case err != nil:
			return err
		case c.call.Unreached():
			c.noteLeftover()
			return nil
		case ok:
			if c.readReceived(ctx, r) {
				progress()
			}
		case is:
			if c.acceptUnrecorded() {
				progress()
			}
		default:
			c.noteLeftover()
			return nil
		}
	}
}

// awaitMessage waits for what comes; false if nothing does within the limit, or can.
func (c *Client) awaitMessage(ctx context.Context, limit deadline.Deadline) (transcript.Record, bool, error) {
	select {
	case r := <-c.inbox:
		return r, true, nil
	default:
	}
	if !c.canArrive() {
		return transcript.Record{}, false, nil
	}
	rung := make(chan struct{})
	defer limit.AfterFunc(func() { close(rung) })()
	select {
	case r := <-c.inbox:
		return r, true, nil
	case <-rung:
		return transcript.Record{}, false, nil
	case <-ctx.Done():
		return transcript.Record{}, false, context.Cause(ctx)
	}
}

// canArrive reports whether something can still come.
func (c *Client) canArrive() bool {
	for _, l := range c.conns {
		if l.open && !l.ended {
			return true
		}
	}
	return len(c.await) > 0
}

// meetCondition notes that one of the things for which an act waits has happened.
func (c *Client) meetCondition(all []*clientAct) {
	for _, d := range all {
		if d.left--; d.left == 0 {
			c.ready = append(c.ready, d)
		}
	}
}

// noteArrival notes that a recorded message has come. It reports whether it had not before.
func (c *Client) noteArrival(h *arrival) bool {
	if h.came {
		return false
	}
	h.came = true
	if !h.first.any {
		h.first.any = true
		c.meetCondition(h.first.then)
	}
	return true
}

// doFirstDue does the first act that is due; false if there is none.
func (c *Client) doFirstDue(ctx context.Context) (bool, error) {
	if len(c.ready) == 0 {
		return false, nil
	}
	first := 0
	for i, d := range c.ready {
		if d.at < c.ready[first].at {
			first = i
		}
	}
	d := c.ready[first]
	c.ready = slices.Delete(c.ready, first, first+1)
	c.todo--
	why, err := c.doAct(ctx, d, c.presentName(d), d.of.ids)
	if err != nil {
		return false, err
	}
	if d.why = why; why != "" {
		return true, nil
	}
	if d.done = true; !d.ends {
		c.result.Sent++
	}
	c.meetCondition(d.then)
	return true, nil
}

// presentName returns what the connection of an act is called now: one that is opened anew has a name of its own.
func (c *Client) presentName(d *clientAct) string {
	name := d.asked.Conn + d.of.label
	n := c.opens[name]
	if d.asked.Kind == transcript.Open {
		n++
		c.opens[name] = n
	}
	if d.asked.Kind == transcript.Open && n > 1 { // the one before has ended, or the recorded client left it
		c.endConnection(numberedName(name, n-1))
	}
	return numberedName(name, n)
}

func numberedName(name string, n int) string {
	if n > 1 {
		return fmt.Sprintf("%s (%d)", name, n)
	}
	return name
}

// doAct does an act as a party. why says why it cannot be done.
func (c *Client) doAct(ctx context.Context, d *clientAct, party string, ids *replay.IDs) (why string, err error) {
	r := d.asked
	r.Conn = party
	if d.ends {
		if l := c.conns[party]; l != nil {
			l.over = true
		}
		return "", nil
	}
	switch r.Kind {
	case transcript.Closed:
		c.endConnection(party)
	case transcript.Open:
		c.conns[party] = &link{of: d.of, conn: d.asked.Conn}
		n, err := c.call.Open(ctx, r, ids.RenewPath)
		if err != nil {
			return "", err
		}
		c.asked[n] = &asking{act: d, ids: ids, party: party}
		c.await[n] = true
	case transcript.Request:
		n, err := c.call.Ask(r, ids.RenewClient(c.o.Messages, d.asked), ids.RenewPath)
		if err != nil {
			return "", err
		}
		c.asked[n] = &asking{act: d, ids: ids, party: party}
		c.await[n] = true
	default:
		if l := c.conns[party]; l != nil && l.left {
			return "the target has closed the connection", nil
		}
		if err := c.call.Send(ctx, r, ids.RenewClient(c.o.Messages, d.asked)); err != nil {
			return err.Error(), nil
		}
	}
	return "", nil
}

// endConnection ends a connection. What it still says is not read.
func (c *Client) endConnection(party string) {
	conn, is := c.call.Hang(party)
	if !is {
		return
	}
	if l := c.conns[party]; l != nil {
		l.ended = true
	}
	c.work.Go(func() { _ = conn.Close(driver.Graceful) })
}

// noteLeftover notes what was not done.
func (c *Client) noteLeftover() {
	for _, p := range c.all {
		for _, d := range p.acts {
			if d.done {
				continue
			}
			what := d.titleFor()
			if d.why != "" {
				c.result.Undone = append(c.result.Undone, what+" cannot be sent: "+d.why)
				continue
			}
			c.result.Undone = append(c.result.Undone, what+" never became due: it waits for "+d.describeWait())
		}
	}
}

// titleFor names an act for people.
func (d *clientAct) titleFor() string {
	where := "record " + fmt.Sprint(d.asked.N) + " of " + d.of.name
	switch {
	case d.ends:
		return strings.TrimSpace("the end of "+d.asked.Conn) + " (the end of " + d.of.name + ")"
	case d.asked.Kind == transcript.Closed:
		return "closing " + d.asked.Conn + " (" + where + ")"
	}
	return d.m.Title() + " (" + where + ")"
}

// describeWait says what an act waits for: what did not come, or else what was not done before.
func (d *clientAct) describeWait() string {
	var all []string
	for _, h := range d.needs {
		if !h.hasCome() {
			all = append(all, fmt.Sprintf("%s (record %d)", h.m.Title(), h.r.N))
		}
	}
	for _, one := range d.behind {
		if !one.done && len(all) == 0 {
			all = append(all, one.titleFor())
		}
	}
	return strings.Join(all, " and ")
}
