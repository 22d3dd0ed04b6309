package simulator

import (
	"context"
	"regexp"

	"parley/steps"
	"parley/transport/driver"
)

// Send writes bytes to the connection of a party unchanged, whatever they mean, and returns the number of the record.
// If messages are HTTP requests, the method and the path come first: POST /message {"type":"abort"}. Scenario writes a
// raw step for it. The error is a *steps.NoPartyError, that of the driver, or says what is missing.
func (s *Session) Send(ctx context.Context, party string, body []byte) (mark int, err error) {
	from := s.Transcript().Len()
	mark, err = s.live.Send(ctx, party, body, false)
	if err != nil {
		return mark, err
	}
	if mark > 0 {
		from = mark - 1
	}
	text, arg := steps.RawStep(s.called(party), s.live.Redactor.Bytes(body), false)
	s.did(Did{Text: text, Arg: arg, Raw: true, From: from})
	return mark, nil
}

// Hang ends the connection of a party: with a closing handshake if the transport has one, or by a reset. Scenario
// writes a raw step for it.
func (s *Session) Hang(ctx context.Context, party string, how driver.CloseMode) error {
	from := s.Transcript().Len()
	err := s.live.Hang(ctx, party, how)
	if err == nil {
		s.did(Did{Text: steps.HangStep(s.called(party), how), Raw: true, From: from})
	}
	return err
}

func (s *Session) did(d Did) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.done = append(s.done, d)
}

// called is what the steps so far call a party, such as "client A" for A.
func (s *Session) called(party string) string {
	with := regexp.MustCompile(`^\pL+ ` + regexp.QuoteMeta(party) + `\b`)
	for _, d := range s.Steps() {
		if name := with.FindString(d.Text); name != "" {
			return name
		}
	}
	return party
}

// Parties returns the parties that have been connected, sorted.
func (s *Session) Parties(ctx context.Context) ([]string, error) { return s.live.Parties(ctx) }
