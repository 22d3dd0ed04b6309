package sessionruntime

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/cucumber/godog"

	"parley/features/verdict"
	vocab "parley/protocol/sessionruntime"
	"parley/steps"
	"parley/steps/sessionruntime/binding"
	judge "parley/steps/sessionruntime/model"
	"parley/steps/sessionruntime/probe"
	"parley/target"
	"parley/transport/driver"
	"parley/transport/transcript"
)

// fence waits until everything delivered has been handled.
func (s *suite) fence(ctx context.Context) error {
	if err := s.handBack(ctx); err != nil {
		return err
	}
	if !s.bind.wire.Fence {
		return s.quiet(ctx)
	}
	id, at, err := s.askFence(ctx)
	if err != nil {
		return err
	}
	if _, miss := s.awaitFenced(ctx, fenced{id, at}); miss != nil {
		return steps.NotTestedf("fence: no answer, so absence cannot be proved: %s", miss.Reason)
	}
	return nil
}

// awaitFenced waits for the answer of a fence.
func (s *suite) awaitFenced(ctx context.Context, f fenced) (transcript.Record, *verdict.Miss) {
	rec, miss := s.Await(ctx, steps.Wait{Conn: bus, After: f.at, Kind: "the answer of a fence", Proof: true,
		Match: func(r *transcript.Record) bool { return isFenced(r, f.id) }})
	s.unfenced = miss != nil
	return rec, miss
}

// askFence sends a fence without waiting for the answer.
func (s *suite) askFence(ctx context.Context) (id string, at int, err error) {
	id = fmt.Sprintf("fence-%d-%s", s.Serial(), s.Nonce)
	at, err = s.write(ctx, driver.Message{Label: judge.FenceFrame, Body: []byte(`{"parley":"fence","id":"` + id + `"}`)})
	s.pending = fenced{id, at}
	return id, at, err
}

// fenced is a sent fence: its id, and the number of its record.
type fenced struct {
	id string
	at int
}

// awaitPending waits for the answer to a fence that the scenario has not awaited, if a message is still due by it.
func (s *suite) awaitPending(ctx context.Context) {
	p := s.pending
	s.pending = fenced{}
	if p.at > 0 && s.latestFenced(p.id).N == 0 && !s.unfenced && s.model().Due(p.at) {
		_, _ = s.awaitFenced(ctx, p)
	}
}

// awaitOverdue gives messages that were due by the latest fence another quiet window, because an adapter may answer
// fences too early. It is called before each delivery and at the end: after another delivery, a message after the
// fence may be an effect of that. Messages that did not come in their window are not awaited again.
func (s *suite) awaitOverdue(ctx context.Context) {
	if !s.bind.wire.Fence {
		return
	}
	s.awaitPending(ctx)
	fenced := s.latestFenced("")
	if fenced.N <= s.passed {
		return
	}
	s.passed = fenced.N
	due := s.model().Overdue()
	defer func() { s.lost = due }()
	for end := time.Now().Add(s.Env.Profile.Limits.Quiet.Duration); due > s.lost; {
		late, miss := s.Await(ctx,
			steps.Wait{Conn: bus, After: s.passed, Within: max(time.Until(end), time.Nanosecond),
				Match: func(r *transcript.Record) bool {
					m, ok := judge.Read(*r)
					return ok && !m.Delivered
				}})
		if miss != nil {
			return
		}
		s.passed = late.N
		if left := s.model().Overdue(); left < due {
			due = left
			s.fenceIsEarly(late, fenced)
		}
	}
}

// isFenced reports whether a record answers a fence; id "": any.
func isFenced(r *transcript.Record, id string) bool {
	return r.Event != nil && r.Event.Type == judge.FencedFrame && (id == "" || member(r, judge.ID) == id)
}

// earlyFence is the key that records that this target's fences prove nothing.
const earlyFence = "session-runtime: the fence is early"

// fenceIsEarly stops trusting this target's fences: a message that was due came after one, though nothing had been
// delivered meanwhile. No clause covers fences.
func (s *suite) fenceIsEarly(late, fenced transcript.Record) {
	s.bind.wire.Fence = false
	if _, known := s.Env.Learnt.LoadOrStore(earlyFence, true); !known {
		s.Note("%s came %.1f ms after the fence (record %d), as record %d: does the adapter answer before pending tasks "+
			"have run? "+
			"From now on absence is proved by the quiet window, as with session-runtime.fence: false", late.Event.Type,
			float64((late.At-fenced.At).Microseconds())/1000, fenced.N, late.N)
	}
}

// quiet replaces a fence by a quiet window.
func (s *suite) quiet(ctx context.Context) error {
	before := s.T.Len()
	_, miss := s.Await(ctx,
		steps.Wait{Conn: bus, After: before, Within: s.Env.Profile.Limits.Quiet.Duration,
			Match: func(*transcript.Record) bool { return false }})
	if miss != nil && s.endedAt() > 0 {
		return steps.NotTestedf("the bus has ended: %s", miss.Reason)
	}
	s.T.Remark("", "%s%d", judge.Quiet, before)
	return nil
}

// fenceIsLate checks that the consequences of messages are published before a later fence is answered. All are sent
// at once.
func (s *suite) fenceIsLate(ctx context.Context, inputs int) error {
	for i := range inputs {
		if err := s.says(ctx, fmt.Sprintf("t%d", i+1), "", ""); err != nil {
			return err
		}
	}
	id, at, err := s.askFence(ctx)
	if err != nil {
		return err
	}
	fenced, miss := s.awaitFenced(ctx, fenced{id, at})
	if miss != nil {
		return steps.NotTestedf("fence: no answer: %s%s", miss.Reason, s.inPlace(at))
	}
	late, miss := s.Await(ctx,
		steps.Wait{Conn: bus, After: fenced.N, Within: s.Env.Profile.Limits.Quiet.Duration,
			Match: func(r *transcript.Record) bool {
				m, ok := judge.Read(*r)
				return ok && !m.Delivered && (m.Kind() == judge.Route || m.Kind() == judge.Accepted)
			}})
	if miss == nil {
		return steps.NotTestedf("fence: %s came %.1f ms after its answer (record %d), as record %d: the adapter answers "+
			"before pending tasks have run. "+
			"Have it wait for them, or give session-runtime.fence: false", late.Event.Type,
			float64((late.At-fenced.At).Microseconds())/1000, fenced.N, late.N)
	}
	return nil
}

// latestFenced returns the record of the latest answer to a fence; id "": to any.
func (s *suite) latestFenced(id string) (fenced transcript.Record) {
	for _, r := range s.Between(bus, 0, 0) {
		if isFenced(&r, id) {
			fenced = r
		}
	}
	return fenced
}

// Courses implements steps.Severer. The source does not say what happens to a session whose bus is lost. A bus that
// reconnects sets up its session again, in its initial state (RT-014, RT-064): inputs are routed as usual, and further
// output of the agents in old turns belongs to unknown turns, and is not forwarded (RT-141).
func (Protocol) Courses(string) []steps.Course {
	return []steps.Course{{
		ID: "turns", Name: "a session with a whole turn, a mention and a cancelled turn", Party: bus,
		Tags: strings.Fields(`@RT-002 @RT-013 @RT-014 @RT-016 @RT-048 @RT-063 @RT-064 @RT-065 @RT-067 @RT-068 @RT-069
			@RT-072 @RT-073 @RT-074 @RT-075 @RT-077 @RT-141 @RT-148 @RT-149 @RT-150 @RT-162`),
		Lines: []string{
			`Given session "red" of agents "a", "b" and "c" where agent "a" is active`,
			`When the user says "t1"`, `Then "t1" reaches agent "a"`,
			`When agent "a" acknowledges "t1"`, `Then "t1" is accepted`,
			`When agent "a" sends a chunk of "t1"`, `Then the frontend receives the output of "t1"`,
			`When the user mentions agent "b" in "t2" by its payload`, `Then "t2" reaches agent "b"`,
			`When agent "b" acknowledges "t2"`, `Then "t2" is accepted`,
			`When agent "a" sends the final of "t1"`, `Then the frontend receives the output of "t1"`,
			`When agent "b" sends a chunk of "t2"`, `Then the frontend receives the output of "t2"`,
			`When the user cancels`, `Then agent "b" is asked to stop "t2"`,
			`When agent "b" confirms the cancel of "t2"`, `Then the frontend is told that "t2" is cancelled`,
		},
		Back: []string{
			steps.ComesBack, `When the bus is connected`, `And session "red" is set up anew with agents "a", "b" and "c"`,
			`And the agents continue the turns from before the cut`, `Then none of that output is forwarded`,
			`And the next input reaches agent "a"`,
			`When the user says "t3"`, `Then "t3" reaches agent "a"`,
			`When agent "a" acknowledges "t3"`, `Then "t3" is accepted`,
			`When agent "a" sends a chunk of "t3"`, `Then the frontend receives the output of "t3"`,
			`When agent "a" sends the final of "t3"`, `Then the frontend receives the output of "t3"`,
			`And everything is handled`,
		},
	}}
}

func (s *suite) registerSevering(sc *godog.ScenarioContext) {
	steps.Step(sc, `^session "(\w+)" is set up anew with (agents .+)$`, s.setUpAgain)
	steps.Step(sc, `^the agents continue the turns from before the cut$`, s.goOnWithOld)
	steps.Step(sc, `^none of that output is forwarded$`, s.noneOfOld)
}

// severed marks the bus that was cut on purpose as lost. Messages prevented by the cut are not due any more.
func (s *suite) severed(string, steps.Way) error {
	if s.conn != nil {
		_ = s.conn.Close(driver.Reset)
	}
	if s.now != nil {
		s.before = s.now.inputs
	}
	s.conn, s.pending, s.unfenced, s.passed, s.lost, s.stray = nil, fenced{}, false, 0, 0, nil
	s.absences = nil
	s.T.Remark("", judge.Anew)
	s.mark, s.echoed = s.T.Len(), s.T.Len()
	return nil
}

// setUpAgain sets up a session on the new bus under its old id, with the first agent active.
func (s *suite) setUpAgain(ctx context.Context, name, agents string) error {
	first := letters.FindString(agents)
	return s.setUp(ctx, name, agents, "agent "+first)
}

// goOnWithOld makes the agents send a chunk and a final in every turn that was routed to them before the cut.
func (s *suite) goOnWithOld(ctx context.Context) error {
	for _, name := range slices.Sorted(maps.Keys(s.before)) {
		in := s.before[name]
		letter := s.letter(in.agent)
		if in.turn == "" || letter == "" {
			continue
		}
		s.now.inputs[name] = in
		err := s.sends(ctx, letter, "a chunk", name, "")
		delete(s.now.inputs, name)
		if err != nil {
			return err
		}
		s.late = append(s.late, in.last)
	}
	return nil
}

// noneOfOld judges that no output of the old turns reaches the frontend.
func (s *suite) noneOfOld(ctx context.Context) error {
	return s.handled(ctx)
}

// letter returns the letter by which a scenario refers to an agent of the current session; "" if there is none.
func (s *suite) letter(agent string) string {
	i := slices.IndexFunc(s.now.agents, func(letter string) bool { return s.agent(letter) == agent })
	if i < 0 {
		return ""
	}
	return s.now.agents[i]
}

var (
	_ steps.Recognisable = Protocol{}
	_ steps.Prober       = Protocol{}
)

// IsServerMessage implements steps.Recognisable: an answer to a set-up or a fence, or a bus message.
func (Protocol) IsServerMessage(message any, _ string) bool {
	switch steps.Text(message, "parley") {
	case vocab.Ready, vocab.Fenced, vocab.Problem:
		return true
	}
	return steps.Text(message, "event") != "" && steps.Has(message, "session_id", "target", "sender", "subtype") > 0
}

// IsServerEvent implements steps.Recognisable: a control frame, or an event that the profile names.
func (p Protocol) IsServerEvent(ev *transcript.Event) bool {
	return p.IsServerMessage(ev.Envelope, "") || ev.Type != "" && !strings.HasPrefix(ev.Type, "(") &&
		!strings.HasPrefix(ev.Type, "parley ")
}

// UsualPlaces implements steps.Recognisable. A fence is answered even without a session.
func (Protocol) UsualPlaces() []steps.Place {
	return steps.SocketPlaces([]string{`{"parley":"` + vocab.Fence + `","id":"parley-hello"}`}, probe.UsualPaths...)
}

// Probe implements steps.Prober: a fence, which is answered even without a session; nothing if the target does not
// support fences.
func (Protocol) Probe(env *steps.Env, run target.Running) (driver.OpenOptions, []driver.Message, error) {
	wire := binding.Of(env.Profile)
	if !wire.Fence {
		return driver.OpenOptions{}, nil, nil
	}
	o := driver.OpenOptions{Party: "probe", Header: env.Profile.Header(), MaxEvent: int(env.Profile.Limits.MaxEvent)}
	if env.Driver.Name() == target.Stdio {
		o.Process = target.Starter(run)
	} else {
		o.URL = run.BaseURL() + wire.WS.Path
	}
	fence := driver.Message{Label: judge.FenceFrame, Body: []byte(`{"parley":"` + vocab.Fence + `","id":"parley-hello"}`)}
	return o, []driver.Message{fence}, nil
}

// PlaceKey implements steps.Recognisable.
func (Protocol) PlaceKey(string) string { return "session-runtime.ws.path" }
