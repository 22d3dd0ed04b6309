package cli

import "testing"

// TestMistakenFlags: a value that a flag does not take gets one line that names the flag and the mend.
func TestMistakenFlags(t *testing.T) {
	t.Parallel()
	for _, one := range []struct {
		args []string
		says string
	}{
		{[]string{"run", "--explore", "x"}, `parley: --explore: "x" is not a whole number (see parley run --help)`},
		{[]string{"run", "--deadline", "5"}, "parley: --deadline: 5 has no unit (write it like 5s or 5m)"},
		{[]string{"run", "--deadline", "five"}, `parley: --deadline: "five" is not a duration, such as 90s, 10m or 2h`},
		{[]string{"serve", "--port", "3"}, `parley: unknown flag --port (did you mean "--listen"?)`},
		{[]string{"simulate", "--role", "host"}, `parley: unknown flag --role (did you mean "--as"?)`},
		{[]string{"run", "errors_test.go"}, "parley: errors_test.go is a program, and a target is a URL or a profile"},
		{[]string{"init", "--protocol", "external-agent", "--", "true"},
			"parley: init: whose command is after --? (give --pro"},
		{[]string{"simulate", "--as", "nobody"}, `parley: simulate: agent-select has no party "nobody" to play (there are: `},
		{[]string{"serve", "foo"}, `parley: serve: unknown protocol "foo" (known: agent-`},
	} {
		refused(t, one.args, one.says)
	}
}
