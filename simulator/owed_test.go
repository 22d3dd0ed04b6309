package simulator_test

import (
	"context"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"parley/reference-server/bundled"
	"parley/runner"
	"parley/simulator"
	"parley/steps"
	"parley/steps/protocols"
	"parley/steps/sessionruntime/binding"
	"parley/target"
	"parley/transport/transcript"
)

// openMutant begins a session with a mutant of session-runtime, which answers no fence and has an hour for each
// message.
func openMutant(t *testing.T, id string) *simulator.Session {
	t.Helper()
	all := bundled.All.Mutants(protocols.Kinds(), "session-runtime", "")
	i := slices.IndexFunc(all, func(m runner.Mutant) bool { return m.ID == id })
	if i < 0 {
		t.Fatalf("session-runtime has no mutant %s", id)
	}
	b := bundled.All.For(protocols.Kinds(), "session-runtime", "")
	patient, unfenced := *b.Profile, *binding.Of(b.Profile)
	patient.Limits.Event.Duration, unfenced.Fence = time.Hour, false
	patient.Sections = []target.Section{{Key: patient.Protocol, Value: &unfenced}}
	s, err := simulator.Open(t.Context(), runner.Options{Protocols: protocols.All, Profile: &patient,
		Launcher: all[i].Launch(b.Brain), Brain: b.Brain})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	return s
}

// does executes steps, none of which is undefined.
func does(t *testing.T, s *simulator.Session, all ...string) {
	t.Helper()
	for _, step := range all {
		if _, err := s.Do(t.Context(), step, steps.StepArg{}); err != nil {
			t.Fatalf("%s: %v", step, err)
		}
	}
}

// comes awaits a message of the target with a text.
func comes(t *testing.T, s *simulator.Session, text string) {
	t.Helper()
	if _, err := s.Transcript().Await(t.Context(), 0, func(r *transcript.Record) bool {
		return r.Dir == transcript.Received && strings.Contains(string(r.Bytes), text)
	}); err != nil {
		t.Fatal(err)
	}
}

func whats(list []steps.Owed) (all []string) {
	for _, o := range list {
		all = append(all, o.What)
	}
	return all
}

// TestOwed: what the target owes is listed until it comes, with who owes it, since when, why, and by which clauses.
func TestOwed(t *testing.T) {
	s := openMutant(t, "accepted-with-ack")
	does(t, s, `session "main" of agents "a" and "b" where agent "a" is active`)
	if list, count, modelled := s.Owed(); count != 0 || !modelled {
		t.Errorf("before any input %q is owed; modelled: %v", whats(list), modelled)
	}
	does(t, s, `the user says "one"`)
	comes(t, s, `"target":"AGENT"`) // routed, which is announced too late
	list, count, _ := s.Owed()
	const accepted = "TURN_ACCEPTED to the frontend before any acknowledgement"
	i := slices.IndexFunc(list, func(o steps.Owed) bool { return o.What == accepted })
	if i < 0 || count != len(list) {
		t.Fatalf("%d are owed: %q", count, whats(list))
	}
	cause := s.Transcript().Page(list[i].Record-1, 1)[0]
	if o := list[i]; o.By != "server" || !slices.Contains(o.Clauses, "RT-074") || cause.Dir != transcript.Sent ||
		!strings.Contains(string(cause.Bytes), "USER_INPUT") || !o.Since.Equal(s.Transcript().Began().Add(cause.At)) {
		t.Errorf("owed is %+v because of %s", o, cause.Line(200))
	}
	does(t, s, `agent "a" acknowledges "one"`)
	comes(t, s, "TURN_ACCEPTED")
	if list, _, _ := s.Owed(); slices.Contains(whats(list), accepted) {
		t.Errorf("after it has come, %q is owed", whats(list))
	}
	s.Close()
	if list, count, _ := s.Owed(); count > 0 {
		t.Errorf("after the end of the session, %q is owed", whats(list))
	}
}

// TestWait: a step that waits says what is owed, by whom, since when, by which clauses, and how to end it; it says
// nothing before, and nothing after it was interrupted.
func TestWait(t *testing.T) {
	s := openMutant(t, "input-not-routed")
	does(t, s, `session "main" of agents "a" and "b" where agent "a" is active`, `the user says "one"`)
	if got := s.Wait(); got != "" {
		t.Errorf("between steps: %q", got)
	}
	waiting, cancel := context.WithCancel(t.Context())
	over := make(chan error, 1)
	go func() {
		_, err := s.Do(waiting, `"one" reaches agent "a"`, steps.StepArg{})
		over <- err
	}()
	for {
		now, changed := s.Progress()
		if now.Awaits != nil {
			break
		}
		<-changed
	}
	want := regexp.MustCompile(
		`^waiting for the input on its way to agent agent-a from the server, \d+ s, RT-001 RT-013 RT-015 \+2; Ctrl-C$`)
	if got := s.Wait(); !want.MatchString(got) {
		t.Errorf("the step says %q", got)
	}
	cancel()
	if err := <-over; err != nil {
		t.Errorf("the step ends with %v", err)
	}
	if got := s.Wait(); got != "" {
		t.Errorf("after the step: %q", got)
	}
}

// TestUnowed: after a deviation nobody can say what is owed, and the session says that, and why.
func TestUnowed(t *testing.T) {
	s := openMutant(t, "input-routed-twice")
	does(t, s, `session "main" of agents "a" and "b" where agent "a" is active`)
	if why := s.Unowed(); why != "" {
		t.Errorf("before any input: %s", why)
	}
	does(t, s, `the user says "one"`)
	comes(t, s, "TURN_ACCEPTED")
	list, count, _ := s.Owed()
	if why := s.Unowed(); count > 0 || !strings.Contains(why, "deviates (RT-") {
		t.Errorf("%q is owed, and %q", whats(list), why)
	}
}
