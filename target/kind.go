package target

import (
	"fmt"
	"reflect"
	"slices"
	"strings"
)

// Kind is what a protocol says of its targets: what a profile of one may say, and how one is reached. It is read-only.
type Kind struct {
	// Protocol is the id of the protocol, as a profile names it.
	Protocol string

	// Prefix begins the ids of its clauses and scenarios: two capital letters.
	Prefix string

	// Roles are the parties that can be under test, the default one first; one at least.
	Roles []string

	// Drivers are those by which a target may be reached, the default one first; one at least.
	Drivers []string

	// Capabilities are the optional features that a profile may declare.
	Capabilities []string

	// Example is a commented profile with every key that is of use for the protocol. Keys that are not commented out stand
	// at their defaults, apart from url; a line with a # right before its key shows one that has no default.
	Example string

	// Ignores are the keys of a profile, as in "hooks.user-says", that all protocols share and no scenario of this one
	// uses. Idle finds those that are given.
	Ignores []string

	// About is what the help of parley run says of the targets: paragraphs, in lines that are broken; "": nothing. Runs
	// are examples for it: the flags behind `parley run`.
	About string
	Runs  []string

	// Sections makes the keys of a profile that the protocol adds, each at its defaults; see SectionOf. Nil: none.
	Sections func() []Section

	// Settle sets the defaults of other keys where they are not those of DefaultLimits and the like. Nil: none differs.
	Settle func(p *Profile)

	// Check gives the first mistake in the sections, and settles what depends on more than one key. It runs when the rest
	// of the profile is in order. Nil: none is possible.
	Check func(c *Checker) error

	// Reach is how the target of a profile is reached. Nil: as Reach{} says.
	Reach func(p *Profile) Reach

	// Locate takes the URL of a running target apart, which the command line was given in place of a profile. Nil: it is
	// the base URL.
	Locate func(p *Profile)

	// IsPage reports whether a path or URL can name nothing but a page of this protocol, and ForPage is the profile of
	// what such a name, or an http or https URL, says. What cannot be one is a *ProfileError. Nil, both: the targets are
	// not pages.
	IsPage  func(name string) bool
	ForPage func(name string) (*Profile, error)

	// Launcher launches the target of a profile that is started in a way of its own; nil, or a nil result, for the usual
	// ones.
	Launcher func(p *Profile) Launcher

	// Configures says that scenarios change the target's configuration, agents.file.
	Configures bool

	// URLMend is how to give something to test where neither url nor command does; "": the usual words.
	URLMend string

	// URLRest is the key of what is more than a base URL; "": headers.
	URLRest string
}

// Section is a key of a profile that a protocol adds.
type Section struct {
	Key   string
	Value any // a pointer to a struct whose fields have yaml tags
}

// Reach is how a target is reached.
type Reach struct {
	// Dials says that the target connects to the harness, and not the harness to it. See Caller.
	Dials bool

	// Listen is the address where the harness awaits a target that Dials and is not started by it; "": a free port.
	// ListenKey is its key in the profile.
	Listen, ListenKey string

	// Session is the value of {session} where a call names none.
	Session string

	// Served says that the harness itself gives the target its place: the profile needs neither url nor command, and may
	// have none of them. ServedKey is the key of the profile that says so.
	Served    bool
	ServedKey string

	// Shared names what scenarios have to share though each should have its own, so that they run one at a time; "":
	// nothing. Apart is what a profile may say to give each its own; "": there is no such thing.
	Shared, Apart string

	// Parallel is how many scenarios run side by side where the profile does not say; 0: DefaultConcurrency.
	Parallel int

	// Paths are where the profile has the target's stream or socket, by driver.
	Paths map[string]string

	// Browser is the program of the browser that opens the target's page; "": the first Chromium on the PATH. BrowserKey
	// is its key in the profile.
	Browser, BrowserKey string

	// Logs is the folder of the target's logs, and LogsKey its key in the profile. "": nobody knows it.
	Logs, LogsKey string

	// ReadyMend is how to say when the target is ready where command.ready cannot; "": command.ready can.
	ReadyMend string
}

// Kinds are the protocols that a profile may name. The first is that of a profile which names none.
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

// Find is the kind of a protocol, and whether it is known.
func (ks Kinds) Find(protocol string) (Kind, bool) {
	for _, k := range ks {
		if k.Protocol == protocol {
			return k, true
		}
	}
	return Kind{}, false
}

// OfPage is the kind of which a path or URL names a page, and whether there is one.
func (ks Kinds) OfPage(name string) (Kind, bool) {
	i := slices.IndexFunc(ks, func(k Kind) bool { return k.IsPage != nil && k.IsPage(name) })
	if i < 0 {
		return Kind{}, false
	}
	return ks[i], true
}

// New is the profile of a target that follows the default binding of the protocol in everything. It has neither URL nor
// command.
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

// ForURL is the profile of a running target that follows the default binding, at an http or https URL. A path is kept
// as the base of every endpoint. Protocols with a WebSocket take a ws or wss URL too, which is that of the WebSocket
// itself unless it has no path; see SplitSocket. The role is the default one. A URL that cannot be one is a
// *ProfileError.
func (k Kind) ForURL(base string) (*Profile, error) {
	p := k.New()
	p.URL = base
	if k.Locate != nil {
		k.Locate(p)
	}
	d := &Decoder{at: map[string]place{"": {}}}
	if err := (&Checker{d, p, Kinds{k}}).check(); err != nil {
		return nil, err
	}
	p.Name = hostOf(p.URL)
	return p, nil
}

// find is Find; the error is a *ProfileError without a place.
func (ks Kinds) find(protocol string) (Kind, error) {
	k, ok := ks.Find(protocol)
	if !ok {
		return k, &ProfileError{Msg: fmt.Sprintf("protocol: unknown protocol %q", protocol),
			Mend: suggest(protocol, ks.Protocols())}
	}
	return k, nil
}

// ForURL is Kind.ForURL of a protocol. One that is unknown is a *ProfileError.
func (ks Kinds) ForURL(protocol, base string) (*Profile, error) {
	k, err := ks.find(protocol)
	if err != nil {
		return nil, err
	}
	return k.ForURL(base)
}

// SectionOf is the section of a profile that is a T, as the profile's protocol made it. Asking a profile of another
// protocol is a mistake of the caller's, and panics. The section is as safe for concurrent use as the profile.
func SectionOf[T any](p *Profile) *T {
	for _, s := range p.Sections {
		if t, ok := s.Value.(*T); ok {
			return t
		}
	}
	panic(fmt.Sprintf("target: a profile of %s has no section of type %s", p.Protocol, reflect.TypeFor[T]()))
}

// Idle are the keys of the profile that are given and have no effect, since its protocol ignores them.
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

// valueAt is the value of a key that all protocols share.
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

// Kind is what the profile's protocol says of its targets.
func (p *Profile) Kind() Kind { return p.kind }

// Reach is how the target is reached.
func (p *Profile) Reach() Reach {
	if p.kind.Reach == nil {
		return Reach{}
	}
	return p.kind.Reach(p)
}

// section is the value of a key that the protocol adds.
func (p *Profile) section(key string) (any, bool) {
	for _, s := range p.Sections {
		if s.Key == key {
			return s.Value, true
		}
	}
	return nil, false
}

// ownerOf is a protocol that has a section of this key; "" where none has.
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

// SplitSocket makes the http base URL and the path of the WebSocket out of a ws or wss URL; an http URL is left alone.
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

// New is Kind.New of a protocol. One that is not among the kinds is a mistake of the caller's, and panics.
func (ks Kinds) New(protocol string) *Profile {
	k, err := ks.find(protocol)
	if err != nil {
		panic("target: " + err.Error())
	}
	return k.New()
}

// Capabilities are those that a profile of a protocol may declare; nil for a protocol that is not among the kinds.
func (ks Kinds) Capabilities(protocol string) []string {
	k, _ := ks.Find(protocol)
	return slices.Clone(k.Capabilities)
}

// Example is Kind.Example of a protocol; "" for one that is not among the kinds.
func (ks Kinds) Example(protocol string) string {
	k, _ := ks.Find(protocol)
	return k.Example
}

// Clone is a copy of the profile whose keys, those of its sections too, can be set without changing the original's.
// What they refer to, such as lists and maps, is shared.
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

// CheckSections gives the first mistake in what the protocol adds, as a profile that was changed by more than its file
// may have: a *ProfileError without a line.
func (p *Profile) CheckSections() error {
	d := NewDecoder()
	d.file = p.Path
	return (&Checker{d, p, Kinds{p.kind}}).sections()
}
