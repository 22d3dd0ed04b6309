package doctor

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"strings"
	"time"

	"parley/internal/deadline"
	"parley/steps"
	"parley/target"
	"parley/transport/driver/browser"
	"parley/transport/transcript"
)

// Status is the first word or words of a line of the examination's output.
type Status string

// The statuses of an item.
const (
	OK          Status = "ok"           // it works
	NotDeclared Status = "not declared" // the profile does not have it
	NotChecked  Status = "not checked"  // it depends on an item that does not work or is not declared
	Failed      Status = "failed"       // it does not work
	NoEffect    Status = "no effect"    // the profile declares it, but no scenario of the protocol uses it
)

// Exam is one examination of a target, as the functions of a checkup see it. It is not safe for concurrent use.
type Exam struct {
	Checkup  Checkup
	Protocol steps.Protocol
	Profile  *target.Profile // with the limits of a first look: shorter where the profile has the defaults
	Launcher target.Launcher
	Running  target.Running // nil in Before

	// Browser drives pages. Before sets it if the target is a page; the examination closes it.
	Browser *browser.Driver

	// Greeted says that the target passed the preflight over the profile's first driver.
	Greeted bool

	out    io.Writer
	failed bool
}

// NewExam returns an examination that writes to out. Running and Browser are not set.
func NewExam(out io.Writer, c Checkup, p steps.Protocol, profile *target.Profile, launcher target.Launcher) *Exam {
	return &Exam{Checkup: c, Protocol: p, Profile: profile, Launcher: launcher, out: out}
}

// AddLine writes a line about an item or about anything else.
func (e *Exam) AddLine(s Status, what, format string, args ...any) {
	e.failed = e.failed || s == Failed
	wide := 23
	for _, it := range e.Checkup.Items {
		wide = max(wide, len(it.Key))
	}
	text := strings.Join(strings.Fields(fmt.Sprintf(format, args...)), " ")
	fmt.Fprintf(e.out, "%-12s  %-*s  %s\n", s, wide, what, transcript.Printable(text)) // it may quote the target
}

// FindBrowser returns the path of the browser for the target's page, and prints which one it is. If there is none, it
// prints that, and returns a *browser.MissingError.
func (e *Exam) FindBrowser(ctx context.Context) (string, error) {
	path, err := browser.Find(e.Profile.Reach().Browser)
	var missing *browser.MissingError
	if errors.As(err, &missing) {
		missing.Key = e.Profile.Reach().BrowserKey
	}
	if err != nil {
		e.AddLine(Failed, "browser", "%v", err)
		return "", err
	}
	e.AddLine(OK, "browser", "%s: %s", path, versionOf(ctx, path))
	return path, nil
}

// versionOf returns a browser's self-reported version.
func versionOf(ctx context.Context, path string) string {
	ctx, cancel := deadline.WithLimit(ctx, 10*time.Second)
	defer cancel()
	out, err := exec.CommandContext(ctx, path, "--version").Output()
	if first, _, _ := strings.Cut(strings.TrimSpace(string(out)), "\n"); err == nil && first != "" {
		return first
	}
	return "it does not report its version"
}

// Failed reports whether a line had the status Failed.
func (e *Exam) Failed() bool { return e.failed }

// Restart is a Look that restarts the target and checks that it is reachable again.
func (e *Exam) Restart(ctx context.Context) (string, error) {
	err := e.Running.Restart(ctx, false)
	if err == nil {
		err = checkReachable(ctx, e.Profile, e.Running.BaseURL())
	}
	return "the target is reachable again", err
}

// Configuration is a Look that checks that the bytes identifying the target's configuration can be read.
func (e *Exam) Configuration() (string, error) {
	b, err := e.Running.ConfigBytes()
	if err == nil && len(b) == 0 {
		err = errors.New("it is empty")
	}
	return fmt.Sprintf("%d bytes", len(b)), err
}

// checkReachable returns an error if no server listens at a URL.
func checkReachable(ctx context.Context, p *target.Profile, base string) error {
	if err := p.Listens(ctx, base); err != nil {
		return fmt.Errorf("after the restart: %w", err)
	}
	return nil
}
