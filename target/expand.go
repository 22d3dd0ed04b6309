package target

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
)

var (
	variable     = regexp.MustCompile(`\$?\$\{[^}]*\}?`)
	variableName = regexp.MustCompile(`\A\$\{[A-Za-z_][A-Za-z0-9_]*\}\z`)
)

// expandEnv replaces ${NAME} by environment variables; $${ stands for a literal ${. It also returns the values that
// it inserted.
func expandEnv(s string, env func(string) (string, bool)) (out string, values []string, err error) {
	out = variable.ReplaceAllStringFunc(s, func(m string) string {
		switch {
		case strings.HasPrefix(m, "$$"):
			return m[1:]
		case !variableName.MatchString(m):
			err = fmt.Errorf("%q is not the name of an environment variable", m)
			return m
		}
		value, ok := env(m[2 : len(m)-1])
		if !ok && err == nil {
			err = fmt.Errorf("the environment variable %s is not set", m[2:len(m)-1])
		}
		if value != "" {
			values = append(values, value)
		}
		return value
	})
	return out, values, err
}

// filling holds the values of the placeholders for one process.
type filling struct {
	port, url, dir, profile, model string
	port2                          string
	session                        string // "": none, and {session} stays as it is
	driver                         string // how the process is reached; "" if the protocol has only one way
}

// fill replaces the placeholders in s. It does not expand the inserted text.
func (f filling) fill(s string) string {
	pairs := []string{
		anyPort, f.port, anyPort2, f.port2, "{url}", f.url, "{dir}", f.dir, "{profile}", f.profile, "{model}", f.model,
	}
	if f.session != "" {
		pairs = append(pairs, anySession, f.session)
	}
	return strings.NewReplacer(pairs...).Replace(s)
}

// env returns the environment variables for processes and hooks.
func (f filling) env() []string {
	env := []string{
		"PARLEY_PORT=" + f.port, "PARLEY_PORT2=" + f.port2, "PARLEY_URL=" + f.url, "PARLEY_DIR=" + f.dir,
		"PARLEY_PROFILE_DIR=" + f.profile, "PARLEY_MODEL_URL=" + f.model,
	}
	if f.session != "" {
		env = append(env, "PARLEY_SESSION="+f.session)
	}
	if f.driver != "" {
		env = append(env, "PARLEY_DRIVER="+f.driver)
	}
	return env
}

// mentions reports whether the process can see the placeholder anywhere.
func (c *Command) mentions(placeholder string) bool {
	if c == nil {
		return false
	}
	has := func(s string) bool { return strings.Contains(s, placeholder) }
	return slices.ContainsFunc(c.Run, has) || slices.ContainsFunc(slices.Collect(maps.Values(c.Env)), has)
}
