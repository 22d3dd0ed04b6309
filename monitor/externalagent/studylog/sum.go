package studylog

import (
	"encoding/binary"
	"hash/maphash"
	"math"
	"strconv"

	wjson "parley/wire/json"
)

// seed makes sums such that nobody can write a log whose sums collide.
var seed = maphash.MakeSeed()

// sumOf is equal for a type and payloads that wjson.Equal holds to be equal, and for others hardly ever. Numbers count as the
// doubles that they are closest to.
func sumOf(typ string, payload any) uint64 { return mix('m', maphash.String(seed, typ), sum(payload)) }

func sum(v any) uint64 {
	switch v := v.(type) {
	case bool:
		if v {
			return mix('t', 0, 0)
		}
		return mix('f', 0, 0)
	case wjson.Number:
		f, _ := strconv.ParseFloat(string(v), 64) // what is too large is an infinity
		if f == 0 {
			f = 0 // and not minus zero
		}
		return mix('n', math.Float64bits(f), 0)
	case string:
		return mix('s', maphash.String(seed, v), 0)
	case []any:
		all := uint64(len(v))
		for _, x := range v {
			all = mix('a', all, sum(x))
		}
		return mix('A', all, 0)
	case wjson.Object:
		all := uint64(len(v))
		for key, x := range v {
			all += mix('k', maphash.String(seed, key), sum(x)) // in any order
		}
		return mix('O', all, 0)
	}
	return mix('0', 0, 0)
}

func mix(kind byte, a, b uint64) uint64 {
	var buf [17]byte
	buf[0] = kind
	binary.LittleEndian.PutUint64(buf[1:], a)
	binary.LittleEndian.PutUint64(buf[9:], b)
	return maphash.Bytes(seed, buf[:])
}
