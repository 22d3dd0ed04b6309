package console

import (
	"testing"
	"time"
)

// TestPending: what can follow a step, a step that does not run, and what is behind a clause that did not fail.
func TestPending(t *testing.T) {
	c, _ := serve(t, func(o *Options) {
		o.Again = func(s Session, _ bool, clause string) string { return s.Protocol + " " + clause }
	})
	s := do[Session](c, 201, "POST", "/sessions", m{"kind": "test", "protocol": "agent-select"})
	at := "/sessions/" + s.ID
	next := do[map[string]string](c, 200, "GET", at+"/next", nil)["step"]
	if got := do[Judged](c, 200, "POST", at+"/steps", m{"text": next}); got.Status != "passed" {
		t.Errorf("%q can follow, and is %+v", next, got)
	}
	c.wantRefusal(404, "DELETE", at+"/steps/1", nil, `no step "1" runs or waits`)
	c.wantRefusal(404, "DELETE", at+"/steps/x", nil, `no step "x" runs or waits`)
	why := do[Why](c, 200, "GET", at+"/why?clause=AS-042", nil)
	if len(why.LooksLike) > 0 || why.Again != "agent-select AS-042" {
		t.Errorf("behind a clause that did not fail is %+v", why)
	}
	c.wantRefusal(400, "GET", at+"/why?clauses=AS-042", nil, "did you mean")
}

// TestEdited: the record of a message that was sent instead of a held one has the original, without secrets; a
// decision that is refused, and a message that is sent as it was, leave nothing behind.
func TestEdited(t *testing.T) {
	f := newFake()
	c, _ := serve(t, f.offer)
	s := do[Session](c, 201, "POST", "/sessions", m{"kind": "play", "protocol": "p", "as": "server", "mind": "ask",
		"listen": "127.0.0.1:0"})
	at := "/sessions/" + s.ID
	hold := func(n int) {
		now := time.Now()
		f.hold(Held{N: n, Party: "C1", Body: []byte(`{"key":"secret"}`), Since: now, Until: now.Add(time.Minute)})
	}
	was := func(body string) *string {
		t.Helper()
		n := do[map[string]int](c, 200, "POST", at+"/raw", m{"party": "C1", "text": body})["n"]
		return do[[]Record](c, 200, "GET", at+"/records", nil)[n-1].Was
	}
	if got := was("edited"); got != nil {
		t.Errorf("before the edit: %s", *got)
	}
	hold(1)
	do[[]HeldMessage](c, 200, "POST", at+"/held/1", m{"do": "send", "body": "edited"})
	for range 2 { // it stays known
		if got := do[[]Record](c, 200, "GET", at+"/records", nil); got[0].Was != nil {
			t.Errorf("the record before the edit has %s", *got[0].Was)
		}
	}
	if got := was("edited"); got == nil || *got != `{"key":"«redacted»"}` {
		t.Errorf("the edited message was %v", got)
	}
	if got := was("edited"); got != nil {
		t.Errorf("a later message was %s", *got)
	}
	hold(2)
	do[[]HeldMessage](c, 200, "POST", at+"/held/2", m{"do": "send"})
	if got := was(`{"key":"secret"}`); got != nil {
		t.Errorf("an unchanged message was %s", *got)
	}
	c.wantRefusal(404, "POST", at+"/held/9", m{"do": "send", "body": "never sent"}, "not held")
	if got := was("never sent"); got != nil {
		t.Errorf("after a refused decision a message was %s", *got)
	}
}
