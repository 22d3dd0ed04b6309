package stress_test

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"parley/features/verdict"
	"parley/internal/llm"
	"parley/reference-server/agentselect"
	"parley/reference-server/agentselect/bundle"
	"parley/reference-server/agentselect/mutants"
	"parley/reference-server/launch"
	"parley/runner"
	selectwire "parley/steps/agentselect/binding"
	"parley/target"
	"parley/test/suitetest"
)

// uncorrelated stands before a server and hides which connection a request came from, as for clients that never say.
// A request without a session is applied to the only open connection, and refused if there are several.
type uncorrelated struct {
	launch.Handler
	careless bool // applies it to the oldest connection instead of refusing it
	newest   bool // loads a session for the newest connection instead of refusing it

	mu     sync.Mutex
	open   []string
	clock  int            // counts connections and messages
	opened map[string]int // connection → clock at which it was opened
	spoke  map[string]int // connection → clock of its last message
	beside bool           // two connections have sent messages while both were open
}

var connID = regexp.MustCompile(`"connectionId":"([^"]+)"`)

func (u *uncorrelated) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	switch {
	case r.Method == http.MethodGet && r.URL.Path == "/events":
		s := &sniffer{ResponseWriter: w, u: u}
		u.Handler.ServeHTTP(s, r)
		u.mu.Lock()
		u.open = slices.DeleteFunc(u.open, func(id string) bool { return id == s.id })
		u.mu.Unlock()
	case r.Method == http.MethodPost:
		u.post(w, r)
	default:
		u.Handler.ServeHTTP(w, r)
	}
}

// sniffer learns the id that the server gives to a connection.
type sniffer struct {
	http.ResponseWriter
	u  *uncorrelated
	id string
}

func (s *sniffer) Unwrap() http.ResponseWriter { return s.ResponseWriter }

func (s *sniffer) Write(p []byte) (int, error) {
	if m := connID.FindSubmatch(p); m != nil && s.id == "" {
		s.id = string(m[1])
		s.u.mu.Lock()
		if s.u.opened == nil {
			s.u.opened, s.u.spoke = map[string]int{}, map[string]int{}
		}
		s.u.clock++
		s.u.open, s.u.opened[s.id] = append(s.u.open, s.id), s.u.clock
		s.u.mu.Unlock()
	}
	return s.ResponseWriter.Write(p)
}

func (u *uncorrelated) post(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	var msg map[string]any
	if json.Unmarshal(body, &msg) == nil && msg != nil {
		open := u.known(msg)
		_, named := msg["sessionId"]
		load := strings.HasPrefix(r.URL.Path, "/session/")
		switch {
		case len(open) == 1, u.careless && len(open) > 0:
			msg["connectionId"] = open[0]
			body, _ = json.Marshal(msg)
		case load && u.newest && named && len(open) > 0:
			msg["connectionId"] = open[len(open)-1]
			body, _ = json.Marshal(msg)
		case !named || load:
			http.Error(w, `{"success":false,"error":"which connection?"}`, http.StatusBadRequest)
			return
		}
	}
	r.Body, r.ContentLength = io.NopCloser(bytes.NewReader(body)), int64(len(body))
	u.Handler.ServeHTTP(w, r)
}

// known returns the open connections, the oldest first. A server notices late that a connection has ended. Until two
// connections have sent messages at the same time, only the connection named by a message therefore counts, if any.
func (u *uncorrelated) known(msg map[string]any) []string {
	u.mu.Lock()
	defer u.mu.Unlock()
	from, _ := msg["connectionId"].(string)
	if _, ok := u.opened[from]; ok {
		u.clock++
		u.spoke[from] = u.clock
		for _, id := range u.open {
			u.beside = u.beside || id != from && u.spoke[id] > u.opened[from]
		}
		if !u.beside {
			return []string{from}
		}
	}
	return slices.Clone(u.open)
}

// judgeUncorrelated judges a server behind u by the scenarios of some tags, or by all.
func judgeUncorrelated(t *testing.T, u *uncorrelated, make func(agentselect.Options) (launch.Handler, error),
	tags string) *verdictOf {
	t.Helper()
	brain := llm.New()
	p := suitetest.BundledTarget("agent-select", "").Profile
	p.Drivers = []string{target.SSE}
	selectwire.Of(p).Correlation = selectwire.Correlation{Single: true}
	p.Capabilities = nil
	if u.careless {
		p.Limits.Event.Duration = time.Second // it omits many answers, and scenarios run one at a time
	}
	l := bundle.Launcher(brain, func(o agentselect.Options) (launch.Handler, error) {
		h, err := make(o)
		return &uncorrelated{Handler: h, careless: u.careless, newest: u.newest}, err
	})
	o := runner.Options{Profile: p, Launcher: l, Brain: brain, Tags: tags}
	res := suitetest.Judge(t, o)
	out := &verdictOf{exit: res.Exit, text: suitetest.Console(t, res), outcome: map[string]verdict.Outcome{}}
	for _, c := range res.Runs[0].Clauses {
		out.outcome[c.ID] = c.Outcome
	}
	return out
}

type verdictOf struct {
	exit    int
	text    string
	outcome map[string]verdict.Outcome
}

// TestSingleCorrelation checks that a target whose clients never identify their connection is judged with one open
// connection, and distinguished from one that acts on another client's session.
func TestSingleCorrelation(t *testing.T) {
	suitetest.AwaitTurn(t)
	sound := func(o agentselect.Options) (launch.Handler, error) { return agentselect.New(o) }
	if v := judgeUncorrelated(t, &uncorrelated{}, sound, ""); v.exit != verdict.ExitConformant {
		t.Errorf("a careful server: exit %d\n%s", v.exit, v.text)
	}
	v := judgeUncorrelated(t, &uncorrelated{careless: true}, sound, "@AS-095")
	if v.exit != verdict.ExitNonConformant || v.outcome["AS-095"] != verdict.Failed {
		t.Errorf("a server that takes a stranger's message for the oldest client's: exit %d, AS-095 %s\n%s", v.exit,
			v.outcome["AS-095"], v.text)
	}
}

// TestSingleCorrelationHandsOver checks that the rule of one connection per session is tested with two open
// connections, although the target cannot tell them apart.
func TestSingleCorrelationHandsOver(t *testing.T) {
	suitetest.AwaitTurn(t)
	sound := func(o agentselect.Options) (launch.Handler, error) { return agentselect.New(o) }
	if v := judgeUncorrelated(t, &uncorrelated{newest: true}, sound, "@AS-094"); v.outcome["AS-094"] != verdict.Passed {
		t.Errorf("a server that loads for the newest connection: AS-094 %s\n%s", v.outcome["AS-094"], v.text)
	}
	leaky := func(o agentselect.Options) (launch.Handler, error) {
		return mutants.Handler("load-keeps-old-events", o)
	}
	if v := judgeUncorrelated(t, &uncorrelated{newest: true}, leaky, "@AS-094"); v.outcome["AS-094"] != verdict.Failed {
		t.Errorf("one that goes on telling the old connection: AS-094 %s\n%s", v.outcome["AS-094"], v.text)
	}
}
