package bundle

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"sync"

	"github.com/goccy/go-yaml"
	"github.com/pelletier/go-toml/v2"

	"parley/reference-server/launch"
	"parley/target"
)

// configured returns the custom agents in the profile.
var configured = sync.OnceValue(func() []target.CustomAgent {
	var p struct {
		Agents target.Agents `yaml:"agents"`
	}
	if err := yaml.Unmarshal([]byte(profile), &p); err != nil {
		panic(fmt.Errorf("the profile of the bundled agent-select: %w", err))
	}
	return p.Agents.Custom
})

// agentsFile returns the path of a server's custom agents.
func agentsFile(dir string) string { return filepath.Join(dir, "main-agents.toml") }

// editable is a server with an editable configuration.
type editable struct {
	*launch.Server
	file string

	mu     sync.Mutex
	agents []target.CustomAgent
}

// ConfigBytes implements target.Running.
func (s *editable) ConfigBytes() ([]byte, error) { return os.ReadFile(s.file) }

// Hook implements target.Running: it edits the configuration file as a user would.
func (s *editable) Hook(_ context.Context, name string, a target.CustomAgent) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	kept := make([]target.CustomAgent, 0, len(s.agents)+1)
	for _, old := range s.agents {
		if old.ID == a.ID && name == target.HookChangeAgent {
			old = a
		}
		if old.ID != a.ID || name == target.HookChangeAgent {
			kept = append(kept, old)
		}
	}
	switch name {
	case target.HookAddAgent:
		kept = append(kept, a)
	case target.HookChangeAgent, target.HookRemoveAgent:
	default:
		return &target.NotDeclaredError{Key: "hooks." + name}
	}
	s.agents = kept
	return replaceFile(s.file, kept)
}

// replaceFile replaces the file atomically, as editors do.
func replaceFile(path string, agents []target.CustomAgent) error {
	type row struct {
		ID          string   `toml:"id"`
		Name        string   `toml:"name"`
		Description string   `toml:"description"`
		Prompt      string   `toml:"prompt"`
		Tools       []string `toml:"tools"`
	}
	var file struct {
		Agents []row `toml:"agents"`
	}
	for _, a := range agents {
		file.Agents = append(file.Agents, row(a))
	}
	b, err := toml.Marshal(file)
	if err != nil {
		return fmt.Errorf("write agents: %w", err)
	}
	if err := os.WriteFile(path+".new", b, 0o600); err != nil {
		return fmt.Errorf("write agents: %w", err)
	}
	return os.Rename(path+".new", path)
}
