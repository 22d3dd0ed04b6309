// Package replay plays one side of a recording against a live other side, and says where what comes differs from what
// was recorded. Ids that the other side draws anew are learnt, and replaced in what is sent afterwards. What else may
// differ, such as times and a model's words, the schemas of the protocol's messages say; where there is none, what
// looks like an id or a time may.
package replay

import (
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/go-json-experiment/json"

	"parley/internal/deadline"
	"parley/internal/jsonform"
	"parley/protocol/messages"
	"parley/transport/driver"
	"parley/transport/recording"
	"parley/transport/transcript"
)

// Bounds of what is compared at a time.
const (
	maxBatch      = 1000
	maxBatchBytes = 8 << 20
)

// side is the party that a replay plays.
type side interface {
	// otherDir is that of the other side's records, in a recording.ClientView.
	otherDir() transcript.Dir
	// playAct plays a record of this side. The errors are those that end the replay.
	playAct(context.Context, transcript.Record) error
	// threadOf returns where what is recorded is to come.
	threadOf(transcript.Record) thread
	// awaitFirst waits for the other side before the first record is awaited.
	awaitFirst(context.Context) error
	// playEarly plays something of this side that was recorded later, since the other side may wait for it, which has
	// not sent what is pending. some: part of what was recorded with that has come. It reports whether there was
	// something.
	playEarly(_ context.Context, pending []message, some bool) (bool, error)
	// mayThink reports whether the other side may still send what is awaited, however long it has taken.
	mayThink() bool
	// skipsRecord reports whether a record of the other side is not awaited.
	skipsRecord(transcript.Record) bool
	// notePaired is called for a message that was recorded and came, and surplus for one that was not recorded.
	notePaired(want, got message)
	noteSurplus(message)
}

// player plays one side of a recording.
type player struct {
	o      Options
	in     *lookahead
	side   side
	rules  rules
	ids    *ids
	came   *waitingRecords
	batch  []message
	size   int // bytes of batch
	began  time.Time
	silent map[string]time.Duration // recorded connection → when its last record was made
	lately map[thread]messageSort   // what was recorded last in a thread, if its number depends on a model
	at     time.Duration            // when the record was made that was read last
	some   bool                     // something of the batch has come
	tired  bool                     // nothing has come for a long time
	newest int                      // number of the newest message that was paired with a recorded one
	result Result
}

// playRecording plays a recording. The errors are those of the recording and of act, and the context's cause.
func (p *player) playRecording(ctx context.Context, in *recording.ClientView) error {
	p.in = &lookahead{in: in}
	p.silent, p.lately = map[string]time.Duration{}, map[thread]messageSort{}
	began := false
	for {
		r, err := p.in.nextUntaken()
		if errors.Is(err, io.EOF) {
			return p.compareRest(ctx, began)
		}
		if err != nil {
			return err
		}
		if !began && (r.Kind == transcript.Open || r.Kind == transcript.Request) && r.Dir == transcript.Sent {
			began = true
			if err := p.side.awaitFirst(ctx); err != nil {
				return err
			}
			p.began = time.Now().Add(-time.Duration(float64(r.At) / max(p.o.Speed, 1e-6)))
		}
		if err := p.playRecord(ctx, r); err != nil {
			return err
		}
	}
}

// playRecord plays a record, or puts it among those that are to come.
func (p *player) playRecord(ctx context.Context, r transcript.Record) error {
	p.at = r.At
	switch {
	case r.Late || r.Dir == transcript.Noted:
		return nil
	case isCompared(r, p.side.otherDir()):
		if p.side.skipsRecord(r) {
			return nil
		}
		p.silent[p.side.threadOf(r).conn] = r.At
		if r.Kind == transcript.Closed { // nothing can come behind it
			delete(p.silent, r.Conn)
		}
		return p.expectRecord(ctx, r)
	case !isPlayed(r, p.side.otherDir()):
		return nil
	}
	if err := p.settleBatch(ctx); err != nil {
		return err
	}
	if err := p.paceSend(ctx, r.At); err != nil {
		return err
	}
	r = p.o.Secrets.Restore(r)
	if err := Sendable(r); err != nil {
		return err
	}
	if r.Kind == transcript.Closed {
		return p.hangUp(ctx, r)
	}
	p.silent[p.side.threadOf(r).conn] = r.At
	return p.side.playAct(ctx, r)
}

// expectRecord puts a record among those that are to come.
func (p *player) expectRecord(ctx context.Context, r transcript.Record) error {
	m := p.rules.decodeRecord(r)
	if p.ignoresRecord(m) {
		p.result.Ignored++
		return nil
	}
	p.batch = append(p.batch, m)
	if p.size += len(r.Bytes); p.side.otherDir() == transcript.Sent || len(p.batch) >= maxBatch ||
		p.size >= maxBatchBytes {
		return p.settleBatch(ctx)
	}
	return nil
}

func (p *player) ignoresRecord(m message) bool {
	return m.name != "" && slices.ContainsFunc(p.o.Ignore, func(i Ignore) bool { return i.ignoresWhole(m.name) })
}

// paceSend waits until a message is to be sent.
func (p *player) paceSend(ctx context.Context, at time.Duration) error {
	if p.o.Speed <= 0 {
		return nil
	}
	left := time.NewTimer(time.Until(p.began.Add(time.Duration(float64(at) / p.o.Speed))))
	defer left.Stop()
	select {
	case <-left.C:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// hangUp ends a connection. If the other side had been silent for some time by then, it has to be silent now.
func (p *player) hangUp(ctx context.Context, r transcript.Record) error {
	quiet := r.At-p.silent[r.Conn] >= p.o.Quiet
	delete(p.silent, r.Conn)
	delete(p.lately, thread{conn: r.Conn})
	if quiet {
		if err := p.awaitUnrecorded(ctx); err != nil {
			return err
		}
	}
	p.drainSurplus(r.Conn, quiet)
	if err := p.side.playAct(ctx, r); err != nil {
		return err
	}
	p.drainSurplus(r.Conn, false)
	return nil
}

// awaitUnrecorded waits for what was not recorded.
func (p *player) awaitUnrecorded(ctx context.Context) error {
	quiet, cancel := deadline.WithLimit(ctx, p.o.Quiet)
	defer cancel()
	<-quiet.Done()
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return nil
}

// drainSurplus removes what has come too much on a recorded connection, and says so if that is a difference.
func (p *player) drainSurplus(conn string, differs bool) {
	for _, m := range p.came.drainConn(conn) {
		switch {
		case p.ignoresRecord(m):
		case differs, m.N < p.newest && (m.Kind == transcript.Open || m.Kind == transcript.Request):
			p.reportExtra(m)
		default:
			if m.Kind != transcript.Closed { // it ends with the replay
				p.result.Behind++
			}
			p.side.noteSurplus(m)
		}
	}
}

// compareRest compares what is left, and says what has come too much.
func (p *player) compareRest(ctx context.Context, began bool) error {
	if err := p.settleBatch(ctx); err != nil {
		return err
	}
	if !began {
		return ErrNothing
	}
	if err := p.awaitUnrecorded(ctx); err != nil {
		return err
	}
	for _, conn := range p.came.waitingConns() {
		last, heard := p.silent[conn]
		p.drainSurplus(conn, heard && p.at-last >= p.o.Quiet)
	}
	return nil
}

// reportExtra says that a message came which was not recorded.
func (p *player) reportExtra(m message) {
	p.side.noteSurplus(m)
	p.reportDifference(Difference{Message: m.titleFor(), Extra: true, came: &m})
}

func (p *player) reportMissing(m message) {
	p.reportDifference(Difference{N: m.N, Message: m.titleFor(), Missing: true, recorded: &m})
}

func (p *player) reportDifference(d Difference) {
	p.result.Differences++
	d.ids = p.ids
	d.Diff, d.Maybe = d.renderDiff(), d.nameMaybe()
	d.recorded, d.came, d.ids = nil, nil, nil
	p.o.Differs(d)
}

// Options say how to replay.
type Options struct {
	Messages *messages.Set // the protocol's; nil: none is known
	// a model's words must be as recorded, and as many messages as recorded must have them
	Words bool
	// 2: twice as fast as recorded; 0: each message is sent as soon as what was received before it has come
	Speed   float64
	Within  time.Duration // limit for what is to come, from the last thing that came; default 10 s
	Quiet   time.Duration // how long silence is shown by silence: see Result.Behind; default 250 ms
	Ignore  []Ignore
	Differs func(Difference) // is called for each message that differs, in order

	// Serve only: Within counts only while no client is connected, since a person may think for any time.
	Thinks bool

	// PlayClient only:
	URL          string         // base URL of the server, http or https
	Header       http.Header    // sent with every request
	TLS          *tls.Config    // nil: Go's defaults
	Subprotocols []string       // offered by sockets
	Process      driver.Starter // what a recording over stdio is played against
	Secrets      Secrets        // the server's

	// Serve only:
	Addr  string           // host:port to listen on; default a free port of loopback
	Ready func(url string) // called with the URL where it listens
}

// Result says what was done.
type Result struct {
	Sent        int // messages, opening a connection included
	Compared    int // messages that came and were compared
	Differences int // messages that differ, did not come, or were not recorded
	// recorded messages that were left out, because Ignore names them
	Ignored int
	// messages that came behind the last one that was recorded of their connection, where the recording ends, or the
	// connection was closed, within Quiet: nobody knows whether they would have come then
	Behind int
}

// Errors of a replay.
var (
	// ErrUnreachable is returned when no connection to the server could be made.
	ErrUnreachable = errors.New("the target cannot be reached")
	// ErrNothing is returned when a recording has nothing that the side to be played does.
	ErrNothing = errors.New("there is no connection or request in it")
)

// setDefaults fills in the defaults.
func (o *Options) setDefaults() {
	if o.Within <= 0 {
		o.Within = 10 * time.Second
	}
	if o.Quiet <= 0 {
		o.Quiet = 250 * time.Millisecond
	}
	if o.Differs == nil {
		o.Differs = func(Difference) {}
	}
}

// Secrets are those of a target, for what was redacted in the recording that is played against it.
type Secrets struct {
	Named map[string]string // those in the target's paths, by the names of their parameters, with the escapes of a URL
	All   []string
}

var (
	hiddenParameter = regexp.MustCompile(`([?&])([^=&?#\s]+)=` + transcript.Blank)
	hiddenMember    = regexp.MustCompile(`"([\w-]+)"(\s*:\s*)"` + transcript.Blank + `"`)
)

// Restore puts the secrets of the target where secrets were removed from a record: the one of the same name, or the
// only one that the target has.
func (s Secrets) Restore(r transcript.Record) transcript.Record {
	if isSendable(r) == nil || len(s.All) == 0 {
		return r
	}
	only := ""
	if all := slices.Compact(slices.Sorted(slices.Values(s.All))); len(all) == 1 {
		only = all[0]
	}
	r.Label = hiddenParameter.ReplaceAllStringFunc(r.Label, func(found string) string {
		name := strings.TrimSuffix(found[1:], "="+transcript.Blank)
		switch value := s.Named[name]; {
		case value != "":
			return found[:1] + name + "=" + value
		case only != "":
			return found[:1] + name + "=" + url.QueryEscape(only)
		}
		return found
	})
	r.Bytes = hiddenMember.ReplaceAllFunc(r.Bytes, func(found []byte) []byte {
		parts := hiddenMember.FindSubmatch(found)
		value := only
		if named, err := url.QueryUnescape(s.Named[string(parts[1])]); err == nil && named != "" {
			value = named
		}
		quoted, err := json.Marshal(value, jsonform.Escaped)
		if value == "" || err != nil {
			return found
		}
		return fmt.Appendf(nil, "%q%s%s", parts[1], parts[2], quoted)
	})
	if only != "" {
		quoted, _ := json.Marshal(only, jsonform.Escaped)
		r.Bytes = bytes.ReplaceAll(r.Bytes, []byte(transcript.Blank), quoted[1:len(quoted)-1])
	}
	return r
}

// Sendable says why a record cannot be sent; nil if it can.
func Sendable(r transcript.Record) error {
	if err := isSendable(r); err != nil {
		return err
	}
	if r.Cut > 0 {
		return fmt.Errorf("record %d cannot be sent: %d bytes of it were not recorded", r.N, r.Cut)
	}
	return nil
}

func isSendable(r transcript.Record) error {
	if bytes.Contains(r.Bytes, []byte(transcript.Blank)) || strings.Contains(r.Label, transcript.Blank) {
		return fmt.Errorf("record %d cannot be sent: a secret was removed from it (name a profile that has it)", r.N)
	}
	return nil
}
