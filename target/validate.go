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
	known Mistakes // found by decoding
	found Mistakes // made by Fail
}

// Fail returns a mistake located at a path, or at what encloses it, and records it: a check may go on after it.
func (c *Checker) Fail(path, msg, mend string) error {
	err := c.Decoder.Fail(path, msg, mend)
	if one, ok := err.(*ProfileError); ok {
		c.found = append(c.found, one)
	}
	return err
}

// mistakeSince returns the first mistake that was recorded after the first n; nil if there is none.
func (c *Checker) mistakeSince(n int) error {
	if len(c.found) > n {
		return c.found[n]
	}
	return nil
}

// findMistakes returns the mistakes, and settles what depends on more than one key: the URL.
func (c *Checker) findMistakes() error {
	if err := c.runChecks(c.checkPlace, c.checkCommand, c.checkHeaders, c.checkHooks, c.checkModel, c.checkTools,
		c.checkSections); err != nil {
		return err
	}
	c.Profile.URL = strings.TrimRight(c.Profile.URL, "/")
	return nil
}

// checkPlace checks what is to be tested and where it is. Each part needs those before it.
func (c *Checker) checkPlace() error {
	if c.Profile.Protocol != c.Profile.kind.Protocol {
		return nil // unknown, and reported: what such targets have nobody can tell
	}
	for _, part := range []func() error{c.checkProtocol, c.checkAddress, c.checkTLS} {
		if err := part(); err != nil {
			return err
		}
	}
	return nil
}

// runChecks returns the mistakes that all parts find: one of each key, and none that follows from what decoding found.
func (c *Checker) runChecks(parts ...func() error) error {
	var returned []error
	for _, part := range parts {
		returned = append(returned, part())
	}
	others, ok := mistakesIn(Together(returned...))
	if err := Together(returned...); err != nil && !ok {
		return err
	}
	var all []error
	about := map[string]bool{}
	for _, e := range slices.Concat(c.found, others) {
		if !about[e.about] && !c.known.followsFromOthers(e) {
			all = append(all, e)
		}
		about[e.about] = e.about != ""
	}
	return Together(all...)
}

func (c *Checker) checkProtocol() error {
	p := c.Profile
	k, ok := c.kinds.Find(p.Protocol)
	if !ok {
		return c.Fail("protocol", fmt.Sprintf("unknown protocol %q", p.Protocol),
			suggestProtocol(p.Protocol, c.kinds.Protocols()))
	}
	n := len(c.found)
	if !slices.Contains(k.Roles, p.Role) {
		c.Fail("role", fmt.Sprintf("unknown role %q of %s", p.Role, p.Protocol),
			"known here: "+strings.Join(k.Roles, ", "))
	}
	address := c.mistakeSince(n) // depends on the role
	if len(p.Drivers) == 0 {
		c.Fail("drivers", "no driver", suggestWord("", k.Drivers))
	}
	c.Words("drivers", "driver", p.Drivers, k.Drivers)
	c.Words("capabilities", "capability", p.Capabilities, k.Capabilities)
	return address
}

// Words checks that every word of a list is known and occurs once.
func (c *Checker) Words(path, what string, list, known []string) error {
	n := len(c.found)
	for i, w := range list {
		at := c.Item(path, i)
		switch {
		case !slices.Contains(known, w):
			c.Fail(at, fmt.Sprintf("unknown %s %q", what, w), suggestWord(w, known))
		case slices.Contains(list[:i], w):
			c.Fail(at, fmt.Sprintf("the %s %q is given twice", what, w), "")
		}
	}
	return c.mistakeSince(n)
}

// checkAddress checks the URL, or the keys that replace it.
func (c *Checker) checkAddress() error {
	p := c.Profile
	if p.Dials() {
		return c.checkDialler()
	}
	if i := slices.Index(p.Drivers, Stdio); i >= 0 && p.Command == nil {
		return c.Fail(c.Item("drivers", i), "stdio needs a process, but the profile starts none",
			"give a command, or take stdio out")
	}
	if p.PipesOnly() {
		return c.checkPiper()
	}
	if reach := p.Reach(); reach.Served {
		return c.checkServed(reach)
	}
	if p.URL == "" {
		if c.known.followsFromOthers(&ProfileError{about: "command"}) && p.Command == nil {
			return nil // it was misspelt
		}
		if p.Command == nil || c.Given("url") {
			return c.Fail("url", "nothing to test", c.describeTargets())
		}
		p.URL = "http://127.0.0.1:" + anyPort
	}
	if unixurl.Is(p.URL) {
		return c.checkSocket()
	}
	port := portIn(p.URL)
	if port != "" && p.Command == nil {
		return c.Fail("url", port+" stands for the port of a command, but there is no command", "give the port, or a "+
			"command")
	}
	u, err := url.Parse(SampleURL(p.URL))
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
		return c.Fail("url", fmt.Sprintf("%q is more than a base URL", p.URL),
			"no user, query or fragment; see "+c.restKey())
	case port != "" && u.Port() != "1":
		return c.Fail("url", port+" is not in the place of the port", "write it like http://127.0.0.1:"+port+"/base")
	case port == anyPort && strings.Contains(p.URL, anyPort2):
		return c.Fail("url", "{port2} is not in the place of the port", "write it like http://127.0.0.1:{port}/base")
	case u.Port() != "" && !ValidPort(u.Port()):
		return c.Fail("url", fmt.Sprintf("%s is not a port", u.Port()), "1 to 65535")
	}
	return nil
}

// checkSections checks the keys that the protocol adds.
func (c *Checker) checkSections() error {
	if check := c.Profile.kind.Check; check != nil {
		return check(c)
	}
	return nil
}

// describeTargets says how to name something to test.
func (c *Checker) describeTargets() string {
	return cmp.Or(c.Profile.kind.URLMend, "give the url of a running target, or a command that starts one")
}

// restKey returns the key for what does not belong in the URL.
func (c *Checker) restKey() string { return cmp.Or(c.Profile.kind.URLRest, "headers") }

// checkServed checks that a target served by the harness has no other address.
func (c *Checker) checkServed(reach Reach) error {
	switch p := c.Profile; {
	case p.URL != "" || c.Given("url"):
		return c.Fail("url", "the page cannot be in "+reach.ServedKey+" too", "choose one")
	case p.Command != nil:
		return c.Fail("command", "the harness serves "+reach.ServedKey+" itself", "choose one")
	}
	return nil
}

// checkDialler checks that a target that connects to the harness can be obtained.
func (c *Checker) checkDialler() error {
	switch p := c.Profile; {
	case p.URL != "" || c.Given("url"):
		return c.Fail("url", "an agent is not a server: it connects to the harness",
			"delete the line; in command, {url} stands for the address to connect to")
	case p.Command == nil && p.Reach().Listen == "" && p.Hooks.Call == "":
		return c.Fail("role", "nothing to test",
			"give a command that starts the agent, or "+p.Reach().ListenKey+", to which it connects by itself, or hooks.call, "+
				"which has it connect")
	}
	return nil
}

// checkPiper checks a target that is reached only by its stdin and stdout.
func (c *Checker) checkPiper() error {
	const nobody = "a target that uses stdio only does not listen"
	p := c.Profile
	if p.URL != "" || c.Given("url") {
		return c.Fail("url", nobody, "delete the line, or add ws to drivers")
	}
	for _, placeholder := range []string{anyPort, "{url}"} {
		if p.Command.mentionsPlaceholder(placeholder) {
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

func (c *Checker) checkCommand() error {
	cmd := c.Profile.Command
	if cmd == nil {
		return nil
	}
	n := len(c.found)
	if len(cmd.Run) == 0 || cmd.Run[0] == "" {
		c.Fail("command.run", "no program to run", `write it like run: [./server, --port, "{port}"]`)
	}
	for _, name := range slices.Sorted(maps.Keys(cmd.Copy)) {
		if !filepath.IsLocal(name) {
			c.Fail(Within("command.copy", name), fmt.Sprintf("%q lies outside of {dir}", name),
				"a relative path without ..")
		}
	}
	for _, name := range slices.Sorted(maps.Keys(cmd.Env)) {
		if name == "" || strings.ContainsAny(name, "=\x00") {
			c.Fail("command.env", fmt.Sprintf("%q is not the name of an environment variable", name), "")
		}
	}
	ready := cmd.Ready
	switch {
	case c.Profile.Dials() && c.Given("command.ready"):
		c.Fail("command.ready", "an agent is ready once it has joined", c.Profile.Reach().ReadyMend)
	case c.Profile.PipesOnly() && c.Given("command.ready"):
		c.Fail("command.ready", "over stdio a target is ready once it answers the set-up",
			"delete it; see limits.open")
	case ready.Path != "" && ready.Log != "":
		c.Fail("command.ready", "both path and log", "choose one")
	case ready.Path != "" && ready.Path[0] != '/':
		c.Fail("command.ready.path", fmt.Sprintf("%q does not start with a slash", ready.Path), "")
	}
	if _, err := regexp.Compile(ready.Log); err != nil {
		c.Fail("command.ready.log", err.Error(), "Go's syntax: https://pkg.go.dev/regexp/syntax")
	}
	return c.mistakeSince(n)
}

// httpToken is the token of RFC 9110, section 5.6.2: the names of fields and methods.
var httpToken = regexp.MustCompile("\\A[!#$%&'*+.^_`|~0-9A-Za-z-]+\\z")

func (c *Checker) checkHeaders() error {
	n := len(c.found)
	for _, name := range slices.Sorted(maps.Keys(c.Profile.Headers)) {
		if why, mend := headerMistake(name, c.Profile.Headers[name]); why != "" {
			c.Fail(Within("headers", name), why, mend)
		}
	}
	return c.mistakeSince(n)
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

// checkTLS reads the certificates. It runs when the address is known to be valid.
func (c *Checker) checkTLS() error {
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

func (c *Checker) checkHooks() error {
	n := len(c.found)
	v := reflect.ValueOf(c.Profile.Hooks)
	for i := range v.NumField() {
		path := "hooks." + v.Type().Field(i).Tag.Get("yaml")
		if c.Given(path) && strings.TrimSpace(v.Field(i).String()) == "" {
			c.Fail(path, "no command", "delete the line, or write : for a command that does nothing")
		}
	}
	return c.mistakeSince(n)
}

func (c *Checker) checkModel() error {
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

func (c *Checker) checkTools() error {
	n, t := len(c.found), c.Profile.Tools
	if t.Confirm != nil && t.Confirm.Name == "" {
		c.Fail("tools.confirm", "has no name", "")
	}
	if t.Ask != nil && t.Ask.Name == "" {
		c.Fail("tools.ask", "has no name", "")
	}
	return c.mistakeSince(n)
}
