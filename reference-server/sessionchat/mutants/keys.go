package mutants

import (
	"context"
	"errors"
	"html"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/text/unicode/norm"

	proto "parley/protocol/sessionchat"
	"parley/reference-server/sessionchat"
)

// keyFaults mistake one agent_id for another.
var keyFaults = map[string]fault{
	"folds-case":               keyed(strings.ToLower),
	"trims-agent-id":           keyed(strings.TrimSpace),
	"chomps-agent-id":          keyed(func(id string) string { return strings.TrimRight(id, "\r\n") }),
	"composes-agent-id":        keyed(norm.NFC.String),
	"agent-id-of-64-bytes":     keyed(func(id string) string { return head(id, 64) }),
	"ignores-agent-id":         keyed(func(string) string { return "the session" }),
	"finds-by-prefix":          finding(func(known, id string) bool { return strings.HasPrefix(known, id) }),
	"finds-by-pattern":         finding(func(known, id string) bool { return like(id, "").MatchString(known) }),
	"finds-by-pattern-anycase": finding(func(known, id string) bool { return like(id, "i").MatchString(known) }),
	"agent-ids-are-ascii":      refusingIDs(isForeign),
	"agent-ids-lose-letters":   keyed(func(id string) string { return strings.Map(latin, id) }),
	"agent-ids-of-an-object":   receiving(taking(proto.ChatType, dropsMembers)),
	"a-file-per-agent-id":      func(o *options) { o.Store = files{o.Store} },
}

// keyed looks up sessions by a key other than the agent_id, but messages carry the agent_id as sent.
func keyed(f func(agentID string) string) fault {
	return deciding(rules{Key: func(_ connInfo, agentID string, _ sessionchat.Place) string { return f(agentID) }})
}

// latin replaces letters that the column's character set lacks.
func latin(r rune) rune {
	if r > 0xff {
		return '?'
	}
	return r
}

// dropsMembers loses chats with an agent_id that every object of JavaScript has as a member.
func dropsMembers(_ manager, _ connInfo, msg message) []message {
	switch asked(msg) {
	case "constructor", "__proto__", "toString", "valueOf", "hasOwnProperty":
		return nil
	}
	return []message{msg}
}

// finding uses the first matching session, and makes one if there is none.
func finding(matches func(known, agentID string) bool) fault {
	return func(o *options) {
		var known []string
		keyed(func(agentID string) string {
			i := slices.IndexFunc(known, func(k string) bool { return matches(k, agentID) })
			if i >= 0 {
				return known[i]
			}
			known = append(known, agentID)
			return agentID
		})(o)
	}
}

// like returns a regexp equivalent to SQL's LIKE with that pattern.
func like(pattern, flags string) *regexp.Regexp {
	quoted := strings.NewReplacer("%", ".*", "_", ".").Replace(regexp.QuoteMeta(pattern))
	return regexp.MustCompile(`(?s` + flags + `)\A` + quoted + `\z`)
}

// refusingIDs requires agent_ids to be identifiers, in which some characters are not allowed.
func refusingIDs(letter func(r rune) bool) fault {
	return deciding(rules{Accept: refusing(proto.InvalidMessage, "agent_id is malformed",
		func(_ manager, _ connInfo, msg message) bool { return strings.ContainsFunc(asked(msg), letter) })})
}

// files is a store with one file per session, named after its agent_id. It creates no folders.
type files struct{ store }

func (f files) Save(ctx context.Context, key, sessionID string, t *turn) error {
	if strings.Contains(key, "/") {
		return errors.New("open " + key + ".json: no such file or directory")
	}
	return f.store.Save(ctx, key, sessionID, t)
}

// echoFaults send back another agent_id than the client sent, in the model's messages.
var echoFaults = map[string]fault{
	"echoes-in-lower-case": echoing(strings.ToLower),
	"echoes-trimmed":       echoing(strings.TrimSpace),
	"echoes-composed":      echoing(norm.NFC.String),
	"echoes-escaped":       echoing(html.EscapeString),
	"echoes-a-clean-path":  echoing(path.Clean),
	"echoes-64-bytes":      echoing(func(id string) string { return head(id, 64) }),
	"echoes-a-number":      rewriting(ofModel, numbered),
	"ids-swapped":          rewriting(ofTurn, swapped),
}

func echoing(f func(agentID string) string) fault {
	return rewriting(ofModel, func(msg message) message { return msg.With("agent_id", f(agentOf(msg))) })
}

// numbered sends an agent_id of digits as a number, as PHP's array keys do.
func numbered(msg message) message {
	if n, err := strconv.ParseInt(agentOf(msg), 10, 64); err == nil && strconv.FormatInt(n, 10) == agentOf(msg) {
		return msg.With("agent_id", sessionchat.Number(agentOf(msg)))
	}
	return msg
}

func swapped(msg message) message {
	return msg.With("agent_id", msg["session_id"]).With("session_id", msg["agent_id"])
}
