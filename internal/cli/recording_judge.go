package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"parley/features/verdict"
	"parley/internal/words"
	"parley/protocol/messages"
	"parley/runner"
	"parley/simulator/exchange"
	"parley/simulator/proxy"
	"parley/steps"
	"parley/target"
	"parley/transport/recording"
	"parley/transport/transcript"
)

// recordingJudgeOptions are the flags of parley recording judge.
type recordingJudgeOptions struct {
	judgingOptions
	origin string
}

func recordingJudgeCommand(s *streams) *cobra.Command {
	var o recordingJudgeOptions
	c := &cobra.Command{
		Use:   "judge FILE...",
		Short: "Judge recordings and HAR files as parley proxy judges live traffic",
		Long: `Judge recordings and HAR files: by the same clauses, with the same findings, reports and exit codes as
parley proxy gives while the traffic passes. FILE may be - for stdin.

Details:

Each file is judged on its own, and all together make one verdict. Their protocol is that of their headers, or the one
whose messages a HAR file has; files of several protocols are judged one protocol at a time. The roles are those that
the headers name, or else the first of each side that the protocol has; --role names others. If a HAR file has several
servers, --origin names one.

A clause passes only if the traffic shows that it is kept; one that nothing shows is not tested. A file that ends in
the middle of a line is judged up to there. Such results never certify.

It writes results.json, junit.xml, report.html and the transcripts to --out, as parley run does.

Exit codes: 1 a MUST is broken, or a --max-duration exceeded (--fail-on counts others) · 0 something was judged, and
nothing of that · 5 nothing was judged, since no file shows a clause · 2 wrong usage, or a file is damaged: what comes
before is judged · 130 interrupted.`,
		Example: `  parley recording judge passed.jsonl
  parley recording judge parley-results/transcripts/*.jsonl --format junit,console
  parley recording judge page.har --protocol PROTOCOL --fail-on should --max-duration switch_agent=2s
  parley proxy http://localhost:3000 --record passed.jsonl; parley recording judge - < passed.jsonl`,
		RunE: func(c *cobra.Command, args []string) error {
			if len(args) == 0 {
				return usagef("recording judge: name a FILE, such as parley-results/transcripts/sse-AS-2.1-01.jsonl")
			}
			return o.judgeFiles(c.Context(), args, s)
		},
	}
	f := c.Flags()
	f.StringVar(&o.protocol, "protocol", "", "`PROTOCOL` to judge by (default that of the files)")
	f.StringVar(&o.origin, "origin", "", "`URL` of the server in a HAR file, such as http://localhost:3000")
	o.declareFlags(f, "parley-results/recording")
	return c
}

// judgingFiles is what judges files.
type judgingFiles struct {
	recordingJudgeOptions
	protocol steps.Protocol
	profile  *target.Profile // of --profile; nil without
	collect  *runner.Passive
	partly   func(proxy.Ended) // says why a role was judged in part
	live     *liveView

	began  time.Time // of the earliest file
	lasted time.Duration
	broken bool // a file is damaged
}

// judgeFiles judges files, and writes the results.
func (o recordingJudgeOptions) judgeFiles(ctx context.Context, names []string, s *streams) error {
	asked, err := parseFormats(o.format)
	if err != nil {
		return err
	}
	files, err := o.openFiles(ctx, names, s)
	defer closeFiles(files)
	if err != nil {
		return err
	}
	j := judgingFiles{recordingJudgeOptions: o, live: newLiveView(s, false)}
	if err := j.prepare(ctx, files, s); err != nil {
		return err
	}
	for _, f := range files {
		if err = j.judgeFile(ctx, f, s); err != nil {
			break
		}
	}
	j.live.stopLine()
	if err != nil && ctx.Err() == nil {
		return err
	}
	res := j.collect.Results()
	res.Started, res.Duration = j.began.UTC(), float64(j.lasted.Microseconds())/1000
	code := 0
	switch {
	case ctx.Err() != nil:
		res.Partial, code = true, verdict.ExitInterrupted
	case j.broken:
		code = verdict.ExitUsage
	}
	j.settle(res, code)
	return j.writeReports(asked, res, s)
}

// prepare finds out by what the files are judged, and says which clauses that are.
func (j *judgingFiles) prepare(ctx context.Context, files []*judgedFile, s *streams) (err error) {
	if j.profile, err = j.givenProfile(); err != nil {
		return err
	}
	if j.protocol, err = j.chooseProtocol(ctx, files, s); err != nil {
		return err
	}
	var roles []proxy.Role
	j.began = time.Now()
	for _, f := range files {
		if f.roles, err = j.rolesOf(f); err != nil {
			return err
		}
		f.began = beganAt(f.header, f.name)
		if f.began.Before(j.began) {
			j.began = f.began
		}
		for _, r := range f.roles {
			if !slices.ContainsFunc(roles, func(had proxy.Role) bool { return had.Name == r.Name }) {
				roles = append(roles, r)
			}
		}
	}
	if len(roles) == 0 {
		return usagef("%s: %s", files[0].name, files[0].unjudged)
	}
	if err := j.checkDemands(j.protocol, roles); err != nil {
		return err
	}
	if err := prepareOut(j.out); err != nil {
		return err
	}
	url := commonURL(files)
	j.collect, err = j.collector(roles, "recording", runner.PassiveOptions{Profile: j.profileAt(url), URL: url})
	if err != nil {
		return err
	}
	j.announceClauses(roles, j.collect, s.Err)
	j.live.roles = len(roles) > 1
	j.partly = tellPartly(s)
	return nil
}

// commonURL returns the URL of the target if all files have the same.
func commonURL(files []*judgedFile) string {
	for _, f := range files[1:] {
		if f.header.URL != files[0].header.URL {
			return ""
		}
	}
	return files[0].header.URL
}

// rolesOf returns the roles in which a file is judged; none if its header names only parties that are not judged.
func (j *judgingFiles) rolesOf(f *judgedFile) ([]proxy.Role, error) {
	named := f.header.Roles()
	if len(j.roles) == 0 && len(named) > 0 {
		known := slices.Clone(steps.Roles(j.protocol))
		if client, _ := steps.ClientOf(j.protocol); client != "" {
			known = append(known, client)
		}
		judged := slices.DeleteFunc(slices.Clone(named), func(r string) bool { return !slices.Contains(known, r) })
		if len(judged) == 0 {
			f.unjudged = fmt.Sprintf("its header says that %s was judged, of which %s has no clauses: those are of %s (--role "+
				"names one)", words.Either(named), steps.Name(j.protocol), words.Either(known))
			return nil, nil
		}
		named = judged
	}
	return j.judgedRoles(j.protocol, named)
}

// profileAt returns the profile with the names of messages and fields of a server at a URL.
func (j *judgingFiles) profileAt(url string) *target.Profile {
	if j.profile != nil {
		return j.profile
	}
	p := namesAt(j.protocol.Kind(), url)
	if url == "" {
		p.Name = "what was recorded"
	}
	return p
}

// judgeFile judges a file. The error is one of ours, and not of the file.
func (j *judgingFiles) judgeFile(ctx context.Context, f *judgedFile, s *streams) error {
	if len(f.roles) == 0 {
		j.live.printLine(f.name + ": " + f.unjudged)
		return nil
	}
	in, err := f.reader(ctx, j.recordingJudgeOptions, s)
	if err != nil {
		return err
	}
	defer f.forget()
	o := proxy.Options{Protocol: j.protocol, Profile: j.profileAt(f.header.URL), To: f.header.URL, Roles: f.roles,
		Strict: j.strict, Found: func(found proxy.Found) { j.live.printFinding(f.name+": ", found) }}
	timed, err := j.watchLimits(&o)
	if err != nil {
		return err
	}
	read := &countedRecords{ctx: ctx, view: recording.NewClientView(in), live: j.live, name: f.name}
	speaks := false
	lasted := time.Duration(0)
	o.Ended = func(e proxy.Ended) {
		speaks = speaks || len(e.Failures) > 0 || hasMessages(steps.Name(j.protocol), e.T)
		lasted = max(lasted, e.Duration)
		j.partly(e)
		seen := seenTraffic(e)
		seen.Name = f.title(e.Conn)
		if why := read.cutShort(); why != "" {
			seen.Notes = append(seen.Notes, why)
		}
		j.collect.Add(seen)
	}
	err = proxy.JudgeRecording(o, f.began, read.next)
	timed()
	j.lasted += lasted
	j.live.clearCount()
	switch why := read.cutShort(); {
	case ctx.Err() != nil:
		return ctx.Err()
	case read.err == nil && err != nil:
		return err
	case why != "":
		j.broken = j.broken || read.err != nil
		j.live.printLine(f.name + ": " + why)
	}
	if !speaks {
		j.live.printLine(fmt.Sprintf("%s: none of its %s is of %s, so nothing of it is judged", f.name,
			words.Counted(read.count, "record"), steps.Name(j.protocol)))
	}
	return nil
}

// hasMessages reports whether a transcript has a message of a protocol.
func hasMessages(protocol string, t *transcript.Transcript) bool {
	set := messages.For(protocol)
	for r := range t.From(0) {
		if isMessage(set, r) {
			return true
		}
	}
	return false
}

// isMessage reports whether a record is a message of a protocol; without a set, whether it is any message.
func isMessage(set *messages.Set, r transcript.Record) bool {
	typ := exchange.Type(r)
	return typ != "" && (set == nil || set.Find(typ, messages.Client) != nil || set.Find(typ, messages.Server) != nil)
}

// countedRecords are the records of a file, which are counted on a terminal.
type countedRecords struct {
	ctx   context.Context
	view  *recording.ClientView
	live  *liveView
	name  string
	count int
	last  int // number of the last record
	shown time.Time
	err   error // why a record could not be read
}

// next returns the next record.
func (c *countedRecords) next() (transcript.Record, error) {
	r, err := c.view.Next()
	if err != nil {
		if !errors.Is(err, io.EOF) {
			c.err = err
		}
		return r, err
	}
	c.count++
	c.last = r.N
	if c.count%1000 == 0 {
		if err := c.ctx.Err(); err != nil {
			return r, err
		}
		if now := time.Now(); now.Sub(c.shown) >= time.Second/5 {
			c.shown = now
			c.live.showCount(fmt.Sprintf("%s: %s", c.name, words.Counted(c.count, "record")))
		}
	}
	return r, nil
}

// cutShort says why the file was not judged to its end; "" if it was.
func (c *countedRecords) cutShort() string {
	switch {
	case c.err != nil:
		return fmt.Sprintf("%v (it is judged up to record %d)", c.err, c.last)
	case c.view.Torn():
		return fmt.Sprintf("the last line is truncated, and left out (it is judged up to record %d)", c.last)
	}
	return ""
}
