package probe

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"parley/internal/words"
	"parley/steps/agentclient/binding"
	"parley/steps/agentclient/visit"
	"parley/transport/driver/browser/snapshot"
)

// likely describes where an element of a page is likely to be.
type likely struct {
	key   string   // key in agent-client.hooks
	what  string   // description
	hooks []string // besides that of the default binding, likeliest first
	says  []string // likely texts of a button
	fits  func(snapshot.Control) bool
}

// likelyPlaces lists where elements are likely to be, in search order: an element belongs to the first key that finds
// it.
var likelyPlaces = []likely{
	{key: "server-url", what: "field for the server's address", fits: isField, hooks: []string{
		`input[type=url]`, `input[id*=server i]`, `input[name*=server i]`, `input[placeholder^=http i]`, `input[id*=url i]`,
		`input[id*=endpoint i]`, `input[id*=addr i]`, `input[class*=server i]`,
		`input[class*=addr i]`, `input[aria-label*=服务器]`, `input[placeholder*=服务器]`, `input[value^=http i]`}},
	{key: "connect", what: "button", fits: isButton, says: []string{"连接", "连接服务器", "Connect"}},
	{key: "disconnect", what: "button", fits: isButton, says: []string{"断开", "断开连接", "Disconnect"}},
	{key: "selector", what: "select element of the agents", fits: isSelect, hooks: []string{
		`select[id*=agent i]`, `select[name*=agent i]`, `select[aria-label*=agent i]`, `select[aria-label*=代理]`, `select`}},
	{key: "new-session", what: "button", fits: isButton, says: []string{
		"新建会话", "新会话", "新建对话", "新对话", "New session", "New Session", "New chat", "New Chat", "New conversation"}},
	{key: "message", what: "field for the user's message", fits: isField, hooks: []string{
		`textarea`, `input[id*=message i]`, `input[name*=message i]`, `input[placeholder*=message i]`,
		`input[placeholder*=消息]`,
		`input[class*=message i]`, `input[id*=msg i]`, `input[id*=text i]`,
		`input[id*=prompt i]`, `input[id*=draft i]`, `input[class*=draft i]`,
		`[contenteditable]:not([contenteditable=false])`}},
	{key: "send", what: "button", fits: isButton, says: []string{"发送", "Send"}},
	{key: "abort", what: "button", fits: isButton, says: []string{"终止", "停止", "中止", "Abort", "Stop"}},
	{key: "sessions", what: "list of sessions", fits: isBox, hooks: boxes("", "sessions", "session-list", "sessionlist",
		"chats", "conversations", "history")},
	{key: "log", what: "event log", fits: isBox, hooks: boxes(
		`:not([id*=dialog i],[id*=login i],[id*=logo i],[id*=catalog i])`,
		"event-log", "eventlog", "journal", "events", "log")},
	{key: "chat", what: "box of the chat", fits: isBox, hooks: append(boxes("", "chat-box", "chatbox", "messages",
		"conversation", "talk", "transcript", "lines", "thread"),
		append([]string{`[role=log]`}, boxes(`:not([id*=history i],[id*=chats i])`, "chat")...)...)},
}

// boxes returns hooks for containers with one of the words in the id or, less likely, the class.
func boxes(without string, words ...string) []string {
	const tags = ":is(div,section,article,main,aside,nav,ul,ol,table,tbody,pre)"
	var ids, classes []string
	for _, w := range words {
		ids = append(ids, fmt.Sprintf("%s[id*=%q i]%s", tags, w, without))
		classes = append(classes, fmt.Sprintf("%s[class*=%q i]%s", tags, w, strings.ReplaceAll(without, "[id", "[class")))
	}
	return append(ids, classes...)
}

func isField(c snapshot.Control) bool {
	return !slices.Contains([]string{"button", "select", "option", "label"}, c.Tag)
}

func isSelect(c snapshot.Control) bool { return c.Tag == "select" }

func isBox(c snapshot.Control) bool {
	return !slices.Contains([]string{"input", "button", "select", "textarea"}, c.Tag)
}

func isButton(c snapshot.Control) bool {
	return !slices.Contains([]string{"select", "option", "textarea", "label", "form", "body"}, c.Tag)
}

// candidates returns the hooks to try for an element, likeliest first.
func (l likely) candidates() []string {
	out := append([]string{visit.Hooks(binding.Default().Hooks)[l.key]}, l.hooks...)
	for _, text := range l.says {
		out = append(out, "text="+text)
	}
	return out
}

// missed describes what was not found.
func (l likely) missed() string {
	if len(l.says) > 0 {
		return "no " + l.what + " that says " + words.Either(l.says)
	}
	return "no " + l.what + " was recognised"
}

// wordy matches the words in a hook of a box.
var wordy = regexp.MustCompile(`\[(id|class)\*="([^"]*)"`)

// byWhat describes what a hook of a key matches.
func byWhat(key, hook string) string {
	if hook == visit.Hooks(binding.Default().Hooks)[key] {
		return "the id of the default binding"
	}
	if text, ok := binding.ByText(hook); ok {
		return fmt.Sprintf("the text %q", text)
	}
	if m := wordy.FindStringSubmatch(hook); m != nil && strings.HasPrefix(hook, ":is(") {
		return fmt.Sprintf("the word %q in its %s", m[2], m[1])
	}
	return hook
}

// pick returns the likeliest hook that finds an element not yet taken, and that element. Elements with more text than
// expected come after those with just that text.
func (l likely) pick(page snapshot.Page, taken map[snapshot.Rect]bool) (string, snapshot.Control) {
	for _, exactly := range []bool{true, false} {
		for _, hook := range l.candidates() {
			c := page.Controls[l.key+" "+hook]
			text, byText := binding.ByText(hook)
			just := !byText || text == strings.TrimSpace(c.Text) || text == c.Value
			if c.Found && l.fits(c) && !taken[c.Rect] && (just || !exactly) {
				return hook, c
			}
		}
	}
	return "", snapshot.Control{}
}
