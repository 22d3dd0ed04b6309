package proxy

import (
	"cmp"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"parley/features/verdict"
	"parley/internal/rawhttp"
	"parley/simulator/gate"
	"parley/steps"
	"parley/target"
	"parley/transport/driver"
	"parley/transport/transcript"
)

// Options configure a Proxy.
type Options struct {
	Protocol steps.Protocol
	Profile  *target.Profile // of the target: wire names, limits, secrets. It is not changed
	Roles    []Role          // see RolesOf; none: traffic is passed on and recorded, but not judged
	Strict   bool            // a broken SHOULD is a failure

	Listen string      // host:port; default 127.0.0.1:0, a free port of loopback
	TLS    *tls.Config // nil: without TLS
	To     string      // base URL of the server: http, https, ws or wss
	ToTLS  *tls.Config // nil: Go's defaults
	Header http.Header // set on requests to the server; Profile.Secrets has what is secret of it
	Token  string      // required of every request, as `Authorization: Bearer TOKEN` or ?token=TOKEN; "": none

	// Handle decides on each message before it passes. nil: all pass as they come. With a Handle, roles whose targets are
	// clients are not judged, since they may not have received what the server sent. Pipe does not call it.
	Handle gate.Handler

	// Hold is called before each message passes, and may block: the message then passes as it came. It is called as
	// Handle is, and before that. nil: nothing waits.
	Hold func(ctx context.Context, m gate.Message)

	// Record is called with each record as seen at the client's end, in order, from one goroutine. N counts from 1, At
	// from the beginning of the proxy; Event is nil. The caller must not keep what redact removes. nil: no calls.
	Record func(r transcript.Record, redact *transcript.Redactor)

	// Keep bounds the records in memory of a role whose targets listen; each connection of other roles has a tenth of
	// that.
	Keep transcript.Keep

	// Ended is called with the judgements on each role and, for roles whose targets connect, on each of their
	// connections. It may read Ended.T until it returns. It is called from one goroutine at a time.
	Ended func(Ended)

	// Found is called with findings while traffic passes, once for each role, monitor and clause, from one goroutine. The
	// findings of Ended are final. nil: no calls.
	Found func(Found)

	// Judged is called when an outcome of Outcomes has changed while traffic passes. It must not block, nor call the
	// proxy. nil: no calls.
	Judged func()

	// Checked is called after each round of judging, from one goroutine at a time. nil: no calls.
	Checked func(Checked)

	// Event is called when a connection opens or ends, from one goroutine, soon after that. It must not block. nil:
	// no calls.
	Event func(Event)
}

// Ended is the ended traffic of a role, or of one of its connections.
type Ended struct {
	Role     Role
	Conn     string // of a role whose targets connect; "" for all connections
	T        *transcript.Transcript
	Judged   []verdict.Judgement
	Failures []steps.Failure
	Whole    bool   // every monitor saw all records
	Partly   string // why only monitors of single records judged; "" if all did
	Duration time.Duration
	Redact   *transcript.Redactor
}

// Found is a finding. Its At has no meaning outside the proxy: see Record.
type Found struct {
	Role string
	steps.Failure
	Record transcript.Record // the record that At refers to; the zero Record for none
}

// Event is a connection that opens or ends.
type Event struct {
	Conn string
	Open bool
	Text string // what is requested, or how it ended
}

// Stats count the traffic.
type Stats struct {
	Open     int   // open connections
	Conns    int64 // connections so far
	Messages int64 // requests, answers, events and frames so far
	Broken   int   // findings so far
	Unjudged int64 // connections that were passed on but not judged, because too many came at once
}

// maxLinks is how many connections of clients may be open at once; further ones are answered with 503.
const maxLinks = 1024

// maxTapes is the number of connections that are kept for roles whose connections are judged separately; soon after it
// is exceeded, the oldest is judged and released. If connections come faster than that, at most moreTapes are kept, and
// further ones are not judged.
const (
	maxTapes  = 300
	moreTapes = 500
)

// Proxy stands between clients and a server. It is safe for concurrent use.
type Proxy struct {
	o     Options
	gate  *gate.Gate // nil: see Pipe
	began time.Time
	base  string

	conns, messages  atomic.Int64
	broken, unjudged atomic.Int64
	secrets          secrets
	recorded         bool // the records are those of a recording, and the times of all count from began
	correlate        func(*transcript.Record, http.Header) string

	mu      sync.Mutex
	open    map[string]bool
	passing map[string]bool  // open connections that are not judged
	all     []*tape          // of roles that listen
	single  []*judgedRole    // roles that connect
	tapes   []*tape          // of their connections, oldest first
	asked   map[string]asked // requests of unknown parties, by the name that Party returned
	asks    int
	through int   // number of the latest record that is on the tapes, and was passed to Options.Record
	err     error // why records were lost

	judging sync.Mutex
	told    map[[3]string]bool
	worst   worstOutcomes
	stop    chan struct{}
	many    chan struct{} // signals that there are more than maxTapes tapes
	work    sync.WaitGroup
	queue   *queue
	writing sync.WaitGroup
	once    sync.Once
}

// asked is a request whose party is not known from its connection.
type asked struct {
	header http.Header
	party  string
}

// maxAsked bounds the unanswered requests whose parties are not known yet.
const maxAsked = 4096

// Open starts a proxy: it listens, passes on traffic and judges it. The error is that of an option or of the address.
func Open(o Options) (*Proxy, error) {
	p, err := newProxy(o, time.Time{})
	if err != nil {
		return nil, err
	}
	g := gate.Options{Addr: o.Listen, TLS: o.TLS, Upstream: func() string { return o.To }, UpstreamTLS: o.ToTLS,
		Header: o.Header, Program: Server, Sink: p.queueRecord, Party: p.partyOfRequest, Handle: o.handler(),
		MaxLinks: maxLinks}
	if by, ok := o.Protocol.(steps.Poster); ok {
		g.Posts, g.Reads = by.Posts(o.Profile)
	}
	if o.Token != "" {
		g.Admit = p.admitRequest
	}
	if p.gate, err = gate.New(g); err != nil {
		p.Close()
		return nil, err
	}
	return p, nil
}

// handler returns what decides on messages: Handle, behind Hold.
func (o Options) handler() gate.Handler {
	if o.Hold == nil {
		return o.Handle
	}
	return func(ctx context.Context, m gate.Message) gate.Decision {
		o.Hold(ctx, m)
		if o.Handle == nil {
			return gate.Decision{}
		}
		return o.Handle(ctx, m)
	}
}

// newProxy makes a proxy without a gate. recorded is when the times of its records begin to count, if they are those of
// a recording.
func newProxy(o Options, recorded time.Time) (*Proxy, error) {
	ledger, err := steps.LedgerOf(o.Protocol)
	if err != nil {
		return nil, err
	}
	p := &Proxy{o: o, began: time.Now(), base: o.To, open: map[string]bool{}, passing: map[string]bool{},
		asked: map[string]asked{},
		told:  map[[3]string]bool{}, worst: worstOutcomes{of: map[string]verdict.Outcome{}}, stop: make(chan struct{}),
		many: make(chan struct{}, 1), queue: newQueue()}
	if !recorded.IsZero() {
		p.began, p.recorded = recorded, true
	}
	if c, ok := o.Protocol.(steps.Correlator); ok {
		p.correlate = c.Correlate(o.Profile)
	}
	p.secrets.addValues(o.Profile.Secrets...)
	p.secrets.addValues(o.Token)
	p.secrets.addValues(transcript.URLSecrets(o.To)...)
	for _, r := range o.Roles {
		if o.Handle != nil && r.Side == Client {
			continue
		}
		one := newRole(r, o, ledger, p.base)
		if !r.Together {
			p.single = append(p.single, one)
			continue
		}
		var correlate func(*transcript.Record)
		if p.correlate != nil && len(p.all) == 0 {
			correlate = p.partyOfRecord
		}
		t := p.newTape(one, "", o.Keep, correlate)
		if err := t.t.CreateFile(); err != nil {
			p.releaseFiles()
			return nil, err
		}
		p.all = append(p.all, t)
	}
	if !p.recorded {
		p.writing.Go(p.writeTapes)
		p.work.Go(p.judgeOn)
	}
	return p, nil
}

// URL returns where it listens, http or https, without a trailing slash.
func (p *Proxy) URL() string { return p.gate.URL() }

// Stats returns what has passed so far.
func (p *Proxy) Stats() Stats {
	p.mu.Lock()
	open := len(p.open)
	p.mu.Unlock()
	return Stats{Open: open, Conns: p.conns.Load(), Messages: p.messages.Load(), Broken: int(p.broken.Load()),
		Unjudged: p.unjudged.Load()}
}

// Redactor returns a redactor for the secrets of the requests that have passed so far.
func (p *Proxy) Redactor() *transcript.Redactor { return p.secrets.newRedactor() }

// Close ends all connections and judges the rest of the traffic. Options.Ended has been called for everything when it
// returns. The
// error says why records were lost, if any were. It may be called again.
func (p *Proxy) Close() error {
	p.once.Do(func() {
		if p.gate != nil {
			p.gate.Close()
		}
		p.queue.closeQueue()
		p.writing.Wait()
		lost := p.queue.removeFile()
		close(p.stop)
		p.work.Wait()
		p.judging.Lock()
		defer p.judging.Unlock()
		p.mu.Lock()
		all := append(p.all, p.tapes...)
		p.all, p.tapes = nil, nil
		p.err = errors.Join(p.err, lost)
		p.mu.Unlock()
		said := &Checked{Through: p.through}
		for _, one := range all {
			p.judgeFinally(one, said)
		}
		p.reportChecked(said)
	})
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.err
}

// releaseFiles closes the files of a proxy that has not begun.
func (p *Proxy) releaseFiles() {
	for _, one := range p.all {
		_ = one.t.Close()
	}
}

// queueRecord adds a record of the client's end, and returns its number.
func (p *Proxy) queueRecord(r transcript.Record) int { return p.queue.putRecord(r) }

// writeTapes adds records to the tapes until the queue is closed and empty.
func (p *Proxy) writeTapes() {
	pace := judgingPace{q: p.queue, since: time.Now()}
	cut := map[transcript.Dir]*lines{} // see Pipe
	for {
		all := p.queue.takeOldest()
		if len(all) == 0 {
			return
		}
		for i := range all {
			if all[i].r.Kind == piece {
				p.addLines(cut, all[i])
			} else {
				p.putOnTapes(all[i])
			}
			all[i] = waitingRecord{} // frees it
		}
		pace.restAfterWork()
	}
}

// putOnTapes adds a record to the tapes.
func (p *Proxy) putOnTapes(w waitingRecord) {
	if w.n == 0 {
		w.n = p.queue.nextNumber()
	}
	r, n := w.r, w.n
	switch r.Kind {
	case transcript.Request, transcript.Response, transcript.Stream, transcript.Frame:
		p.messages.Add(1)
		p.secrets.messageSecrets(r.Bytes)
	}
	if r.Kind == transcript.Open || r.Kind == transcript.Request {
		r.Label = transcript.MaskURLs(r.Label)
	}
	p.mu.Lock()
	event := p.countConnections(r)
	party := r.Conn
	for i, one := range p.all {
		if i > 0 || p.correlate == nil {
			r = p.setParty(r, party)
		}
		p.appendTo(one, r, n, w.at)
	}
	if len(p.single) > 0 {
		p.putOnOwnTape(p.setParty(r, party), n, w.at)
	}
	known := p.setParty(r, party)
	if r.Kind != transcript.Request && !driver.AnswerGoesOn(r) {
		delete(p.asked, party)
	}
	p.mu.Unlock()
	if p.o.Record != nil {
		known.N, known.At = n, w.at.Sub(p.began)
		p.o.Record(EndedBy(known), p.secrets.newRedactor())
	}
	p.mu.Lock()
	p.through = n
	p.mu.Unlock()
	if event.Conn != "" && p.o.Event != nil {
		p.o.Event(event)
	}
}

// countConnections counts connections, and returns the event to report, if any.
func (p *Proxy) countConnections(r transcript.Record) (e Event) {
	switch {
	case r.Conn == "":
	case r.Kind == transcript.Open && r.Dir == transcript.Sent:
		p.conns.Add(1)
		p.open[r.Conn] = true
		return Event{r.Conn, true, r.Label}
	case r.Kind == transcript.Closed && p.open[r.Conn], r.Kind == transcript.Response && p.open[r.Conn],
		r.Kind == transcript.Failure && r.Reply > 0 && p.open[r.Conn]:
		delete(p.open, r.Conn)
		delete(p.passing, r.Conn)
		return Event{r.Conn, false, cmp.Or(EndedBy(r).Label, string(r.Kind))}
	}
	return Event{}
}

// partyOfRequest names the party of a request: C1, C2, … for streams and sockets. The party of another request is found
// later from its content, if the protocol allows that.
func (p *Proxy) partyOfRequest(r *http.Request, n int) string {
	p.secrets.requestSecrets(r)
	if n > 0 {
		return fmt.Sprintf("C%d", n)
	}
	if p.correlate == nil {
		return ""
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if len(p.asked) >= maxAsked {
		clear(p.asked)
	}
	p.asks++
	name := fmt.Sprintf("#%d", p.asks)
	p.asked[name] = asked{header: r.Header}
	return name
}

// isUnknownParty reports whether partyOfRequest has given a request the name because its party is not known.
func isUnknownParty(name string) bool { return strings.HasPrefix(name, "#") }

// partyOfRecord finds the party of a decoded record. It runs within the first tape, and the caller holds p.mu.
func (p *Proxy) partyOfRecord(r *transcript.Record) {
	name := r.Conn
	if !isUnknownParty(name) {
		p.correlate(r, nil)
		return
	}
	one, ok := p.asked[name]
	if ok && r.Kind == transcript.Request {
		one.party = p.correlate(r, one.header)
		p.asked[name] = one
	}
	if r.Conn = one.party; r.Kind != transcript.Request {
		p.correlate(r, nil)
	}
}

// setParty sets the party of a record; "" if it is not known. For a request, the first tape has found it.
func (p *Proxy) setParty(r transcript.Record, party string) transcript.Record {
	if isUnknownParty(party) {
		r.Conn = p.asked[party].party
	}
	return r
}

// admitRequest admits requests with the token, and removes it from the request.
func (p *Proxy) admitRequest(h *rawhttp.Head) string {
	r, err := h.Request()
	if err != nil {
		return "" // the gate says what is wrong with it
	}
	return checkToken(h, r, p.o.Token)
}

var _ driver.Sink = (*Proxy)(nil).queueRecord
