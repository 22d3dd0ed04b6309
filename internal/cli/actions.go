package cli

import (
	"io"
	"os"
	"regexp"
	"slices"
)

// inert writes texts to the log of a job of GitHub Actions so that no line of them is a workflow command, whatever a
// target has said: the runner obeys lines on stdout and stderr that begin with "::", behind spaces, and those that
// contain "##[". Every call of Write begins a line.
type inert struct{ w io.Writer }

var commandHead = regexp.MustCompile(`(?m)^([\s\p{Z}]*):(:)|##(\[)`)

// Write implements io.Writer. The first character of what would be a command becomes an escape.
func (i inert) Write(b []byte) (int, error) {
	safe := commandHead.ReplaceAllFunc(b, func(found []byte) []byte {
		if found[len(found)-1] == '[' {
			return []byte(`\x23#[`)
		}
		return append(slices.Clone(found[:len(found)-2]), `\x3a:`...)
	})
	if _, err := i.w.Write(safe); err != nil {
		return 0, err
	}
	return len(b), nil
}

// forPeople returns streams for texts that people read and that may quote a target. In a job of GitHub Actions, or if
// annotations are asked for, they are inert.
func (s *streams) forPeople(asked []string) *streams {
	if !slices.Contains(asked, githubFormat) && os.Getenv("GITHUB_ACTIONS") != "true" {
		return s
	}
	c := *s
	c.Out, c.Err = inert{s.Out}, inert{s.Err}
	return &c
}
