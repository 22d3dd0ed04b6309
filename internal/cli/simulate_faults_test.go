package cli

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/coder/websocket"

	"parley/simulator/console"
	"parley/simulator/fault"
)

// TestSimulateFaultsLeaveTraces: each fault that fires is in the records, its counts are in the API and in the report
// at the end, and the file's mistakes that no check can be sure of are warned about. The end is a close frame.
func TestSimulateFaultsLeaveTraces(t *testing.T) {
	file := filepath.Join(t.TempDir(), "f.yaml")
	const text = "faults:\n  - {name: lost, on: pong, from: server, nth: 1, do: drop}\n" +
		"  - {name: cut off, on: pong, nth: 2, do: {pad: 4096}}\n  - {on: {type: pnog}, do: drop}\n"
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	var errs bytes.Buffer
	line, stop := simulatingTo(t, &errs, "--protocol", "session-chat", "--as", "server", "--faults", file)
	api, at := line()+"/api/v1/sessions/1", line()
	c, _, err := websocket.Dial(t.Context(), at+"/chat/ws", nil)
	if err != nil {
		t.Fatal(err)
	}
	defer c.CloseNow()
	for range 2 {
		if err := c.Write(t.Context(), websocket.MessageText, []byte(`{"type":"ping"}`)); err != nil {
			t.Fatal(err)
		}
	}
	if _, _, err := c.Read(t.Context()); err != nil {
		t.Fatal(err)
	}
	var all []console.Record
	asks(t, quickClient(t), "GET", api+"/records", "", nil, &all)
	var notes []string
	for _, r := range all {
		if r.Dir == "noted" {
			notes = append(notes, r.Label)
		}
	}
	want := "drop of pong from the server: the fault \"lost\" of line 2\n" +
		"pad of pong from the server: the fault \"cut off\" of line 3"
	if got := strings.Join(notes, "\n"); got != want {
		t.Errorf("noted:\n%s\nwant\n%s", got, want)
	}
	var fired []fault.Fired
	asks(t, quickClient(t), "GET", api+"/faults", "", nil, &fired)
	if len(fired) != 3 || fired[0] != (fault.Fired{Name: "lost", Line: 2, Met: 2, Fired: 1}) || fired[2].Fired != 0 {
		t.Errorf("fired: %+v", fired)
	}
	ended := make(chan error, 1)
	go func() { _, _, err := c.Read(t.Context()); ended <- err }()
	stop()
	if err := <-ended; websocket.CloseStatus(err) != websocket.StatusGoingAway {
		t.Errorf("the end is %v, want 1001", err)
	}
	for _, want := range []string{`f.yaml:4: no message of session-chat has the type "pnog" (did you mean "pong"?)`,
		"f.yaml:2: lost fired 1 time, of 2 messages that it matches", "f.yaml:4: fault 3 never fired: no message matched",
		"parley: session 1: "} {
		if !strings.Contains(errs.String(), want) {
			t.Errorf("stderr lacks %q:\n%s", want, errs.String())
		}
	}
}

// TestSimulateUnreachable: a party that connects says on stderr that it cannot reach the program.
func TestSimulateUnreachable(t *testing.T) {
	var errs bytes.Buffer
	line, stop := simulatingTo(t, &errs, "--protocol", "session-chat", "--as", "frontend", "--script", "frontend",
		"--connect", "http://127.0.0.1:1")
	api := line() + "/api/v1/sessions/1"
	line() // the program's address
	var r console.Record
	const said = "your program at http://127.0.0.1:1 cannot be reached: connection refused"
	asks(t, quickClient(t), "POST", api+"/wait", "", map[string]string{"text": "script: connect: " + said, "dir": ""}, &r)
	stop()
	if !strings.Contains(errs.String(), "parley: "+said+"\n") {
		t.Errorf("stderr: %s", errs.String())
	}
}
