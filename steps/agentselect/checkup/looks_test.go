package checkup_test

import (
	"context"
	"regexp"
	"strings"
	"testing"

	"go.uber.org/goleak"

	"parley/reference-server/bundled"
	"parley/runner/examination"
	"parley/steps/agentselect/binding"
	"parley/steps/protocols"
	"parley/target"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// TestLooks checks that a declared endpoint is examined, and a missing one is not reported as present.
func TestLooks(t *testing.T) {
	launcher := bundled.All.For(protocols.Kinds(), binding.Kind().Protocol, target.Server).Launcher
	running, err := launcher.Launch(t.Context(), target.LaunchOptions{})
	if err != nil {
		t.Fatal(err)
	}
	defer running.Stop(context.WithoutCancel(t.Context()))
	for _, tt := range []struct {
		name   string
		change func(*target.Profile)
		want   []string // lines
		exit   examination.Outcome
	}{
		{"as it is", func(*target.Profile) {}, []string{
			`ok +health +it answers`, `ok +session-list +it answers`, `ok +session-delete +it answers`,
		}, examination.Works},
		{"elsewhere", func(p *target.Profile) {
			wire := &binding.Of(p).SSE
			wire.Health.Path, wire.List.Path, wire.Delete.Path = "/nowhere", "/no%20where", "/nowhere/{id}"
		}, []string{
			`failed +health +GET /nowhere: HTTP 404 \(look at agent-select.sse.health\)`,
			`failed +session-list +GET /no where: HTTP 404 \(look at agent-select.sse.list\)`,
			`failed +session-delete +DELETE /nowhere/{id}: HTTP 404 \(look at agent-select.sse.delete\)`,
		}, examination.Fails},
		{"an answer without the session's id", func(p *target.Profile) {
			binding.Of(p).Fields.Answer.SessionID = "/nowhere"
			p.Drivers = []string{target.WS, target.SSE}
		}, []string{`failed +session-delete +no session id in {.*`}, examination.Fails},
		{"no event stream", func(p *target.Profile) { p.Drivers = []string{target.WS} },
			[]string{`not checked +health +it needs a connection over sse: there is none`}, examination.Works},
	} {
		t.Run(tt.name, func(t *testing.T) {
			p, err := protocols.Kinds().ForURL(binding.Kind().Protocol, running.BaseURL())
			if err != nil {
				t.Fatal(err)
			}
			p.Capabilities = []string{binding.Health, binding.SessionList, binding.SessionDelete}
			tt.change(p)
			var out strings.Builder
			exit, err := examination.Run(t.Context(), examination.Options{Out: &out, Protocols: protocols.All, Profile: p})
			if err != nil || exit != tt.exit {
				t.Errorf("the outcome is %v, %v; want %v", exit, err, tt.exit)
			}
			for _, line := range tt.want {
				if !regexp.MustCompile(`(?m)^` + line + `$`).MatchString(out.String()) {
					t.Errorf("no line %s in\n%s", line, &out)
				}
			}
		})
	}
}
