package binding

import (
	"cmp"
	"fmt"
	"net"
	"net/netip"
	"os"
	"strings"

	"parley/protocol/externalagent"
	"parley/target"
)

// checker checks the wire of a profile.
type checker struct {
	*target.Checker
	b *Binding
}

// check returns the first mistake in the wire.
func check(c *target.Checker) error { return checker{c, Of(c.Profile)}.binding() }

func (c checker) binding() error {
	e := c.b
	return cmp.Or(
		c.Socket("external-agent.ws", e.WS),
		c.hostRole(),
		c.template("external-agent.session", e.Session),
		c.template("external-agent.start.study-id", e.Start.StudyID),
		c.template("external-agent.start.participant-id", e.Start.ParticipantID),
		c.Places("external-agent.fields", "message", e.Fields),
		c.booked("external-agent.provoke.no-active-spec", e.Provoke.NoActiveSpec),
		c.booked("external-agent.provoke.tool-failure", e.Provoke.ToolFailure),
		c.flow(),
		c.page(),
		c.call(),
		c.listen(),
	)
}

func (c checker) hostRole() error {
	const path = "external-agent.host-role"
	switch role := c.b.HostRole; role {
	case "":
		return c.Fail(path, "a host joins in some role", "the default is "+externalagent.HostRole)
	case externalagent.AgentRole:
		return c.Fail(path, fmt.Sprintf("%q is the role of the agent", role), "the default is "+externalagent.HostRole)
	}
	return nil
}

// template checks a text that may contain {nonce}.
func (c checker) template(path, text string) error {
	if text == "" {
		return c.Fail(path, "is empty", "delete the line for the default")
	}
	for _, p := range target.Placeholders(text) {
		if p != anyNonce {
			return c.Fail(path, p+" has no meaning here", "known here: "+anyNonce)
		}
	}
	return nil
}

// booked checks that a provocation based on the booking has one.
func (c checker) booked(path string, p Provocation) error {
	if c.Given(path) && p.Booking && len(c.b.Booking) == 0 {
		return c.Fail(path, "there is no booking for the calls to follow", "give external-agent.booking, or calls that "+
			"need none")
	}
	return nil
}

// flow checks that the flow file exists, for roles that use it.
func (c checker) flow() error {
	file := FlowFile(c.Profile)
	if file == "" || c.Profile.Role == externalagent.Host {
		return nil
	}
	const path = "external-agent.flow"
	switch info, err := os.Stat(file); {
	case err != nil:
		return c.Fail(path, fmt.Sprintf("%q cannot be read: %v", c.b.Flow, target.Reason(err)),
			"a path relative to this profile")
	case !info.Mode().IsRegular():
		return c.Fail(path, fmt.Sprintf("%q is not a file", c.b.Flow), "a path relative to this profile")
	}
	return nil
}

// page checks the page of a host.
func (c checker) page() error {
	const path = "external-agent.page"
	page := c.b.Page
	switch {
	case page == nil:
		return nil
	case c.Profile.Role != externalagent.Host:
		return c.Fail(path, "only a host has a page, and the role is "+c.Profile.Role, "delete it")
	case c.Profile.Hooks.UserSays != "":
		return c.Fail(path, "the participant already speaks by hooks.user-says", "choose one")
	}
	_ = c.PageAddress(path+".url", page.URL)
	for _, hook := range []struct{ key, css string }{{"input", page.Input}, {"send", page.Send}, {"ready", page.Ready}} {
		at := target.Within(path, hook.key)
		switch {
		case strings.TrimSpace(hook.css) != "":
			_ = c.Hook(at, hook.css, true)
		case hook.key == "input":
			_ = c.Fail(at, "no field to type into", `write its CSS selector, like "#message"`)
		case c.Given(at):
			_ = c.Fail(at, "is empty", "delete the line for the default")
		}
	}
	return c.Hosts(path+".allow", page.Allow)
}

// call checks that only an agent is called.
func (c checker) call() error {
	if c.Profile.Hooks.Call == "" || c.Profile.Role == externalagent.Agent {
		return nil
	}
	return c.Fail("hooks.call", "only an agent is asked to act, and the role is "+c.Profile.Role, "delete the line")
}

// listen checks the address for agents that connect by themselves.
func (c checker) listen() error {
	address := c.b.Agent.Listen
	if address == "" {
		return nil
	}
	const path = "external-agent.agent.listen"
	host, port, err := net.SplitHostPort(address)
	switch {
	case err != nil:
		return c.Fail(path, fmt.Sprintf("%q is not an address", address), "write it like 127.0.0.1:8080")
	case !target.ValidPort(port):
		return c.Fail(path, fmt.Sprintf("%q is not a port", port), "1 to 65535: the agent has to know it")
	case !loopback(host):
		return c.Fail(path, fmt.Sprintf("%q is not on loopback: the harness accepts every connection,"+
			" so other machines must not be able to reach it", address),
			"write it like 127.0.0.1:8080, and use a tunnel for an agent on another machine")
	}
	return nil
}

func loopback(host string) bool {
	if host == "localhost" {
		return true
	}
	ip, err := netip.ParseAddr(host)
	return err == nil && ip.IsLoopback()
}
