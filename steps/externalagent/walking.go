package externalagent

import (
	"context"
	"fmt"
	"slices"

	"parley/internal/deadline"
	vocab "parley/protocol/externalagent"
	"parley/steps"
	"parley/steps/externalagent/binding"
	"parley/steps/externalagent/model"
	"parley/steps/toolschema"
	wjson "parley/transport/wire/json"
)

// path returns a path through the host's whole flow.
func (s *suite) path() []binding.ToolCall {
	if s.Env.Role == vocab.Relay {
		f, err := loadFlow(binding.FlowFile(s.Env.Profile))
		if err != nil {
			return nil
		}
		return f.Booking
	}
	return s.wire.Booking
}

// wholePath is path, but returns an error if there is none.
func (s *suite) wholePath() ([]binding.ToolCall, error) {
	if path := s.path(); len(path) > 0 {
		return path, nil
	}
	return nil, steps.NotTestedf("there is no booking path (%s)", s.pathIn())
}

// misfit returns the error that a call of the booking path, or of those that provoke an error, does not fit what the
// host announces. The profile is at fault.
func (s *suite) misfit(c binding.ToolCall, why any) error {
	if s.provoking != "" {
		return steps.NotTestedf("%s does not match the host: %s: %v", s.provoking, c.Tool, why)
	}
	return steps.NotTestedf("the booking path does not match the host (%s): %s: %v", s.pathIn(), c.Tool, why)
}

// pathIn says where the booking path is configured.
func (s *suite) pathIn() string {
	if s.Env.Role == vocab.Relay {
		return "booking, in the file external-agent.flow"
	}
	return "external-agent.booking in the profile"
}

// announced parses the tools of a state and notes what it ignores in their schemas. It caches the last result,
// because most states announce the same tools.
func (s *suite) announced(now state) (toolschema.Tools, error) {
	list := now.List()
	if s.read.tools != nil && wjson.Equal(s.read.list, list) {
		return s.read.tools, nil
	}
	tools, err := learnt[toolschema.Memory](s).Parse(list)
	if err != nil {
		return nil, steps.NotTestedf("toolSchema is not understood: %v", err)
	}
	s.read.list, s.read.tools = list, tools
	for _, odd := range tools.Odd() {
		if text := "in the announced schema of " + odd; !s.oddities[text] {
			s.oddities[text] = true
			s.Note("%s", text)
		}
	}
	return tools, nil
}

// announcedNow asks for the state of a party, and returns it with its tools.
func (s *suite) announcedNow(ctx context.Context, p *party) (now state, tools toolschema.Tools, err error) {
	if now, err = s.snapshot(ctx, p); err == nil {
		tools, err = s.announced(now)
	}
	return now, tools, err
}

// fitting is how a call of the booking path can be made.
type fitting struct {
	params object
	sure   bool // by the announced schema, they are definitely valid
}

// fit returns the params of a call of the booking path, or an error saying why the announced tools do not allow it.
func (s *suite) fit(c binding.ToolCall, now state) (fitting, error) {
	announced, err := s.announced(now)
	if err != nil {
		return fitting{}, err
	}
	t := announced.Find(c.Tool)
	if t == nil {
		return fitting{}, s.misfit(c, "it is not announced at this stage")
	}
	params, err := paramsFor(c, now.UI)
	if err != nil {
		return fitting{}, s.misfit(c, err)
	}
	if err := t.Accepts(params); err != nil {
		return fitting{}, s.misfit(c, err)
	}
	_, sure := t.Example(nil)
	return fitting{params, sure}, nil
}

// ready waits until a call of the booking path fits what the host announces: a host may take a while to proceed and
// then send a state.updated.
//
// A misfit that outlasts the limit and never resolves is awaited once per run: the profile is at fault, and further
// scenarios that get there are not tested at once.
func (s *suite) ready(ctx context.Context, p *party, c binding.ToolCall, now state) (state, fitting, error) {
	limit := s.Env.Event()
	if s.inVain(p) != nil { // the host is elsewhere, which has been waited for
		limit = s.Env.Profile.Limits.Quiet.Duration
	}
	end := deadline.In(s.Limit(limit))
	misfits := ""
	for {
		fits, err := s.fit(c, now)
		if err == nil {
			if misfits != "" {
				s.Env.Learnt.Store(misfits, fitsLater)
			}
			return now, fits, nil
		}
		if misfits == "" {
			misfits = fmt.Sprintf("external-agent: %v; announced tools: %s", err, wjson.Compact(namesOf(now.List())))
		}
		known, _ := s.Env.Learnt.Load(misfits)
		outlasts := func() {
			if s.undone(p, now) == "" && s.inVain(p) == nil { // lost effects say nothing about the path
				s.Env.Learnt.LoadOrStore(misfits, neverFits)
			}
		}
		left := end.Left()
		switch {
		case known == neverFits:
			return now, fitting{}, err
		case left <= 0: // the last state came too late to be waited for again
			outlasts()
			return now, fitting{}, err
		}
		if _, miss := s.Await(ctx, steps.Wait{Conn: p.name, After: now.N, Within: left, Fence: s.fence(p),
			Kind: "a state in which the booking path goes on", Family: vocab.StateUpdated,
			Match: received(vocab.StateUpdated)}); miss != nil {
			if miss.At == 0 {
				outlasts()
			}
			if s.Env.Role == vocab.Relay { // the host is the harness, with its own path
				err = s.Need(model.Unfit(now, c.Tool, err.Error()))
			}
			return now, fitting{}, err
		}
		next, failed := s.snapshot(ctx, p)
		if failed != nil {
			return now, fitting{}, failed
		}
		now = next
	}
}

// What is known about a call that does not fit at first, under the reason.
const (
	neverFits = "never"
	fitsLater = "later"
)

// namesOf returns the names of announced tools.
func namesOf(list []any) []string {
	out := []string{}
	for _, item := range list {
		out = append(out, nameOf(item))
	}
	return out
}

// nameOf returns the name of an announced tool.
func nameOf(item any) string {
	o, _ := item.(object)
	name, _ := o["name"].(string)
	return name
}

// stepOf makes one call of the booking path once it fits; last says that it is the last one. If it never fits, the
// profile is at fault.
func (s *suite) stepOf(ctx context.Context, p *party, c binding.ToolCall, now state, last bool) (*request, error) {
	now, fits, err := s.reached(ctx, p, c, now)
	if err != nil {
		return nil, err
	}
	p.before = now
	q, err := s.call(ctx, p, c.Tool, fits.params)
	q.sure, q.last, q.before = fits.sure, last, now
	return q, err
}

// settle returns the state after a successful call, in which its effect shows, which may come late (EA-053, EA-054).
// If none shows within the event limit, or the quiet window for tools whose result may say it all, it returns the
// state so far.
func (s *suite) settle(ctx context.Context, q *request, before state) (state, error) {
	now, err := s.snapshot(ctx, q.of)
	if err != nil || s.shows(q, before, now) {
		return now, err
	}
	within, without := s.Env.Event(), q.of.name+" without a state.updated after "+q.tool
	if !slices.Contains(model.Effective, q.tool) || s.missedUpdates[without] {
		within = s.Env.Profile.Limits.Quiet.Duration // choosing what is already chosen has no effect
	}
	if _, miss := s.awaitEffect(ctx, q, before, within); miss != nil {
		s.missedUpdates[without] = true
		q.vain = slices.Contains(model.Effective, q.tool)
		return now, nil
	}
	return s.snapshot(ctx, q.of)
}

// advance makes a call of the booking path, which must succeed, and returns the state after it; last says that it is
// the last one.
func (s *suite) advance(ctx context.Context, p *party, c binding.ToolCall, now state, last bool) (state, error) {
	q, err := s.stepOf(ctx, p, c, now, last)
	if err != nil {
		return now, err
	}
	if _, err := s.wentWell(ctx, q); err != nil {
		return now, err
	}
	return s.settle(ctx, q, p.before)
}

// upTo makes the calls of the booking path up to the first one of a tool, which is left to be judged; "" means the
// first of all.
func (s *suite) upTo(ctx context.Context, p *party, tool string) error {
	path, err := s.wholePath()
	if err != nil {
		return err
	}
	now, err := s.still(ctx, p)
	for i, c := range path {
		if err != nil {
			return err
		}
		last := i == len(path)-1
		if tool == "" || tool == c.Tool {
			_, err = s.stepOf(ctx, p, c, now, last)
			return err
		}
		now, err = s.advance(ctx, p, c, now, last)
	}
	return &steps.NotApplicableError{Reason: fmt.Sprintf("the booking path has no call of %q (%s)", tool, s.pathIn())}
}

// eachStage goes through the booking and visits every state with a changed toolSchema, once the next call fits it. If
// a visit reports that it moved the flow, a new session goes to the same place of the booking.
func (s *suite) eachStage(
	ctx context.Context, p *party, visit func(done int, now state, announced toolschema.Tools) (moved bool, err error),
) error {
	was := any(nil)
	now, err := s.still(ctx, p)
	if err != nil {
		return err
	}
	path := s.path()
	for done := 0; ; done++ {
		if done < len(path) {
			if now, _, err = s.reached(ctx, p, path[done], now); err != nil {
				return err
			}
		}
		if done == 0 || !wjson.Equal(was, now.Tools) {
			was = now.Tools
			announced, err := s.announced(now)
			if err != nil {
				return err
			}
			moved, err := visit(done, now, announced)
			if err == nil && moved && done < len(path) {
				now, err = s.goTo(ctx, p, done)
			}
			if err != nil {
				return err
			}
		}
		if done == len(path) {
			return nil
		}
		if now, err = s.advance(ctx, p, path[done], now, done == len(path)-1); err != nil {
			return err
		}
	}
}

// goTo starts a new session and makes the first calls of the booking.
func (s *suite) goTo(ctx context.Context, p *party, done int) (state, error) {
	if err := s.anew(ctx, p); err != nil {
		return state{}, err
	}
	now, err := s.still(ctx, p)
	path := s.path()
	for i, c := range path[:done] {
		if err != nil {
			return state{}, err
		}
		now, err = s.advance(ctx, p, c, now, i == len(path)-1)
	}
	if err != nil || done == len(path) {
		return now, err
	}
	now, _, err = s.reached(ctx, p, path[done], now)
	return now, err
}

// anew ends the party's session and starts another.
func (s *suite) anew(ctx context.Context, p *party) error {
	if p.study == "" {
		return s.hasSession(ctx, p)
	}
	return inTurn(ctx, p, s.ends, s.isEnded, s.hasSession)
}
