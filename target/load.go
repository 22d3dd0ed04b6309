package target

import (
	"crypto/sha256"
	"encoding/hex"
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

	"parley/internal/input"
	"parley/internal/unixurl"
)

// Load reads a profile from a file. Any mistake in it, or in reading it, is a *ProfileError.
func (ks Kinds) Load(path string) (*Profile, error) {
	b, err := input.Read(path, 16*maxProfile)
	if err != nil {
		return nil, &ProfileError{File: path, Msg: fmt.Sprintf("cannot be read: %v", Reason(err))}
	}
	abs, err := filepath.Abs(path)
	if err != nil {
		return nil, &ProfileError{File: path, Msg: fmt.Sprintf("its folder cannot be determined: %v", err)}
	}
	p, err := ks.ParseIn(b, path, filepath.Dir(abs), os.LookupEnv)
	if err != nil {
		return nil, err
	}
	sum := sha256.Sum256(b)
	p.Path, p.Digest = path, "sha256:"+hex.EncodeToString(sum[:])
	return p, nil
}

// Parse reads a profile strictly: an unknown key, a wrong type, a duplicate or an invalid value is a *ProfileError.
// Several are Mistakes. The name appears in errors, and names the target unless the profile does. Env looks up
// ${NAME}; nil means that no variable is set. Path and Dir are left empty, so relative paths refer to the working
// directory.
func (ks Kinds) Parse(b []byte, name string, env func(string) (string, bool)) (*Profile, error) {
	return ks.ParseIn(b, name, "", env)
}

// ForLauncher reads the profile of a target for which a program supplies its own Launcher: it says neither where the
// target is nor how to start it. Each text overrides the ones before; empty ones are ignored. Values have no ${NAME}.
// A mistake is a *ProfileError.
func (ks Kinds) ForLauncher(name string, texts ...string) (*Profile, error) {
	var p *Profile
	d := &Decoder{file: name}
	for _, text := range texts {
		if text == "" {
			continue
		}
		body, err := d.document([]byte(text))
		if err != nil {
			return nil, err
		}
		if p == nil {
			p, err = d.defaults(body, ks)
		}
		if err := Together(err, d.decode(body, reflect.ValueOf(p).Elem(), "")); err != nil {
			return nil, err
		}
	}
	if p == nil {
		return nil, d.Fail("", "the profile is empty", "")
	}
	c := &Checker{Decoder: d, Profile: p, kinds: ks}
	return p, c.run(c.protocol, c.hooks, c.model, c.tools, c.sections)
}

// ParseIn is Parse for a profile in a folder, an absolute path or "", to which its relative paths refer.
func (ks Kinds) ParseIn(b []byte, name, dir string, env func(string) (string, bool)) (*Profile, error) {
	if env == nil {
		env = func(string) (string, bool) { return "", false }
	}
	d := &Decoder{file: name}
	body, err := d.document(b)
	if err != nil {
		return nil, err
	}
	p, err := d.defaults(body, ks)
	err = Together(err, d.decode(body, reflect.ValueOf(p).Elem(), ""))
	err = Together(err, d.expand(p, env))
	p.Dir = dir
	c := &Checker{Decoder: d, Profile: p, kinds: ks}
	c.known, _ = mistakesIn(err)
	if err := Together(err, c.check()); err != nil {
		return nil, err
	}
	if p.Name == "" {
		base := filepath.Base(name)
		p.Name = strings.TrimSuffix(base, filepath.Ext(base))
	}
	return p, nil
}

// defaults returns the profile that a document starts from: that of the protocol it names. It rejects sections of
// other protocols and leaves other mistakes to decode and check.
func (d *Decoder) defaults(body ast.Node, ks Kinds) (*Profile, error) {
	d.skip = map[string]bool{}
	members, _ := d.Members(body, "") // decode reports its errors
	protocol, known := ks[0].Protocol, true
	var errs []error
	for _, m := range members {
		if m.Key != "protocol" {
			continue
		}
		text, err := d.Text(m.Value, "")
		if err != nil {
			known = false
			break
		}
		if _, known = ks.Find(text); known {
			protocol = text
			break
		}
		errs = append(errs, d.failAt(d.placeAt(m.Value), "protocol", fmt.Sprintf("unknown protocol %q", text),
			suggest(text, ks.Protocols())))
	}
	kind, _ := ks.Find(protocol)
	p := kind.New()
	for _, m := range members {
		_, own := p.section(m.Key)
		owner := ks.ownerOf(m.Key)
		if owner == "" || own && known {
			continue
		}
		d.skip[m.Key] = true
		if known {
			errs = append(errs, d.failAt(m.at, m.Key, "the protocol of this profile is "+protocol,
				fmt.Sprintf("delete this section, or write protocol: %s", owner)))
		}
	}
	return p, Together(errs...)
}

// expand replaces the environment variables in all values that may have them, and keeps their contents as secrets.
func (d *Decoder) expand(p *Profile, env func(string) (string, bool)) error {
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
	var errs []error
	for _, v := range all {
		for _, key := range slices.Sorted(maps.Keys(v.m)) {
			path := Within(v.path, key)
			value, secrets, err := expandEnv(v.m[key], env)
			if err != nil {
				errs = append(errs, d.Fail(path, err.Error(), "set it, or write $${ for a literal ${"))
			}
			v.m[key] = value
			p.Secrets = append(p.Secrets, secrets...)
		}
	}
	return Together(errs...)
}

// parseURL is url.Parse.
func parseURL(s string) (*url.URL, error) { return url.Parse(s) }

// hostOf returns the host of a valid URL, or the file of a unix socket.
func hostOf(s string) string {
	if unixurl.Is(s) {
		return socketName(s)
	}
	u, err := url.Parse(s)
	if err != nil {
		return ""
	}
	return u.Host
}

// Reason returns what went wrong with a file, without the path, which the caller names anyway.
func Reason(err error) error {
	var at *fs.PathError
	if errors.As(err, &at) {
		return at.Err
	}
	return err
}
