package odd_test

import (
	"context"
	"crypto/rand"
	"net/http/httptest"
	"path/filepath"
	"slices"
	"sync"
	"testing"
	"time"

	"parley/internal/llm"
	"parley/internal/tier"
	vocab "parley/protocol/sessionchat"
	"parley/reference-server/launch"
	"parley/reference-server/sessionchat"
	"parley/runner"
	"parley/steps/protocols"
	"parley/steps/sessionchat/binding"
	"parley/target"
	"parley/test/suitetest"
)

// kept is how long the servers of TestResumesAsAnother keep an idle session.
const kept = 300 * time.Millisecond

// resumesAnew gives a session that was idle another session_id.
func resumesAnew(o *sessionchat.Options) {
	o.Idle = kept
	o.Policy = sessionchat.Correct
	o.Policy.SessionID = func(v sessionchat.TurnView) string {
		if v.Resumed {
			return rand.Text()
		}
		return sessionchat.Correct.SessionID(v)
	}
}

// countsFromChats gives a session another session_id at a chat long after the chat before, whatever came between, but
// for a turn that still runs.
func countsFromChats(o *sessionchat.Options) {
	var mu sync.Mutex
	last, life, runs := map[string]time.Time{}, map[string]string{}, map[string]bool{}
	o.Inbound = func(_ sessionchat.Manager, _ sessionchat.ConnInfo, msg sessionchat.Message) []sessionchat.Message {
		mu.Lock()
		defer mu.Unlock()
		if id, ok := msg["agent_id"].(string); ok && msg["type"] == vocab.ChatType {
			if at, known := last[id]; known && time.Since(at) >= kept && !runs[id] {
				life[id] += "'"
			}
			last[id], runs[id] = time.Now(), true
		}
		return []sessionchat.Message{msg}
	}
	o.Outbound = func(_ sessionchat.Manager, to sessionchat.ConnInfo, msg sessionchat.Message, send sender) {
		of, _ := msg["agent_id"].(string)
		mu.Lock()
		more := life[of]
		runs[of] = msg["message_type"] != vocab.ResultMessage
		mu.Unlock()
		if id, ok := msg["session_id"].(string); ok {
			msg = msg.With("session_id", id+more)
		}
		send(to.ID, msg)
	}
}

// TestResumesAsAnother checks that a session_id which changes while its session is idle breaks nothing but SC-016a, in
// every run, whether the target counts from the last message or from the last chat.
func TestResumesAsAnother(t *testing.T) {
	t.Parallel()
	for name, odd := range map[string]func(*sessionchat.Options){"from the last message": resumesAnew,
		"from the last chat": countsFromChats} {
		t.Run(name, func(t *testing.T) {
			suitetest.AwaitTurn(t)
			runs := 3
			if tier.All() {
				runs = 15
			}
			for run := range runs {
				brain := llm.New()
				o := sessionchat.Options{DB: filepath.Join(t.TempDir(), "sessions.db"), Unsynced: true, Backend: brain}
				odd(&o)
				handler, err := sessionchat.New(o)
				if err != nil {
					t.Fatal(err)
				}
				s := httptest.NewServer(handler)
				p, err := protocols.Kinds().ForURL(vocab.Protocol, s.URL)
				if err != nil {
					t.Fatal(err)
				}
				launch.RaiseLimits(&p.Limits)
				binding.Of(p).Idle = target.Duration{Duration: kept}
				res := suitetest.Judge(t, runner.Options{Profile: p, Brain: brain, Tags: "not @exclusive", AllowIncomplete: true})
				if got := suitetest.Broken(res); !slices.Equal(got, []string{"SC-016a"}) {
					t.Errorf("run %d: broken %v, want SC-016a\n%s", run+1, got, suitetest.Console(t, res))
				}
				if err := handler.Close(context.Background()); err != nil {
					t.Error(err)
				}
				s.CloseClientConnections()
				s.Close()
			}
		})
	}
}
