package replay

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/url"
	"regexp"
	"slices"
	"strings"

	"parley/transport/transcript"
)

// Secrets are those of a target, for what was redacted in the recording that is played against it.
type Secrets struct {
	Named map[string]string // those in the target's paths, by the names of their parameters, with the escapes of a URL
	All   []string
}

var (
	hiddenParameter = regexp.MustCompile(`([?&])([^=&?#\s]+)=` + transcript.Blank)
	hiddenMember    = regexp.MustCompile(`"([\w-]+)"(\s*:\s*)"` + transcript.Blank + `"`)
)

// Restore puts the secrets of the target where secrets were removed from a record: the one of the same name, or the
// only one that the target has.
func (s Secrets) Restore(r transcript.Record) transcript.Record {
	if sendable(r) == nil || len(s.All) == 0 {
		return r
	}
	only := ""
	if all := slices.Compact(slices.Sorted(slices.Values(s.All))); len(all) == 1 {
		only = all[0]
	}
	r.Label = hiddenParameter.ReplaceAllStringFunc(r.Label, func(found string) string {
		name := strings.TrimSuffix(found[1:], "="+transcript.Blank)
		switch value := s.Named[name]; {
		case value != "":
			return found[:1] + name + "=" + value
		case only != "":
			return found[:1] + name + "=" + url.QueryEscape(only)
		}
		return found
	})
	r.Bytes = hiddenMember.ReplaceAllFunc(r.Bytes, func(found []byte) []byte {
		parts := hiddenMember.FindSubmatch(found)
		value := only
		if named, err := url.QueryUnescape(s.Named[string(parts[1])]); err == nil && named != "" {
			value = named
		}
		quoted, err := json.Marshal(value)
		if value == "" || err != nil {
			return found
		}
		return fmt.Appendf(nil, "%q%s%s", parts[1], parts[2], quoted)
	})
	if only != "" {
		quoted, _ := json.Marshal(only)
		r.Bytes = bytes.ReplaceAll(r.Bytes, []byte(transcript.Blank), quoted[1:len(quoted)-1])
	}
	return r
}

// Sendable says why a record cannot be sent; nil if it can.
func Sendable(r transcript.Record) error {
	if err := sendable(r); err != nil {
		return err
	}
	if r.Cut > 0 {
		return fmt.Errorf("record %d cannot be sent: %d bytes of it were not recorded", r.N, r.Cut)
	}
	return nil
}

func sendable(r transcript.Record) error {
	if bytes.Contains(r.Bytes, []byte(transcript.Blank)) || strings.Contains(r.Label, transcript.Blank) {
		return fmt.Errorf("record %d cannot be sent: a secret was removed from it (name a profile that has it)", r.N)
	}
	return nil
}
