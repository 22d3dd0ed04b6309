package doctor

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/url"
	"strings"

	"parley/driver/browser"
	"parley/steps"
	"parley/target"
)

// Status is what a line of an examination begins with.
type Status string

// What can be said of an item.
const (
	OK          Status = "ok"           // it works
	NotDeclared Status = "not declared" // the profile does not have it
	NotChecked  Status = "not checked"  // it depends on something that does not work, or is not declared
	Failed      Status = "failed"       // it does not work
	NoEffect    Status = "no effect"    // the profile has it, and no scenario of the protocol uses it
)

// Exam is one examination of a target, as a checkup's own functions see it. One goroutine at a time may use it.
type Exam struct {
	Checkup  Checkup
	Protocol steps.Protocol
	Profile  *target.Profile // with limits for a first look: they are shorter where the profile has the usual ones
	Launcher target.Launcher
	Running  target.Running // nil in Before

	// Browser drives pages. Before sets it for a target that is one; whoever examines closes it.
	Browser *browser.Driver

	// Greeted says that the target came through the preflight over the first driver of the profile.
	Greeted bool

	out    io.Writer
	failed bool
}

// NewExam begins an examination that writes to out. It has no Running, and no Browser.
func NewExam(out io.Writer, c Checkup, p steps.Protocol, profile *target.Profile, launcher target.Launcher) *Exam {
	return &Exam{Checkup: c, Protocol: p, Profile: profile, Launcher: launcher, out: out}
}

// Tell writes a line about an item, or about anything else.
func (e *Exam) Tell(s Status, what, format string, args ...any) {
	e.failed = e.failed || s == Failed
	wide := 23
	for _, it := range e.Checkup.Items {
		wide = max(wide, len(it.Key))
	}
	text := strings.Join(strings.Fields(fmt.Sprintf(format, args...)), " ")
	fmt.Fprintf(e.out, "%-12s  %-*s  %s\n", s, wide, what, text)
}

// Failed reports whether a line said that something failed.
func (e *Exam) Failed() bool { return e.failed }

// Restart is a Look: the target is restarted, and is there again.
func (e *Exam) Restart(ctx context.Context) (string, error) {
	err := e.Running.Restart(ctx, false)
	if err == nil {
		err = reachable(ctx, e.Running.BaseURL(), e.Profile.Limits.Open)
	}
	return "the target is there again", err
}

// Configuration is a Look: what identifies the target's configuration can be read.
func (e *Exam) Configuration() (string, error) {
	b, err := e.Running.ConfigBytes()
	if err == nil && len(b) == 0 {
		err = errors.New("it is empty")
	}
	return fmt.Sprintf("%d bytes", len(b)), err
}

// reachable gives an error where nobody listens at a URL.
func reachable(ctx context.Context, base string, limit target.Duration) error {
	u, err := url.Parse(base)
	if err != nil {
		return err
	}
	port := u.Port()
	if port == "" {
		port = map[string]string{"http": "80", "https": "443"}[u.Scheme]
	}
	conn, err := (&net.Dialer{Timeout: limit.Duration}).DialContext(ctx, "tcp", net.JoinHostPort(u.Hostname(), port))
	if err != nil {
		return fmt.Errorf("after the restart: %w", err)
	}
	return conn.Close()
}
