package agentselect

import (
	"context"
	"fmt"
	"strings"

	"pgregory.net/rapid"

	vocab "parley/protocol/agentselect"
	"parley/steps"
	"parley/steps/agentselect/model"
)

func (r registry) exploring() {
	r.step(`^client (\w+) switches to agent (\d+) of its list$`, r.switchesToNth)
	r.step(`^the switch of client (\w+) is answered$`, r.switchIsAnswered)
	r.step(`^the server has followed its sessions$`, r.followsSessions)
}

// switchesToNth switches to an agent of the client's list, which is counted from its beginning again at its end.
func (s *suite) switchesToNth(ctx context.Context, c *client, n int) error {
	if err := s.connected(ctx, c); err != nil {
		return err
	}
	if len(c.offered) == 0 {
		return steps.NotTestedf("client %s was offered no agent", c.name)
	}
	return s.switches(ctx, c, agentID{c.offered[(n+len(c.offered)-1)%len(c.offered)].ID})
}

// switchIsAnswered waits for the answer to a client's last switch, and reports what the model has found by then.
func (s *suite) switchIsAnswered(ctx context.Context, c *client) error {
	rec, miss := s.outcome(ctx, c, whichever)
	switch {
	case miss != nil && miss.NotOwed:
		return steps.NotTestedf("%s", miss.Reason)
	case miss != nil:
		s.T.Remark(c.name, "%s", model.InVain(model.AnswerTo(c.act.mark), miss.Reason))
	case isSwitch(&rec):
		s.confirmed(c, fmt.Sprint(field(rec, vocab.CurrentAgentID)))
	}
	return s.report(s.T.Len(), miss)
}

// followsSessions lets every turn end and every message be answered, and reports what the model has found.
func (s *suite) followsSessions(ctx context.Context) error {
	for _, name := range s.clientNames() {
		c := s.clients[name]
		if t := c.turn; t != nil && t.nonce != "" && !t.over && c.conn != nil {
			s.release(c)
			if !c.aborted {
				_, _ = s.awaitEnd(ctx, c)
			}
		}
	}
	for _, name := range s.clientNames() {
		if c := s.clients[name]; c.conn != nil {
			_ = s.fence(ctx, c) // an unanswered one is found with the next
		}
	}
	return s.report(s.T.Len(), nil)
}

var _ steps.Shortener = Protocol{}

// Explored implements steps.Explorer.
func (Protocol) Explored() []string {
	out := []string{"@AS-019", "@AS-062", "@AS-098", "@AS-099", "@two-clients", "@model"}
	for _, id := range model.Clauses() {
		out = append(out, "@"+id)
	}
	return out
}

// move is one act as it is drawn: what it comes to depends on what was done before.
type move struct {
	what, client string
	n            int
	wait         bool
}

// moves are drawn from: the first ones most often, because draws prefer small numbers.
var moves = strings.Fields(`to session illegal hold abort leave back chat named unknown another first release elsewhere
	early type`)

var (
	unknownIDs = []string{"hacker", "generals", "gener", "null", "constructor", "-", "debugger-2"}
	illegalIDs = []string{`""`, `"Agent@123"`, `"GENERAL"`, `"Debugger"`, `" general"`, `"general "`, `"general\n"`, `7`,
		`null`, `["general"]`, `{"id":"debugger"}`, `"genéral"`, `" "`, `"a.b"`, `"general%20"`}
	otherSessions = []string{"the session \"parley-no-such-session\"", "its session in another case",
		"its session with a blank before it", "its session with a blank behind it"}
)

// Explore implements steps.Explorer: two clients connect, get sessions, switch, chat, abort and leave in any order. Of
// what cannot be done when its turn comes nothing is said, so that a sequence stays legal when shrinking removes acts.
func (Protocol) Explore(draw *rapid.T) []string {
	one := rapid.Custom(func(t *rapid.T) move {
		return move{
			what:   rapid.SampledFrom(moves).Draw(t, "what"),
			client: rapid.SampledFrom([]string{"A", "A", "B"}).Draw(t, "client"),
			n:      rapid.IntRange(0, 100_000).Draw(t, "n"),
			wait:   rapid.IntRange(0, 9).Draw(t, "wait") < 9,
		}
	})
	g := &game{"A": {}, "B": {}}
	var lines []string
	for _, m := range rapid.SliceOfN(one, 12, 36).Draw(draw, "moves") {
		lines = append(lines, g.play(m)...)
	}
	return append(lines, "Then the server has followed its sessions")
}

// game is what the clients of a sequence have.
type game map[string]*player

type player struct {
	there    bool // it is connected
	sessions int  // that its connection has had
	left     bool // it has disconnected, and its last session is free
	turn     bool // its turn is held
	open     bool // its last switch may not be answered yet
}

// play returns the lines of a move, none if it cannot be made.
func (g game) play(m move) []string {
	p, c := g[m.client], "client "+m.client
	switch m.what {
	case "to", "named", "unknown", "illegal", "elsewhere":
		return p.switches(m, c)
	}
	lines := g.playOther(m, p, c)
	if len(lines) > 0 && p.open { // an error may be about either
		p.open, lines = false, append([]string{untilAnswered(c)}, lines...)
	}
	return lines
}

// playOther is play for all acts but switches.
func (g game) playOther(m move, p *player, c string) []string {
	switch m.what {
	case "early":
		if !p.there {
			p.there, p.left = true, false
			return []string{"When " + c + ` connects and switches to "debugger" as early as possible`, untilAnswered(c)}
		}
	case "hold":
		if !p.turn && p.sessions > 0 {
			p.turn = true
			return []string{"Given " + c + " has a turn running"}
		}
	case "release":
		if p.turn {
			p.turn = false
			return []string{"When the model lets the turn of " + c + " continue", "Then the turn of " + c + " ends"}
		}
	case "abort":
		if p.turn {
			p.turn = false
			return []string{"When " + c + " aborts", "And " + c + `, once idle, switches to "` +
				vocab.BuiltinIDs[m.n%3] + `"`, untilAnswered(c)}
		}
	case "type":
		if p.there && !p.turn {
			return []string{"When " + c + ` sends a message of type "agents"`}
		}
	default:
		if !p.turn {
			return g.moves(m, p, c)
		}
	}
	return nil
}

func untilAnswered(c string) string { return "Then the switch of " + c + " is answered" }

// switches returns the lines of a switch.
func (p *player) switches(m move, c string) []string {
	to := `"` + vocab.BuiltinIDs[m.n%3] + `"`
	act := map[string]string{
		"to":      fmt.Sprintf("switches to agent %d of its list", m.n%7+1),
		"named":   "switches its session to " + to,
		"unknown": fmt.Sprintf("switches to %q", unknownIDs[m.n%len(unknownIDs)]),
		"illegal": "switches to the agent id " + illegalIDs[m.n%len(illegalIDs)],
	}[m.what]
	if m.what == "elsewhere" {
		act = "switches " + otherSessions[m.n%len(otherSessions)] + " to " + to
	}
	if needs := m.what == "named" || m.what == "elsewhere"; needs && p.sessions == 0 || !p.there && m.n%3 > 0 {
		return nil
	}
	var out []string
	if !p.there {
		p.there, p.left = true, false
		out = append(out, "Given "+c+" is connected")
	}
	if out, p.open = append(out, "When "+c+" "+act), !m.wait; m.wait {
		out = append(out, untilAnswered(c))
	}
	return out
}

// moves returns the lines of what a client does with its connection and its sessions while no turn of it is held.
func (g game) moves(m move, p *player, c string) []string {
	other := map[string]string{"A": "B", "B": "A"}[m.client]
	switch {
	case m.what == "session" && p.sessions == 0:
		p.there, p.sessions, p.left = true, 1, false
		return []string{"Given " + c + " has a session"}
	case m.what == "another" && p.sessions > 0:
		p.sessions++
		return []string{"When " + c + " creates a session", "Then " + c + " has its session"}
	case m.what == "first" && p.sessions > 1:
		return []string{"When " + c + " loads its first session again"}
	case m.what == "leave" && p.sessions > 0:
		*p = player{left: true, open: p.open}
		return []string{"Given " + c + " has disconnected"}
	case m.what == "back" && g[other].left:
		g[other].left, p.there, p.left, p.sessions = false, true, false, p.sessions+1
		return []string{"Given " + c + " is connected", "When " + c + " loads the session of client " + other,
			"Then " + c + " has its session"}
	case m.what == "chat" && p.sessions > 0:
		return []string{"When " + c + " chats", "Then " + c + " is answered and its turn ends"}
	}
	return nil
}

// Legal implements steps.Shortener: while a turn of a client is held, it does nothing but switch, and let it end. Its
// switches are answered before it does anything else. What another client loads is the session of one that has left.
func (Protocol) Legal(lines []string) bool {
	held, left, open := map[string]bool{}, map[string]bool{}, map[string]bool{}
	for i, line := range lines {
		_, after, _ := strings.Cut(line, "client ")
		name, does, _ := strings.Cut(after, " ")
		is := func(words string) bool { return strings.Contains(line, words) }
		switch {
		case is("the model lets"):
			if !held[name] || open[name] {
				return false
			}
			held[name] = false
		case is("the turn of"):
			if i == 0 || lines[i-1] != "When the model lets the turn of client "+name+" continue" {
				return false
			}
		case does == "aborts":
			if !held[name] || open[name] {
				return false
			}
			held[name] = false
		case name == "":
		case is(" switches "):
			if open[name] = true; is("connects and") && held[name] {
				return false
			}
		case is("is answered") && !is("its turn ends"):
			delete(open, name)
		case held[name], open[name]:
			return false
		case is("has a turn running"):
			held[name] = true
		case is("is answered and its turn ends"):
			if i == 0 || lines[i-1] != "When client "+name+" chats" {
				return false
			}
		case is("has disconnected"):
			left[name] = true
		case is("loads the session of client"):
			if of := line[strings.LastIndex(line, " ")+1:]; !left[of] {
				return false
			}
		case is("is connected"), is("has a session"):
			left[name] = false
		}
	}
	return true
}
