package bundle

import (
	"context"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"testing"

	"github.com/coder/websocket"
	"github.com/coder/websocket/wsjson"
	"github.com/spf13/pflag"
	"go.uber.org/goleak"

	"parley/internal/llm"
	"parley/internal/llm/stub"
	proto "parley/protocol/sessionchat"
	"parley/reference-server/launch"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// chat runs one turn with the agent_id "a" on a server with these flags, and returns its session and answer.
func chat(t *testing.T, content string, flags ...string) (session, answer string) {
	t.Helper()
	f := pflag.NewFlagSet("serve", pflag.ContinueOnError)
	serving := service.Flags(f)
	if err := f.Parse(flags); err != nil {
		t.Fatal(err)
	}
	handler, err := serving.Make(launch.Place{Log: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	srv := httptest.NewServer(handler)
	defer srv.Close()
	defer func() {
		if err := handler.Close(context.Background()); err != nil {
			t.Error(err)
		}
	}()
	ws, _, err := websocket.Dial(t.Context(), srv.URL+proto.Path, &websocket.DialOptions{HTTPClient: srv.Client()})
	if err != nil {
		t.Fatal(err)
	}
	defer ws.CloseNow()
	asked := map[string]string{"type": "chat", "agent_id": "a", "content": content}
	if err := wsjson.Write(t.Context(), ws, asked); err != nil {
		t.Fatal(err)
	}
	for {
		var msg struct {
			Type    string `json:"message_type"`
			Session string `json:"session_id"`
			Message struct {
				Subtype string `json:"subtype"`
				Content string `json:"content"`
			} `json:"message"`
		}
		if err := wsjson.Read(t.Context(), ws, &msg); err != nil {
			t.Fatal(err)
		}
		switch {
		case msg.Type == "assistant":
			answer = msg.Message.Content
		case msg.Type == "result" && msg.Message.Subtype != "success":
			t.Fatalf("result: %+v", msg)
		case msg.Type == "result":
			return msg.Session, answer
		}
	}
}

// TestDatabase checks that sessions continue in another server with the same file.
func TestDatabase(t *testing.T) {
	db := filepath.Join(t.TempDir(), "chat.db")
	first, _ := chat(t, "[[recall n]] [[echo n]]", "--db", db)
	second, answer := chat(t, "[[recall n]] [[echo n]]", "--db", db, "--idle", "1ms")
	if second != first || !strings.HasPrefix(answer, "n (1)") {
		t.Errorf("resumed %s as %s: %q", first, second, answer)
	}
}

// TestModelURL checks that the given model answers, and is asked by the given name.
func TestModelURL(t *testing.T) {
	brain := llm.New()
	s, err := stub.Start(brain)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close(context.Background())
	defer http.DefaultTransport.(*http.Transport).CloseIdleConnections()
	const text = "[[echo n]] there"
	if _, answer := chat(t, text, "--model-url", s.URL()+"/v1", "--model", "parrot"); answer != text {
		t.Errorf("answer %q", answer)
	}
	if asked := brain.Requests("n"); len(asked) != 1 || asked[0].Model != "parrot" || asked[0].API != llm.APIChat {
		t.Errorf("asked: %+v", asked)
	}
}
