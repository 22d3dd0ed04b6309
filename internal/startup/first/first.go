// Package first prepares the process before other packages are initialized. It imports so little, and its path sorts
// so early, that the language initializes it before all that parley/internal/startup imports: packages are
// initialized in the order of their paths, as soon as their imports are, and text/template, which godog needs, sorts
// behind it. In a module whose path sorts behind text/template, too, it comes too late for godog, and changes nothing
// else.
package first

import (
	"os"
	"runtime/debug"
)

var path, given = hideCommands()

// hideCommands removes the folders of commands from the environment, and lets the heap grow without collections.
func hideCommands() (path string, given bool) {
	if os.Getenv("GOGC") == "" {
		debug.SetGCPercent(1000)
	}
	path, given = os.LookupEnv("PATH")
	_ = os.Unsetenv("PATH")
	return path, given
}

// Restore puts the folders of commands back into the environment.
func Restore() {
	if given {
		_ = os.Setenv("PATH", path)
	}
}
