package externalagent

import (
	"context"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"time"

	"parley/reference-server/web"
)

// Bounds of a tap: it keeps the beginnings of the latest messages.
const (
	maxTapped     = 200
	maxTappedText = 16 << 10
	maxTappedAll  = 256 << 10
)

// tapped is a message between the relay and a host, as GET /wire returns it.
type tapped struct {
	N    int       `json:"n"`  // its number, from 1
	At   time.Time `json:"at"` // when the host read or wrote it
	In   bool      `json:"in"` // to the host
	Text string    `json:"text"`
	Cut  bool      `json:"cut"` // Text is only its beginning
}

// tap keeps the latest messages of a host. It is safe for concurrent use; the zero value is ready.
type tap struct {
	mu   sync.Mutex
	n    int
	size int
	kept []tapped
}

func (t *tap) addMessage(in bool, data []byte) {
	m := tapped{At: time.Now().UTC(), In: in, Cut: len(data) > maxTappedText}
	m.Text = strings.ToValidUTF8(string(data[:min(len(data), maxTappedText)]), "\uFFFD")
	t.mu.Lock()
	defer t.mu.Unlock()
	t.n++
	m.N = t.n
	t.kept = append(t.kept, m)
	for t.size += len(m.Text); len(t.kept) > maxTapped || t.size > maxTappedAll; t.kept = t.kept[1:] {
		t.size -= len(t.kept[0].Text)
		t.kept[0] = tapped{}
	}
}

// messagesAfter returns the kept messages with greater numbers, oldest first, and the number of the latest one.
func (t *tap) messagesAfter(n int) ([]tapped, int) {
	t.mu.Lock()
	defer t.mu.Unlock()
	out := []tapped{}
	for _, m := range t.kept {
		if m.N > n {
			out = append(out, m)
		}
	}
	return out, t.n
}

// Read implements host.Conn. It also returns what an agent sent just before it left.
func (l *line) Read(ctx context.Context) ([]byte, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(l.leaving, cancel)()
	data, err := l.Conn.Read(ctx)
	if err == nil {
		l.tap.addMessage(true, data)
	}
	return data, err
}

// Write implements host.Conn.
func (l *line) Write(ctx context.Context, data []byte) error {
	l.tap.addMessage(false, data) // before the agent can ask for it
	return l.Conn.Write(ctx, data)
}

// serveWire shows the latest messages of the host of a relay session, after the number that the client has.
func (s *Server) serveWire(w http.ResponseWriter, r *http.Request) {
	q := r.URL.Query()
	after, err := strconv.Atoi(q.Get("after"))
	if q.Has("after") && err != nil {
		web.Refuse(w, http.StatusBadRequest, "after must be a number of a message")
		return
	}
	messages, last := []tapped{}, 0
	if t := s.hosts.tapOf(q.Get("session")); t != nil {
		messages, last = t.messagesAfter(after)
	}
	web.Answer(w, http.StatusOK, map[string]any{"messages": messages, "last": last})
}

// tapOf returns the tap of a relay session's host; nil if there is none.
func (hs *hosts) tapOf(session string) *tap {
	hs.mu.Lock()
	defer hs.mu.Unlock()
	if s := hs.all[session]; s != nil {
		return &s.tap
	}
	return nil
}
