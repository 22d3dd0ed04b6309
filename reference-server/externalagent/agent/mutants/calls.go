package mutants

import (
	"maps"
	"slices"
	"strings"

	proto "parley/protocol/externalagent"
	"parley/reference-server/externalagent/spoil"
)

// callFaults make calls to tools that are not announced, or with params that the schema does not allow.
var callFaults = map[string]fault{
	"calls-what-it-knows": knowsHighlight,
	"calls-in-capitals": calling(func(_ state, c call) call {
		c.Tool = strings.ToUpper(c.Tool[:1]) + c.Tool[1:]
		return c
	}),
	"calls-in-snake-case":       calling(func(_ state, c call) call { c.Tool = spoil.SnakeCase(c.Tool); return c }),
	"calls-with-a-prefix":       calling(func(_ state, c call) call { c.Tool = "functions." + c.Tool; return c }),
	"calls-by-description":      calling(byDescription),
	"params-by-label":           paramsOf(byLabel),
	"params-by-index":           paramsOf(func(_ state, p object) { replace(p, "itemId", 0) }),
	"params-guessed":            paramsOf(func(_ state, p object) { replace(p, "itemId", "item-1") }),
	"params-of-the-first-stage": firstItems,
	"params-in-snake-case":      paramsOf(func(_ state, p object) { rename(p, "itemId", "item_id") }),
	"params-left-out":           paramsOf(func(_ state, p object) { delete(p, "itemId") }),
	"params-null-for-unknown":   paramsOf(func(_ state, p object) { replace(p, "itemId", nil) }),
	"params-in-a-list":          paramsOf(func(_ state, p object) { replace(p, "itemId", []any{p["itemId"]}) }),
	"params-beyond-the-schema":  paramsOf(func(_ state, p object) { p["confidence"] = 0.9 }),
	"quantity-as-text":          paramsOf(func(_ state, p object) { replace(p, "quantity", "1") }),
	"quantity-a-fraction":       paramsOf(func(_ state, p object) { replace(p, "quantity", 1.5) }),
	"quantity-too-high":         paramsOf(func(_ state, p object) { replace(p, "quantity", 99) }),
	"quantity-negative":         paramsOf(func(_ state, p object) { replace(p, "quantity", -1) }),
	"quantity-left-out":         paramsOf(func(_ state, p object) { delete(p, "quantity") }),
}

// calling changes the chosen calls.
func calling(f func(s state, c call) call) fault {
	return deciding(policy{Choose: func(_ view, s state, c call) call { return f(s, c) }})
}

// paramsOf changes a copy of the params of the chosen calls.
func paramsOf(f func(s state, p object)) fault {
	return calling(func(s state, c call) call {
		p := object{}
		params, _ := c.Params.(object)
		maps.Copy(p, params)
		f(s, p)
		c.Params = p
		return c
	})
}

// knowsHighlight highlights the item that it is about to choose, with a tool known from another host.
func knowsHighlight(o *options) {
	shown := map[int]bool{} // keyed by the state's number
	o.Policy.Choose = func(_ view, s state, c call) call {
		p, _ := c.Params.(object)
		if id, has := p["itemId"]; has && !shown[s.Serial] {
			shown[s.Serial] = true
			return call{Tool: proto.Highlight, Params: object{"itemId": id}, Reason: "Show what is chosen."}
		}
		return c
	}
}

// byDescription calls a tool by the first words of its description.
func byDescription(s state, c call) call {
	for _, t := range s.Tools {
		if t.Name == c.Tool && t.Description != "" {
			c.Tool, _, _ = strings.Cut(t.Description, ".")
		}
	}
	return c
}

// itemsOf returns the items that a state shows.
func itemsOf(s state) []object {
	var out []object
	list, _ := s.UISpec["items"].([]any)
	for _, v := range list {
		if o, ok := v.(object); ok {
			out = append(out, o)
		}
	}
	return out
}

// byLabel names an item by its label.
func byLabel(s state, p object) {
	for _, i := range itemsOf(s) {
		if i["id"] == p["itemId"] && i["label"] != nil {
			replace(p, "itemId", i["label"])
			return
		}
	}
}

// firstItems uses the items of the first stage at every stage.
func firstItems(o *options) {
	var ids []any
	o.Policy.Choose = func(v view, s state, c call) call {
		for _, i := range itemsOf(s) {
			if len(ids) == 0 || v.Made == 0 {
				ids = append(ids, i["id"])
			}
		}
		p, _ := c.Params.(object)
		if id, has := p["itemId"]; has && len(ids) > 0 && !slices.Contains(ids, id) {
			p = maps.Clone(p)
			p["itemId"] = ids[0]
			c.Params = p
		}
		return c
	}
}
