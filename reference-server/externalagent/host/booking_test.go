package host

import (
	"slices"
	"strings"
	"testing"

	proto "parley/protocol/externalagent"
)

// The path that profiles describe: the first item of everything.
func TestBooking(t *testing.T) {
	p := startParty(t, Options{})
	p.start()
	state := p.goToStage(proto.ConfirmStage)
	if total := spec(state)["total"]; total != 12.5 {
		t.Errorf("total %v", total)
	}
	state = p.callAndRead(proto.Next, object{})
	if state["uiSpec"] != nil || len(state["toolSchema"].([]any)) != 0 {
		t.Errorf("after the booking: %v", state)
	}
	receipt := history(state)[0]
	for _, part := range []string{"assistant: ", "Booking code: ", "The Lighthouse Keeper's Daughter", "Row A, seat 1",
		"1 × Adult", "12.50 EUR"} {
		if !strings.Contains(receipt, part) {
			t.Errorf("receipt %q lacks %q", receipt, part)
		}
	}
	p.callRefused(proto.NoActiveSpec, proto.Next, object{})
	p.callRefused(proto.NoActiveSpec, "teleport", object{})
	if err := p.h.Say("Thank you."); err != nil {
		t.Error(err)
	}
	if said := p.expectType(proto.UserMessage, ""); said["stage"] != proto.ConfirmStage {
		t.Errorf("%v", said)
	}
	p.nextUpdate()
}

// What each stage shows, and what can be done there.
func TestStages(t *testing.T) {
	p := startParty(t, Options{})
	p.start()
	const choice, order = "select highlight filter sort next", " postMessage"
	for _, stage := range []struct {
		name, tools, first string
		items              int
	}{
		{proto.MovieStage, choice + order, "m1", 9},
		{proto.TheaterStage, choice + " prev" + order, "t1", 4},
		{proto.DateStage, choice + " prev" + order, "2026-02-14", 6},
		{proto.TimeStage, choice + " prev" + order, "13:30", 3},
		{proto.SeatStage, choice + " prev" + order, "A1", 54},
		{proto.TicketStage, "setQuantity highlight filter sort next prev" + order, "adult", 4},
		{proto.ConfirmStage, "next prev" + order, "", 0},
	} {
		state := p.goToStage(stage.name)
		if toolNames(state) != stage.tools {
			t.Errorf("%s: tools %s", stage.name, toolNames(state))
		}
		if len(items(state)) != stage.items || stage.items > 0 && item(state, 0)["id"] != stage.first {
			t.Errorf("%s: items %v", stage.name, items(state))
		}
		if len(spec(state)["stages"].([]any)) != 7 || spec(state)["title"] == "" {
			t.Errorf("%s: %v", stage.name, spec(state))
		}
	}
}

// Calls that toolSchema allows but the state does not.
func TestExecutionFails(t *testing.T) {
	p := startParty(t, Options{})
	p.start()
	fails := func(tool string, params object) { t.Helper(); p.callRefused(proto.ToolExecutionFailed, tool, params) }
	for _, stage := range []string{proto.MovieStage, proto.TheaterStage, proto.DateStage, proto.TimeStage,
		proto.SeatStage} {
		state := p.goToStage(stage)
		fails(proto.Next, object{})
		if sold := soldItem(state); sold == "" {
			t.Errorf("%s: nothing is sold out", stage)
		} else {
			fails(proto.Select, object{"itemId": sold})
		}
	}
	for _, seat := range []string{"A1", "A2", "A5", "A6", "A7", "A8", "A9"} {
		p.callAndRead(proto.Select, object{"itemId": seat})
	}
	state := p.snapshot()
	free := func() string {
		for i := range items(state) {
			if id := item(state, i)["id"].(string); item(state, i)["available"] == true && id[0] > 'A' {
				return id
			}
		}
		return ""
	}()
	p.callAndRead(proto.Select, object{"itemId": free})
	if state = p.callAndRead(proto.Select, object{"itemId": free}); len(spec(state)["selected"].([]any)) != 7 {
		t.Errorf("a seat can't be given back: %v", spec(state)["selected"])
	}
	p.callAndRead(proto.Select, object{"itemId": free})
	for i := range items(state) {
		if id := item(state, i)["id"].(string); item(state, i)["available"] == true && id[0] > 'A' && id != free {
			fails(proto.Select, object{"itemId": id}) // a ninth seat
			break
		}
	}
	p.callAndRead(proto.Next, object{})
	fails(proto.Next, object{})
	p.callAndRead(proto.SetQuantity, object{"itemId": "adult", "quantity": 7})
	fails(proto.SetQuantity, object{"itemId": "student", "quantity": 5}) // at most four of these may be bought at once
	fails(proto.SetQuantity, object{"itemId": "child", "quantity": 2})
	state = p.callAndRead(proto.SetQuantity, object{"itemId": "child", "quantity": 1})
	if total := spec(state)["total"]; total != 7*12.5+7.5 {
		t.Errorf("total %v", total)
	}
	if q := spec(state)["quantities"].(object); q["adult"] != 7.0 || q["child"] != 1.0 || q["senior"] != 0.0 {
		t.Errorf("%v", q)
	}
	p.callAndRead(proto.Next, object{})
}

// An age limit makes the tickets for younger people unavailable.
func TestTicketOfAnother(t *testing.T) {
	p := startParty(t, Options{})
	p.start()
	p.callAndRead(proto.Select, object{"itemId": "m7"})
	p.callAndRead(proto.Next, object{})
	state := p.goToStage(proto.TicketStage)
	if soldItem(state) != "child" {
		t.Errorf("%v", items(state))
	}
	p.callRefused(proto.ToolExecutionFailed, proto.SetQuantity, object{"itemId": "child", "quantity": 1})
	if total := spec(p.callAndRead(proto.SetQuantity, object{"itemId": "adult", "quantity": 1}))["total"]; total != 14.0 {
		t.Errorf("in the evening an adult pays %v", total)
	}
}

// prev keeps later choices; a changed choice keeps those that are still possible.
func TestPrev(t *testing.T) {
	p := startParty(t, Options{})
	p.start()
	p.goToStage(proto.ConfirmStage)
	var state object
	for range 6 {
		state = p.callAndRead(proto.Prev, object{})
	}
	if spec(state)["stage"] != proto.MovieStage || len(spec(state)["summary"].([]any)) != 6 {
		t.Fatalf("%v", spec(state))
	}
	for range 6 {
		state = p.callAndRead(proto.Next, object{})
	}
	if spec(state)["stage"] != proto.ConfirmStage {
		t.Errorf("%v", spec(state)["stage"])
	}
	for range 6 {
		p.callAndRead(proto.Prev, object{})
	}
	state = p.callAndRead(proto.Select, object{"itemId": "m2"}) // also shown there, at other times
	var left []string
	for _, line := range spec(state)["summary"].([]any) {
		left = append(left, line.(object)["label"].(string))
	}
	if !slices.Equal(left, []string{"Movie", "Theater", "Date"}) {
		t.Errorf("kept %v", left)
	}
}

func TestFilterSortHighlight(t *testing.T) {
	p := startParty(t, Options{})
	p.start()
	ids := func(state object) (ids []string) {
		for i := range items(state) {
			ids = append(ids, item(state, i)["id"].(string))
		}
		return ids
	}
	state := p.callAndRead(proto.Filter, object{"attribute": "language", "value": "english"})
	if got := ids(state); !slices.Equal(got, []string{"m1", "m2", "m3", "m6", "m9"}) {
		t.Errorf("filtered %v", got)
	}
	p.callRefused(proto.InvalidParams, proto.Select, object{"itemId": "m4"}) // not on display now
	state = p.callAndRead(proto.Sort, object{"attribute": "minutes", "order": "desc"})
	if got := ids(state); !slices.Equal(got, []string{"m2", "m9", "m1", "m3", "m6"}) {
		t.Errorf("sorted %v", got)
	}
	state = p.callAndRead(proto.Filter, object{"attribute": "genre", "value": "opera"})
	if len(ids(state)) != 0 || toolNames(state) != "filter sort next postMessage" {
		t.Errorf("nothing fits: %v, tools %s", ids(state), toolNames(state))
	}
	state = p.callAndRead(proto.Filter, object{"attribute": "genre", "value": ""})
	if len(ids(state)) != 9 || spec(state)["filter"] != nil || spec(state)["sort"] == nil {
		t.Errorf("%v", spec(state))
	}
	state = p.callAndRead(proto.Sort, object{"attribute": "rating", "order": "asc"})
	if got := ids(state)[8]; got != "m5" {
		t.Errorf("best rated is %s", got)
	}
	p.callAndRead(proto.Highlight, object{"itemId": "m5"})
	state = p.callAndRead(proto.Highlight, object{"itemId": "m5"})
	if got := spec(state)["highlighted"].([]any); len(got) != 1 || got[0] != "m5" {
		t.Errorf("highlighted %v", got)
	}
	p.callAndRead(proto.Select, object{"itemId": "m5"})
	if state = p.callAndRead(proto.Next, object{}); spec(state)["highlighted"] != nil || spec(state)["sort"] != nil {
		t.Errorf("the next form has the last one's: %v", spec(state))
	}
}
