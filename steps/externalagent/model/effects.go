package model

import (
	"fmt"
	"slices"
	"strings"

	"parley/features/verdict"
	vocab "parley/protocol/externalagent"
	"parley/transport/transcript"
	wjson "parley/transport/wire/json"
)

// byModel returns the finding that clauses are kept or broken.
func byModel(ok bool, at int, expected, observed string, clauses ...string) verdict.Finding {
	return verdict.Finding{Clauses: clauses, OK: ok, At: at, Expected: expected, Observed: observed,
		Judge: verdict.ByModel}
}

// Back returns the first place at which a member of a state is no longer as in another one, but as in one of a list,
// and that one; at is "" if there is none. bare says that a place with null, or none, counts too.
func (c Comparison) Back(name string, than, now State, as []State, bare bool) (at string, of State) {
	is := c.settled(name, now.Member(name))
	for _, at := range Changes(name, c.settled(name, than.Member(name)), is) {
		v, there := wjson.Lookup(is, strings.TrimPrefix(at, name))
		for _, old := range as {
			was, had := wjson.Lookup(c.settled(name, old.Member(name)), strings.TrimPrefix(at, name))
			if had == there && wjson.Equal(was, v) && (bare || v != nil) {
				return at, old
			}
		}
	}
	return "", of
}

// Left returns what a state of a session contains of an earlier session, or "": one of the texts of that, or what has
// become so later in it than at the state's own place i among its states.
func (c Comparison) Left(now State, texts []string, earlier []State, i int) string {
	said := wjson.Compact(now.History) + wjson.Compact(now.UI)
	for _, word := range texts {
		if strings.Contains(said, word) {
			return "it is still there: " + word
		}
	}
	if len(earlier) == 0 {
		return ""
	}
	for _, name := range Members {
		if at, _ := c.Back(name, earlier[i], now, earlier[i+1:], false); at != "" {
			return at + " is unchanged from the previous session"
		}
	}
	return ""
}

// Clean judges that a state contains nothing of an earlier session: what Left says.
func (c Comparison) Clean(now State, left string) verdict.Finding {
	return byModel(left == "", now.N, "no effect of actions in the previous session", left, "EA-011")
}

// AsBefore judges that a state is as at the same place of an earlier session.
func (c Comparison) AsBefore(before, now State) verdict.Finding {
	if d := c.Difference(before, now); d != "" {
		return Unlike(now.N, d, fmt.Sprintf("the state of the session before at this point, record %d", before.N), "EA-011")
	}
	return byModel(true, now.N, "", "", "EA-011")
}

// Proceeds judges that the booking does not proceed in a session as in the one before; why says how.
func Proceeds(at int, why string) verdict.Finding {
	return byModel(false, at, "a session in which the booking proceeds as in the previous one", why, "EA-011")
}

// Fallen describes what a state has lost of the last one of a list: a value that is once more what it was in an earlier
// one, or, unless it is the first that comes after a pause, entries of the history. It returns "" if nothing was lost.
func (c Comparison) Fallen(list []State, now State, first bool) string {
	last := list[len(list)-1]
	back := slices.Clone(list)
	slices.Reverse(back)
	for _, name := range []string{vocab.Spec, vocab.ToolSchema} {
		at, old := c.Back(name, last, now, back, true)
		if first && at != "" { // it may show anything but an earlier state as a whole
			at = ""
			for _, o := range back {
				if c.Differs(name, o, now) == "" {
					at, old = name, o
					break
				}
			}
		}
		if at != "" {
			return fmt.Sprintf("%s is again as in record %d: %s", at, old.N, c.Differs(name, last, now))
		}
	}
	was, _ := last.History.([]any)
	if is, ok := now.History.([]any); ok && !first && len(is) < len(was) {
		return fmt.Sprintf("messageHistory has %d entries, and had %d", len(is), len(was))
	}
	return ""
}

// AsLeft judges that an agent that has come back to its study session has lost nothing of the last state that it knew:
// what Fallen says.
func (c Comparison) AsLeft(last, now State, lost string) verdict.Finding {
	return byModel(lost == "", now.N, fmt.Sprintf("a snapshot that agrees with the last state before the connection was "+
		"lost, record %d, as nobody has acted since", last.N), lost, "EA-073")
}

// Moved returns how a state differs from the one before refused calls. A host may mention these in the history.
func (c Comparison) Moved(before, now State) string {
	now.History = before.History
	return c.Difference(before, now)
}

// Unmoved judges that refused calls have changed nothing.
func (c Comparison) Unmoved(before, now State) verdict.Finding {
	f := Unlike(now.N, c.Moved(before, now), "refused calls without effect", "EA-074")
	f.OK = c.Moved(before, now) == ""
	return f
}

// Agrees judges that the quick uiSpec of a result, if it has one, does not contradict the state after it: what both
// show must be the same.
func (c Comparison) Agrees(result transcript.Record, now State) []verdict.Finding {
	quick, ok := read(result).body[vocab.Spec].(object)
	if !ok {
		return nil
	}
	at := Contradiction("", c.settled("uiSpec", quick), c.settled("uiSpec", now.UI))
	return []verdict.Finding{byModel(at == "", result.N, "a quick uiSpec that agrees with the next state",
		"they differ at "+at, "EA-075")}
}

// Lost reports whether a state shows nothing at places of the uiSpec at which a call had its effect, compared with the
// state before it.
func (c Comparison) Lost(places []string, before, now State) bool {
	return len(ExceptAt(places, c.Drawn(before, now))) == len(places)
}

// Both judges that a call which a record confirms has had its effect, at those places, although another was sent at
// once.
func (c Comparison) Both(call, other string, answer int, places []string, before, now State) verdict.Finding {
	return byModel(!c.Lost(places, before, now), now.N,
		fmt.Sprintf("the effect of %s, which record %d confirms, beside that of %s, which was sent at once", call, answer,
			other),
		fmt.Sprintf("in record %d, %s is as before both calls: %s", now.N, places[0],
			There(now.UI, strings.TrimPrefix(places[0], vocab.Spec))), "EA-046", "EA-074")
}

// Kept judges that an agent.message has executed no tool and changed nothing in the flow: no tool.result answers it,
// and the tools and the uiSpec are as before it. changed is the first place that has changed otherwise than by showing
// the message.
func (m *Model) Kept(said transcript.Record, now State, changed string) verdict.Finding {
	q := m.asked(said)
	for _, r := range m.historyOf(said.Conn).results {
		if r.N > said.N && r.to == q.name {
			return byModel(false, r.N, "no tool executed by agent.message", r.told(), "EA-008a")
		}
	}
	return byModel(changed == "", now.N, "the uiSpec and the toolSchema as they were before agent.message",
		changed+" has changed", "EA-008a")
}

// OfOthers judges that nothing of another relay session reaches an agent: no message with one of these words, and no
// end of its connection, unless ends is the zero Record.
func OfOthers(records []transcript.Record, ends transcript.Record, words ...string) verdict.Finding {
	if ends.N > 0 {
		return byModel(false, ends.N, "the agent stays in its relay session, regardless of what happens in another",
			read(ends).told(), "EA-025")
	}
	for _, r := range records {
		if r.Kind == transcript.Frame && slices.ContainsFunc(words, func(w string) bool {
			return w != "" && strings.Contains(string(r.Bytes), w)
		}) {
			return byModel(false, r.N, "no message from another relay session", read(r).told(), "EA-025")
		}
	}
	return byModel(true, 0, "", "", "EA-025")
}

// Copied judges that what the call of an agent has named and changed in its own state has not become the same in the
// state of an agent in another relay session. Parts that were found to change by themselves count as well, as what has
// changed them may be this. call is the one in the other session; before and now are the states around it here.
func Copied(call transcript.Record, theirs, its, before, now State) verdict.Finding {
	params, _ := read(call).body[vocab.Params].(object)
	changed := Changes("uiSpec", before.UI, now.UI)
	for _, at := range Changes("uiSpec", theirs.UI, its.UI) {
		pointer := strings.TrimPrefix(at, vocab.Spec)
		mine, there, was := There(now.UI, pointer), There(its.UI, pointer), There(before.UI, pointer)
		for _, v := range params {
			text, _ := v.(string)
			if word := wjson.Compact(text); text != "" && mine == there && slices.Contains(changed, at) &&
				strings.Contains(mine, word) && !strings.Contains(was, word) {
				return byModel(false, now.N, fmt.Sprintf("a state as in record %d, regardless of what an agent does in another "+
					"relay session", before.N), fmt.Sprintf("%s is as a call has made it in another relay session: %s", at, mine),
					"EA-025")
			}
		}
	}
	return byModel(true, now.N, "", "", "EA-025")
}

// NoName judges by the strict reading a result that may say only ok, and has no toolName.
func NoName(result transcript.Record, tool string) verdict.Finding {
	return byModel(false, result.N, fmt.Sprintf("payload.toolName is %q, the called tool", tool), read(result).told(),
		"EA-105")
}

// Unfit judges a state of the harness's own host, as a relay has passed it on, in which the next call is not possible.
func Unfit(now State, tool, why string) verdict.Finding {
	return byModel(false, now.N, "the host's state, in which "+tool+" can be called", why, "EA-004", "EA-006", "EA-041",
		"EA-007")
}
