package target

// toySection is the section that these kinds add to a profile.
type toySection struct {
	Listen string `yaml:"listen"`
	Logs   string `yaml:"logs"`
	Single bool   `yaml:"single"`
}

// toys are kinds of targets: one that listens, one whose agents dial, one that pipes.
var toys = Kinds{
	{Protocol: "listening", Roles: []string{Server}, Drivers: []string{SSE, WS}, Sections: toySections, Reach: toyReach,
		Configures: true},
	{Protocol: "dialling", Roles: []string{"host", "relay", "agent"}, Dials: []string{"agent"}, Drivers: []string{WS},
		Sections: toySections, Reach: toyReach},
	{Protocol: "piping", Roles: []string{Server}, Drivers: []string{WS, Stdio}, Sections: toySections, Reach: toyReach},
}

func toySections() []Section { return []Section{{Key: "toy", Value: &toySection{}}} }

func toyReach(p *Profile) Reach {
	s := SectionOf[toySection](p)
	r := Reach{Listen: s.Listen, Session: "default", Logs: s.Logs, LogsKey: "toy.logs"}
	if s.Single {
		r.Shared = "one connection"
	}
	return r
}

// toySectionOf returns the toy section of a profile.
func toySectionOf(p *Profile) *toySection { return SectionOf[toySection](p) }

// piping turns a profile into one of a target that pipes.
func piping(p *Profile) { p.kind = toys[2] }
