package mutants

import (
	"context"
	"crypto/rand"
	"fmt"
	"html"
	"os"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"unicode"

	"github.com/coder/websocket"
	"github.com/go-json-experiment/json"
	"golang.org/x/text/unicode/norm"

	proto "parley/protocol/sessionchat"
	"parley/reference-server/sessionchat"
)

// contentFaults ask the model something other than what the user said.
var contentFaults = map[string]fault{
	"content-trimmed":            saying(strings.TrimSpace),
	"content-trimmed-right":      saying(func(s string) string { return strings.TrimRight(s, "\r\n") }),
	"content-lower-case":         saying(strings.ToLower),
	"content-escaped":            saying(html.EscapeString),
	"content-unescaped":          saying(html.UnescapeString),
	"content-without-markup":     saying(func(s string) string { return tag.ReplaceAllString(s, "") }),
	"content-of-64-kib":          saying(func(s string) string { return strings.ToValidUTF8(head(s, 64<<10), "") }),
	"content-of-100000-letters":  saying(func(s string) string { return fmt.Sprintf("%.100000s", s) }),
	"content-up-to-nul":          saying(func(s string) string { head, _, _ := strings.Cut(s, "\x00"); return head }),
	"content-without-nul":        saying(func(s string) string { return strings.ReplaceAll(s, "\x00", "") }),
	"content-without-controls":   saying(func(s string) string { return strings.Map(printable, s) }),
	"content-with-unix-lines":    saying(func(s string) string { return strings.ReplaceAll(s, "\r\n", "\n") }),
	"content-in-one-line":        saying(func(s string) string { return strings.Join(strings.Fields(s), " ") }),
	"content-composed":           saying(norm.NFC.String),
	"content-decomposed":         saying(norm.NFD.String),
	"content-compatible":         saying(norm.NFKC.String),
	"content-of-16-bit":          saying(func(s string) string { return strings.Map(narrow, s) }),
	"content-without-joiners":    saying(func(s string) string { return strings.ReplaceAll(s, "\u200d", "") }),
	"content-without-backslash":  saying(func(s string) string { return strings.ReplaceAll(s, `\`, "") }),
	"content-with-escapes-read":  saying(unquoted),
	"content-as-json":            saying(reencoded),
	"content-with-variables-set": saying(func(s string) string { return os.Expand(s, func(string) string { return "" }) }),
	"content-formatted":          saying(func(s string) string { return strings.ReplaceAll(s, "{0}", "user") }),
	"content-quoted-for-sql":     saying(func(s string) string { return strings.ReplaceAll(s, "'", "''") }),
	"content-in-a-template":      saying(func(s string) string { return "User: " + s }),
	"content-trimmed-later":      trimmedLater,
}

func saying(f func(content string) string) fault {
	return deciding(rules{Content: func(_, content string) string { return f(content) }})
}

// head returns the first n bytes of a text.
func head(s string, n int) string { return s[:min(len(s), n)] }

var tag = regexp.MustCompile(`<[^>]*>`)

// printable drops control characters, except those that occur in any text.
func printable(r rune) rune {
	if unicode.IsControl(r) && !strings.ContainsRune("\t\r\n", r) {
		return -1
	}
	return r
}

// narrow replaces characters outside of UCS-2.
func narrow(r rune) rune {
	if r > 0xffff {
		return unicode.ReplacementChar
	}
	return r
}

// unquoted unescapes a text as if it were a quoted string in a program.
func unquoted(s string) string {
	var b strings.Builder
	for s != "" {
		r, _, rest, err := strconv.UnquoteChar(s, 0)
		if err != nil {
			return b.String() + s
		}
		b.WriteRune(r)
		s = rest
	}
	return b.String()
}

// reencoded treats a text that is JSON as data.
func reencoded(s string) string {
	var v any
	if json.Unmarshal([]byte(s), &v) != nil {
		return s
	}
	return text(v)
}

// trimmedLater passes the first content of a session on unchanged, and inserts later ones into a prompt line by line.
func trimmedLater(o *options) {
	begun := map[string]bool{}
	o.Policy.Content = func(key, s string) string {
		if begun[key] {
			return strings.Join(strings.Fields(s), " ")
		}
		begun[key] = true
		return s
	}
}

// noIDsInErrorOfTurn also reports the failure of a turn by an error that says nothing of its session.
func noIDsInErrorOfTurn(o *options) {
	failed := ended(proto.Failed)
	o.Outbound = func(_ manager, to connInfo, msg message, send sender) {
		if failed(msg) {
			send(to.ID, msg.With("message_type", proto.ErrorMessage).Without("agent_id").Without("session_id"))
		}
		send(to.ID, msg)
	}
}

// typeFaults mistake other messages for chats or the reverse, or fail on texts that are not messages.
var typeFaults = map[string]fault{
	"arrays-are-batches": deciding(rules{Malformed: batches}),
	"junk-ends-sessions": junkEnds,
}

// batches treats a list of messages as its elements.
func batches(_ manager, _ connInfo, data []byte, why *refusal) ([]message, *refusal) {
	var list []message
	if json.Unmarshal(data, &list) != nil {
		return nil, why
	}
	return list, nil
}

// junkEnds cleans up as if the connection had ended when its handler throws, and continues without its sessions.
func junkEnds(o *options) {
	lost, ids := losing(o), noted(o)
	o.Policy.Malformed = func(_ manager, c connInfo, _ []byte, why *refusal) ([]message, *refusal) {
		lost.lose(ids[c.ID]...)
		return nil, why
	}
}

// fileFaults keep each session in a file whose name another agent_id may share.
var fileFaults = map[string]fault{
	"file-names-with-underscores": deciding(rules{Key: func(_ connInfo, agentID string, in sessionchat.Place) string {
		if in == sessionchat.InStore {
			return punctuation.ReplaceAllString(agentID, "_")
		}
		return agentID
	}}),
	"file-names-with-hyphens":        filing(func(id string) string { return punctuation.ReplaceAllString(id, "-") }),
	"file-names-without-punctuation": filing(func(id string) string { return punctuation.ReplaceAllString(id, "") }),
	"file-names-in-lower-case":       filing(strings.ToLower),
}

var punctuation = regexp.MustCompile(`[^A-Za-z0-9]`)

func filing(name func(key string) string) fault {
	return func(o *options) { o.Store = &folder{store: o.Store, name: name, written: map[string]string{}} }
}

// folder is a store that reads only files of an earlier process. Those that it writes replace others of their name.
type folder struct {
	store
	name    func(key string) string
	mu      sync.Mutex
	written map[string]string // by name: the key that was written last
}

func (f *folder) Lookup(ctx context.Context, key string) (record, bool, error) {
	f.mu.Lock()
	by, found := f.written[f.name(key)]
	f.mu.Unlock()
	if found && by != key {
		return record{}, false, nil
	}
	return f.store.Lookup(ctx, f.name(key))
}

func (f *folder) Save(ctx context.Context, key, sessionID string, t *turn) error {
	f.mu.Lock()
	f.written[f.name(key)] = key
	f.mu.Unlock()
	return f.store.Save(ctx, f.name(key), sessionID, t)
}

// requiredFaults mishandle a chat whose required fields are missing or malformed.
var requiredFaults = map[string]fault{
	"agent-id-of-last-chat": ofLastChat,
	"agent-id-becomes-text": reading("agent_id", isScalar, text),
	"agent-id-serialised":   reading("agent_id", isComposite, text),
	"agent-id-missing-1011": without("agent_id", closeWith(websocket.StatusInternalError)),

	"content-becomes-text":      reading("content", isScalar, text),
	"content-serialised":        reading("content", isComposite, text),
	"content-of-parts":          reading("content", isComposite, parts),
	"content-refused-too-late":  without("content", askFirst),
	"content-checked-too-late":  without("content", createFirst),
	"content-missing-1011":      without("content", closeWith(websocket.StatusInternalError)),
	"content-missing-1000":      without("content", closeWith(websocket.StatusNormalClosure)),
	"content-only-ascii":        onlyContent(func(s string) bool { return strings.IndexFunc(s, isForeign) < 0 }),
	"content-of-three-letters":  onlyContent(func(s string) bool { return len([]rune(s)) >= 3 }),
	"content-of-printable-only": onlyContent(func(s string) bool { return strings.Map(printable, s) == s }),
	"content-of-64-kib-at-most": onlyContent(func(s string) bool { return len(s) <= 64<<10 }),
	"refused-chat-ends-session": refusalEnds,
}

func setDefault(msg message, field, value string) {
	if _, present := msg[field]; !present {
		msg[field] = value
	}
}

// reading converts a field of a chat to a string if its value is of some kind.
func reading(field string, kind func(v any) bool, as func(v any) string) fault {
	return misreading(proto.ChatType, func(msg message) {
		if v, present := msg[field]; present && kind(v) {
			msg[field] = as(v)
		}
	})
}

func isScalar(v any) bool {
	switch v.(type) {
	case bool, sessionchat.Number:
		return true
	}
	return false
}

func isComposite(v any) bool {
	switch v.(type) {
	case []any, object:
		return true
	}
	return false
}

func isForeign(r rune) bool { return r > unicode.MaxASCII }

// text returns a value as a string: its JSON, or a word for null.
func text(v any) string {
	if v == nil {
		return "None"
	}
	data, err := json.Marshal(v, json.Deterministic(true))
	if err != nil {
		return fmt.Sprint(v)
	}
	return string(data)
}

// parts joins the texts of multimodal content.
func parts(v any) string {
	switch v := v.(type) {
	case string:
		return v
	case object:
		s, _ := v["text"].(string)
		return s
	case []any:
		var all []string
		for _, part := range v {
			all = append(all, parts(part))
		}
		return strings.Join(all, "\n")
	}
	return ""
}

// onlyContent refuses other contents.
func onlyContent(good func(content string) bool) fault {
	return deciding(rules{Accept: refusing(proto.InvalidMessage, "content is malformed",
		func(_ manager, _ connInfo, msg message) bool {
			content, _ := msg["content"].(string)
			return asked(msg) != "" && !good(content)
		})})
}

// ofLastChat treats a chat without agent_id as one of the session that its connection used last.
func ofLastChat(o *options) {
	ids := used{}
	o.Inbound = noting(func(_ manager, from connInfo, msg message) {
		if last := ids.last(from.ID); msg["type"] == proto.ChatType && last != "" {
			setDefault(msg, "agent_id", last)
		}
		ids.note(from, msg)
	})
}

// without handles a chat differently if a field is missing or not a string.
func without(field string, instead inbound) fault {
	return receiving(taking(proto.ChatType, func(m manager, from connInfo, msg message) []message {
		if _, isString := msg[field].(string); !isString {
			return instead(m, from, msg)
		}
		return []message{msg}
	}))
}

func closeWith(code websocket.StatusCode) inbound {
	return func(m manager, from connInfo, _ message) []message {
		m.End(from.ID, code, "")
		return nil
	}
}

// askFirst refuses the message only after it has asked the model.
func askFirst(_ manager, _ connInfo, msg message) []message {
	return []message{msg.With("content", text(msg["content"])), msg}
}

// createFirst refuses the message only after it has created the session.
func createFirst(m manager, from connInfo, msg message) []message {
	if id := agentOf(msg); id != "" {
		m.Send(from.ID, announcement(id, rand.Text()))
	}
	return []message{msg}
}

// refusalEnds removes the session that a refused chat names, as after a failure.
func refusalEnds(o *options) {
	lost := losing(o)
	o.Policy.Accept = func(m manager, c connInfo, msg message) *refusal {
		no := correct.Accept(m, c, msg)
		if id := agentOf(msg); no != nil && msg["type"] == proto.ChatType && id != "" {
			lost.lose(id)
		}
		return no
	}
}
