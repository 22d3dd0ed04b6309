package mutants

import (
	"context"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/coder/websocket"

	"parley/internal/tier"
	proto "parley/protocol/externalagent"
	"parley/reference-server/externalagent/relay"
)

func envelopeOf(kind, more, payload string) string {
	return `{"v":"mvp-0.2","type":"` + kind + `"` + more + `,"payload":` + payload + `}`
}

// said is what the parties send to any mutant: something that triggers each fault.
var said = []struct{ by, text string }{
	{"early", envelopeOf(proto.ToolCall, `,"id":"e0"`, `{"toolName":"next","params":{}}`)},
	{"early", envelopeOf(proto.RelayJoin, `,"id":"j1"`, `{"role":"agent","sessionId":"s"}`)},
	{"early", envelopeOf(proto.ToolCall, `,"id":"e1"`, `{"toolName":"next","params":{}}`)},
	{"host", envelopeOf(proto.RelayJoin, `,"id":"j2"`, `{"role":"host","sessionId":"s"}`)},
	{"late", envelopeOf(proto.RelayJoin, `,"id":"j3"`, `{"role":"agent","sessionId":"s"}`)},
	{"other", `{"v":"mvp-0.1","type":"relay.join","id":"j4","payload":{"role":"agent","sessionId":"t"}}`},
	{"other", `{"v":"mvp-0.2","type":"relay.join","id":"j5","payload":null}`},
	{"other", `{"v":"mvp-0.2","type":"relay.join","id":"j5"}`},
	{"other", envelopeOf(proto.RelayJoin, `,"id":"j6"`, `{"role":"agent","sessionId":"t"}`)},
	{"late", envelopeOf(proto.SessionStart, `,"id":"q1"`, `{"studyId":"a","participantId":"b"}`)},
	{"host", envelopeOf(proto.SessionStarted, `,"replyTo":"q1"`, `{"sessionId":"study"}`)},
	{"late", envelopeOf(proto.SnapshotGet, `,"id":"q2"`, `{}`)},
	{"early", envelopeOf(proto.SnapshotGet, `,"id":"q3"`, `{}`)},
	{"host", envelopeOf(proto.SnapshotState, `,"replyTo":"q3"`,
		`{"sessionId":"study","uiSpec":{"a":1e2},"messageHistory":[{"text":"<b>é😀"},{}],"toolSchema":[]}`)},
	{"host", envelopeOf(proto.SnapshotState, `,"replyTo":"q2"`,
		`{"sessionId":"study","uiSpec":null,"messageHistory":[],"toolSchema":[]}`)},
	{"late", envelopeOf(proto.SnapshotGet, `,"id":"q4"`, `{}`)},
	{"late", envelopeOf(proto.ToolCall, `,"id":"q5"`, `{"toolName":"select","params":{"itemId":"m1"},"reason":"x"}`)},
	{"host", envelopeOf(proto.ToolResult, `,"replyTo":"q5"`, `{"ok":true,"toolName":"select","uiSpec":{}}`)},
	{"host", envelopeOf(proto.StateUpdated, ``, `{"source":"host","uiSpec":{},"messageHistory":[],"toolSchema":[]}`)},
	{"host", envelopeOf(proto.UserMessage, ``, `{"text":"Hello.","stage":"time"}`)},
	{"late", envelopeOf(proto.AgentMessage, `,"id":"q6"`, `{"text":"Hello."}`)},
	{"late", envelopeOf(proto.ToolCall, `,"id":"q7"`, `{"toolName":"next","params":{},"reason":"x"}`)},
	{"host", envelopeOf(proto.ErrorMessage, `,"replyTo":"q7"`, `{"code":"INVALID_PARAMS","message":"no"}`)},
	{"late", `{{"v":1}`}, {"late", ``}, {"late", `null`}, {"late", `42`}, {"late", `"x"`}, {"late", `[{}]`}, {"late",
		`{}{}`}, {"late", `{"type":`}, {"late", `}`},
	{"late", envelopeOf(proto.SessionEnd, `,"id":"q8"`, `{"reason":"x"}`)},
	{"host", envelopeOf(proto.SessionEnded, `,"replyTo":"q8"`, `{"sessionId":"study","logFile":"x","stateReset":true}`)},
	{"next", envelopeOf(proto.RelayJoin, `,"id":"j7"`, `{"role":"frontend","sessionId":"s"}`)},
	{"early", envelopeOf(proto.ToolCall, `,"id":"e2"`, `{"toolName":"next","params":{}}`)},
	{"next", envelopeOf(proto.StateUpdated, ``, `{"source":"host","uiSpec":{},"messageHistory":[],"toolSchema":[]}`)},
	{"again", envelopeOf(proto.RelayJoin, `,"id":"j8"`, `{"role":"agent","sessionId":"s"}`)},
	{"again", envelopeOf(proto.SnapshotGet, `,"id":"q9"`, `{}`)},
}

// Every mutant serves, whatever it does to the messages, and closes properly.
func TestEveryMutantServes(t *testing.T) {
	tier.Night(t)
	for _, id := range slices.Concat(Catalogue.IDs(), UnderLoad.IDs()) {
		t.Run(id, func(t *testing.T) {
			t.Parallel()
			o := relay.Options{}
			if err := Put(id, &o); err != nil {
				t.Fatal(err)
			}
			handler, err := relay.New(o)
			if err != nil {
				t.Fatal(err)
			}
			server := httptest.NewServer(handler)
			converse(t, server.URL)
			ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
			defer cancel()
			if err := handler.Close(ctx); err != nil {
				t.Errorf("close: %v", err)
			}
			server.Close()
		})
	}
}

// converse sends everything and leaves.
func converse(t *testing.T, url string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	conns := map[string]*websocket.Conn{}
	var reading sync.WaitGroup
	for _, line := range said {
		conn, there := conns[line.by]
		if !there {
			var err error
			conn, _, err = websocket.Dial(ctx, "ws"+strings.TrimPrefix(url, "http")+proto.Path, nil)
			if conns[line.by] = conn; err == nil {
				reading.Go(func() {
					for err := error(nil); err == nil; {
						_, _, err = conn.Read(ctx)
					}
				})
			}
		}
		if conn != nil { // else the attach was refused
			_ = conn.Write(ctx, websocket.MessageText, []byte(line.text)) // the mutant may have ended the connection
		}
	}
	for _, conn := range conns {
		if conn != nil {
			_ = conn.CloseNow()
		}
	}
	reading.Wait()
	if ctx.Err() != nil {
		t.Error("it hangs")
	}
}
