package agentselect

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/cucumber/godog"

	"parley/internal/stall"
	vocab "parley/protocol/agentselect"
	"parley/steps"
	"parley/target"
	"parley/transcript"
)

func (s *suite) registerConfiguration(sc *godog.ScenarioContext) {
	steps.Step(sc, `^the target has a custom agent$`, func() error { _, err := s.custom(); return err })
	steps.Step(sc, `^the configuration of the target is noted$`, s.configNoted)
	steps.Step(sc, `^the configuration of the target is unchanged$`, s.configUnchanged)
	steps.Step(sc, `^the configuration gains the agent "([^"]*)"$`, s.gains)
	steps.Step(sc, `^the configuration has gained the agent "([^"]*)"$`, s.hasGained)
	steps.Step(sc, `^the configuration renames the agent "([^"]*)"$`, s.renames)
	steps.Step(sc, `^the configuration loses the agent "([^"]*)"$`, s.loses)
	steps.Step(sc, `^a new client is offered "([^"]*)"$`, func(ctx context.Context, id string) error {
		return s.newClientSees(ctx, id, "offered", func(list []vocab.AgentInfo) bool { _, ok := find(list, id); return ok })
	})
	steps.Step(sc, `^a new client is not offered "([^"]*)"$`, func(ctx context.Context, id string) error {
		return s.newClientSees(ctx, id, "not offered", func(list []vocab.AgentInfo) bool { _, ok := find(list, id); return !ok })
	})
	steps.Step(sc, `^a new client is offered "([^"]*)" under its new name$`, func(ctx context.Context, id string) error {
		return s.newClientSees(ctx, id, "offered under its new name", func(list []vocab.AgentInfo) bool {
			a, ok := find(list, id)
			return ok && a.Name == s.gained[id].Name
		})
	})
	steps.Step(sc, `^client (\w+) is offered "([^"]*)"$`, s.isOffered)
}

// notDeclared turns a hook that the profile lacks into "not tested".
func notDeclared(err error) error {
	var nd *target.NotDeclaredError
	if errors.As(err, &nd) {
		return steps.NotTestedf("%v", err)
	}
	if err != nil {
		return steps.NotTestedf("hook: %v", err)
	}
	return nil
}

func (s *suite) configNoted() error {
	b, err := s.Target.ConfigBytes()
	if err != nil {
		return notDeclared(err)
	}
	s.config = append([]byte{}, b...)
	return nil
}

// configUnchanged judges that switching wrote nothing into the configuration, byte by byte (AS-025).
func (s *suite) configUnchanged() error {
	b, err := s.Target.ConfigBytes()
	if err != nil {
		return notDeclared(err)
	}
	return s.Judge(steps.Check{Clauses: []string{"AS-025"}, OK: bytes.Equal(b, s.config), At: s.T.Len(),
		Expected: fmt.Sprintf("the configuration unchanged, %d bytes", len(s.config)), Observed: fmt.Sprintf("it has changed: %d bytes", len(b))})
}

// hook changes the target's configuration; it is an act, from which absence is judged.
func (s *suite) hook(ctx context.Context, name string, a target.CustomAgent) error {
	s.mark, s.actor = s.T.Len(), nil
	s.T.Remark("", "hook %s: %s %q", name, a.ID, a.Name)
	return notDeclared(s.Target.Hook(ctx, name, a))
}

func (s *suite) gains(ctx context.Context, id string) error {
	a := target.CustomAgent{ID: id, Name: "Parley " + id, Description: "made by a conformance test", Prompt: "PARLEY-" + s.Nonce}
	if c, err := s.custom(); err == nil {
		a.Tools = c.Tools
	}
	if err := s.hook(ctx, target.HookAddAgent, a); err != nil {
		return err
	}
	s.gained[id] = a
	s.AtEnd(func() {
		if _, still := s.gained[id]; still {
			_ = s.Target.Hook(context.WithoutCancel(ctx), target.HookRemoveAgent, a)
		}
	})
	return nil
}

// hasGained is gains as a precondition: new clients are told of the agent before the scenario goes on.
func (s *suite) hasGained(ctx context.Context, id string) error {
	if err := s.gains(ctx, id); err != nil {
		return err
	}
	_, ok, err := s.awaitList(ctx, func(list []vocab.AgentInfo) bool { _, ok := find(list, id); return ok })
	if err != nil {
		return err
	}
	if !ok {
		return steps.NotTestedf("the hook %s did not make new clients see %q within %v", target.HookAddAgent, id, s.Env.Profile.Limits.Reload)
	}
	return nil
}

func (s *suite) renames(ctx context.Context, id string) error {
	a := s.gained[id]
	a.Name = "Renamed " + id
	s.gained[id] = a
	return s.hook(ctx, target.HookChangeAgent, a)
}

func (s *suite) loses(ctx context.Context, id string) error {
	a := s.gained[id]
	if err := s.hook(ctx, target.HookRemoveAgent, a); err != nil {
		return err
	}
	delete(s.gained, id)
	return nil
}

// newClientSees judges that a connection made after the change is told of it (AS-027); a target may take until the
// reload limit to notice.
func (s *suite) newClientSees(ctx context.Context, id, how string, want func([]vocab.AgentInfo) bool) error {
	last, ok, err := s.awaitList(ctx, want)
	if err != nil {
		return err
	}
	observed := "no agent_list"
	if last != nil {
		observed = steps.Seen(*last)
	}
	return s.Need(steps.Check{Clauses: []string{"AS-027"}, OK: ok, Expected: fmt.Sprintf("a new connection that is %s %q within %v", how, id, s.Env.Profile.Limits.Reload),
		Observed: observed, At: s.T.Len()})
}

// awaitList connects anew until the list is as wanted, or the reload limit has passed.
func (s *suite) awaitList(ctx context.Context, want func([]vocab.AgentInfo) bool) (*transcript.Record, bool, error) {
	deadline := stall.In(s.Env.Profile.Limits.Reload.Duration)
	mark, actor := s.mark, s.actor
	defer func() {
		s.mark, s.actor = mark, actor
		_ = s.hasDisconnected(ctx, "new") // who cannot tell connections apart is not left with one too many
	}()
	for pause := 5 * time.Millisecond; ; pause = min(2*pause, 250*time.Millisecond) {
		c := s.client("new")
		if err := s.connect(ctx, c, ""); err != nil {
			return nil, false, err
		}
		if err := s.connected(ctx, c); err != nil {
			return nil, false, err
		}
		if want(c.offered) {
			return c.list, true, nil
		}
		if deadline.Over() || ctx.Err() != nil {
			return c.list, false, nil
		}
		s.pace(ctx, c, s.T.Len(), pause)
	}
}

func (s *suite) isOffered(ctx context.Context, name, id string) error {
	c := s.client(name)
	rec, err := s.offeredList(ctx, c, "AS-027")
	if err != nil {
		return err
	}
	_, ok := find(c.offered, id)
	return s.Judge(steps.Check{Clauses: []string{"AS-027"}, OK: ok, Expected: "a list with " + id, Observed: steps.Seen(rec), At: rec.N})
}
