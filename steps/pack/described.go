package pack

import (
	"errors"
	"io/fs"
	"path"
	"path/filepath"
	"slices"

	"github.com/go-json-experiment/json"

	"parley/internal/jsonform"
	"parley/target"
)

// asyncFile is the AsyncAPI document of a folder, in place of transports, message, sends, receives and JSON Schemas.
const asyncFile = "asyncapi.yaml"

// readAsyncAPI reads the AsyncAPI document of a folder; nil if there is none.
func readAsyncAPI(fsys fs.FS, name string) (*Sketch, []byte, error) {
	text, err := readFile(fsys, asyncFile)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil, nil
	}
	if err != nil {
		return nil, nil, err
	}
	s, err := FromAsyncAPI(filepath.Join(name, asyncFile), text)
	return s, text, err
}

// describe completes the document by its AsyncAPI document, if there is one: what protocol.yaml says itself stays.
func (rd *reader) describe(s *Sketch) {
	d := rd.doc
	if s == nil {
		return
	}
	if len(d.drivers) == 0 {
		d.open, d.send, d.ws, d.post.path = s.SSE, s.Send, s.WS, s.Post
		for _, one := range []struct{ driver, path string }{{target.SSE, s.SSE}, {target.WS, s.WS}, {target.Post, s.Post}} {
			if one.path != "" {
				d.drivers = append(d.drivers, one.driver)
			}
		}
	}
	of := &drafting{Sketch: s}
	for _, m := range s.Sends {
		if _, there := d.sends[m.Type]; !there {
			d.sends[m.Type] = of.example(m)
		}
	}
	for _, m := range s.Receives {
		if !slices.Contains(d.receives, m.Type) {
			d.receives = append(d.receives, m.Type)
		}
	}
}

// schemas returns the JSON Schemas of an AsyncAPI document as files; none for a document that is not there.
func (s *Sketch) schemas() map[string][]byte {
	out := map[string][]byte{}
	if s == nil {
		return out
	}
	for _, m := range append(slices.Clone(s.Sends), s.Receives...) {
		if m.Schema == nil {
			continue
		}
		if b, err := json.Marshal(m.Schema, json.Deterministic(true), jsonform.Unescaped); err == nil {
			out[asyncFile+"/"+m.Type+".json"] = b
		}
	}
	return out
}

// withOwn adds the schemas of the folder, which stand in place of those of its AsyncAPI document.
func withOwn(described, own map[string][]byte) map[string][]byte {
	for at, text := range own {
		delete(described, asyncFile+"/"+path.Base(at))
		described[at] = text
	}
	return described
}
