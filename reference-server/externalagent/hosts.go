package externalagent

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/coder/websocket"

	proto "parley/protocol/externalagent"
	"parley/reference-server/externalagent/host"
	"parley/reference-server/externalagent/relay"
)

// hosts manages the hosts of all relay sessions.
type hosts struct {
	o      Options
	make   host.Options // options of each host
	store  host.Store
	attach func(session, role string) (relay.Conn, error)

	mu     sync.Mutex
	all    map[string]*place // by name of the relay session
	ending bool
}

// place holds the host of a relay session.
type place struct {
	session string
	host    *host.Host
	tap     tap

	// Guarded by hosts.mu.
	line  *line     // to the relay; nil while the host is not connected
	since time.Time // when the host disconnected; zero while it is connected
	empty bool      // no agent is present, so the host stays away
}

// line is a host's connection to the relay.
type line struct {
	relay.Conn
	tap     *tap
	leaving context.Context // once canceled, the host reads only the frames that are already there
	leave   context.CancelFunc
	gone    chan struct{} // closed when the host has left
}

func newHosts(o Options, store host.Store, each host.Options) *hosts {
	return &hosts{o: o, make: each, store: store, all: map[string]*place{}}
}

// findHost returns the host of a relay session; nil if there is none.
func (hs *hosts) findHost(session string) *host.Host {
	hs.mu.Lock()
	defer hs.mu.Unlock()
	if s := hs.all[session]; s != nil {
		return s.host
	}
	return nil
}

// callHost attaches a host, the previous one or a new one, to a relay session that an agent is joining. The relay calls
// it, and the agent waits meanwhile.
func (hs *hosts) callHost(session string) {
	s, err := hs.placeOf(session)
	if err != nil {
		hs.o.Logger.Warn("relay session without a host", "err", err)
		return
	}
	hs.joinHost(s)
}

var (
	errMany   = errors.New("too many hosts are in use")
	errEnding = errors.New("the server closes")
)

// placeOf returns the host's place, making one if necessary, and cancels its expiry.
func (hs *hosts) placeOf(session string) (*place, error) {
	hs.mu.Lock()
	defer hs.mu.Unlock()
	if hs.ending {
		return nil, errEnding
	}
	if s := hs.all[session]; s != nil {
		s.since, s.empty = time.Time{}, false
		return s, nil
	}
	if len(hs.all) >= hs.o.MaxHosts && !hs.makeRoom() {
		return nil, errMany
	}
	h, err := host.New(hs.o.Host(session, hs.make))
	if err != nil {
		return nil, err
	}
	s := &place{session: session, host: h}
	hs.all[session] = s
	return s, nil
}

// joinHost attaches the host to the relay and serves it in a goroutine, after any previous connection has ended.
func (hs *hosts) joinHost(s *place) {
	c, err := hs.attach(s.session, proto.HostRole)
	if err != nil {
		hs.o.Logger.Warn("relay session without a host", "err", err)
		hs.mu.Lock()
		defer hs.mu.Unlock()
		hs.forgetWhenIdle(s)
		return
	}
	l := &line{Conn: c, tap: &s.tap, gone: make(chan struct{})}
	l.leaving, l.leave = context.WithCancel(context.Background())
	hs.mu.Lock()
	before := s.line
	s.line = l
	if hs.ending || s.empty {
		l.leave()
	}
	hs.mu.Unlock()
	go func() {
		if before != nil {
			<-before.gone
		}
		hs.serveHost(s, l)
	}()
}

// serveHost runs a host until it leaves. A host that the relay dropped for being too slow reattaches at once, or its
// agents would wait forever.
func (hs *hosts) serveHost(s *place, l *line) {
	err := s.host.Serve(context.Background(), l)
	_ = l.Close() // never fails
	again := l.leaving.Err() == nil && !errors.Is(err, host.ErrClosed) && websocket.CloseStatus(err) == -1
	l.leave()
	hs.mu.Lock()
	if s.line != l {
		again = false
	} else if !again {
		s.line = nil
		hs.forgetWhenIdle(s)
	}
	again = again && !hs.ending && hs.all[s.session] == s
	hs.mu.Unlock()
	close(l.gone)
	if again {
		hs.o.Logger.Warn("host dropped", "err", err)
		hs.joinHost(s)
	}
}

// forgetWhenIdle forgets the host after Options.Idle unless an agent joins. The caller holds the lock.
func (hs *hosts) forgetWhenIdle(s *place) {
	if hs.ending || hs.all[s.session] != s {
		return
	}
	since := time.Now()
	s.since = since
	time.AfterFunc(hs.o.Idle, func() {
		hs.mu.Lock()
		defer hs.mu.Unlock()
		if s.since == since && hs.all[s.session] == s {
			hs.endHost(s)
		}
	})
}

// makeRoom forgets the host that has been without agents longest. The caller holds the lock.
func (hs *hosts) makeRoom() bool {
	var oldest *place
	for _, s := range hs.all {
		if !s.since.IsZero() && (oldest == nil || s.since.Before(oldest.since)) {
			oldest = s
		}
	}
	if oldest != nil {
		hs.endHost(oldest)
	}
	return oldest != nil
}

// endHost ends a disconnected host. The caller holds the lock, so that no other host of its relay session begins
// before its log ends.
func (hs *hosts) endHost(s *place) {
	delete(hs.all, s.session)
	if err := s.host.Close(); err != nil {
		hs.o.Logger.Error("host not closed in order", "err", err)
	}
}

// leaveWhenEmpty lets the host leave a relay session without agents, after it has read what they sent. The relay calls
// it, and agents that join meanwhile wait.
func (hs *hosts) leaveWhenEmpty(session string) {
	hs.mu.Lock()
	var l *line
	if s := hs.all[session]; s != nil {
		l, s.empty = s.line, true
	}
	hs.mu.Unlock()
	if l != nil {
		l.leave()
		<-l.gone
	}
}

// closeAll ends all hosts, and the store.
func (hs *hosts) closeAll() error {
	hs.mu.Lock()
	hs.ending = true
	all := hs.all
	hs.all = map[string]*place{}
	var lines []*line
	for _, s := range all {
		if s.line != nil {
			s.line.leave()
			lines = append(lines, s.line)
		}
	}
	hs.mu.Unlock()
	for _, l := range lines {
		<-l.gone
	}
	var failed []error
	for _, s := range all {
		failed = append(failed, s.host.Close())
	}
	return errors.Join(append(failed, hs.store.Close())...)
}
