package odd_test

import (
	"bytes"
	"io"
	"net/http"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"parley/internal/llm"
	vocab "parley/protocol/agentselect"
	"parley/reference-server/agentselect"
	"parley/reference-server/agentselect/bundle"
	"parley/reference-server/launch"
	"parley/runner"
	"parley/target"
	"parley/test/suitetest"
)

// hesitant handles some messages later than others that arrive after them, as a server does that hands each request to
// a worker. It notes which requests of a connection have overtaken such a message.
type hesitant struct {
	launch.Handler
	mu       *sync.Mutex
	open     map[string]string // connection → a message that is not handled yet
	overtook *[]string
}

var connection = regexp.MustCompile(`"connectionId":"[^"]*"`)

func (h hesitant) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return
	}
	conn, late := connection.FindString(string(body)), false
	for _, kind := range []string{`"` + vocab.AbortType, vocab.ConfirmationResponse, vocab.QuestionResponse, `"fence-`} {
		late = late || strings.Contains(string(body), kind)
	}
	h.mu.Lock()
	if before := h.open[conn]; before != "" {
		*h.overtook = append(*h.overtook, string(body)+" overtakes "+before)
	}
	if late {
		h.open[conn] = string(body)
	}
	h.mu.Unlock()
	if late {
		select {
		case <-r.Context().Done():
		case <-time.After(50 * time.Millisecond):
		}
	}
	r.Body = io.NopCloser(bytes.NewReader(body))
	h.Handler.ServeHTTP(w, r)
	if late { // the answer is not on its way yet
		h.mu.Lock()
		delete(h.open, conn)
		h.mu.Unlock()
	}
}

// TestRequestsOvertake checks that what a client sends after an abort, an answer of its user or a fence waits for the
// HTTP answer to that: each request has a connection of its own, so that nothing else orders them.
func TestRequestsOvertake(t *testing.T) {
	suitetest.AwaitTurn(t)
	brain := llm.New()
	p := suitetest.BundledTarget("agent-select", "").Profile
	p.Drivers = []string{target.SSE}
	var overtook []string
	l := bundle.Launcher(brain, func(o agentselect.Options) (launch.Handler, error) {
		h, err := agentselect.New(o)
		return hesitant{h, &sync.Mutex{}, map[string]string{}, &overtook}, err
	})
	res := suitetest.Judge(t, runner.Options{Profile: p, Launcher: l, Brain: brain, Tags: "@model and not @exclusive"})
	if got := suitetest.Broken(res); len(got) > 0 {
		t.Errorf("broken %v\n%s", got, suitetest.Console(t, res))
	}
	if len(overtook) > 0 {
		t.Errorf("%d messages have overtaken others: %s", len(overtook), strings.Join(overtook, "\n"))
	}
}
