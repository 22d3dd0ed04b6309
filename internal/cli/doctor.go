package cli

import (
	"context"
	"strings"

	"github.com/spf13/cobra"

	"parley/features/verdict"
	"parley/runner/examination"
	"parley/steps/doctor"
	"parley/target"
)

func doctorCommand(s *streams) *cobra.Command {
	var name, protocol, role, language string
	var link linkOptions
	about, examples := doctorHelp()
	c := &cobra.Command{
		Use:   "doctor TARGET",
		Short: "Check that a profile works, before a run",
		Long: `Check that a profile works, before a run.
TARGET is what --target names. Doctor starts or contacts the target, connects over each driver, goes
through the steps on which the suite depends, and tries everything else that the profile declares once. It
prints one line per item:

  ok            it works
  not declared  the profile does not have it; what is not tested without it
  not checked   it depends on an item that failed or is not declared
  failed        what happened, and where to look

` + about,
		Example: examples,
		Args:    func(c *cobra.Command, args []string) error { return oneTarget(c, args, &name) },
		RunE: func(c *cobra.Command,
			_ []string) error {
			l, err := parseLang(language)
			if err != nil {
				return err
			}
			return runDoctor(c.Context(), name, protocol, role, link, s.printedIn(l))
		},
	}
	c.Flags().StringVar(&name, "target", "",
		"profile `FILE|URL` of the target, or the folder of a page: the same as TARGET")
	c.Flags().StringVar(&protocol, "protocol", "", "`PROTOCOL` of a URL (default the one that is found there)")
	c.Flags().StringVar(&role, "role", "",
		"`ROLE` of the target (default that of the profile; for a URL server, client or host)")
	declareLangOf(c.Flags(), &language, "what is found: en or zh; errors are in English")
	link.declareFlags(c.Flags())
	return c
}

// doctorHelp returns what the protocols add to the help of the command.
func doctorHelp() (about, examples string) {
	sentences := []string{"If the profile allows it, the target is restarted.",
		"Its hooks.reset runs before each scenario of doctor."}
	lines := []string{"  parley doctor my.yaml"}
	for _, p := range suite.All {
		guide, _ := doctor.Of(p)
		if guide.About != "" {
			sentences = append(sentences, guide.About)
		}
		for _, example := range guide.Examples {
			lines = append(lines, "  "+example)
		}
	}
	about = strings.Join(sentences, " ") + "\n\nExit codes: 0 everything that is declared works · " +
		"1 something does not · 2 wrong usage or profile · 3 the target cannot be reached, or does not speak the protocol."
	return about, strings.Join(lines, "\n")
}

// runDoctor examines a target and reports what would not be tested.
func runDoctor(ctx context.Context, name, protocol, role string, link linkOptions, s *streams) error {
	if name == "" {
		return usagef("doctor: the target is missing (name a profile, or the URL of a running server)")
	}
	if err := link.nameOneProtocol(ctx, &name, &protocol, s); err != nil {
		return err
	}
	sub, err := subjectOf(name, givenList(protocol), givenList(role))
	if err == nil {
		err = link.applyTo(sub.profile)
	}
	if err != nil {
		return err
	}
	outcome, err := examination.Run(ctx, examination.Options{
		Out: s.Out, Protocols: suite, Name: name, Profile: sub.profile, Launcher: sub.launcher,
		Person: target.NewLines(s.In),
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

// givenList returns a flag's value as a list; empty if the flag was not given.
func givenList(value string) []string {
	if value == "" {
		return nil
	}
	return []string{value}
}
