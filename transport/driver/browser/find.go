package browser

import (
	"os"
	"os/exec"
	"runtime"
)

// names are the programs to look for, in this order. The headless shells are the same engine without the window
// decoration, and take half of the processor time.
var names = []string{"chromium-headless-shell", "chrome-headless-shell", "chromium", "chromium-browser",
	"google-chrome", "google-chrome-stable", "chrome"}

// apps are their paths on macOS.
var apps = []string{
	"/Applications/Chromium.app/Contents/MacOS/Chromium",
	"/Applications/Google Chrome.app/Contents/MacOS/Google Chrome",
}

// MissingError reports that no browser was found.
type MissingError struct {
	Command string // the requested one; "": any
	Err     error  // why the requested one cannot be started
	Key     string // profile key that names the browser; "": unknown
}

func (e *MissingError) Error() string {
	mend := "on Debian: apt-get install chromium, or the faster chromium-headless-shell; or name the program in the " +
		"profile"
	if e.Key != "" {
		mend += ": " + e.Key
	}
	if e.Command != "" {
		return "the browser " + e.Command + " cannot be started: " + e.Err.Error() + " (" + mend + ")"
	}
	return "no browser was found, neither Chromium nor Chrome (" + mend + ")"
}

func (e *MissingError) Unwrap() error { return e.Err }

// Find returns the path of a browser. If command is not empty, it is a path or a name on the PATH. Otherwise Find
// returns the first of chromium-headless-shell, chrome-headless-shell, chromium, chromium-browser, google-chrome,
// google-chrome-stable and chrome on the PATH, and on macOS also looks among the applications. The error is a
// *MissingError.
func Find(command string) (string, error) {
	if command != "" {
		path, err := exec.LookPath(command)
		if err != nil {
			return "", &MissingError{Command: command, Err: err}
		}
		return path, nil
	}
	for _, name := range names {
		if path, err := exec.LookPath(name); err == nil {
			return path, nil
		}
	}
	if runtime.GOOS == "darwin" {
		for _, path := range apps {
			if _, err := os.Stat(path); err == nil {
				return path, nil
			}
		}
	}
	return "", &MissingError{}
}
