package runner

import (
	"context"
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"
	"testing/fstest"

	"github.com/cucumber/godog"

	"parley/features/verdict"
	"parley/internal/cut"
	"parley/reports"
	"parley/runner/tags"
	"parley/steps"
	"parley/target"
	"parley/transport/transcript"
)

// cutTag marks the scenarios in which a connection is cut.
const cutTag = "@cut"

// cutTries is how often a point is tried until the cut happens: what a target sends may differ from run to run.
const cutTries = 3

// plannedCourses returns what a run cuts at every point, if the tag selection includes it.
func plannedCourses(p steps.Protocol, role string, wanted bool, sel tags.Expr) ([]steps.Course, error) {
	if !wanted {
		return nil, nil
	}
	s, ok := p.(steps.Severer)
	if !ok || len(s.Courses(role)) == 0 {
		return nil, &UsageError{Msg: fmt.Sprintf("%s has no course that can be cut at every point", steps.Name(p))}
	}
	var out []steps.Course
	for _, c := range s.Courses(role) {
		if slices.ContainsFunc(c.Ways(), func(by steps.Way) bool { return sel.Match(cutTags(p, c, by)) }) {
			out = append(out, c)
		}
	}
	if len(out) == 0 {
		return nil, &UsageError{Msg: "tag expression leaves the cut points out: add `or @cut`, or run without --cut-points"}
	}
	return out, nil
}

// selectedCourses returns the courses of a run. It rejects an empty selection of scenarios, unless there are courses.
func selectedCourses(p steps.Protocol, role string, o Options, sel tags.Expr, all []Planned) ([]steps.Course, error) {
	cuts, err := plannedCourses(p, role, o.CutPoints, sel)
	if err != nil || len(cuts) > 0 {
		return cuts, err
	}
	return nil, requireSelection(o.Tags, sel, all)
}

// cutTags returns the tags of a course that is cut in one way.
func cutTags(p steps.Protocol, c steps.Course, by steps.Way) []string {
	out := append([]string{"@" + steps.Name(p), cutTag, "@cut-" + string(by)}, c.Tags...)
	if by == steps.ByKill {
		out = append(out, "@exclusive", "@restart")
	}
	return out
}

// cutPoints cuts each course after each of its records, in each way.
func (r *run) cutPoints(ctx context.Context, d *driverRun, parallel int) {
	for _, c := range r.courses {
		for _, by := range c.Ways() {
			// A connection over stdio is a process. To drop it is to kill that; a process that is closed may be used again, so
			// that it would not be cut off.
			if d.name == target.Stdio && by != steps.ByReset {
				continue
			}
			if r.o.FailFast.Why() == "" && r.cutSel.Match(cutTags(r.protocol, c, by)) {
				r.cutCourse(ctx, d, c, by, parallel)
			}
		}
	}
}

// cutPoint is one point of a course.
type cutPoint struct {
	pl  Planned
	res *steps.Result
}

// cutCourse runs a course to its end, which shows its records, and then once for each of them. A target may send more
// or fewer records each time, such as pieces of an answer: the shortest of a few runs counts.
func (r *run) cutCourse(ctx context.Context, d *driverRun, c steps.Course, by steps.Way, parallel int) {
	whole := cutPoint{pl: r.cutPlanned(c, by, 0)}
	for range cutTries {
		res := r.cutOnce(ctx, d, &whole.pl, c, by, 0)
		if whole.res == nil || res != nil && (res.Outcome == verdict.Failed ||
			len(r.courseRecords(res.Records, c.Party)) < len(r.courseRecords(whole.res.Records, c.Party))) {
			whole.res = res
		}
		if whole.res != nil && whole.res.Outcome != verdict.Passed {
			break // it cannot be cut
		}
	}
	if whole.res == nil {
		whole.res = &steps.Result{Driver: d.name, Outcome: verdict.NotTested, Reason: "the course could not be run"}
	}
	records := r.courseRecords(whole.res.Records, c.Party)
	points := make([]cutPoint, 0, len(records))
	for i := range records {
		points = append(points, cutPoint{pl: r.cutPlanned(c, by, i+1)})
	}
	gate := make(chan struct{}, max(parallel, 1))
	var wg sync.WaitGroup
	for i := range points {
		wg.Go(func() {
			gate <- struct{}{}
			defer func() { <-gate }()
			points[i].res = r.cutAgain(ctx, d, &points[i].pl, c, by, i+1)
		})
	}
	wg.Wait()
	points, records = withoutChance(points, records)
	r.keepCuts(d, c, by, whole, points, records)
}

// withoutChance leaves out the points that came before the end of the course by chance, such as one more piece of an
// answer: if the course ends without such a record in each try, it is not a point. These can be few only; where more
// are missing, something is wrong, and all of them stay.
func withoutChance(points []cutPoint, records []transcript.Record) ([]cutPoint, []transcript.Record) {
	var kept []cutPoint
	var of []transcript.Record
	for i := range points {
		if !endedBefore(points[i].res) {
			kept, of = append(kept, points[i]), append(of, records[i])
		}
	}
	if len(kept) == 0 || len(points)-len(kept) > max(1, len(points)/10) {
		return points, records
	}
	return kept, of
}

// cutPlanned returns the scenario of one point; 0 is the end of the course.
func (r *run) cutPlanned(c steps.Course, by steps.Way, at int) Planned {
	where := "at its end"
	if at > 0 {
		where = fmt.Sprintf("after record %d", at)
	}
	id := fmt.Sprintf("%s-cut-%s-%s-%03d", r.protocol.Kind().Prefix, c.ID, by, at)
	pl := Planned{ID: id, Name: fmt.Sprintf("%s, cut %s by %s", c.Name, where, by), Feature: "Cut at every point",
		Location: "cut at every point", Tags: cutTags(r.protocol, c, by), key: id}
	for _, t := range pl.Tags {
		if clause := strings.TrimPrefix(t, "@"); steps.IsClause(clause) {
			pl.Clauses = append(pl.Clauses, clause)
		}
	}
	return pl
}

// cutAgain tries a point until its cut happens.
func (r *run) cutAgain(ctx context.Context, d *driverRun, pl *Planned, c steps.Course, by steps.Way,
	at int) (res *steps.Result) {
	for range cutTries {
		res = r.cutOnce(ctx, d, pl, c, by, at)
		if res == nil || reachedCut(res.Records) || ctx.Err() != nil {
			break
		}
	}
	return res
}

// cutOnce runs the scenario of a point; nil if it could not be run.
func (r *run) cutOnce(ctx context.Context, d *driverRun, pl *Planned, c steps.Course, by steps.Way,
	at int) *steps.Result {
	lines := slices.Concat([]string{steps.Severs(c, at, by)}, c.Lines, c.Back)
	file := fmt.Sprintf("%s/cut.feature", steps.Name(r.protocol))
	text := featureOf(pl.Tags, pl.Feature, pl.Name, lines)
	var got *steps.Result
	s := &steps.Suite{Protocol: r.protocol, Env: d.envs, Severs: true,
		Begin: func(ctx context.Context, sc *godog.Scenario) steps.Slot {
			if pl.Exclusive() && d.blockingStage(*pl) == "" && r.protocol.NotRunnable(d.envs, pl.Tags) == "" {
				return r.exclusiveSlot(ctx, r.makeNonce(d, pl.ID))
			}
			return r.sharedSlot(ctx, d, pl, r.makeNonce(d, pl.ID))
		},
		Done: func(res steps.Result) { got = &res }}
	o := &godog.Options{FS: fstest.MapFS{file: {Data: []byte(text)}}, Paths: []string{file}, Concurrency: 1, Strict: true,
		DefaultContext: ctx, Format: silent, Output: io.Discard, NoColors: true}
	godog.TestSuite{Name: "cut", ScenarioInitializer: s.Initialize, Options: o}.Run()
	return got
}

// courseRecords returns the records of a party's connection up to the cut.
func (r *run) courseRecords(all []transcript.Record, party string) (out []transcript.Record) {
	for _, rec := range all {
		if rec.Kind == transcript.Remark && strings.HasPrefix(rec.Label, steps.SeveredAt) {
			return out
		}
		if steps.CountsRecord(r.protocol, &rec, party) {
			out = append(out, rec)
		}
	}
	return nil
}

// endedBefore reports whether a course came to its end before its cut, and nothing was wrong.
func endedBefore(res *steps.Result) bool {
	return res != nil && res.Outcome == verdict.NotTested && strings.HasPrefix(res.Reason, steps.NoCut)
}

// reachedCut reports whether the connection was cut.
func reachedCut(all []transcript.Record) bool {
	return slices.ContainsFunc(all, func(rec transcript.Record) bool {
		return rec.Kind == transcript.Remark && strings.HasPrefix(rec.Label, steps.SeveredAt)
	})
}

// keepCuts records the results of a course, and where it broke.
func (r *run) keepCuts(d *driverRun, c steps.Course, by steps.Way, whole cutPoint, points []cutPoint,
	records []transcript.Record) {
	sum := reports.Cuts{Course: c.ID, Name: c.Name, Party: c.Party, Driver: d.name, By: string(by),
		Points: len(points), Broke: []reports.CutPoint{}}
	seen := make([]reports.CutRecord, 0, len(records))
	for i, p := range append([]cutPoint{whole}, points...) {
		if p.res == nil {
			p.res = &steps.Result{Driver: d.name, Outcome: verdict.NotTested, Reason: "the scenario could not be run"}
		}
		if i > 0 {
			sum.Count(reachedCut(p.res.Records), judgedIn(*p.res))
			seen = append(seen, cutRecord(records[i-1], r.redact, *p.res))
		}
		if p.res.Outcome == verdict.Failed && i > 0 {
			sum.Broke = append(sum.Broke, reports.CutPoint{Record: i, Scenario: p.pl.ID, Clauses: failedIn(*p.res)})
		}
		d.plan = append(d.plan, p.pl)
		r.recordSequence(d, p.pl, *p.res)
	}
	text := fmt.Sprintf("%s, cut by %s: %s", c.Name, by, sum.Text())
	if len(sum.Broke) > 0 {
		sum.Records = seen
		for i := range seen {
			text += "\n" + seen[i].Line(i+1, c.Party)
		}
	}
	r.mu.Lock()
	r.cuts = append(r.cuts, sum)
	r.mu.Unlock()
	r.addNote(reports.Note{Kind: "cut", Text: text, Scenario: whole.pl.ID})
}

// judgedIn reports whether a scenario judged a clause, whatever the result.
func judgedIn(res steps.Result) bool {
	return slices.ContainsFunc(res.Clauses, func(j verdict.Judgement) bool {
		return j.Outcome == verdict.Passed || j.Outcome == verdict.Failed || j.Outcome == verdict.Warned
	})
}

// failedIn returns the clauses that a scenario shows to be broken; never nil.
func failedIn(res steps.Result) []string {
	out := []string{}
	for _, f := range res.Failures {
		if f.Outcome == verdict.Failed && !slices.Contains(out, f.Clause) {
			out = append(out, f.Clause)
		}
	}
	return out
}

// cutRecord is a record of a course, and how the scenario ended that was cut behind it.
func cutRecord(rec transcript.Record, redact *transcript.Redactor, res steps.Result) reports.CutRecord {
	out := reports.CutRecord{Sent: rec.Dir == transcript.Sent, Label: cut.Text(redact.String(rec.MaskedLabel()), 24),
		How: reports.CutPassed}
	switch {
	case res.Outcome == verdict.Failed:
		out.How, out.Clauses = reports.CutBroke, failedIn(res)
	case !reachedCut(res.Records):
		out.How = reports.CutMissed
	case !judgedIn(res):
		out.How = reports.CutNotJudged
	}
	return out
}
