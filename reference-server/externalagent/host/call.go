package host

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"github.com/santhosh-tekuri/jsonschema/v6/kind"

	proto "parley/protocol/externalagent"
	"parley/reference-server/externalagent/wire"
)

// handleToolCall judges a tool.call, executes it, and sends the result, then the state (EA-046, EA-051).
func (m *machine) handleToolCall(msg Message) *Refusal {
	params, _ := plainNumbers(msg.Payload()["params"]).(map[string]any)
	c := Call{Tool: msg.PayloadText("toolName"), Params: params}
	p, v, announced := m.o.Policy, View{m}, m.announcedTools()
	tool := p.Announced(v, announced, c.Tool, Find(announced, c.Tool))
	if tool == nil {
		return &Refusal{proto.UnknownTool, fmt.Sprintf("toolSchema announces no tool %.80q at this stage", c.Tool)}
	}
	if why := p.Params(v, *tool, c.Params, CheckParams(*tool, c.Params)); why != nil {
		return why
	}
	if why := p.Execute(v, c, func() *Refusal { return m.runCall(c) }); why != nil {
		return why
	}
	m.emitMessage(wire.Reply(msg, proto.ToolResult, p.Result(v, c, m.toolResult(c))))
	m.sendUpdate(msg)
	return nil
}

// Find returns the tool of a name; nil if there is none.
func Find(tools []proto.Tool, name string) *proto.Tool {
	return firstMatch(tools, func(t *proto.Tool) bool { return t.Name == name })
}

// toolResult makes the payload of a tool.result. It includes the form for tools that change only the current form.
func (m *machine) toolResult(c Call) object {
	payload := object{"ok": true, "toolName": c.Tool}
	switch c.Tool {
	case proto.Select, proto.SetQuantity, proto.Filter, proto.Sort, proto.Highlight:
		payload["uiSpec"] = m.drawState().clone().UISpec
	}
	return payload
}

// runCall executes a call. A faulty host may pass one that should have been refused.
func (m *machine) runCall(c Call) *Refusal {
	if err := m.findTool(c); err != nil {
		return &Refusal{proto.ToolExecutionFailed, c.Tool + " failed: " + err.Error()}
	}
	m.rememberStage()
	m.internalError(toolExecuted, object{"toolName": c.Tool, "stage": m.booking.stageName()})
	return nil
}

func (m *machine) findTool(c Call) error {
	b := m.booking
	m.drawn.booking = nil
	text := func(name string) string { s, _ := c.Params[name].(string); return s }
	switch c.Tool {
	case proto.Select:
		return b.selectItem(text("itemId"))
	case proto.SetQuantity:
		const most = 1 << 20 // a float may not fit into an int
		quantity, _ := c.Params["quantity"].(float64)
		return b.setQuantity(text("itemId"), int(max(-most, min(quantity, most))))
	case proto.Next:
		return m.bookOrNext()
	case proto.Prev:
		return b.previousStage()
	case proto.Filter:
		return b.setFilter(text("attribute"), text("value"))
	case proto.Sort:
		return b.setSort(text("attribute"), text("order"))
	case proto.Highlight:
		return b.highlightItem(text("itemId"))
	case proto.PostMessage:
		return m.addToHistory(assistant, text("text"))
	}
	return errors.New("unknown tool")
}

// bookOrNext books when it leaves the last stage. There is always room for the receipt in the history.
func (m *machine) bookOrNext() error {
	booked, err := m.booking.nextStage()
	if booked {
		m.chat.addEntry(m.newEntry(assistant, m.booking.receiptText(m.id)))
		m.internalError(bookingCompleted, object{"code": bookingCode(m.id), "total": m.booking.totalPrice()})
	}
	return err
}

// required lists the required string members of each payload.
var required = map[string][]string{
	proto.SessionStart: {"studyId", "participantId"},
	proto.SnapshotGet:  {},
	proto.ToolCall:     {"toolName"},
	proto.AgentMessage: {"text"},
	proto.SessionEnd:   {"reason"},
}

// checkEnvelope checks the envelope against section 3 and its payload against section 4.1. Members that the source does
// not name are allowed.
func checkEnvelope(msg Message) *Refusal {
	if msg["v"] != proto.Version {
		return &Refusal{proto.InvalidMessage, fmt.Sprintf("v must be %q", proto.Version)}
	}
	for _, name := range []string{"id", "replyTo"} {
		if v, present := msg[name]; present && !isString(v) {
			return &Refusal{proto.InvalidMessage, name + " must be a string, or be left out"}
		}
	}
	if !isString(msg["type"]) {
		return &Refusal{proto.InvalidMessage, "type must be a string"}
	}
	if msg.Payload() == nil {
		return &Refusal{proto.InvalidMessage, "payload must be an object"}
	}
	texts, known := required[msg.Type()]
	if !known {
		return &Refusal{proto.InvalidMessage, fmt.Sprintf("a host takes no message of type %.80q", msg.Type())}
	}
	for _, name := range texts {
		if !isString(msg.Payload()[name]) {
			return &Refusal{proto.InvalidMessage, fmt.Sprintf("%s requires payload.%s, a string", msg.Type(), name)}
		}
	}
	if msg.Type() == proto.ToolCall {
		return acceptCall(msg.Payload())
	}
	return nil
}

// acceptCall accepts a call without a reason: only an example shows one (EA-035, EA-G08).
func acceptCall(payload map[string]any) *Refusal {
	if _, isObject := payload["params"].(map[string]any); !isObject {
		return &Refusal{proto.InvalidMessage, "tool.call requires payload.params, an object"}
	}
	if reason, present := payload["reason"]; present && !isString(reason) {
		return &Refusal{proto.InvalidMessage, "payload.reason of a tool.call must be a string, or be left out"}
	}
	return nil
}

func isString(v any) bool {
	_, is := v.(string)
	return is
}

var idForm = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$`)

// findProblems collects all problems of a catalogue.
func (c *Catalogue) findProblems() error {
	p := &problems{}
	p.unless(c.Currency != "", "currency is missing")
	p.between("days", c.Days, 2, 60)
	p.between("maxSeats", c.MaxSeats, 1, 100)
	p.unless(c.Evening >= 0, "evening is negative")
	checkIDs(p, "movie", c.Movies, func(m movie) string { return m.ID })
	checkIDs(p, "hall", c.Halls, func(h hall) string { return h.ID })
	checkIDs(p, "theater", c.Theaters, func(t theater) string { return t.ID })
	checkIDs(p, "ticket", c.Tickets, func(t ticket) string { return t.ID })
	for _, h := range c.Halls {
		h.checkHall(p)
	}
	for _, t := range c.Theaters {
		t.checkTheater(p, c)
	}
	for i, m := range c.Movies {
		m.checkMovie(p, c, i == 0)
	}
	for i, t := range c.Tickets {
		p.unless(t.Label != "", "ticket %s has no label", t.ID)
		p.unless(t.Price >= 0, "ticket %s has a negative price", t.ID)
		p.between("max of ticket "+t.ID, t.Max, 1, 100)
		p.unless(i > 0 || t.Under == 0, "ticket %s is the first, so it must be for everybody", t.ID)
	}
	return errors.Join(p.found...)
}

func (h hall) checkHall(p *problems) {
	p.unless(h.Name != "", "hall %s has no name", h.ID)
	p.between("rows of hall "+h.ID, h.Rows, 1, 26)
	p.between("seats of hall "+h.ID, h.Seats, 1, 60)
	p.unless(len(h.Sold) > 0, "hall %s has no sold seat", h.ID)
	p.unless(!slices.Contains(h.Sold, seatID(0, 0)), "hall %s: its first seat is sold", h.ID)
	for _, id := range h.Sold {
		p.unless(h.hasSeat(id), "hall %s has no seat %s", h.ID, id)
	}
}

// hasSeat looks only at rows and seats that check allows.
func (h hall) hasSeat(id string) bool {
	for row := range min(h.Rows, 26) {
		for seat := range min(h.Seats, 60) {
			if seatID(row, seat) == id {
				return true
			}
		}
	}
	return false
}

func (t theater) checkTheater(p *problems, c *Catalogue) {
	p.unless(t.Name != "" && t.District != "" && t.Sound != "", "theater %s: name, district or sound is missing", t.ID)
	p.unless(len(t.Shows) <= 200, "theater %s has more than 200 shows", t.ID)
	seen := map[string]bool{}
	for _, s := range t.Shows {
		where := fmt.Sprintf("theater %s, show of %s", t.ID, s.Movie)
		p.unless(c.movie(s.Movie) != nil, "%s: there is no such movie", where)
		p.unless(c.hall(s.Hall) != nil, "%s: there is no hall %s", where, s.Hall)
		p.unless(!seen[s.Movie], "%s: is there twice", where)
		seen[s.Movie] = true
		p.between(where+": occupancy", s.Backend.Occupancy, 0, 90)
		p.between(where+": number of times", len(s.At), 1, 20)
		p.unless(slices.IsSorted(s.At) && len(slices.Compact(slices.Clone(s.At))) == len(s.At),
			"%s: times are not in order", where)
		for _, at := range s.At {
			_, err := time.Parse(clockTime, at)
			p.unless(err == nil && len(at) == len(clockTime), "%s: %q is not a time like 20:15", where, at)
		}
		for _, at := range s.SoldOut {
			p.unless(slices.Contains(s.At, at), "%s: sold out at %s, when there is no show", where, at)
			p.unless(s.At == nil || s.At[0] != at, "%s: the first time is sold out", where)
		}
	}
}

// checkMovie requires that the first choice of each stage can be made.
func (m movie) checkMovie(p *problems, c *Catalogue, first bool) {
	p.unless(m.Title != "" && m.Genre != "" && m.Language != "", "movie %s: title, genre or language is missing", m.ID)
	p.unless(m.Minutes > 0 && m.Rating >= 0 && m.AgeLimit >= 0, "movie %s: minutes, rating or ageLimit is impossible",
		m.ID)
	p.unless(!first || !m.Upcoming, "movie %s is the first, so it must be on sale", m.ID)
	at := firstMatch(c.Theaters, func(t *theater) bool { return t.show(m.ID) != nil })
	p.unless(at != nil, "movie %s is shown nowhere", m.ID)
	p.unless(at == nil || !at.Closed, "movie %s: the first theater that shows it is closed", m.ID)
}

type problems struct{ found []error }

func (p *problems) unless(ok bool, format string, args ...any) {
	if !ok {
		p.found = append(p.found, fmt.Errorf(format, args...))
	}
}

func (p *problems) between(what string, n, low, high int) {
	p.unless(low <= n && n <= high, "%s is %d; it is from %d to %d", what, n, low, high)
}

func checkIDs[T any](p *problems, what string, all []T, id func(T) string) {
	p.between("number of "+what+"s", len(all), 1, 500)
	seen := map[string]bool{}
	for _, v := range all {
		p.unless(idForm.MatchString(id(v)), "%s id %q: letters, digits, dots, dashes only", what, id(v))
		p.unless(!seen[id(v)], "%s id %s is there twice", what, id(v))
		seen[id(v)] = true
	}
}

// CheckParams validates params against the schema of a tool; an invalid schema, which only a faulty host has, allows
// everything.
func CheckParams(tool proto.Tool, params map[string]any) *Refusal {
	schema, err := compileSchema(tool.Parameters)
	if err != nil {
		return nil
	}
	var invalid *jsonschema.ValidationError
	if errors.As(schema.Validate(plainNumbers(params)), &invalid) {
		return &Refusal{proto.InvalidParams, tool.Name + " " + describeProblem(invalid)}
	}
	return nil
}

func compileSchema(schema any) (*jsonschema.Schema, error) {
	const name = "parley:tool" // an identifier, not a location to load from
	c := jsonschema.NewCompiler()
	c.UseLoader(nothing{})
	if err := c.AddResource(name, schema); err != nil {
		return nil, err
	}
	return c.Compile(name)
}

// nothing is a loader that rejects all references to other schemas.
type nothing struct{}

func (nothing) Load(url string) (any, error) {
	return nil, fmt.Errorf("no schema is loaded from %s", url)
}

// describeProblem describes the first problem in the style of the source's example: "requires quantity >= 0".
func describeProblem(e *jsonschema.ValidationError) string {
	for len(e.Causes) > 0 {
		e = e.Causes[0]
	}
	what := strings.Join(e.InstanceLocation, ".")
	switch k := e.ErrorKind.(type) {
	case *kind.Required:
		return "requires " + strings.Join(k.Missing, " and ")
	case *kind.AdditionalProperties:
		return fmt.Sprintf("takes no parameter %.80q", k.Properties[0])
	case *kind.Type:
		return fmt.Sprintf("requires %s to be of type %s", what, strings.Join(k.Want, " or "))
	case *kind.Enum:
		return fmt.Sprintf("requires %s to be one of the values in toolSchema", what)
	case *kind.Minimum:
		return fmt.Sprintf("requires %s >= %s", what, k.Want.RatString())
	case *kind.Maximum:
		return fmt.Sprintf("requires %s <= %s", what, k.Want.RatString())
	case *kind.MinLength:
		return fmt.Sprintf("requires %s to have at least %d characters", what, k.Want)
	case *kind.MaxLength:
		return fmt.Sprintf("requires %s to have at most %d characters", what, k.Want)
	}
	return fmt.Sprintf("requires %s to fit toolSchema", what)
}
