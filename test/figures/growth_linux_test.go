package figures_test

import (
	"bytes"
	"flag"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strconv"
	"syscall"
	"testing"

	"github.com/coder/websocket"

	"parley/features/verdict"
	"parley/internal/bench"
	"parley/reports"
	"parley/transport/recording"
	"parley/transport/transcript"
)

var picture = flag.String("picture", "", "the SVG file that BenchmarkGrowth draws")

// work is what a command does so many times. It returns the program, which has ended.
type work struct {
	name, unit string
	smallest   int
	do         func(b *testing.B, n int) *program
}

var works = []work{
	{"run", "random sequences", 5, growRun},
	{"proxy", "messages", 1000, growProxy},
	{"load", "sessions", 20, growLoad},
	{"replay", "messages", 1000, growReplay},
	{"report", "scenarios", 50, growReport},
	{"console", "messages", 1000, growConsole},
}

// BenchmarkGrowth measures each command as a program of its own with 1, 10 and 100 times some work: its processor time,
// with that of its children, and its peak memory. It reports how they grow from 10 to 100 times; 1 is in proportion.
func BenchmarkGrowth(b *testing.B) {
	var lines []bench.Line
	for _, w := range works {
		line := bench.Line{Name: w.name, Unit: w.unit}
		b.Run(w.name, func(b *testing.B) {
			for b.Loop() {
				line.Points = nil
				for _, times := range []int{1, 10, 100} {
					line.Points = append(line.Points, w.measure(b, times*w.smallest))
				}
			}
			time, memory := line.Slopes()
			b.ReportMetric(time, "time-slope")
			b.ReportMetric(memory, "memory-slope")
		})
		lines = append(lines, line)
	}
	if *picture != "" {
		if err := os.WriteFile(*picture, bench.DrawGrowth(lines), 0o644); err != nil {
			b.Fatal(err)
		}
	}
}

func (w work) measure(b *testing.B, n int) bench.Point {
	used := w.do(b, n).cmd.ProcessState
	p := bench.Point{Size: n, Seconds: (used.UserTime() + used.SystemTime()).Seconds(),
		MiB: float64(used.SysUsage().(*syscall.Rusage).Maxrss) / (1 << 10)}
	b.Logf("%-8s %7d %s: %6.2f s, %4.0f MiB", w.name, n, w.unit, p.Seconds, p.MiB)
	return p
}

// ended is parley with the given arguments, when it has ended.
func ended(b *testing.B, args ...string) *program {
	b.Helper()
	p := startProgram(b, 0, args...)
	p.wait(b)
	return p
}

func growRun(b *testing.B, n int) *program {
	return ended(b, "run", "--protocol", "session-runtime", "--driver", "ws", "--tags", "@explored", "--explore",
		strconv.Itoa(n), "--seed", "1", "--allow-incomplete", "--out", b.TempDir())
}

func growLoad(b *testing.B, n int) *program {
	return ended(b, "load", "--protocol", "session-chat", "--sessions", strconv.Itoa(n), "--open-rate", "400",
		"--duration", "5s", "--rate", strconv.Itoa(n/5), "--timeout", "2m", "--out", b.TempDir())
}

// said is a message of session-chat.
const said = `{"agent_id":"a1","session_id":"s-1","message_type":"stream_event","message":{"delta":{"text":` +
	`"a few words of an answer, as a model says them"}},"timestamp":"2026-11-21T10:00:00.000Z"}`

func growProxy(b *testing.B, n int) *program {
	server := echoing(b)
	p := startProgram(b, 1, "proxy", server, "--protocol", "session-chat", "--listen", "127.0.0.1:0", "--out", b.TempDir())
	exchange(b, p.lines[0], said, n/2)
	_ = p.cmd.Process.Signal(os.Interrupt)
	_ = p.cmd.Wait() // the exit code is that of the verdict on these messages
	return p
}

func growConsole(b *testing.B, n int) *program {
	file := filepath.Join(b.TempDir(), "script.yaml")
	const script = "script: parrot\nprotocol: agent-select\nas: server\nrules:\n- on: {type: ping}\n" +
		"  answer:\n  - send: {type: pong}\n"
	if err := os.WriteFile(file, []byte(script), 0o644); err != nil {
		b.Fatal(err)
	}
	p := startProgram(b, 2, "simulate", "--protocol", "agent-select", "--as", "server", "--script", file)
	exchange(b, p.lines[1]+"/agents/ws", `{"type":"ping","text":"about as long as messages are"}`, n/2)
	p.interrupt(b)
	return p
}

// exchange sends so many messages on connections of a thousand each, and reads an answer to each.
func exchange(b *testing.B, url, text string, n int) {
	b.Helper()
	for n > 0 {
		c, _, err := websocket.Dial(b.Context(), url, nil)
		if err != nil {
			b.Fatal(err)
		}
		for range min(n, 1000) {
			if err = c.Write(b.Context(), websocket.MessageText, []byte(text)); err == nil {
				_, _, err = c.Read(b.Context())
			}
			if err != nil {
				b.Fatal(err)
			}
			n--
		}
		_ = c.Close(websocket.StatusNormalClosure, "")
	}
}

// echoing is a server that returns each message.
func echoing(b *testing.B) string {
	web := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		c, err := websocket.Accept(w, r, nil)
		if err != nil {
			return
		}
		defer c.CloseNow()
		for {
			kind, text, err := c.Read(r.Context())
			if err != nil || c.Write(r.Context(), kind, text) != nil {
				return
			}
		}
	}))
	b.Cleanup(web.Close)
	return web.URL
}

func growReplay(b *testing.B, n int) *program {
	file, err := os.Create(filepath.Join(b.TempDir(), "recording.jsonl"))
	if err != nil {
		b.Fatal(err)
	}
	out, err := recording.NewWriter(file, recording.Header{Protocol: "session-chat"}, nil)
	number := 0
	add := func(r transcript.Record) {
		if number++; err == nil {
			r.N, r.Conn = number, "A"
			err = out.Add(r)
		}
	}
	add(transcript.Record{Dir: transcript.Sent, Kind: transcript.Open, Label: "GET ws://then/x (upgrade)"})
	add(transcript.Record{Dir: transcript.Received, Kind: transcript.Open, Status: 101, Reply: 1})
	for range n / 2 {
		add(transcript.Record{Dir: transcript.Sent, Kind: transcript.Frame, Type: "text", Bytes: []byte(said)})
		add(transcript.Record{Dir: transcript.Received, Kind: transcript.Frame, Type: "text", Bytes: []byte(said)})
	}
	if err == nil {
		err = file.Close()
	}
	if err != nil {
		b.Fatal(err)
	}
	return ended(b, "replay", file.Name(), "--target", echoing(b))
}

func growReport(b *testing.B, n int) *program {
	r := &reports.Results{Schema: reports.SchemaID, Verdict: verdict.Conformant}
	run := reports.Run{Protocol: "agent-select", Verdict: verdict.Conformant}
	for i := range n {
		s := reports.Scenario{ID: fmt.Sprintf("2.1-%d", i), Name: fmt.Sprintf("scenario %d", i), Driver: "ws",
			Outcome: verdict.Passed, Feature: "a feature"}
		for step := range 10 {
			s.Steps = append(s.Steps, reports.Step{Keyword: "Then ", Text: fmt.Sprintf("step %d", step), Status: "passed"})
		}
		run.Scenarios = append(run.Scenarios, s)
	}
	r.Runs = []reports.Run{run}
	var text bytes.Buffer
	if err := reports.WriteJSON(&text, r); err != nil {
		b.Fatal(err)
	}
	file := filepath.Join(b.TempDir(), "results.json")
	if err := os.WriteFile(file, text.Bytes(), 0o644); err != nil {
		b.Fatal(err)
	}
	return ended(b, "report", file, "--format", "html,junit,markdown", "--out", b.TempDir())
}
