package bundled

import (
	"context"

	"parley/target"
)

// inProcess is what targets within this process share that nothing can be done to but to talk to them.
type inProcess struct{}

// Stderr implements target.Running: a target in this process has none of its own.
func (inProcess) Stderr() string { return "" }

// Restart implements target.Running: a scenario that restarts its target has one of its own, which is a process.
func (inProcess) Restart(context.Context, bool) error {
	return &target.NotDeclaredError{Key: "hooks.restart"}
}

// ConfigBytes implements target.Running.
func (inProcess) ConfigBytes() ([]byte, error) {
	return nil, &target.NotDeclaredError{Key: "agents.file"}
}

// Hook implements target.Running.
func (inProcess) Hook(_ context.Context, name string, _ target.CustomAgent) error {
	return &target.NotDeclaredError{Key: "hooks." + name}
}
