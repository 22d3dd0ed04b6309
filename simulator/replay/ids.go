package replay

import (
	"strings"

	"parley/transport/transcript"
	wjson "parley/transport/wire/json"
)

// maxIDs bounds the ids that are known at a time; the oldest is forgotten first.
const maxIDs = 20_000

// ids are what the other side draws anew: a recorded id, and the one that stands for it now. Each stands for one only.
// An id that nobody would take for a word stands for itself wherever it comes. Any other, such as 1, counts only in
// members of one scope.
type ids struct {
	now    map[string]string // key of a recorded id → the id now
	then   map[string]string // key of an id now → the recorded id
	pair   map[string]string // key of a recorded id → key of the id now
	scopes map[string]bool   // of the keys of now
	sent   map[string]bool   // keys of ids that are ours: the other side repeats them
	said   map[string]bool   // texts that this side has sent as members: nobody draws those
	oldest recentKeys        // keys of now
	mine   recentKeys        // keys of sent
	spoken recentKeys        // of said
	tried  []string          // what was learnt on trial: keys of now
	trial  bool
	loose  bool // two ids that were drawn by different rules may stand for each other
}

// recentKeys has keys in the order in which they were added.
type recentKeys struct {
	keys []string
	drop int
}

// addKey adds a key, and returns the oldest one if there are too many.
func (r *recentKeys) addKey(key string) (old string, full bool) {
	r.keys = append(r.keys, key)
	if len(r.keys)-r.drop <= maxIDs {
		return "", false
	}
	old = r.keys[r.drop]
	if r.drop++; r.drop == maxIDs {
		r.keys, r.drop = append([]string(nil), r.keys[r.drop:]...), 0
	}
	return old, true
}

func newIDs() *ids {
	return &ids{now: map[string]string{}, then: map[string]string{}, pair: map[string]string{},
		scopes: map[string]bool{}, sent: map[string]bool{}, said: map[string]bool{}}
}

// idKey is what an id is known by.
func idKey(scope, id string) string {
	if isSurelyID(id) {
		return id
	}
	return scope + "\x00" + id
}

// scopeOf returns the scope of the ids in a member.
func scopeOf(member string) string {
	s := strings.ReplaceAll(strings.ToLower(member), "_", "")
	switch s {
	case "id", "replyto", "requestid", "messageid":
		return "message"
	}
	return s
}

// sameID reports whether got is, or may from now on be, what stands for a recorded id. rule says that a schema has them
// as ids; otherwise they must look like two ids drawn alike.
func (i *ids) sameID(scope, recorded, got string, rule bool) bool {
	was, is := idKey(scope, recorded), idKey(scope, got)
	if recorded == got && i.sent[was] {
		return true
	}
	if now, known := i.now[was]; known {
		return now == got
	}
	if i.sent[was] && isSurelyID(recorded) || i.sent[is] && isSurelyID(got) {
		return false
	}
	if _, taken := i.then[is]; taken || !rule && recorded != got && !i.looksAkin(recorded, got) {
		return false
	}
	if !rule && !isSurelyID(recorded) || i.said[got] && !i.said[recorded] {
		return recorded == got
	}
	i.learnID(was, recorded, is, got)
	return true
}

// presentID returns the id that stands for a recorded one, by what is known.
func (i *ids) presentID(scope, recorded string) string {
	if now, known := i.now[idKey(scope, recorded)]; known {
		return now
	}
	return recorded
}

// looksAkin reports whether two strings look like ids of which one may stand for the other.
func (i *ids) looksAkin(a, b string) bool {
	return sameForm(a, b) || i.loose && isSurelyID(a) && isSurelyID(b)
}

func (i *ids) learnID(was, recorded, is, got string) {
	i.now[was], i.then[is], i.pair[was] = got, recorded, is
	if scope, _, scoped := strings.Cut(was, "\x00"); scoped {
		i.scopes[scope] = true
	}
	if i.trial {
		i.tried = append(i.tried, was)
	}
	if old, full := i.oldest.addKey(was); full {
		i.forgetID(old)
	}
}

// forgetID forgets a recorded id, given by its key.
func (i *ids) forgetID(was string) {
	delete(i.then, i.pair[was])
	delete(i.now, was)
	delete(i.pair, was)
}

// tryForgetting calls do, and forgets what was learnt meanwhile.
func (i *ids) tryForgetting(do func()) {
	i.trial = true
	do()
	i.trial = false
	for _, was := range i.tried {
		i.forgetID(was)
	}
	i.oldest.keys = i.oldest.keys[:max(i.oldest.drop, len(i.oldest.keys)-len(i.tried))]
	i.tried = nil
}

// noteSentID notes an id that this side has sent. One that the other side has drawn stays the other side's.
func (i *ids) noteSentID(scope, id string) {
	k := idKey(scope, id)
	if _, theirs := i.then[k]; theirs || i.sent[k] {
		return
	}
	i.sent[k] = true
	if old, full := i.mine.addKey(k); full {
		delete(i.sent, old)
	}
}

// noteSentTexts notes the texts in a message that this side sends.
func (i *ids) noteSentTexts(v any) {
	switch v := v.(type) {
	case wjson.Object:
		for _, of := range v {
			i.noteSentTexts(of)
		}
	case []any:
		for _, of := range v {
			i.noteSentTexts(of)
		}
	case string:
		if len(v) < 3 || len(v) > maxID || i.said[v] || i.then[v] != "" {
			return
		}
		i.said[v] = true
		if old, full := i.spoken.addKey(v); full {
			delete(i.said, old)
		}
	}
}

// oursIn notes the ids in a message that this side sends that nobody would take for words.
func (i *ids) oursIn(b []byte) {
	for at, end := nextWord(b, 0); at < end; at, end = nextWord(b, end) {
		if end-at <= maxID && isSurelyID(string(b[at:end])) {
			i.noteSentID("", string(b[at:end]))
		}
	}
}

// maxID is the length of the longest id, and minID that of the shortest one that is looked for in texts.
const (
	minID = 4
	maxID = 128
)

// nextWord returns where the next series of at least minID characters that ids consist of begins and ends, from an
// index on; the length of b, twice, if there is none.
func nextWord[T string | []byte](b T, from int) (begin, end int) {
	for begin = from; begin < len(b); begin = end + 1 {
		end = begin
		for end < len(b) && inWord(b[end]) {
			end++
		}
		if end-begin >= minID {
			return begin, end
		}
	}
	return len(b), len(b)
}

func inWord(c byte) bool {
	return c >= '0' && c <= '9' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c == '_' || c == '-'
}

// renewText replaces recorded ids in a text by those that stand for them now.
func (i *ids) renewText(b []byte) []byte { return replaceIDs(b, i.now) }

// renderStable renders a value for people, with recorded ids in place of those that stand for them now.
func (i *ids) renderStable(v any) string { return string(replaceIDs([]byte(wjson.Compact(v)), i.then)) }

// renderReceived renders a payload that came as renderStable does.
func (i *ids) renderReceived(b []byte) string { return string(replaceIDs(b, i.then)) }

func replaceIDs(b []byte, by map[string]string) []byte {
	if len(by) == 0 {
		return b
	}
	var out []byte
	done := 0
	for at, end := nextWord(b, 0); at < end; at, end = nextWord(b, end) {
		if end-at > maxID {
			continue
		}
		if other, known := by[string(b[at:end])]; known && other != string(b[at:end]) {
			out = append(append(out, b[done:at]...), other...)
			done = end
		}
	}
	if done == 0 {
		return b
	}
	return append(out, b[done:]...)
}

// compareTexts reports whether two texts are the same but for ids and times in them, and learns the ids.
func (i *ids) compareTexts(want, got string) bool {
	if before, after, hidden := strings.Cut(want, transcript.Blank); hidden {
		return len(got) >= len(before) && strings.HasPrefix(got, before) &&
			strings.HasSuffix(got[len(before):], lastPart(after))
	}
	if want == got && i.loose && isSurelyID(want) {
		return i.sameID("", want, got, false)
	}
	if want == got || isTime(want) && isTime(got) || string(i.renewText([]byte(want))) == got {
		return true
	}
	want, got = timeText.ReplaceAllString(want, "«time»"), timeText.ReplaceAllString(got, "«time»")
	at, now := 0, 0
	for n := 0; ; n++ {
		w, wEnd := nextWord(want, at)
		g, gEnd := nextWord(got, now)
		if want[at:w] != got[now:g] || (w < wEnd) != (g < gEnd) {
			return false
		}
		if w == wEnd {
			return n > 0
		}
		if !i.compareWords(want[w:wEnd], got[g:gEnd]) {
			return false
		}
		at, now = wEnd, gEnd
	}
}

// compareWords compares two words of texts.
func (i *ids) compareWords(want, got string) bool {
	if want == got && !isSurelyID(want) {
		return true
	}
	return len(want) <= maxID && (i.sameID("", want, got, false) || i.standsFor(want, got))
}

// standsFor reports whether a word stands for a recorded one as an id of some scope. A word without a digit is a word.
func (i *ids) standsFor(want, got string) bool {
	if isSurelyID(want) || !strings.ContainsAny(want, digits) {
		return false
	}
	for scope := range i.scopes {
		if now, known := i.now[scope+"\x00"+want]; known && now == got {
			return true
		}
	}
	return false
}

// lastPart returns what stands behind the last redacted place of a text.
func lastPart(s string) string {
	if i := strings.LastIndex(s, transcript.Blank); i >= 0 {
		return s[i+len(transcript.Blank):]
	}
	return s
}

// sameForm reports whether two strings look like two ids drawn by one rule: the same words before them, and then as
// many characters of a random kind.
func sameForm(a, b string) bool {
	if a == b || len(a) != len(b) || !isWholeID(a) || !isWholeID(b) {
		return false
	}
	prefix := prefixOf(a)
	return prefix == prefixOf(b) && looksRandom(a[len(prefix):]) && looksRandom(b[len(prefix):])
}

// isSurelyID reports whether nobody would take a string for a word: it looks like an id that was drawn at random, or
// like a long number.
func isSurelyID(s string) bool {
	if !isWholeID(s) {
		return false
	}
	digits := 0
	for _, c := range []byte(s) {
		if c >= '0' && c <= '9' {
			digits++
		}
	}
	return digits >= 6 && len(s) >= 8 || looksRandom(s[len(prefixOf(s)):])
}

// prefixOf returns what an id begins with that says what it is of, such as conn_: words of small letters.
func prefixOf(s string) string {
	end := 0
	for at := range len(s) {
		switch c := s[at]; {
		case c >= 'a' && c <= 'z':
		case (c == '_' || c == '-') && at > end:
			end = at + 1
		default:
			return s[:end]
		}
	}
	return s[:end]
}

// isWholeID reports whether a string is a word as ids are, and not too short.
func isWholeID(s string) bool {
	begin, end := nextWord(s, 0)
	return begin == 0 && end == len(s) && end > 0
}

// looksRandom reports whether a string looks random: at least eight characters with digits among letters, or
// at least twelve digits, or at least sixteen capitals.
func looksRandom(s string) bool {
	digits, letters, small := 0, 0, 0
	for _, c := range []byte(s) {
		switch {
		case c == '-' || c == '_':
		case c >= '0' && c <= '9':
			digits++
		default:
			letters++
			if c >= 'a' && c <= 'z' {
				small++
			}
		}
	}
	switch {
	case digits+letters < 8:
		return false
	case digits > 0:
		return letters > 0 || digits >= 12
	}
	return letters >= 16 && small == 0 // small letters might be words
}
