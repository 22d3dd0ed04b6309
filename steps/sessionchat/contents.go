package sessionchat

import (
	"context"
	"fmt"
	"hash/fnv"
	"maps"
	"slices"
	"strings"

	"parley/steps"
	"parley/steps/sessionchat/model"
)

// contents are user texts, by their names in features. %s is a directive with the nonce of the turn, placed so that
// it does not hide the edges of the text.
var contents = map[string]string{
	"Chinese":                  "你好，世界。%s 「引号」、全角ＡＢＣ",
	"emoji":                    "👋🏽 %s 👩‍👩‍👧‍👦 🇨🇳",
	"accented letters":         "Crème brûlée, ñandú, Ångström %s 한국어",
	"a NUL":                    "before %s\u0000behind",
	"a line break at its end":  "one line %s\n",
	"combining marks":          "e\u0301 %s \u0928\u093f",
	"other scripts":            "العربية %s עברית",
	"astral characters":        "𝔘𝔫𝔦 %s 𠜎",
	"JSON":                     `{"type":"interrupt","agent_id":"%s","content":null}`,
	"quotes and backslashes":   `"quoted" \back\slash\ %s \u0041 \n`,
	"line breaks":              "one\ntwo\r\nthree\t%s\n\nfive",
	"white space at its edges": "  \t%s \n ",
	"markup":                   "<b>&amp;</b> <script>%s</script> &lt;",
	"control characters":       "a\u0001b\u001f%s\u007f",
	"an SQL fragment":          "'); DROP TABLE sessions; -- %s",
	"format verbs":             "100%% %s {0} ${HOME} $(id)",
	"a path at its beginning":  "/etc/hosts: what is that? %s",
	"several hundred letters":  "%s " + strings.Repeat("a sentence of a paragraph, ", 30) + "the end",
}

// chatsInText sends a text that is easily corrupted.
func (s *suite) chatsInText(ctx context.Context, client, name, kind string) error {
	if kind == "great length" {
		// about 130 KiB: the length of the frame does not fit into 16 bits
		filler := strings.Repeat("很长的文字 long text 0123456789 ", 4000)
		return s.chat(ctx, client, name, &turn{}, "[[stream %s]] "+filler+"the end")
	}
	format, ok := contents[kind]
	if !ok {
		return fmt.Errorf("%s is not a text that a step can name", kind)
	}
	return s.chat(ctx, client, name, &turn{echo: true}, strings.ReplaceAll(format, "%s", "[[echo %[1]s]]"))
}

// keys are agent_ids, by their names in features: any string is valid (SC-060). %s is unique to the scenario.
var keys = map[string]string{
	"capitals":                     "CaSe-%s",
	"white space at its edges":     " %s ",
	"Chinese":                      "会话-%s",
	"emoji":                        "🤖%s",
	"a combining accent":           "cafe\u0301-%s",
	"a path":                       "../../%s/./x",
	"words with punctuation":       "Ab/%s:x.y",
	"quotes and backslashes":       `"'\%s`,
	"digits and letters":           "0%s",
	"great length":                 "%s-" + manyLetters,
	"characters of an SQL pattern": "%s%%_",
}

var manyLetters = strings.Repeat("k", 200)

// chatsUnder chats with an agent_id that is easily corrupted.
func (s *suite) chatsUnder(ctx context.Context, client, name, kind string) error {
	if kind == "digits" { // some languages would treat it as a number
		h := fnv.New32a()
		_, _ = h.Write([]byte(s.Nonce + name))
		s.session(name).agentID = fmt.Sprintf("1%010d", h.Sum32())
		return s.chat(ctx, client, name, &turn{}, hello)
	}
	format, ok := keys[kind]
	word, fixed := strings.CutPrefix(kind, "the word ")
	switch {
	case fixed: // other runs may have used the session
		s.session(name).agentID = word
	case ok:
		s.session(name).agentID = fmt.Sprintf(format, s.Nonce+"-"+name)
	default:
		return fmt.Errorf("%s is not an agent_id that a step can name", kind)
	}
	return s.chat(ctx, client, name, &turn{}, hello)
}

// near are agent_ids that a careless server confuses with another one.
var near = map[string]func(id string) string{
	"its case folded":             strings.ToLower,
	"a blank after it":            func(id string) string { return id + " " },
	"a line break after it":       func(id string) string { return id + "\n" },
	"a zero before it":            func(id string) string { return "0" + id },
	"a blank before it":           func(id string) string { return " " + id },
	"a NUL after it":              func(id string) string { return id + "\u0000" },
	"a wildcard in it":            func(id string) string { return id[:len(id)-1] + "_" }, // SQL's LIKE
	"its last character gone":     func(id string) string { return id[:len(id)-1] },
	"its accent composed":         func(id string) string { return strings.ReplaceAll(id, "e\u0301", "\u00e9") },
	"its accent gone":             func(id string) string { return strings.ReplaceAll(id, "e\u0301", "e") },
	"another Chinese letter":      func(id string) string { return strings.ReplaceAll(id, "会", "对") },
	"an underscore for its slash": func(id string) string { return strings.ReplaceAll(id, "/", "_") },
	"a hyphen for its slash":      func(id string) string { return strings.ReplaceAll(id, "/", "-") },
	"its slash gone":              func(id string) string { return strings.ReplaceAll(id, "/", "") },
	"an underscore for its colon": func(id string) string { return strings.ReplaceAll(id, ":", "_") },
	"an underscore for its dot":   func(id string) string { return strings.ReplaceAll(id, ".", "_") },
	"another emoji":               func(id string) string { return strings.ReplaceAll(id, "🤖", "👾") },
}

// chatsNear chats under an agent_id that differs only slightly from another session's.
func (s *suite) chatsNear(ctx context.Context, client, name, other, how string) error {
	change, ok := near[how]
	if !ok {
		return fmt.Errorf("%s is not a change that a step can name", how)
	}
	s.session(name).agentID = change(s.session(other).agentID)
	return s.chat(ctx, client, name, &turn{}, hello)
}

// The text of a message may be in it twice, as a string and as a list of blocks. It is looked for only where a message
// would have it, so that the work grows with the message and no faster.
const (
	maxForms = 16 // members of an object
	maxTexts = 8  // texts of a member
	maxDepth = 4  // objects within each other
)

// texts returns the strings within a value, those of an object by the names of its members. What two members of an
// object say alike counts once: the same text as a string and as a list of blocks is shown once.
func texts(v any) []string { return gather(nil, v, maxDepth) }

func gather(into []string, v any, depth int) []string {
	switch v := v.(type) {
	case string:
		return append(into, v)
	case []any:
		for _, e := range v {
			into = gather(into, e, depth)
		}
	case map[string]any:
		if depth == 0 || len(v) > maxForms {
			for _, k := range slices.Sorted(maps.Keys(v)) {
				into = gather(into, v[k], depth)
			}
			return into
		}
		members := make([][]string, 0, len(v))
		for _, k := range slices.Sorted(maps.Keys(v)) {
			members = append(members, gather(nil, v[k], depth-1))
		}
		for i, said := range members {
			if len(said) > maxTexts {
				continue
			}
			for _, whole := range said {
				for j := range members {
					if j != i {
						members[j] = without(members[j], whole)
					}
				}
			}
		}
		return append(into, slices.Concat(members...)...)
	}
	return into
}

// without returns the parts but those of which, in their order, a whole consists; all of them if it does not.
func without(parts []string, whole string) []string {
	rest, taken := whole, 0
	left := make([]string, 0, len(parts))
	for _, part := range parts {
		if after, found := strings.CutPrefix(rest, part); found && part != "" {
			rest, taken = after, taken+1
		} else {
			left = append(left, part)
		}
	}
	if rest != "" || taken == 0 {
		return parts
	}
	return left
}

// inOrder reports whether the pieces of an answer arrived complete and in order (SC-020).
func (s *suite) inOrder(name string) error {
	t := s.session(name).turn()
	if t == nil || s.became(t).Pieces() == 0 {
		return steps.NotTestedf("no turn of %s has pieces", name)
	}
	return s.Judge(s.became(t).Found(model.InOrder))
}

// receivesUnchanged reports whether the model's words reach the client unchanged (SC-020) if they are known: an echo of
// the chat.
func (s *suite) receivesUnchanged(_, name string) error {
	t, err := s.lastTurn(name)
	if err != nil || !t.echo {
		return err
	}
	return s.Judge(s.became(t).Found(model.Unchanged))
}
