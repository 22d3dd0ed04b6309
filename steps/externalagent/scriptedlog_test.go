package externalagent

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"

	vocab "parley/protocol/externalagent"
	wjson "parley/transport/wire/json"
)

// log records the messages, as a host does.
func (c *peerConn) log(direction, kind string, body any) {
	pl := c.of.sessions[c.session]
	if c.of.logs == "" || pl == nil || strings.HasPrefix(kind, "relay.") {
		return
	}
	lines := c.of.files[c.session]
	line := object{vocab.SessionID: pl.study, "eventIndex": len(lines), "timestamp": "2026-02-13T10:22:17.123Z",
		"direction": direction, "type": kind, vocab.Payload: body}
	c.of.files[c.session] = append(lines, line)
}

// unwritten is the name of a log that is never written.
const unwritten = "logs/study/none.jsonl"

// writeLog writes the log of a session that has ended.
func (c *peerConn) writeLog(ended any) {
	body, _ := ended.(object)
	name, _ := body[vocab.LogFile].(string)
	if c.of.logs == "" || strings.Contains(name, "..") || name == unwritten || filepath.IsAbs(name) {
		return
	}
	var b strings.Builder
	for _, line := range c.of.files[c.session] {
		line = copied(line).(object)
		if c.of.line != nil {
			line = c.of.line(line)
		}
		if line != nil {
			fmt.Fprintln(&b, wjson.Compact(line))
		}
	}
	file := filepath.Join(c.of.logs, strings.TrimPrefix(name, "logs/"))
	text := b.String()
	if c.of.appends {
		before, _ := os.ReadFile(file)
		text = string(before) + text
	}
	if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
		panic(err)
	}
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		panic(err)
	}
}
