package sessionruntime

import (
	"context"
	"maps"
	"slices"
	"strings"

	"github.com/cucumber/godog"

	"parley/steps"
	judge "parley/steps/sessionruntime/invariants"
	"parley/transport/driver"
)

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
	s.conn, s.pending, s.unfenced, s.settled, s.lost, s.stray = nil, fenced{}, false, 0, 0, nil
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
	if len(s.late) == 0 {
		return nil
	}
	first := s.late[0].at
	return s.none(ctx, first, []string{"RT-141"}, "no AGENT_OUTPUT of a turn from before the cut",
		func(m judge.Message) bool {
			return slices.ContainsFunc(s.late, func(p *piece) bool { return isOutput(p)(m) })
		})
}

// letter returns the letter by which a scenario refers to an agent of the current session; "" if there is none.
func (s *suite) letter(agent string) string {
	i := slices.IndexFunc(s.now.agents, func(letter string) bool { return s.agent(letter) == agent })
	if i < 0 {
		return ""
	}
	return s.now.agents[i]
}
