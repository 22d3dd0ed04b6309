package probe_test

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"parley/steps"
	"parley/steps/probe"
	"parley/target"
)

// knock is a protocol outside Parley: a server of it answers GET /knock.
type knock struct {
	steps.Protocol // everything else
	ask            func(context.Context, *probe.Session) (string, error)
}

func (knock) Kind() target.Kind {
	return target.Kind{
		Protocol: "knock", Prefix: "KN", Roles: []string{target.Server, "caller"},
		Drivers: []string{target.SSE, target.Stdio},
		Example: "protocol: knock\n\n# Who may come in.\n#headers:\n#  X-Name: me\n",
		Dials:   []string{"caller"},
	}
}

func (k knock) Init() probe.Guide { return probe.Guide{Profile: k.ask} }

// knocks asks a server and writes what it answered.
func knocks(_ context.Context, s *probe.Session) (string, error) {
	s.Note("name", "nobody needs to know")
	r, err := http.Get(s.Target.BaseURL() + "/knock")
	if err != nil {
		return "", err
	}
	defer r.Body.Close()
	if r.StatusCode == http.StatusOK {
		s.Welcome()
		s.Note("drivers", "it answers\nurl: http://evil")
	}
	w := probe.NewServerDraft(s)
	w.Said(0, "drivers")
	w.List("drivers", s.Profile.Drivers)
	w.Hints()
	return w.String(), nil
}

// TestProfileOfAServer checks that a protocol outside Parley can have an init, and that a server that does not speak
// it gets only an explanation.
func TestProfileOfAServer(t *testing.T) {
	foreign := errors.New("it does not speak knock")
	for _, tt := range []struct {
		name, path string
		said       []string
		err        error
	}{
		{"one that speaks it", "/knock", []string{"nobody needs to know", "it answers\nurl: http://evil"}, nil},
		{"one that does not", "/other", nil, foreign},
	} {
		t.Run(tt.name, func(t *testing.T) {
			srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				if r.URL.Path != tt.path {
					http.NotFound(w, r)
				}
			}))
			defer srv.Close()
			var said []string
			text, err := probe.Profile(t.Context(), probe.Options{
				Protocol: knock{ask: knocks}, URL: srv.URL, Say: func(line string) { said = append(said, line) },
				Explain: func(context.Context, *target.Profile, string) error { return foreign },
			})
			if !errors.Is(err, tt.err) || cmp.Diff(tt.said, said) != "" {
				t.Fatalf("%v; said %q", err, said)
			}
			if tt.err != nil {
				return
			}
			p, err := target.Kinds{knock{}.Kind()}.Parse([]byte(text), "x.yaml", nil)
			if err != nil || p.URL != srv.URL {
				t.Errorf("%v\n%s", err, text)
			}
			if !strings.Contains(text, "\n# Who may come in.\n#headers:") {
				t.Errorf("no hint of the example:\n%s", text)
			}
		})
	}
}

// TestProfileOfACommand checks what a probe gets if there is no URL.
func TestProfileOfACommand(t *testing.T) {
	dir := t.TempDir()
	for _, tt := range []struct {
		name    string
		o       probe.Options
		running bool
		drivers []string
	}{
		{"a process that is spoken to", probe.Options{Command: []string{"cat", "-"}}, true, []string{target.Stdio}},
		{"a caller", probe.Options{Command: []string{"true"}, Role: "caller"}, true, []string{target.SSE}},
		{"a caller that connects by itself", probe.Options{Role: "caller"}, false, []string{target.SSE}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			tt.o.File = filepath.Join(dir, "deeper", "target.yaml")
			tt.o.Protocol = knock{ask: func(_ context.Context, s *probe.Session) (string, error) {
				if (s.Target != nil) != tt.running || cmp.Diff(tt.drivers, s.Profile.Drivers) != "" {
					t.Errorf("running: %v, drivers: %v", s.Target != nil, s.Profile.Drivers)
				}
				if got := s.Relative(filepath.Join(dir, "page")); got != "../page" {
					t.Errorf("a page in %s", got)
				}
				if tt.running && len(s.Profile.Command.Run) != len(tt.o.Command) {
					t.Errorf("command %q", s.Profile.Command.Run)
				}
				return "done", nil
			}}
			if text, err := probe.Profile(t.Context(), tt.o); text != "done" || err != nil {
				t.Errorf("%q, %v", text, err)
			}
		})
	}
}

// TestNames checks that members are found in any spelling of their names, and that the first name wins.
func TestNames(t *testing.T) {
	msg := probe.Object([]byte(`{"connection-id":7,"meta":{"Session_ID":"s1","deep":{"turnId":"t"}},"type":""}`))
	if got := probe.Member(msg, "type", "connectionid"); got != "type" {
		t.Errorf("member %q", got)
	}
	if got := probe.TextMember(msg, "type", "connectionid"); got != "" {
		t.Errorf("text member %q, of none that holds text", got)
	}
	for _, tt := range []struct {
		name  string
		depth int
		at    target.Pointer
	}{{"sessionid", 3, "/meta/Session_ID"}, {"turnid", 3, "/meta/deep/turnId"}, {"turnid", 2, ""}} {
		if at, _ := probe.FindText(msg, "", tt.depth, tt.name); at != tt.at {
			t.Errorf("%s, %d deep, at %q, want %q", tt.name, tt.depth, at, tt.at)
		}
	}
	if at, ok := probe.Holding(msg, "t", "", 3); at != "/meta/deep/turnId" || !ok {
		t.Errorf("t is at %q", at)
	}
	for p, want := range map[target.Pointer]string{
		"/a": "a", "/a/b": `"/a/b"`, "/null": `"null"`, "/a b": `"/a b"`, "": `""`,
	} {
		if got := probe.Bare(p); got != want {
			t.Errorf("%q is written as %s, want %s", p, got, want)
		}
	}
}
