package target

import (
	"errors"
	"fmt"
	"net"
	"strings"
	"syscall"

	"parley/internal/cut"
)

// ProfileError is one mistake in a profile. Line and Col count from 1; 0 if the position is unknown.
type ProfileError struct {
	File      string
	Line, Col int
	Msg       string // what is wrong
	Mend      string // how to fix it; may be ""

	about string // the path of the key
	whole bool   // it is about the whole profile, of which nothing else can be said
}

// Error returns "profile.yaml:12:3: what is wrong (how to fix it)".
func (e *ProfileError) Error() string {
	var b strings.Builder
	b.WriteString(e.File)
	if e.Line > 0 {
		fmt.Fprintf(&b, ":%d:%d", e.Line, e.Col)
	}
	if b.Len() > 0 {
		b.WriteString(": ")
	}
	b.WriteString(e.Msg)
	if e.Mend != "" {
		fmt.Fprintf(&b, " (%s)", e.Mend)
	}
	return b.String()
}

// UnreachableError reports that no server listens at the target's URL.
type UnreachableError struct {
	URL   string
	Tried []Attempt
}

// Attempt is one address that was tried.
type Attempt struct {
	Address string
	Err     error
}

func (e *UnreachableError) Error() string {
	tried := make([]string, len(e.Tried))
	for i, a := range e.Tried {
		var lookup *net.DNSError
		if errors.As(a.Err, &lookup) { // without the address of the resolver
			tried[i] = fmt.Sprintf("%s: %s", a.Address, lookup.Err)
			continue
		}
		tried[i] = fmt.Sprintf("%s: %v", a.Address, a.Err)
	}
	text := fmt.Sprintf("target %s cannot be reached: tried %s", e.URL, strings.Join(tried, "; "))
	if errors.Is(e, syscall.ECONNREFUSED) {
		text += " (is it running, and is that its port?)"
	}
	var lookup *net.DNSError
	if errors.As(e, &lookup) && lookup.IsNotFound {
		text += " (is its name spelt right?)"
	}
	return text
}

// Unwrap returns the error for each address.
func (e *UnreachableError) Unwrap() []error {
	errs := make([]error, len(e.Tried))
	for i, a := range e.Tried {
		errs[i] = a.Err
	}
	return errs
}

// StartError reports that a target's process could not be started, exited too early, or was not ready in time; or
// that the folder of a page cannot be served.
type StartError struct {
	Command []string // placeholders replaced where known; for a page, only its folder
	Reason  string   // what happened, in words
	Err     error    // how the process exited, or why it could not be started; nil if it ran but was not ready
	Stdout  string   // the end of its output
	Stderr  string
}

func (e *StartError) Error() string {
	var b strings.Builder
	fmt.Fprintf(&b, "target %q %s", strings.Join(e.Command, " "), e.Reason)
	if e.Err != nil {
		fmt.Fprintf(&b, ": %v", e.Err)
	}
	for _, out := range []struct{ name, text string }{{"stderr", e.Stderr}, {"stdout", e.Stdout}} {
		if text := strings.TrimSpace(out.text); text != "" {
			fmt.Fprintf(&b, "\n%s:\n%s", out.name, lastLines(text, 20))
		}
	}
	return b.String()
}

func (e *StartError) Unwrap() error { return e.Err }

// NotDeclaredError reports that the profile gives no way to do what was asked. What needs it is not tested.
type NotDeclaredError struct {
	Key string // the profile key that would, e.g. "hooks.restart", or a description if there is none
}

func (e *NotDeclaredError) Error() string { return "the profile declares no " + e.Key }

// HookError reports that a hook ran and failed.
type HookError struct {
	Name   string // its key, e.g. "add-agent"
	Err    error  // *exec.ExitError, a context error, or why it could not be run
	Output string // the end of its stdout and stderr
}

func (e *HookError) Error() string {
	msg := fmt.Sprintf("hook %s: %v", e.Name, e.Err)
	if out := strings.TrimSpace(e.Output); out != "" {
		msg += "\n" + lastLines(out, 20)
	}
	return msg
}

func (e *HookError) Unwrap() error { return e.Err }

// OutsideError reports that a target names a log file outside its log folder. The file was not opened.
type OutsideError struct {
	Folder string
	Name   string // as the target gave it
	Reason string // how it leaves the folder, in words
}

func (e *OutsideError) Error() string {
	return fmt.Sprintf("the log file %q lies outside of %s: %s", e.Name, e.Folder, e.Reason)
}

// lastLines returns the n lines that say most, at most lastWords bytes of them: every scenario repeats why it did not
// run.
func lastLines(s string, n int) string {
	return cut.Tail(strings.Join(cut.Trouble(s, n), "\n"), lastWords)
}

const lastWords = 4 << 10
