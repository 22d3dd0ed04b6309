package agentselect

import (
	"bytes"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	proto "parley/protocol/agentselect"
)

const reviewer = `
[[agents]]
id = "code_reviewer"
name = "Code Reviewer"
description = "代码审查专家"
prompt = "MARK-1"
tools = ["read_file", "ask_user"]
`

func write(t *testing.T, path, text string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

func TestCustomAgents(t *testing.T) {
	path := filepath.Join(t.TempDir(), "main-agents.toml")
	write(t, path, reviewer)
	b := startServer(t, Options{AgentsFile: path})
	c := b.connect().create()
	want := append(slices.Clone(proto.BuiltinIDs), "code_reviewer")
	if got := agentIDs(c.list["agents"]); !slices.Equal(got, want) {
		t.Fatalf("agents %v", got)
	}
	c.switchTo("code_reviewer")
	c.wantSwitch("general", "code_reviewer")
	c.chat("[[echo k1]]")
	c.readUntil("complete")
	got := b.requests("k1", 1)[0]
	if got.System != "MARK-1" || !slices.Equal(got.Tools, []string{"read_file", "ask_user"}) {
		t.Errorf("request %+v", got)
	}

	// A change takes effect at the next turn, switch and connection, without an announcement (AS-026, AS-027).
	write(t, path, strings.ReplaceAll(reviewer, "MARK-1", "MARK-2")+"[[agents]]\nid = \"late\"\nname = \"Late\"\n")
	c.chat("[[echo k2]]")
	c.readUntil("complete")
	if got := b.requests("k2", 1)[0]; got.System != "MARK-2" {
		t.Errorf("prompt %q", got.System)
	}
	if got := agentIDs(b.connect().list["agents"]); !slices.Contains(got, "late") {
		t.Errorf("agents %v", got)
	}
	c.switchTo("late")
	c.wantSwitch("code_reviewer", "late")

	// A session's agent may disappear; the session does not.
	write(t, path, reviewer)
	c.chat("[[echo k3]]")
	if d := c.wantEvent("error"); d["errorCode"] != nil {
		t.Errorf("error %v", d)
	}
	c.wantEvent("complete")
	c.switchTo("late")
	if got := agentIDs(c.wantRefusal("agent_not_found")["availableAgents"]); slices.Contains(got, "late") {
		t.Errorf("availableAgents %v", got)
	}
	c.switchTo("general")
	c.wantSwitch("late", "general")
}

func TestTurnKeepsItsConfiguration(t *testing.T) {
	path := filepath.Join(t.TempDir(), "main-agents.toml")
	write(t, path, reviewer)
	b := startServer(t, Options{AgentsFile: path})
	c := b.connect().create()
	c.switchTo("code_reviewer")
	c.wantEvent("agent_switched")
	c.chat("[[tool t1 ask_user {}]]")
	ev, _ := c.readUntil("user_question_request")
	write(t, path, strings.ReplaceAll(reviewer, "MARK-1", "MARK-2"))
	c.send(object{"type": "user_question_response", "requestId": ev["requestId"], "response": "go"})
	c.readUntil("complete")
	if got := b.requests("t1", 2)[1]; got.System != "MARK-1" { // AS-062
		t.Errorf("prompt %q", got.System)
	}
}

func TestBrokenFiles(t *testing.T) {
	broken := map[string]string{
		"not TOML":         "[[agents",
		"illegal id":       "[[agents]]\nid = \"Code\"\n",
		"no id":            "[[agents]]\nname = \"x\"\n",
		"built-in id":      "[[agents]]\nid = \"general\"\n",
		"id twice":         "[[agents]]\nid = \"a\"\n[[agents]]\nid = \"a\"\n",
		"unknown key":      "[[agents]]\nid = \"a\"\nprompts = \"x\"\n",
		"tools no list":    "[[agents]]\nid = \"a\"\ntools = \"x\"\n",
		"beyond the limit": strings.Repeat("#", 2<<20),
	}
	for reason, text := range broken {
		t.Run(reason, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "agents.toml")
			write(t, path, text)
			if _, err := New(Options{AgentsFile: path}); err == nil {
				t.Error("accepted at start")
			}
			write(t, path, reviewer)
			var log bytes.Buffer
			file, err := newAgentsFile(path, 1<<20, slog.New(slog.NewTextHandler(&log, nil)))
			if err != nil {
				t.Fatal(err)
			}
			write(t, path, text)
			if got := file.currentAgents(); len(got) != 4 {
				t.Errorf("agents %v", got)
			}
			if !strings.Contains(log.String(), "last good list") {
				t.Errorf("log %q", log.String())
			}
			write(t, path, "")
			if got := file.currentAgents(); len(got) != 3 {
				t.Errorf("agents %v", got)
			}
		})
	}
}

// A file rewritten in the same tick with the same size differs only in content.
func TestChangeThatMetadataHides(t *testing.T) {
	path := filepath.Join(t.TempDir(), "agents.toml")
	write(t, path, reviewer)
	at := time.Now().Add(-time.Second)
	if err := os.Chtimes(path, at, at); err != nil {
		t.Fatal(err)
	}
	file, err := newAgentsFile(path, 1<<20, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	write(t, path, strings.ReplaceAll(reviewer, "MARK-1", "MARK-2"))
	if err := os.Chtimes(path, at, at); err != nil {
		t.Fatal(err)
	}
	if got := file.currentAgents()[3].Prompt; got != "MARK-2" {
		t.Errorf("prompt %q", got)
	}
}

func TestFileThatGoes(t *testing.T) {
	path := filepath.Join(t.TempDir(), "agents.toml")
	file, err := newAgentsFile(path, 1<<20, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if got := file.currentAgents(); len(got) != 3 {
			t.Errorf("agents %v", got)
		}
		write(t, path, reviewer)
		if got := file.currentAgents(); len(got) != 4 {
			t.Errorf("agents %v", got)
		}
		if err := os.Remove(path); err != nil {
			t.Fatal(err)
		}
	}
}
