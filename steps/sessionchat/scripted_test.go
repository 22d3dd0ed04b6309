package sessionchat

import (
	"context"
	"io"
	"strings"
	"sync"
	"testing"
	"testing/fstest"
	"time"

	"github.com/cucumber/godog"

	"parley/features"
	"parley/features/verdict"
	"parley/internal/llm"
	vocab "parley/protocol/sessionchat"
	"parley/steps"
	"parley/steps/sessionchat/binding"
	"parley/target"
	"parley/transport/driver"
	"parley/transport/transcript"
	wjson "parley/transport/wire/json"
)

// saying is a message of a scripted target. NONCE in its text stands for the nonce of the chat that it answers.
type saying struct {
	kind   string
	agent  string // default: that of the chat
	body   map[string]any
	silent bool   // the message has no body
	unless string // chats whose agent_id begins so are not answered by it
}

func streams(list ...string) []saying { return says(vocab.StreamMessage, "text", list) }

func assistants(list ...string) []saying { return says(vocab.AssistantMessage, "content", list) }

func says(kind, member string, list []string) []saying {
	var out []saying
	for _, text := range list {
		body := map[string]any{member: text}
		if kind == vocab.AssistantMessage {
			body["role"] = "assistant"
		}
		out = append(out, saying{kind: kind, body: body})
	}
	return out
}

func result(body map[string]any) saying {
	all := map[string]any{vocab.Subtype: vocab.Success}
	for k, v := range body {
		all[k] = v
	}
	return saying{kind: vocab.ResultMessage, body: all}
}

// scripted is a target with its driver: the script answers every chat before Send returns, so that tests need not
// wait.
type scripted struct {
	target.Running // methods that a scenario does not use
	script         []saying
}

func (s *scripted) BaseURL() string { return "http://h" }

// Stderr implements target.Running.
func (s *scripted) Stderr() string { return "" }

func (s *scripted) Name() string { return target.WS }

func (s *scripted) Open(_ context.Context, o driver.OpenOptions, sink driver.Sink) (driver.Conn, error) {
	sink(transcript.Record{Conn: o.Party, Dir: transcript.Received, Kind: transcript.Open, Status: 101})
	return &scriptedConn{s.script, o.Party, sink}, nil
}

type scriptedConn struct {
	script []saying
	party  string
	sink   driver.Sink
}

func (c *scriptedConn) Send(_ context.Context, m driver.Message) (int, error) {
	frame := func(dir transcript.Dir, label string, body []byte) int {
		return c.sink(transcript.Record{Conn: c.party, Dir: dir, Kind: transcript.Frame, Type: "text", Label: label,
			Bytes: body})
	}
	n := frame(transcript.Sent, m.Label, m.Body)
	v, _, _ := wjson.Decode(m.Body)
	chat, _ := v.(map[string]any)
	content, _ := chat[vocab.Content].(string)
	nonce := "NONCE"
	for _, d := range llm.Directives(content) {
		nonce = d.Nonce
	}
	for _, said := range c.script {
		if agent, _ := chat[vocab.AgentID].(string); said.unless != "" && strings.HasPrefix(agent, said.unless) {
			continue
		}
		out := map[string]any{vocab.MessageType: said.kind, vocab.AgentID: chat[vocab.AgentID], vocab.SessionID: "s-1",
			vocab.Timestamp: "t"}
		if said.agent != "" {
			out[vocab.AgentID], out[vocab.SessionID] = said.agent, "s-of-"+said.agent
		}
		if !said.silent {
			out[vocab.Body] = said.body
		}
		frame(transcript.Received, "", []byte(strings.ReplaceAll(wjson.Compact(out), "NONCE", nonce)))
	}
	return n, nil
}

func (c *scriptedConn) Close(driver.CloseMode) error { return nil }

// ledger is read only once, because it has a clause for every line of the document.
var ledger = sync.OnceValues(func() (*verdict.Ledger, error) { return features.Ledger(vocab.Protocol) })

// perform runs the lines of one scenario against a target that answers every chat with the script. Its limits are
// short, because every message has arrived when a step begins to wait.
func perform(t *testing.T, tags, lines string, script []saying, change ...func(*steps.Env)) steps.Result {
	t.Helper()
	clauses, err := ledger()
	if err != nil {
		t.Fatal(err)
	}
	at := &scripted{script: script}
	env := &steps.Env{Profile: binding.Kind().New(), Driver: at, Ledger: clauses}
	env.Profile.Limits.Turn.Duration, env.Profile.Limits.Event.Duration = 20*time.Millisecond, 20*time.Millisecond
	for _, f := range change {
		f(env)
	}
	var got []steps.Result
	s := &steps.Suite{
		Protocol: Protocol{},
		Env:      env,
		Begin:    func(context.Context, *godog.Scenario) steps.Slot { return steps.Slot{Run: at, Nonce: "n"} },
		Done:     func(r steps.Result) { got = append(got, r) },
	}
	text := "Feature: f\n" + tags + "\nScenario: s\n" + lines + "\n"
	godog.TestSuite{ScenarioInitializer: s.Initialize,
		Options: &godog.Options{FS: fstest.MapFS{"f.feature": {Data: []byte(text)}},
			Paths: []string{"f.feature"}, Format: "progress", Output: io.Discard, NoColors: true}}.Run()
	if len(got) != 1 {
		t.Fatalf("%d scenarios were run", len(got))
	}
	return got[0]
}
