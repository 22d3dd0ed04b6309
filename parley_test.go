package parley_test

import (
	"context"
	"os"
	"testing"

	"parley/model"
	"parley/reference-server/bundled"
	"parley/reports"
	"parley/runner"
	"parley/target"
)

func TestDev(t *testing.T) {
	o := runner.Options{Again: "parley run", Tags: os.Getenv("TAGS")}
	if p := os.Getenv("PROFILE"); p != "" {
		prof, err := target.Load(p)
		if err != nil {
			t.Fatal(err)
		}
		o.Profile = prof
	} else {
		o.Brain = model.New()
		o.Profile, o.Launcher = bundled.Profile(), &bundled.Launcher{Brain: o.Brain}
	}
	if d := os.Getenv("DRIVER"); d != "" {
		o.Drivers = []string{d}
	}
	if o.Out = os.Getenv("OUT"); o.Out != "" {
		if err := runner.PrepareOut(o.Out); err != nil {
			t.Fatal(err)
		}
	}
	res, err := runner.Run(context.Background(), o)
	if err != nil {
		t.Fatal(err)
	}
	_ = reports.WriteConsole(os.Stdout, res, reports.ConsoleOptions{Width: 140})
	if o.Out != "" {
		f, _ := os.Create(o.Out + "/results.json")
		_ = reports.WriteJSON(f, res)
		f.Close()
	}
}
