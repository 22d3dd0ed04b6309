package invariants

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"parley/features/verdict"
	"parley/internal/llm"
	vocab "parley/protocol/sessionchat"
	"parley/steps/monitor"
	"parley/transport/transcript"
)

// nothingAfter judges that a turn has one result, which is its last message (SC-020): once every chat of a session has
// its result, no other result and no more of the model's words about its chats may follow. Results can be matched to
// chats only if a single connection asks and no interrupt arrived while nothing ran, because such an interrupt may get
// its own result.
func nothingAfter(t []transcript.Record) []verdict.Finding {
	var out []verdict.Finding
	agents := asked(t)
	sessions := map[string]*endings{}
	for i, r := range t {
		if r.Event == nil {
			continue
		}
		data, _ := r.Event.Data.(map[string]any)
		agent, _ := data[vocab.AgentID].(string)
		s := sessions[agent]
		if s == nil {
			s = &endings{agent: agent, conn: r.Conn, agents: agents}
			sessions[agent] = s
		}
		switch {
		case r.Dir == transcript.Sent:
			s.sent(r, data)
		case r.Dir != transcript.Received || s.muddled || s.conn != r.Conn:
		case r.Event.Type == vocab.ResultMessage:
			out = append(out, s.result(r)...)
		case words[r.Event.Type]:
			out = append(out, s.said(r, t[i+1:])...)
		}
	}
	return out
}

// endings is the state of the turns of one agent_id.
type endings struct {
	agent   string
	conn    string            // the one that asks
	agents  map[string]string // by nonce
	open    []chat            // without a result, oldest first
	last    ending            // the latest one
	before  int               // record of the previous ending
	spoken  bool              // the model has spoken since the latest chat or result
	pieces  string            // its stream messages since then
	whole   string            // its longest other message since then
	muddled bool              // results can't be matched to turns
	lenient bool              // an interrupt may have come after the end and get its own result
}

// chat is a chat without a result.
type chat struct {
	held, cut bool
	answer    string // the model's whole answer; "" if it is unknown
}

// ending is the result of a turn.
type ending struct {
	record    transcript.Record
	of        chat
	wordless  bool // no words of the turn came before it
	undivided bool // no other turn ran
	pieces    string
	answer    string // the model's whole answer, of which the pieces are a part; "" if it is unknown
}

func (s *endings) sent(r transcript.Record, data map[string]any) {
	switch r.Event.Type {
	case vocab.ChatType:
		s.muddled = s.muddled || s.conn != r.Conn
		content, _ := data[vocab.Content].(string)
		s.open = append(s.open, chat{answer: llm.Foretold(content), held: slices.ContainsFunc(llm.Directives(content),
			func(d llm.Directive) bool { return d.Kind == llm.KindHold })})
		s.spoken, s.pieces, s.whole = false, "", ""
	case vocab.InterruptType:
		s.muddled = s.muddled || len(s.open) == 0 || s.conn != r.Conn
		if len(s.open) > 0 {
			s.lenient = s.lenient || s.open[0].cut || !s.open[0].held
			s.open[0].cut = true
		}
	default: // a type unknown to the document, which may be answered with a result
		s.lenient = true
	}
}

// result takes a result as the end of the oldest open turn; if there is none, it is a second result.
func (s *endings) result(r transcript.Record) []verdict.Finding {
	if len(s.open) == 0 {
		if s.last.record.N == 0 || s.lenient {
			return nil
		}
		return []verdict.Finding{second(s.last.record.N, r)}
	}
	data, _ := r.Event.Data.(map[string]any)
	of := s.open[0]
	s.lenient = s.lenient || of.cut && data[vocab.Subtype] != vocab.Interrupted // it may have ended before the interrupt
	s.before = s.last.record.N
	wordless := !s.spoken && len(noncesIn(r, s.agents)) == 0
	s.last = ending{record: r, of: of, wordless: wordless, undivided: len(s.open) == 1,
		pieces: s.pieces, answer: cmp.Or(of.answer, s.whole)}
	s.open, s.spoken, s.pieces, s.whole = s.open[1:], false, "", ""
	return []verdict.Finding{{Clauses: []string{"SC-020"}, OK: true, At: r.N}}
}

// said judges words while no turn runs: either they came after the end of their turn, or the supposed end was a
// second result of the previous turn. It is the latter if another result follows.
func (s *endings) said(r transcript.Record, rest []transcript.Record) []verdict.Finding {
	if len(s.open) > 0 {
		s.hears(r)
		return nil
	}
	named := slices.ContainsFunc(noncesIn(r, s.agents), func(n string) bool { return s.agents[n] == s.agent })
	if s.last.record.N == 0 || !named && !s.last.goesOn(r) {
		return nil
	}
	if named && s.before > 0 && s.last.wordless && s.last.undivided && s.endsIn(rest) {
		found := second(s.before, s.last.record)
		s.open, s.spoken = []chat{s.last.of}, true
		s.last = ending{record: transcript.Record{N: s.before}}
		if s.lenient {
			return nil
		}
		return []verdict.Finding{found}
	}
	return []verdict.Finding{{Clauses: []string{"SC-020"}, At: r.N,
		Expected: fmt.Sprintf("no further message of the turn that ended in record %d", s.last.record.N),
		Observed: monitor.Describe(r)}}
}

// hears notes words of a running turn.
func (s *endings) hears(r transcript.Record) {
	s.spoken = true
	data, _ := r.Event.Data.(map[string]any)
	text, _ := data[vocab.Text].(string)
	if r.Event.Type == vocab.StreamMessage {
		s.pieces += text
	} else if len(text) > len(s.whole) {
		s.whole = text
	}
}

// tail is the shortest text without a nonce, in bytes, that is the model's because its answer ends with it.
const tail = 4

// goesOn reports whether a stream message is a piece of the answer of the turn that has ended: it continues the pieces
// that came before the end, or repeats the last of them. Other words may be the target's own.
func (e *ending) goesOn(r transcript.Record) bool {
	data, _ := r.Event.Data.(map[string]any)
	text, _ := data[vocab.Text].(string)
	if r.Event.Type != vocab.StreamMessage || r.Cut > 0 || strings.TrimSpace(text) == "" ||
		!e.undivided || e.pieces == "" || e.answer == "" {
		return false
	}
	return strings.HasPrefix(e.answer, e.pieces+text) ||
		e.pieces == e.answer && len(text) >= tail && strings.HasSuffix(e.answer, text)
}

// endsIn reports whether a result of the session comes before its next chat.
func (s *endings) endsIn(rest []transcript.Record) bool {
	for _, r := range rest {
		if r.Event == nil || r.Conn != s.conn {
			continue
		}
		data, _ := r.Event.Data.(map[string]any)
		switch {
		case data[vocab.AgentID] != any(s.agent):
		case r.Dir == transcript.Sent && r.Event.Type == vocab.ChatType:
			return false
		case r.Dir == transcript.Received && r.Event.Type == vocab.ResultMessage:
			return true
		}
	}
	return false
}

func second(ended int, r transcript.Record) verdict.Finding {
	return verdict.Finding{Clauses: []string{"SC-020"}, At: r.N,
		Expected: fmt.Sprintf("one %s of the turn that ended in record %d", vocab.ResultMessage, ended),
		Observed: "another one: " + monitor.Describe(r)}
}
