package mutants

import (
	"context"
	"net/http/httptest"
	"testing"
	"time"

	"parley/internal/tier"
	proto "parley/protocol/externalagent"
	"parley/reference-server/externalagent"
	"parley/reference-server/externalagent/agent"
)

// Every mutant runs against the bundled host, whatever the result, and leaves nothing behind when stopped.
func TestEveryMutantRuns(t *testing.T) {
	tier.Night(t)
	for _, id := range Catalogue.IDs() {
		t.Run(id, func(t *testing.T) {
			t.Parallel()
			handler, err := externalagent.New(externalagent.Options{Logs: t.TempDir()})
			if err != nil {
				t.Fatal(err)
			}
			server := httptest.NewServer(handler)
			o := agent.Options{URL: server.URL + proto.Path, Patience: 10 * time.Millisecond, GiveUp: 100 * time.Millisecond}
			if err := Catalogue.Put(id, &o); err != nil {
				t.Fatal(err)
			}
			ctx, cancel := context.WithTimeout(t.Context(), 250*time.Millisecond)
			_, _ = agent.Run(ctx, o)
			cancel()
			end, cancel := context.WithTimeout(context.Background(), time.Minute)
			defer cancel()
			if err := handler.Close(end); err != nil {
				t.Errorf("close: %v", err)
			}
			server.Close()
		})
	}
}
