package model

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"parley/features/verdict"
	vocab "parley/protocol/agentselect"
	"parley/transport/transcript"
)

// sim is a conforming page with its user and a server, all acting at random. Messages between
// the page and the point of observation are delayed, and answers and requests overtake each other.
type sim struct {
	*rand.Rand
	out []transcript.Record

	fault string // the fault of the page; "": none

	// the page
	options           []string
	current, selected string
	chosen            string // preselected
	session           string
	connID            string
	up, listed        bool
	busy              string // the agent that was refused as the session was busy; "": none
	switching         int    // number of the request for the switch in progress; 0: none
	requests          int

	// the way
	streams int
	open    bool
	toPage  []func() // of the stream, in their order
	later   []func() // requests and answers in flight, in any order

	// the server
	config   []string
	agents   map[string]string // session → agent
	bound    string
	sessions int
}

func (s *sim) record(r transcript.Record) int {
	r.N = len(s.out) + 1
	s.out = append(s.out, r)
	return r.N
}

func (s *sim) stream() string { return fmt.Sprintf("A%s %d", api, s.streams) }

// tells sends an event to the page.
func (s *sim) tells(kind string, data map[string]any, take func()) {
	if !s.open {
		return
	}
	if s.IntN(3) == 0 && s.bound != "" {
		data[vocab.SessionID] = s.bound
	}
	s.record(transcript.Record{Conn: s.stream(), Dir: transcript.Sent, Kind: transcript.Stream,
		Event: &transcript.Event{Type: kind, Data: data}})
	s.toPage = append(s.toPage, take)
}

// lists sends an agent_list.
func (s *sim) lists() {
	ids, current := slices.Clone(s.config), s.agents[s.bound]
	var named any
	if current != "" && s.IntN(4) > 0 {
		named = current
	} else {
		current = ""
	}
	s.tells("agent_list", map[string]any{"agents": entries(ids), "currentAgentId": named}, func() {
		if s.fault == "lists are added up" {
			ids = append(slices.Clone(s.options), ids...)
		}
		s.options, s.listed = ids, true
		if s.session != "" || s.chosen == "" {
			s.current, s.selected = current, current
		}
	})
}

func entries(ids []string) (out []any) {
	out = []any{}
	for _, id := range ids {
		out = append(out, map[string]any{"id": id, "name": "Agent " + id})
	}
	return out
}

// sends sends a request of the page; then handles its answer.
func (s *sim) sends(kind string, data map[string]any, then func(ok bool, session string)) int {
	s.requests++
	n := s.requests
	if s.connID != "" && s.IntN(2) == 0 {
		data[vocab.ConnectionID] = s.connID
	}
	s.later = append(s.later, func() {
		at := s.record(transcript.Record{Conn: "A" + api, Dir: transcript.Received, Kind: transcript.Request,
			Event: &transcript.Event{Type: kind, Data: data}})
		s.later = append(s.later, func() { s.handles(kind, data, at, then) })
	})
	return n
}

// answers answers a request.
func (s *sim) answers(at int, ok bool, session string, then func(bool, string)) {
	if s.IntN(30) == 0 {
		s.record(transcript.Record{Conn: "A" + api, Dir: transcript.Noted, Kind: transcript.Failure, Reply: at})
		s.later = append(s.later, func() { then(false, "") })
		return
	}
	status, data := 200, map[string]any{"body": map[string]any{}}
	if !ok && s.IntN(2) == 0 {
		status = 409
	} else if !ok {
		data["refused"] = true
	}
	if session != "" {
		data[vocab.SessionID] = session
	}
	s.record(transcript.Record{Conn: "A" + api, Dir: transcript.Sent, Kind: transcript.Response, Status: status, Reply: at,
		Event: &transcript.Event{Type: "answer", Data: data}})
	s.later = append(s.later, func() { then(ok, session) })
}

// handles processes a request at the server.
func (s *sim) handles(kind string, data map[string]any, at int, then func(bool, string)) {
	session, _ := data[vocab.SessionID].(string)
	switch kind {
	case CreateType:
		s.sessions++
		session = fmt.Sprintf("s%d", s.sessions)
		s.bound, s.agents[session] = session, "a"
		if id, _ := data[vocab.InitialAgentID].(string); slices.Contains(s.config, id) && s.IntN(4) > 0 {
			s.agents[session] = id
		}
		s.answers(at, true, session, then)
		if s.agents[session] != "a" || s.IntN(2) == 0 {
			s.lists()
		}
	case LoadType:
		s.bound = session
		s.answers(at, true, session, then)
		s.lists()
	case "switch_agent":
		s.turnsTo(data[vocab.AgentID].(string), session, at, then)
	default:
		s.answers(at, true, "", then)
	}
}

// turnsTo processes a switch at the server.
func (s *sim) turnsTo(id, session string, at int, then func(bool, string)) {
	first := s.IntN(2) == 0
	if first {
		s.answers(at, true, "", then)
	}
	ok := true
	switch {
	case s.IntN(8) == 0: // it is refused only by the HTTP answer
		ok = false
	case !slices.Contains(s.config, id):
		s.fails("agent_not_found")
	case s.IntN(4) == 0:
		s.fails("agent_busy")
	default:
		s.becomes(session, id)
	}
	if !first {
		s.answers(at, ok, "", then)
	} else if !ok {
		s.fails("agent_busy")
	}
}

func (s *sim) becomes(session, id string) {
	was := s.agents[session]
	s.agents[session] = id
	s.tells("agent_switched", map[string]any{"previousAgentId": was, "currentAgentId": id}, func() {
		s.current, s.selected, s.switching = id, id, 0
	})
}

func (s *sim) fails(code string) {
	data, ids := map[string]any{"errorCode": code}, slices.Clone(s.config)
	if code == "agent_not_found" {
		data[vocab.AvailableAgents] = entries(ids)
	}
	s.tells("error", data, func() {
		if s.busy = ""; code == "agent_busy" {
			s.busy = s.selected
		}
		s.switching, s.selected = 0, s.current
		if code == "agent_not_found" && s.listed {
			s.options = ids
		}
	})
}

// acts performs an act of the user.
func (s *sim) acts() {
	switch s.IntN(12) {
	case 0:
		if s.up && s.session == "" || s.IntN(6) == 0 {
			s.creates()
		}
	case 1:
		if s.sessions > 1 && s.up {
			to := fmt.Sprintf("s%d", 1+s.IntN(s.sessions))
			s.sends(LoadType, map[string]any{"sessionId": to}, func(ok bool, id string) {
				if ok {
					s.session, s.selected = id, s.current
				}
			})
		}
	case 2:
		if s.session != "" {
			s.sends("chat", map[string]any{"sessionId": s.session, "content": "hi"}, func(bool, string) {})
		}
	case 3:
		if s.up && s.IntN(4) == 0 { // the user disconnects
			s.loses()
			s.ends()
		}
	case 4:
		if s.session != "" && s.busy != "" {
			s.aborts()
		}
	default:
		s.chooses()
	}
}

// aborts makes the user abort the turn that prevented a switch; the next choice is often the same agent.
func (s *sim) aborts() {
	data := map[string]any{"sessionId": s.session}
	if s.fault == "aborts no session" {
		data = map[string]any{}
	}
	s.sends("abort", data, func(bool, string) {})
	s.chooses()
}

func (s *sim) creates() {
	data, with := map[string]any{}, s.chosen
	if with != "" {
		data[vocab.InitialAgentID] = with
	}
	s.sends(CreateType, data, func(ok bool, id string) {
		if ok {
			s.session, s.chosen = id, ""
			if with != "" {
				s.current, s.selected = with, with
			}
		}
	})
}

func (s *sim) chooses() {
	if !s.up || !s.listed || s.switching > 0 && s.fault != "usable while switching" || len(s.options) == 0 {
		return
	}
	id := s.options[s.IntN(len(s.options))]
	if s.busy != "" && slices.Contains(s.options, s.busy) && s.IntN(2) == 0 {
		id = s.busy
	}
	if id == s.selected {
		return
	}
	s.selected = id
	data := map[string]any{"agentId": id, "sessionId": s.session}
	switch {
	case s.session == "" && s.fault != "no preselection":
		s.chosen = id
		return
	case s.session == "" || s.fault == "no session":
		delete(data, "sessionId")
	case s.fault == "names for ids":
		data[vocab.AgentID] = "Agent " + id
	}
	var n int
	n = s.sends("switch_agent", data, func(ok bool, _ string) {
		if !ok && s.switching == n {
			s.switching, s.selected = 0, s.current
		}
	})
	s.switching = n
}

// loses handles a lost connection at the page.
func (s *sim) loses() {
	s.up, s.listed, s.options, s.current, s.selected, s.switching, s.connID = false, false, nil, "", s.chosen, 0, ""
	if s.IntN(2) == 0 {
		s.session = ""
	}
}

// ends ends the stream; messages in flight are lost.
func (s *sim) ends() {
	if s.open {
		s.record(transcript.Record{Conn: s.stream(), Dir: transcript.Sent, Kind: transcript.Closed})
	}
	s.open, s.toPage = false, nil
}

func (s *sim) connects() {
	s.streams++
	s.open, s.up = true, true
	if s.session == "" {
		s.bound = ""
	}
	s.record(transcript.Record{Conn: s.stream(), Dir: transcript.Received, Kind: transcript.Open, Label: "/events"})
	id := fmt.Sprintf("c%d", s.streams)
	s.tells("connected", map[string]any{"connectionId": id}, func() { s.connID = id })
	s.lists()
}

// passes performs one random action.
func (s *sim) passes() {
	switch k := s.IntN(20); {
	case !s.up && !s.open:
		if k < 5 {
			s.connects()
			return
		}
		s.arrives()
	case k == 0: // others change the configuration
		s.config = []string{"a"}
		for _, id := range []string{"b", "c", "d", "e", "f"} {
			if s.IntN(2) == 0 {
				s.config = append(s.config, id)
			}
		}
		if s.IntN(3) > 0 {
			s.lists()
		}
	case k == 1 && s.bound != "" && s.IntN(3) == 0:
		s.becomes(s.bound, s.config[s.IntN(len(s.config))])
	case k == 2 && s.open && s.IntN(6) == 0: // the server ends the stream; the page notices after the events in flight
		s.record(transcript.Record{Conn: s.stream(), Dir: transcript.Sent, Kind: transcript.Closed})
		s.open = false
		s.toPage = append(s.toPage, s.loses)
	case k < 8:
		s.acts()
	default:
		s.arrives()
	}
}

// arrives delivers a message in flight.
func (s *sim) arrives() {
	if n := len(s.later); n > 0 && (len(s.toPage) == 0 || s.IntN(2) == 0) {
		i := s.IntN(n)
		next := s.later[i]
		s.later = slices.Delete(s.later, i, i+1)
		next()
	} else if len(s.toPage) > 0 {
		next := s.toPage[0]
		s.toPage = s.toPage[1:]
		next()
	}
}

func random(seed uint64, fault string) []transcript.Record {
	s := &sim{Rand: rand.New(rand.NewPCG(seed, 7)), fault: fault, config: []string{"a", "b", "c"},
		agents: map[string]string{}}
	for range 300 {
		s.passes()
	}
	return s.out
}

// TestRandomFaults: monitors find the fault of a page in the same crossing traffic.
func TestRandomFaults(t *testing.T) {
	for fault, want := range map[string]string{"lists are added up": "AC-021", "usable while switching": "AC-046",
		"no preselection": "AC-042", "no session": "AC-051", "aborts no session": "AC-079", "names for ids": "AC-050"} {
		found := 0
		for seed := range uint64(300) {
			records := random(seed, fault)
			for _, m := range Foreign() {
				if slices.ContainsFunc(m.Check(records), func(f verdict.Finding) bool {
					return !f.OK && slices.Contains(f.Clauses, want)
				}) {
					found++
					break
				}
			}
		}
		t.Logf("%s: %s is found broken in %d of 300 sequences", fault, want, found)
		if found == 0 {
			t.Errorf("%s: nothing finds %s broken", fault, want)
		}
	}
}

// TestRandomPages: monitors find nothing broken in the traffic of a conforming page, however messages cross,
// and show most of their clauses to hold.
func TestRandomPages(t *testing.T) {
	held := map[string]bool{}
	for seed := range uint64(1000) {
		records := random(seed, "")
		for _, m := range Foreign() {
			for _, f := range m.Check(records) {
				if f.OK {
					for _, id := range f.Clauses {
						held[id] = true
					}
					continue
				}
				for _, r := range records[max(0, f.At-40):f.At] {
					t.Logf("%3d %-8s %s %s reply %d status %d %+v", r.N, r.Conn, r.Dir, r.Kind, r.Reply, r.Status, r.Event)
				}
				t.Fatalf("seed %d, record %d: %s finds %v broken: want %s, got %s", seed, f.At, m.Name, f.Clauses, f.Expected,
					f.Observed)
			}
		}
	}
	for _, m := range Foreign() {
		for _, id := range m.Clauses {
			if !held[id] {
				t.Errorf("nothing shows %s kept", id)
			}
		}
	}
}
