package sessionchat

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/cucumber/godog"
	"pgregory.net/rapid"

	"parley/steps"
	"parley/steps/sessionchat/model"
)

// Explored implements steps.Explorer.
func (Protocol) Explored() []string {
	return strings.Fields(`@SC-002 @SC-006 @SC-012 @SC-016a @SC-019 @SC-020 @SC-021 @SC-024 @SC-027 @SC-028 @SC-029
		@SC-030 @SC-031 @SC-036 @SC-037a @SC-041 @SC-050 @SC-059 @SC-060 @model`)
}

// act is one possible action. An act that is impossible when its turn comes is skipped, so that a sequence stays
// legal when shrinking removes earlier acts.
type act struct{ what, client, session, text string }

var acts = []string{"release", "chat", "answer", "hold", "pieces", "interrupt", "ping", "leave", "text", "refuse",
	"text", "again", "untyped"}

// refusals are messages that are refused, without the client and the session.
var refusals = []string{"a chat without its content", "a chat without its agent_id", "a chat whose content is null",
	"a chat whose content is a number", "a chat whose content is a list", "a chat whose agent_id is null"}

// alike are pairs of agent_ids for two sessions that a careless server confuses, with none as the first.
var alike = [][2]string{{}, {"capitals", "its case folded"}, {"capitals", "a blank after it"},
	{"capitals", "its last character gone"}, {"capitals", "a wildcard in it"}, {"digits", "a zero before it"},
	{"a combining accent", "its accent composed"}, {"Chinese", "another Chinese letter"},
	{"words with punctuation", "an underscore for its slash"}, {"words with punctuation", "its slash gone"}}

// Explore implements steps.Explorer: two clients chat with three sessions, two of which may have similar agent_ids, in
// texts of every kind, send what is refused, interrupt, ping and lose connections in any order; then every turn ends,
// and every session continues with its own id and history. It draws many acts, because some will be impossible.
// Shrinking turns irrelevant acts into releases of nothing, which are skipped.
func (Protocol) Explore(draw *rapid.T) []string {
	texts := slices.Sorted(maps.Keys(contents))
	one := rapid.Custom(func(t *rapid.T) act {
		return act{
			what:    rapid.SampledFrom(acts).Draw(t, "what"),
			session: rapid.SampledFrom([]string{"red", "blue", "green"}).Draw(t, "session"),
			client:  rapid.SampledFrom([]string{"A", "B"}).Draw(t, "client"),
			text:    rapid.SampledFrom(texts).Draw(t, "text"),
		}
	})
	p := &play{open: map[string]*openTurn{}, lost: map[string]bool{}, there: map[string]bool{},
		owner: map[string]string{}, loose: map[string]bool{}, said: map[string]bool{}}
	p.begins(rapid.SampledFrom(alike).Draw(draw, "alike"),
		rapid.SampledFrom(append([]string{""}, slices.Sorted(maps.Keys(keys))...)).Draw(draw, "key"))
	for _, a := range rapid.SliceOfN(one, 16, 40).Draw(draw, "acts") {
		p.act(a)
	}
	p.say("Then every turn ends")
	p.say("And every session continues with its own id and history")
	return p.lines
}

// play converts acts into the lines of a scenario and tracks open turns.
type play struct {
	lines []string
	open  map[string]*openTurn // by session
	lost  map[string]bool      // sessions whose last connection was lost
	there map[string]bool      // connected clients
	owner map[string]string    // the client that uses a session: there is no order between connections (ruling 7)
	loose map[string]bool      // clients whose last interrupt may not have been read yet
	said  map[string]bool      // sessions whose last turn was a text that was answered once
	ended bool                 // a chat was answered: only then does a refusal prove anything
}

type openTurn struct {
	client    string
	held, cut bool
	pieces    bool
}

func (p *play) say(format string, args ...any) {
	p.lines = append(p.lines, fmt.Sprintf(format, args...))
}

func (p *play) act(a act) {
	t := p.open[a.session]
	if owner := p.owner[a.session]; owner != "" && a.what != "ping" && a.what != "leave" {
		a.client = owner
	}
	switch a.what {
	case "chat", "hold", "pieces":
		p.begin(a, t)
	case "answer":
		p.answer(a.session, t)
	case "release":
		if t != nil && t.held {
			p.say("When the turn of %q is released", a.session)
			t.held = false
		}
	case "interrupt":
		if t != nil {
			t.cut = true
		}
		p.say("When client %s interrupts %q", a.client, a.session)
		p.there[a.client], p.loose[a.client], p.owner[a.session] = true, true, a.client
	case "ping":
		p.say("When client %s pings", a.client)
		p.there[a.client] = true
		if !p.holds(a.client) {
			p.say("Then client %s gets a pong", a.client)
		}
	case "leave":
		p.leave(a.client)
	case "text":
		if t != nil || p.lost[a.session] || p.busy(a.client) {
			return
		}
		p.there[a.client], p.owner[a.session], p.ended, p.said[a.session] = true, a.client, true, true
		p.say("When client %s chats with %q with a text of %s", a.client, a.session, a.text)
		p.say("Then client %s is answered by %q", a.client, a.session)
		p.say("And the model was sent the text of %q unchanged", a.session)
	case "again":
		if t == nil && p.said[a.session] && p.there[a.client] && !p.busy(a.client) {
			p.say("When client %s chats with %q with the same text again", a.client, a.session)
			p.say("Then client %s is answered by %q", a.client, a.session)
			p.say("And the model was asked again for %q", a.session)
			delete(p.said, a.session)
		}
	case "untyped":
		if p.ended && p.there[a.client] && !p.busy(a.client) && !p.loose[a.client] {
			p.say("When client %s sends %q a message of no type", a.client, a.session)
			p.say("Then the answer to client %s is recorded", a.client)
			p.say("And that message starts no session")
		}
	case "refuse": // which may end the connection
		if p.ended && p.there[a.client] && !p.busy(a.client) && !p.loose[a.client] {
			p.say("When client %s sends %q %s", a.client, a.session, refusals[len(a.text)%len(refusals)])
			p.say("Then client %s is refused", a.client)
		}
	}
}

// begins has two sessions begin with similar agent_ids, and one with an unusual one, if any.
func (p *play) begins(alike [2]string, key string) {
	if key != "" {
		p.say("When client B chats with \"green\" under an agent_id of %s", key)
		p.say("Then client B is answered by \"green\"")
		p.there["B"], p.owner["green"], p.ended = true, "B", true
	}
	if alike[0] == "" {
		return
	}
	p.say("When client A chats with \"red\" under an agent_id of %s", alike[0])
	p.say("Then client A is answered by \"red\"")
	p.say("When client A chats with \"blue\" under the agent_id of \"red\" with %s", alike[1])
	p.say("Then client A is answered by \"blue\"")
	p.there["A"], p.owner["red"], p.owner["blue"], p.ended = true, "A", "A", true
}

// busy reports whether a client has a turn.
func (p *play) busy(client string) bool {
	for _, t := range p.open {
		if t.client == client {
			return true
		}
	}
	return false
}

// begin starts a turn if none is open.
func (p *play) begin(a act, t *openTurn) {
	if t != nil && !t.cut || t != nil && p.holds(t.client) || p.lost[a.session] && p.holds(a.client) {
		return
	}
	if t != nil {
		p.say("Then the turn of %q has ended", a.session)
	}
	delete(p.open, a.session)
	delete(p.said, a.session)
	p.there[a.client], p.owner[a.session] = true, a.client
	if p.lost[a.session] { // a turn of the lost connection may still be ending
		delete(p.lost, a.session)
		p.say("When client %s can chat with %q again", a.client, a.session)
		return
	}
	turn := &openTurn{client: a.client}
	switch a.what {
	case "chat":
		p.say("When client %s chats with %q", a.client, a.session)
	case "hold":
		turn.held = true
		p.say("When client %s starts a turn of %q that is held", a.client, a.session)
	case "pieces":
		turn.pieces = true
		p.say("When client %s chats with %q in a turn of 20 pieces", a.client, a.session)
	}
	p.open[a.session] = turn
}

// answer waits for the end of a turn that is free to end. A target may run the turns of one connection sequentially
// (SC-G05).
func (p *play) answer(session string, t *openTurn) {
	switch {
	case t == nil || p.holds(t.client):
		return
	case t.cut:
		p.say("Then the turn of %q has ended", session)
	default:
		p.say("Then client %s is answered by %q", t.client, session)
		p.ended = true
		if t.pieces {
			p.say("And the pieces of %q come in order", session)
		}
	}
	delete(p.open, session)
}

// holds reports whether a turn of a client is held.
func (p *play) holds(client string) bool {
	for _, t := range p.open {
		if t.client == client && t.held && !t.cut {
			return true
		}
	}
	return false
}

// leave closes a client's connection and drops its turns.
func (p *play) leave(client string) {
	if !p.there[client] {
		return
	}
	if p.loose[client] {
		p.say("Given the target has handled every message of client %s", client)
	}
	delete(p.there, client)
	delete(p.loose, client)
	p.say("When client %s loses its connection", client)
	for _, session := range []string{"blue", "green", "red"} {
		t := p.open[session]
		if t == nil || t.client != client {
			continue
		}
		if t.held {
			p.say("And the turn of %q is released", session)
		}
		delete(p.open, session)
		p.lost[session] = true
	}
	for session, owner := range p.owner {
		if owner == client {
			delete(p.said, session)
			delete(p.owner, session)
		}
	}
}

// registerExploring registers the steps that end a generated sequence of acts: they must hold whatever came before.
func (s *suite) registerExploring(sc *godog.ScenarioContext) {
	steps.Step(sc, `^the target has handled every message of client (\w+)$`, func(ctx context.Context, name string) error {
		return s.fence(ctx, s.client(name))
	})
	steps.Step(sc, `^every turn ends$`, s.everyTurnEnds)
	steps.Step(sc, `^every session continues with its own id and history$`, s.everySessionGoesOn)
}

// everyTurnEnds releases every held turn and waits for the end of the turns whose clients are still connected. A lost
// connection may have ended its turns (SC-G06).
func (s *suite) everyTurnEnds(ctx context.Context) error {
	for _, ss := range s.inOrderOfNames() {
		for _, t := range ss.turns {
			if t.held && s.Env.Brain != nil {
				s.Env.Brain.Release(t.nonce)
			}
		}
	}
	for _, ss := range s.inOrderOfNames() {
		t := ss.turn()
		if t == nil || !s.became(t).Running() {
			continue
		}
		if err := s.settled(ctx, t, model.End); err != nil {
			return err
		}
	}
	return nil
}

// everySessionGoesOn chats once more with every session, and judges that it answers with its own agent_id and
// session_id, and that the model sees its own earlier turns and no others.
func (s *suite) everySessionGoesOn(ctx context.Context) error {
	for _, ss := range s.inOrderOfNames() {
		if len(ss.turns) == 0 {
			continue
		}
		client := ss.asker // so that this comes after its earlier messages
		for _, judge := range []func() error{
			func() error { return s.canChatAgain(ctx, client, ss.name) }, // a turn of a lost connection may still be ending
			func() error { return s.Judge(s.found(model.IDs, ss)...) },
			func() error {
				if s.Env.Brain == nil || len(s.earlier(ss)) == 0 {
					return nil
				}
				return s.earlierTurnsSent(ss.name)
			},
			func() error {
				if s.Env.Brain == nil {
					return nil
				}
				return s.noForeignTurns(ss.name)
			},
		} {
			if err := judge(); err != nil {
				return err
			}
		}
	}
	return nil
}

func (s *suite) inOrderOfNames() []*session {
	return slices.SortedFunc(maps.Values(s.sessions), func(a, b *session) int { return strings.Compare(a.name, b.name) })
}
