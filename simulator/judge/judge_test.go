package judge_test

import (
	"context"
	"slices"
	"testing"
	"time"

	"github.com/coder/websocket"
	"go.uber.org/goleak"

	"parley/features/verdict"
	"parley/reference-server/bundled"
	"parley/simulator/counterpart"
	"parley/simulator/gate"
	"parley/simulator/judge"
	"parley/simulator/scripts"
	"parley/steps"
	"parley/steps/protocols"
	"parley/transport/transcript"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// within bounds each wait; only a failing test uses it up.
const within = 20 * time.Second

// opens plays a party for a program; change may be nil.
func opens(t *testing.T, protocol, as string, change func(*counterpart.Options)) *counterpart.Play {
	t.Helper()
	p, err := protocols.All.Find(protocol)
	if err != nil {
		t.Fatal(err)
	}
	target := bundled.All.Find(protocol)
	o := counterpart.Options{Protocol: protocol, As: as, TypeOf: target.TypeOf, Steps: p}
	for _, party := range target.Parties() {
		if party.As == as {
			o.Start = func(ctx context.Context, mutant, url string) (counterpart.Peer, error) {
				base, stop, err := party.Start(ctx, mutant, url)
				return counterpart.Peer{URL: base, Stop: stop}, err
			}
		}
	}
	if change != nil {
		change(&o)
	}
	play, err := counterpart.Open(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(play.Close)
	return play
}

// follows returns the findings as Follow reports them, until the play is closed.
func follows(t *testing.T, p *counterpart.Play) <-chan steps.Failure {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	told, over := make(chan steps.Failure, 1000), make(chan struct{})
	go func() {
		defer close(over)
		p.Judge().Follow(ctx, func(all []steps.Failure) {
			for _, f := range all {
				told <- f
			}
		})
	}()
	t.Cleanup(func() { cancel(); <-over })
	return told
}

// of returns the clauses with an outcome, sorted.
func of(p *counterpart.Play, outcome verdict.Outcome) []string {
	return with(p.Judge().Outcomes(), outcome)
}

func with(all map[string]verdict.Outcome, outcome verdict.Outcome) (out []string) {
	for clause, o := range all {
		if o == outcome {
			out = append(out, clause)
		}
	}
	slices.Sort(out)
	return out
}

// serving are programs that are servers; a script plays the client, up to its last state.
var serving = map[string]struct {
	protocol, as, script string
	mutant, breaks       string
	passes               string // by the correct program
}{
	"agent-select": {"agent-select", "client", "client", "current-is-name", "AS-044", "AS-084"},
	"session-chat": {"session-chat", "frontend", "frontend", "type-for-message-type", "SC-040", "SC-038"},
	"session-runtime": {"session-runtime", "session-manager", "session-manager", "invite-makes-agent", "RT-119",
		"RT-127"},
	"external-agent": {"external-agent", "agent", "agent", "update-without-source", "EA-056", "EA-056"},
}

// TestServers: a correct server has no findings, and some clauses hold; a fault is found during the play, at a message
// that the program has sent.
func TestServers(t *testing.T) {
	for name, row := range serving {
		for _, mutant := range []string{"", row.mutant} {
			t.Run(name+" "+mutant, func(t *testing.T) {
				t.Parallel()
				party := bundled.All.Find(row.protocol).Parties()[0]
				base, stop, err := party.Start(t.Context(), mutant, "")
				if err != nil {
					t.Fatal(err)
				}
				defer stop()
				s, err := scripts.Get(row.protocol, row.script)
				if err != nil {
					t.Fatal(err)
				}
				p := opens(t, row.protocol, row.as, func(o *counterpart.Options) {
					o.Connect, o.Script, o.Start = base, s, nil
				})
				told := follows(t, p)
				if mutant == "" {
					conforms(t, p, row.passes)
					return
				}
				f := finds(t, p, told, row.breaks)
				for r := range p.Transcript().From(f.At - 1) {
					if r.N != f.At || r.Dir != transcript.Received {
						t.Errorf("the finding is at %d: %s", f.At, r.Line(100))
					}
					break
				}
			})
		}
	}
}

// conforms checks that the script ends, and that there are no findings.
func conforms(t *testing.T, p *counterpart.Play, passes string) {
	t.Helper()
	timeout := time.After(within)
	for p.State().At != "done" {
		select {
		case <-p.Changed():
		case <-timeout:
			t.Fatalf("the script is at %s\n%v", p.State().At, p.Transcript().Excerpt(p.Transcript().Len(), 12, 0, 200))
		}
	}
	p.Close()
	if bad := of(p, verdict.Failed); len(bad) > 0 || !slices.Contains(of(p, verdict.Passed), passes) {
		t.Errorf("failed %v, passed %v", bad, of(p, verdict.Passed))
	}
}

// finds waits until a clause is found broken.
func finds(t *testing.T, p *counterpart.Play, told <-chan steps.Failure, clause string) steps.Failure {
	t.Helper()
	timeout := time.After(within)
	for {
		select {
		case f := <-told:
			if f.Clause == clause {
				if f.Expected == "" || f.Observed == "" || f.At == 0 || f.Monitor == "" {
					t.Errorf("the finding does not say what is wrong: %+v", f)
				}
				return f
			}
		case <-timeout:
			t.Fatalf("%s is not found: failed %v, passed %v\n%v", clause, of(p, verdict.Failed), of(p, verdict.Passed),
				p.Transcript().Excerpt(p.Transcript().Len(), 12, 0, 200))
		}
	}
}

// TestAgent: each connection of an agent to the played host is judged separately.
func TestAgent(t *testing.T) {
	for name, row := range map[string]struct {
		start  string
		breaks string
	}{
		"correct": {`{"v":"mvp-0.2","type":"session.start","id":"2","payload":{"studyId":"s","participantId":"p"}}`, ""},
		"faulty":  {`{"v":2,"type":"session.start","id":"2","payload":{"studyId":"s","participantId":"p"}}`, "EA-019"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := opens(t, "external-agent", "host", nil)
			told := follows(t, p)
			ctx, cancel := context.WithTimeout(t.Context(), within)
			defer cancel()
			c, _, err := websocket.Dial(ctx, p.URL()+"/agent/ws", nil) //nolint:bodyclose // it has none
			if err != nil {
				t.Fatal(err)
			}
			defer func() { _ = c.CloseNow() }()
			const join = `{"v":"mvp-0.2","type":"relay.join","id":"1","payload":{"role":"agent","sessionId":"default"}}`
			for _, text := range []string{join, row.start} {
				if err := c.Write(ctx, websocket.MessageText, []byte(text)); err != nil {
					t.Fatal(err)
				}
				if _, _, err := c.Read(ctx); err != nil {
					t.Fatal(err)
				}
			}
			if row.breaks != "" {
				finds(t, p, told, row.breaks)
				return
			}
			if p.Judge().Check(); len(of(p, verdict.Failed)) > 0 || !slices.Contains(of(p, verdict.Passed), "EA-019") {
				t.Errorf("failed %v, passed %v", of(p, verdict.Failed), of(p, verdict.Passed))
			}
		})
	}
}

// TestPage: a page is judged as a page, although agent-select has its own client.
func TestPage(t *testing.T) {
	p := opens(t, "agent-client", "server", nil)
	if p.Judge() == nil || p.Judge().Role() != "client" || len(p.Judge().Clauses()) < 20 {
		t.Errorf("a page is judged by %+v", p.Judge())
	}
}

// TestLong: records beyond those that all monitors see are judged by monitors of single records, and the judge keeps
// few records.
func TestLong(t *testing.T) {
	p, err := protocols.All.Find("session-chat")
	if err != nil {
		t.Fatal(err)
	}
	records, err := transcript.NewSpilling(nil, transcript.Keep{})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = records.Close() }()
	j, err := judge.New(judge.Options{Protocol: p, Side: gate.Server, Base: "http://127.0.0.1:1",
		Records: records})
	if err != nil {
		t.Fatal(err)
	}
	says := func(text string) {
		records.Append(transcript.Record{Conn: "C1", Dir: transcript.Received, Kind: transcript.Frame, Type: "text",
			Bytes: []byte(text)})
	}
	for range transcript.MaxRecords + 5000 {
		says(`{"type":"pong"}`)
		if records.Len()%10_000 == 0 {
			j.Check()
		}
	}
	if len(with(j.Outcomes(), verdict.Failed)) > 0 {
		t.Fatalf("found: %v", j.Outcomes())
	}
	records.Append(transcript.Record{Conn: "C1", Dir: transcript.Sent, Kind: transcript.Frame, Type: "text",
		Bytes: []byte(`{"type":"chat","agent_id":"a","content":"x"}`)})
	says(`{"agent_id":"a","session_id":"s","message_type":7,"message":{},"timestamp":"2026-01-01T00:00:00Z"}`)
	j.Check()
	if !slices.Contains(with(j.Outcomes(), verdict.Failed), "SC-040") {
		t.Errorf("the message after the bound is not judged: %v", j.Outcomes())
	}
}
