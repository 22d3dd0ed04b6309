// Package binding is the agent-client section of a profile: where the page is, and how to use it.
package binding

import (
	"cmp"
	_ "embed"
	"net/url"
	"path/filepath"
	"strings"
	"time"

	"parley/protocol/agentclient"
	server "parley/steps/agentselect/binding"
	"parley/target"
)

//go:embed example.yaml
var example string

var defaults = target.Defaults[Binding](example, agentclient.Protocol)

// SessionList is the optional capability of a page that lists its sessions and loads one on a click.
const SessionList = server.SessionList

// open is the default of limits.open: the first page has to wait for the browser to start.
const open = 20 * time.Second

// Kind describes profiles of agent-client: the page, and the wire that it expects from its server, over sse.
func Kind() target.Kind {
	return target.Kind{
		Protocol:     agentclient.Protocol,
		Prefix:       "AC",
		Roles:        []string{agentclient.Client},
		Drivers:      []string{target.Browser},
		Capabilities: []string{SessionList},
		Example:      example,
		Renames:      server.Renames,
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
		Folder: PageFolder(p),
		Served: Of(p).Folder != "", ServedKey: "agent-client.folder", Parallel: Concurrency(),
		Browser: BrowserProgram(p), BrowserKey: "agent-client.browser",
	}
}

// Concurrency is the default number of concurrent scenarios, each of which has a page.
func Concurrency() int { return target.ParallelPages() }

// Of returns the agent-client section of a profile.
func Of(p *target.Profile) *Binding { return target.SectionOf[Binding](p) }

// anyServer stands for the base URL of the scripted server.
const anyServer = "{url}"

// Binding describes the page of agent-client: where it is, and how to use it. Its messages to the server are the wire
// of agent-select; only sse applies.
type Binding struct {
	// Folder is the folder of a static page, relative to the profile, which the harness serves on a loopback port.
	// Default "": the page is at Profile.URL. The function PageFolder resolves it.
	Folder string `yaml:"folder"`

	// Page is the path of the page below the folder or the URL, such as /index.html?x=1. Default "/", or "" if the URL
	// has a path that does not end with a slash, which is then the page's own. See PageURL.
	Page string `yaml:"page"`

	// File opens the page as a file: URL instead of serving it: its origin is then null. Default false.
	File bool `yaml:"file"`

	// Browser is the browser executable: a name on the PATH or a path relative to the profile. Default "": a Chromium
	// found on the PATH. BrowserProgram resolves it.
	Browser string `yaml:"browser"`

	// Language is the browser's preferred language. Default zh-CN.
	Language string `yaml:"language"`

	// Allow lists the hosts, each a name or name:port, that the page may contact besides loopback and its own host.
	// Default none.
	Allow []string `yaml:"allow"`

	Server PageServer `yaml:"server"`
	Hooks  PageHooks  `yaml:"hooks"`
}

// PageServer is how the page gets its server's address: from a URL parameter, from the field PageHooks.ServerURL, or
// both.
type PageServer struct {
	Parameter string `yaml:"parameter"` // name of the URL parameter; default "": none
	Value     string `yaml:"value"`     // its value; {url} stands for the scripted server; default {url}
}

// PageHooks are the elements of the page. Each is a CSS selector, or text= and the visible text of a control (see
// ByText) unless its tag says that it is css. The tag empty says what "" means, where it is allowed. The defaults are
// in the example.
type PageHooks struct {
	ServerURL  string `yaml:"server-url" empty:"there is none"` // field for the server's address
	Connect    string `yaml:"connect"`
	Disconnect string `yaml:"disconnect"`
	Selector   string `yaml:"selector"` // agent selector
	NewSession string `yaml:"new-session"`
	Message    string `yaml:"message"` // field for the user's message
	Send       string `yaml:"send"`
	Abort      string `yaml:"abort"`
	Chat       string `yaml:"chat"`
	Log        string `yaml:"log"` // the event log

	LogRow     string `yaml:"log-row" is:"css" empty:"a direct child of the log"`      // log entry
	LevelInfo  string `yaml:"level-info" is:"css" empty:"class or data-level"`         // an info entry or part of it
	LevelError string `yaml:"level-error" is:"css" empty:"class or data-level"`        // likewise for an error entry
	Loading    string `yaml:"loading" is:"css" empty:"aria-busy or a change of class"` // visible during a switch
	Dismiss    string `yaml:"dismiss" empty:"there is none"`                           // closes a covering dialog
	Sessions   string `yaml:"sessions" empty:"there is none"`                          // list of sessions
	Session    string `yaml:"session" is:"css" empty:"a direct child of the list"`     // its entry, loaded by a click
}

// byText is the prefix of a hook that is not a CSS selector.
const byText = "text="

// ByText returns the visible text by which a hook finds its control, and whether it uses one; otherwise it is a CSS
// selector.
func ByText(hook string) (text string, ok bool) { return strings.CutPrefix(hook, byText) }

// For returns the parameter's value for a scripted server at this base URL.
func (s PageServer) For(server string) string { return strings.ReplaceAll(s.Value, anyServer, server) }

// PageURL returns the URL for the browser to open: the page below a base URL (that of a Running), with the URL
// parameter for the scripted server, if there is one. A file: URL gets index.html where a server would add it.
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

// PageFolder returns the resolved folder of the page; "" if the page is at a URL.
func PageFolder(p *target.Profile) string {
	folder := Of(p).Folder
	if folder == "" || filepath.IsAbs(folder) {
		return folder
	}
	return filepath.Join(p.Dir, folder)
}

// BrowserProgram returns the resolved browser executable: a path, or a name to find on the PATH; "" if any Chromium
// will do.
func BrowserProgram(p *target.Profile) string {
	return p.Program(Of(p).Browser)
}

// Default returns the default binding of agent-client.
func Default() Binding { return defaults() }
