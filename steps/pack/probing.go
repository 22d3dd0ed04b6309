package pack

import (
	"cmp"
	"context"
	"slices"
	"strings"

	"parley/steps/probe"
	"parley/target"
	"parley/transport/driver/sse"
	"parley/transport/driver/ws"
	"parley/transport/transcript"
)

// Init implements probe.Probing: over which transports of the document the server opens a connection, and what comes
// first on it.
func (p *Pack) Init() probe.Guide {
	return probe.Guide{Profile: p.probeServer, Text: p.doc.id + ": the probe opens a connection at each path of the " +
		"document, and waits for what comes first.", Examples: []string{"parley init --protocol ./my-protocol URL"}}
}

// probeServer returns the text of a profile.
func (p *Pack) probeServer(ctx context.Context, s *probe.Session) (string, error) {
	var open []string
	tls := s.Profile.TLSConfig()
	for _, name := range p.doc.drivers {
		switch name {
		case target.SSE:
			if p.opens(ctx, s, sse.NewTLS(tls), p.doc.open) {
				open = append(open, name)
			}
		case target.WS:
			if p.opens(ctx, s, &ws.Driver{TLS: tls, Subprotocols: p.doc.subprotocols}, p.doc.ws) {
				open = append(open, name)
			}
		case target.Post:
			s.Unseen("%s is not tried: each of its requests is one of the scenarios'", name)
			s.Welcome()
			open = append(open, name)
		}
	}
	w := probe.NewServerDraft(s)
	if len(open) == 0 {
		open = p.doc.drivers[:1]
	}
	w.List("drivers", open)
	w.Line(0, "capabilities: []   # which it has of: %s", cmp.Or(strings.Join(p.doc.capabilities, ", "), "none"))
	w.Line(0, "")
	w.Line(0, "# Where the server differs from the document: parley doctor says what does not fit.")
	w.Line(0, "#%s:", p.doc.id)
	w.Line(0, "#  type: %s", string(p.doc.typeAt))
	w.Unseen()
	return w.String(), nil
}

// opens opens a connection, and notes the first message of the protocol that comes on it.
func (p *Pack) opens(ctx context.Context, s *probe.Session, d probe.Driver, path string) bool {
	defer d.Close() //nolint:errcheck // of a probe
	if hole.MatchString(path) {
		s.Unseen("%s is not tried: nothing tells the probe what fills the holes of %s", d.Name(), path)
		s.Welcome()
		return true
	}
	line, err := s.Open(ctx, d, path, s.Decoder(d))
	if err != nil {
		s.Unseen("%s: no connection at %s: %v", d.Name(), path, err)
		return false
	}
	defer line.Close()
	r, err := line.Record(0, s.Profile.Limits.Event.Duration, func(r *transcript.Record) bool {
		return r.Dir == transcript.Received && r.Event != nil && slices.Contains(p.doc.receives, r.Event.Type)
	})
	if err != nil {
		s.Unseen("%s: the connection at %s opens, and no message of the protocol comes first", d.Name(), path)
		return true
	}
	s.Welcome()
	s.Note(d.Name(), "%s: %s comes first", d.Name(), r.Event.Type)
	return true
}
