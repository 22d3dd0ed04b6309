package sessionchat

import (
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"parley/features/verdict"
	"parley/internal/llm"
	vocab "parley/protocol/sessionchat"
	"parley/steps"
	"parley/steps/obligation"
	"parley/steps/sessionchat/binding"
	"parley/steps/sessionchat/model"
	"parley/transport/transcript"
)

func TestMentions(t *testing.T) {
	rows := []struct {
		reason, said, nonce string
		want                bool
	}{
		{"alone", "x-1", "x-1", true},
		{"at the beginning", "x-1 said", "x-1", true},
		{"at the end", "echo x-1", "x-1", true},
		{"in a directive", "[[echo x-1]] Hello", "x-1", true},
		{"in a piece", "stream x-1 1/2 ", "x-1", true},
		{"between lines", "a\nx-1\nb", "x-1", true},
		{"before a letter", "x-1é x-1a", "x-1", true},
		{"before a digit of another script", "x-1\uff11", "x-1", true},
		{"in a JSON text", `{"a":"x-1"}`, "x-1", true},
		{"the beginning of a longer one", "[[echo x-11]]", "x-1", false},
		{"the beginning of several longer ones", "x-10 x-11 x-1234567890", "x-1", false},
		{"the longer one does not hide it", "x-11 x-1", "x-1", true},
		{"nor does it the longer one", "x-1 x-11", "x-11", true},
		{"a longer one that ends the text", "x-10", "x-1", false},
		{"it is the longer one", "x-1", "x-11", false},
		{"other capitals", "X-1", "x-1", false},
		{"cut", "x- 1", "x-1", false},
		{"nothing was said", "", "x-1", false},
	}
	for _, r := range rows {
		t.Run(r.reason, func(t *testing.T) {
			if got := mentions(r.said, r.nonce); got != r.want {
				t.Errorf("%q mentions %q: %v", r.said, r.nonce, got)
			}
		})
	}
}

func user(text string) llm.Message { return llm.Message{Role: llm.RoleUser, Text: text} }

func assistant(text string) llm.Message {
	return llm.Message{Role: llm.RoleAssistant, Text: text}
}

func TestStrangers(t *testing.T) {
	own := []*turn{{nonce: "x-1"}, {nonce: "x-2"}, {}}
	rows := []struct {
		reason string
		in     llm.Request
		want   []string
	}{
		{"no messages", llm.Request{}, nil},
		{"its own turns", llm.Request{Messages: []llm.Message{user("[[echo x-1]] Hello"),
			assistant("[[echo x-1]] Hello"), user("[[hold x-2]]")}}, nil},
		{"another session's turn", llm.Request{Messages: []llm.Message{user("[[echo x-1]]"), user("[[echo y-1]]")}},
			[]string{"y-1"}},
		{"what the model said to another session",
			llm.Request{Messages: []llm.Message{assistant("[[echo y-1]]"), user("[[echo x-1]]")}}, []string{"y-1"}},
		{"within the text of a turn of its own",
			llm.Request{Messages: []llm.Message{user("before: [[stream y-1 3]]\nnow: [[echo x-1]]")}}, []string{"y-1"}},
		{"several, in order", llm.Request{Messages: []llm.Message{user("[[echo y-2]] [[hold x-2]]"),
			assistant("[[echo y-1]]")}}, []string{"y-2", "y-1"}},
		{"a nonce that its own begins", llm.Request{Messages: []llm.Message{user("[[echo x-11]]")}}, []string{"x-11"}},
		{"a nonce in other capitals", llm.Request{Messages: []llm.Message{user("[[echo X-1]]")}}, []string{"X-1"}},
		{"in the results of tools", llm.Request{Messages: []llm.Message{{Role: llm.RoleTool, Text: "[[echo y-1]]",
			ResultOf: "call"}}}, []string{"y-1"}},
		{"texts without directives", llm.Request{Messages: []llm.Message{user("y-1"), user("你好"),
			assistant("stream y-1 1/2 "), user("[[nope y-1]]")}}, nil},
	}
	for _, r := range rows {
		t.Run(r.reason, func(t *testing.T) {
			if diff := cmp.Diff(r.want, strangers(r.in, own), cmpopts.EquateEmpty()); diff != "" {
				t.Errorf("want(-) got(+):\n%s", diff)
			}
		})
	}
	if got := strangers(llm.Request{Messages: []llm.Message{user("[[echo x-1]]")}}, nil); !cmp.Equal(got,
		[]string{"x-1"}) {
		t.Errorf("to nobody, everybody is a stranger: %v", got)
	}
}

func TestAbsent(t *testing.T) {
	r := llm.Request{System: "earlier: x-1, answered by x-1",
		Messages: []llm.Message{user("[[echo x-2]]"), assistant("x-2"), user("x-3"), assistant("x-31"),
			{Role: llm.RoleTool, Text: "x-4 x-4"}, user("[[echo x-6]]"), assistant("x-6")}}
	if diff := cmp.Diff([]string{"x-3", "x-5"},
		absent(r, []string{"x-1", "x-2", "x-3", "x-4", "x-5", "x-6"})); diff != "" {
		t.Errorf("one half of a turn is not the turn; want(-) got(+):\n%s", diff)
	}
	if diff := cmp.Diff([]string{"x-2"}, absent(r, []string{"x-6", "x-2"})); diff != "" {
		t.Errorf("turns in another order are not the conversation; want(-) got(+):\n%s", diff)
	}
}

// TestIdleIsTold checks that a declared idle time reaches the model through the transcript, and that an undeclared one
// does not.
func TestIdleIsTold(t *testing.T) {
	for _, r := range []struct {
		idle time.Duration
		kept bool // the session must have kept its id when it is used again after a minute
	}{{0, true}, {90 * time.Second, true}, {80 * time.Second, false}, {1500 * time.Millisecond, false}} {
		t.Run(r.idle.String(), func(t *testing.T) {
			const lines = "When client A chats with \"red\"\nAnd client A chats with \"red\""
			records := perform(t, "@SC-012", lines, nil,
				func(env *steps.Env) { binding.Of(env.Profile).Idle.Duration = r.idle }).Records
			m := model.New(obligation.Ours)
			for i, rec := range records {
				if i == len(records)-1 {
					m.Take(named("s-1", rec))
					rec.At += time.Minute
				}
				m.Take(rec)
				if i == len(records)-1 {
					m.Take(named("s-2", rec))
				}
			}
			changed := slices.ContainsFunc(m.Findings(), func(f verdict.Finding) bool {
				return !f.OK && slices.Contains(f.Clauses, "SC-042")
			})
			if changed != r.kept {
				t.Errorf("another id is a fault: %v, want %v\n%+v", changed, r.kept, records)
			}
		})
	}
}

// named returns a message of the session "red" at the time of a record.
func named(id string, at transcript.Record) transcript.Record {
	return transcript.Record{N: at.N, At: at.At, Conn: "A", Dir: transcript.Received, Kind: transcript.Frame,
		Event: &transcript.Event{Type: vocab.SystemMessage, Data: map[string]any{vocab.AgentID: "red-n", vocab.SessionID: id,
			vocab.MessageType: vocab.SystemMessage, vocab.Body: map[string]any{}, vocab.Timestamp: "t"}}}
}
