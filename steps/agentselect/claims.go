package agentselect

// always are the clauses that every confirmed switch tests.
var always = []string{"AS-011", "AS-017", "AS-018", "AS-042", "AS-084", "AS-116", "AS-119", "AC-116"}

// claims lists the further clauses that a switch tests in the client's situation.
func (s *suite) claims(c *client) []string {
	var ids []string
	add := func(when bool, more ...string) {
		if when {
			ids = append(ids, more...)
		}
	}
	a := c.act
	add(!a.named, "AS-041", "AS-081", "AS-096", "AS-102", "AS-103")
	add(c.loaded, "AS-101")
	add(!c.loaded, "AS-100")
	add(a.named, "AS-078")
	add(c.switches > 0, "AS-006")
	add(c.chosen, "AC-117")
	add(c.switches == 0 && !c.loaded && !c.chosen, "AS-055", "AS-056", "AS-128", "AS-097")
	add(c.query != "" || c.switches == 0, "AS-022")
	add(c.query != "", "AS-021")
	add(c.refusals > 0, "AS-053", "AS-077", "AS-079", "AS-126", "AS-091", "AS-049", "AS-050")
	add(c.refusals > 0 && c.wasBusy, "AS-111", "AS-125", "AS-061")
	add(len(c.turns) > 0, "AS-111", "AS-061", "AS-069")
	add(c.aborted, "AS-068", "AC-079", "AS-069")
	add(s.withOthers(c), "AS-005", "AS-007", "AS-015", "AS-057", "AS-058", "AS-059", "AS-060", "AS-093", "AS-095")
	add(len(c.earlier) > 0, "AS-093")
	add(s.othersBusy(c), "AS-112")
	add(len(c.earlier) > 0 && c.turn != nil && !c.turn.over, "AS-112") // an earlier session of its connection
	if custom, err := s.custom(); err == nil {
		add(a.agent == any(custom.ID) || c.agent == custom.ID, "AS-046", "AS-025")
	}
	if id, ok := a.agent.(string); ok {
		_, gained := s.gained[id]
		_, offered := find(c.offered, id)
		add(gained || offered, "AS-012")
		add(gained, "AS-052")
	}
	add(s.config != nil, "AS-025")
	return ids
}

func (s *suite) withOthers(c *client) bool {
	for _, o := range s.clients {
		if o != c && (o.session != "" || o.act.stranger) {
			return true
		}
	}
	return false
}

func (s *suite) othersBusy(c *client) bool {
	for _, o := range s.clients {
		if o != c && o.turn != nil && !o.turn.over {
			return true
		}
	}
	return false
}
