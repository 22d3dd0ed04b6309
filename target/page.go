package target

import (
	"fmt"
	"net/url"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
)

// anySession is the placeholder for a relay session.
const anySession = "{session}"

// Paged is a Running with a page that a person uses while the harness is connected in another way.
type Paged interface {
	// PageURL returns the URL of the page for a relay session: Reach.Page below the BaseURL, with its placeholders
	// replaced. *NotDeclaredError: there is no such page.
	PageURL(relaySession string) (string, error)
}

var _ Paged = (*Instance)(nil)

// PageURL implements Paged. The relay session is percent-encoded, for a path as well as for a query.
func (in *Instance) PageURL(relaySession string) (string, error) {
	reach := in.profile.Reach()
	if reach.Page == "" {
		return "", &NotDeclaredError{"page"}
	}
	session := strings.ReplaceAll(url.QueryEscape(relaySession), "+", "%20")
	page := strings.NewReplacer(anyPort, in.fill.port, anyPort2, in.fill.port2, anySession, session).Replace(reach.Page)
	if strings.HasPrefix(page, "/") {
		page = in.BaseURL() + page
	}
	return page, nil
}

// ParallelPages is how many scenarios run in parallel by default if each has a page, all in one browser: one more than
// there are processors, and at most 8. More would only slow each other down.
func ParallelPages() int { return min(runtime.GOMAXPROCS(0)+1, 8) }

// Program returns a program that the profile names: a path resolved against the profile's folder, or a name to find on
// the PATH, or "".
func (p *Profile) Program(name string) string {
	if filepath.Base(name) == name || name == "" || filepath.IsAbs(name) {
		return name
	}
	return filepath.Join(p.Dir, name)
}

// PageAddress checks the URL of a page that a target has beside its connections: a path below the base URL, or an http
// or https URL. It may contain {session}, {port} and, if there is a command, {port2}.
func (c *Checker) PageAddress(path, address string) error {
	const mend = `write a path below the url, like "/?session={session}", or a whole URL`
	for _, p := range Placeholders(address) {
		switch {
		case p == anySession || p == anyPort:
		case p == anyPort2 && c.Profile.Command != nil:
		case p == anyPort2:
			return c.Fail(path, anyPort2+" stands for a port of a command, but there is no command", "give the port")
		default:
			return c.Fail(path, p+" has no meaning here", "known here: {session}, {port}, {port2}")
		}
	}
	sample := strings.NewReplacer(anyPort, "1", anyPort2, "1", anySession, "s").Replace(address)
	u, err := url.Parse(sample)
	switch {
	case strings.TrimSpace(address) == "":
		return c.Fail(path, "no page", mend)
	case err != nil:
		return c.Fail(path, fmt.Sprintf("%q is not a URL", address), mend)
	case strings.HasPrefix(address, "/") && u.Host == "":
		if strings.HasPrefix(c.Profile.URL, "unix:") {
			return c.Fail(path, "a browser does not open pages of a unix socket", "give the whole http URL of the page")
		}
	case u.Scheme != "http" && u.Scheme != "https", u.Host == "":
		return c.Fail(path, fmt.Sprintf("%q is not the URL of a page", address), mend)
	}
	return nil
}

// byText is the prefix of a hook that is not a CSS selector.
const byText = "text="

// Hook checks a hook that finds an element of a page: a CSS selector or, if control is set, text= and the visible text
// of a control.
func (c *Checker) Hook(path, hook string, control bool) error {
	text, words := strings.CutPrefix(hook, byText)
	switch {
	case words && !control:
		return c.Fail(path, fmt.Sprintf("%q names a control, but this hook is not one", hook), "write a CSS selector")
	case words && strings.TrimSpace(text) == "":
		return c.Fail(path, "text= without a text", "write the visible text of the control, like text=Connect")
	case words:
		return nil
	}
	if wrong := selectorMistake(hook); wrong != "" {
		return c.Fail(path, fmt.Sprintf("%q is not a CSS selector: %s", hook, wrong), "")
	}
	return nil
}

// hostName matches a name or an address, with or without a port.
var hostName = regexp.MustCompile(`\A([A-Za-z0-9._-]+|\[[0-9A-Fa-f:.]+\])(?::([0-9]+))?\z`)

// Hosts checks a list of hosts, each a name or name:port.
func (c *Checker) Hosts(path string, list []string) error {
	n := len(c.found)
	for i, host := range list {
		at, m := c.Item(path, i), hostName.FindStringSubmatch(host)
		switch {
		case m == nil:
			c.Fail(at, fmt.Sprintf("%q is not a host", host), "write it like fonts.example.org, or example.org:8443")
		case m[2] != "" && !ValidPort(m[2]):
			c.Fail(at, fmt.Sprintf("%s is not a port", m[2]), "1 to 65535")
		case slices.Contains(list[:i], host):
			c.Fail(at, fmt.Sprintf("the host %q is given twice", host), "")
		}
	}
	return c.mistakeSince(n)
}

// selectorMistake describes an error in the brackets and quotes of a CSS selector; "" if there is none. The browser
// checks the rest.
func selectorMistake(s string) string {
	closing := map[rune]rune{'(': ')', '[': ']'}
	var open []rune // expected closing characters, the next one last
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
			return fmt.Sprintf("%c cannot stand in a selector", r)
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
