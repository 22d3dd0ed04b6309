package host

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	proto "parley/protocol/externalagent"
	"parley/reference-server/externalagent/wire"
)

// The log has what went over the wire, both ways, and it is complete when session.ended arrives.
func TestLog(t *testing.T) {
	var sent []object
	p := startParty(t, Options{Outbound: func(_ View, msg Message, send func(Message)) {
		sent = append(sent, object{"type": msg.Type(), "payload": wire.Plain(msg["payload"])})
		send(msg)
	}})
	id := p.start()
	p.sendRaw(`{"v":"mvp-0.2","type":"tool.call","id":"n","payload":{"toolName":"select","params":{"itemId":1.50e3},` +
		`"extra":[1,2.0]}}`)
	p.failure(proto.InvalidParams, "n")
	p.sendRaw(`{"nothing":1}`)
	p.failure(proto.InvalidMessage, "")
	p.callAndRead(proto.Select, object{"itemId": "m1"})
	if err := p.h.Say("hello"); err != nil {
		t.Error(err)
	}
	p.expectType(proto.UserMessage, "")
	p.nextUpdate()
	ended := p.end()
	entries := p.lines(ended["logFile"].(string))
	var out []object
	var kinds []string
	for i, e := range entries {
		if e["eventIndex"] != float64(i+1) || e["sessionId"] != id || e["timestamp"] != "2026-02-13T10:22:17.123Z" ||
			len(e) != 6 {
			t.Errorf("line %d: %v", i+1, e)
		}
		if e["payload"].(object) == nil {
			t.Errorf("line %d: %v", i+1, e)
		}
		if e["direction"] == "out" {
			out = append(out, object{"type": e["type"], "payload": e["payload"]})
		} else {
			kinds = append(kinds, e["direction"].(string)+" "+e["type"].(string))
		}
	}
	if diff := cmp.Diff(sent, out); diff != "" {
		t.Errorf("sent and logged differ:\n%s", diff)
	}
	want := []string{"in session.start", "in tool.call", "internal message.invalid", "in tool.call",
		"internal tool.executed",
		"internal user.input", "in session.end", "internal state.reset"}
	if !slices.Equal(kinds, want) {
		t.Errorf("events %q", kinds)
	}
	call := entries[3]["payload"].(object)
	if diff := cmp.Diff(object{"toolName": "select", "params": object{"itemId": 1500.0}, "extra": []any{1.0, 2.0}},
		call); diff != "" {
		t.Error(diff)
	}
	if text, _ := os.ReadFile(filepath.Join(p.logs, "study", id+".jsonl")); !strings.Contains(string(text), "1.50e3") {
		t.Error("a number is not logged as it was sent")
	}
}

// Whatever the ids contain, nothing is written outside the folder.
func TestLogStaysInItsFolder(t *testing.T) {
	outside := t.TempDir()
	dir := filepath.Join(outside, "logs")
	p := startParty(t, Options{Logs: dir})
	for _, id := range []string{"../../escape", "/etc/passwd", `..\..\escape`, "a/b", ".", "..", "", "a\x00b", "con",
		strings.Repeat("x", 5000), "%2e%2e%2f"} {
		p.expectType(proto.SessionStarted, p.send(proto.SessionStart, object{"studyId": id, "participantId": id}))
		p.nextUpdate()
		p.end()
	}
	var files []string
	err := filepath.WalkDir(outside, func(path string, d os.DirEntry, err error) error {
		if !d.IsDir() {
			files = append(files, path)
		}
		return err
	})
	if err != nil || len(files) != 11 {
		t.Errorf("%q, %v", files, err)
	}
	for _, file := range files {
		if !strings.HasPrefix(file, filepath.Join(dir, "study", "s-20260213-0")) {
			t.Errorf("written: %s", file)
		}
	}
}

// Files left by a crash are never appended to.
func TestLogAfterCrash(t *testing.T) {
	dir := t.TempDir()
	if err := os.MkdirAll(filepath.Join(dir, "study"), 0o755); err != nil {
		t.Fatal(err)
	}
	torn := filepath.Join(dir, "study", "s-20260213-041.jsonl")
	if err := os.WriteFile(torn, []byte(`{"eventIndex":1}`+"\n"+`{"eventInd`), 0o644); err != nil {
		t.Fatal(err)
	}
	p := startParty(t, Options{Logs: dir})
	if id := p.start(); id != "s-20260213-042" {
		t.Errorf("id %s", id)
	}
	p.end()
	if data, err := os.ReadFile(torn); err != nil || !strings.HasSuffix(string(data), `{"eventInd`) {
		t.Errorf("%q, %v", data, err)
	}
}

// A link in the folder can't lead outside of it, and a session that can't be logged does not begin.
func TestNoLogNoSession(t *testing.T) {
	outside, dir := t.TempDir(), t.TempDir()
	store, err := OpenStore(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer store.Close()
	if err := errors.Join(os.Remove(filepath.Join(dir, "study")), os.Symlink(outside, filepath.Join(dir,
		"study"))); err != nil {
		t.Fatal(err)
	}
	p := startParty(t, Options{Store: store})
	p.failure(proto.ToolExecutionFailed, p.send(proto.SessionStart, object{"studyId": "a", "participantId": "b"}))
	p.failure(proto.SessionNotActive, p.send(proto.SnapshotGet, object{}))
	if names, err := os.ReadDir(outside); err != nil || len(names) > 0 {
		t.Errorf("%v, %v", names, err)
	}
}

// fullDisk accepts a limited number of lines.
type fullDisk struct {
	Store
	lines int
}

func (f *fullDisk) Create(now time.Time) (Log, error) {
	log, err := f.Store.Create(now)
	return &fullLog{log, f.lines}, err
}

type fullLog struct {
	Log
	left int
}

func (l *fullLog) Append(line []byte) error {
	if l.left--; l.left < 0 {
		return errors.New("no space left on device")
	}
	return l.Log.Append(line)
}

// A session whose log fails ends, and session.ended is not sent for it.
func TestDiskFull(t *testing.T) {
	store, err := OpenStore(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	defer store.Close()
	for _, lines := range []int{3, 4, 5, 6, 7, 8, 9} {
		p := startParty(t, Options{Store: &fullDisk{store, lines}})
		p.start()
		if lines > 6 { // after the call, its event, the result and the state
			p.callAndRead(proto.Highlight, object{"itemId": "m1"})
			p.failure(proto.ToolExecutionFailed, p.send(proto.SessionEnd, object{"reason": "done"}))
		} else {
			p.callRefused(proto.ToolExecutionFailed, proto.Highlight, object{"itemId": "m1"})
		}
		p.failure(proto.SessionNotActive, p.send(proto.SnapshotGet, object{}))
	}
}

func TestLogLimit(t *testing.T) {
	p := startParty(t, Options{Limits: Limits{Log: 20_000}})
	id := p.start()
	for range 100 {
		request := p.send(proto.SnapshotGet, object{})
		if msg := p.nextMessage(); msg["replyTo"] != request || msg.Type() == proto.ErrorMessage {
			break
		}
	}
	entries := readLog(t, filepath.Join(p.logs, "study", id+".jsonl"))
	last := entries[len(entries)-1]
	if last["type"] != sessionClosed || last["payload"].(object)["reason"] != "the log is full" {
		t.Errorf("%v", last)
	}
}

// A host that closes completes its log.
func TestLogOfClosedHost(t *testing.T) {
	dir := t.TempDir()
	p := startParty(t, Options{Logs: dir})
	id := p.start()
	if err := p.h.Close(); err != nil {
		t.Fatal(err)
	}
	entries := readLog(t, filepath.Join(dir, "study", id+".jsonl"))
	if last := entries[len(entries)-1]; last["type"] != sessionClosed || last["direction"] != "internal" {
		t.Errorf("%v", last)
	}
}
