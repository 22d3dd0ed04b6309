package target

import (
	"fmt"
	"maps"
	"net/url"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"parley/protocol/agentclient"
	"parley/protocol/agentselect"
	"parley/protocol/externalagent"
	"parley/protocol/sessionchat"
	"parley/protocol/sessionruntime"
)

// vocabulary is what a profile may say about each protocol. The first role and the first driver are the defaults. A
// protocol's wire is described in the section of its name.
var vocabulary = map[string]struct{ roles, drivers, capabilities []string }{
	agentselect.Protocol: {
		roles:        []string{Server},
		drivers:      []string{SSE, WS},
		capabilities: []string{InitialAgentID, SessionList, SessionDelete, Health},
	},
	agentclient.Protocol: {
		roles:        []string{agentclient.Client},
		drivers:      []string{Browser},
		capabilities: []string{SessionList},
	},
	sessionchat.Protocol: {
		roles:        []string{Server},
		drivers:      []string{WS},
		capabilities: []string{OptionsModel},
	},
	externalagent.Protocol: {
		roles:        []string{externalagent.Host, externalagent.Relay, externalagent.Agent},
		drivers:      []string{WS},
		capabilities: []string{RelaySessions, TwoAgents, Reconnect},
	},
	sessionruntime.Protocol: {
		roles:   []string{Server},
		drivers: []string{WS, Stdio},
	},
}

// Protocols lists the ids of the protocols that a profile may name, sorted.
func Protocols() []string {
	return slices.Sorted(maps.Keys(vocabulary))
}

// Roles lists the parties that can be under test in a protocol, the default one first; nil for a protocol that Protocols
// does not list.
func Roles(protocol string) []string { return slices.Clone(vocabulary[protocol].roles) }

// Capabilities lists the capabilities that a profile may declare for a protocol.
func Capabilities(protocol string) []string { return slices.Clone(vocabulary[protocol].capabilities) }

// checker looks at a profile as a whole, once every value has its type.
type checker struct {
	*decoder
	p *Profile
}

// check gives the first mistake, and settles what depends on more than one key: the URL.
func (c *checker) check() error {
	for _, part := range []func() error{
		c.protocol, c.address, c.command, c.headers, c.hooks, c.model, c.tools, c.agents, c.wire,
	} {
		if err := part(); err != nil {
			return err
		}
	}
	return nil
}

func (c *checker) protocol() error {
	p := c.p
	k, ok := vocabulary[p.Protocol]
	if !ok {
		return c.fail("protocol", fmt.Sprintf("unknown protocol %q", p.Protocol), suggest(p.Protocol, Protocols()))
	}
	if !slices.Contains(k.roles, p.Role) {
		return c.fail("role", fmt.Sprintf("unknown role %q of %s", p.Role, p.Protocol), "known here: "+strings.Join(k.roles, ", "))
	}
	if len(p.Drivers) == 0 {
		return c.fail("drivers", "no driver", suggest("", k.drivers))
	}
	if err := c.words("drivers", "driver", p.Drivers, k.drivers); err != nil {
		return err
	}
	return c.words("capabilities", "capability", p.Capabilities, k.capabilities)
}

// words checks that every word of a list is known, and is there once.
func (c *checker) words(path, what string, list, known []string) error {
	for i, w := range list {
		at := c.item(path, i)
		switch {
		case !slices.Contains(known, w):
			return c.fail(at, fmt.Sprintf("unknown %s %q", what, w), suggest(w, known))
		case slices.Contains(list[:i], w):
			return c.fail(at, fmt.Sprintf("the %s %q is given twice", what, w), "")
		}
	}
	return nil
}

const anyPort = "{port}"

// address checks the URL and takes the slash off its end.
func (c *checker) address() error {
	p := c.p
	if p.Dials() {
		return c.dialler()
	}
	if i := slices.Index(p.Drivers, Stdio); i >= 0 && p.Command == nil {
		return c.fail(c.item("drivers", i), "stdio is that of a process, and nobody starts one", "give a command, or take stdio out")
	}
	if p.PipesOnly() {
		return c.piper()
	}
	if p.AgentClient.Folder != "" {
		return c.folder()
	}
	if p.URL == "" {
		if p.Command == nil || c.given("url") {
			return c.fail("url", "nothing to test", c.something())
		}
		p.URL = "http://127.0.0.1:" + anyPort
	}
	if strings.Contains(p.URL, anyPort) && p.Command == nil {
		return c.fail("url", "{port} stands for the port of a command, and there is none", "give the port, or a command")
	}
	u, err := url.Parse(strings.Replace(p.URL, anyPort, "1", 1))
	const mend = "write it like http://localhost:3000, or https://example.org/base"
	switch {
	case err != nil:
		return c.fail("url", fmt.Sprintf("%q is no URL", p.URL), mend)
	case u.Scheme == "ws" || u.Scheme == "wss":
		return c.fail("url", fmt.Sprintf("%q is no http URL", p.URL), "give the http one; the ws driver makes its own of it")
	case u.Scheme != "http" && u.Scheme != "https":
		return c.fail("url", fmt.Sprintf("%q is no http URL", p.URL), mend)
	case u.Hostname() == "":
		return c.fail("url", fmt.Sprintf("%q names no host", p.URL), mend)
	case u.User != nil, u.RawQuery != "", u.Fragment != "", u.ForceQuery:
		return c.fail("url", fmt.Sprintf("%q is more than a base URL", p.URL), "no user, query or fragment; see "+c.rest())
	case strings.Contains(p.URL, anyPort) && u.Port() != "1":
		return c.fail("url", "{port} is not where the port belongs", "write it like http://127.0.0.1:{port}/base")
	case u.Port() != "" && !validPort(u.Port()):
		return c.fail("url", fmt.Sprintf("%s is no port", u.Port()), "1 to 65535")
	}
	c.wholePage(u.Path)
	p.URL = strings.TrimRight(p.URL, "/")
	return nil
}

// something is how to give something to test.
func (c *checker) something() string {
	if c.p.Protocol == agentclient.Protocol {
		return "give agent-client.folder, the url of a page that is served, or a command that serves one"
	}
	return "give the url of a running target, or a command that starts one"
}

// rest is the key of what does not belong in the URL.
func (c *checker) rest() string {
	if c.p.Protocol == agentclient.Protocol {
		return "agent-client.page"
	}
	return "headers"
}

// dialler checks that a target which connects to the harness can be had.
func (c *checker) dialler() error {
	switch p := c.p; {
	case p.URL != "" || c.given("url"):
		return c.fail("url", "an agent is no server: it connects to the harness",
			"delete the line; in command, {url} is where it is to connect to")
	case p.Command == nil && p.ExternalAgent.Agent.Listen == "":
		return c.fail("role", "nothing to test",
			"give a command that starts the agent, or external-agent.agent.listen, to which it connects by itself")
	}
	return nil
}

// piper checks a target that can be reached by its stdin and stdout alone.
func (c *checker) piper() error {
	const nobody = "over stdio alone nobody listens"
	p := c.p
	if p.URL != "" || c.given("url") {
		return c.fail("url", nobody, "delete the line, or add ws to drivers")
	}
	for _, placeholder := range []string{anyPort, "{url}"} {
		if p.Command.mentions(placeholder) {
			return c.fail("command", placeholder+" stands for nothing: "+nobody, "take it out, or add ws to drivers")
		}
	}
	return nil
}

func validPort(s string) bool {
	n, err := strconv.Atoi(s)
	return err == nil && n >= 1 && n <= 65535
}

// given tells whether the file has this key.
func (c *checker) given(path string) bool { _, ok := c.at[path]; return ok }

func (c *checker) command() error {
	cmd := c.p.Command
	if cmd == nil {
		return nil
	}
	if len(cmd.Run) == 0 || cmd.Run[0] == "" {
		return c.fail("command.run", "no program to run", `write it like run: [./server, --port, "{port}"]`)
	}
	for _, name := range slices.Sorted(maps.Keys(cmd.Copy)) {
		if !filepath.IsLocal(name) {
			return c.fail(within("command.copy", name), fmt.Sprintf("%q lies outside of {dir}", name), "a relative path without ..")
		}
	}
	for _, name := range slices.Sorted(maps.Keys(cmd.Env)) {
		if name == "" || strings.ContainsAny(name, "=\x00") {
			return c.fail("command.env", fmt.Sprintf("%q is no name of an environment variable", name), "")
		}
	}
	ready := cmd.Ready
	switch {
	case c.p.Dials() && c.given("command.ready"):
		return c.fail("command.ready", "an agent is ready once it has joined", "delete it; see external-agent.agent.join")
	case c.p.PipesOnly() && c.given("command.ready"):
		return c.fail("command.ready", "over stdio a target is ready once it answers the set-up", "delete it; see limits.open")
	case ready.Path != "" && ready.Log != "":
		return c.fail("command.ready", "both path and log", "choose one")
	case ready.Path != "" && ready.Path[0] != '/':
		return c.fail("command.ready.path", fmt.Sprintf("%q does not start with a slash", ready.Path), "")
	}
	if _, err := regexp.Compile(ready.Log); err != nil {
		return c.fail("command.ready.log", err.Error(), "Go's syntax: https://pkg.go.dev/regexp/syntax")
	}
	return nil
}

// httpToken is the token of RFC 9110, section 5.6.2: names of fields and methods.
var httpToken = regexp.MustCompile("\\A[!#$%&'*+.^_`|~0-9A-Za-z-]+\\z")

func (c *checker) headers() error {
	for _, name := range slices.Sorted(maps.Keys(c.p.Headers)) {
		path, value := within("headers", name), c.p.Headers[name]
		switch {
		case !httpToken.MatchString(name):
			return c.fail(path, fmt.Sprintf("%q is no name of an HTTP header", name), "")
		case strings.ContainsAny(value, "\r\n\x00"):
			return c.fail(path, "the value has a line break or a zero byte in it", "") // not shown: it may be a secret
		}
	}
	return nil
}

func (c *checker) hooks() error {
	v := reflect.ValueOf(c.p.Hooks)
	for i := range v.NumField() {
		path := "hooks." + v.Type().Field(i).Tag.Get("yaml")
		if c.given(path) && strings.TrimSpace(v.Field(i).String()) == "" {
			return c.fail(path, "no command", "delete the line, or write : for a command that does nothing")
		}
	}
	return nil
}

func (c *checker) model() error {
	m := c.p.Model
	switch {
	case m == nil:
	case len(m.Env) == 0 && m.Hook == "":
		return c.fail("model", "says nothing", "give env, hook or both")
	case len(m.Env) > 0 && c.p.Command == nil:
		return c.fail("model.env", "a target that runs already has its environment", "give a command, or model.hook")
	}
	return nil
}

func (c *checker) tools() error {
	switch t := c.p.Tools; {
	case t.Confirm != nil && t.Confirm.Name == "":
		return c.fail("tools.confirm", "has no name", "")
	case t.Ask != nil && t.Ask.Name == "":
		return c.fail("tools.ask", "has no name", "")
	}
	return nil
}

func (c *checker) agents() error {
	a := c.p.Agents
	if !agentselect.IDPattern.MatchString(a.Default) {
		return c.fail("agents.default", fmt.Sprintf("%q is no agent id", a.Default), "a-z, 0-9, _ and -")
	}
	seen := map[string]bool{}
	for i, agent := range a.Custom {
		path := fmt.Sprintf("agents.custom[%d]", i)
		switch {
		case !agentselect.IDPattern.MatchString(agent.ID):
			return c.fail(path+".id", fmt.Sprintf("%q is no agent id", agent.ID), "a-z, 0-9, _ and -")
		case seen[agent.ID]:
			return c.fail(path+".id", fmt.Sprintf("the agent %q is given twice", agent.ID), "")
		}
		seen[agent.ID] = true
	}
	return c.agentTools()
}

func (c *checker) agentTools() error {
	a := c.p.Agents
	for _, id := range slices.Sorted(maps.Keys(a.Tools)) {
		path := "agents.tools." + id
		if !agentselect.IDPattern.MatchString(id) {
			return c.fail(path, fmt.Sprintf("%q is no agent id", id), "a-z, 0-9, _ and -")
		}
		seen := map[string]bool{}
		for i, name := range a.Tools[id] {
			at := fmt.Sprintf("%s[%d]", path, i)
			switch {
			case name == "":
				return c.fail(at, "has no name", "")
			case seen[name]:
				return c.fail(at, fmt.Sprintf("the tool %q is given twice", name), "")
			}
			seen[name] = true
		}
	}
	for i, agent := range a.Custom {
		all, whole := a.Tools[agent.ID]
		for j, name := range agent.Tools {
			if whole && !slices.Contains(all, name) {
				return c.fail(fmt.Sprintf("agents.custom[%d].tools[%d]", i, j), fmt.Sprintf("the tool %q is not among agents.tools.%s", name, agent.ID),
					"that list has every tool of the agent: add it there, or take it out here")
			}
		}
	}
	return nil
}
