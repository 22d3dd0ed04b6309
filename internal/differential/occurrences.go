package differential

import (
	"regexp"
	"slices"
	"strconv"
	"strings"

	"parley/reports"
	"parley/simulator/replay"
)

// addScenario adds the differences of one scenario, and the clauses that decide them.
func (f *findings) addScenario(a, b *reports.Scenario, devs []replay.Deviation) {
	at := place{a.ID, a.Driver}
	begin := len(f.all)
	for _, d := range devs {
		for i := range max(1, len(d.Places)) {
			f.all = append(f.all, occurrence{place: at, dev: d, key: keyOf(d, i), at: i, a: a, b: b})
		}
	}
	mine := f.all[begin:]
	for _, d := range oneSided(a, b) {
		if i := explainingDifference(mine, d); i >= 0 {
			for k := range mine {
				if sameDeviation(mine[k].dev, mine[i].dev) {
					mine[k].decided = append(mine[k].decided, d)
				}
			}
			continue
		}
		f.alone = append(f.alone, verdictOnly{place: at, decision: d, a: a, b: b})
	}
	shareDecisions(mine)
}

// shareDecisions gives the decisions of a difference to the undecided differences of its scenario that have the same
// two values, such as one wrong id in several messages.
func shareDecisions(all []occurrence) {
	for k := range all {
		for i := range all {
			if len(all[k].decided) == 0 && len(all[i].decided) > 0 && all[k].changedValues() != "" &&
				all[k].changedValues() == all[i].changedValues() {
				all[k].decided = all[i].decided
			}
		}
	}
}

// changedValues returns the two values of a change; "" for short ones, which may be equal by chance, and for other
// differences.
func (o occurrence) changedValues() string {
	if o.at >= len(o.dev.Places) {
		return ""
	}
	p := o.dev.Places[o.at]
	if len(p.Recorded) < 12 || len(p.Came) < 12 {
		return ""
	}
	return p.Recorded + "|" + p.Came
}

// markFollowers marks each difference that an earlier one in its scenario may have caused: one that a clause decides,
// or that is structural and not a habit. A habit is a difference that many scenarios show; it causes nothing.
func (f *findings) markFollowers() {
	shown, decided := map[string]map[place]bool{}, map[string]bool{}
	for _, o := range f.all {
		decided[o.key] = decided[o.key] || len(o.decided) > 0
		if shown[o.key] == nil {
			shown[o.key] = map[place]bool{}
		}
		shown[o.key][o.place] = true
	}
	for k := range f.all {
		f.all[k].behind = slices.ContainsFunc(f.all[:k], func(o occurrence) bool {
			return o.place == f.all[k].place && o.key != f.all[k].key && !sameDeviation(o.dev, f.all[k].dev) &&
				(decided[o.key] || len(shown[o.key])*habitShare <= f.scenarios && o.dev.Structural())
		})
	}
}

// habitShare is the share of the scenarios above which a difference is a habit of a target: one in five.
const habitShare = 5

func sameDeviation(x, y replay.Deviation) bool {
	return x.AtA == y.AtA && x.AtB == y.AtB && x.Kind == y.Kind
}

// oneSided returns the first failure of each clause that one side breaks and the other does not.
func oneSided(a, b *reports.Scenario) (out []decision) {
	for _, f := range a.Failures {
		if !breaksClause(b, f.Clause) && !hasClause(out, f.Clause) {
			out = append(out, decision{f, "a"})
		}
	}
	for _, f := range b.Failures {
		if !breaksClause(a, f.Clause) && !hasClause(out, f.Clause) {
			out = append(out, decision{f, "b"})
		}
	}
	return out
}

func breaksClause(sc *reports.Scenario, clause string) bool {
	return slices.ContainsFunc(sc.Failures, func(f reports.Failure) bool { return f.Clause == clause })
}

func hasClause(all []decision, clause string) bool {
	return slices.ContainsFunc(all, func(d decision) bool { return d.failure.Clause == clause })
}

var atRecord = regexp.MustCompile(`record (\d+)`)

// explainingDifference returns the index of the difference that explains a failure; -1 for none. It is a difference in
// the record at which the failure was found, or else the last structural one before it.
func explainingDifference(all []occurrence, d decision) int {
	record := 0
	if m := atRecord.FindStringSubmatch(d.failure.At); m != nil {
		record, _ = strconv.Atoi(m[1])
	}
	best := -1
	for i, o := range all {
		n := o.dev.AtA
		if d.side == "b" {
			n = o.dev.AtB
		}
		switch {
		case n == record && record > 0:
			return i
		case o.dev.Structural() && (n <= record || record == 0 || best < 0):
			best = i
		}
	}
	return best
}

// keyOf returns the key of a difference. It omits everything that varies between scenarios.
func keyOf(d replay.Deviation, at int) string {
	if d.Kind != replay.Changed {
		return strings.Join([]string{string(d.Kind), messageKey(d.A), messageKey(d.B)}, "|")
	}
	if len(d.Places) == 0 {
		return "changed|" + messageKey(d.A)
	}
	p := d.Places[at]
	key := "changed|" + messageKey(d.A) + "|" + generalPointer(p.At)
	switch {
	case sidesWith(p) != "both":
		return key + "|" + sidesWith(p)
	case isFixedWord(p.Recorded) && isFixedWord(p.Came):
		return key + "|" + p.Recorded + "|" + p.Came
	}
	return key
}

// messageKey names a message for a key: by its type, or by its kind and the request that it answers.
func messageKey(w *replay.Wire) string {
	switch {
	case w == nil:
		return ""
	case w.Type != "":
		return w.Type
	case w.What == "response":
		method, rest, _ := strings.Cut(w.Act, " ")
		path, _, _ := strings.Cut(rest, " ") // with the type of the request, each type would be an entry
		return "answer to " + method + " " + path
	case w.Status != 0:
		return w.What + " " + strconv.Itoa(w.Status)
	}
	return w.What
}

var index = regexp.MustCompile(`/\d+(/|$)`)

// generalPointer replaces the indices in a pointer by *.
func generalPointer(at string) string {
	for index.MatchString(at) {
		at = index.ReplaceAllString(at, "/*$1")
	}
	return at
}

// fixedWord matches a fixed word, such as an error code, but no prose and nothing generated.
var fixedWord = regexp.MustCompile(`^("[A-Za-z][A-Za-z_.:/-]{0,60}"|true|false|null|\d{1,4}|[a-z]+/[a-z+.-]+|none)$`)

func isFixedWord(value string) bool { return fixedWord.MatchString(value) }

// doubt is a difference in a scenario that may not recur. key is the key of the difference, or the clause if only the
// verdict differs.
type doubt struct {
	place
	key string
}

func (o occurrence) doubt() doubt { return doubt{o.place, o.key} }

func (v verdictOnly) doubt() doubt { return doubt{v.place, v.failure.Clause} }

func (f *findings) size() int { return len(f.all) + len(f.alone) }

// samples is the number of scenarios that run again for one difference.
const samples = 5

// findingsToCheck returns what is checked again: each difference in the first scenarios that show it; if few is set,
// only the differences that few scenarios show, in all of these.
func (f *findings) findingsToCheck(few bool) map[doubt]bool {
	places := map[string]map[place]bool{}
	out := map[doubt]bool{}
	all := f.allFindings()
	for _, d := range all {
		if places[d.key] == nil {
			places[d.key] = map[place]bool{}
		}
		if few || len(places[d.key]) < samples || places[d.key][d.place] {
			places[d.key][d.place] = true
		}
	}
	for _, d := range all {
		if places[d.key][d.place] && (!few || len(places[d.key]) <= rarely) {
			out[d] = true
		}
	}
	return out
}

// allFindings returns all findings.
func (f *findings) allFindings() (out []doubt) {
	for _, o := range f.all {
		out = append(out, o.doubt())
	}
	for _, v := range f.alone {
		out = append(out, v.doubt())
	}
	return out
}

// commonTraits are what two differences have in common if they may be the same. They do not depend on which side is
// which.
func (o occurrence) commonTraits() []string {
	at := o.id + "|" + o.driver + "|"
	if o.dev.Kind == replay.Changed {
		where := ""
		if len(o.dev.Places) > 0 {
			p := o.dev.Places[o.at]
			where = generalPointer(p.At)
			if sidesWith(p) != "both" { // a value that varies is no evidence that it is sometimes absent
				where += "|alone"
			}
		}
		return []string{at + messageKey(o.dev.A) + "|" + where}
	}
	var out []string
	for _, w := range []*replay.Wire{o.dev.A, o.dev.B} {
		if w != nil {
			out = append(out, at+messageKey(w))
		}
	}
	return out
}

func (v verdictOnly) traitOf() string { return v.id + "|" + v.driver + "|" + v.failure.Clause }

// dropNoise removes findings that are also found between two runs of one target.
func (f *findings) dropNoise(self *findings) {
	noise, flaky := map[string]bool{}, map[string]bool{}
	for _, o := range self.all {
		for _, t := range o.commonTraits() {
			noise[t] = true
		}
	}
	for _, v := range self.alone {
		flaky[v.traitOf()] = true
	}
	f.all = slices.DeleteFunc(f.all, func(o occurrence) bool {
		return slices.ContainsFunc(o.commonTraits(), func(t string) bool { return noise[t] })
	})
	f.alone = slices.DeleteFunc(f.alone, func(v verdictOnly) bool { return flaky[v.traitOf()] })
}

// dropUnconfirmed removes the doubted findings that are not found again. If fewer than half of a difference's doubted
// scenarios confirm it, its scenarios that did not run again are removed too.
func (f *findings) dropUnconfirmed(again *findings, doubted map[doubt]bool) {
	there := map[doubt]bool{}
	for _, o := range again.all {
		there[o.doubt()] = true
		for _, d := range o.decided {
			there[doubt{o.place, d.failure.Clause}] = true
		}
	}
	for _, v := range again.alone {
		there[v.doubt()] = true
	}
	left := map[doubt]bool{}
	for _, d := range f.allFindings() {
		left[d] = true
	}
	looked, held := map[string]int{}, map[string]int{}
	for d := range doubted {
		looked[d.key]++
		if there[d] && left[d] {
			held[d.key]++
		}
	}
	gone := func(d doubt) bool {
		return doubted[d] && !there[d] || !doubted[d] && 2*held[d.key] < looked[d.key]
	}
	f.all = slices.DeleteFunc(f.all, func(o occurrence) bool { return gone(o.doubt()) })
	f.alone = slices.DeleteFunc(f.alone, func(v verdictOnly) bool { return gone(v.doubt()) })
}
