package probe

import (
	"strings"
	"testing"
)

func TestProgramOf(t *testing.T) {
	for command, want := range map[string]string{
		"./orchestrator --port 8080":                 "orchestrator",
		"bin/server.exe":                             "server",
		"java -cp classes SessionRuntime":            "SessionRuntime",
		"java -XX:+UseSerialGC -cp a.jar Main --x 1": "Main",
		"java com.example.Main":                      "com.example.Main",
		"java Main.java":                             "Main",
		"java -jar target/app.jar":                   "app",
		"python3 -u adapters/orchestrator.py --fast": "orchestrator",
		"/usr/bin/python3.12 -m pkg.server":          "pkg.server",
		"sh run.sh":                                  "run",
		"sh -c exec":                                 "sh",
		"node --import tsx server.ts":                "server",
		"go run ./cmd/orchestrator":                  "orchestrator",
		"go run .":                                   "go",
		"python3":                                    "python3",
	} {
		if got := programOf(strings.Fields(command)); got != want {
			t.Errorf("%s: %q, want %q", command, got, want)
		}
	}
}
