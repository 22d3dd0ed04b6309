package transcript

import (
	"encoding/json"
	"strings"
	"testing"
)

func TestRedactor(t *testing.T) {
	const b = Blank
	rows := []struct {
		reason   string
		secrets  []string
		in, want string
	}{
		{"nothing to hide", nil, "as it is", "as it is"},
		{"a secret anywhere", []string{"s3cret"}, "s3cret a s3cret,s3cret", b + " a " + b + "," + b},
		{"no secret in it", []string{"s3cret"}, "secret", "secret"},
		{"short values are left alone", []string{"abc", ""}, "abc", "abc"},
		{"four characters are enough", []string{"abcd"}, "abcde", b + "e"},
		{"one secret within another", []string{"pass", "password1"}, "password1 pass", b + " " + b},
		{"in any order", []string{"password1", "pass"}, "password1 pass", b + " " + b},
		{"overlapping secrets are redacted together", []string{"abcdef", "defghi"}, "-abcdefghi-", "-" + b + "-"},
		{"three in a chain", []string{"abcd", "cdef", "efgh"}, "-abcdefgh-", "-" + b + "-"},
		{"a secret that overlaps itself", []string{"aaaa"}, "-aaaaaaa-", "-" + b + "-"},
		{"adjacent secrets", []string{"abcd", "efgh"}, "abcdefgh", b + b},
		{"a secret that is part of the replacement", []string{"redacted", "s3cret"}, "s3cret redacted", b + " " + b},
		{"as written in JSON", []string{`a"b\c` + "\n"}, `{"k":"a\"b\\c\n"}`, `{"k":"` + b + `"}`},
		{"also where JSON escapes for HTML", []string{"a<b&c>"}, `a\u003cb\u0026c\u003e a<b&c>`, b + " " + b},
		{"a quote at its end", []string{`abc"`}, `"abc\""`, `"` + b + `"`},
		{"as written in a URL", []string{"a b/c+d"}, "?q=a+b%2Fc%2Bd /a%20b%2Fc+d", "?q=" + b + " /" + b},
		{"as written in HTML", []string{`a<b&"c">`}, `<p title="a&lt;b&amp;&quot;c&quot;&gt;">a&lt;b&amp;"c"&gt;</p>`,
			`<p title="` + b + `">` + b + `</p>`},
		{"as written on a line of a transcript", []string{"abc\x1bdef"}, escapeUnprintable("abc\x1bdef"), b},
		{"characters are not torn apart", []string{"主代理"}, "x主代理y", "x" + b + "y"},
	}
	for _, r := range rows {
		t.Run(r.reason, func(t *testing.T) {
			if got := NewRedactor(r.secrets...).String(r.in); got != r.want {
				t.Errorf("String(%q) = %q, want %q", r.in, got, r.want)
			}
			in := []byte(r.in)
			if got := NewRedactor(r.secrets...).Bytes(in); string(got) != r.want || string(in) != r.in {
				t.Errorf("Bytes(%q) = %q, want %q; its argument is %q now", r.in, got, r.want, in)
			}
		})
	}
	if got := (*Redactor)(nil).String("x") + string((*Redactor)(nil).Bytes([]byte("y"))) +
		(&Redactor{}).String("z"); got != "xyz" {
		t.Errorf("no Redactor, or the zero one, makes %q", got)
	}
}

func FuzzRedactor(f *testing.F) {
	f.Add("abcdef", "defghi", "xabcdefghix")
	f.Add("aaaa", "aaaaa", "aaaaaaaaa")
	f.Add("a\"b<", "\n\n\n\n", "{}")
	f.Fuzz(func(t *testing.T, one, two, text string) {
		r := NewRedactor(one, two)
		quoted, _ := json.Marshal(one)
		for _, in := range []string{text, one + text + two, text + one + one, string(quoted)} {
			out := r.String(in)
			left := strings.ReplaceAll(out, Blank, "\x00blank\x00")
			for _, secret := range []string{one, two} {
				if len(secret) >= 4 && !strings.Contains("\x00blank\x00", secret) && !strings.Contains(Blank, secret) &&
					strings.Contains(left, secret) && !strings.ContainsAny(secret, "\x00") {
					t.Errorf("%q is still in %q", secret, out)
				}
			}
			if !strings.Contains(out, Blank) && out != in {
				t.Errorf("nothing was blanked in %q, and it is %q", in, out)
			}
		}
	})
}
