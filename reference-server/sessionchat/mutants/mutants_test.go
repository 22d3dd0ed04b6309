package mutants

import (
	"context"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/coder/websocket"

	"parley/internal/llm"
	"parley/internal/tier"
	proto "parley/protocol/sessionchat"
	"parley/reference-server/sessionchat"
)

// said is what a client sends to any mutant: something that triggers each fault.
var said = []string{
	`{"type":"chat","agent_id":"red","content":"[[stream r1 5]]"}`,
	`{"type":"chat","agent_id":"red","content":"[[hold r2]]"}`,
	`{"type":"chat","agent_id":"red","content":"[[echo r3]] {\"a\":1}","options":{}}`,
	`{"type":"chat","agent_id":"blue/Ünï 7 ","content":"[[echo b1]]","options":{"model":"m"}}`,
	`{"type":"chat","agent_id":"blue/Ünï 7 ","content":"[[fail b2 500]]"}`,
	`{"type":"chat","agent_id":"blue/Ünï 7 ","content":"{\"text\":\"\\u0000\\n\"}"}`,
	`{"type":"ping"}`,
	`{"type":"ping"}`,
	`{"type":"interrupt","agent_id":"nobody"}`,
	`{"type":"interrupt","agent_id":"red"}`,
	`{"type":"interrupt","agent_id":"red"}`,
	`{"type":"stop","agent_id":"red"}`,
	`{"type":"chat","agent_id":"red"}`,
	`{"type":"chat","content":"[[echo n1]]"}`,
	`{"type":"chat","agent_id":42,"content":[{"type":"text","text":"x"}]}`,
	`{"type":"chat","agent_id":null,"content":null}`,
	`{"agent_id":"green","content":"[[echo g1]]"}`,
	`[{"type":"chat","agent_id":"green","content":"[[echo g2]]"}]`,
	`not JSON`,
	`{"type":"chat","agent_id":"red","content":"[[echo r4]]"}`,
	`{"type":"chat","agent_id":"43","content":"[[echo d1]]"}`,
}

// Every mutant serves two clients, whatever it does to them, and closes properly.
func TestEveryMutantServes(t *testing.T) {
	tier.Night(t)
	for _, m := range All() {
		t.Run(m.ID, func(t *testing.T) {
			t.Parallel()
			brain := llm.New()
			handler, err := Handler(m.ID, sessionchat.Options{Backend: brain, Idle: time.Millisecond})
			if err != nil {
				t.Fatal(err)
			}
			server := httptest.NewServer(handler)
			for range 2 {
				converse(t, server.URL)
			}
			brain.Release("r2")
			ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
			defer cancel()
			if err := handler.Close(ctx); err != nil {
				t.Errorf("close: %v", err)
			}
			server.Close()
		})
	}
}

// converse sends everything, and leaves after it has received a message or the connection has ended.
func converse(t *testing.T, url string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	conn, _, err := websocket.Dial(ctx, "ws"+strings.TrimPrefix(url, "http")+proto.Path, nil)
	if err != nil {
		t.Fatal(err)
	}
	heard := make(chan struct{}, 1)
	var reading sync.WaitGroup
	reading.Go(func() {
		for err := error(nil); err == nil; {
			_, _, err = conn.Read(ctx)
			select {
			case heard <- struct{}{}:
			default:
			}
		}
	})
	for _, text := range said {
		if conn.Write(ctx, websocket.MessageText, []byte(text)) != nil {
			break // the mutant has ended the connection
		}
	}
	<-heard
	_ = conn.CloseNow()
	reading.Wait()
	if ctx.Err() != nil {
		t.Error("it says nothing")
	}
}

func TestUnknownMutant(t *testing.T) {
	if _, err := Handler("nobody", sessionchat.Options{}); err == nil {
		t.Error("no error")
	}
}

func TestUnusableStore(t *testing.T) {
	if _, err := Handler("saves-nothing", sessionchat.Options{DB: t.TempDir()}); err == nil {
		t.Error("no error")
	}
}
