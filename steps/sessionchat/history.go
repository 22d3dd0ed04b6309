package sessionchat

import (
	"fmt"
	"slices"
	"strings"

	"parley/internal/llm"
	vocab "parley/protocol/sessionchat"
	"parley/steps"
	"parley/steps/sessionchat/model"
)

// earlierTurnsSent judges that a session continues: the request for its last turn contains the earlier ones (SC-008,
// SC-016).
func (s *suite) earlierTurnsSent(name string) error {
	if err := s.needModel(); err != nil {
		return err
	}
	ss := s.session(name)
	want := s.earlier(ss)
	if len(want) == 0 {
		return steps.NotTestedf("%s has no earlier turn that has ended", name)
	}
	t := ss.turn()
	calls := s.calls(t)
	if len(calls) == 0 {
		return steps.NotTestedf("the model was not asked for the last chat of %s", name)
	}
	missing := want
	for _, call := range calls {
		if m := absent(call, want); len(m) < len(missing) {
			missing = m
		}
	}
	clauses := []string{"SC-002", "SC-003", "SC-005", "SC-006", "SC-008", "SC-016", "SC-023", "SC-031", "SC-037", "SC-028",
		"SC-036", "SC-048", "SC-049", "SC-050", "SC-053", "SC-054", "SC-057", "SC-058", "SC-059"}
	if len(missing) == 0 {
		return s.earlierTurnsKept(ss, calls, clauses)
	}
	if err := s.led(ss, t.client); err != nil {
		return err
	}
	expected := fmt.Sprintf("a model request that contains the %d earlier turns of %s", len(want), ss.agentID)
	return s.breach(clauses, t.mark, expected, fmt.Sprintf("%d of them missing, or in another order "+
		"(user text or model answer: %s); its messages: %s",
		len(missing), strings.Join(missing, ", "), spoken(calls[len(calls)-1]))+s.wentWrong(ss, missing))
}

// led returns why it proves nothing that a session does not go on for a client: a balancer may have led it to another
// instance of the target than those that chatted with the session before.
func (s *suite) led(ss *session, client string) error {
	for _, t := range ss.turns {
		if cookie := s.Routed(t.client, client); cookie != "" {
			return steps.NotTestedf("%s does not go on for client %s, and the cookie %s of client %s is another one: a "+
				"balancer may have led them to different instances", ss.name, client, cookie, t.client)
		}
	}
	return nil
}

// wentWrong lists turns that were answered but then reported as failed: the likeliest reason why they are missing.
func (s *suite) wentWrong(ss *session, nonces []string) string {
	var out strings.Builder
	for _, t := range ss.turns {
		if c := s.became(t); slices.Contains(nonces, t.nonce) && c.Outcome() == vocab.Failed {
			fmt.Fprintf(&out, "; the target had ended %s as a failure: %s", t.nonce, steps.Seen(c.Result()))
		}
	}
	return out.String()
}

// absent lists the turns missing from a request: the user's and the model's message must both contain the nonce, and
// the turns must be in their original order. Turns with the same text have the same nonce.
func absent(r llm.Request, nonces []string) []string {
	var out []string
	said, last, had := wholeText(r), -1, map[string]int{}
	for _, n := range nonces {
		first, times := find(said, n)
		if had[n]++; times < 2*had[n] || first < last {
			out = append(out, n)
			continue
		}
		last = first
	}
	return out
}

// earlierTurnsKept judges that one of the requests has the earlier turns as they were spoken.
func (s *suite) earlierTurnsKept(ss *session, calls []llm.Request, clauses []string) error {
	var expected, observed string
	for _, call := range calls {
		if expected, observed = s.altered(ss, call); observed == "" {
			return s.pass(clauses, ss.turn().mark)
		}
	}
	return s.breach(clauses, ss.turn().mark, expected, observed+"; its messages: "+spoken(calls[len(calls)-1]))
}

// altered looks for an earlier turn that a request has in another form than it was spoken: with another text, under
// another role, or in another order. A target may write the conversation into a single message, and add words of its
// own. What it had altered in the request of the turn itself is judged there (SC-019).
func (s *suite) altered(ss *session, r llm.Request) (expected, observed string) {
	nonces, last, had := s.earlier(ss), -1, map[string]int{}
	for _, t := range ss.turns {
		want, isText := t.text.(string)
		if !slices.Contains(nonces, t.nonce) || !isText || len(want) > llm.MaxText || !s.sentWhole(t, want) {
			continue
		}
		asked, answered := nthOf(r, llm.RoleUser, t.nonce, had[t.nonce]), nthOf(r, llm.RoleAssistant, t.nonce, had[t.nonce])
		had[t.nonce]++
		users := r.System
		for _, m := range r.Messages {
			if asked < 0 || m.Role == llm.RoleUser {
				users += "\n" + m.Text
			}
		}
		if want = strings.TrimSpace(want); !strings.Contains(users, want) {
			got := r.Messages[max(asked, answered, 0)].Text
			return "a model request with the earlier text " + model.Excerpt(want, got), "the text " + model.Excerpt(got, want)
		}
		if answer := squeezed(llm.Foretold(want)); answer != "" {
			times := 1 + strings.Count(squeezed(want), answer)
			if strings.Count(squeezed(wholeText(r)), answer) < times {
				return "a model request with the earlier answer " + model.Excerpt(llm.Foretold(want), ""), "it is altered"
			}
		}
		const inTurn = "a model request with each earlier turn as the user's text, and behind it the model's answer"
		switch {
		case asked < 0 && answered >= 0 && !mentions(r.System, t.nonce):
			return inTurn, "the user's text of " + t.nonce + " has the role " + llm.RoleAssistant
		case asked >= 0 && answered < 0 && saysAgain(r.Messages[asked+1:], t.nonce, llm.Foretold(want)):
			return inTurn, "the model's answer of " + t.nonce + " has the role " + llm.RoleUser
		case asked >= 0 && answered >= 0 && (answered < asked || asked < last):
			return inTurn, "the messages of " + t.nonce + " are in another order"
		}
		last = max(last, answered)
	}
	return "", ""
}

// sentWhole reports whether the model was asked for a turn with its text unchanged.
func (s *suite) sentWhole(t *turn, text string) bool {
	return slices.ContainsFunc(s.calls(t), func(call llm.Request) bool {
		return slices.ContainsFunc(newest(call), func(said string) bool {
			return strings.Contains(said, strings.TrimSpace(text))
		})
	})
}

// nthOf returns the index of a message of a role that mentions a nonce, after n others; -1 if there is none.
func nthOf(r llm.Request, role, nonce string, n int) int {
	for i, m := range r.Messages {
		if m.Role != role || !mentions(m.Text, nonce) {
			continue
		}
		if n == 0 {
			return i
		}
		n--
	}
	return -1
}

// saysAgain reports whether one of the messages is an answer with a nonce, and nothing else.
func saysAgain(messages []llm.Message, nonce, answer string) bool {
	return slices.ContainsFunc(messages, func(m llm.Message) bool {
		return mentions(m.Text, nonce) && squeezed(m.Text) == squeezed(answer)
	})
}

// wholeText returns all texts of a request.
func wholeText(r llm.Request) string {
	var all strings.Builder
	all.WriteString(r.System)
	for _, m := range r.Messages {
		all.WriteString("\n" + m.Text)
	}
	return all.String()
}

// squeezed returns a text without white space: a target may put the pieces of an answer together in its own way.
func squeezed(text string) string { return strings.Join(strings.Fields(text), "") }

// earlier returns the nonces of the session's turns before the last that were fully answered.
func (s *suite) earlier(ss *session) []string {
	var out []string
	for _, t := range ss.turns[:max(len(ss.turns)-1, 0)] {
		if s.became(t).Whole() {
			out = append(out, t.nonce)
		}
	}
	return out
}

// holds reports whether a nonce occurs in the conversation of a request.
func holds(r llm.Request, nonce string) bool {
	mentioned := func(m llm.Message) bool { return mentions(m.Text, nonce) }
	return mentions(r.System, nonce) || slices.ContainsFunc(r.Messages, mentioned)
}

// mentions reports whether a text mentions a nonce.
func mentions(said, nonce string) bool {
	_, times := find(said, nonce)
	return times > 0
}

// find returns the position where a text first mentions a nonce, and how often it does, not counting prefixes of
// longer ones.
func find(said, nonce string) (first, times int) {
	first = -1
	for at := 0; nonce != ""; {
		i := strings.Index(said[at:], nonce)
		if i < 0 {
			break
		}
		end := at + i + len(nonce)
		if end == len(said) || said[end] < '0' || said[end] > '9' {
			if times++; times == 1 {
				first = at + i
			}
		}
		at = end
	}
	return first, times
}

// noForeignTurns judges that sessions do not share their context (SC-027).
func (s *suite) noForeignTurns(name string) error {
	if err := s.needModel(); err != nil {
		return err
	}
	t, err := s.askedTurn(name)
	if err != nil {
		return err
	}
	return s.noStrangers(t.of, t.of.turns, "no turn of another session in a model request of "+t.of.agentID,
		[]string{"SC-004", "SC-009", "SC-017", "SC-027", "SC-057", "SC-060"})
}

// noStrangers judges that the requests for these turns of a session have no other turn.
func (s *suite) noStrangers(ss *session, turns []*turn, expected string, clauses []string) error {
	for _, mine := range turns {
		for _, call := range s.calls(mine) {
			if foreign := strangers(call, turns); len(foreign) > 0 {
				s.straysIntoModel(ss, foreign)
				return s.breach(clauses, mine.mark, expected,
					fmt.Sprintf("the turn %s; the user's texts in it: %s", foreign[0], quoted(userTexts(call))))
			}
		}
	}
	return s.pass(clauses, turns[len(turns)-1].mark)
}

// strangers returns the nonces of directives in a request that belong to none of these turns, but to another session
// of this or any other scenario.
func strangers(r llm.Request, own []*turn) []string {
	mine := map[string]bool{}
	for _, t := range own {
		mine[t.nonce] = true
	}
	var out []string
	for _, m := range append([]llm.Message{{Text: r.System}}, r.Messages...) {
		for _, d := range llm.Directives(m.Text) {
			if !mine[d.Nonce] {
				out = append(out, d.Nonce)
			}
		}
	}
	return out
}

// askedAgain judges that the model was asked for a chat with the text of an earlier one (SC-019).
func (s *suite) askedAgain(name string) error {
	t, err := s.askedTurn(name)
	if err != nil {
		return err
	}
	clauses := []string{"SC-019"}
	if len(s.calls(t)) > t.before {
		return s.pass(clauses, t.mark)
	}
	observed := "no request: the model was asked for the earlier one only"
	if end := s.became(t).Result(); end.N > 0 {
		observed += ", and the chat was answered by " + steps.Seen(end)
	}
	return s.breach(clauses, t.mark, "a model request for the chat, although its text is that of an earlier one: "+
		quoted([]string{fmt.Sprint(t.text)}), observed)
}
