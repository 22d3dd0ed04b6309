package llm

import (
	"context"
	"crypto/rand"
	"strconv"
)

// voice emits one answer. It stops when the context ends.
type voice struct {
	ctx   context.Context
	emit  func(Part) error
	gates *gates

	spoken  bool // something has been said
	newLine bool // the next text starts a line
}

// line makes the next text start a new line, unless it is the first.
func (v *voice) line() { v.newLine = v.spoken }

func (v *voice) say(text string) error {
	if err := v.ctx.Err(); err != nil {
		return err
	}
	if v.newLine {
		text = "\n" + text
	}
	v.spoken, v.newLine = true, false
	return v.emit(Part{Text: text})
}

// call emits a tool call. Its id is unique across brains, because a target may keep it longer than this one exists.
func (v *voice) call(name, args string) error {
	if err := v.ctx.Err(); err != nil {
		return err
	}
	return v.emit(Part{Call: &ToolCall{ID: "call_" + rand.Text(), Name: name, Arguments: args}})
}

func (v *voice) hold(d Directive) error {
	if err := v.say("holding " + d.Nonce); err != nil {
		return err
	}
	ctx, cancel := v.ctx, context.CancelFunc(func() {})
	if d.For > 0 {
		ctx, cancel = context.WithTimeout(v.ctx, d.For)
	}
	defer cancel()
	if err := v.gates.wait(ctx, d.Nonce); err != nil && (d.For == 0 || v.ctx.Err() != nil) {
		return err
	}
	return v.say("\nreleased " + d.Nonce)
}

func (v *voice) stream(nonce string, n int) error {
	of := "/" + strconv.Itoa(n) + " "
	for i := range n {
		if err := v.say("stream " + nonce + " " + strconv.Itoa(i+1) + of); err != nil {
			return err
		}
	}
	return nil
}

func (v *voice) fail(d Directive) error {
	if err := v.ctx.Err(); err != nil {
		return err
	}
	return &Failure{Status: d.Status, Text: "failing " + d.Nonce + " as asked"}
}
