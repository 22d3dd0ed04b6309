package main

import (
	"context"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	"parley/driver/browser"
	sight "parley/driver/browser/look"
	"parley/target"
)

// pageProbe opens a page and looks for what it is used by.
type pageProbe struct {
	notebook
	profile *target.Profile
	base    string
	browser *browser.Driver
	found   map[string]string // hooks, by their keys
}

// likely is where an element of a page is likely to be.
type likely struct {
	key   string   // of agent-client.hooks
	what  string   // in words
	hooks []string // besides that of the default binding, the likeliest first
	says  []string // what a button says
	fits  func(sight.Control) bool
}

// likelyPlaces are where elements are likely to be, in the order in which they are looked for: what one key has found is no other's.
var likelyPlaces = []likely{
	{key: "server-url", what: "field for the server's address", fits: isField, hooks: []string{
		`input[type=url]`, `input[id*=server i]`, `input[name*=server i]`, `input[placeholder^=http i]`, `input[id*=url i]`,
		`input[id*=address i]`, `input[id*=endpoint i]`, `input[aria-label*=服务器]`, `input[placeholder*=服务器]`}},
	{key: "connect", what: "button", fits: isButton, says: []string{"连接", "连接服务器", "Connect"}},
	{key: "disconnect", what: "button", fits: isButton, says: []string{"断开", "断开连接", "Disconnect"}},
	{key: "selector", what: "select element of the agents", fits: isSelect, hooks: []string{
		`select[id*=agent i]`, `select[name*=agent i]`, `select[aria-label*=agent i]`, `select[aria-label*=代理]`, `select`}},
	{key: "new-session", what: "button", fits: isButton, says: []string{
		"新建会话", "新会话", "新建对话", "新对话", "New session", "New Session", "New chat", "New Chat", "New conversation"}},
	{key: "message", what: "field for the user's message", fits: isField, hooks: []string{
		`textarea`, `input[id*=message i]`, `input[name*=message i]`, `input[placeholder*=message i]`, `input[placeholder*=消息]`,
		`[contenteditable]:not([contenteditable=false])`}},
	{key: "send", what: "button", fits: isButton, says: []string{"发送", "Send"}},
	{key: "abort", what: "button", fits: isButton, says: []string{"终止", "停止", "中止", "Abort", "Stop"}},
	{key: "sessions", what: "list of sessions", fits: isBox, hooks: boxes("", "sessions", "session-list", "sessionlist", "chats",
		"conversations", "history")},
	{key: "log", what: "event log", fits: isBox, hooks: boxes(`:not([id*=dialog i],[id*=login i],[id*=logo i],[id*=catalog i])`,
		"event-log", "eventlog", "journal", "events", "log")},
	{key: "chat", what: "box of the chat", fits: isBox, hooks: append(boxes("", "chat-box", "chatbox", "messages", "conversation",
		"talk", "transcript"), append([]string{`[role=log]`}, boxes(`:not([id*=history i],[id*=chats i])`, "chat")...)...)},
}

// boxes are hooks of what contains something, with one of the words in its id or, less likely, its class.
func boxes(without string, words ...string) []string {
	const tags = ":is(div,section,article,main,aside,nav,ul,ol,table,tbody,pre)"
	var ids, classes []string
	for _, w := range words {
		ids = append(ids, fmt.Sprintf("%s[id*=%q i]%s", tags, w, without))
		classes = append(classes, fmt.Sprintf("%s[class*=%q i]%s", tags, w, strings.ReplaceAll(without, "[id", "[class")))
	}
	return append(ids, classes...)
}

func isField(c sight.Control) bool {
	return c.Tag == "input" || c.Tag == "textarea" || !slices.Contains([]string{"button", "select", "option", "label"}, c.Tag)
}

func isSelect(c sight.Control) bool { return c.Tag == "select" }

func isBox(c sight.Control) bool {
	return !slices.Contains([]string{"input", "button", "select", "textarea"}, c.Tag)
}

func isButton(c sight.Control) bool {
	return !slices.Contains([]string{"select", "option", "textarea", "label", "form", "body"}, c.Tag)
}

// candidates are the hooks by which an element is looked for, the likeliest first.
func (l likely) candidates() []string {
	out := append([]string{hooksOf(target.DefaultAgentClient().Hooks)[l.key]}, l.hooks...)
	for _, text := range l.says {
		out = append(out, "text="+text)
	}
	return out
}

// missed says what was looked for in vain.
func (l likely) missed() string {
	if len(l.says) > 0 {
		return "no " + l.what + " that says " + either(l.says)
	}
	return "no " + l.what + " was recognised"
}

// all looks for everything, and connects the page where that was found.
func (p *pageProbe) all(ctx context.Context) error {
	controls := map[string]string{}
	for _, l := range likelyPlaces {
		for _, hook := range l.candidates() {
			controls[l.key+" "+hook] = hook
		}
	}
	v, err := openVisit(ctx, p.browser, p.profile, p.base, controls)
	if err != nil {
		return cannotOpen(p.profile, p.base, err)
	}
	defer v.close()
	l, err := v.look(ctx)
	if err != nil {
		return fmt.Errorf("look at the page: %w", err)
	}
	p.recognise(l)
	return p.asks(ctx)
}

// cannotOpen tells that a page cannot be opened.
func cannotOpen(p *target.Profile, base string, err error) error {
	return &target.StartError{Command: []string{base + p.AgentClient.Page}, Reason: "cannot be opened", Err: err}
}

// recognise takes from a look what is likely what.
func (p *pageProbe) recognise(l sight.Look) {
	p.found = map[string]string{}
	taken := map[sight.Rect]bool{}
	for _, place := range likelyPlaces {
		hook, c := place.pick(l, taken)
		if hook == "" {
			p.note("no "+place.key, "%s", place.missed())
			continue
		}
		taken[c.Rect] = c.Visible
		p.found[place.key] = hookOf(c, hook)
		p.note(place.key, "%s, by %s", seenAs(c), byWhat(place.key, hook))
	}
}

// wordy is what a hook of a box goes by.
var wordy = regexp.MustCompile(`\[(id|class)\*="([^"]*)"`)

// byWhat says what a hook of a key goes by.
func byWhat(key, hook string) string {
	if hook == hooksOf(target.DefaultAgentClient().Hooks)[key] {
		return "the id of the default binding"
	}
	if text, ok := target.ByText(hook); ok {
		return fmt.Sprintf("the text %q", text)
	}
	if m := wordy.FindStringSubmatch(hook); m != nil && strings.HasPrefix(hook, ":is(") {
		return fmt.Sprintf("the word %q in its %s", m[2], m[1])
	}
	return hook
}

// pick is the likeliest hook that has found something which no other has, and what that is. What says more than it should comes
// after what says just that.
func (l likely) pick(look sight.Look, taken map[sight.Rect]bool) (string, sight.Control) {
	for _, exactly := range []bool{true, false} {
		for _, hook := range l.candidates() {
			c := look.Controls[l.key+" "+hook]
			text, byText := target.ByText(hook)
			if c.Found && l.fits(c) && !taken[c.Rect] && (!byText || !exactly || text == strings.TrimSpace(c.Text) || text == c.Value) {
				return hook, c
			}
		}
	}
	return "", sight.Control{}
}

// plainID is an id that somebody has thought of; others are made when the page is, and may be others the next time.
var plainID = regexp.MustCompile(`\A[A-Za-z_][A-Za-z0-9_-]*\z`)

// hookOf is how a profile names an element: by its id, where it has a plain one.
func hookOf(c sight.Control, hook string) string {
	if plainID.MatchString(c.ID) {
		return "#" + c.ID
	}
	return hook
}

// asks connects the page in a second visit, by what was found, and sees what it asks of its server.
func (p *pageProbe) asks(ctx context.Context) error {
	if p.found["connect"] == "" {
		p.note("unseen", "what it asks of its server: nothing that connects it was found")
		return nil
	}
	knowing := *p.profile
	knowing.AgentClient.Hooks.ServerURL = p.found["server-url"]
	controls := maps.Clone(p.found)
	for _, key := range []string{"selector", "sessions"} {
		for _, hook := range listing(key) {
			controls[key+" "+hook] = hook
		}
	}
	v, err := openVisit(ctx, p.browser, &knowing, p.base, controls)
	if err != nil {
		return cannotOpen(p.profile, p.base, err)
	}
	defer v.close()
	v.offers.Store(true)
	if err := v.connect(ctx); err != nil {
		p.note("unseen", "what it asks of its server: the user cannot connect: %v", err)
		return nil
	}
	asked, stream := v.asked(ctx), p.profile.AgentSelect.SSE.Stream
	switch {
	case len(asked) == 0:
		p.note("unseen", "it asked its server for nothing when the user connected: see hooks.server-url, hooks.connect, and server.parameter")
	case !slices.ContainsFunc(asked, func(label string) bool { return asksFor(label, stream) }):
		p.note("unseen", "it did not ask for %s %s when the user connected, but for %s: see agent-select.sse", stream.Method, stream.Path,
			strings.Join(asked, ", "))
	default:
		p.note("requests", "when the user connected it asked for %s", strings.Join(asked, ", "))
		p.lists(ctx, v)
	}
	return nil
}
