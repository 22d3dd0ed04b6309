package messages

import (
	"maps"
	"slices"
	"strconv"
	"strings"
)

// Schemas do not describe every place that has an id: the bodies of HTTP requests and answers have no type, and a
// profile may rename members. There, a member is known by the name that an id has in some schema of the protocol.

// PlainName returns the name of a member as it is compared: session_id and sessionId are sessionid.
func PlainName(member string) string { return strings.ReplaceAll(strings.ToLower(member), "_", "") }

// addIDNames adds the names of the ids in a schema. A bare "id" may be anything's.
func (n *Node) addIDNames(to map[string]string) {
	if n == nil {
		return
	}
	for name, of := range n.members {
		if p := PlainName(name); of.Varies == ID && p != "id" {
			to[p] = p
		}
		of.addIDNames(to)
	}
	n.items.addIDNames(to)
}

// WithIDs returns a copy that also knows the ids in members of other names, as a profile may have them. The keys are
// JSON Pointers, whose last names count, and the values the names of the schemas. /id counts at the root only.
func (s *Set) WithIDs(named map[string]string) *Set {
	if s == nil || len(named) == 0 {
		return s
	}
	c := *s
	c.ids = maps.Clone(s.ids)
	for pointer, name := range named {
		if key := placeKey(strings.Split(strings.TrimPrefix(pointer, "/"), "/")); key != "" {
			c.ids[key] = PlainName(name)
		}
	}
	return &c
}

// IDAt returns the name that an id has in the schemas, for a place that no schema describes: connectionId for
// /connectionId, sessionId for /session/id and /sessions/0/id. It is in small letters without underlines; ok is false
// if no schema has an id of that name. A nil Set knows none.
func (s *Set) IDAt(path []string) (name string, ok bool) {
	if s == nil {
		return "", false
	}
	name, ok = s.ids[placeKey(path)]
	return name, ok
}

// placeKey is what the place of an id is known by.
func placeKey(path []string) string {
	path = slices.DeleteFunc(slices.Clone(path), func(token string) bool {
		_, err := strconv.Atoi(token)
		return err == nil
	})
	switch n := len(path); {
	case n == 0:
		return ""
	case PlainName(path[n-1]) != "id":
		return PlainName(path[n-1])
	case n == 1:
		return "/id"
	default:
		return strings.TrimSuffix(PlainName(path[n-2]), "s") + "id"
	}
}
