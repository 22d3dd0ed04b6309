package replay

import (
	"regexp"
	"strings"

	wjson "parley/wire/json"
)

// maxIDs bounds the ids that are known at a time; the oldest is forgotten first.
const maxIDs = 20_000

// ids are what the other side draws anew: a recorded id, and the one that stands for it now. Each stands for one only.
type ids struct {
	now    map[string]string // recorded → now
	then   map[string]string // now → recorded
	oldest []string          // recorded, in the order in which they were learnt
	drop   int               // index of the oldest that is known
}

func newIDs() *ids { return &ids{now: map[string]string{}, then: map[string]string{}} }

// learn reports whether got is, or may from now on be, what stands for the recorded id. A recorded id that another one
// stands for already, and one that stands for another already, are not: renew has replaced the former before.
func (i *ids) learn(recorded, got string) bool {
	if _, known := i.then[recorded]; known { // it has been renewed, and yet another came
		return false
	}
	if now, known := i.now[recorded]; known { // it was learnt in this very message
		return now == got
	}
	if _, taken := i.then[got]; taken || !alike(recorded, got) {
		return false
	}
	if len(i.oldest)-i.drop >= maxIDs {
		old := i.oldest[i.drop]
		i.drop++
		delete(i.then, i.now[old])
		delete(i.now, old)
		if i.drop == maxIDs {
			i.oldest, i.drop = append([]string(nil), i.oldest[i.drop:]...), 0
		}
	}
	i.now[recorded], i.then[got] = got, recorded
	i.oldest = append(i.oldest, recorded)
	return true
}

// word is what an id consists of.
var word = regexp.MustCompile(`[A-Za-z0-9_-]{4,}`)

// renew replaces recorded ids in a message or path by those that stand for them now.
func (i *ids) renew(b []byte) []byte { return replace(b, i.now) }

// stable renders a value for people, with recorded ids in place of those that stand for them now.
func (i *ids) stable(v any) string { return string(replace([]byte(wjson.Compact(v)), i.then)) }

// recorded renders a payload that came as stable does.
func (i *ids) recorded(b []byte) string { return string(replace(b, i.then)) }

func replace(b []byte, by map[string]string) []byte {
	if len(by) == 0 {
		return b
	}
	return word.ReplaceAllFunc(b, func(id []byte) []byte {
		if other, known := by[string(id)]; known {
			return []byte(other)
		}
		return id
	})
}

// alike reports whether two strings look like two ids drawn by one rule: the same words before them, and then as many
// characters of a random kind.
func alike(a, b string) bool {
	if a == b || len(a) != len(b) || !whole(a) || !whole(b) {
		return false
	}
	prefix := words.FindString(a)
	return prefix == words.FindString(b) && drawn(a[len(prefix):]) && drawn(b[len(prefix):])
}

// words are what an id begins with that says what it is of, such as conn_.
var words = regexp.MustCompile(`^([a-z]+[_-])*`)

func whole(s string) bool { return len(word.FindString(s)) == len(s) && s != "" }

// drawn reports whether a string looks random: at least eight characters with digits among letters, or
// at least twelve digits, or at least sixteen capitals.
func drawn(s string) bool {
	s = strings.NewReplacer("-", "", "_", "").Replace(s)
	if len(s) < 8 {
		return false
	}
	digits, letters := 0, 0
	for _, c := range []byte(s) {
		if c >= '0' && c <= '9' {
			digits++
		} else {
			letters++
		}
	}
	if digits > 0 {
		return letters > 0 || len(s) >= 12
	}
	return len(s) >= 16 && strings.ToUpper(s) == s // lower case might be words
}
