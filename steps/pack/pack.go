// Package pack makes a protocol of a folder: its clauses, messages, rules, phrases and scenarios are data, and no Go is
// written. What the rules say a server owes is entered in the books of package obligation, so that one model judges a
// run, a live session, a proxy, a recording and a load. docs/your-own-protocol.md is the guide for users.
//
// A pack comes from strangers: it contains no code, nothing outside its folder is read, and it is bounded in size, in
// the cost of its expressions and in the depth of its values.
package pack

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"testing/fstest"

	"github.com/cucumber/godog"

	"parley/features/verdict"
	"parley/internal/expression"
	"parley/internal/words"
	"parley/steps"
	"parley/steps/monitor"
	"parley/steps/obligation"
	"parley/target"
	"parley/transport/transcript"
)

// Bounds of a folder.
const (
	maxFile  = 1 << 20
	maxFiles = 300
	maxDepth = 4
)

// extra are the files that describe the server of the folder; knownFiles are all that are not scenarios.
var (
	extra      = []string{"server.yaml", "mutants.yaml"}
	knownFiles = append([]string{"clauses.yaml", "clauses.zh.yaml"}, extra...)
)

// Pack is a protocol that was read from a folder. It implements steps.Protocol, and is safe for concurrent use.
type Pack struct {
	doc     *document
	files   fstest.MapFS      // the scenarios and the ledger, in the folder of the id
	extra   map[string][]byte // other files of the folder, by name
	schemas map[string][]byte // JSON Schemas of messages, by name
	ledger  *verdict.Ledger
	example string
	folder  string
	unread  map[string]bool // files that are there and cannot be read
	told    []string        // names that are not listed, as mistakes tell
	unsound map[string]bool // parts of protocol.yaml that were not read, or with mistakes
}

// Folder implements steps.Foldered.
func (p *Pack) Folder() string { return p.folder }

// Load reads the protocol in a folder. The error joins all mistakes, each with its place and the mend. The Pack beside
// it is what could be read, to find mistakes in further files; nil if there is no protocol.yaml.
func Load(folder string) (*Pack, error) {
	root, err := os.OpenRoot(folder)
	if err != nil {
		return nil, fmt.Errorf("the protocol %s cannot be read: %w", folder, err)
	}
	defer root.Close()
	return LoadFS(root.FS(), folder)
}

// Join loads the protocol in a folder, as Load does, and returns a suite that has it too. A bundled protocol cannot be
// replaced.
func Join(suite *steps.Protocols, folder string) (*steps.Protocols, *Pack, error) {
	p, err := Load(folder)
	if p == nil {
		return nil, nil, err
	}
	if err = errors.Join(err, checkProfiles(folder, append(suite.Names(), p.doc.id))); err != nil {
		return nil, p, err
	}
	if known, err := suite.Find(p.doc.id); err == nil {
		if _, again := known.(*Pack); !again {
			return nil, nil, fmt.Errorf("%s: the id %s is that of a bundled protocol (protocol: my-%[2]s)", folder, p.doc.id)
		}
		return suite, p, nil
	}
	with := steps.NewProtocols(suite.Version, append(slices.Clone(suite.All), p)...)
	with.Program = suite.Program
	return with, p, nil
}

// LoadFS is Load for a file system; name stands for the folder in mistakes.
func LoadFS(fsys fs.FS, name string) (*Pack, error) {
	text, err := readFile(fsys, "protocol.yaml")
	if err != nil {
		return nil, fmt.Errorf("%s: %w (a protocol is a folder with protocol.yaml, clauses.yaml and scenarios)", name,
			err)
	}
	p := &Pack{doc: &document{}, files: fstest.MapFS{}, extra: map[string][]byte{}, unread: map[string]bool{},
		folder: name}
	described, async, undescribed := readAsyncAPI(fsys, name)
	rd := &reader{doc: p.doc, file: filepath.Join(name, "protocol.yaml"), described: described,
		strange: undescribed != nil}
	rd.read(text)
	if p.unsound = rd.unsound; !protocolID.MatchString(p.doc.id) {
		p.doc.id, p.unsound["protocol"] = "unnamed", true
	}
	p.files[p.doc.id+"/protocol.yaml"] = &fstest.MapFile{Data: text} // it is a part of the suite
	if async != nil {
		p.files[p.doc.id+"/"+asyncFile] = &fstest.MapFile{Data: async}
	}
	c := &stepCheck{pack: p, rd: rd, clauses: newNames(), missing: newNames()}
	mistakes := []error{rd.Err(rd.file), undescribed, p.readFiles(fsys, name, described.schemas(), rd),
		p.checkClauses(name, c.clauses), p.checkHoles(name), c.steps(name)}
	if p.Knows("sends", "receives") {
		mistakes = append(mistakes, rd.types.tell(rd.listed)...)
	}
	if p.Knows("state") {
		mistakes = append(mistakes, rd.states.tell(rd.bags)...)
	}
	p.told = slices.Concat(p.told, rd.types.strange, c.clauses.strange)
	mistakes = append(append(mistakes, c.clauses.tell(p.idleClause(c.clauses))...), c.missing.tell(nil)...)
	if err := errors.Join(append(mistakes, p.unchecked(rd.file))...); err != nil {
		return p, err
	}
	p.example = p.doc.exampleProfile()
	return p, nil
}

// Knows reports whether parts of protocol.yaml were read without a mistake, so that what depends on them can be
// checked.
func (p *Pack) Knows(parts ...string) bool {
	return !slices.ContainsFunc(parts, func(part string) bool { return p.unsound[part] })
}

// Told reports whether a mistake of the folder tells that a message or clause of a name is not listed.
func (p *Pack) Told(name string) bool { return slices.Contains(p.told, name) }

// dependent is what cannot be checked while parts of protocol.yaml have mistakes.
var dependent = []struct{ what, parts string }{
	{"whose clauses and script these are", "protocol"}, {"types of messages", "sends receives"},
	{"members of states", "state"}, {"holes such as ${ticket}", "keeps"}, {"steps", "phrases"},
}

// unchecked says what could not be checked; nil if everything was.
func (p *Pack) unchecked(file string) error {
	var all []string
	for _, d := range dependent {
		if !p.Knows(strings.Fields(d.parts)...) {
			all = append(all, d.what)
		}
	}
	var told []error
	tell := func(file, what string) {
		told = append(told, fmt.Errorf("%s: not checked in the folder until it is mended: %s", file, what))
	}
	if all != nil {
		tell(file, strings.Join(all, ", "))
	}
	if p.ledger == nil {
		tell(filepath.Join(p.folder, "clauses.yaml"), "ids of clauses")
	}
	return errors.Join(told...)
}

// readFile reads a file of bounded size.
func readFile(fsys fs.FS, name string) ([]byte, error) {
	switch info, err := fs.Stat(fsys, name); { // to open a pipe would wait for somebody who writes to it
	case err != nil && strings.HasSuffix(err.Error(), "path escapes from parent"):
		return nil, fmt.Errorf("%s is a link that leads out of the folder, and is not followed (copy the file)", name)
	case err != nil:
		return nil, err
	case !info.Mode().IsRegular():
		return nil, fmt.Errorf("%s is no file", name)
	}
	f, err := fsys.Open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	b, err := io.ReadAll(io.LimitReader(f, maxFile+1))
	if err == nil && len(b) > maxFile {
		err = fmt.Errorf("%s is longer than 1 MiB", name)
	}
	return b, err
}

// readFiles reads the ledger, the scenarios, the server and the schemas.
func (p *Pack) readFiles(fsys fs.FS, name string, described map[string][]byte, rd *reader) error {
	count, schemas, unread := 0, map[string][]byte{}, []error(nil)
	err := fs.WalkDir(fsys, ".", func(at string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return fmt.Errorf("%s: %w", name, err)
		case d.IsDir() && strings.Count(at, "/") >= maxDepth:
			return fs.SkipDir
		case at == schemaFolder && !d.IsDir():
			return fmt.Errorf("%s: %s is no folder", name, at)
		case isMisnamed(at) != nil:
			unread = append(unread, fmt.Errorf("%s: %w", filepath.Join(name, at), isMisnamed(at)))
			return nil
		case d.IsDir() || path.Ext(at) != ".feature" && !slices.Contains(knownFiles, at) && !isSchema(at):
			return nil
		}
		if count++; count > maxFiles {
			return fmt.Errorf("%s: more than %d files", name, maxFiles)
		}
		b, err := readFile(fsys, at)
		if err != nil {
			unread = append(unread, fmt.Errorf("%s: %w", name, err))
			p.unread[at] = true
			return nil
		}
		if slices.Contains(extra, at) {
			p.extra[at] = b
			return nil
		}
		if isSchema(at) {
			schemas[at] = b
		}
		p.files[p.doc.id+"/"+at] = &fstest.MapFile{Data: b}
		return nil
	})
	p.schemas = withOwn(described, schemas)
	return errors.Join(errors.Join(unread...), err, p.readSchemas(p.schemas, name, rd))
}

// isMisnamed says which file of a folder one may be meant to be, that would not be read; nil if it is none.
func isMisnamed(at string) error {
	all := append([]string{"protocol.yaml", asyncFile}, knownFiles...)
	near := words.Near(at, all, 1)
	switch {
	case path.Dir(at) == schemaFolder && path.Ext(at) != ".json":
		return errors.New("it is not read: a JSON Schema is " + schemaFolder + "/TYPE.json")
	case len(near) == 0 || slices.Contains(all, at) || path.Ext(at) != ".yaml" && path.Ext(at) != ".yml":
		return nil
	case words.Distance(at, near[0]) > 2:
		return nil
	}
	return fmt.Errorf("it is not read (did you mean %s?)", near[0])
}

func isSchema(at string) bool { return path.Dir(at) == schemaFolder && path.Ext(at) == ".json" }

// Extra returns a file of the folder that describes its server: server.yaml or mutants.yaml; nil if there is none.
func (p *Pack) Extra(name string) []byte { return p.extra[name] }

// Types returns the JSON Pointers to the type of a message.
func (p *Pack) Types() []string {
	return slices.Compact([]string{string(p.doc.typeAt), string(p.doc.sentAt)})
}

// Messages returns the types of all messages, sorted.
func (p *Pack) Messages() []string {
	all := append(sorted(p.doc.sends), p.doc.receives...)
	slices.Sort(all)
	return slices.Compact(all)
}

// ruled lists the clauses that rules judge.
func (d *document) ruled() (out []string) {
	for _, r := range d.rules {
		out = append(out, r.clauses...)
		for _, o := range r.owes {
			out = append(out, o.clauses...)
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// Kind implements steps.Protocol.
func (p *Pack) Kind() target.Kind {
	d := p.doc
	return target.Kind{Protocol: d.id, Prefix: d.prefix, Roles: []string{target.Server}, Drivers: d.drivers,
		Capabilities: d.capabilities, Example: p.example,
		Sections: func() []target.Section {
			return []target.Section{{Key: d.id, Value: d.section()}}
		},
		Check: d.checkSection,
		Reach: func(p *target.Profile) target.Reach {
			b := d.bindingOf(p)
			return target.Reach{Paths: map[string]string{target.SSE: b.SSE.Open, target.WS: b.WS.Path, target.Post: b.Post.Path}}
		},
	}
}

// checkSection finds the mistakes in the section of a profile.
func (d *document) checkSection(c *target.Checker) error {
	b := d.bindingOf(c.Profile)
	var all []error
	for key, value := range map[string]string{"sse.open": b.SSE.Open, "post.path": b.Post.Path} {
		if value != "" && !strings.HasPrefix(value, "/") {
			all = append(all, c.Fail(d.id+"."+key, fmt.Sprintf("%q does not start with a slash", value), ""))
		}
	}
	if d.ws != "" {
		all = append(all, c.Socket(d.id+".ws", b.WS))
	}
	all = append(all, c.Names(d.id+".names", "message", b.Names, slices.Concat(d.receives, sorted(d.sends))))
	for _, err := range all {
		if err != nil {
			return err
		}
	}
	return nil
}

// exampleProfile returns a commented profile with every key.
func (d *document) exampleProfile() string {
	var b strings.Builder
	fmt.Fprintf(&b, "# A profile of a target of %s. Keys that are not commented out have their defaults, "+
		"apart from url.\n", d.id)
	fmt.Fprintf(&b, "#name: my server\nprotocol: %s\n", d.id)
	if slices.Equal(d.drivers, []string{target.Stdio}) {
		b.WriteString("\n# A process for each connection; a message is a line of its stdin and stdout.\ncommand:\n" +
			"  run: [./my-server]\n\n")
	} else {
		b.WriteString("url: http://localhost:3000\n\n# Starts the server; {port} is a free port. Leave url out then.\n" +
			"#command:\n  #run: [./my-server, --port, \"{port}\"]\n\n")
	}
	fmt.Fprintf(&b, "drivers: [%s]\ncapabilities: []   # %s\n\n%s:\n  type: %q\n", d.drivers[0],
		cmp.Or(strings.Join(d.capabilities, ", "), "there are none"), d.id, string(d.typeAt))
	written := func(path string) string { return strings.ReplaceAll(path, "${", "$${") }
	if d.open != "" {
		fmt.Fprintf(&b, "  sse: {open: %q, send: %q}\n", written(d.open), d.send)
	}
	if d.ws != "" {
		fmt.Fprintf(&b, "  ws: {path: %q}\n", written(d.ws))
	}
	if d.post.path != "" {
		fmt.Fprintf(&b, "  post: {path: %q}\n", written(d.post.path))
	}
	return b.String()
}

// Features implements steps.Protocol.
func (p *Pack) Features() fs.FS { return p.files }

// Bind implements steps.Protocol.
func (p *Pack) Bind(env *steps.Env, run target.Running) func(*transcript.Record) {
	return p.codec(env, run).decode
}

func (p *Pack) codec(env *steps.Env, run target.Running) codec {
	return codec{binding: p.doc.bindingOf(env.Profile), doc: p.doc, base: run.BaseURL(),
		driver: env.Driver.Name()}
}

// NotRunnable implements steps.Protocol: a scenario with the tag of a capability needs it.
func (p *Pack) NotRunnable(env *steps.Env, tags []string) string {
	for _, name := range p.doc.capabilities {
		if slices.Contains(tags, "@"+name) && !env.Profile.Has(name) {
			return "the profile does not declare the capability " + name
		}
	}
	return ""
}

// Monitors implements steps.Protocol: the model is the only one.
func (p *Pack) Monitors() []monitor.Monitor {
	return []monitor.Monitor{p.rules("rules", obligation.Ours)}
}

// Passive implements steps.Passive.
func (p *Pack) Passive() []monitor.Monitor {
	return []monitor.Monitor{p.rules("foreign-rules", obligation.Foreign)}
}

func (p *Pack) rules(name string, o obligation.Observer) monitor.Monitor {
	return monitor.Monitor{Name: name, Clauses: p.doc.ruled(), Text: "what the rules of protocol.yaml say",
		Passive: o != obligation.Ours}.FromModel(func() obligation.Model { return newModel(p.doc, o) })
}

// Model implements steps.Modelled.
func (p *Pack) Model(_ string, o obligation.Observer) obligation.Model { return newModel(p.doc, o) }

// Subprotocols implements steps.Protocol.
func (p *Pack) Subprotocols(of *target.Profile) []string {
	return target.SectionOf[binding](of).WS.Subprotocols
}

// Certifying implements steps.Protocol.
func (p *Pack) Certifying() []string { return p.doc.drivers }

// Stages implements steps.Protocol.
func (p *Pack) Stages() [3]string { return p.doc.stages }

// Register implements steps.Protocol.
func (p *Pack) Register(sc *godog.ScenarioContext, world func() *steps.World) {
	s := &suite{doc: p.doc, clients: map[string]*client{}}
	sc.Before(func(ctx context.Context, _ *godog.Scenario) (context.Context, error) {
		if w := world(); w != nil {
			s.World, s.codec = w, p.codec(w.Env, w.Target)
			s.model = newModel(p.doc, obligation.Ours)
			w.Model = func() obligation.Model { return s.follow() }
		}
		return ctx, nil
	})
	s.register(sc)
}

// IsServerMessage implements steps.Recognisable.
func (p *Pack) IsServerMessage(message any, _ string) bool {
	kind, _ := p.doc.typeAt.Get(message)
	text, _ := kind.(string)
	return p.doc.knows(text, "server") || p.doc.typeOfUntyped(expression.Plain(message), "server") != unknown
}

// IsServerEvent implements steps.Recognisable.
func (p *Pack) IsServerEvent(ev *transcript.Event) bool {
	return p.doc.knows(ev.Type, "server") || p.doc.typeOfUntyped(expression.Plain(ev.Data), "server") != unknown
}

// UsualPlaces implements steps.Recognisable. A place with holes is none that a stranger can visit.
func (p *Pack) UsualPlaces() (out []steps.Place) {
	at := map[string]string{target.SSE: p.doc.open, target.WS: p.doc.ws}
	for _, driver := range p.doc.drivers {
		if path := at[driver]; path != "" && !hole.MatchString(path) {
			out = append(out, steps.Place{Driver: driver, Path: path})
		}
	}
	return out
}

// PlaceKey implements steps.Recognisable.
func (p *Pack) PlaceKey(driver string) string {
	keys := map[string]string{target.SSE: "sse.open", target.WS: "ws.path", target.Post: "post.path"}
	return p.doc.id + "." + keys[driver]
}
