package odd_test

import (
	"context"
	"net/http/httptest"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"parley/features/verdict"
	"parley/internal/llm"
	vocab "parley/protocol/sessionchat"
	"parley/reference-server/launch"
	"parley/reference-server/sessionchat"
	"parley/runner"
	"parley/steps/protocols"
	"parley/test/suitetest"
)

type sender = func(connID string, msg sessionchat.Message)

// failedTurn reports whether a message ends a turn whose model has failed.
func failedTurn(msg sessionchat.Message) bool {
	return msg.Type() == vocab.ResultMessage && msg.Body()["subtype"] == vocab.Failed
}

func asError(msg sessionchat.Message) sessionchat.Message {
	return msg.With("message_type", vocab.ErrorMessage).With("message",
		map[string]any{"code": "model_failed", "text": "the model has failed"})
}

// later is longer than a quiet window.
const later = 250 * time.Millisecond

var lateEnds = []struct {
	name   string
	tell   func() sessionchat.Outbound // called once per server
	breaks []string
}{
	{name: "an error, and its result at once", tell: func() sessionchat.Outbound {
		return func(_ sessionchat.Manager, to sessionchat.ConnInfo, msg sessionchat.Message, send sender) {
			if failedTurn(msg) {
				send(to.ID, asError(msg))
			}
			send(to.ID, msg)
		}
	}},
	{name: "an error, and its result a little later", tell: func() sessionchat.Outbound {
		return func(_ sessionchat.Manager, to sessionchat.ConnInfo, msg sessionchat.Message, send sender) {
			if !failedTurn(msg) {
				send(to.ID, msg)
				return
			}
			send(to.ID, asError(msg))
			time.AfterFunc(later, func() { send(to.ID, msg) })
		}
	}},
	{name: "an error, and its result in the next turn", tell: func() sessionchat.Outbound {
		held := map[any]sessionchat.Message{} // by agent_id
		return func(_ sessionchat.Manager, to sessionchat.ConnInfo, msg sessionchat.Message, send sender) {
			id := msg["agent_id"]
			if failedTurn(msg) {
				held[id] = msg
				send(to.ID, asError(msg))
				return
			}
			if late := held[id]; late != nil {
				send(to.ID, late)
				delete(held, id)
			}
			send(to.ID, msg)
		}
	}},
	{name: "an error alone", tell: func() sessionchat.Outbound {
		return func(_ sessionchat.Manager, to sessionchat.ConnInfo, msg sessionchat.Message, send sender) {
			if failedTurn(msg) {
				msg = asError(msg)
			}
			send(to.ID, msg)
		}
	}},
	{name: "an error alone, whose message is a bare text", tell: func() sessionchat.Outbound {
		return func(_ sessionchat.Manager, to sessionchat.ConnInfo, msg sessionchat.Message, send sender) {
			if failedTurn(msg) || msg.Type() == vocab.ErrorMessage {
				msg = asError(msg).With("message", "this has failed")
			}
			send(to.ID, msg)
		}
	}},
	{name: "a second result a little later", breaks: []string{"SC-020"}, tell: func() sessionchat.Outbound {
		return func(_ sessionchat.Manager, to sessionchat.ConnInfo, msg sessionchat.Message, send sender) {
			send(to.ID, msg)
			if msg.Type() == vocab.ResultMessage {
				time.AfterFunc(later/50, func() { send(to.ID, msg) })
			}
		}
	}},
}

// TestLateEnds checks that an error and the result after it, however late, count as one end of a turn, and that a
// second result breaks only the clause about the order of messages, whenever it comes.
func TestLateEnds(t *testing.T) {
	t.Parallel()
	for _, row := range lateEnds {
		t.Run(row.name, func(t *testing.T) {
			suitetest.AwaitTurn(t)
			brain := llm.New()
			handler, err := sessionchat.New(sessionchat.Options{DB: filepath.Join(t.TempDir(), "sessions.db"), Unsynced: true,
				Backend: brain, Outbound: row.tell()})
			if err != nil {
				t.Fatal(err)
			}
			s := httptest.NewServer(handler)
			defer func() {
				if err := handler.Close(context.Background()); err != nil {
					t.Error(err)
				}
				s.CloseClientConnections()
				s.Close()
			}()
			p, err := protocols.Kinds().ForURL(vocab.Protocol, s.URL)
			if err != nil {
				t.Fatal(err)
			}
			launch.RaiseLimits(&p.Limits)
			res := suitetest.Judge(t, runner.Options{Profile: p, Brain: brain, Tags: "not @exclusive", AllowIncomplete: true})
			if got := suitetest.Broken(res); !slices.Equal(got, row.breaks) {
				t.Errorf("broken %v, want %v\n%s", got, row.breaks, suitetest.Console(t, res))
			}
		})
	}
}

// TestTwice checks that sessions a target keeps from one run do not confuse the next run.
func TestTwice(t *testing.T) {
	suitetest.AwaitTurn(t)
	brain := llm.New()
	handler, err := sessionchat.New(sessionchat.Options{DB: filepath.Join(t.TempDir(), "sessions.db"), Unsynced: true,
		Backend: brain})
	if err != nil {
		t.Fatal(err)
	}
	s := httptest.NewServer(handler)
	defer func() {
		if err := handler.Close(context.Background()); err != nil {
			t.Error(err)
		}
		s.CloseClientConnections()
		s.Close()
	}()
	for run := range 2 {
		p, err := protocols.Kinds().ForURL("session-chat", s.URL)
		if err != nil {
			t.Fatal(err)
		}
		launch.RaiseLimits(&p.Limits)
		res := suitetest.Judge(t, runner.Options{Profile: p, Brain: brain, Tags: "not @exclusive", AllowIncomplete: true})
		if res.Exit != verdict.ExitConformant {
			t.Fatalf("run %d: exit %d\n%s", run+1, res.Exit, suitetest.Console(t, res))
		}
	}
}
