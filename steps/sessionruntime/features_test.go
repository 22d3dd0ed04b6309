package sessionruntime

import (
	"io/fs"
	"path"
	"strings"
	"testing"
	"time"

	"parley/features"
	"parley/features/verdict"
	vocab "parley/protocol/sessionruntime"
	"parley/steps"
	"parley/steps/sessionruntime/binding"
	"parley/target"
)

// texts returns the features by name.
func texts(t *testing.T) map[string]string {
	t.Helper()
	out := map[string]string{}
	paths, err := fs.Glob(features.FS, vocab.Protocol+"/*.feature")
	if err != nil || len(paths) == 0 {
		t.Fatalf("no features: %v", err)
	}
	for _, p := range paths {
		text, err := fs.ReadFile(features.FS, p)
		if err != nil {
			t.Fatal(err)
		}
		out[path.Base(p)] = string(text)
	}
	return out
}

// TestFeatures checks that a conforming target passes every scenario without objections from the model, whatever the
// profile says of its bus and limits.
func TestFeatures(t *testing.T) {
	t.Parallel()
	rows := []struct {
		reason string
		change func(*binding.Binding)
		part   string // part of a feature's name; "" is all
		want   func(r steps.Result) verdict.Outcome
	}{
		{reason: "by default"},
		{reason: "without a fence", part: "4G", change: func(p *binding.Binding) { p.Fence = false }},
		{reason: "without BROADCAST", part: "1", change: func(p *binding.Binding) {
			p.Subscribes = target.Names{vocab.ToSystem}
		}, want: func(r steps.Result) verdict.Outcome {
			for _, s := range r.Scenario.Steps {
				if strings.Contains(s.Text, " on BROADCAST") || strings.Contains(s.Text, "second subscription") {
					return verdict.NotApplicable
				}
			}
			return verdict.Passed
		}},
		{reason: "limits that are fixed", part: "5", change: func(p *binding.Binding) {
			p.Limits = binding.RuntimeLimits{InputAck: target.Duration{Duration: time.Minute},
				CancelAck: target.Duration{Duration: time.Minute}, Fixed: true}
		}},
	}
	for _, row := range rows {
		t.Run(row.reason, func(t *testing.T) {
			t.Parallel()
			env := environment(t, &scripted{})
			if row.change != nil {
				row.change(binding.Of(env.Profile))
			}
			files := texts(t)
			for name := range files {
				if !strings.HasPrefix(name, row.part) {
					delete(files, name)
				}
			}
			for _, r := range run(env, files, func() *scripted { return &scripted{} }) {
				want := verdict.Passed
				if row.want != nil {
					want = row.want(r)
				}
				if r.Outcome != want {
					t.Errorf("%s: %s: %s, want %s (%s)", r.Scenario.Uri, r.Scenario.Name, r.Outcome, want, r.Reason)
				}
				for _, f := range r.Failures {
					if f.Monitor != "" {
						t.Errorf("%s: %s: %s: expected %s; observed %s", r.Scenario.Uri, r.Scenario.Name, f.Clause, f.Expected,
							f.Observed)
					}
				}
			}
		})
	}
}
