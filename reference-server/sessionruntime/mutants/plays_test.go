package mutants

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"parley/internal/tier"
	proto "parley/protocol/sessionruntime"
	"parley/reference-server/sessionruntime/orchestrator"
)

// plays are scripts for the parties of a bus, one act per line: who does what about which turn or agent. Each fault
// shows in at least one of them. A turn "-" is the last one routed.
var plays = []string{
	// inputs and their contents
	"setup s a a,b,c\nin - text\nack a -\nfin a -\nin t1 odd\nin t2 pick\nin t3 ids\nswitch b\nin t4 text\nack b t4\n" +
		"in - text\nack b -\nin - text\nchunk b -",
	"setup s - a,b,c\nin t1 text\nin - text",
	"setup s a a,b,c\nin t1 text\nack a t1\nchunk a t1\nswitch b\nin t2 text\nswitch c\nin t3 text",
	// acks and timeouts
	"setup s a a,b,c\nin t1 text\ntime 30ms\ntime 60ms\nack a t1\nchunk a t1\nfin a t1\nin t2 text\nin t3 text\n" +
		"ack a t3\ntime 60ms",
	"setup s a a,b,c\nin t1 text\nack a t1\ntime 60ms\nin t2 text\nack b t2\ntime 60ms\nin t3 text\nstop a t3\n" +
		"chunk a t3\ntime 60ms",
	"setup s a a,b,c\nin t1 text\nmention t2 b subtype\nack a t1\nack b t2\ntime 60ms\nmention t3 c payload\ntime 60ms",
	"setup s a a,b,c\nin t1 text\nchunk a t1\ntime 60ms",
	"setup s a a,b,c\nin t1 text\nack a t1\nmention t2 b payload\nack b t2\nchunk a t1\nchunk b t2\n" +
		"mention t3 a payload\nchunk b t2",
	"setup s a a,b,c\nin t1 text\ntime 1ms\nack a t1\ntime 60ms",
	"setup s a a,b,c\nin t1 text\nin t2 text\ntime 60ms\ntime 60ms",
	"setup s a a,b,c\nin t1 text\ntime 60ms\nchunk a t1",
	// mentions
	"setup s a a,b,c\nmention t1 b subtype\nack b t1\nfin b t1\nin t2 text\nmention t3 c payload\nmention t4 b pick\n" +
		"ack b t4\nlone b t4\nin t5 text",
	"setup s a a,b,c\nmention t6 b typed\nmention t1 x subtype\nin t2 text\nmention t3 x payload\nmention t4 agent-x pick",
	"setup s agent-a agent-a,agent-b\nmention t1 agent-b subtype\nmention t2 agent-x payload",
	"setup s b a,b,c\nmention t1 a payload\nin t2 text",
	"setup s a a,b,c\nmention t1 b subtype\nmention t2 c payload\nin t3 text",
	// output
	"setup s a a,b,c\nin t1 text\nack a t1\nchunk a t1\nchunk a t1\nchunk a t1\nodd a t1\nfin a t1\nchunk a t1\n" +
		"fin a t1\ncancel\nin t2 text\nack a t2\nlone a t2\nlone a t2\ncancel\nchunk a t9\nchunk b t9\ncancel",
	"setup s a a,b,c\nin t1 text\nack a t1\nchunk a t1\nchunk b t1\nfin b t1\ncancel\nchunk a t1\n" +
		"mention t2 b payload\nack b t2\nchunk b t2\nchunk a t1\nfin b t2\nfin a t1",
	"setup s a a,b,c\nin t1 text\nack a t1\nerror a t1\nin t2 text\nack a t2\nchunk a t2\nerror a t2",
	"setup s a a,b,c\nerror session_manager -",
	"setup s a a,b,c\nin t1 text\nerror a t1",
	"setup s a a,b,c\nin t1 text\nack a t1\nsays a t1 \"\"",
	// cancels
	"setup s a a,b,c\ncancel\nin t1 text\nack a t1\nchunk a t1\ncancel\nchunk a t1\ncancel\nstop b t1\nstop a t1\n" +
		"chunk a t1\nfin a t1\ncancel\nin t2 text",
	"setup s a a,b,c\nin t1 text\nack a t1\nchunk a t1\ninterrupt\nack a t1\nstopped a t1\nin t2 text\nack a t2\n" +
		"chunk a t2\ninterrupt\nfin a t2\nstop a t2\nin t3 text\nack a t3\nchunk a t3\ncancel\ntime 60ms",
	"setup s a a,b,c\nin t1 text\nack a t1\nfin a t1\nin t2 text\nack a t2\nchunk a t2\nmention t3 b payload\ncancel\n" +
		"stop a t1\nstop a t2",
	"setup s a a,b,c\nin t1 text\nack a t1\nchunk a t1\nswitch b\nchunk a t1\ncancel\nstop a t1",
	"setup s a a,b,c\nin t1 text\nack a t1\nchunk a t1\ncancel\ntime 60ms\ncancel\ntime 60ms",
	// removals
	"setup s a a,b,c\nremove b\nremove c\nmanager REMOVE_AGENT_DONE b\nmanager REMOVE_AGENT_FAILED c\n" +
		"mention t1 b payload\nremove a\nmanager REMOVE_AGENT_DONE a",
	"setup s a a,b,c\nremove b\nremove c\nmanager REMOVE_AGENT_DONE c\nmanager REMOVE_AGENT_DONE b",
	"setup s a a,b,c\nin t1 text\nack a t1\nchunk a t1\nremove b\nremove a\nstop a t1\nchunk a t1\nin t2 text\n" +
		"manager REMOVE_AGENT_DONE a",
	"setup s a a,b,c\nin t1 text\nack a t1\nchunk a t1\nremove a\nstopped a t1\nin t2 text\nswitch c",
	"setup s b a,b,c\nin t1 text\nack b t1\nchunk b t1\nremove b\ntime 60ms",
	"setup s a a,b,c\nin t1 text\nack a t1\nchunk a t1\nswitch b\nremove a\nstop a t1",
	"setup s a a,b,c\nremove b\nmanager REMOVE_AGENT_DONE b\ninvite b\nmanager ADD_AGENT_DONE b\nmention t1 b payload",
	"setup s a a,b,c\nremove b\nmanager REMOVE_AGENT_DONE b\nremove a\nmanager REMOVE_AGENT_DONE a",
	"setup s a a,b,c\nswitch b\nremove a\nmanager REMOVE_AGENT_DONE a\nremove b\nmanager REMOVE_AGENT_DONE b",
	// invitations
	"setup s a a,b,c\ninvite d\nmention t1 d payload\nmanager ADD_AGENT_DONE d\nmention t2 d payload\ninvite e\n" +
		"invite f\nmanager ADD_AGENT_DONE f\nmanager ADD_AGENT_FAILED e\nmention t3 e payload",
	"setup s a a,b,c\ninvite d\nremove b\nmanager ADD_AGENT_DONE d\nin t1 text\nmanager REMOVE_AGENT_DONE b",
	"setup s a a,b,c\nin t1 text\nack a t1\nchunk a t1\ninvite d\nchunk a t1\nmanager ADD_AGENT_DONE d",
	"setup s a a\nremove a",
	// handovers
	"setup s a a,b,c\nin t1 text\nack a t1\nchunk a t1\nhandover a t1 b\nchunk a t1\nfin a t1\nin t2 text\nconfirm t1\n" +
		"confirm t1\nin t3 text\nmention t4 a payload",
	"setup s a a,b,c\nin t1 text\nack a t1\nchunk a t1\nfin a t1\nhandover a t1 b\nreject t1\nin t2 text\nconfirm t1",
	"setup s a a,b,c\nin t1 text\nack a t1\nfin a t1\nconfirm t1 b\nin t2 text",
	"setup s a a,b,c\nin t1 text\nack a t1\nfin a t1\nhandover a t1 b\nconfirm t9 c\nin t2 text",
	"setup s a a,b,c\nin t1 text\nack a t1\nfin a t1\nhandover a t1 b\nin t2 text\nack a t2\nfin a t2\nhandover a t2 c\n" +
		"confirm t1",
	"setup s a a,b,c\nin t1 text\nack a t1\nfin a t1\nhandover a t1 b\nin t2 text\nack a t2\nfin a t2\nhandover a t2 c\n" +
		"reject t1\nconfirm t2",
	// text
	"setup s a a,b,c\nin t1 text\nack a t1\nsays a t1 \" piece\\n\"\nsays a t1 \"two\\x20\\x20blanks\"\n" +
		"says a t1 \"a\\r\\nb\"\nsays a t1 \"好\"\nsays a t1 \"{\\\"n\\\":1}\"\nlong a t1\nfin a t1",
	"setup s a a,b,c\nin t1 at\nin t2 text",
	// the same output twice, and another agent's output instead of an acknowledgement
	"setup s a a,b,c\nin t1 text\nack a t1\nodd a t1\nodd a t1\nfin a t1",
	"setup s a a,b,c\nin t1 text\nchunk b t1\ntime 60ms",
	// what comes before the confirmation of a cancel, receipts for others, and agents that come back
	"setup s a a,b,c\nin t1 text\nack a t1\nchunk a t1\nremove a\nfin a t1\nstop a t1",
	"setup s a a,b,c\nin t1 text\nack a t1\nchunk a t1\nremove a\nerror a t1\nstop a t1",
	"setup s a a,b,c\nin t1 text\nack a t1\nchunk a t1\nremove a\ncancel\nstop a t1",
	"setup s a a,b,c\nremove b\nmanager REMOVE_AGENT_DONE c\nmanager REMOVE_AGENT_DONE b\ninvite b\n" +
		"manager ADD_AGENT_DONE b\nremove b",
	// acknowledgements, texts, and ids that are easily mistaken
	"setup s a a,b,c\nin t1 text\nin t2 text\nack a t1\ntime 60ms",
	"setup s a a,b,c\nin ne\u0301 blanks",
	"setup s a a,x.d,x.e\nmention t1 x.e payload",
	"setup s a a," + long + "d," + long + "e\nmention t1 " + long + "e payload",
	// opening and closing
	"setup s a a,b,c\nopen\nmanager SESSION_OPENED open\nclose\nmanager SESSION_CLOSED close",
	"setup s a a,b,c\nopen\nmanager SESSION_FAILED open",
	"setup s a a,b,c\nclose\nmanager SESSION_OPENED open\nmanager SESSION_FAILED close",
	"setup s a a,b,c\nin t1 text\nack a t1\nchunk a t1\nopen\nmanager SESSION_OPENED open\nclose\nstopped a t1",
	"setup s a a,b,c\nin t1 text\nack a t1\nchunk a t1\nclose\ntime 60ms",
	"setup s a a,b,c\nin t1 text\nack a t1\nchunk a t1\nclose\nstop a t1",
	"setup s a a,b,c\nin t1 text\nack a t1\nchunk a t1\ncancel\nclose\nstop a t1",
	"setup s a a,b,c\nin t1 text\nack a t1\nmention t2 b payload\nack b t2\nchunk a t1\nchunk b t2\nclose\nstop b t2\n" +
		"stop a t1",
	// BROADCAST, second deliveries and echoes
	"setup s a a,b,c\n*in t1 text\n*switch b\n*remove c\n*logger b\nin t9 text\nin t2 text\n*ack a t2\n*chunk a t2\n" +
		"again\n*cancel\ncancel\n*stop a t2\nagain\n*handover a t2 b",
	"setup s a a,b,c\nin t1 text\nagain\nin - text\nagain\n*ack a -\ntime 60ms",
	"setup s a a,b,c\nswitch b\nback\nremove c\nback\ninvite d\nback\nopen\nback",
	"setup s a a,b,c\nswitch b\nswitch c\nback\nin t1 text",
	"setup s a a,b,c\nin t1 text\ntime 60ms\nagain",
	// two sessions, and one that is set up again
	"setup s a a,b,c\nswitch b\nsetup s a a,b,c\nin t1 text",
	"setup s a a,b\nsetup r b b,c\nin t1 text\nack b t1\nchunk b t1\nuse s\ncancel\nin t2 text\nswitch b\nuse r\n" +
		"switch c\nswitch b\nuse s\nin t3 text\nswitch a\nuse r\nswitch c\nswitch b\nuse s\nin t4 text",
}

// long is the beginning of long ids.
const long = "an-expert-whose-name-is-longer-than-fifty-characters-"

// stage is a bus on which a play runs.
type stage struct {
	seams    seams
	machines map[string]*orchestrator.Machine
	session  string // the session that acts refer to
	now      time.Time
	acts     int
	last     message // the last one delivered
	routed   string  // turn_id of the last routed turn
	out      []message
	back     int // number of out that has been echoed
}

func (s *stage) setUp(words []string) {
	active := strings.Trim(words[2], "-")
	made := 0
	o := orchestrator.Options{SessionID: words[1], Active: active, Agents: strings.Split(words[3], ","),
		InputAck: 50 * time.Millisecond, CancelAck: 50 * time.Millisecond,
		Now: func() time.Time { return s.now }, NewID: func() string { made++; return fmt.Sprintf("%s-%d", words[1], made) }}
	if s.seams.Runtime != nil {
		s.seams.Runtime(&o)
	}
	s.session = words[1]
	s.machines[words[1]] = orchestrator.New(o)
}

func (s *stage) deliver(msg message) {
	s.last = msg
	id := msg.SessionID
	if s.seams.Route != nil {
		id = s.seams.Route(msg)
	}
	s.published(s.machines[id].OnMessage(msg))
}

func (s *stage) published(all []message) {
	for _, msg := range all {
		if kindOf(msg) == proto.UserInput {
			s.routed = cmp.Or(text(msg, proto.TurnID), s.routed)
		}
	}
	s.out = append(s.out, all...)
}

// act executes a line.
func (s *stage) act(line string) {
	s.acts++
	line, broadcast := strings.CutPrefix(line, "*")
	words := strings.Fields(line)
	switch words[0] {
	case "setup":
		s.setUp(words)
	case "use":
		s.session = words[1]
	case "again":
		s.deliver(s.last)
	case "back":
		for ; s.back < len(s.out); s.back++ {
			if msg := s.out[s.back]; msg.Target == proto.ToSystem && s.back < 1000 {
				s.deliver(msg)
			}
		}
	case "time":
		d, _ := time.ParseDuration(words[1])
		s.now = s.now.Add(d)
		s.published(s.machines[s.session].Tick(s.now))
	default:
		msg := s.message(append(words, "", "", ""))
		msg.ID, msg.SessionID, msg.Target = fmt.Sprintf("m%d", s.acts), s.session, proto.ToSystem
		if broadcast {
			msg.Target = proto.ToBroadcast
		}
		s.deliver(msg)
	}
}

var controls = map[string]string{"cancel": proto.Cancel, "interrupt": proto.Interrupt, "switch": proto.SwitchAgent,
	"remove": proto.RemoveAgent, "invite": proto.InviteAgent,
	"open": proto.SessionOpen, "close": proto.SessionClose, "confirm": proto.HandoverConfirm,
	"reject": proto.HandoverReject,
	"ack":    proto.InputAck, "stop": proto.CancelAck, "handover": proto.HandoverRequest}

// message makes the message of a line. Transactions are named by their subject.
func (s *stage) message(words []string) message {
	what, who, about := words[0], words[1], words[2]
	msg := message{Event: proto.Control, Subtype: controls[what], Sender: proto.FromFrontend}
	msg.Payload, msg.Metadata = object{}, object{}
	byAgent := func() {
		if about == "-" {
			about = s.routed
		}
		msg.Sender, msg.Metadata[proto.TurnID] = who, about
	}
	switch what {
	case "in":
		return said(who, about)
	case "mention":
		return mention(who, about, words[3])
	case "switch":
		msg.Payload = object{"to": who, "reason": "asked"}
	case "remove":
		msg.Payload, msg.Metadata[proto.TxID] = object{"agent_id": who}, who
	case "invite":
		msg.Payload, msg.Metadata[proto.TxID] = object{"agent_spec": object{"agent_id": who}}, who
	case "open", "close":
		msg.Metadata[proto.TxID] = what
	case "confirm", "reject":
		if about != "" {
			msg.Payload = object{"target_agent": about}
		}
		msg.Metadata[proto.TxID] = "handover " + who
	case "manager":
		msg.Subtype, msg.Sender, msg.Payload, msg.Metadata[proto.TxID] = who, proto.FromManager, object{"reason": "so"}, about
		if len(about) == 1 {
			msg.Payload = object{"agent_id": about}
		}
	case "logger":
		msg.Subtype, msg.Sender, msg.Payload = proto.SwitchAgent, proto.FromLogger, object{"to": who}
	case "stopped":
		byAgent()
		msg.Event, msg.Subtype = proto.Event, proto.StreamStopped
	case "ack", "stop":
		byAgent()
	case "error":
		byAgent()
		msg.Event, msg.Subtype = proto.Error, "MODEL_ERROR"
	case "handover":
		byAgent()
		msg.Payload = object{"target_agent": words[3], "from": who, "reason": "why", "summary": "so far"}
		msg.Metadata[proto.TxID] = "handover " + about
	case "chunk", "fin", "lone", "odd":
		byAgent()
		return output(msg, what, s.acts)
	case "says", "long":
		byAgent()
		msg = output(msg, what, s.acts)
		msg.Payload = strings.Repeat("long text ", 1000)
		if what == "says" {
			msg.Payload, _ = strconv.Unquote(strings.TrimRight(strings.Join(words[3:], " "), " "))
		}
	}
	return msg
}

func said(turn, what string) message {
	msg := message{Event: proto.UserInput, Sender: proto.FromFrontend, Payload: "hello", Metadata: object{}}
	if turn != "-" {
		msg.Metadata[proto.TurnID] = turn
	}
	switch what {
	case "odd":
		msg.Payload = object{"text": "a\n\"b\"", "名": number("1"), "n": number("1.5"), "big": number("9007199254740991"),
			"none": nil, "empty": object{}, "list": []any{[]any{"x"}}}
		msg.Metadata["client"], msg.Metadata["locale"] = object{"page": "/"}, "zh-CN"
	case "at":
		msg.Payload = "@b hello"
	case "blanks":
		msg.Payload = " hello\n"
	case "pick":
		msg.Payload = object{"type": "selection", "value": "one"}
	case "ids":
		msg.Metadata[proto.TraceID] = "trace of " + turn
	}
	return msg
}

func mention(turn, agent, how string) message {
	msg := said(turn, "text")
	if how != "payload" {
		msg.Subtype, msg.Metadata["subtype"], msg.Metadata["mentioned_agent_id"] = proto.Mention, proto.Mention, agent
		msg.Payload = "@" + agent + " hello"
	}
	switch how {
	case "payload":
		msg.Payload = object{"text": "hello", "mentioned_agent_id": agent}
	case "typed":
		msg.Payload = object{"text": "hello", "subtype": proto.Mention}
	case "pick":
		msg.Payload = object{"type": "agent_selection", "mentioned_agent_id": agent}
	}
	return msg
}

func output(msg message, what string, n int) message {
	msg.Event, msg.Subtype, msg.Payload = proto.AgentOutput, "", object{"text": fmt.Sprint("piece ", n)}
	msg.Metadata[proto.TraceID] = "trace"
	msg.Metadata[proto.Stream] = object{proto.IsChunk: what != "lone", proto.Seq: number("0"),
		proto.Final: what == "fin" || what == "lone"}
	if what == "odd" {
		msg.Payload = object{"text": " \"piece\"\n", "n": number("1.5"), "none": nil, "empty": []any{},
			"tool_calls": []any{"x"}}
		msg.Metadata["model"], msg.Metadata["tags"], msg.Metadata["none"] = object{"temperature": number("0.25")},
			[]any{"a", "b"}, nil
	}
	return msg
}

// give runs a play and returns what was published, one line per act.
func give(t *testing.T, f fault, play string) string {
	t.Helper()
	s := &stage{machines: map[string]*orchestrator.Machine{}, now: time.Unix(0, 0)}
	if f != nil {
		s.seams = f()
	}
	var lines []string
	for line := range strings.Lines(play) {
		before := len(s.out)
		s.act(strings.TrimSpace(line))
		data, err := json.Marshal(s.out[before:])
		if err != nil {
			t.Fatal(err)
		}
		lines = append(lines, string(data))
	}
	return strings.Join(lines, "\n") // per act, because a fault may publish the same at another time
}

// In some play every fault differs from the correct orchestrator and from every other fault, and it keeps no state
// from one bus to the next.
func TestEveryFaultShows(t *testing.T) {
	tier.Night(t)
	want := make([]string, len(plays))
	for i, play := range plays {
		want[i] = give(t, nil, play)
	}
	same := map[string][]string{}
	for id, f := range faults() {
		var all strings.Builder
		shows := false
		for i, play := range plays {
			got := give(t, f, play)
			all.WriteString(got)
			if got != want[i] && !shows {
				shows = true
				if again := give(t, f, play); again != got {
					t.Errorf("%s: it is not the same twice", id)
				}
			}
		}
		if !shows {
			t.Errorf("%s: it is correct in every play", id)
		}
		same[all.String()] = append(same[all.String()], id)
	}
	for _, ids := range same {
		if len(ids) > 1 {
			slices.Sort(ids)
			t.Errorf("the same in every play: %v", ids)
		}
	}
}
