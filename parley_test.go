package parley_test

import (
	"context"
	"testing"

	"os"
	"parley/model"
	"parley/reference-server/bundled"
	"parley/reports"
	"parley/runner"
)

func TestDev(t *testing.T) {
	brain := model.New()
	res, err := runner.Run(context.Background(), runner.Options{Profile: bundled.Profile(), Launcher: &bundled.Launcher{Brain: brain}, Brain: brain, Again: "parley run"})
	if err != nil {
		t.Fatal(err)
	}
	_ = reports.WriteConsole(os.Stdout, res, reports.ConsoleOptions{Width: 140})
}
