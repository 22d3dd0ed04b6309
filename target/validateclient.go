package target

import (
	"cmp"
	"fmt"
	"net/url"
	"reflect"
	"regexp"
	"slices"
	"strings"
)

// folder checks that a page which the harness serves has no other place.
func (c *checker) folder() error {
	switch p := c.p; {
	case p.URL != "" || c.given("url"):
		return c.fail("url", "the page cannot be in agent-client.folder too", "choose one")
	case p.Command != nil:
		return c.fail("command", "the harness serves agent-client.folder itself", "choose one")
	}
	return nil
}

func (c *checker) agentClient() error {
	a := c.p.AgentClient
	if a.File && a.Folder == "" {
		return c.fail("agent-client.file", "there is no folder to open the page in", "give agent-client.folder, or delete the line")
	}
	return cmp.Or(
		c.page(),
		c.language(),
		c.allow(),
		c.pageHooks(),
		c.pageServer(),
	)
}

// wholePage settles the page where the URL, of this path, is all of it.
func (c *checker) wholePage(path string) {
	if path != "" && !strings.HasSuffix(path, "/") && !c.given("agent-client.page") {
		c.p.AgentClient.Page = ""
	}
}

func (c *checker) page() error {
	const path, mend = "agent-client.page", "write it like /index.html?x=1"
	a := c.p.AgentClient
	if a.Page == "" && a.Folder == "" {
		return nil
	}
	u, err := url.Parse(a.Page)
	switch {
	case a.Page == "":
		return c.fail(path, "is empty", "delete the line for the default")
	case a.Page[0] != '/':
		return c.fail(path, fmt.Sprintf("%q does not start with a slash", a.Page), mend)
	case err != nil || strings.HasPrefix(a.Page, "//"):
		return c.fail(path, fmt.Sprintf("%q is no path", a.Page), mend)
	case slices.Contains(strings.Split(u.Path, "/"), ".."):
		return c.fail(path, fmt.Sprintf("%q leads upwards", a.Page), "a path below the folder or the url, without ..")
	case a.Server.Parameter != "" && u.Query().Has(a.Server.Parameter):
		return c.fail(path, fmt.Sprintf("%q has the parameter %s already", a.Page, a.Server.Parameter),
			"take it out: agent-client.server says what it is")
	}
	return nil
}

// languageTag is roughly the Language-Tag of RFC 5646.
var languageTag = regexp.MustCompile(`\A[A-Za-z]{2,8}(-[A-Za-z0-9]{1,8})*\z`)

func (c *checker) language() error {
	if l := c.p.AgentClient.Language; !languageTag.MatchString(l) {
		return c.fail("agent-client.language", fmt.Sprintf("%q is no language", l), "write it like zh-CN")
	}
	return nil
}

// hostName is a name or an address, with or without a port.
var hostName = regexp.MustCompile(`\A([A-Za-z0-9._-]+|\[[0-9A-Fa-f:.]+\])(?::([0-9]+))?\z`)

func (c *checker) allow() error {
	list := c.p.AgentClient.Allow
	for i, host := range list {
		at, m := c.item("agent-client.allow", i), hostName.FindStringSubmatch(host)
		switch {
		case m == nil:
			return c.fail(at, fmt.Sprintf("%q is no host", host), "write it like fonts.example.org, or example.org:8443")
		case m[2] != "" && !validPort(m[2]):
			return c.fail(at, fmt.Sprintf("%s is no port", m[2]), "1 to 65535")
		case slices.Contains(list[:i], host):
			return c.fail(at, fmt.Sprintf("the host %q is given twice", host), "")
		}
	}
	return nil
}

// pageServer checks that the page is told its server's address.
func (c *checker) pageServer() error {
	const value = "agent-client.server.value"
	a := c.p.AgentClient
	if a.Server.Parameter == "" && a.Hooks.ServerURL == "" {
		return c.fail("agent-client.hooks.server-url", "is empty, so that nothing tells the page its server's address",
			"say where the field is, or give agent-client.server.parameter")
	}
	for _, p := range placeholder.FindAllString(a.Server.Value, -1) {
		if p != anyServer {
			return c.fail(value, p+" stands for nothing here", "known here: "+anyServer)
		}
	}
	if !strings.Contains(a.Server.Value, anyServer) {
		return c.fail(value, "it does not say where the server is", "write {url} where its base URL belongs")
	}
	return nil
}

// Hooks of a page: those that may be empty, and those that are no control, so that no text finds them.
var (
	optionalHooks = []string{
		"server-url", "log-row", "level-info", "level-error", "loading", "dismiss", "sessions", "session",
	}
	selectorHooks = []string{"log-row", "level-info", "level-error", "loading", "session"}
)

func (c *checker) pageHooks() error {
	v := reflect.ValueOf(c.p.AgentClient.Hooks)
	for i := range v.NumField() {
		key, hook := v.Type().Field(i).Tag.Get("yaml"), v.Field(i).String()
		at := within("agent-client.hooks", key)
		text, words := ByText(hook)
		switch {
		case hook == "" && key == "sessions" && c.p.Has(SessionList):
			return c.fail(at, "is empty, and the page has session-list", "say where the list is, or take the capability out")
		case hook == "" && slices.Contains(optionalHooks, key):
		case strings.TrimSpace(hook) == "":
			return c.fail(at, "is empty", "delete the line for the default")
		case words && slices.Contains(selectorHooks, key):
			return c.fail(at, fmt.Sprintf("%q finds a control, and this is none", hook), "write a CSS selector")
		case words && strings.TrimSpace(text) == "":
			return c.fail(at, "text= and no text", "write the visible text of the control, like text=Connect")
		case !words:
			if wrong := selectorMistake(hook); wrong != "" {
				return c.fail(at, fmt.Sprintf("%q is no CSS selector: %s", hook, wrong), "")
			}
		}
	}
	return nil
}

// selectorMistake is what is wrong with the brackets and quotes of a CSS selector, in words; "" if nothing is. The rest is for the
// browser to say.
func selectorMistake(s string) string {
	closing := map[rune]rune{'(': ')', '[': ']'}
	var open []rune // what is to come, the next one last
	var quote rune
	escaped := false
	for _, r := range s {
		switch {
		case escaped:
			escaped = false
		case r == '\\':
			escaped = true
		case quote != 0:
			if r == quote {
				quote = 0
			}
		case r == '"' || r == '\'':
			quote = r
		case r == '{' || r == '}':
			return fmt.Sprintf("%c has no place in one", r)
		case closing[r] != 0:
			open = append(open, closing[r])
		case strings.ContainsRune(")]", r):
			if len(open) == 0 || open[len(open)-1] != r {
				return fmt.Sprintf("%c closes nothing", r)
			}
			open = open[:len(open)-1]
		}
	}
	switch {
	case escaped:
		return `it ends in a \`
	case quote != 0:
		return fmt.Sprintf("%c is missing", quote)
	case len(open) > 0:
		return fmt.Sprintf("%c is missing", open[len(open)-1])
	}
	return ""
}
