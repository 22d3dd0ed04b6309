package cli

import (
	"crypto/tls"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/spf13/pflag"

	"parley/internal/freeport"
	"parley/steps/probe"
	"parley/target"
)

// listenError is why a command cannot listen at the address of a flag, or run what is behind --. It is a
// target.StartError in another wording: there is no target that could be at fault.
type listenError struct {
	text string
	err  error
}

func (e *listenError) Error() string   { return e.text }
func (e *listenError) Unwrap() []error { return []error{&target.StartError{Reason: e.text}, e.err} }

// listenAt listens at the address of a flag.
func listenAt(flag, addr string) (net.Listener, error) {
	l, err := net.Listen("tcp", addr)
	if err != nil {
		return nil, describeListenError(flag, addr, err)
	}
	return l, nil
}

// describeListenError says in one sentence why nobody can listen at the address of a flag, and what to do. A mistake in
// the address is wrong usage.
func describeListenError(flag, addr string, err error) error {
	why, mend, misuse := freeport.WhyNot(addr, err)
	if misuse {
		return usagef("%s %s (%s)", flag, why, mend)
	}
	return &listenError{fmt.Sprintf("%s: %s (%s)", flag, why, mend), err}
}

// describeStartError says in one sentence why the command after -- does not start; nil if that is not what err is
// about.
func describeStartError(command string, err error) error {
	var path *os.PathError
	var found *exec.Error
	switch {
	case errors.As(err, &path):
		err = path.Err
	case errors.As(err, &found):
		err = found.Err
	case !errors.Is(err, fs.ErrNotExist) && !errors.Is(err, fs.ErrPermission):
		return nil
	}
	return &listenError{fmt.Sprintf("%q after -- cannot be started: %v (name a program on the PATH, or give its path)",
		command, err), err}
}

// linkOptions are the flags about the connections to a target.
type linkOptions struct {
	headers       []string
	insecure      bool
	ca, cert, key string
}

// declareFlags defines the flags.
func (l *linkOptions) declareFlags(f *pflag.FlagSet) {
	f.StringArrayVarP(&l.headers, "header", "H", nil,
		"send the header `NAME:VALUE` with every request to the target; may be repeated; @env:VAR in the value is the "+
			"environment variable VAR, a secret")
	f.StringVar(&l.ca, "ca", "", "PEM `FILE` of the authority that signed the target's certificate")
	f.BoolVar(&l.insecure, "insecure", false, "do not check the certificate of the target; such a run never certifies")
	f.StringVar(&l.cert, "client-cert", "", "PEM `FILE` of the certificate to present to the target as its client")
	f.StringVar(&l.key, "client-key", "", "PEM `FILE` of the key of --client-cert")
}

// givenFlags returns the flags as given, without secrets.
func (l linkOptions) givenFlags() []string {
	var out []string
	for _, text := range l.headers {
		name, value, _ := strings.Cut(text, ":")
		if carriesSecret(name) && !fromEnv.MatchString(value) {
			text = name + ": …"
		}
		out = append(out, "-H", shellWord(text))
	}
	if l.insecure {
		out = append(out, "--insecure")
	}
	for _, f := range []struct{ name, value string }{{"--ca", l.ca}, {"--client-cert", l.cert}, {"--client-key", l.key}} {
		if f.value != "" {
			out = append(out, f.name, shellWord(f.value))
		}
	}
	return out
}

// firstGiven names the first of the flags that is given; "" if none is.
func (l linkOptions) firstGiven() string {
	switch {
	case len(l.headers) > 0:
		return "--header"
	case l.insecure:
		return "--insecure"
	case l.ca != "":
		return "--ca"
	case l.cert != "":
		return linkFlag("cert")
	case l.key != "":
		return linkFlag("key")
	}
	return ""
}

// linkFlag returns the flag for a key of the profile's section tls.
func linkFlag(key string) string {
	if key == "cert" || key == "key" {
		return "--client-" + key
	}
	return "--" + key
}

// applyTo puts what the flags say into a profile.
func (l linkOptions) applyTo(p *target.Profile) error {
	flag := l.firstGiven()
	if flag == "" {
		return nil
	}
	if why := p.Undialled(); why != "" {
		return usagef("%s: %s (leave it out)", flag, strings.ReplaceAll(why, "%", "%%"))
	}
	for _, text := range l.headers {
		if err := addHeader(p, text); err != nil {
			return err
		}
	}
	if l.tlsFlag() == "" {
		return nil
	}
	return l.nameFlag(p.UseTLS(l.tlsSection()))
}

// tlsSection returns the flags as the section of a profile.
func (l linkOptions) tlsSection() target.TLS {
	return target.TLS{CA: l.ca, Cert: l.cert, Key: l.key, Insecure: l.insecure}
}

// tlsConfig returns what the flags about TLS say; nil if none is given.
func (l linkOptions) tlsConfig() (*tls.Config, error) {
	if l.tlsFlag() == "" {
		return nil, nil
	}
	conf, err := l.tlsSection().Config("")
	return conf, l.nameFlag(err)
}

// nameFlag names the flag in an error about TLS.
func (l linkOptions) nameFlag(err error) error {
	var wrong *target.TLSError
	if !errors.As(err, &wrong) {
		return err
	}
	flag := l.tlsFlag()
	if wrong.Key != "" {
		flag = linkFlag(wrong.Key)
	}
	msg := strings.ReplaceAll(wrong.Msg, " with insecure", " with --insecure")
	for _, path := range []string{l.ca, l.cert, l.key} { // as they were given
		if abs, err := filepath.Abs(path); err == nil && path != "" {
			msg = strings.ReplaceAll(msg, abs, path)
		}
	}
	mend := mendOf.ReplaceAllStringFunc(wrong.Mend, func(m string) string { return "by " + linkFlag(m[3:]) })
	return usagef("%s", (&target.TLSError{Key: flag, Msg: msg, Mend: mend}).Error())
}

// mendOf finds keys of a profile in the mend of an error.
var mendOf = regexp.MustCompile(`\bby (key|cert)\b`)

// tlsFlag names the first flag about TLS that is given.
func (l linkOptions) tlsFlag() string {
	l.headers = nil
	return l.firstGiven()
}

// applyAll puts what the flags say into the profiles of subjects, which must not be bundled.
func (l linkOptions) applyAll(subjects []*subject) error {
	for _, s := range subjects {
		if flag := l.firstGiven(); flag != "" && s.bundled {
			return usagef("%s: the bundled targets take connections as they are (name yours by --target)", flag)
		}
		if err := l.applyTo(s.profile); err != nil {
			return err
		}
	}
	return nil
}

// fromEnv finds environment variables in the value of a header.
var fromEnv = regexp.MustCompile(`@env:([A-Za-z_][A-Za-z0-9_]*)`)

// addHeader adds NAME:VALUE to a profile, and what is secret of it to the profile's secrets.
func addHeader(p *target.Profile, text string) error {
	name, value, ok := strings.Cut(text, ":")
	if name = strings.TrimSpace(name); !ok || name == "" {
		return usagef("--header: a header is missing its name or its value (write it like " +
			"-H 'Authorization: Bearer @env:TOKEN')")
	}
	value = strings.TrimSpace(value)
	var secrets []string
	var unset string
	whole := fromEnv.ReplaceAllStringFunc(value, func(m string) string {
		v, ok := os.LookupEnv(m[len("@env:"):])
		if !ok || v == "" {
			unset = m[len("@env:"):]
		}
		secrets = append(secrets, v)
		return v
	})
	switch {
	case unset != "":
		return usagef("--header %s: the environment variable %s is not set (set it)", name, unset)
	case strings.Contains(value, "@env:") && len(secrets) == 0:
		return usagef("--header %s: after @env: comes no name of an environment variable (write it like @env:TOKEN)", name)
	case carriesSecret(name) && len(secrets) == 0:
		secrets = append(secrets, value)
		if _, credentials, ok := strings.Cut(value, " "); ok {
			secrets = append(secrets, strings.TrimSpace(credentials))
		}
	}
	if err := p.SetHeader(name, whole); err != nil {
		return usagef("%s", "--header: "+err.Error())
	}
	p.Secrets = append(slices.Clip(p.Secrets), secrets...)
	return nil
}

// carriesSecret reports whether the value of a header is a credential, by its name.
func carriesSecret(name string) bool {
	name = http.CanonicalHeaderKey(strings.TrimSpace(name))
	return slices.Contains([]string{"Authorization", "Proxy-Authorization", "Cookie"}, name) ||
		slices.ContainsFunc([]string{"Key", "Token", "Secret", "Password"},
			func(end string) bool { return strings.HasSuffix(name, end) })
}

// profileLines returns the flags as lines of the profile that is written to a file. Secrets become environment
// variables.
func (l linkOptions) profileLines(file string) []string {
	var out []string
	if len(l.headers) > 0 {
		out = append(out, "headers:")
	}
	for _, text := range l.headers {
		name, value, _ := strings.Cut(text, ":")
		name, value = strings.TrimSpace(name), strings.TrimSpace(value)
		made := strings.ReplaceAll(value, "${", "$${")
		if fromEnv.MatchString(value) {
			made = fromEnv.ReplaceAllString(made, "$${$1}")
		} else if carriesSecret(name) {
			variable := strings.ToUpper(strings.ReplaceAll(name, "-", "_"))
			out = append(out, "  # what was given is not written here: set it as "+variable)
			made = "${" + variable + "}"
		}
		out = append(out, "  "+name+": "+probe.Quote(made))
	}
	var tls []string
	for _, f := range []struct{ key, path string }{{"ca", l.ca}, {"cert", l.cert}, {"key", l.key}} {
		if f.path == "" {
			continue
		}
		if abs, err := filepath.Abs(f.path); err == nil && filepath.Dir(file) != "." {
			f.path = abs
		}
		tls = append(tls, "  "+f.key+": "+probe.Quote(f.path))
	}
	if l.insecure {
		tls = append(tls, "  insecure: true")
	}
	if len(tls) > 0 {
		out = append(append(out, "tls:"), tls...)
	}
	return out
}
