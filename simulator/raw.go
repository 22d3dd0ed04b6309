package simulator

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"regexp"

	"parley/driver"
	"parley/target"
)

// request matches a raw message over HTTP: its method, its path, and its body.
var request = regexp.MustCompile(`(?s)^([A-Z]+) (/\S*)(?:\s(.*))?$`)

// Send writes bytes to the connection of a party as they are, whatever they mean, and returns the number of the record.
// Where messages are HTTP requests, the method and the path come first: POST /message {"type":"abort"}. The error is a
// *steps.NoPartyError, that of the driver, or says what is missing.
func (s *Session) Send(ctx context.Context, party string, body []byte) (mark int, err error) {
	m := driver.Message{Label: "raw", Body: body}
	if s.live.Driver == target.SSE {
		parts := request.FindSubmatch(body)
		if parts == nil {
			return 0, errors.New(`over sse a raw message is a request: its method, its path and its body, such as ` +
				`POST /message {"type":"abort"}`)
		}
		m.Method, m.URL, m.Body = string(parts[1]), s.live.URL+string(parts[2]), bytes.Clone(parts[3])
		m.Label = fmt.Sprintf("raw %s", parts[1])
	}
	mark, err = s.live.Send(ctx, party, m)
	if err == nil {
		s.mu.Lock()
		s.done = append(s.done, Did{Text: party + "> " + string(body), Raw: true, From: mark - 1})
		s.mu.Unlock()
	}
	return mark, err
}

// Hang ends the connection of a party: with a closing handshake where the transport has one, or by a reset.
func (s *Session) Hang(ctx context.Context, party string, how driver.CloseMode) error {
	err := s.live.Hang(ctx, party, how)
	if err == nil {
		s.mu.Lock()
		verb := map[driver.CloseMode]string{driver.Graceful: ".close ", driver.Reset: ".cut "}[how]
		s.done = append(s.done, Did{Text: verb + party, Raw: true, From: s.Transcript().Len()})
		s.mu.Unlock()
	}
	return err
}

// Parties are those that have been connected, sorted.
func (s *Session) Parties(ctx context.Context) ([]string, error) { return s.live.Parties(ctx) }
