package agentselect

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"time"

	"parley/features/verdict"
	vocab "parley/protocol/agentselect"
	"parley/steps"
	judge "parley/steps/agentselect/invariants"
	"parley/target"
	"parley/transport/transcript"
)

func (r registry) configuration() {
	r.step(`^the target has a custom agent$`, func() error { _, err := r.custom(); return err })
	r.step(`^the configuration of the target is read$`, r.configRead)
	r.step(`^the configuration of the target is unchanged$`, r.configUnchanged)
	r.step(`^the agent "([^"]*)" is added to the configuration$`, r.adds)
	r.step(`^the agent "([^"]*)" has been added to the configuration$`, r.hasAdded)
	r.step(`^the agent "([^"]*)" is renamed in the configuration$`, r.renames)
	r.step(`^the agent "([^"]*)" is removed from the configuration$`, r.removes)
	r.step(`^a new client is (offered|not offered) "([^"]*)"( under its new name)?$`, r.newClientSees)
	r.step(`^client (\w+) is offered "([^"]*)"$`, r.isOffered)
}

// notDeclared turns a missing or failed hook into "not tested".
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

func (s *suite) configRead() error {
	b, err := s.Target.ConfigBytes()
	if err != nil {
		return notDeclared(err)
	}
	s.config = append([]byte{}, b...)
	return nil
}

// configUnchanged judges that switching left the configuration unchanged, byte by byte (AS-025).
func (s *suite) configUnchanged() error {
	if s.config == nil {
		return steps.NotTestedf("the configuration was not read before")
	}
	b, err := s.Target.ConfigBytes()
	if err != nil {
		return notDeclared(err)
	}
	return s.Judge(verdict.Finding{Clauses: []string{"AS-025"}, OK: bytes.Equal(b, s.config), At: s.T.Len(),
		Expected: fmt.Sprintf("the configuration unchanged, %d bytes", len(s.config)),
		Observed: fmt.Sprintf("it has changed: %d bytes", len(b))})
}

// hook changes the target's configuration; absence is judged from here.
func (s *suite) hook(ctx context.Context, name string, a target.CustomAgent) error {
	s.mark, s.actor, s.configured = s.T.Len(), nil, true
	s.T.Remark("", "hook %s: %s %q", name, a.ID, a.Name)
	return notDeclared(s.Target.Hook(ctx, name, a))
}

func (s *suite) adds(ctx context.Context, id string) error {
	a := target.CustomAgent{ID: id, Name: "Parley " + id, Description: "made by a conformance test",
		Prompt: "PARLEY-" + s.Nonce}
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

// hasAdded is adds as a precondition: it waits until new clients see the agent.
func (s *suite) hasAdded(ctx context.Context, id string) error {
	if err := s.adds(ctx, id); err != nil {
		return err
	}
	_, within, ok, err := s.awaitList(ctx, func(list []vocab.AgentInfo) bool { return hasAgent(list, id) })
	if err != nil {
		return err
	}
	if !ok {
		return steps.NotTestedf("after the hook %s, new clients did not see %q within %v", target.HookAddAgent, id, within)
	}
	return nil
}

func (s *suite) renames(ctx context.Context, id string) error {
	a := s.gained[id]
	a.Name = "Renamed " + id
	s.gained[id] = a
	return s.hook(ctx, target.HookChangeAgent, a)
}

func (s *suite) removes(ctx context.Context, id string) error {
	a := s.gained[id]
	if err := s.hook(ctx, target.HookRemoveAgent, a); err != nil {
		return err
	}
	delete(s.gained, id)
	return nil
}

// newClientSees judges that a connection made after the change sees it (AS-027); the target may take until the reload
// limit.
func (s *suite) newClientSees(ctx context.Context, how, id, renamed string) error {
	if !s.configured {
		return steps.NotTestedf("the configuration was not changed")
	}
	last, within, ok, err := s.awaitList(ctx, func(list []vocab.AgentInfo) bool {
		a, listed := find(list, id)
		return listed == (how == "offered") && (renamed == "" || a.Name == s.gained[id].Name)
	})
	if err != nil {
		return err
	}
	observed := "no agent_list"
	if last != nil {
		observed = steps.Seen(*last)
	}
	if last != nil {
		if err := s.judgeFindings(judge.Agents(*last)); err != nil {
			return err
		}
	}
	expected := fmt.Sprintf("a new connection that is %s %q%s within %v", how, id, renamed, within)
	return s.Need(verdict.Finding{Clauses: []string{"AS-027"}, OK: ok, Expected: expected, Observed: observed,
		At: s.T.Len()})
}

// awaitList reconnects until the list is as wanted, or the reload limit has passed, which is shorter once lists have
// never been as wanted.
func (s *suite) awaitList(
	ctx context.Context, want func([]vocab.AgentInfo) bool,
) (_ *transcript.Record, within time.Duration, ok bool, err error) {
	c, mark, actor := s.client("new"), s.mark, s.actor
	defer func() {
		s.mark, s.actor = mark, actor
		_ = s.hasDisconnected(ctx, c) // no extra connection for a target that cannot tell connections apart
	}()
	limit := s.Env.Profile.Limits.Reload.Duration
	try := s.TryFor("a list with the change of a hook", limit, limit)
	s.retry(ctx, c, try.Within, func() (again bool) {
		if err = s.connect(ctx, c, ""); err == nil {
			err = s.connected(ctx, c)
		}
		ok = err == nil && want(c.offered)
		return err == nil && !ok
	})
	if err == nil && ctx.Err() == nil {
		try.Over(ok)
	}
	return c.list, try.Within, ok, err
}

func (s *suite) isOffered(ctx context.Context, c *client, id string) error {
	rec, err := s.offeredList(ctx, c, "AS-027")
	if err != nil {
		return err
	}
	return s.Judge(steps.CheckOf(rec, hasAgent(c.offered, id), "a list with "+id, "AS-027"))
}
