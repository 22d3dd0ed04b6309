// Package target describes what is under test and runs it.
//
// A Profile is read from YAML by Kinds.Load, or made from a bare URL by Kind.ForURL. It names the target (a URL, a
// command, or both), its capabilities, its time limits, and how its wire differs from the default binding. A Launcher
// turns a Profile into a Running target: for a command, a process in its own process group, on a free port, with a
// private scratch folder; for a URL, a check that a server listens there. For a target that connects to the harness
// (Profile.Dials) the order is reversed: its Running is a Caller, which starts the command once the harness has an
// address for it to connect to. For a target that uses its stdin and stdout, the Running is a Piper, which starts the
// command for each connection that needs a process. A page in a folder is served by the harness itself.
//
// The shape of a profile, with every key and its default, is Kind.Example. A protocol brings a Kind, which adds
// sections to a profile for its wire; SectionOf finds them. What only some targets can do is an interface beyond
// Running: Exiter, Caller, Piper, Speaker, Paged, Driven, LogKeeper.
//
// Errors that callers distinguish: *ProfileError (the profile is wrong), *UnreachableError and *StartError (the
// target cannot be reached or started), *NotDeclaredError (the profile gives no way to do what was asked), *HookError
// (a hook failed), *OutsideError (a target names a file outside its log folder).
package target

import (
	"crypto/tls"
	"net/http"
	"slices"
)

// Drivers that a profile may declare.
const (
	SSE     = "sse"
	WS      = "ws"
	Stdio   = "stdio"
	Post    = "post" // requests that are answered by JSON or by an event stream each
	Browser = "browser"
)

// Server is the only role of protocols in which just one party can be under test.
const Server = "server"

// DefaultConcurrency is how many scenarios run in parallel unless the profile says otherwise.
const DefaultConcurrency = 32

// CalledConcurrency is the default for a target that Dials, and over stdio: each scenario has a process.
const CalledConcurrency = 8

// Profile describes what is under test and how its wire differs from the default binding. It is read-only once made,
// and then safe for concurrent use. Kind.New makes one with every default; keys that a file leaves out keep theirs.
type Profile struct {
	// Name is shown in reports. Default: the file's name without its extension, or the URL's host.
	Name string `yaml:"name"`

	// Protocol is the id of the protocol; see Kinds.Protocols. The other defaults depend on it. Default: that of the
	// first kind.
	Protocol string `yaml:"protocol"`

	// Role is the party under test; see Kind.Roles. Default: the first of the protocol.
	Role string `yaml:"role"`

	// URL is the http(s) base URL, without a trailing slash; a path prefix is kept. With a command it is where the
	// started process listens, and may contain {port} or {port2}; its default is then "http://127.0.0.1:{port}". A unix
	// socket is unix:///path.sock, or unix:///path.sock:/base, and may begin with unix://{dir} or unix://{profile}. A
	// target that Dials, PipesOnly, or is served by the harness has none.
	URL string `yaml:"url"`

	// Command starts the target. Nil: the target is already running.
	Command *Command `yaml:"command"`

	// Headers are sent with every request to the target. Values may use ${NAME} for an environment variable.
	Headers map[string]string `yaml:"headers"`

	// TLS says which certificates are accepted and presented at an https URL. Nil: Go's defaults. See TLSConfig.
	TLS *TLS `yaml:"tls"`

	// Drivers are the transports that the target offers, in order of preference. Default: the first of Kind.Drivers.
	Drivers []string `yaml:"drivers"`

	// Capabilities are the optional features that the target claims to have. Features not declared are not applicable;
	// declared but broken ones fail. Default: none.
	Capabilities []string `yaml:"capabilities"`

	// Concurrency is how many scenarios may run in parallel; 0 means Reach.Parallel, CalledConcurrency or
	// DefaultConcurrency, not counting scenarios that wait for something that does not come. See Parallel and
	// ParallelOver.
	Concurrency int `yaml:"concurrency"`

	Limits  Limits  `yaml:"limits"`
	Hooks   Hooks   `yaml:"hooks"`
	Model   *Model  `yaml:"model"` // nil: the target cannot be told the model stub's address; see UsesModel
	Tools   Tools   `yaml:"tools"`
	Provoke Provoke `yaml:"provoke"`
	Agents  Agents  `yaml:"agents"`

	Path    string `yaml:"-"` // the file it was read from; "" if none
	Dir     string `yaml:"-"` // absolute folder of the profile; its relative paths refer to it
	Digest  string `yaml:"-"` // "sha256:<hex>" of the bytes of that file; "" if there is none
	Bundled bool   `yaml:"-"` // of one of the suite's own targets, or of a mutant
	// Secrets are values that came from ${NAME}, and the credentials in addresses and paths. Writers of transcripts and
	// reports redact them. Parameters has those that are parameters of a path, by name, as they are written there.
	Secrets    []string          `yaml:"-"`
	Parameters map[string]string `yaml:"-"`

	Sections []Section `yaml:"-"` // the keys that the protocol adds; see SectionOf

	kind Kind
	tls  *tls.Config // made from TLS; nil: Go's defaults
}

// Command starts and stops the target's process. In Run, Dir and Env these placeholders are replaced:
//
//	{port}     the free loopback port that was picked for this process
//	{port2}    a second one, for a program that listens twice
//	{url}      the base URL, with that port
//	{dir}      a private scratch folder of this process, removed when it is stopped
//	{profile}  the folder of the profile
//	{model}    the base URL of the model stub; empty when there is none
//
// The process also has them in its environment as PARLEY_PORT, PARLEY_PORT2, PARLEY_URL, PARLEY_DIR,
// PARLEY_PROFILE_DIR and PARLEY_MODEL_URL. For a target that Dials, {url} and {port} are those of the WebSocket to
// connect to, and there is one more, PARLEY_SESSION:
//
//	{session}  the relay session to join
//
// If the target may be reached over stdio, PARLEY_DRIVER tells it how: with "ws" it must listen; with "stdio" it must
// read lines from stdin and write lines, and nothing else, to stdout. With both drivers the same command is started
// either way, once to listen and at least once for stdio; {url} and {port} are then the same for all of them, while
// each has a {port2} of its own. Over stdio alone {url} and {port} are empty.
type Command struct {
	Run []string          `yaml:"run"` // the program and its arguments; no shell
	Dir string            `yaml:"dir"` // working directory, relative to the profile's folder; default that folder
	Env map[string]string `yaml:"env"` // added to the harness's own environment; ${NAME} is replaced too
	// files copied before the start: name within {dir} → path relative to the profile
	Copy  map[string]string `yaml:"copy"`
	Ready Ready             `yaml:"ready"` // when it counts as started; not for a target that Dials or PipesOnly
	Stop  Duration          `yaml:"stop"`  // grace between SIGTERM and SIGKILL; default 2s
}

// Ready says when a started process may be used: once a GET of Path returns a status below 500, or once a line of its
// stdout or stderr matches Log, or, with neither, once its port accepts a connection.
type Ready struct {
	Path   string   `yaml:"path"`   // below the base URL, e.g. /health
	Log    string   `yaml:"log"`    // a Go regular expression
	Within Duration `yaml:"within"` // default 30s
}

// Limits holds every time limit of a run, and the one size limit.
type Limits struct {
	Open     Duration `yaml:"open"`      // opening a connection; default 10s, for a page 20s
	Event    Duration `yaml:"event"`     // an expected event after its cause; default 10s
	Turn     Duration `yaml:"turn"`      // a whole turn, from the user's message to its end; default 20s
	HTTP     Duration `yaml:"http"`      // the response to a request other than chat; default 10s
	Quiet    Duration `yaml:"quiet"`     // the quiet window that proves absence where no fence exists; default 150ms
	Hook     Duration `yaml:"hook"`      // one hook command; default 30s
	Reload   Duration `yaml:"reload"`    // until a changed configuration shows on new connections; default 10s
	Scenario Duration `yaml:"scenario"`  // a whole scenario; default 2m
	MaxEvent Bytes    `yaml:"max-event"` // the largest event, frame or response that is read; default 8MiB
}

// Hooks are shell commands (sh -c, in the profile's folder) for what no protocol offers. An empty one is not
// declared, and whatever needs it is not tested. Their environment has PARLEY_DIR, PARLEY_URL, PARLEY_PORT,
// PARLEY_PORT2 and PARLEY_PROFILE_DIR, and those for an agent PARLEY_AGENT_ID, _NAME, _DESCRIPTION, _PROMPT and _TOOLS
// (comma separated). UserSays has PARLEY_TEXT and PARLEY_RELAY_SESSION; Call has PARLEY_ACT, PARLEY_SCENARIO
// and PARLEY_SESSION, and what a person types as its stdin. Exit status 0 means success. See Resets for
// Reset.
type Hooks struct {
	AddAgent     string `yaml:"add-agent"`     // create a custom agent
	ChangeAgent  string `yaml:"change-agent"`  // change the one with this id
	RemoveAgent  string `yaml:"remove-agent"`  // remove the one with this id
	ConfigDigest string `yaml:"config-digest"` // print a digest of the configuration; see Agents.File
	Restart      string `yaml:"restart"`       // restart a target that has no command; PARLEY_KILL=1: without grace
	UserSays     string `yaml:"user-says"`     // make the participant of a relay session say a text; see Speaker
	Call         string `yaml:"call"`          // ask an agent to do something; see Driven
	Reset        string `yaml:"reset"`         // reset the target's data, before each scenario; see Resetter
}

// Names of the hooks, as in the profile. Running.Hook takes those for an agent.
const (
	HookAddAgent     = "add-agent"
	HookChangeAgent  = "change-agent"
	HookRemoveAgent  = "remove-agent"
	HookConfigDigest = "config-digest"
	HookRestart      = "restart"
	HookUserSays     = "user-says"
	HookCall         = "call"
	HookReset        = "reset"
	HookModel        = "model"
)

// Model says how the target learns the address of the model stub: by its environment, by a hook, or both. An empty one
// says that the command takes it from PARLEY_MODEL_URL by itself. The hook
// runs once, before the process starts, with PARLEY_MODEL_URL and the environment of Hooks.
type Model struct {
	Env  map[string]string `yaml:"env"`  // added to Command.Env if there is a stub; may use the placeholders of Command
	Hook string            `yaml:"hook"` // shell command
}

// Tools names the tools with which the target's model makes it wait for the user. Nil: none, or none known.
type Tools struct {
	Confirm *Tool `yaml:"confirm"` // one that asks for confirmation before it runs
	Ask     *Tool `yaml:"ask"`     // one that asks the user a question
}

// Tool is one call that the model stub makes, with the user's answer.
type Tool struct {
	Name      string         `yaml:"name"`
	Arguments map[string]any `yaml:"arguments"`
	Response  any            `yaml:"response"` // what the client answers: approval or a reply; nil: true or "yes"
}

// Provoke holds plain user messages that bring the target into a state without a model stub. Empty: only possible
// with the stub.
type Provoke struct {
	RunningTurn         string `yaml:"running_turn"`
	PendingConfirmation string `yaml:"pending_confirmation"`
	PendingQuestion     string `yaml:"pending_question"`
}

// Agents describes the agents that the target is configured with, apart from the built-in ones.
type Agents struct {
	// Default is the agent of a new session. Default "general".
	Default string `yaml:"default"`

	// File is the configuration file whose bytes must not change (AS-025), relative to the profile; {dir} and {profile}
	// are replaced. ConfigBytes reads it unless Hooks.ConfigDigest is declared.
	File string `yaml:"file"`

	// Custom are the configured custom agents.
	Custom []CustomAgent `yaml:"custom"`

	// Tools are, by agent id, the names of the tools offered to the agent's model: exactly these. An agent without an
	// entry may be offered any.
	Tools map[string][]string `yaml:"tools"`
}

// CustomAgent is one custom agent.
type CustomAgent struct {
	ID          string   `yaml:"id"`
	Name        string   `yaml:"name"`
	Description string   `yaml:"description"`
	Prompt      string   `yaml:"prompt"` // a marker in its system prompt by which the model stub recognises it
	Tools       []string `yaml:"tools"`  // some of the tools offered to its model; Agents.Tools has all of them
}

// Has reports whether the profile declares a capability.
func (p *Profile) Has(capability string) bool { return slices.Contains(p.Capabilities, capability) }

// Dials reports whether the target connects to the harness. See Caller.
func (p *Profile) Dials() bool { return slices.Contains(p.kind.Dials, p.Role) }

// PipesOnly reports whether the target can be reached only by its stdin and stdout. See Piper.
func (p *Profile) PipesOnly() bool { return len(p.Drivers) == 1 && p.Drivers[0] == Stdio }

// driverVariable returns the value of PARLEY_DRIVER for a driver: "" if the protocol's targets are reached in only one
// way.
func (p *Profile) driverVariable(driver string) string {
	if slices.Contains(p.kind.Drivers, Stdio) {
		return driver
	}
	return ""
}

// PathOver returns the path of the target's stream or socket over a driver; "" if the profile sets none.
func (p *Profile) PathOver(driver string) string { return p.Reach().Paths[driver] }

// ParallelOver is Parallel for one driver: over stdio at most CalledConcurrency by default.
func (p *Profile) ParallelOver(driver string) int {
	if driver == Stdio && p.Concurrency == 0 {
		return min(p.Parallel(), CalledConcurrency)
	}
	return p.Parallel()
}

// StartsProcesses reports whether each scenario over a driver starts a target process.
func (p *Profile) StartsProcesses(driver string) bool { return driver == Stdio || p.Dials() }

// Parallel returns how many scenarios may run in parallel: Concurrency or its default, and 1 if they must share what
// each should have alone.
func (p *Profile) Parallel() int {
	switch r := p.Reach(); {
	case r.Shared != "":
		return 1
	case p.Concurrency > 0:
		return p.Concurrency
	case r.Parallel > 0:
		return r.Parallel
	case p.Dials():
		return CalledConcurrency
	}
	return DefaultConcurrency
}

// Resets reports whether Hooks.Reset is to be run before each scenario, unless the protocol ignores hooks. Scenarios
// then run one at a time, since a reset must not change what another one sees.
func (p *Profile) Resets() bool {
	ignores := func(key string) bool { return slices.Contains(p.kind.Ignores, key) }
	return p.Hooks.Reset != "" && !ignores("hooks") && !ignores("hooks."+HookReset)
}

// UsesModel reports whether the target can be told the model stub's address.
func (p *Profile) UsesModel() bool { return p.Model != nil || p.Command.mentionsPlaceholder("{model}") }

// Header returns the profile's headers as a new http.Header.
func (p *Profile) Header() http.Header {
	h := http.Header{}
	for name, value := range p.Headers {
		h.Set(name, value)
	}
	return h
}

// SetHeader sends a header with every request, instead of the profile's own of that name. The error, a *ProfileError
// without a position, does not show the value. Call it before the profile is used.
func (p *Profile) SetHeader(name, value string) error {
	all := map[string]string{}
	for n, v := range p.Headers {
		if http.CanonicalHeaderKey(n) != http.CanonicalHeaderKey(name) {
			all[n] = v
		}
	}
	all[name] = value
	if why, mend := headerMistake(name, value); why != "" {
		return &ProfileError{Msg: why, Mend: mend}
	}
	p.Headers = all
	return nil
}
