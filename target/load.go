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
	"parley/transport/transcript"
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
		body, err := d.parseDocument([]byte(text))
		if err != nil {
			return nil, err
		}
		if p == nil {
			p, err = d.defaultProfile(body, ks)
		}
		if err := Together(err, d.decode(body, reflect.ValueOf(p).Elem(), "")); err != nil {
			return nil, err
		}
	}
	if p == nil {
		return nil, d.Fail("", "the profile is empty", "")
	}
	c := &Checker{Decoder: d, Profile: p, kinds: ks}
	return p, c.runChecks(c.checkProtocol, c.checkHooks, c.checkModel, c.checkTools, c.checkSections)
}

// ParseIn is Parse for a profile in a folder, an absolute path or "", to which its relative paths refer.
func (ks Kinds) ParseIn(b []byte, name, dir string, env func(string) (string, bool)) (*Profile, error) {
	if env == nil {
		env = func(string) (string, bool) { return "", false }
	}
	d := &Decoder{file: name}
	body, err := d.parseDocument(b)
	if err != nil {
		return nil, err
	}
	p, err := d.defaultProfile(body, ks)
	err = Together(err, d.decode(body, reflect.ValueOf(p).Elem(), ""))
	err = Together(err, d.expandVariables(p, env))
	p.Dir = dir
	c := &Checker{Decoder: d, Profile: p, kinds: ks}
	c.known, _ = mistakesIn(err)
	if err := Together(err, c.findMistakes()); err != nil {
		return nil, err
	}
	if p.Name == "" {
		base := filepath.Base(name)
		p.Name = strings.TrimSuffix(base, filepath.Ext(base))
	}
	return p, nil
}

// defaultProfile returns the profile that a document starts from: that of the protocol it names. It rejects sections of
// other protocols and leaves other mistakes to decode and check.
func (d *Decoder) defaultProfile(body ast.Node, ks Kinds) (*Profile, error) {
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
			suggestProtocol(text, ks.Protocols())))
	}
	kind, _ := ks.Find(protocol)
	p := kind.New()
	for _, m := range members {
		_, own := p.sectionOf(m.Key)
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

// expandVariables replaces the environment variables in all values that may have them, and keeps their contents as
// secrets, and the credentials that addresses and paths have as they are written.
func (d *Decoder) expandVariables(p *Profile, env func(string) (string, bool)) error {
	var errs []error
	expanded := func(path, text string) string {
		value, secrets, err := expandEnv(text, env)
		if err != nil {
			errs = append(errs, d.Fail(path, err.Error(), "set it, or write $${ for a literal ${"))
		}
		p.Secrets = append(p.Secrets, secrets...)
		return value
	}
	each := func(path string, m map[string]string) {
		for _, key := range slices.Sorted(maps.Keys(m)) {
			m[key] = expanded(Within(path, key), m[key])
		}
	}
	each("headers", p.Headers)
	place := func(path string, text *string) {
		*text = expanded(path, *text)
		for _, secret := range transcript.URLSecrets(*text) {
			if !strings.Contains(secret, "{") { // a placeholder
				p.Secrets = append(p.Secrets, secret)
			}
		}
		for name, value := range transcript.SecretParameters(*text) {
			if p.Parameters == nil {
				p.Parameters = map[string]string{}
			}
			p.Parameters[name] = value
		}
	}
	place("url", &p.URL)
	if p.TLS != nil {
		place("tls.ca", &p.TLS.CA)
		place("tls.cert", &p.TLS.Cert)
		place("tls.key", &p.TLS.Key)
	}
	if p.Command != nil {
		each("command.env", p.Command.Env)
		place("command.ready.path", &p.Command.Ready.Path)
	}
	if p.Model != nil {
		each("model.env", p.Model.Env)
	}
	for _, s := range p.Sections {
		eachPlace(reflect.ValueOf(s.Value).Elem(), s.Key, place)
	}
	return Together(errs...)
}

// eachPlace calls do with the addresses and paths of a section: texts that are a URL, or begin with a slash or with a
// variable. JSON Pointers are none.
func eachPlace(v reflect.Value, path string, do func(path string, text *string)) {
	switch v.Kind() {
	case reflect.Pointer:
		if !v.IsNil() {
			eachPlace(v.Elem(), path, do)
		}
	case reflect.Struct:
		for i := range v.NumField() {
			f := v.Type().Field(i)
			at := path // a field without a key is the value of the whole
			if key := f.Tag.Get("yaml"); key != "" {
				at = Within(path, key)
			}
			if f.IsExported() {
				eachPlace(v.Field(i), at, do)
			}
		}
	case reflect.String:
		text, is := v.Addr().Interface().(*string)
		if is && (strings.HasPrefix(*text, "/") || strings.HasPrefix(*text, "${") || strings.Contains(*text, "://")) {
			do(path, text)
		}
	}
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
