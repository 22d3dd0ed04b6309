package cli

import (
	"fmt"
	"strings"

	"parley/protocol/messages"
	"parley/steps"
	"parley/steps/pack"
)

// explainMessages prints the AsyncAPI documents of protocols.
func explainMessages(names []string, s *streams) error {
	const host = "localhost:3000"
	if len(names) == 0 {
		return usagef("explain --asyncapi: of which protocol? (%s)", strings.Join(suite.Names(), ", "))
	}
	for _, name := range names {
		p, err := suite.Find(name)
		if err != nil {
			return usagef("explain --asyncapi: %v", err)
		}
		text := messages.AsyncAPI(name, host, false)
		if of, is := p.(*pack.Pack); is {
			text = of.AsyncAPI(host)
		}
		if text == nil {
			return usagef("explain --asyncapi: %s has no such document", name)
		}
		if _, err := s.Out.Write(text); err != nil {
			return err
		}
	}
	return nil
}

// explainModels prints the charts of protocols' models: Mermaid, or the picture of what is owed.
func explainModels(names []string, role string, drawn bool, s *streams) error {
	if len(names) == 0 {
		return usagef("explain --model: of which protocol? (%s)", strings.Join(chartedProtocols(), ", "))
	}
	for _, name := range names {
		p, err := suite.Find(name)
		if err != nil {
			return usagef("explain --model: %v", err)
		}
		charted, ok := p.(steps.Charted)
		if !ok {
			return usagef("explain --model: %s has no model that can be drawn yet (%s)", name,
				strings.Join(chartedProtocols(), ", "))
		}
		chart, err := charted.Chart(role)
		if err != nil {
			return usagef("explain --model: %v", err)
		}
		text := chart.Mermaid()
		if drawn {
			text = chart.SVG()
		}
		if _, err := fmt.Fprint(s.Out, text); err != nil {
			return err
		}
	}
	return nil
}

func chartedProtocols() (out []string) {
	for _, p := range suite.All {
		if _, ok := p.(steps.Charted); ok {
			out = append(out, steps.Name(p))
		}
	}
	return out
}
