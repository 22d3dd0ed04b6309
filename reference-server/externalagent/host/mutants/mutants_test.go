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
	"parley/reference-server/externalagent"
)

// said is what an agent sends to any mutant: something that triggers each fault.
var said = []string{
	`{"v":"mvp-0.2","type":"tool.call","id":"0","payload":{"toolName":"next","params":{},"reason":"x"}}`,
	`{"v":"mvp-0.2","type":"relay.join","id":"1","payload":{"role":"agent","sessionId":"red"}}`,
	`{"v":"mvp-0.2","type":"tool.call","id":"2","payload":{"toolName":"next","params":{},"reason":"x"}}`,
	`{"v":"mvp-0.2","type":"session.start","id":"3","payload":{"studyId":"a/../b","participantId":"P 7"}}`,
	`{"v":"mvp-0.2","type":"snapshot.get","id":"4","payload":{}}`,
	`{"v":"mvp-0.2","type":"tool.call","id":"5","payload":{"toolName":"filter","params":{"attribute":"genre",` +
		`"value":""},"reason":"x"}}`,
	`{"v":"mvp-0.2","type":"tool.call","id":"6","payload":{"toolName":"sort","params":{"attribute":"rating",` +
		`"order":"desc"},"reason":"x"}}`,
	`{"v":"mvp-0.2","type":"tool.call","id":"7","payload":{"toolName":"highlight","params":{"itemId":"m1"},"reason":"x"}}`,
	`{"v":"mvp-0.2","type":"tool.call","id":"8","payload":{"toolName":"select","params":{"itemId":"m1"},"reason":"x"}}`,
	`{"v":"mvp-0.2","type":"tool.call","id":"9","payload":{"toolName":"select","params":{"itemId":null,"a":1.5}}}`,
	`{"v":"mvp-0.2","type":"tool.call","id":"10","payload":{"toolName":"select","params":[]}}`,
	`{"v":"mvp-0.2","type":"tool.call","id":"11","payload":{"toolName":"setQuantity","params":{"itemId":"adult",` +
		`"quantity":-1}}}`,
	`{"v":"mvp-0.2","type":"tool.call","id":"12","payload":{"toolName":"select"}}`,
	`{"v":"mvp-0.2","type":"tool.call","id":"13","payload":{"toolName":7,"params":"{}"}}`,
	`{"v":"mvp-0.2","type":"tool.call","id":"14","payload":{"params":{}}}`,
	`{"v":"mvp-0.2","type":"agent.message","id":"15","payload":{"text":"Ünï \u0000","toolName":"next","params":{}}}`,
	`{"v":"mvp-0.2","type":"agent.message","id":"16","payload":{"text":""}}`,
	`{"v":"mvp-0.2","type":"tool.call","id":"17","payload":{"toolName":"next","params":{},"reason":"x"}}`,
	`{"v":"mvp-0.2","type":"tool.call","id":"18","payload":{"toolName":"next","params":{},"reason":"x"}}`,
	`{"v":"mvp-0.2","type":"tool.call","id":"19","payload":{"toolName":"prev","params":{},"reason":"x"}}`,
	`{"v":"mvp-0.2","type":"tool.call","id":"20","payload":{"toolName":"postMessage","params":{"text":"hello"},` +
		`"reason":"x"}}`,
	`{"v":"mvp-0.2","type":"snapshot.get","payload":{"a":12345678901234567890}}`,
	`{"v":"mvp-0.1","V":"mvp-0.2","type":"snapshot.get","id":"21"}`,
	`{"type":["snapshot.get"],"id":21,"payload":[]}`,
	`{"v":"mvp-0.2","type":null,"id":"22","payload":null}`,
	`{"v":"mvp-0.2","type":"SNAPSHOT.GET","id":"23","payload":"{}"}`,
	`[{"v":"mvp-0.2","type":"snapshot.get","id":"24","payload":{}},1,`,
	`{"v":"mvp-0.2","type":"snapshot.get","id":"25"`, ``, `null`, `7`, `"snapshot.get"`, `{{}`, `{}{}`, "\xff",
	`{"v":"mvp-0.2","type":"session.end","id":"26","payload":{"reason":"done"}}`,
	`{"v":"mvp-0.2","type":"session.end","id":"27","payload":{"reason":"done"}}`,
	`{"v":"mvp-0.2","type":"session.start","id":"28","payload":{"studyId":"a","participantId":"b"}}`,
	`{"v":"mvp-0.2","type":"snapshot.get","id":"29","payload":{}}`,
}

// Every mutant serves two agents, whatever it does to them, and closes properly.
func TestEveryMutantServes(t *testing.T) {
	tier.Night(t)
	for _, id := range slices.Concat(Catalogue.IDs(), UnderLoad.IDs()) {
		t.Run(id, func(t *testing.T) {
			t.Parallel()
			o := externalagent.Options{Logs: t.TempDir()}
			if err := Put(id, &o); err != nil {
				t.Fatal(err)
			}
			handler, err := externalagent.New(o)
			if err != nil {
				t.Fatal(err)
			}
			server := httptest.NewServer(handler)
			for range 2 {
				converse(t, server.URL)
				_ = handler.Say("red", "I prefer evening showtimes.") // there may be no session
			}
			ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
			defer cancel()
			if err := handler.Close(ctx); err != nil {
				t.Errorf("close: %v", err)
			}
			server.Close()
		})
	}
}

// converse sends everything, and leaves after it has received a message or the connection has ended.
func converse(t *testing.T, url string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	conn, _, err := websocket.Dial(ctx, "ws"+strings.TrimPrefix(url, "http")+proto.Path, nil)
	if err != nil {
		return // that is its fault
	}
	heard := make(chan struct{}, 1)
	var reading sync.WaitGroup
	reading.Go(func() {
		for err := error(nil); err == nil; {
			_, _, err = conn.Read(ctx)
			select {
			case heard <- struct{}{}:
			default:
			}
		}
	})
	for _, text := range said {
		if conn.Write(ctx, websocket.MessageText, []byte(text)) != nil {
			break // the mutant has ended the connection
		}
	}
	<-heard
	_ = conn.CloseNow()
	reading.Wait()
	if ctx.Err() != nil {
		t.Error("it says nothing")
	}
}
