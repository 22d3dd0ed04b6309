package checkup

import (
	"context"
	"errors"
	"slices"

	"parley/steps/agentselect/binding"
	"parley/steps/agentselect/client"
	"parley/steps/doctor"
	"parley/steps/probe"
	"parley/target"
	"parley/transport/driver/sse"
)

// looks examines the optional endpoints over a connection of its own, the configuration and the restart.
func looks(ctx context.Context, e *doctor.Exam) (map[string]doctor.Look, func()) {
	driver := sse.NewTLS(e.Profile.TLSConfig())
	var c *client.Client
	err := errors.New("there is none")
	if slices.Contains(e.Profile.Drivers, target.SSE) && e.Greeted {
		c, err = client.Open(ctx, probe.NewSession(e.Protocol, e.Profile, e.Running), driver)
	}
	end := func() {
		if c != nil {
			c.Close()
		}
		_ = driver.Close()
	}
	answers := func(ask func() error) doctor.Look {
		return func() (string, error) {
			if err != nil {
				return "", doctor.Wants("a connection over sse: " + err.Error())
			}
			return "it answers", ask()
		}
	}
	wire := binding.Of(e.Profile).SSE
	return map[string]doctor.Look{
		binding.Health:      answers(func() error { return c.Answers(ctx, wire.Health) }),
		binding.SessionList: answers(func() error { return c.Answers(ctx, wire.List) }),
		binding.SessionDelete: answers(func() error {
			if err := c.Create(ctx); err != nil {
				return err
			}
			return c.Answers(ctx, wire.Delete)
		}),
		"agents.file": e.Configuration,
		"restart":     func() (string, error) { return e.Restart(ctx) },
	}, end
}
