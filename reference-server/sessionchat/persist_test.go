package sessionchat

import (
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func TestPersistence(t *testing.T) {
	file := filepath.Join(t.TempDir(), "chat.db")
	b := startServer(t, Options{DB: file})
	c := b.dial()
	a1, b1 := c.ask("a", "[[echo a1]]"), c.ask("b", "[[echo b1]]")
	c.startHeldTurn("a", "a2")
	c.startHeldTurn("new", "n1")
	b.close()

	b = startServer(t, Options{DB: file})
	c = b.dial()
	a := c.ask("a", "[[recall a3]]")
	if a.session != a1.session || a.text() != "a1 a2 (2)" || a.system["resumed"] != true || a.result["num_turns"] != 3.0 {
		t.Errorf("a: %+v", a)
	}
	var roles []string
	for _, m := range b.brain.Requests("a3")[0].Messages {
		roles = append(roles, m.Role+" "+m.Text)
	}
	want := []string{
		"user [[echo a1]]", "assistant [[echo a1]]", "user [[hold a2]]", "assistant holding a2", "user [[recall a3]]",
	}
	if diff := cmp.Diff(want, roles); diff != "" {
		t.Error(diff)
	}
	if again := c.ask("a", "[[recall a4]]"); again.system["resumed"] != false || again.text() != "a1 a2 a3 (3)" {
		t.Errorf("a again: %+v", again)
	}
	if got := c.ask("b", "[[recall b2]]"); got.session != b1.session || got.text() != "b1 (1)" {
		t.Errorf("b: %+v", got)
	}
	if got := c.ask("new", "[[recall n2]]"); got.text() != "n1 (1)" {
		t.Errorf("new: %+v", got)
	}
}

// A locked database fails the turn, never the server.
func TestLockedDatabase(t *testing.T) {
	file := filepath.Join(t.TempDir(), "chat.db")
	b := startServer(t, Options{DB: file, Limits: Limits{Store: 200 * time.Millisecond}})
	c := b.dial()
	known := c.ask("known", "[[echo k1]]")
	other := execute(t, file, `BEGIN IMMEDIATE`)
	for _, row := range []struct {
		agentID string
		session any
	}{{"known", known.session}, {"unknown", nil}} {
		c.chat(row.agentID, "[[echo lost]]")
		msg := c.nextMessage()
		body := msg["message"].(object)
		if msg["message_type"] != "result" || msg["session_id"] != row.session || body["subtype"] != "error" ||
			body["code"] != StoreFailed {
			t.Errorf("locked: %v", msg)
		}
	}
	if len(b.brain.Requests("lost")) > 0 {
		t.Error("the model was asked")
	}
	if _, err := other.Exec(`ROLLBACK`); err != nil {
		t.Fatal(err)
	}
	if a := c.ask("known", "[[recall k2]]"); a.session != known.session || a.text() != "k1 (1)" {
		t.Errorf("after it: %+v", a)
	}
	c.ask("unknown", "[[echo u1]]")
}

// A turn fails if any of its store operations fails; unsaved data is never reported as saved.
func TestStoreFails(t *testing.T) {
	broken := errors.New("disk on fire")
	for _, row := range []struct {
		at      string
		failure error
		code    string
	}{
		{"lookup", broken, StoreFailed}, {"save the start", broken, StoreFailed}, {"save the end", broken, StoreFailed},
		{"save the start", fmt.Errorf("%w: really", ErrFull), "overloaded"},
	} {
		t.Run(row.at, func(t *testing.T) {
			g := gate(t)
			b := startServer(t, Options{Store: g})
			c := b.dial()
			c.chat("a", "[[echo n1]]")
			for at := ""; at != row.at; {
				at = <-g.arrived
				if at == row.at {
					g.pass <- row.failure
				} else {
					g.pass <- nil
				}
			}
			a := c.turnFrom(answered{}, "a")
			if a.result["subtype"] != "error" || a.result["code"] != row.code || strings.Contains(fmt.Sprint(a.result), "fire") {
				t.Errorf("turn: %+v", a)
			}
			if started := row.at == "save the end"; started != (a.session != "") || started != (a.system != nil) {
				t.Errorf("told of: %+v", a)
			}
			go func() {
				for range g.arrived {
					g.pass <- nil
				}
			}()
			c.ask("a", "[[echo n2]]")
			b.server.balanced(t)
			b.close()
			close(g.arrived)
		})
	}
}
