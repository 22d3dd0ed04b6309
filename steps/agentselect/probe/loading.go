package probe

import (
	"context"
	"errors"
	"time"

	"parley/internal/deadline"
	"parley/steps/agentselect/binding"
	"parley/steps/agentselect/client"
	"parley/steps/probe"
	"parley/transport/driver"
)

// found stores a correlation in the profile, and checks whether loading a session uses the same one.
func (p *inquiry) found(ctx context.Context, d driver.Driver, how binding.Correlation) {
	p.wire().Correlation = how
	p.Note("correlation", "%s: two connections each got a session, and each received its own switch",
		correlationWords(how))
	if how.Load = p.loading(ctx, d, how); how.Load != nil {
		p.wire().Correlation = how
	}
}

// loading finds out how loading a session identifies its connection; nil if the known way works, or none can be
// found.
func (p *inquiry) loading(ctx context.Context, d driver.Driver, how binding.Correlation) *binding.Correlation {
	first := p.loads(ctx, d, how)
	if first == nil {
		return nil
	}
	tried := how
	for _, way := range p.ways() {
		how.Load = &way
		if ctx.Err() == nil && way != tried.OfLoad() && p.loads(ctx, d, how) == nil {
			p.Note("correlation", "%s names its connection by %s: a session was loaded, and its switch was received",
				client.Label(p.wire().SSE.Load), correlationWords(way))
			return &way
		}
	}
	p.Note("correlation", "no way was found to load a session at %s: %s",
		client.Label(p.wire().SSE.Load), probe.Shorten(first.Error()))
	return nil
}

// loads loads the session of a closed connection on another one, and switches it there.
func (p *inquiry) loads(ctx context.Context, d driver.Driver, how binding.Correlation) error {
	old, err := client.Open(ctx, p.Session, d)
	if err != nil {
		return err
	}
	err = p.create(ctx, old, how, nil)
	old.Close()
	if err != nil {
		return err
	}
	c, err := client.Open(ctx, p.Session, d)
	if err != nil {
		return err
	}
	defer c.Close()
	limited, cancel := deadline.WithLimit(ctx, quick)
	defer cancel()
	for err = p.load(ctx, c, how, old.Session); isRefusal(err); err = p.load(ctx, c, how, old.Session) {
		select { // the server may need a moment to notice that the other connection has closed
		case <-limited.Done():
			return err
		case <-time.After(quick / 3):
		}
	}
	if err != nil {
		return err
	}
	_, err = p.change(ctx, c, how, p.otherAgent(0))
	return err
}

// load loads a session on a connection.
func (p *inquiry) load(ctx context.Context, c *client.Client, how binding.Correlation, session string) error {
	body := map[string]any{}
	p.wire().Fields.Request.SessionID.Put(body, session)
	_, err := c.Accepted(ctx, p.wire().SSE.Load, how, body)
	return err
}

// isRefusal reports whether a request was answered but not accepted.
func isRefusal(err error) bool {
	var refused *client.RefusedError
	return errors.As(err, &refused)
}
