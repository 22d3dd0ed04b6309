package cli

import (
	"context"
	"strings"

	"github.com/spf13/cobra"

	"parley/doctor"
	"parley/doctor/examination"
	"parley/verdict"
)

func doctorCommand(s *streams) *cobra.Command {
	var name, protocol, role string
	about, examples := doctorHelp()
	c := &cobra.Command{
		Use:   "doctor --target FILE|URL",
		Short: "Tell what of a profile works, before a run",
		Long: `Tell what of a profile works, before a run: the target is started or reached, over each of its drivers a client
gets as far as the suite needs it to, and everything else that the profile declares is tried once. There is a line for each:

  ok            it works
  not declared  the profile says nothing of it, and what is therefore not tested
  not checked   it depends on something that does not work, or that is not declared
  failed        what happened, and what to look at

` + about,
		Example: examples,
		Args:    noArgs,
		RunE:    func(c *cobra.Command, _ []string) error { return examine(c.Context(), name, protocol, role, s) },
	}
	c.Flags().StringVar(&name, "target", "", "profile `FILE|URL` of the target, or the folder of a page (required)")
	c.Flags().StringVar(&protocol, "protocol", "", "`PROTOCOL` of a URL (default "+suite.Kinds()[0].Protocol+")")
	c.Flags().StringVar(&role, "role", "",
		"`ROLE` of the target (default that of the profile; of a URL server, client or host)")
	return c
}

// doctorHelp is what the protocols add to the help of the command.
func doctorHelp() (about, examples string) {
	sentences := []string{"A target that can be restarted is restarted."}
	lines := []string{"  parley doctor --target my.yaml"}
	for _, p := range suite.All {
		guide, _ := doctor.Of(p)
		if guide.About != "" {
			sentences = append(sentences, guide.About)
		}
		for _, example := range guide.Examples {
			lines = append(lines, "  "+example)
		}
	}
	sentences = append(sentences, "Exit codes: 0 when all that is declared works, 1 when something does not, "+
		"3 when nothing of the protocol came from the target, 2 and 3 as always.")
	return wrapped(strings.Join(sentences, " "), 120), strings.Join(lines, "\n")
}

// wrapped breaks a text into lines of so many columns at most, between words.
func wrapped(text string, columns int) string {
	var out strings.Builder
	at := 0
	for _, word := range strings.Fields(text) {
		switch {
		case at == 0:
		case at+1+len(word) > columns:
			out.WriteByte('\n')
			at = 0
		default:
			out.WriteByte(' ')
			at++
		}
		out.WriteString(word)
		at += len(word)
	}
	return out.String()
}

// examine examines a target and says what would not be tested.
func examine(ctx context.Context, name, protocol, role string, s *streams) error {
	if name == "" {
		return usagef("doctor: --target is missing (name a profile, or the URL of a running server)")
	}
	sub, err := subjectOf(name, given(protocol), given(role))
	if err != nil {
		return err
	}
	outcome, err := examination.Run(ctx, examination.Options{
		Out: s.Out, Protocols: suite, Name: name, Profile: sub.profile, Launcher: sub.launcher,
	})
	if err != nil {
		return err
	}
	switch outcome {
	case examination.Fails:
		return exitError{verdict.ExitNonConformant}
	case examination.Unmet:
		return exitError{verdict.ExitUnreachable}
	case examination.Broken:
		return exitError{verdict.ExitHarness}
	}
	return nil
}

// given is a flag's value as a list: empty where the flag was not given.
func given(value string) []string {
	if value == "" {
		return nil
	}
	return []string{value}
}
