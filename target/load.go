package target

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"net/url"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"

	"github.com/goccy/go-yaml/ast"

	"parley/protocol/agentclient"
	"parley/protocol/agentselect"
	"parley/protocol/externalagent"
	"parley/protocol/sessionchat"
	"parley/protocol/sessionruntime"
)

// Load reads a profile from a file. Every mistake in it, or in reading it, is a *ProfileError.
func Load(path string) (*Profile, error) {
	b, err := os.ReadFile(path)
	if err != nil {
		return nil, &ProfileError{File: path, Msg: fmt.Sprintf("cannot be read: %v", reason(err))}
	}
	abs, err := filepath.Abs(path)
	if err != nil {
		return nil, &ProfileError{File: path, Msg: fmt.Sprintf("its folder cannot be told: %v", err)}
	}
	p, err := parseIn(b, path, filepath.Dir(abs), os.LookupEnv)
	if err != nil {
		return nil, err
	}
	p.Path = path
	return p, nil
}

// Parse reads a profile strictly: an unknown key, a wrong type, a duplicate or a value that cannot work is a *ProfileError,
// of which it gives the first. The name stands in errors, and names the target unless the profile does. Env looks up ${NAME};
// nil means no variable is set. Path and Dir are left empty, which makes relative paths those of the working directory.
func Parse(b []byte, name string, env func(string) (string, bool)) (*Profile, error) {
	return parseIn(b, name, "", env)
}

// parseIn is Parse, for a profile in a folder; "" is the working directory.
func parseIn(b []byte, name, dir string, env func(string) (string, bool)) (*Profile, error) {
	if env == nil {
		env = func(string) (string, bool) { return "", false }
	}
	d := &decoder{file: name}
	body, err := d.document(b)
	if err != nil {
		return nil, err
	}
	p, err := d.defaults(body)
	if err != nil {
		return nil, err
	}
	if err := d.decode(body, reflect.ValueOf(p).Elem(), ""); err != nil {
		return nil, err
	}
	if err := d.expand(p, env); err != nil {
		return nil, err
	}
	p.Dir = dir
	if err := (&checker{d, p}).check(); err != nil {
		return nil, err
	}
	if p.Name == "" {
		base := filepath.Base(name)
		p.Name = strings.TrimSuffix(base, filepath.Ext(base))
	}
	return p, nil
}

// defaults is the profile that a document starts from: that of the protocol which it names. The wire of another is a
// mistake. What is wrong beyond that is for decode and check to say.
func (d *decoder) defaults(body ast.Node) (*Profile, error) {
	members, err := d.members(body, "")
	if err != nil {
		return Default(), nil
	}
	protocol := agentselect.Protocol
	for _, m := range members {
		if m.key == "protocol" {
			protocol, _ = d.text(m.value, "")
		}
	}
	for _, m := range members {
		_, section := vocabulary[m.key]
		if _, known := vocabulary[protocol]; section && known && !slices.Contains(sections(protocol), m.key) {
			return nil, d.failAt(m.at, m.key, "the protocol of this profile is "+protocol,
				fmt.Sprintf("delete this section, or write protocol: %s", m.key))
		}
	}
	return DefaultFor(protocol), nil
}

// sections are the wires of a protocol: its own, and for a page that of its server.
func sections(protocol string) []string {
	if protocol == agentclient.Protocol {
		return []string{protocol, agentselect.Protocol}
	}
	return []string{protocol}
}

// ForURL is ForURLOf agent-select.
func ForURL(base string) (*Profile, error) { return ForURLOf(agentselect.Protocol, base) }

// ForURLOf is the profile of a running target that follows the default binding of a protocol, at an http or https URL.
// A path is kept as the base of every endpoint. For all but agent-select it may be a ws or wss URL too, which is that of the
// WebSocket itself unless it has no path; for agent-client it is that of the page, with its path, query and fragment. The
// role is the default one. A protocol or a URL that cannot be one is a *ProfileError.
func ForURLOf(protocol, base string) (*Profile, error) {
	p := DefaultFor(protocol)
	p.URL = base
	switch protocol {
	case sessionchat.Protocol:
		p.splitSocket(&p.SessionChat.WS)
	case externalagent.Protocol:
		p.splitSocket(&p.ExternalAgent.WS)
	case sessionruntime.Protocol:
		p.splitSocket(&p.SessionRuntime.WS)
	case agentclient.Protocol:
		p.splitPage()
	}
	d := &decoder{at: map[string]place{"": {}}}
	if err := (&checker{d, p}).check(); err != nil {
		return nil, err
	}
	u, _ := url.Parse(p.URL)
	p.Name = u.Host
	return p, nil
}

// splitSocket makes the http base URL and the path of the WebSocket out of a ws URL.
func (p *Profile) splitSocket(ws *WSWire) {
	u, err := url.Parse(p.URL)
	if err != nil || u.Scheme != "ws" && u.Scheme != "wss" {
		return
	}
	if path := u.EscapedPath(); strings.Trim(path, "/") != "" {
		ws.Path = path
	}
	u.Scheme = strings.Replace(u.Scheme, "ws", "http", 1)
	u.Path, u.RawPath = "", ""
	p.URL = u.String()
}

// expand replaces the environment variables in all values that may have them, and keeps what they held as secrets.
func (d *decoder) expand(p *Profile, env func(string) (string, bool)) error {
	type values struct {
		path string
		m    map[string]string
	}
	all := []values{{"headers", p.Headers}}
	if p.Command != nil {
		all = append(all, values{"command.env", p.Command.Env})
	}
	if p.Model != nil {
		all = append(all, values{"model.env", p.Model.Env})
	}
	for _, v := range all {
		for _, key := range slices.Sorted(maps.Keys(v.m)) {
			path := within(v.path, key)
			value, secrets, err := expandEnv(v.m[key], env)
			if err != nil {
				return d.fail(path, err.Error(), "set it, or write $${ for a ${ that is meant as it is")
			}
			v.m[key] = value
			p.Secrets = append(p.Secrets, secrets...)
		}
	}
	return nil
}

// reason is what went wrong with a file, without the path that the caller names anyway.
func reason(err error) error {
	var at *fs.PathError
	if errors.As(err, &at) {
		return at.Err
	}
	return err
}
