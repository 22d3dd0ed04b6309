package transcript

import (
	"encoding/base64"
	"net/url"
	"regexp"
	"strings"
)

var (
	// the part of a URL before its host that has a name and a password
	userInfo = regexp.MustCompile(`(://)([^\s/?#"'<>]+)@`)
	// a parameter of a query, of a fragment or of a form
	parameter = regexp.MustCompile(`([?&;#])([^=&;?#\s"'<>]+)=([^&;#\s"'<>]+)`)
)

// MaskURLs returns a text in which each URL and request target has no credentials: a user and password before the
// host, and the values of parameters whose names say that they are secret, are replaced by Blank.
func MaskURLs(text string) string {
	if !strings.ContainsAny(text, "?&#@") {
		return text
	}
	text = userInfo.ReplaceAllString(text, "${1}"+Blank+"@")
	return parameter.ReplaceAllStringFunc(text, func(found string) string {
		if name, _, _ := strings.Cut(found[1:], "="); SecretName(unescaped(name)) {
			return found[:1] + name + "=" + Blank
		}
		return found
	})
}

// URLSecrets returns the credentials in the URLs and request targets of a text, as they are written and without the
// escapes of a URL; those of a user also as a browser sends them.
func URLSecrets(text string) (out []string) {
	if !strings.ContainsAny(text, "?&#@") {
		return nil
	}
	add := func(value string) { out = append(out, value, unescaped(value)) }
	for _, found := range userInfo.FindAllStringSubmatch(text, -1) {
		name, password, _ := strings.Cut(found[2], ":")
		if password == "" {
			add(name) // a token in place of a user
			continue
		}
		add(password)
		pair := url.UserPassword(unescaped(name), unescaped(password))
		plain, _ := pair.Password()
		out = append(out, base64.StdEncoding.EncodeToString([]byte(pair.Username()+":"+plain)))
	}
	for _, value := range SecretParameters(text) {
		add(value)
	}
	return out
}

// SecretParameters returns the parameters in the URLs and request targets of a text that hold a secret, by their names,
// as they are written.
func SecretParameters(text string) map[string]string {
	out := map[string]string{}
	for _, found := range parameter.FindAllStringSubmatch(text, -1) {
		if SecretName(unescaped(found[2])) && !strings.Contains(found[3], Blank) {
			out[found[2]] = found[3]
		}
	}
	return out
}

// SecretName reports whether a parameter of a URL holds a secret, by its name.
func SecretName(name string) bool {
	name = strings.ToLower(name)
	for _, part := range []string{"token", "secret", "password", "passwd", "apikey", "api_key", "api-key", "signature",
		"credential"} {
		if strings.Contains(name, part) {
			return true
		}
	}
	return name == "key" || name == "auth" || name == "sig" || name == "pwd" || name == "jwt"
}

// unescaped returns a value of a URL without its escapes.
func unescaped(v string) string {
	if out, err := url.QueryUnescape(v); err == nil {
		return out
	}
	return v
}
