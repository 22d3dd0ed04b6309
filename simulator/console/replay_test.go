package console

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"parley/features/verdict"
	"parley/reports"
	"parley/runner"
	"parley/transport/recording"
	"parley/transport/transcript"
)

// lines are records as a run writes them, and as they are read.
func lines() (text string, want []transcript.Record) {
	records := []transcript.Record{
		{N: 1, Conn: "A", Dir: transcript.Sent, Kind: transcript.Open, Label: "GET /stream"},
		{N: 2, At: 1500 * time.Microsecond, Conn: "A", Dir: transcript.Received, Kind: transcript.Response, Label: "200 OK",
			Status: 200, Type: "application/json", Bytes: []byte(`{"a":"b  c"}`), Reply: 1},
		{N: 3, At: 12345678 * time.Microsecond, Conn: "SessionManager", Dir: transcript.Received, Kind: transcript.Frame,
			Label: "agent_list", Type: "text", Bytes: []byte(`{"type":"agent_list"}`)},
		{N: 7, At: 12345679 * time.Microsecond, Dir: transcript.Noted, Kind: transcript.Remark,
			Label: "a note  with (2) to 1"},
		{N: 8, At: 12345680 * time.Microsecond, Conn: "B", Dir: transcript.Received, Kind: transcript.Closed, Status: 1000},
	}
	text = "AS-3.2-01  a scenario\nfeatures/x.feature:7\n@AS-041\n\n"
	for _, r := range records {
		text += r.Line(0) + "\n"
	}
	return text, records
}

// TestReadLines: a transcript of a run and an excerpt are read back, in any order.
func TestReadLines(t *testing.T) {
	text, want := lines()
	if diff := cmp.Diff(want, readLines(strings.Split(text, "\n"))); diff != "" {
		t.Errorf("want(-) got(+):\n%s", diff)
	}
	all := strings.Split(text, "\n")
	mixed := []string{"> " + all[6], "  " + all[5], "> " + all[6], "no record"}
	if diff := cmp.Diff(want[1:3], readLines(mixed)); diff != "" {
		t.Errorf("an excerpt: want(-) got(+):\n%s", diff)
	}
}

// results are those of a run with a scenario that passed and one that failed.
func results() *reports.Results {
	text, _ := lines()
	return &reports.Results{Verdict: verdict.NonConformant, Exit: 1, Runs: []reports.Run{{Protocol: "agent-select",
		Role: "server", Target: reports.Target{URL: "http://example"},
		Clauses: []reports.Clause{
			{ID: "AS-001", Level: verdict.Must, Outcome: verdict.Passed},
			{ID: "AS-041", Level: verdict.Must, Text: "it says so", Outcome: verdict.Failed, Reason: "in one scenario"},
			{ID: "AS-090", Outcome: verdict.NotTested, Excluded: true},
		},
		Scenarios: []reports.Scenario{
			{ID: "AS-1-01", Name: "good", Outcome: verdict.Passed},
			{ID: "AS-3.2-01", Name: "bad", Driver: "ws", Outcome: verdict.Failed,
				Steps: []reports.Step{{Keyword: "Given ", Text: "client A is connected"}, {Text: "client A switches"}},
				Failures: []reports.Failure{{Clause: "AS-041", Expected: "x", Observed: "y",
					At: "client A, record 3, +1.5 ms", Excerpt: strings.Split(text, "\n")[5:7]}},
				Transcript: &reports.Transcript{Path: "transcripts/bad.txt"}},
		}}}}
}

// TestReplay: the uploaded content is shown, with its steps and findings.
func TestReplay(t *testing.T) {
	c, _ := serve(t)
	text, want := lines()
	var b strings.Builder
	rec, err := recording.NewWriter(&b, recording.Header{Protocol: "p", Role: "r", Driver: "ws", URL: "http://example",
		Began: time.Unix(1, 0)}, nil)
	if err != nil {
		t.Fatal(err)
	}
	if err := rec.Add(want...); err != nil {
		t.Fatal(err)
	}
	for _, row := range []struct {
		reason          string
		body            m
		protocol        string
		records, broken int
		steps           []string
	}{
		{"a recording", m{"recording": b.String()}, "p", 5, 0, []string{}},
		{"with steps", m{"recording": b.String(), "steps": []string{"a"}}, "p", 5, 0, []string{"a"}},
		{"a transcript alone", m{"transcript": text}, "", 5, 0, []string{}},
		{"the scenario that failed", m{"results": results(), "transcript": text}, "agent-select", 5, 1,
			[]string{"client A is connected", "client A switches"}},
		{"by its id, with the excerpt", m{"results": results(), "scenario": "AS-3.2-01"}, "agent-select", 2, 1,
			[]string{"client A is connected", "client A switches"}},
		{"other steps", m{"results": results(), "transcript": text, "steps": []string{"a"}}, "agent-select", 5, 1,
			[]string{"a"}},
	} {
		t.Run(row.reason, func(t *testing.T) {
			c := &client{t, c.url, c.http}
			row.body["kind"] = "replay"
			s := do[Session](c, 201, "POST", "/sessions", row.body)
			at := "/sessions/" + s.ID
			if s.Protocol != row.protocol || !slices.Equal(s.Steps, row.steps) || s.Kind != "replay" {
				t.Errorf("session: %+v", s)
			}
			all := do[[]Record](c, 200, "GET", at+"/records", nil)
			broken := 0
			for _, r := range all {
				broken += len(r.Clauses)
			}
			if len(all) != row.records || broken != row.broken {
				t.Errorf("%d records, %d of them break a clause: %+v", len(all), broken, all)
			}
			next, _ := c.listen(at+"/events", "")
			if row.broken > 0 {
				c.awaitEvent(next, "finding", func(data []byte) bool { return strings.Contains(string(data), `"at":3`) })
			}
			c.awaitEvent(next, "state", nil)
			do[Record](c, 200, "POST", at+"/wait", m{"party": "SessionManager"})
			c.wantRefusal(408, "POST", at+"/wait", m{"party": "Z", "within": "1ms"}, "no such record")
			c.wantRefusal(409, "POST", at+"/raw", m{"party": "A", "text": ""}, "no connections")
			if _, err := recording.Read(strings.NewReader(do[string](c, 200, "GET", at+"/recording", nil))); err != nil {
				t.Error(err)
			}
		})
	}
}

// TestReplayMistakes: a file that is not a recording is refused, with the wrong line.
func TestReplayMistakes(t *testing.T) {
	c, _ := serve(t)
	good := results()
	good.Runs[0].Scenarios = good.Runs[0].Scenarios[:1]
	for _, row := range []struct {
		reason string
		body   m
		want   string
	}{
		{"nothing", m{}, "give a recording"},
		{"two things", m{"recording": "x", "transcript": "y"}, "one of them"},
		{"no HAR", m{"har": "x"}, "har: "},
		{"HAR without entries", m{"har": `{"log":{"version":"1.2"}}`}, "har: /log/entries: it is missing"},
		{"no recording", m{"recording": "x"}, "recording: line 1: "},
		{"a path", m{"recording": "/etc/passwd"}, "recording: line 1: "},
		{"no records", m{"transcript": "/etc/passwd"}, "there are no records in it"},
		{"no results", m{"results": m{"runs": 7}}, "results: "},
		{"no such scenario", m{"results": results(), "scenario": "x"}, `there is no scenario "x"`},
		{"nothing failed", m{"results": good}, "no scenario failed"},
	} {
		t.Run(row.reason, func(t *testing.T) {
			row.body["kind"] = "replay"
			(&client{t, c.url, c.http}).wantRefusal(400, "POST", "/sessions", row.body, row.want)
		})
	}
}

// pretend stands in for a run: it reports the results, and then waits for goOn.
func pretend(ctx context.Context, out string, tell runner.Observer, goOn <-chan struct{}) error {
	tell.Planned(2)
	text, _ := lines()
	path := filepath.Join(out, "transcripts", "bad.txt")
	if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o700), os.WriteFile(path, []byte(text), 0o600)); err != nil {
		return err
	}
	for _, sc := range results().Runs[0].Scenarios {
		tell.ScenarioDone(sc)
	}
	select {
	case <-goOn:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// TestRun: only one run of the suite is active at a time; it reports its progress, and failed scenarios can be
// replayed.
func TestRun(t *testing.T) {
	begun, goOn := make(chan TestOptions), make(chan struct{})
	folder := ""
	c, _ := serve(t, func(o *Options) {
		o.Run = func(ctx context.Context, q TestOptions, out string, tell runner.Observer) (*reports.Results, error) {
			folder = out
			begun <- q
			return results(), pretend(ctx, out, tell, goOn)
		}
	})
	s := do[Session](c, 201, "POST", "/sessions", m{"kind": "test", "protocol": "agent-select", "driver": "ws"})
	at := "/sessions/" + s.ID
	next, _ := c.listen(at+"/events", "")
	ran := make(chan RunResult)
	go func() {
		defer close(ran)
		ran <- do[RunResult](c, 200, "POST", at+"/run", nil)
	}()
	if q := <-begun; q.Protocol != "agent-select" || q.Driver != "ws" {
		t.Errorf("it runs with %+v", q)
	}
	c.awaitEvent(next, "run", func(data []byte) bool {
		return strings.Contains(string(data), `"planned":2,"done":2,"failed":1,"last":"bad"`)
	})
	c.wantRefusal(409, "POST", at+"/run", nil, "running already")
	goOn <- struct{}{}
	got := <-ran
	c.awaitEvent(next, "run", func(data []byte) bool { return strings.Contains(string(data), `"running":false`) })
	if got.Verdict != verdict.NonConformant || got.Clauses["failed"] != 1 || got.Clauses["passed"] != 1 ||
		len(got.Failed) != 1 || got.Failed[0].Clause != "AS-041" || len(got.Broken) != 1 {
		t.Fatalf("ran: %+v", got)
	}
	if _, err := os.Stat(folder); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the folder of the run is left: %v", err)
	}
	bad := got.Broken[0]
	again := m{"kind": "replay", "transcript": bad.Transcript, "steps": bad.Steps}
	replay := do[Session](c, 201, "POST", "/sessions", again)
	if replay.Records != 8 || len(replay.Steps) != 2 || bad.Failures[0].At != 3 {
		t.Errorf("replayed: %+v, broken: %+v", replay, bad)
	}
	ended := make(chan struct{})
	go func() { // the end of the session ends the run
		defer close(ended)
		<-begun
		do[string](&client{t, c.url, c.http}, 204, "DELETE", at, nil)
	}()
	c.wantRefusal(409, "POST", at+"/run", nil, "has ended")
	<-ended
}

// TestRunKeepsSecrets: no answer of a run contains a secret of the session.
func TestRunKeepsSecrets(t *testing.T) {
	s := &session{redact: func(text string) string { return strings.ReplaceAll(text, "says", "«redacted»") }}
	r := results()
	r.Runs[0].Environment = "it says nothing"
	if got := s.resultsView(r, t.TempDir()); got.Environment != "it «redacted» nothing" {
		t.Errorf("environment: %s", got.Environment)
	}
}
