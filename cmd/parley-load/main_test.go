package main

import (
	"errors"
	"os/exec"
	"path/filepath"
	"strconv"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"parley/reports"
)

func TestMain(m *testing.M) { testscript.Main(m, map[string]func(){"parley-load": main}) }

// TestScript runs the sessions in testdata/script. Besides testscript's own commands they have:
//
//	exits CODE PROGRAM ARG…  the program ends with this exit code
//	valid FILE               FILE is a results.json
func TestScript(t *testing.T) {
	testscript.Run(t, testscript.Params{Dir: filepath.Join("testdata", "script"), RequireExplicitExec: true,
		Cmds: map[string]func(*testscript.TestScript, bool, []string){
			"exits": func(ts *testscript.TestScript, neg bool, args []string) {
				err, got := ts.Exec(args[1], args[2:]...), 0
				var exit *exec.ExitError
				if errors.As(err, &exit) {
					got = exit.ExitCode()
				} else if err != nil {
					got = -1
				}
				if neg || strconv.Itoa(got) != args[0] {
					ts.Fatalf("%q ended with exit code %d, want %s", args[1:], got, args[0])
				}
			},
			"valid": func(ts *testscript.TestScript, neg bool, args []string) {
				if err := reports.Validate([]byte(ts.ReadFile(args[0]))); neg || err != nil {
					ts.Fatalf("%s: %v", args[0], err)
				}
			},
		}})
}
