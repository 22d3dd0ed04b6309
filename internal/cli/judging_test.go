package cli

import (
	"bytes"
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/coder/websocket"
	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"parley/features/verdict"
)

// TestJudgedDemands: --fail-on and --max-duration decide about the exit code, and the reports say so; of what passes a
// proxy as of its recording.
func TestJudgedDemands(t *testing.T) {
	chat := frame(3, 2, "sent", `{"type":"chat","agent_id":"a","content":"hi"}`)
	wrong := frame(4, 3, "received", `{"message_type":"system","agent_id":"a","session_id":"s","content":{}}`)
	broken := chatFile(t, "broken.jsonl", chat, wrong)
	pinged := chatFile(t, "pinged.jsonl", frame(3, 2, "sent", `{"type":"ping"}`), frame(4, 302, "received",
		`{"message_type":"pong","timestamp":"2026-01-01T00:00:00Z"}`), frame(5, 400, "sent", `{"type":"ping"}`),
		`{"n":6,"at_ms":900,"party":"A","dir":"sent","kind":"closed","label":"closed by the harness"}`)
	answer := func(n int, kind, message string) string {
		return frame(n, n, "received", `{"agent_id":"a","message":`+message+`,"message_type":"`+kind+
			`","session_id":"62be0109-5bae-4cff-a3e1-127f5a20da86","timestamp":"2026-01-01T00:00:00.000Z"}`)
	}
	silent := chatFile(t, "silent.jsonl", frame(3, 2, "sent", `{"type":"ping"}`), frame(4, 3, "sent",
		`{"type":"chat","agent_id":"a","content":"hi"}`),
		answer(5, "system", `{"model":"default","resumed":false,"subtype":"init"}`),
		answer(6, "stream", `{"text":"ok"}`), answer(7, "assistant", `{"content":"ok","role":"assistant"}`),
		answer(8, "result", `{"duration_ms":0,"num_turns":1,"subtype":"success"}`))
	for _, row := range []struct {
		file  string
		flags string
		code  int
		want  string // in the report
	}{
		{broken, "--fail-on must", 1, "SC-044"},
		{broken, "--fail-on none", 0, "SC-044"},
		{broken, "--fail-on SC-038", 0, "SC-044"},
		{broken, "--fail-on sc-044", 1, "SC-044"},
		{silent, "", 0, "SC-037a"},
		{silent, "--fail-on must", 0, "SC-037a"},
		{silent, "--fail-on should", 1, "SC-037a"},
		{silent, "--fail-on SC-037A", 1, "SC-037a"},
		{silent, "--strict", 1, "SC-037a"},
		{silent, "--strict --fail-on SC-044", 0, "SC-037a"},
		{pinged, "--max-duration ping=1s", 0, "exit 0"},
		{pinged, "--max-duration ping=299ms", 1,
			"ping took longer than 299ms 2 times of 2; one had no answer after 500ms (record 5 A)"},
		{pinged, "--max-duration ping=400ms", 1, "ping took longer than 400ms 1 times of 2"},
		{pinged, "--max-duration ping=299ms --fail-on none", 0, "ping took longer"},
		{pinged, "--max-duration chat=1ns", 0, "chat was never shown with its answer, and 1ns are allowed"},
	} {
		out := t.TempDir()
		text, said, code := invoke(t, append([]string{"recording", "judge", row.file, "--out", out},
			strings.Fields(row.flags)...)...)
		if code != row.code || !strings.Contains(strings.Join(strings.Fields(text), " "), row.want) {
			t.Errorf("%s: exit %d, want %d and %q\n%s%s", row.flags, code, row.code, row.want, text, said)
		}
		if got := resultsIn(t, out).Exit; got != code {
			t.Errorf("%s: results.json has exit %d, and it was %d", row.flags, got, code)
		}
		junit, err := os.ReadFile(filepath.Join(out, "junit.xml"))
		limited := strings.Contains(row.flags, "--max")
		if err != nil || limited != strings.Contains(string(junit), "(limits)") ||
			strings.Contains(row.want, "longer") != strings.Contains(string(junit), `type="limit"`) {
			t.Errorf("%s: %v\n%s", row.flags, err, junit)
		}
	}
	live, file, exit := recordLive(t, "session-chat", startTarget(t, "session-chat", "server", ""),
		func(t *testing.T, url string) { runChatTurn(t, quickClient(t), url) }, "--max-duration", "chat=1ns")
	out := t.TempDir()
	_, said, code := invoke(t, "recording", "judge", file, "--out", out, "--max-duration", "chat=1ns")
	again := resultsIn(t, out)
	if exit != 1 || code != 1 || len(live.Limits) != 1 || live.Limits[0].Exchanges != 1 || !live.Limits[0].Answered {
		t.Errorf("exit %d, and %d: %s\n%+v", exit, code, said, live.Limits)
	}
	if d := cmp.Diff(live.Limits, again.Limits, cmpopts.EquateApprox(0, 0.01)); d != "" {
		t.Errorf("live -, recorded +: %s", d)
	}
}

// TestRecordingJudgedOfClient: the recording of a play, in which Parley was the server, judges the client, which is no
// target of a run; so does that of a play between the client and its server.
func TestRecordingJudgedOfClient(t *testing.T) {
	server := chatServer(t, "no-timestamp")
	for _, row := range []struct {
		content, outcome string
		flags            []string
	}{
		{`,"content":"hi"`, "passed", nil},
		{"", "failed", nil},
		{`,"content":"hi"`, "passed", []string{"--upstream", server}},
		{"", "failed", []string{"--upstream", server}},
	} {
		line, stop := simulating(t, append([]string{"--protocol", "session-chat", "--as", "server"}, row.flags...)...)
		page, at := line(), line()
		talk(t, at+"/chat/ws", `{"type":"chat","agent_id":"a"`+row.content+`}`, `"message_type"`)
		res, err := quickClient(t).Get(page + "/api/v1/sessions/1/recording")
		if err != nil {
			t.Fatal(err)
		}
		text, err := io.ReadAll(res.Body)
		_ = res.Body.Close()
		if err != nil {
			t.Fatal(err)
		}
		stop()
		out := t.TempDir()
		_, said, code := invoke(t, "recording", "judge", writtenFile(t, "play.jsonl", string(text)), "--out", out)
		all := resultsIn(t, out)
		if len(all.Runs) != 1 || all.Runs[0].Role != "frontend" || (code == 1) != (row.outcome == "failed") {
			t.Fatalf("%v: exit %d, %d runs: %s\n%s", row, code, len(all.Runs), said, text)
		}
		counted := 0
		for _, c := range all.Runs[0].Clauses {
			if !c.OtherRole && !c.Excluded {
				counted++
			}
		}
		if got := clauseOf(all, "SC-031"); string(got.Outcome) != row.outcome || counted != 7 {
			t.Errorf("%v: SC-031 %s, of %d clauses: %s", row, got.Outcome, counted, said)
		}
	}
}

// talk sends a text to the server of a play, and waits for a message with another.
func talk(t *testing.T, url, text, answer string) {
	t.Helper()
	c, _, err := websocket.Dial(t.Context(), url, &websocket.DialOptions{HTTPClient: quickClient(t)})
	if err != nil {
		t.Fatal(err)
	}
	defer c.CloseNow()
	if err := c.Write(t.Context(), websocket.MessageText, []byte(text)); err != nil {
		t.Fatal(err)
	}
	for {
		_, got, err := c.Read(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if strings.Contains(string(got), answer) {
			_ = c.Close(websocket.StatusNormalClosure, "")
			return
		}
	}
}

// cutOff is stdin that ends a context once its first part is read, and then goes on.
type cutOff struct {
	first, rest io.Reader
	end         context.CancelFunc
}

func (c *cutOff) Read(p []byte) (int, error) {
	n, err := c.first.Read(p)
	if errors.Is(err, io.EOF) {
		c.end()
		return c.rest.Read(p)
	}
	return n, err
}

// TestRecordingJudgedLong: a long file is counted on a terminal alone, and after Ctrl-C what was read of it is judged.
func TestRecordingJudgedLong(t *testing.T) {
	var lines []string
	for n := 3; n < 5003; n++ {
		lines = append(lines, frame(n, n, "sent", `{"type":"ping"}`))
	}
	text, err := os.ReadFile(chatFile(t, "long.jsonl", lines...))
	if err != nil {
		t.Fatal(err)
	}
	for _, row := range []struct {
		name          string
		terminal, cut bool
	}{{"piped", false, false}, {"on a terminal", true, false}, {"interrupted", false, true}} {
		t.Run(row.name, func(t *testing.T) {
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			var in io.Reader = bytes.NewReader(text)
			if row.cut {
				in = &cutOff{bytes.NewReader(text[:len(text)/2]), bytes.NewReader(text[len(text)/2:]), cancel}
			}
			var said strings.Builder
			out := t.TempDir()
			s := &streams{In: in, Out: io.Discard, Err: &said, ErrTTY: row.terminal, ErrWidth: 80}
			root := rootCommand(s)
			root.SetArgs([]string{"recording", "judge", "-", "--out", out})
			code := s.exitWith(root.ExecuteContext(ctx))
			res := resultsIn(t, out)
			if counted := strings.Contains(said.String(), "\r\x1b[K"); counted != row.terminal ||
				counted != strings.Contains(said.String(), "-: 1000 records") {
				t.Errorf("it says %q", said.String())
			}
			if (code == verdict.ExitInterrupted) != row.cut || res.Partial != row.cut || len(res.Runs[0].Scenarios) != 1 {
				t.Errorf("exit %d, partial %v, %d scenarios", code, res.Partial, len(res.Runs[0].Scenarios))
			}
		})
	}
}
