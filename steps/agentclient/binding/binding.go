// Package binding is the page of agent-client in a profile: where it is, and how it is used.
package binding

import (
	"cmp"
	_ "embed"
	"net/url"
	"path/filepath"
	"runtime"
	"strings"
	"time"

	"parley/protocol/agentclient"
	server "parley/steps/agentselect/binding"
	"parley/target"
)

//go:embed example.yaml
var example string

// SessionList is the capability that a profile may declare: the page lists its sessions, and loads one by a click.
const SessionList = server.SessionList

// open is the default of limits.open: the first page waits for its browser to start.
const open = 20 * time.Second

// Kind is what a profile of agent-client may say: the page, and the wire that it expects of its server, over sse.
func Kind() target.Kind {
	return target.Kind{
		Protocol:     agentclient.Protocol,
		Prefix:       "AC",
		Roles:        []string{agentclient.Client},
		Drivers:      []string{target.Browser},
		Capabilities: []string{SessionList},
		Example:      example,
		Ignores:      []string{"model", "tools", "provoke", "agents", "hooks"},
		About: `A folder with an index.html, a file that ends in .html, and a file: URL are pages, judged as agent-client.
A page runs in Chromium or Chrome, found on the PATH unless the profile names the program. Without a browser,
a run without --protocol and --target leaves agent-client out, and a line says so.`,
		Runs: []string{"--target ./dist", "--target http://localhost:5173 --protocol agent-client"},
		Sections: func() []target.Section {
			b := Default()
			return []target.Section{{Key: agentclient.Protocol, Value: &b}, server.Section()}
		},
		Settle:  func(p *target.Profile) { p.Limits.Open.Duration = open },
		Check:   func(c *target.Checker) error { return cmp.Or(check(c), server.CheckWire(c)) },
		Reach:   reach,
		Locate:  splitPage,
		IsPage:  IsPage,
		ForPage: ForPage,
		URLMend: "give agent-client.folder, the url of a page that is served, or a command that serves one",
		URLRest: "agent-client.page",
		Launcher: func(p *target.Profile) target.Launcher {
			if Of(p).Folder == "" {
				return nil
			}
			return launcher{p}
		},
	}
}

func reach(p *target.Profile) target.Reach {
	return target.Reach{
		Served: Of(p).Folder != "", ServedKey: "agent-client.folder", Parallel: Concurrency(),
		Browser: BrowserProgram(p), BrowserKey: "agent-client.browser",
	}
}

// Concurrency is how many scenarios run side by side where the profile does not say. Each has a page, all in one
// browser: one more than there are processors, and 8 at most. More would only take them from each other.
func Concurrency() int { return min(runtime.GOMAXPROCS(0)+1, 8) }

// Of is the page of a profile of agent-client.
func Of(p *target.Profile) *Binding { return target.SectionOf[Binding](p) }

// anyServer stands for the base URL of the scripted server.
const anyServer = "{url}"

// Binding is the page of agent-client: where it is, and how it is used. What it says to its server is the wire of
// agent-select, of which only what sse has counts.
type Binding struct {
	// Folder is that of a static page, relative to the profile, which the harness serves on a loopback port. Default "":
	// the page is at Profile.URL. Folder resolves it.
	Folder string `yaml:"folder"`

	// Page is the path of the page below the folder or the URL, such as /index.html?x=1. Default "/", or "" where the URL
	// has a path that does not end with a slash: it is then the page's own. See PageURL.
	Page string `yaml:"page"`

	// File tells that the page is opened as a file: URL instead of being served: its origin is then null. Default false.
	File bool `yaml:"file"`

	// Browser is the program of the browser, a name on the PATH or a path relative to the profile. Default "": a Chromium
	// that is found on the PATH. BrowserProgram resolves it.
	Browser string `yaml:"browser"`

	// Language is what the browser asks for. Default zh-CN.
	Language string `yaml:"language"`

	// Allow are the hosts, each a name or name:port, that the page may ask beside loopback and its own host. Default none.
	Allow []string `yaml:"allow"`

	Server PageServer `yaml:"server"`
	Hooks  PageHooks  `yaml:"hooks"`
}

// PageServer is how the page is told its server's address: by a URL parameter, by the field PageHooks.ServerURL, or by
// both.
type PageServer struct {
	Parameter string `yaml:"parameter"` // name of the URL parameter; default "": none
	Value     string `yaml:"value"`     // what it is told; {url} in it is the scripted server; default {url}
}

// PageHooks are the elements of the page. Each is a CSS selector, or text= and the visible text of a control; see
// ByText. Those whose default is "" may be empty, and so may ServerURL and Sessions.
type PageHooks struct {
	ServerURL  string `yaml:"server-url"`  // the field for the server's address; "": there is none; default #serverUrl
	Connect    string `yaml:"connect"`     // default #connectBtn
	Disconnect string `yaml:"disconnect"`  // default #disconnectBtn
	Selector   string `yaml:"selector"`    // of the agent; default #mainAgentSelect
	NewSession string `yaml:"new-session"` // default #newSessionBtn
	Message    string `yaml:"message"`     // the field for the user's message; default #messageInput
	Send       string `yaml:"send"`        // default #sendBtn
	Abort      string `yaml:"abort"`       // default #abortBtn
	Chat       string `yaml:"chat"`        // default #chatBox
	Log        string `yaml:"log"`         // the event log; default #eventLog

	LogRow     string `yaml:"log-row"`     // an entry of the log; default "": a direct child of it
	LevelInfo  string `yaml:"level-info"`  // what it, or something in it, matches; default "": by class or data-level
	LevelError string `yaml:"level-error"` // the same
	Loading    string `yaml:"loading"`     // visible during a switch; default "": by aria-busy or a change of class
	Dismiss    string `yaml:"dismiss"`     // what closes a dialog that covers the page; default "": nothing
	Sessions   string `yaml:"sessions"`    // the list of sessions; "": there is none; default #sessionList
	Session    string `yaml:"session"`     // an entry of it, which a click loads; default "": a direct child of it
}

// byText is how a hook begins that is no CSS selector.
const byText = "text="

// ByText is the visible text by which a hook of a page finds its control, and whether it does; else it is a CSS
// selector.
func ByText(hook string) (text string, ok bool) { return strings.CutPrefix(hook, byText) }

// For is what the page is told of a scripted server at this base URL.
func (s PageServer) For(server string) string { return strings.ReplaceAll(s.Value, anyServer, server) }

// PageURL is what the browser opens: the page below a base URL (that of a Running), with the URL parameter that names
// the scripted server, if there is one. A file: URL gets index.html where a server would add it.
func (b Binding) PageURL(base, server string) string {
	rest, fragment, hash := strings.Cut(base+b.Page, "#")
	path, query, asked := strings.Cut(rest, "?")
	if b.File && strings.HasSuffix(path, "/") {
		path += "index.html"
	}
	if b.Server.Parameter != "" {
		if query != "" {
			query += "&"
		}
		query += url.QueryEscape(b.Server.Parameter) + "=" + url.QueryEscape(b.Server.For(server))
		asked = true
	}
	if asked {
		path += "?" + query
	}
	if hash {
		path += "#" + fragment
	}
	return path
}

// PageFolder is the folder of Binding.Folder; "" where the page is at a URL.
func PageFolder(p *target.Profile) string {
	folder := Of(p).Folder
	if folder == "" || filepath.IsAbs(folder) {
		return folder
	}
	return filepath.Join(p.Dir, folder)
}

// BrowserProgram is the program of Binding.Browser: a path, or a name that is to be found on the PATH; "" where any
// Chromium will do.
func BrowserProgram(p *target.Profile) string {
	program := Of(p).Browser
	if filepath.Base(program) == program || program == "" || filepath.IsAbs(program) {
		return program
	}
	return filepath.Join(p.Dir, program)
}

// Default is the default binding of agent-client.
func Default() Binding {
	return Binding{
		Page: "/", Language: "zh-CN",
		Server: PageServer{Value: anyServer},
		Hooks: PageHooks{
			ServerURL: "#" + agentclient.ServerURLID,
			Connect:   "#" + agentclient.ConnectID, Disconnect: "#" + agentclient.DisconnectID,
			Selector: "#" + agentclient.SelectorID, NewSession: "#" + agentclient.NewSessionID,
			Message: "#" + agentclient.MessageID, Send: "#" + agentclient.SendID, Abort: "#" + agentclient.AbortID,
			Chat: "#" + agentclient.ChatID, Log: "#" + agentclient.LogID, Sessions: "#" + agentclient.SessionsID,
		},
	}
}
