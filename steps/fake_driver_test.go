package steps

import (
	"context"
	"testing"
	"time"

	"parley/features/verdict"
	"parley/target"
	"parley/transport/driver"
	"parley/transport/transcript"
)

// ledger has a clause of every level.
const ledger = `protocol: agent-select
source: s
clauses:
  - {id: AS-001, level: MUST, section: "1", text: t, source: s, status: tested}
  - {id: AS-002, level: SHOULD, section: "1", text: t, source: s, status: tested}
  - {id: AS-003, level: MAY, section: "1", text: t, source: s, status: tested}
  - {id: AS-004, level: INFO, section: "1", text: t, source: s, status: tested}
  - {id: AS-005, level: CONFLICT, section: "1", text: t, source: s, status: tested, fair: f}
  - {id: AS-006, level: MUST, section: "1", text: t, source: s, status: tested}
`

// fake is a driver whose connections only record that they were closed.
type fake struct {
	open func(ctx context.Context, o driver.OpenOptions, sink driver.Sink) error
}

func (f *fake) Name() string { return "fake" }

func (f *fake) Open(ctx context.Context, o driver.OpenOptions, sink driver.Sink) (driver.Conn, error) {
	if f.open != nil {
		if err := f.open(ctx, o, sink); err != nil {
			return nil, err
		}
	}
	sink(transcript.Record{Conn: o.Party, Dir: transcript.Received, Kind: transcript.Open})
	return &fakeConn{o, sink}, nil
}

type fakeConn struct {
	o    driver.OpenOptions
	sink driver.Sink
}

func (c *fakeConn) Send(_ context.Context, m driver.Message) (int, error) {
	return c.sink(transcript.Record{Conn: c.o.Party, Dir: transcript.Sent, Kind: transcript.Request, Label: m.Label}), nil
}

func (c *fakeConn) Close(how driver.CloseMode) error {
	c.sink(transcript.Record{Conn: c.o.Party, Dir: transcript.Received, Kind: transcript.Closed,
		Label: "closed by the harness"})
	return nil
}

// world returns a world with the given tags.
func world(t *testing.T, strict bool, tags ...string) *World {
	t.Helper()
	l, err := verdict.ParseLedger([]byte(ledger))
	if err != nil {
		t.Fatal(err)
	}
	p := target.Kind{Protocol: "agent-select"}.New()
	p.Limits.Event.Duration = 10 * time.Second // only a failing test reaches it
	return NewWorld(&Env{Profile: p, Driver: &fake{}, Ledger: l, Strict: strict}, nil, "nonce", tags, nil)
}
