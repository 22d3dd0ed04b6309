package transcript

import (
	"slices"
	"testing"
)

func TestMaskURLs(t *testing.T) {
	const b = Blank
	rows := []struct {
		in, want string
		secrets  []string
	}{
		{"GET /events", "GET /events", nil},
		{"GET /events?room=7", "GET /events?room=7", nil},
		{"http://host:80/a@b", "http://host:80/a@b", nil},
		{"http://user:pass%21@host/x", "http://" + b + "@host/x", []string{"pass%21", "pass!", "dXNlcjpwYXNzIQ=="}},
		{"http://user:p@ss@host", "http://" + b + "@host", []string{"p@ss", "dXNlcjpwQHNz"}},
		{"https://ghp_1234@host", "https://" + b + "@host", []string{"ghp_1234"}},
		{`"http://user:pass@host" is no URL`, `"http://` + b + `@host" is no URL`, []string{"pass", "dXNlcjpwYXNz"}},
		{"GET /ws?access_token=a%2Bb&room=7 (upgrade)", "GET /ws?access_token=" + b + "&room=7 (upgrade)",
			[]string{"a%2Bb", "a+b"}},
		{"/x?room=7&api_key=k1#top", "/x?room=7&api_key=" + b + "#top", []string{"k1"}},
		{"/cb#access%5Ftoken=k1", "/cb#access%5Ftoken=" + b, []string{"k1"}},
		{"/x?X-Amz-Signature=abc", "/x?X-Amz-Signature=" + b, []string{"abc"}},
		{"/x?monkey=abc&author=d", "/x?monkey=abc&author=d", nil},
		{"/x?token=" + b, "/x?token=" + b, nil},
		{"/x?token=", "/x?token=", nil},
	}
	for _, r := range rows {
		if got := MaskURLs(r.in); got != r.want {
			t.Errorf("MaskURLs(%q) = %q, want %q", r.in, got, r.want)
		}
		got := URLSecrets(r.in)
		slices.Sort(got)
		slices.Sort(r.secrets)
		if got = slices.Compact(got); !slices.Equal(got, r.secrets) {
			t.Errorf("URLSecrets(%q) = %q, want %q", r.in, got, r.secrets)
		}
	}
}
