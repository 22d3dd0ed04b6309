package target

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"net/url"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"parley/internal/unixurl"
)

// Checker checks a profile as a whole, after decoding.
type Checker struct {
	*Decoder
	Profile *Profile

	kinds Kinds
}

// check returns the first mistake, and settles what depends on more than one key: the URL.
func (c *Checker) check() error {
	err := c.first(c.protocol, c.address, c.tls, c.command, c.headers, c.hooks, c.model, c.tools, c.sections)
	if err != nil {
		return err
	}
	c.Profile.URL = strings.TrimRight(c.Profile.URL, "/")
	return nil
}

// first returns the first mistake that one of the parts finds.
func (c *Checker) first(parts ...func() error) error {
	for _, part := range parts {
		if err := part(); err != nil {
			return err
		}
	}
	return nil
}

func (c *Checker) protocol() error {
	p := c.Profile
	k, ok := c.kinds.Find(p.Protocol)
	if !ok {
		return c.Fail("protocol", fmt.Sprintf("unknown protocol %q", p.Protocol), suggest(p.Protocol, c.kinds.Protocols()))
	}
	if !slices.Contains(k.Roles, p.Role) {
		return c.Fail("role", fmt.Sprintf("unknown role %q of %s", p.Role, p.Protocol),
			"known here: "+strings.Join(k.Roles, ", "))
	}
	if len(p.Drivers) == 0 {
		return c.Fail("drivers", "no driver", suggest("", k.Drivers))
	}
	if err := c.Words("drivers", "driver", p.Drivers, k.Drivers); err != nil {
		return err
	}
	return c.Words("capabilities", "capability", p.Capabilities, k.Capabilities)
}

// Words checks that every word of a list is known and occurs once.
func (c *Checker) Words(path, what string, list, known []string) error {
	for i, w := range list {
		at := c.Item(path, i)
		switch {
		case !slices.Contains(known, w):
			return c.Fail(at, fmt.Sprintf("unknown %s %q", what, w), suggest(w, known))
		case slices.Contains(list[:i], w):
			return c.Fail(at, fmt.Sprintf("the %s %q is given twice", what, w), "")
		}
	}
	return nil
}

const anyPort = "{port}"

// address checks the URL, or the keys that replace it.
func (c *Checker) address() error {
	p := c.Profile
	if p.Dials() {
		return c.dialler()
	}
	if i := slices.Index(p.Drivers, Stdio); i >= 0 && p.Command == nil {
		return c.Fail(c.Item("drivers", i), "stdio needs a process, but the profile starts none",
			"give a command, or take stdio out")
	}
	if p.PipesOnly() {
		return c.piper()
	}
	if reach := p.Reach(); reach.Served {
		return c.served(reach)
	}
	if p.URL == "" {
		if p.Command == nil || c.Given("url") {
			return c.Fail("url", "nothing to test", c.something())
		}
		p.URL = "http://127.0.0.1:" + anyPort
	}
	if unixurl.Is(p.URL) {
		return c.socket()
	}
	if strings.Contains(p.URL, anyPort) && p.Command == nil {
		return c.Fail("url", "{port} stands for the port of a command, but there is no command", "give the port, or a "+
			"command")
	}
	u, err := url.Parse(strings.Replace(p.URL, anyPort, "1", 1))
	const mend = "write it like http://localhost:3000, or https://example.org/base"
	switch {
	case err != nil:
		return c.Fail("url", fmt.Sprintf("%q is not a URL", p.URL), mend)
	case u.Scheme == "ws" || u.Scheme == "wss":
		return c.Fail("url", fmt.Sprintf("%q is not an http URL", p.URL), "give the http one; the ws driver derives its "+
			"own from it")
	case u.Scheme != "http" && u.Scheme != "https":
		return c.Fail("url", fmt.Sprintf("%q is not an http URL", p.URL), mend)
	case u.Hostname() == "":
		return c.Fail("url", fmt.Sprintf("%q names no host", p.URL), mend)
	case u.User != nil, u.RawQuery != "", u.Fragment != "", u.ForceQuery:
		return c.Fail("url", fmt.Sprintf("%q is more than a base URL", p.URL), "no user, query or fragment; see "+c.rest())
	case strings.Contains(p.URL, anyPort) && u.Port() != "1":
		return c.Fail("url", "{port} is not in the place of the port", "write it like http://127.0.0.1:{port}/base")
	case u.Port() != "" && !ValidPort(u.Port()):
		return c.Fail("url", fmt.Sprintf("%s is not a port", u.Port()), "1 to 65535")
	}
	return nil
}

// sections checks the keys that the protocol adds.
func (c *Checker) sections() error {
	if check := c.Profile.kind.Check; check != nil {
		return check(c)
	}
	return nil
}

// something says how to name something to test.
func (c *Checker) something() string {
	return cmp.Or(c.Profile.kind.URLMend, "give the url of a running target, or a command that starts one")
}

// rest returns the key for what does not belong in the URL.
func (c *Checker) rest() string { return cmp.Or(c.Profile.kind.URLRest, "headers") }

// served checks that a target served by the harness has no other address.
func (c *Checker) served(reach Reach) error {
	switch p := c.Profile; {
	case p.URL != "" || c.Given("url"):
		return c.Fail("url", "the page cannot be in "+reach.ServedKey+" too", "choose one")
	case p.Command != nil:
		return c.Fail("command", "the harness serves "+reach.ServedKey+" itself", "choose one")
	}
	return nil
}

// dialler checks that a target that connects to the harness can be obtained.
func (c *Checker) dialler() error {
	switch p := c.Profile; {
	case p.URL != "" || c.Given("url"):
		return c.Fail("url", "an agent is not a server: it connects to the harness",
			"delete the line; in command, {url} stands for the address to connect to")
	case p.Command == nil && p.Reach().Listen == "":
		return c.Fail("role", "nothing to test",
			"give a command that starts the agent, or "+p.Reach().ListenKey+", to which it connects by itself")
	}
	return nil
}

// piper checks a target that is reached only by its stdin and stdout.
func (c *Checker) piper() error {
	const nobody = "a target that uses stdio only does not listen"
	p := c.Profile
	if p.URL != "" || c.Given("url") {
		return c.Fail("url", nobody, "delete the line, or add ws to drivers")
	}
	for _, placeholder := range []string{anyPort, "{url}"} {
		if p.Command.mentions(placeholder) {
			return c.Fail("command", placeholder+" has no meaning here: "+nobody, "take it out, or add ws to drivers")
		}
	}
	return nil
}

// ValidPort reports whether a text is a port number.
func ValidPort(s string) bool {
	n, err := strconv.Atoi(s)
	return err == nil && n >= 1 && n <= 65535
}

// Given reports whether the file has this key.
func (c *Checker) Given(path string) bool { _, ok := c.at[path]; return ok }

func (c *Checker) command() error {
	cmd := c.Profile.Command
	if cmd == nil {
		return nil
	}
	if len(cmd.Run) == 0 || cmd.Run[0] == "" {
		return c.Fail("command.run", "no program to run", `write it like run: [./server, --port, "{port}"]`)
	}
	for _, name := range slices.Sorted(maps.Keys(cmd.Copy)) {
		if !filepath.IsLocal(name) {
			return c.Fail(Within("command.copy", name), fmt.Sprintf("%q lies outside of {dir}", name),
				"a relative path without ..")
		}
	}
	for _, name := range slices.Sorted(maps.Keys(cmd.Env)) {
		if name == "" || strings.ContainsAny(name, "=\x00") {
			return c.Fail("command.env", fmt.Sprintf("%q is not the name of an environment variable", name), "")
		}
	}
	ready := cmd.Ready
	switch {
	case c.Profile.Dials() && c.Given("command.ready"):
		return c.Fail("command.ready", "an agent is ready once it has joined", c.Profile.Reach().ReadyMend)
	case c.Profile.PipesOnly() && c.Given("command.ready"):
		return c.Fail("command.ready", "over stdio a target is ready once it answers the set-up",
			"delete it; see limits.open")
	case ready.Path != "" && ready.Log != "":
		return c.Fail("command.ready", "both path and log", "choose one")
	case ready.Path != "" && ready.Path[0] != '/':
		return c.Fail("command.ready.path", fmt.Sprintf("%q does not start with a slash", ready.Path), "")
	}
	if _, err := regexp.Compile(ready.Log); err != nil {
		return c.Fail("command.ready.log", err.Error(), "Go's syntax: https://pkg.go.dev/regexp/syntax")
	}
	return nil
}

// httpToken is the token of RFC 9110, section 5.6.2: the names of fields and methods.
var httpToken = regexp.MustCompile("\\A[!#$%&'*+.^_`|~0-9A-Za-z-]+\\z")

func (c *Checker) headers() error {
	for _, name := range slices.Sorted(maps.Keys(c.Profile.Headers)) {
		if why, mend := headerMistake(name, c.Profile.Headers[name]); why != "" {
			return c.Fail(Within("headers", name), why, mend)
		}
	}
	return nil
}

// headerMistake says what is wrong with a header, and how to mend it.
func headerMistake(name, value string) (why, mend string) {
	switch {
	case !httpToken.MatchString(name):
		return fmt.Sprintf("%q is not the name of an HTTP header", name), ""
	case strings.ContainsAny(value, "\r\n\x00"):
		return "the value has a line break or a zero byte in it", "" // not shown: it may be a secret
	}
	return "", ""
}

// tls reads the certificates. It runs when the address is known to be valid.
func (c *Checker) tls() error {
	if c.Profile.TLS == nil {
		return nil
	}
	err := c.Profile.settleTLS(*c.Profile.TLS)
	var wrong *TLSError
	if errors.As(err, &wrong) {
		path := "tls"
		if wrong.Key != "" {
			path = Within("tls", wrong.Key)
		}
		return c.Fail(path, wrong.Msg, wrong.Mend)
	}
	return err
}

func (c *Checker) hooks() error {
	v := reflect.ValueOf(c.Profile.Hooks)
	for i := range v.NumField() {
		path := "hooks." + v.Type().Field(i).Tag.Get("yaml")
		if c.Given(path) && strings.TrimSpace(v.Field(i).String()) == "" {
			return c.Fail(path, "no command", "delete the line, or write : for a command that does nothing")
		}
	}
	return nil
}

func (c *Checker) model() error {
	m := c.Profile.Model
	switch {
	case m == nil:
	case len(m.Env) == 0 && m.Hook == "" && c.Profile.Command == nil:
		return c.Fail("model", "nothing tells a running target where the model stub is",
			"give model.hook, or a command, which has its URL as PARLEY_MODEL_URL")
	case len(m.Env) > 0 && c.Profile.Command == nil:
		return c.Fail("model.env", "the environment of a running target cannot be changed", "give a command, or model.hook")
	}
	return nil
}

func (c *Checker) tools() error {
	switch t := c.Profile.Tools; {
	case t.Confirm != nil && t.Confirm.Name == "":
		return c.Fail("tools.confirm", "has no name", "")
	case t.Ask != nil && t.Ask.Name == "":
		return c.Fail("tools.ask", "has no name", "")
	}
	return nil
}
