package target

import (
	"fmt"
	"reflect"
	"slices"
	"strings"
	"sync"

	"github.com/goccy/go-yaml/ast"
)

// Kind describes the targets of a protocol: what their profiles may contain and how they are reached. It is
// read-only.
type Kind struct {
	// Protocol is the id of the protocol, as used in profiles.
	Protocol string

	// Prefix is the prefix of its clause and scenario ids: two capital letters.
	Prefix string

	// Roles are the parties that can be under test, at least one; the first is the default.
	Roles []string

	// Drivers are those that can reach a target, at least one; the first is the default.
	Drivers []string

	// Capabilities are the optional features that a profile may declare.
	Capabilities []string

	// Renames are the names that a profile may remap, by the path of the mapping, such as "toy.events".
	Renames map[string][]string

	// Example is a commented profile with every key that applies to the protocol. Keys that are not commented out have
	// their default values, apart from url; a line with a # right before its key shows one without a default. Sections
	// take their defaults from it; see Defaults.
	Example string

	// Ignores are the profile keys, such as "hooks.user-says", that all protocols share and no scenario of this one
	// uses. Idle finds those that are set.
	Ignores []string

	// About is what the help of parley run says about the targets: paragraphs with line breaks; "": nothing. Runs are
	// examples for it: the flags after `parley run`.
	About string
	Runs  []string

	// Sections creates the profile keys that the protocol adds, each with its defaults; see SectionOf. Nil: none.
	Sections func() []Section

	// Settle sets those defaults of other keys that differ from DefaultLimits and the like. Nil: none.
	Settle func(p *Profile)

	// Check finds the mistakes in the sections, and settles values that depend on more than one key. What Checker.Fail
	// makes counts, returned or not. The rest of the profile may have mistakes of its own. Nil: no checks.
	Check func(c *Checker) error

	// Reach returns how the target of a profile is reached. Nil: Reach{}.
	Reach func(p *Profile) Reach

	// Locate splits the URL of a running target that was given on the command line instead of a profile. Nil: it is the
	// base URL.
	Locate func(p *Profile)

	// IsPage reports whether a path or URL can only be a page of this protocol. ForPage makes the profile for such a
	// name, or for an http or https URL; it returns a *ProfileError for an invalid one. Both are nil if the targets are
	// not pages.
	IsPage  func(name string) bool
	ForPage func(name string) (*Profile, error)

	// Launcher returns a special launcher for the target of a profile. Nil, or a nil result: the usual one.
	Launcher func(p *Profile) Launcher

	// Dials are the roles whose targets connect to the harness. See Caller.
	Dials []string

	// Configures says whether scenarios change the target's configuration, agents.file.
	Configures bool

	// URLMend says what to add if the profile has neither url nor command; "": the usual text.
	URLMend string

	// URLRest is the key for what does not belong in the base URL; "": headers.
	URLRest string
}

// Section is a profile key that a protocol adds.
type Section struct {
	Key   string
	Value any // a pointer to a struct whose fields have yaml tags
}

// Reach is how a target is reached.
type Reach struct {
	// Listen is the address where the harness awaits a target that Dials and that it does not start; "": a free port.
	// ListenKey is its key in the profile.
	Listen, ListenKey string

	// Session is the value of {session} for calls that name none.
	Session string

	// Served says that the harness itself serves the target: the profile needs neither url nor command, and must not
	// have them. ServedKey is the profile key that says so.
	Served    bool
	ServedKey string

	// Folder is the folder of the files that the harness then serves.
	Folder string

	// Shared names what the scenarios must share although each should have its own, so that they run one at a time; "":
	// nothing. Apart says what to put in the profile to give each its own; "": impossible.
	Shared, Apart string

	// Separate says that instances of the command share none of it, nor anything else that the profile names, so that
	// scenarios with an instance each may run at once.
	Separate bool

	// Parallel is the number of parallel scenarios unless the profile says otherwise; 0: DefaultConcurrency.
	Parallel int

	// Paths are the paths of the target's stream or socket, by driver.
	Paths map[string]string

	// IDs are the members that hold ids under other names than those of the protocol's messages: JSON Pointers, of
	// which the last name counts, with the usual names. See messages.Set.WithIDs.
	IDs map[string]string

	// Browser is the program that opens the target's page; "": the first Chromium on the PATH. BrowserKey is its key in
	// the profile.
	Browser, BrowserKey string

	// Page is the page that a person uses beside the target's connections: its URL, or its path below the base URL, with
	// {session}, {port} and {port2}; "": none. See Paged.
	Page string

	// Logs is the folder of the target's logs, "" if unknown. LogsKey is its key in the profile.
	Logs, LogsKey string

	// ReadyMend says what to use instead of command.ready; "": command.ready applies.
	ReadyMend string
}

// Kinds are the protocols that a profile may name. The first is the default.
type Kinds []Kind

// Protocols lists their ids, sorted.
func (ks Kinds) Protocols() []string {
	var all []string
	for _, k := range ks {
		all = append(all, k.Protocol)
	}
	slices.Sort(all)
	return all
}

// Find returns the kind of a protocol, and whether it is known.
func (ks Kinds) Find(protocol string) (Kind, bool) {
	for _, k := range ks {
		if k.Protocol == protocol {
			return k, true
		}
	}
	return Kind{}, false
}

// OfPage returns the kind whose page a path or URL names, and whether there is one.
func (ks Kinds) OfPage(name string) (Kind, bool) {
	i := slices.IndexFunc(ks, func(k Kind) bool { return k.IsPage != nil && k.IsPage(name) })
	if i < 0 {
		return Kind{}, false
	}
	return ks[i], true
}

// New returns the profile of a target that follows the default binding throughout. It has neither URL nor command.
func (k Kind) New() *Profile {
	p := &Profile{Protocol: k.Protocol, Limits: DefaultLimits(), kind: k}
	if len(k.Drivers) > 0 {
		p.Drivers = []string{k.Drivers[0]}
	}
	if len(k.Roles) > 0 {
		p.Role = k.Roles[0]
	}
	if k.Sections != nil {
		p.Sections = k.Sections()
	}
	if k.Settle != nil {
		k.Settle(p)
	}
	return p
}

// ForURL returns the profile of a running target that follows the default binding, at an http or https URL. A path is
// kept as the base of every endpoint. Protocols with a WebSocket also accept a ws or wss URL, which is that of the
// WebSocket itself unless it has no path; see SplitSocket. The role is the default one. An invalid URL is a
// *ProfileError.
func (k Kind) ForURL(base string) (*Profile, error) {
	p := k.New()
	p.URL = base
	if k.Locate != nil {
		k.Locate(p)
	}
	d := &Decoder{at: map[string]place{"": {}}}
	if err := (&Checker{Decoder: d, Profile: p, kinds: Kinds{k}}).findMistakes(); err != nil {
		return nil, err
	}
	p.Name = hostOf(p.URL)
	return p, nil
}

// findKind is Find with a *ProfileError, without a position, for an unknown protocol.
func (ks Kinds) findKind(protocol string) (Kind, error) {
	k, ok := ks.Find(protocol)
	if !ok {
		return k, &ProfileError{Msg: fmt.Sprintf("protocol: unknown protocol %q", protocol),
			Mend: suggestProtocol(protocol, ks.Protocols())}
	}
	return k, nil
}

// ForURL is Kind.ForURL for a protocol. An unknown protocol is a *ProfileError.
func (ks Kinds) ForURL(protocol, base string) (*Profile, error) {
	k, err := ks.findKind(protocol)
	if err != nil {
		return nil, err
	}
	return k.ForURL(base)
}

// SectionOf returns the section of type T that the profile's protocol added. It panics if the profile belongs to
// another protocol. The section is as safe for concurrent use as the profile.
func SectionOf[T any](p *Profile) *T {
	for _, s := range p.Sections {
		if t, ok := s.Value.(*T); ok {
			return t
		}
	}
	panic(fmt.Sprintf("target: a profile of %s has no section of type %s", p.Protocol, reflect.TypeFor[T]()))
}

// Idle returns the keys that are set but have no effect, because the protocol ignores them.
func (p *Profile) Idle() []string {
	var idle []string
	standard := p.kind.New()
	for _, key := range p.kind.Ignores {
		if !reflect.DeepEqual(valueAt(p, key), valueAt(standard, key)) {
			idle = append(idle, key)
		}
	}
	return idle
}

// valueAt returns the value of a key that all protocols share.
func valueAt(p *Profile, key string) any {
	v := reflect.ValueOf(p).Elem()
	for name := range strings.SplitSeq(key, ".") {
		i := slices.IndexFunc(reflect.VisibleFields(v.Type()),
			func(f reflect.StructField) bool { return f.Tag.Get("yaml") == name })
		if i < 0 {
			panic("target: no key " + key)
		}
		v = v.Field(i)
	}
	return v.Interface()
}

// Kind returns the kind of the profile's protocol.
func (p *Profile) Kind() Kind { return p.kind }

// Reach returns how the target is reached.
func (p *Profile) Reach() Reach {
	var r Reach
	if p.kind.Reach != nil {
		r = p.kind.Reach(p)
	}
	if p.Resets() {
		const data, without = "the data that hooks.reset resets", "leave out hooks.reset, if scenarios can do without it"
		if r.Shared == "" {
			r.Shared, r.Apart = data, without
		} else {
			r.Shared += ", and " + data
			if r.Apart != "" {
				r.Apart += ", and " + without
			}
		}
	}
	return r
}

// sectionOf returns the value of a key that the protocol adds.
func (p *Profile) sectionOf(key string) (any, bool) {
	for _, s := range p.Sections {
		if s.Key == key {
			return s.Value, true
		}
	}
	return nil, false
}

// ownerOf returns a protocol with a section of this key; "" if there is none.
func (ks Kinds) ownerOf(key string) string {
	owner := ""
	for _, k := range ks {
		if k.Sections == nil {
			continue
		}
		for _, s := range k.Sections() {
			if s.Key == key && (owner == "" || k.Protocol == key) {
				owner = k.Protocol
			}
		}
	}
	return owner
}

// SplitSocket splits a ws or wss URL into the http base URL and the path of the WebSocket. It leaves an http URL
// alone.
func (p *Profile) SplitSocket(ws *WSWire) {
	u, err := parseURL(p.URL)
	if err != nil || u.Scheme != "ws" && u.Scheme != "wss" {
		return
	}
	if path := u.EscapedPath(); strings.Trim(path, "/") != "" {
		ws.Path = path
	}
	u.Scheme = strings.Replace(u.Scheme, "ws", "http", 1)
	u.Path, u.RawPath = "", ""
	p.URL = u.String()
}

// New is Kind.New for a protocol. It panics if the protocol is unknown.
func (ks Kinds) New(protocol string) *Profile {
	k, err := ks.findKind(protocol)
	if err != nil {
		panic("target: " + err.Error())
	}
	return k.New()
}

// Capabilities returns those that a profile of a protocol may declare; nil if the protocol is unknown.
func (ks Kinds) Capabilities(protocol string) []string {
	k, _ := ks.Find(protocol)
	return slices.Clone(k.Capabilities)
}

// Example is Kind.Example of a protocol; "" if it is unknown.
func (ks Kinds) Example(protocol string) string {
	k, _ := ks.Find(protocol)
	return k.Example
}

// Clone returns a copy of the profile whose keys, including those of its sections, can be set without changing the
// original. Lists and maps are shared.
func (p *Profile) Clone() *Profile {
	out := *p
	out.Sections = make([]Section, len(p.Sections))
	for i, s := range p.Sections {
		v := reflect.New(reflect.TypeOf(s.Value).Elem())
		v.Elem().Set(reflect.ValueOf(s.Value).Elem())
		out.Sections[i] = Section{s.Key, v.Interface()}
	}
	return &out
}

// CheckSections returns the mistakes in the protocol's sections, for profiles changed after loading: a *ProfileError
// without a line, or Mistakes.
func (p *Profile) CheckSections() error {
	d := NewDecoder()
	d.file = p.Path
	c := &Checker{Decoder: d, Profile: p, kinds: Kinds{p.kind}}
	return c.runChecks(c.checkSections)
}

// Defaults returns what makes a section at its defaults: the values that the example of a profile has under the
// section's key. It panics if they cannot be read.
func Defaults[T any](example, key string) func() T {
	section := sync.OnceValue(func() ast.Node {
		d := &Decoder{file: "example.yaml"}
		body, err := d.parseDocument([]byte(example))
		if err != nil {
			panic("target: " + err.Error())
		}
		members, _ := d.Members(body, "")
		for _, m := range members {
			if m.Key == key {
				return m.Value
			}
		}
		panic("target: the example has no " + key)
	})
	return func() (v T) {
		if err := NewDecoder().Into(section(), &v, key); err != nil {
			panic("target: the example: " + err.Error())
		}
		return v
	}
}
