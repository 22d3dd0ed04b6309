package parley_test

import (
	"context"
	"maps"
	"net/http/httptest"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"parley/model"
	vocab "parley/protocol/sessionchat"
	"parley/reference-server/bundled"
	"parley/reference-server/sessionchat"
	"parley/reports"
	"parley/runner"
	"parley/target"
	"parley/verdict"
)

type sender = func(connID string, msg sessionchat.Message)

// failedTurn tells whether a message is the end of a turn whose model has failed.
func failedTurn(msg sessionchat.Message) bool {
	return msg.Type() == vocab.ResultMessage && msg.Body()["subtype"] == vocab.Failed
}

func asError(msg sessionchat.Message) sessionchat.Message {
	return msg.With("message_type", vocab.ErrorMessage).With("message", map[string]any{"code": "model_failed", "text": "the model has failed"})
}

// later is longer than a quiet window.
const later = 250 * time.Millisecond

var lateEnds = []struct {
	name   string
	tell   func() sessionchat.Outbound // made once for a server
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
	{name: "a second result a little later", breaks: []string{"SC-020"}, tell: func() sessionchat.Outbound {
		return func(_ sessionchat.Manager, to sessionchat.ConnInfo, msg sessionchat.Message, send sender) {
			send(to.ID, msg)
			if msg.Type() == vocab.ResultMessage {
				time.AfterFunc(later/50, func() { send(to.ID, msg) })
			}
		}
	}},
}

// TestLateEnds: an error and the result behind it, however late, are one end of a turn; a second result breaks the clause about
// the order of messages, and that one alone, whenever it comes.
func TestLateEnds(t *testing.T) {
	for _, row := range lateEnds {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			brain := model.New()
			handler, err := sessionchat.New(sessionchat.Options{DB: filepath.Join(t.TempDir(), "sessions.db"), Unsynced: true, Backend: brain, Outbound: row.tell()})
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
			p, err := target.ForURLOf(vocab.Protocol, s.URL)
			if err != nil {
				t.Fatal(err)
			}
			bundled.Unhurry(&p.Limits)
			res, err := runner.Run(context.Background(), runner.Options{Profile: p, Brain: brain, Tags: "not @exclusive", AllowIncomplete: true, Again: "parley run"})
			if err != nil {
				t.Fatal(err)
			}
			if got := broken(res); !slices.Equal(got, row.breaks) {
				t.Errorf("broken %v, want %v\n%s", got, row.breaks, console(t, res))
			}
		})
	}
}

// broken lists the clauses that were broken, or warned of.
func broken(res *reports.Results) []string {
	ids := map[string]bool{}
	for _, c := range res.Runs[0].Clauses {
		if c.Outcome == verdict.Failed || c.Outcome == verdict.Warned {
			ids[c.ID] = true
		}
	}
	return slices.Sorted(maps.Keys(ids))
}
