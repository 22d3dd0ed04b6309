package mutants

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"time"

	proto "parley/protocol/agentselect"
)

// playNames lists the plays, quick ones first.
var playNames = []string{
	"early", "ids", "agents", "clients", "sessions", "urls", "initial", "config", "busy", "late", "second", "flight",
	"deleted", "leftovers", "answers", "together", "endings", "aborts", "turns", "cuts",
}

// plays are sequences of client actions. Each returns the parties whose streams matter.
var plays = map[string]func(s *stage) []*party{
	"ids": func(s *stage) []*party {
		a := s.join("A", "").create()
		a.switchTo(proto.Debugger)
		for _, id := range []any{
			"", nil, 0, 7, false, true, []any{"general"}, object{"id": "general"}, "Agent@123", "General", " general",
			"general\n", "general\nhacker", "a b", "general.toml", "gênéral", "agent٣", "general\x00", "%67eneral",
			"general!", "no_such-agent",
			"7", "0123", "a-legal-id-of-more-than-16", strings.Repeat("a", 80), "hacker",
		} {
			a.switchTo(id)
		}
		a.send(object{"type": "switch_agent"})
		a.switchTo(proto.General)
		return []*party{a}
	},
	"agents": func(s *stage) []*party {
		a := s.join("A", "").create()
		for _, id := range []string{
			proto.RequirementAnalyzer, proto.Debugger, "code_reviewer", proto.General, proto.Debugger, "code_reviewer",
		} {
			a.switchTo(id)
		}
		a.send(object{"type": "switch_agent", "agentId": proto.General, "AgentId": "hacker", "reason": "test"})
		a.send(object{"type": "switch_agent", "agentId": proto.Debugger, "sessionId": a.sess})
		a.send(object{"type": "switch_agent", "agentId": proto.General, "sessionId": "nobody"})
		a.send(object{"type": "switch_agent", "agentId": proto.General, "sessionId": strings.ToUpper(a.sess)})
		a.send(object{"type": "switch_agent", "agentId": proto.General, "sessionId": a.sess + " "})
		a.send(object{"type": "get_agents"})
		a.switchTo(proto.General)
		return []*party{a}
	},
	"clients": func(s *stage) []*party {
		a, b := s.join("A", "").create(), s.join("B", "").create()
		c := s.join("C", "")
		c.switchTo(proto.Debugger)
		a.switchTo(proto.Debugger)
		b.switchTo(proto.RequirementAnalyzer)
		a.switchTo("hacker")
		b.switchTo(proto.Debugger)
		a.switchTo(proto.General)
		a.send(object{"type": "switch_agent", "agentId": proto.Debugger, "sessionId": b.sess})
		d := s.join("D", "").create()
		d.switchTo("code_reviewer")
		return []*party{a, b, c, d, s.join("E", ""), s.join("F", "")}
	},
	"sessions": func(s *stage) []*party {
		a := s.join("A", "").create()
		a.switchTo(proto.Debugger)
		first := a.sess
		a.create().switchTo(proto.RequirementAnalyzer)
		b := s.join("B", "").create()
		b.post("/session/load", object{"sessionId": first})
		b.switchTo(proto.General)
		b.post("/session/load", object{"sessionId": "nobody"})
		b.post("/session/load", object{"sessionId": a.sess})
		b.switchTo(proto.Debugger)
		a.switchTo(proto.General)
		return []*party{a, b}
	},
	"cuts": func(s *stage) []*party {
		watch := s.join("W", "").create()
		var all []*party
		for i, act := range []func(a *party){
			func(a *party) { a.switchTo("hacker") },
			func(a *party) { a.chat("[[stream c1 1]] [[hold c1]]"); a.held("c1") },
			func(a *party) { a.switchTo(proto.General) },
			func(a *party) { a.chat("[[stream c2 1]] [[hold c2]]"); a.held("c2"); a.send(object{"type": "abort"}) },
		} {
			a := s.join(fmt.Sprintf("A%d", i), "").create()
			a.switchTo(proto.Debugger)
			act(a)
			a.leave()
			b := s.join(fmt.Sprintf("B%d", i), "")
			b.post("/session/load", object{"sessionId": a.sess})
			b.send(object{"type": "abort"})
			b.switchTo(proto.RequirementAnalyzer)
			b.switchTo(proto.General)
			b.leave()
			watch.switchTo(proto.Debugger)
			all = append(all, a, b)
		}
		return append(all, watch)
	},
	"urls": func(s *stage) []*party {
		a := s.join("A", "?agentId=debugger").create()
		a.switchTo(proto.General)
		b := s.join("B", "?agent=debugger").create()
		b.switchTo(proto.General)
		return []*party{a, b}
	},
	"config": func(s *stage) []*party {
		a := s.join("A", "").create()
		a.switchTo("code_reviewer")
		s.noteConfig()
		s.configure(strings.Replace(customAgents, "Code Reviewer", "Renamed", 1) +
			"[[agents]]\nid = \"late\"\nname = \"Late\"\n")
		b := s.join("B", "").create()
		b.switchTo("hacker")
		b.switchTo("late")
		b.switchTo("code_reviewer")
		s.configure("")
		a.switchTo("late")
		a.switchTo("code_reviewer")
		return []*party{a, b, s.join("C", "")}
	},
	"busy": func(s *stage) []*party {
		a, b := s.join("A", "").create(), s.join("B", "").create()
		turns := 0
		for _, text := range []string{
			"[[hold b1]]", "[[tool b2 run_command {}]]", "[[tool b3 ask_user {}]]", "[[fail b4 500]]",
		} {
			turns++
			a.chat(text)
			if turns < 4 {
				a.begun()
			} else {
				a.count("complete", turns)
			}
			a.switchTo("code_reviewer")
			b.switchTo(proto.Debugger)
			a.release()
			a.count("complete", turns)
			a.switchTo(proto.General)
			b.switchTo(proto.General)
		}
		a.switchTo(proto.Debugger)
		a.chat("[[fail b5 500]]")
		a.count("complete", turns+1)
		a.switchTo("code_reviewer")
		return []*party{a, b}
	},
	"late": func(s *stage) []*party {
		a := s.join("A", "").create()
		a.chat("[[hold d1]]")
		a.begun()
		a.send(object{"type": "abort", "sessionId": a.sess})
		a.count("complete", 1)
		a.chat("[[hold d2]]")
		a.begun()
		s.brain.Release("d1")
		switched := func(events []object) bool { return countOf(events, "agent_switched") > 0 }
		for range 40 { // nothing signals the late end of a turn
			if a.switchTo(proto.Debugger); a.await(switched, 10*time.Millisecond) {
				break
			}
		}
		s.brain.Release("d2")
		a.count("complete", 2)
		return []*party{a}
	},
	"second": func(s *stage) []*party {
		a := s.join("A", "").create()
		for i, text := range []string{"[[hold b1]]", "[[tool e2 run_command {}]]"} {
			a.chat(text)
			a.begun()
			a.chat("[[echo e3]]")
			a.switchTo(proto.Debugger)
			a.release()
			a.count("complete", i+1)
		}
		a.chat("[[echo e4]]")
		a.count("complete", 3)
		return []*party{a}
	},
	"flight": func(s *stage) []*party {
		a := s.join("A", "").create()
		a.switchTo(proto.Debugger)
		var both sync.WaitGroup
		for _, id := range []string{proto.RequirementAnalyzer, proto.General} {
			both.Go(func() { a.ask("/message", object{"type": "switch_agent", "agentId": id, "connectionId": a.id}) })
		}
		both.Wait()
		chained, last := true, any(proto.General)
		for _, ev := range a.events() {
			if d, _ := ev["data"].(object); ev["type"] == "agent_switched" {
				chained, last = chained && d["previousAgentId"] == last, d["currentAgentId"]
			}
		}
		s.note("two concurrent switches form a chain: %v", chained)
		return nil // their order is random
	},
	"deleted": func(s *stage) []*party {
		a := s.join("A", "").create()
		gone := a.sess
		r := httptest.NewRequestWithContext(s.t.Context(), http.MethodDelete, "/session/"+gone, nil)
		a.server.ServeHTTP(httptest.NewRecorder(), r)
		a.create()
		a.send(object{"type": "switch_agent", "agentId": proto.Debugger, "sessionId": gone})
		return []*party{a}
	},
	"aborts": func(s *stage) []*party {
		a := s.join("A", "").create()
		for _, text := range []string{"[[hold c1]]", "[[tool c2 run_command {}]]", "[[tool c3 ask_user {}]]"} {
			a.chat(text)
			a.begun()
			a.send(object{"type": "abort", "sessionId": a.sess})
			a.switchTo(proto.Debugger)
			a.switchTo(proto.General)
		}
		a.switchTo("code_reviewer")
		a.chat("[[echo c4]]")
		a.count("complete", 4)
		s.brain.Release("c1") // for any client that still listens
		return []*party{a}
	},
	"turns": func(s *stage) []*party {
		a := s.join("A", "").create()
		for i, id := range []string{"", "code_reviewer", proto.Debugger, proto.General} {
			if id != "" {
				a.switchTo(id)
			}
			a.chat("[[tool t run_command {}]]")
			if a.count("tool_confirmation_request", i+1) {
				a.release()
			}
			a.count("complete", i+1)
		}
		b := s.join("B", "").create()
		a.switchTo("code_reviewer")
		b.chat("[[echo t9]]")
		b.count("complete", 1)
		return []*party{a, b}
	},
	"initial": func(s *stage) []*party {
		a := s.join("A", "")
		made, _ := a.post("/session/create", object{"initialAgentId": proto.Debugger})["session"].(object)
		a.sess, _ = made["id"].(string)
		a.chat("[[echo i1]]")
		a.count("complete", 1)
		a.switchTo(proto.General)
		return []*party{a}
	},
	"leftovers": func(s *stage) []*party {
		a := s.join("A", "").create()
		a.switchTo("code_reviewer")
		a.switchTo("hacker")
		a.switchTo("constructor")
		a.chat("[[echo l1]]")
		a.count("complete", 1)
		first := a.sess
		a.create().chat("[[echo l2]]")
		a.count("complete", 2)
		b := s.join("B", "")
		b.sess = first
		b.post("/session/load", object{"sessionId": first})
		b.chat("[[echo l3]]")
		b.count("complete", 1)
		a.post("/session/load", object{"sessionId": first})
		a.switchTo(proto.Debugger)
		a.post("/session/load", object{"sessionId": "nobody"})
		a.switchTo(proto.General)
		return []*party{a, b}
	},
	"answers": func(s *stage) []*party {
		a, b := s.join("A", "").create(), s.join("B", "").create()
		a.chat("[[echo a1]]")
		a.count("complete", 1)
		a.chat("[[tool a2 run_command {}]]")
		a.count("tool_confirmation_request", 1)
		b.chat("[[tool a3 run_command {}]]")
		b.count("tool_confirmation_request", 1)
		b.release()
		b.count("complete", 1)
		a.release()
		a.count("complete", 2)
		a.switchTo(proto.Debugger)
		return []*party{a, b}
	},
	"together": func(s *stage) []*party {
		a, b := s.join("A", "").create(), s.join("B", "").create()
		a.chat("[[hold g1]]")
		a.held("g1")
		b.chat("[[echo g2]]")
		b.count("complete", 1)
		s.brain.Release("g1")
		a.count("complete", 1)
		return []*party{a, b}
	},
	"endings": func(s *stage) []*party {
		a := s.join("A", "").create()
		first := a.sess
		a.chat("[[stream e1 1]] [[hold e1]]")
		a.held("e1")
		a.create().switchTo(proto.Debugger)
		b := s.join("B", "")
		b.send(object{"type": "switch_agent", "agentId": proto.General, "sessionId": a.sess})
		a.send(object{"type": "switch_agent", "agentId": proto.Debugger, "sessionId": first})
		a.switchTo(proto.General)
		a.post("/session/load", object{"sessionId": first})
		a.switchTo(proto.Debugger)
		b.create().send(object{"type": "switch_agent", "agentId": proto.Debugger, "sessionId": first})
		a.leave()
		b.switchTo(proto.Debugger)
		c := s.join("C", "")
		c.sess = first
		c.post("/session/load", object{"sessionId": first})
		c.switchTo(proto.Debugger)
		c.send(object{"type": "abort"})
		c.switchTo(proto.Debugger)
		c.chat("[[stream e2 1]] [[hold e2]]")
		c.held("e2")
		d := s.join("D", "")
		d.post("/session/load", object{"sessionId": first})
		d.send(object{"type": "abort"})
		d.switchTo(proto.RequirementAnalyzer)
		c.leave()
		d.switchTo(proto.General)
		return []*party{a, b, c, d}
	},
	"early": func(s *stage) []*party {
		early := s.joinEarly("A")
		return []*party{early}
	},
}
