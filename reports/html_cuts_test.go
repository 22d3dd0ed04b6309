package reports

import (
	"slices"
	"strings"
	"testing"

	"golang.org/x/net/html"
)

// TestCutPicture: a course with a point that broke is pictured with all its records, and told in words; one without is
// not.
func TestCutPicture(t *testing.T) {
	r := sample()
	r.Runs[0].Cuts = []Cuts{
		{Course: "chat", Name: "a chat", Party: "A", Driver: "ws", By: "reset", Points: 3, Reached: 2, Judged: 2,
			Broke: []CutPoint{{Record: 2, Scenario: "SC-cut-chat-reset-002", Clauses: []string{"SC-008"}}},
			Records: []CutRecord{{Sent: true, Label: "ping", How: CutPassed},
				{Label: "pong <b>", How: CutBroke, Clauses: []string{"SC-008"}}, {Sent: true, Label: "chat", How: CutMissed}}},
		{Course: "whole", Name: "a course that nothing broke", Party: "A", Driver: "ws", By: "close", Points: 3, Reached: 3,
			Judged: 3, Broke: []CutPoint{}},
	}
	doc := parseHTML(t, r)
	said := ""
	for _, e := range elements(doc, "svg") {
		said += attr(e, "aria-label")
	}
	if want := "3 records in order; a cut after record 2, pong <b>, breaks SC-008"; said != want {
		t.Errorf("the picture says %q, want %q", said, want)
	}
	if n := len(elements(doc, "path")); n != 3 {
		t.Errorf("%d arrows, want 3", n)
	}
	shown := text(doc)
	for _, want := range []string{"✗ SC-008", "· not reached", "1 of 3 points broke"} {
		if !strings.Contains(shown, want) {
			t.Errorf("the page does not show %q", want)
		}
	}
	whole := func(e *html.Node) bool { return strings.Contains(text(e), "nothing broke") }
	if slices.ContainsFunc(elements(doc, "h4"), whole) {
		t.Error("a course that nothing broke is pictured")
	}
}
