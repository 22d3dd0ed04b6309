package orchestrator

import (
	"strings"
	"unicode"

	proto "parley/protocol/sessionruntime"
)

// correctMention recognises, in this order:
//
//  1. payload.mentioned_agent_id, with or without the subtype MENTION (RT-084)
//  2. the subtype MENTION, of the message or in metadata (RT-083), with the agent from the first of these places that
//     has one: metadata.mentioned_agent_id, metadata.target_agent_id, metadata.agent_id; payload.selected_agent_id,
//     payload.agent_id (a selection in the GUI, RT-085); target_id; a leading "@id" of a payload that is a string
//
// A member that is null or "" counts as absent; one that is not a string makes a mention without a readable agent.
func correctMention(v View, msg proto.Message) (agent string, is bool) {
	payload := payloadOf(msg)
	if agent, there := named(payload, "mentioned_agent_id"); there {
		return agent, true
	}
	if msg.Subtype != proto.Mention && msg.Metadata["subtype"] != proto.Mention {
		return "", false
	}
	for _, name := range []string{"mentioned_agent_id", "target_agent_id", "agent_id"} {
		if agent, there := named(msg.Metadata, name); there {
			return agent, true
		}
	}
	for _, name := range []string{"selected_agent_id", "agent_id"} {
		if agent, there := named(payload, name); there {
			return agent, true
		}
	}
	if msg.TargetID != "" {
		return msg.TargetID, true
	}
	said, _ := msg.Payload.(string)
	return leading(v, said), true
}

// named returns a member that names an agent.
func named(o object, name string) (id string, there bool) {
	switch v := o[name].(type) {
	case nil:
		return "", false
	case string:
		return v, v != ""
	}
	return "", true
}

// ends are the characters that may directly follow an "@id".
const ends = ",，:：;；!！?？、。)）"

// leading returns the agent of "@id text"; "" if the text does not begin like that. Punctuation may directly follow
// the id: "@id, text".
func leading(v View, said string) string {
	said, begins := strings.CutPrefix(strings.TrimSpace(said), "@")
	if !begins {
		return ""
	}
	if end := strings.IndexFunc(said, unicode.IsSpace); end >= 0 {
		said = said[:end]
	}
	if v.Has(said) {
		return said
	}
	if end := strings.IndexAny(said, ends); end >= 0 {
		said = said[:end]
	}
	if v.Has(said) {
		return said
	}
	return strings.TrimRightFunc(said, unicode.IsPunct)
}
