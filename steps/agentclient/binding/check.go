package binding

import (
	"cmp"
	"fmt"
	"net/url"
	"reflect"
	"regexp"
	"slices"
	"strings"

	"parley/target"
)

// checker checks the agent-client section of a profile.
type checker struct {
	*target.Checker
	b *Binding
}

func check(c *target.Checker) error {
	own := checker{c, Of(c.Profile)}
	own.wholePage()
	return own.binding()
}

func (c checker) binding() error {
	a := c.b
	if a.File && a.Folder == "" {
		return c.Fail("agent-client.file", "there is no folder to open the page in",
			"give agent-client.folder, or delete the line")
	}
	return cmp.Or(
		c.page(),
		c.language(),
		c.allow(),
		c.pageHooks(),
		c.pageServer(),
	)
}

// wholePage sets the page if the URL is all of it.
func (c checker) wholePage() {
	u, err := url.Parse(target.SampleURL(c.Profile.URL))
	if err == nil && u.Path != "" && !strings.HasSuffix(u.Path, "/") && !c.Given("agent-client.page") {
		c.b.Page = ""
	}
}

func (c checker) page() error {
	const path, mend = "agent-client.page", "write it like /index.html?x=1"
	a := c.b
	if a.Page == "" && a.Folder == "" {
		return nil
	}
	u, err := url.Parse(a.Page)
	switch {
	case a.Page == "":
		return c.Fail(path, "is empty", "delete the line for the default")
	case a.Page[0] != '/':
		return c.Fail(path, fmt.Sprintf("%q does not start with a slash", a.Page), mend)
	case err != nil || strings.HasPrefix(a.Page, "//"):
		return c.Fail(path, fmt.Sprintf("%q is not a path", a.Page), mend)
	case slices.Contains(strings.Split(u.Path, "/"), ".."):
		return c.Fail(path, fmt.Sprintf("%q leads upwards", a.Page), "a path below the folder or the url, without ..")
	case a.Server.Parameter != "" && u.Query().Has(a.Server.Parameter):
		return c.Fail(path, fmt.Sprintf("%q has the parameter %s already", a.Page, a.Server.Parameter),
			"take it out: agent-client.server declares it")
	}
	return nil
}

// languageTag approximates the Language-Tag of RFC 5646.
var languageTag = regexp.MustCompile(`\A[A-Za-z]{2,8}(-[A-Za-z0-9]{1,8})*\z`)

func (c checker) language() error {
	if l := c.b.Language; !languageTag.MatchString(l) {
		return c.Fail("agent-client.language", fmt.Sprintf("%q is not a language tag", l), "write it like zh-CN")
	}
	return nil
}

func (c checker) allow() error {
	_ = c.Hosts("agent-client.allow", c.b.Allow)
	return nil
}

// pageServer checks that the page gets its server's address.
func (c checker) pageServer() error {
	const value = "agent-client.server.value"
	a := c.b
	if a.Server.Parameter == "" && a.Hooks.ServerURL == "" {
		c.Fail("agent-client.hooks.server-url", "is empty, so the page cannot learn its server's address",
			"name the field, or give agent-client.server.parameter")
	}
	for _, p := range target.Placeholders(a.Server.Value) {
		if p != anyServer {
			c.Fail(value, p+" has no meaning here", "known here: "+anyServer)
		}
	}
	if !strings.Contains(a.Server.Value, anyServer) {
		c.Fail(value, "it does not contain the server's address", "write {url} where its base URL belongs")
	}
	return nil
}

func (c checker) pageHooks() error {
	v := reflect.ValueOf(c.b.Hooks)
	for i := range v.NumField() {
		tag, hook := v.Type().Field(i).Tag, v.Field(i).String()
		key := tag.Get("yaml")
		at := target.Within("agent-client.hooks", key)
		switch {
		case hook == "" && key == "sessions" && c.Profile.Has(SessionList):
			c.Fail(at, "is empty, but the page has session-list", "name the list, or delete the capability")
		case hook == "" && tag.Get("empty") != "":
		case strings.TrimSpace(hook) == "":
			c.Fail(at, "is empty", "delete the line for the default")
		default:
			_ = c.Hook(at, hook, tag.Get("is") != "css")
		}
	}
	return nil
}
