package agentselect

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"os"
	"slices"
	"sync"
	"time"

	"github.com/pelletier/go-toml/v2"

	proto "parley/protocol/agentselect"
)

// Agent is a main agent: its list entry and its configuration for conversations.
type Agent struct {
	ID          string
	Name        string
	Description string
	Prompt      string
	Tools       []string
}

// Info returns the agent's list entry.
func (a Agent) Info() proto.AgentInfo {
	return proto.AgentInfo{ID: a.ID, Name: a.Name, Description: a.Description}
}

// Config returns the agent's configuration for a conversation.
func (a Agent) Config() Config { return Config{AgentID: a.ID, Prompt: a.Prompt, Tools: a.Tools} }

// The tools that make a turn wait for the user. All others return at once; none is ever executed.
const (
	confirmedTool = "run_command"
	questionTool  = "ask_user"
)

// Builtins returns the three built-in agents (AS-001, AS-035 to AS-037).
func Builtins() []Agent {
	return []Agent{{
		ID:          proto.General,
		Name:        "General",
		Description: "通用主代理",
		Prompt:      "You are General, the main agent for everyday work. Be brief and helpful.",
		Tools:       []string{"read_file", "write_file", confirmedTool, questionTool},
	}, {
		ID:          proto.RequirementAnalyzer,
		Name:        "Requirement Analyzer",
		Description: "需求分析代理",
		Prompt:      "You are Requirement Analyzer. Turn wishes into requirements; ask where they are unclear.",
		Tools:       []string{"read_file", "search_docs", confirmedTool, questionTool},
	}, {
		ID:          proto.Debugger,
		Name:        "Debugger",
		Description: "调试代理",
		Prompt:      "You are Debugger. Reproduce the failure first, then find its cause.",
		Tools:       []string{"read_file", "inspect_process", "read_log", confirmedTool, questionTool},
	}}
}

func findAgent(agents []Agent, id string) (Agent, bool) {
	for _, a := range agents {
		if a.ID == id {
			return a, true
		}
	}
	return Agent{}, false
}

// agentsFile is the configured list of agents: the built-in ones, then those of the file in its order.
//
// current checks the file each time. If the file is invalid, or repeats an agent, the last valid list stays and the
// error is logged once; a missing file means no custom agents.
type agentsFile struct {
	path  string
	limit int64
	log   *slog.Logger

	mu    sync.Mutex
	seen  stamp
	sum   [sha256.Size]byte
	known []Agent
}

// stamp is the file's metadata at the last read.
type stamp struct {
	size    int64
	changed time.Time
	read    time.Time
}

// settled is how much older than the read a change must be for equal metadata to imply equal content. File systems
// round modification times, so a second write in the same tick can leave size and time unchanged.
const settled = 2 * time.Second

func newAgentsFile(path string, limit int64, log *slog.Logger) (*agentsFile, error) {
	f := &agentsFile{path: path, limit: limit, log: log, known: Builtins()}
	if path == "" {
		return f, nil
	}
	// A server that starts with an invalid file has no last valid list.
	if err := f.refreshAgents(); err != nil {
		return nil, fmt.Errorf("agents file %s: %w", path, err)
	}
	return f, nil
}

// currentAgents returns the agents that exist now.
func (f *agentsFile) currentAgents() []Agent {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.path != "" {
		if err := f.refreshAgents(); err != nil {
			f.log.Warn("agents file not understood, keeping the last good list", "path", f.path, "err", err)
		}
	}
	return slices.Clone(f.known)
}

func (f *agentsFile) refreshAgents() error {
	info, err := os.Stat(f.path)
	if errors.Is(err, fs.ErrNotExist) {
		f.seen, f.sum, f.known = stamp{}, [sha256.Size]byte{}, Builtins()
		return nil
	}
	if err != nil {
		return err
	}
	if f.isUnchanged(info) {
		return nil
	}
	data, err := readLimited(f.path, f.limit)
	if err != nil {
		return err
	}
	f.seen = stamp{size: info.Size(), changed: info.ModTime(), read: time.Now()}
	sum := sha256.Sum256(data)
	if sum == f.sum {
		return nil
	}
	f.sum = sum
	custom, err := parseAgents(data)
	if err != nil {
		return err
	}
	f.known = append(Builtins(), custom...)
	return nil
}

func (f *agentsFile) isUnchanged(info fs.FileInfo) bool {
	return f.seen.size == info.Size() && f.seen.changed.Equal(info.ModTime()) &&
		f.seen.read.Sub(f.seen.changed) > settled
}

func readLimited(path string, limit int64) ([]byte, error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	data, err := io.ReadAll(io.LimitReader(file, limit+1))
	if err == nil && int64(len(data)) > limit {
		err = fmt.Errorf("longer than %d bytes", limit)
	}
	return data, err
}

// parseAgents reads the tables [[agents]]. By default an agent has the question tool and the confirmed tool.
func parseAgents(data []byte) ([]Agent, error) {
	var file struct {
		Agents []struct {
			ID          string   `toml:"id"`
			Name        string   `toml:"name"`
			Description string   `toml:"description"`
			Prompt      string   `toml:"prompt"`
			Tools       []string `toml:"tools"`
		} `toml:"agents"`
	}
	if err := toml.NewDecoder(bytes.NewReader(data)).DisallowUnknownFields().Decode(&file); err != nil {
		return nil, err
	}
	all := Builtins()
	for i, a := range file.Agents {
		if !proto.IDPattern.MatchString(a.ID) {
			return nil, fmt.Errorf("agent %d: id %q is not [a-z0-9_-]+", i+1, a.ID)
		}
		if _, taken := findAgent(all, a.ID); taken {
			return nil, fmt.Errorf("agent %d: id %q is taken", i+1, a.ID)
		}
		if a.Tools == nil {
			a.Tools = []string{confirmedTool, questionTool}
		}
		all = append(all, Agent{a.ID, cmp.Or(a.Name, a.ID), a.Description, a.Prompt, a.Tools})
	}
	return all[len(Builtins()):], nil
}
