package target

import (
	"cmp"
	"fmt"
	"net"
	"net/netip"
	"os"
	"regexp"

	"parley/protocol/externalagent"
)

func (c *checker) externalAgent() error {
	e := c.p.ExternalAgent
	return cmp.Or(
		c.socket("external-agent.ws", e.WS),
		c.hostRole(),
		c.template("external-agent.session", e.Session),
		c.template("external-agent.start.study-id", e.Start.StudyID),
		c.template("external-agent.start.participant-id", e.Start.ParticipantID),
		c.places("external-agent.fields", "message", e.Fields),
		c.booked("external-agent.provoke.no-active-spec", e.Provoke.NoActiveSpec),
		c.booked("external-agent.provoke.tool-failure", e.Provoke.ToolFailure),
		c.flow(),
		c.listen(),
	)
}

func (c *checker) hostRole() error {
	const path = "external-agent.host-role"
	switch role := c.p.ExternalAgent.HostRole; role {
	case "":
		return c.fail(path, "a host joins in some role", "the default is "+externalagent.HostRole)
	case externalagent.AgentRole:
		return c.fail(path, fmt.Sprintf("%q is the role of the other party", role), "the default is "+externalagent.HostRole)
	}
	return nil
}

var placeholder = regexp.MustCompile(`\{[^{}]*\}`)

// template checks a text in which {nonce} may stand.
func (c *checker) template(path, text string) error {
	if text == "" {
		return c.fail(path, "is empty", "delete the line for the default")
	}
	for _, p := range placeholder.FindAllString(text, -1) {
		if p != anyNonce {
			return c.fail(path, p+" stands for nothing here", "known here: "+anyNonce)
		}
	}
	return nil
}

// booked checks that a provocation which the file bases on the booking has one.
func (c *checker) booked(path string, p Provocation) error {
	if c.given(path) && p.Booking && len(c.p.ExternalAgent.Booking) == 0 {
		return c.fail(path, "there is no booking to come after", "give external-agent.booking, or calls that need none")
	}
	return nil
}

// flow checks that the script is there, for who is to meet it.
func (c *checker) flow() error {
	file := c.p.FlowFile()
	if file == "" || c.p.Role == externalagent.Host {
		return nil
	}
	const path = "external-agent.flow"
	switch info, err := os.Stat(file); {
	case err != nil:
		return c.fail(path, fmt.Sprintf("%q cannot be read: %v", c.p.ExternalAgent.Flow, reason(err)),
			"a path relative to this profile")
	case !info.Mode().IsRegular():
		return c.fail(path, fmt.Sprintf("%q is no file", c.p.ExternalAgent.Flow), "a path relative to this profile")
	}
	return nil
}

// listen checks the address for agents that connect by themselves.
func (c *checker) listen() error {
	address := c.p.ExternalAgent.Agent.Listen
	if address == "" {
		return nil
	}
	const path = "external-agent.agent.listen"
	host, port, err := net.SplitHostPort(address)
	switch {
	case err != nil:
		return c.fail(path, fmt.Sprintf("%q is no address", address), "write it like 127.0.0.1:8080")
	case !validPort(port):
		return c.fail(path, fmt.Sprintf("%q is no port", port), "1 to 65535: the agent has to know it")
	case !loopback(host):
		return c.fail(path, fmt.Sprintf("%q is not on loopback: the harness lets in whoever connects,"+
			" so that nobody else may reach it", address),
			"write it like 127.0.0.1:8080, and lead an agent on another machine there by a tunnel")
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
