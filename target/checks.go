package target

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"net"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"syscall"

	"parley/internal/cut"
	"parley/internal/words"
)

// Socket checks the WebSocket settings of a section at path.
func (c *Checker) Socket(path string, ws WSWire) error {
	n := len(c.found)
	if !strings.HasPrefix(ws.Path, "/") {
		c.Fail(path+".path", fmt.Sprintf("%q does not start with a slash", ws.Path), "")
	}
	for i, name := range ws.Subprotocols {
		if !httpToken.MatchString(name) {
			c.Fail(fmt.Sprintf("%s.subprotocols[%d]", path, i), fmt.Sprintf("%q is not a subprotocol", name), "")
		}
	}
	return c.mistakeSince(n)
}

// Places checks that every field of a struct of pointers has a place within the whole. Only a field with the tag
// whole may be the whole itself.
func (c *Checker) Places(path, whole string, fields any) error {
	n := len(c.found)
	v := reflect.ValueOf(fields)
	for i := range v.NumField() {
		tag := v.Type().Field(i).Tag
		at, list := Within(path, tag.Get("yaml")), Pointers(nil)
		switch f := v.Field(i).Interface().(type) {
		case Pointer:
			list = Pointers{f}
		case Pointers:
			list = f
		}
		if len(list) == 0 {
			c.Fail(at, "no place", "write a name or a pointer, or a list of them")
		}
		for j, p := range list {
			switch one := c.Item(at, j); {
			case p == "" && tag.Get("whole") == "":
				c.Fail(one, fmt.Sprintf("the whole %s cannot be one field", whole), "write a name or a pointer")
			case slices.Contains(list[:j], p):
				c.Fail(one, fmt.Sprintf("the place %q is given twice", p), "")
			}
		}
	}
	return c.mistakeSince(n)
}

// Names checks that renames has only known names and that no two end up the same.
func (c *Checker) Names(path, what string, renames map[string]Names, known []string) error {
	n := len(c.found)
	type home struct{ name, at string }
	owner, blamed := map[string]home{}, map[string]bool{}
	for _, name := range slices.Concat(slices.Sorted(maps.Keys(renames)), known) {
		at := Within(path, name)
		if !slices.Contains(known, name) {
			c.Fail(at, fmt.Sprintf("unknown %s %q", what, name), suggestWord(name, known))
			continue
		}
		wire, given := renames[name]
		switch {
		case !given:
			wire = Names{name}
		case len(wire) == 0:
			c.Fail(at, "renamed to nothing", "")
		}
		for i, w := range wire {
			one := c.Item(at, i)
			other, taken := owner[w]
			switch {
			case w == "":
				c.Fail(one, "renamed to nothing", "")
			case slices.Contains(wire[:i], w):
				c.Fail(one, fmt.Sprintf("the name %q is given twice", w), "")
			case taken && other.name != name:
				if !blamed[name] && !blamed[other.name] { // one mistake of the two is enough
					c.Fail(other.at, fmt.Sprintf("%q is already the name of %q", w, name), "rename that one too")
				}
				blamed[name], blamed[other.name] = true, true
			}
			owner[w] = home{name, one}
		}
	}
	return c.mistakeSince(n)
}

// Item returns the path of a list item, also for a list written as a single value.
func (c *Checker) Item(path string, i int) string {
	if one := fmt.Sprintf("%s[%d]", path, i); c.Given(one) {
		return one
	}
	return path
}

// Single converts renamings with one name each to Names.
func Single(renames map[string]string) map[string]Names {
	all := make(map[string]Names, len(renames))
	for name, wire := range renames {
		all[name] = Names{wire}
	}
	return all
}

var placeholder = regexp.MustCompile(`\{[^{}]*\}`)

// Placeholders returns the placeholders of a text, with their braces.
func Placeholders(text string) []string { return placeholder.FindAllString(text, -1) }

// MethodName reports whether a text is a token of RFC 9110, section 5.6.2, as are the names of methods, header fields
// and subprotocols.
func MethodName(s string) bool { return httpToken.MatchString(s) }

// HeaderName is MethodName for header fields.
func HeaderName(s string) bool { return httpToken.MatchString(s) }

// WSWire is how the ws driver reaches the target's WebSocket.
type WSWire struct {
	Path         string   `yaml:"path"`         // default depends on the protocol
	Subprotocols []string `yaml:"subprotocols"` // offered in the handshake; default none
}

// Renamed returns what a wire calls a name of the default binding.
func Renamed(names map[string]string, name string) string {
	if n, ok := names[name]; ok {
		return n
	}
	return name
}

// Sent returns the name to send for a name of the default binding: the first that the wire has.
func Sent(names map[string]Names, name string) string {
	if all := names[name]; len(all) > 0 {
		return all[0]
	}
	return name
}

// Original is the inverse of Renamed and Sent: it returns the default name of a name on the wire. A name unknown to
// the default binding is returned unchanged. A default name that this wire replaces by another means nothing here:
// the result is "".
func Original[N string | Names](names map[string]N, wire string) string {
	for name, n := range names {
		switch n := any(n).(type) {
		case string:
			if n == wire {
				return name
			}
		case Names:
			if n.Has(wire) {
				return name
			}
		}
	}
	if _, moved := names[wire]; moved {
		return ""
	}
	return wire
}

// Mistakes are the mistakes of a profile that has several, in the order of the file. Each is a *ProfileError, which
// errors.As finds.
type Mistakes []*ProfileError

// mostMistakes is how many mistakes a message shows.
const mostMistakes = 20

// Error returns a line for each mistake.
func (m Mistakes) Error() string {
	var lines []string
	for _, e := range m[:min(len(m), mostMistakes)] {
		lines = append(lines, e.Error())
	}
	if more := len(m) - mostMistakes; more > 0 {
		lines = append(lines, fmt.Sprintf("%s: and %d more", m[0].File, more))
	}
	return strings.Join(lines, "\n")
}

// Unwrap returns the mistakes.
func (m Mistakes) Unwrap() []error {
	var all []error
	for _, e := range m {
		all = append(all, e)
	}
	return all
}

// mistakesIn lists the mistakes that an error consists of; nil, false if it is of another kind.
func mistakesIn(err error) (Mistakes, bool) {
	var several Mistakes
	var one *ProfileError
	switch {
	case errors.As(err, &several):
		return several, true
	case errors.As(err, &one):
		return Mistakes{one}, true
	}
	return nil, false
}

// Together combines errors: nil for none, the error itself for one, Mistakes for several. An error that is no mistake
// of the profile takes precedence.
func Together(errs ...error) error {
	var all Mistakes
	for _, err := range errs {
		if err == nil {
			continue
		}
		list, ok := mistakesIn(err)
		if !ok {
			return err
		}
		for _, e := range list {
			if !slices.Contains(all, e) {
				all = append(all, e)
			}
		}
	}
	slices.SortStableFunc(all, func(a, b *ProfileError) int {
		return cmp.Or(cmp.Compare(a.Line, b.Line), cmp.Compare(a.Col, b.Col))
	})
	switch len(all) {
	case 0:
		return nil
	case 1:
		return all[0]
	}
	return all
}

// followsFromOthers reports whether a mistake may be but the consequence of others: it is about the same key, or about
// one that contains it or lies within it. From a profile that is no mapping all others follow.
func (m Mistakes) followsFromOthers(e *ProfileError) bool {
	return slices.ContainsFunc(m, func(o *ProfileError) bool {
		return o.whole || o.about != "" && enclosesPath(o.about, e.about) ||
			e.about != "" && enclosesPath(e.about, o.about)
	})
}

// enclosesPath reports whether a path is another one, or contains it.
func enclosesPath(outer, inner string) bool {
	rest, ok := strings.CutPrefix(inner, outer)
	return ok && (rest == "" || rest[0] == '.' || rest[0] == '[')
}

// suggestProtocol returns the fix for an unknown protocol.
func suggestProtocol(name string, known []string) string {
	mend := suggestWord(name, known)
	if len(words.Near(name, known, 1)) == 0 {
		mend += "; one of your own is named by its folder: --protocol ./FOLDER"
	}
	return mend
}

// suggestWord returns the fix for an unknown word: the closest known one, or all of them.
func suggestWord(word string, known []string) string {
	if len(known) == 0 {
		return "none are known here"
	}
	all := strings.Join(slices.Sorted(slices.Values(known)), ", ")
	return words.Suggest(word, known, "known here: "+all)
}

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
	return cut.Tail(strings.Join(cut.ErrorLines(s, n), "\n"), lastWords)
}

const lastWords = 4 << 10
