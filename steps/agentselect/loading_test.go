package agentselect

import (
	"fmt"
	"strings"
	"testing"

	"parley/internal/llm"
	"parley/steps"
	"parley/transport/driver"
	"parley/transport/transcript"
)

// loadRig leads a session under load without any connection.
type loadRig struct {
	t    *testing.T
	load steps.Load
	by   steps.LoadSession
	n    int
}

func rigged(t *testing.T) *loadRig {
	t.Helper()
	p := Protocol{}.Kind().New()
	env := &steps.Env{Profile: p, Brain: llm.NewUnrecorded(), Driver: sseDriver{}}
	r := &loadRig{t: t, load: Protocol{}.Load(env, "http://x")}
	r.by = r.load.New(steps.Mark{Salt: "t", Session: 1}, &steps.Claims{})
	return r
}

// sseDriver is the name of one.
type sseDriver struct{ driver.Driver }

func (sseDriver) Name() string { return "sse" }

// takes has the session take a record, and returns what it means and what is broken.
func (r *loadRig) takes(rec transcript.Record) (step steps.LoadStep, broken string) {
	r.t.Helper()
	r.n++
	rec.N, rec.Dir = r.n, transcript.Received
	r.load.Decode(&rec)
	step = r.by.HandleRecord(&rec)
	for _, f := range step.Findings {
		if !f.OK {
			broken += fmt.Sprintln(f.Clauses, f.Expected)
		}
	}
	return step, broken
}

// hears sends it an event.
func (r *loadRig) hears(kind, data string) (step steps.LoadStep, broken string) {
	r.t.Helper()
	return r.takes(transcript.Record{Kind: transcript.Stream, Type: "message", Label: "message",
		Bytes: []byte(`{"type":"` + kind + `","data":` + data + `,"timestamp":"2026-01-01T00:00:00Z"}`)})
}

// connects opens a connection, and returns what it sends to get a session, which it is then given.
func (r *loadRig) connects(id string) (asked string) {
	r.t.Helper()
	r.by.Dial()
	r.hears("connected", `{"connectionId":"c`+id+`"}`)
	step, _ := r.hears("agent_list", `{"agents":[{"id":"general"},{"id":"debugger"}]}`)
	for _, m := range step.Send {
		asked += m.Label + " " + string(m.Body)
	}
	if step, broken := r.takes(transcript.Record{Kind: transcript.Response, Status: 200,
		Bytes: []byte(`{"success":true,"session":{"id":"` + id + `"}}`)}); !step.Done || broken != "" {
		r.t.Fatalf("not connected: %+v %s", step, broken)
	}
	return asked
}

const (
	notFound = `{"errorCode":"agent_not_found","message":"none","availableAgents":[]}`
	isBusy   = `{"errorCode":"agent_busy","message":"busy"}`
)

// A session goes on over a new connection. After an act that failed it does not, because a turn may still run in it.
func TestLoadAfterAFailedAct(t *testing.T) {
	r := rigged(t)
	r.connects("s1")
	r.by.Act(loadRefused)
	if step, broken := r.hears("error", notFound); !step.Done || broken != "" {
		t.Errorf("a refusal: %+v %s", step, broken)
	}
	if asked := r.connects("s1"); !strings.Contains(asked, `"s1"`) {
		t.Errorf("after an act that succeeded it asks: %s", asked)
	}
	r.by.Act(loadInterrupt) // and nothing comes
	if asked := r.connects("s2"); asked == "" || strings.Contains(asked, `"s1"`) {
		t.Errorf("after an act that failed it asks: %s", asked)
	}
	r.by.Act(loadRefused)
	if step, broken := r.hears("error", isBusy); !step.Done || broken != "" {
		t.Errorf("another refusal, which the model judges: %+v %s", step, broken)
	}
}

// Pieces of an answer that began before the connection judge nothing; those of the act in progress do.
func TestLoadLatePieces(t *testing.T) {
	r := rigged(t)
	r.connects("s1")
	r.by.Act(loadChat)
	nonce := steps.Mark{Salt: "t", Session: 1}.Nonce(r.by.(*loaded).serial)
	second := `{"content":"stream ` + nonce + ` 2/4 ","role":"assistant","streaming":true}`
	if _, broken := r.hears("message", second); !strings.Contains(broken, "AS-019") {
		t.Errorf("the first piece is lost: %q", broken)
	}
	r.by.Dial()
	if _, broken := r.hears("message", second); broken != "" {
		t.Errorf("over a new connection: %s", broken)
	}
}
