package parley

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"parley/reports"
	"parley/runner"
)

// Run judges a target, and returns what was found, whatever the verdict. It returns a *[UsageError] if the run is
// impossible as asked for, and other errors if a file cannot be read or written. The end of ctx ends the run: what has
// not been judged by then is not tested.
func Run(ctx context.Context, t Target, opts ...Option) (*Result, error) {
	s := settingsOf(opts)
	o, err := s.options(t)
	if err != nil {
		return nil, err
	}
	if _, err := planScenarios(o); err != nil {
		return nil, err
	}
	return s.run(ctx, o)
}

// planScenarios returns the scenarios that a run selects.
func planScenarios(o runner.Options) ([]runner.Planned, error) {
	plan, err := runner.Plan(o)
	if err == nil && len(plan) == 0 {
		return nil, usagef("parley.Tags: %q selects no scenario", o.Tags)
	}
	return plan, translateError(err)
}

// translateError returns an error of the runner as one of this package.
func translateError(err error) error {
	var usage *runner.UsageError
	if errors.As(err, &usage) {
		return &UsageError{Msg: usage.Msg}
	}
	return err
}

// run executes a run, and writes its results.
func (s settings) run(ctx context.Context, o runner.Options) (*Result, error) {
	if s.out != "" {
		if err := runner.PrepareOut(s.out); err != nil {
			return nil, fmt.Errorf("parley.Out: %w", err)
		}
	}
	all, err := runner.Run(ctx, o)
	if err != nil {
		return nil, translateError(err)
	}
	if s.out != "" {
		err := errors.Join(write(filepath.Join(s.out, "results.json"), all, reports.WriteJSON),
			write(filepath.Join(s.out, "report.html"), all, reports.WriteHTML))
		if err != nil {
			return nil, err
		}
	}
	return resultOf(all), nil
}

// write writes a report to a file.
func write(path string, r *reports.Results, as func(io.Writer, *reports.Results) error) error {
	f, err := os.Create(path)
	if err != nil {
		return fmt.Errorf("write a report: %w", err)
	}
	if err := errors.Join(as(f, r), f.Close()); err != nil {
		return fmt.Errorf("write %s: %w", path, err)
	}
	return nil
}
