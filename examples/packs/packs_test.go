package packs_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	jsonpatch "github.com/evanphx/json-patch/v5"
	"github.com/google/go-cmp/cmp"

	"parley/features/verdict"
	"parley/runner"
	"parley/simulator/proxy"
	"parley/steps"
	"parley/steps/pack"
	"parley/target"
	"parley/transport/recording"
	"parley/transport/recording/har"
	"parley/transport/transcript"
)

// sequences is sequences.json of ag-ui: what an agent plays, and its faults.
type sequences struct {
	Plays  map[string]json.RawMessage
	Faults []fault
}

// fault breaks one play by a JSON Patch, or on the wire.
type fault struct {
	Name, Clause, Play, Wire string
	Patch                    json.RawMessage
	Reading                  bool // the document does not say itself that this is broken
}

func readSequences(t *testing.T) (s sequences) {
	t.Helper()
	text, err := os.ReadFile("ag-ui/sequences.json")
	if err == nil {
		err = json.Unmarshal(text, &s)
	}
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// play returns the events of a play for a run, broken by a fault if that is one of this play.
func (s sequences) play(name string, f fault, thread, run string) (events []json.RawMessage, err error) {
	text := s.Plays[name]
	if f.Play == name {
		patch, err := jsonpatch.DecodePatch(f.Patch)
		if err != nil {
			return nil, err
		}
		if text, err = patch.Apply(text); err != nil {
			return nil, err
		}
	}
	filled := strings.NewReplacer("$thread", thread, "$run", run).Replace(string(text))
	return events, json.Unmarshal([]byte(filled), &events)
}

// agent plays sequences over POST and event streams, without the official encoder.
func agent(t *testing.T, s sequences, f fault) *httptest.Server {
	two := make(chan bool) // runs that wait for each other
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var input struct {
			ThreadID, RunID string
			Messages        []struct{ Content string }
		}
		if err := json.NewDecoder(r.Body).Decode(&input); err != nil || len(input.Messages) == 0 {
			http.Error(w, "no run input", http.StatusBadRequest)
			return
		}
		events, err := s.play(input.Messages[0].Content, f, input.ThreadID, input.RunID)
		if err != nil {
			t.Errorf("%s: %v", f.Name, err)
		}
		w.Header().Set("Content-Type", "text/event-stream")
		for _, event := range events {
			if event[0] == '{' {
				fmt.Fprintf(w, "data: %s\n\n", event)
				continue
			}
			w.(http.Flusher).Flush()
			select {
			case two <- true:
			case <-two:
			case <-r.Context().Done():
			}
		}
	}))
	t.Cleanup(srv.Close)
	return srv
}

// judge runs a pack against a server, and returns the clauses that are broken, and those of level MAY that the server
// does not keep.
func judge(t *testing.T, folder, url string) (exit int, verdictText string, broken []string) {
	t.Helper()
	return judgeWith(t, folder, url, nil)
}

// judgeWith is judge, and gives the records of each scenario to finished.
func judgeWith(t *testing.T, folder, url string, finished func(runner.Planned, []transcript.Record)) (exit int,
	verdictText string, broken []string) {
	t.Helper()
	p, err := pack.Load(folder)
	if err != nil {
		t.Fatal(err)
	}
	suite := steps.NewProtocols("1.0.0", p)
	profile, err := p.Kind().ForURL(url)
	if err != nil {
		t.Fatal(err)
	}
	res, err := runner.Run(t.Context(), runner.Options{Protocols: suite, Profile: profile, Finished: finished})
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range res.Runs[0].Clauses {
		unused := c.Level == verdict.May && c.Outcome == verdict.NotApplicable
		if c.Outcome == verdict.Failed || c.Outcome == verdict.Warned || unused {
			broken = append(broken, c.ID)
		}
	}
	return res.Exit, string(res.Verdict), broken
}

// TestAGUI: the pack of AG-UI judges what sequences.json has: the right sequences conform, and each broken one is
// blamed on its clause. What is broken on the wire is TestAGUIServer's.
func TestAGUI(t *testing.T) {
	s := readSequences(t)
	t.Run("right", func(t *testing.T) {
		if exit, text, broken := judge(t, "ag-ui", agent(t, s, fault{}).URL); exit != verdict.ExitConformant {
			t.Errorf("exit %d, %s: %q", exit, text, broken)
		}
	})
	for _, f := range s.Faults {
		if f.Wire != "" {
			continue
		}
		t.Run(f.Name, func(t *testing.T) {
			t.Parallel()
			if _, text, broken := judge(t, "ag-ui", agent(t, s, f).URL); !slices.Equal(broken, []string{f.Clause}) {
				t.Errorf("%s: broken are %q, want %s", text, broken, f.Clause)
			}
		})
	}
}

// TestRecorded: what was recorded of requests that are answered by event streams is judged as the run was, and so is
// the HAR file that is written of it.
func TestRecorded(t *testing.T) {
	mcp := httptest.NewServer(&mcpServer{fault: "any version", over: map[string]bool{}})
	defer mcp.Close()
	s := readSequences(t)
	i := slices.IndexFunc(s.Faults, func(f fault) bool { return f.Name == "content before its message" })
	for _, r := range []struct{ folder, url, clause string }{
		{"mcp", mcp.URL, "MC-025"}, {"ag-ui", agent(t, s, s.Faults[i]).URL, s.Faults[i].Clause},
	} {
		var mu sync.Mutex
		var recorded [][]transcript.Record
		_, _, broken := judgeWith(t, r.folder, r.url, func(_ runner.Planned, records []transcript.Record) {
			mu.Lock()
			recorded = append(recorded, slices.Clone(records))
			mu.Unlock()
		})
		if !slices.Equal(broken, []string{r.clause}) {
			t.Errorf("%s: broken are %q", r.folder, broken)
		}
		found := map[string]bool{}
		for _, records := range recorded {
			direct := judgeRecorded(t, r.folder, records)
			for _, f := range direct {
				found[f.Clause] = true
			}
			again := judgeRecorded(t, r.folder, asHAR(t, r.folder, records, false))
			if diff := cmp.Diff(findings(direct), findings(again)); diff != "" {
				t.Errorf("%s: recording -, HAR of it +:\n%s", r.folder, diff)
			}
		}
		if len(found) != 1 || !found[r.clause] {
			t.Errorf("%s: in what was recorded are broken %v, want %s", r.folder, found, r.clause)
		}
	}
}

// findings are what failures say, without the numbers and times of records.
func findings(all []steps.Failure) (out []string) {
	for _, f := range all {
		out = append(out, fmt.Sprintf("%s %s: %s, not %s", f.Outcome, f.Clause, f.Observed, f.Expected))
	}
	slices.Sort(out)
	return out
}

// nowhere is an address where nothing is.
const nowhere = "http://127.0.0.1:1"

// loaded are the folders that were read: folder → func() (*pack.Pack, error).
var loaded sync.Map

// loadedPack returns a folder's protocol, read once, and the profile of a target at a URL.
func loadedPack(t *testing.T, folder, url string) (*pack.Pack, *target.Profile) {
	t.Helper()
	once, _ := loaded.LoadOrStore(folder, sync.OnceValues(func() (*pack.Pack, error) { return pack.Load(folder) }))
	p, err := once.(func() (*pack.Pack, error))()
	if err != nil {
		t.Fatal(err)
	}
	profile, err := p.Kind().ForURL(url)
	if err != nil {
		t.Fatal(err)
	}
	return p, profile
}

// asHAR returns records as they are after they were written as HAR, and read again. A browser's HAR does not say whose
// the requests are, nor when the events of their answers came.
func asHAR(t *testing.T, folder string, records []transcript.Record, ofBrowser bool) []transcript.Record {
	t.Helper()
	p, profile := loadedPack(t, folder, nowhere)
	var file, text, again bytes.Buffer
	w, err := recording.NewWriter(&file, recording.Header{URL: profile.URL}, nil)
	if err == nil {
		err = w.Add(records...)
	}
	if err != nil {
		t.Fatal(err)
	}
	in, err := recording.NewReader(&file)
	if err == nil {
		err = har.Write(&text, in, "parley 1")
	}
	if err != nil {
		t.Fatal(err)
	}
	said := text.String()
	if ofBrowser {
		said = ours.ReplaceAllString(said, `"_left": $1`)
	}
	var o har.Options
	o.Posts, o.Reads = p.Posts(profile)
	if _, err := har.Read(&again, strings.NewReader(said), o); err != nil {
		t.Fatal(err)
	}
	rec, err := recording.Read(&again)
	if err != nil {
		t.Fatal(err)
	}
	return rec.Records
}

// ours matches what Parley alone writes of single requests: whose they are, and when each event of an answer came.
var ours = regexp.MustCompile(`"(?:_party|_eventSourceMessages)": ("|\[)`)

// judgeRecorded returns what is broken in records, as traffic of others.
func judgeRecorded(t *testing.T, folder string, records []transcript.Record) (broken []steps.Failure) {
	t.Helper()
	p, profile := loadedPack(t, folder, nowhere)
	roles, err := proxy.RolesOf(p, nil)
	if err != nil {
		t.Fatal(err)
	}
	o := proxy.Options{Protocol: p, Profile: profile, Roles: roles, To: profile.URL, Ended: func(e proxy.Ended) {
		broken = append(broken, e.Failures...)
	}}
	err = proxy.JudgeRecording(o, time.Now(), func() (transcript.Record, error) {
		if len(records) == 0 {
			return transcript.Record{}, io.EOF
		}
		r := records[0]
		r.Event, records = nil, records[1:]
		return r, nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return broken
}
