package browser

import (
	_ "embed"
	"fmt"

	"github.com/go-json-experiment/json"

	"parley/transport/driver"
)

// Names of the reader's world, of its function for sending messages, and of its interface for queries.
const (
	worldName  = "parley"
	tellName   = "parleyTell"
	readerName = "parleyReader"
)

//go:embed reader.js
var readerSource string

// readerConfig is the configuration of reader.js.
type readerConfig struct {
	Tell     string            `json:"tell"`
	Name     string            `json:"name"`
	Select   string            `json:"select"`
	Controls map[string]string `json:"controls"`
	Chat     string            `json:"chat"`
	Log      string            `json:"log"`
	LogRow   string            `json:"logRow"`
	Levels   map[string]string `json:"levels"`
	Loading  string            `json:"loading"`
	Dismiss  string            `json:"dismiss"`
}

// readerFor returns the script that reads a page.
func readerFor(p *driver.Page) (string, error) {
	c := readerConfig{Tell: tellName, Name: readerName, Select: p.Select, Controls: map[string]string{}, Chat: p.Chat,
		Log:    p.Log,
		LogRow: p.LogRow, Levels: map[string]string{}, Loading: p.Loading, Dismiss: p.Dismiss}
	for name, hook := range p.Controls {
		if hook != "" {
			c.Controls[name] = hook
		}
	}
	for level, css := range p.Levels {
		if css != "" {
			c.Levels[level] = css
		}
	}
	b, err := json.Marshal(c, json.Deterministic(true))
	if err != nil {
		return "", fmt.Errorf("configure the reader: %w", err)
	}
	return "(" + readerSource + ")(" + string(b) + ")", nil
}

// ask returns an expression that calls a function of the reader.
func ask(function string, args ...any) string {
	b, err := json.Marshal(args)
	if err != nil || args == nil {
		b = []byte("[]")
	}
	return readerName + "." + function + "(..." + string(b) + ")"
}
