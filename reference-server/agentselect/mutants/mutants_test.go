package mutants

import (
	"slices"
	"testing"

	"parley/internal/tier"
	proto "parley/protocol/agentselect"
	"parley/reference-server/agentselect"
)

func mutant(id string) func(agentselect.Options) (Server, error) {
	return func(o agentselect.Options) (Server, error) { return Handler(id, o) }
}

func soundServer(o agentselect.Options) (Server, error) { return agentselect.New(o) }

// Every mutant starts, and lets clients connect unless its row says otherwise.
func TestGreeting(t *testing.T) {
	for _, m := range All() {
		t.Run(m.ID, func(t *testing.T) {
			t.Parallel()
			p := newStage(t, mutant(m.ID)).join("A", "")
			events := p.events()
			id, _ := p.id.(string)
			_, status, _ := p.out.read()
			greeted := status == 200 && p.out.header.Get("Content-Type") == "text/event-stream" &&
				id != "" && id != "1" && countOf(events, "agent_list") == 1
			if greeted != (m.Greeting == "") {
				t.Errorf("greeted: %v; events %v", greeted, events)
			}
		})
	}
}

// Every mutant shows: at least one play has a different transcript than with the correct server.
func TestEveryMutantShows(t *testing.T) {
	tier.Night(t)
	sound := map[string]string{}
	for name, play := range plays {
		s := newStage(t, soundServer)
		sound[name] = s.transcript(play(s)...)
		again := newStage(t, soundServer)
		if text := again.transcript(play(again)...); text != sound[name] {
			t.Fatalf("%s is not the same twice:\n%s\n%s", name, sound[name], text)
		}
	}
	for _, m := range All() {
		t.Run(m.ID, func(t *testing.T) {
			t.Parallel()
			for _, name := range playNames {
				s := newStage(t, mutant(m.ID))
				s.wait = patienceWithFault
				if s.transcript(plays[name](s)...) != sound[name] {
					t.Logf("shows in %s", name)
					return
				}
			}
			t.Error("behaves as the correct server does")
		})
	}
}

func TestDelayed(t *testing.T) {
	s := newStage(t, Delayed)
	a := s.join("A", "").create()
	heard := func(want ...string) {
		t.Helper()
		var kinds []string
		a.await(func(events []object) bool {
			kinds = nil
			for _, ev := range events[2:] {
				kind := ev["type"].(string)
				if code, coded := ev["data"].(object)["errorCode"]; coded {
					kind = code.(string)
				}
				kinds = append(kinds, kind)
			}
			return len(kinds) >= len(want)
		}, a.wait)
		if !slices.Equal(kinds, want) {
			t.Fatalf("heard %v, want %v", kinds, want)
		}
	}
	a.switchTo(proto.Debugger)
	heard()
	a.switchTo("hacker")
	heard("agent_switched")
	a.switchTo("")
	heard("agent_switched", "agent_not_found")
	if status := a.statusOf(object{"type": "nonsense"}); status != 200 {
		t.Errorf("status %d, want that of the message before", status)
	}
	heard("agent_switched", "agent_not_found", "invalid_agent_id")
	if status := a.statusOf(object{"type": "switch_agent", "agentId": "general"}); status != 400 {
		t.Errorf("status %d, want that of the message before", status)
	}
}

func TestUnknownMutant(t *testing.T) {
	if _, err := Handler("nobody", agentselect.Options{}); err == nil {
		t.Error("no error")
	}
}
