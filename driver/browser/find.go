package browser

import (
	"os"
	"os/exec"
	"runtime"
)

// names are the programs that are looked for, in this order. The headless shells are the same engine without a window's
// furniture, and take half of the processor's time.
var names = []string{"chromium-headless-shell", "chrome-headless-shell", "chromium", "chromium-browser",
	"google-chrome", "google-chrome-stable", "chrome"}

// apps are where macOS has them.
var apps = []string{
	"/Applications/Chromium.app/Contents/MacOS/Chromium",
	"/Applications/Google Chrome.app/Contents/MacOS/Google Chrome",
}

// MissingError reports that there is no browser.
type MissingError struct {
	Command string // what was asked for; "": any
	Err     error  // why it cannot be started, when one was asked for
	Key     string // of the profile that names one; "": nobody knows
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

// Find returns the path of a browser: of command, a name on the PATH or a path, or when that is empty of the first of
// chromium-headless-shell, chrome-headless-shell, chromium, chromium-browser, google-chrome, google-chrome-stable and
// chrome on the PATH, on macOS also where applications are. The error is a *MissingError.
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
