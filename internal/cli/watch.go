package cli

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"parley/features/verdict"
	"parley/internal/changes"
	"parley/internal/words"
	"parley/reports"
	"parley/target"
)

// errChanged ends a run whose target has changed meanwhile.
var errChanged = errors.New("the target has changed")

// A file that changes soon after the start of so many runs in a row is one that the target writes.
const (
	restless = 5
	soon     = 5 * time.Second
)

// watchAndRun judges again whenever the profile, the page or the command's files change, until ctx ends. A change ends
// the run in progress, whose results are not kept. The exit code is that of the last run that came to its end.
func (o runOptions) watchAndRun(ctx context.Context, s *streams) error {
	if err := o.checkWatch(); err != nil {
		return err
	}
	w, err := o.watchedFiles()
	if err == nil {
		err = errors.Join(o.knownIDs(), o.requireProfile())
	}
	if err != nil {
		return err
	}
	var last error = exitError{verdict.ExitInterrupted} // no run has come to its end
	often := map[string]int{}
	var ignored []string
	state := w.Look()
	for {
		began := time.Now()
		done, changed := o.untilChanged(ctx, w, state, s)
		if ctx.Err() != nil && !done.whole {
			return done.err
		}
		if done.whole {
			last, often = done.err, map[string]int{}
			if _, isExit := errors.AsType[exitError](done.err); done.err != nil && !isExit {
				s.exitWith(done.err) // such as a mistake in the profile
			}
			fmt.Fprintf(s.Err, "watching %s; Ctrl-C ends\n", words.Counted(len(state), "file"))
			if changed, _, err = w.Wait(ctx, state); err != nil {
				return lastRunError(last)
			}
		} else {
			ignored = append(ignored, restlessOf(often, changed, time.Since(began), s)...)
		}
		if more, err := o.watchedFiles(); err == nil { // it may name other files now
			w = more
		}
		w.Ignore(ignored...)
		state = w.Look()
		o.separateOutput(changed, s)
	}
}

// lastRunError is the error of the last whole run; one that was printed is not printed again.
func lastRunError(last error) error {
	if _, isExit := errors.AsType[exitError](last); last == nil || isExit {
		return last
	}
	return exitError{exitCode(last)}
}

// outcome is the end of a run; whole says that no change ended it.
type outcome struct {
	err   error
	whole bool
}

// untilChanged judges until the end, or until something changes.
func (o runOptions) untilChanged(ctx context.Context, w *changes.Watch, since changes.State,
	s *streams) (end outcome, changed []string) {
	one, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	result := make(chan error, 1)
	go func() { result <- judgeTargets(one, o, s) }()
	noticed := make(chan []string, 1)
	look, stop := context.WithCancel(one)
	defer stop()
	go func() {
		if changed, _, err := w.Wait(look, since); err == nil {
			noticed <- changed
		}
	}()
	select {
	case err := <-result:
		return outcome{err, ctx.Err() == nil}, nil
	case changed = <-noticed:
		cancel(errChanged)
		<-result
		return outcome{}, changed
	}
}

// restlessOf returns the files that change soon after the start of every run, and says so.
func restlessOf(often map[string]int, changed []string, after time.Duration, s *streams) (out []string) {
	for path := range often {
		if !slices.Contains(changed, path) {
			delete(often, path)
		}
	}
	for _, path := range changed {
		if often[path]++; after > soon {
			often[path] = 0
		}
		if often[path] >= restless {
			out = append(out, path)
			fmt.Fprintf(s.Err, "%s changes whenever the target runs, and is not watched any more\n", path)
		}
	}
	return out
}

// separateOutput sets the output of a run apart from the one before: on a terminal it clears the screen.
func (o runOptions) separateOutput(changed []string, s *streams) {
	if s.OutTTY {
		fmt.Fprint(s.Out, "\x1b[2J\x1b[H")
	}
	what := strings.Join(changed[:min(len(changed), 1)], "")
	if here, err := os.Getwd(); err == nil {
		if rel, err := filepath.Rel(here, what); err == nil && filepath.IsLocal(rel) {
			what = rel
		}
	}
	if len(changed) > 1 {
		what += fmt.Sprintf(" and %s", words.Counted(len(changed)-1, "more file"))
	}
	fmt.Fprintf(s.Err, "── %s changed: judging again\n", escapeControl(what))
}

// checkWatch rejects flags that are about one run.
func (o runOptions) checkWatch() error {
	switch {
	case o.target == "":
		return usagef("--watch: the bundled targets do not change (name yours)")
	case o.writeBaseline != "":
		return usagef("--watch: --write-baseline is about one run (leave one out)")
	}
	return nil
}

// requireProfile rejects a profile that is not there: one with a mistake is probably being written, but this one's name
// is probably mistyped.
func (o runOptions) requireProfile() error {
	if _, isPage := suite.Kinds().OfPage(o.target); isPage || isURL(o.target) || fileExists(o.target) {
		return nil
	}
	_, err := subjectOf(o.target, o.protocols, o.roles)
	return err
}

// watchedFiles returns what is watched: the files of the target, and those that flags name.
func (o runOptions) watchedFiles() (*changes.Watch, error) {
	files := []string{}
	folders := []string{}
	for _, name := range append(slices.Clone(o.features), o.baseline, o.faults) {
		switch info, err := os.Stat(name); {
		case name == "" || name == "suite":
		case err == nil && info.IsDir():
			folders = append(folders, name)
		default:
			files = append(files, name)
		}
	}
	_, isPage := suite.Kinds().OfPage(o.target)
	switch {
	case isURL(o.target) && !isPage:
		return nil, usagef("--watch: %s has no files to watch (give a profile, or the folder of a page)", o.target)
	case !isPage:
		files = append(files, o.target)
	}
	sub, err := subjectOf(o.target, o.protocols, o.roles)
	if err == nil {
		f, d := filesOf(sub.profile)
		files, folders = append(files, f...), append(folders, d...)
	}
	if err != nil && isPage {
		return nil, err
	}
	w := changes.New(files, folders, []string{o.out}) // a profile with a mistake is watched until it has none
	w.Skip(holdsResults)
	w.Outputs(os.Stdout, os.Stderr)
	return w, nil
}

// holdsResults reports whether a folder has the results of a run: nobody edits those.
func holdsResults(folder string) bool {
	f, err := os.Open(filepath.Join(folder, "results.json"))
	if err != nil {
		return false
	}
	defer f.Close()
	head, _ := io.ReadAll(io.LimitReader(f, 1<<10))
	return bytes.Contains(head, []byte(reports.SchemaID))
}

// filesOf returns the files and folders of a target: those that its command names, the folder in which it runs if the
// profile names one, and the folder of a page.
func filesOf(p *target.Profile) (files, folders []string) {
	if folder := p.Reach().Folder; folder != "" {
		folders = append(folders, folder)
	}
	c := p.Command
	if c == nil {
		return files, folders
	}
	at := func(folder, name string) string {
		name = strings.ReplaceAll(name, "{profile}", p.Dir)
		if filepath.IsAbs(name) {
			return name
		}
		return filepath.Join(folder, name)
	}
	dir := p.Dir
	if c.Dir != "" {
		dir = at(p.Dir, c.Dir)
		folders = append(folders, dir)
	}
	for _, from := range c.Copy {
		files = append(files, at(p.Dir, from))
	}
	for i, word := range c.Run {
		path := at(dir, word)
		info, err := os.Stat(path)
		switch {
		case err != nil || word == "":
		case info.IsDir() && i > 0:
			folders = append(folders, path)
		case info.Mode().IsRegular():
			files = append(files, path)
			if i > 0 { // a script, and what it imports
				folders = append(folders, filepath.Dir(path))
			}
		}
	}
	return files, folders
}
