package binding

import (
	"fmt"

	"github.com/goccy/go-yaml/ast"

	"parley/target"
)

// FromYAML implements target.Decodable.
func (e *Endpoint) FromYAML(d *target.Decoder, n ast.Node, path string) error {
	if mapping := target.IsMapping(n); !mapping {
		s, err := d.Text(n, path)
		if err == nil {
			e.Path = s
		}
		return err
	}
	full := struct {
		Path   string `yaml:"path"`
		Method string `yaml:"method"`
	}{e.Path, e.Method}
	if err := d.Into(n, &full, path); err != nil {
		return err
	}
	e.Path, e.Method = full.Path, full.Method
	return nil
}

// FromYAML implements target.Decodable.
func (c *Correlation) FromYAML(d *target.Decoder, n ast.Node, path string) error {
	const shapes = "write single, {body: connectionId} or {header: X-Connection-Id}"
	if mapping := target.IsMapping(n); !mapping {
		s, err := d.Text(n, path)
		switch {
		case err != nil:
			return err
		case s != "single":
			return d.Fail(path, fmt.Sprintf("unknown correlation %q", s), shapes)
		}
		*c = Correlation{Single: true}
		return nil
	}
	var full struct {
		Body   target.Pointer `yaml:"body"`
		Header string         `yaml:"header"`
		Create *Correlation   `yaml:"create"`
		Load   *Correlation   `yaml:"load"`
	}
	if err := d.Into(n, &full, path); err != nil {
		return err
	}
	if (full.Body == "") == (full.Header == "") {
		return d.Fail(path, "expected exactly one of body and header", shapes)
	}
	for key, own := range map[string]*Correlation{"create": full.Create, "load": full.Load} {
		if own != nil && (own.Single || own.Create != nil || own.Load != nil) {
			return d.Fail(path, key+" is neither single nor a mapping",
				"write "+key+": {body: connectionId} or {header: X-Connection-Id}")
		}
	}
	*c = Correlation{Body: full.Body, Header: full.Header, Create: full.Create, Load: full.Load}
	return nil
}

// FromYAML reads an envelope. With the type in the event: field, the data is the whole object unless data says
// otherwise.
func (e *Envelope) FromYAML(d *target.Decoder, n ast.Node, path string) error {
	members, err := d.Members(n, path)
	if err != nil {
		return err
	}
	type shape Envelope // without this method
	if err := d.Into(n, (*shape)(e), path); err != nil {
		return err
	}
	bare := true
	for _, m := range members {
		switch s, _ := d.Text(m.Value, ""); {
		case m.Key == "type" && s == "sse-event":
			e.SSEEvent, e.Type = true, ""
		case m.Key == "data":
			bare = false
		}
	}
	if e.SSEEvent && bare {
		e.Data = ""
	}
	return nil
}
