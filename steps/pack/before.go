package pack

import (
	"context"
	"regexp"
	"slices"
	"strings"

	"parley/internal/script"
	"parley/steps"
	"parley/target"
	"parley/transport/driver"
	"parley/transport/driver/sse"
	"parley/transport/transcript"
	wjson "parley/transport/wire/json"
)

// requestBefore is a request that each client makes before it connects: its answer tells what fills the holes of the
// path. It is no message of the protocol.
type requestBefore struct {
	method, path string // with holes; "": there is none
	body         map[string]any
	at           holedPath
}

var methodAndPath = regexp.MustCompile(`^[A-Z]+ /\S*$`)

// readBefore reads the request before a client connects.
func (rd *reader) readBefore(v script.Value) {
	if !v.There() || !rd.Keys(v, "before", "request", "body") {
		return
	}
	d, text := rd.doc, rd.Text(v.At("request"), "before.request")
	b := &d.before
	b.method, b.path, _ = strings.Cut(text, " ")
	b.at = pathWithHoles(b.path)
	b.body, _ = valueOf(v.At("body")).(map[string]any)
	_, send, _ := strings.Cut(d.send, " ")
	switch {
	case !methodAndPath.MatchString(text):
		rd.Fail(v, "before.request is a method and a path (before: {request: POST /session, body: {}})")
	case b.path == send || b.path == d.post.path:
		rd.Fail(v, "before.request goes where messages go, so that it cannot be told from them")
	case slices.Equal(d.drivers, []string{target.Stdio}):
		rd.Fail(v, "before: over stdio there are no requests")
	}
}

// is reports whether a record is the request before a client connects.
func (b *requestBefore) is(r transcript.Record) bool {
	method, _, _ := strings.Cut(r.Label, " ")
	return b.path != "" && r.Kind == transcript.Request && method == b.method && b.at.matches(pathOf(r.Label))
}

// asksBefore makes the request before a client connects, and keeps what its answer tells.
func (s *suite) asksBefore(ctx context.Context, c *client) error {
	b, find := &s.doc.before, s.finder(c)
	if b.path == "" || c.asked || s.codec.driver == target.Stdio {
		return nil
	}
	at, err := s.codec.at(b.path, find)
	if err != nil {
		return err
	}
	m := driver.Message{Method: b.method, URL: at, Label: b.method + " " + b.path}
	if b.body != nil {
		filled, err := fill(b.body, find)
		if err != nil {
			return err
		}
		if m.Body, err = wjson.Encode(filled); err != nil {
			return err
		}
	}
	d := sse.Posts{Driver: sse.NewTLS(s.Env.Profile.TLSConfig())}
	defer d.Close() //nolint:errcheck // it has no connection any more
	conn, err := d.Open(ctx, driver.OpenOptions{Party: c.name, URL: at, Header: s.Env.Profile.Header(),
		Reads: s.doc.post.reads, MaxEvent: int(s.Env.Profile.Limits.MaxEvent), Jar: s.Jar(c.name)}, s.T.Append)
	if err != nil {
		return err
	}
	defer conn.Close(driver.Graceful) //nolint:errcheck // nothing is open
	mark := c.mark
	if c.mark, err = conn.Send(ctx, m); err != nil {
		return steps.NotTestedf("client %s cannot send %s: %v", c.name, m.Label, err)
	}
	r, miss := s.answered(ctx, c)
	c.mark = mark
	s.follow()
	switch {
	case miss != nil:
		return steps.NotTestedf("%s of client %s, before it connects, has no answer: %s", m.Label, c.name, miss.Reason)
	case r.Status < 200 || r.Status > 299:
		return steps.NotTestedf("%s of client %s, before it connects, is answered with %s", m.Label, c.name, r.Label)
	}
	c.asked = true
	return nil
}
