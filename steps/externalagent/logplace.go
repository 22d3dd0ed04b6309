package externalagent

import (
	"bytes"
	"context"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"parley/features/verdict"
	"parley/internal/deadline"
	vocab "parley/protocol/externalagent"
	"parley/steps"
	"parley/target"
)

// The study log is the host's (EA-010). No clause is about a log of the relay, which may keep one as it likes: a file,
// or a folder of files. All that is observed of it is that the id of a relay session leads no file astray.

// logPlace returns where the target writes: a folder, or, for a relay, also a file.
func (s *suite) logPlace() (string, error) {
	keeper, ok := s.Target.(target.LogKeeper)
	if !ok {
		return "", &target.NotDeclaredError{Key: "external-agent.logs"}
	}
	return keeper.LogFolder()
}

// folderNoted records, as a security matter, whether anything with the scenario's nonce is found around the target's
// logs. A relay that does not mention its relay session in them would not show it, which a note says.
func (s *suite) folderNoted(ctx context.Context) error {
	worked := false
	for _, p := range s.parties {
		worked = worked || slices.ContainsFunc(p.asked, func(q *request) bool { return q.mark > 0 })
	}
	if !worked {
		return steps.NotTestedf("no agent has sent anything")
	}
	place, err := s.logPlace()
	relay := s.Env.Role == vocab.Relay
	switch {
	case err != nil && relay: // relays need not keep logs
		return &steps.NotApplicableError{Reason: "it is unknown whether the relay keeps logs: " + err.Error()}
	case err != nil:
		return steps.NotTestedf("it is unknown where the logs would be: %v", err)
	}
	if relay {
		s.Note("external-agent.logs: for a relay only the location of files is checked, not their content: the log " +
			"belongs to the host, which the harness plays here")
	}
	at, within := astray(place, s.Nonce), ""
	if relay && at == "" {
		if within = mentions(place, s.Nonce); within == "" { // some relays write when they are idle
			quiet, cancel := deadline.WithLimit(ctx, s.Env.Profile.Limits.Quiet.Duration)
			<-quiet.Done()
			cancel()
			at, within = astray(place, s.Nonce), mentions(place, s.Nonce)
		}
	}
	said := "no"
	switch {
	case at != "":
		said = "yes"
		s.Security("path traversal in the relay session's id puts a file outside the log folder: %s", at)
	case within != "":
		said = "no; " + within + ", where it belongs, mentions the session"
	case relay:
		s.Note("external-agent.logs: nothing in %s mentions the relay session, so that this shows little: does the relay "+
			"write its log there?", place)
	}
	s.Observe("EA-066", "a relay session whose id contains path traversal writes outside the log folder: "+said)
	return nil
}

// folderThere makes sure that external-agent.logs names a folder, or, for a relay, a folder or a file.
func (s *suite) folderThere() error {
	place, err := s.logPlace()
	if err != nil {
		return steps.NotTestedf("%v", err)
	}
	what := "a folder"
	if s.Env.Role == vocab.Relay {
		what = "a folder or a file"
	}
	info, err := os.Stat(place)
	check := verdict.Finding{Expected: what + " at external-agent.logs, " + place}
	switch {
	case err != nil:
		check.Observed = err.Error()
	case info.IsDir(), s.Env.Role == vocab.Relay && info.Mode().IsRegular():
		check.OK = true
	case info.Mode().IsRegular():
		check.Observed = "a file"
	default:
		check.Observed = "neither a folder nor a file"
	}
	return s.Need(check)
}

// astray looks for an entry with a scenario's nonce in the folders around a place of logs. If the place is a file, its
// own folder is one of them.
func astray(place, nonce string) string {
	for range 3 {
		place = filepath.Dir(place)
		entries, _ := os.ReadDir(place)
		for _, e := range entries {
			if strings.Contains(e.Name(), "parley-"+nonce) {
				return filepath.Join(place, e.Name())
			}
		}
	}
	return ""
}

// mentions returns the name of a log file that has a scenario's nonce in its name or content; "" if none has. It reads
// at most mostLogs files with mostBytes in all, and opens nothing but files below the place.
func mentions(place, nonce string) (found string) {
	if real, err := filepath.EvalSymlinks(place); err == nil {
		place = real
	}
	folder := place
	if info, err := os.Stat(place); err == nil && !info.IsDir() {
		folder = filepath.Dir(place)
	}
	files, left := 0, int64(mostBytes)
	_ = filepath.WalkDir(place, func(name string, e fs.DirEntry, err error) error {
		if err != nil || !e.Type().IsRegular() {
			return nil // e.g. deleted meanwhile
		}
		info, err := e.Info()
		if err != nil {
			return nil
		}
		files++
		if left -= info.Size(); left < 0 || files > mostLogs {
			return fs.SkipAll
		}
		at, _ := filepath.Rel(folder, name)
		content, _ := readLog(folder, at)
		if strings.Contains(at, "parley-"+nonce) || bytes.Contains(content, []byte("parley-"+nonce)) {
			found = at
			return fs.SkipAll
		}
		return nil
	})
	return found
}
