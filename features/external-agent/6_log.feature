@external-agent @host
Feature: 6 The log
  The log is kept as JSONL, one event per line, with six required fields.
  按 JSONL 持久化，每行一个事件。必填字段：sessionId, eventIndex, timestamp, direction, type, payload

  Rule: Every line has the six fields (按 JSONL 持久化，每行一个事件)

    @log @EA-010 @EA-065 @EA-085 @EA-086 @EA-087 @EA-088 @EA-089 @EA-089a @EA-090 @EA-091 @EA-092 @EA-093 @EA-107 @booking
    @EA-6-01
    Scenario: the log of a booking is complete and in order
      Given agent A has a session
      And agent A knows what the host changes on its own
      And agent A sends the participant a message
      And the participant speaks to agent A, if the target supports it
      And agent A calls a tool that does not exist
      And agent A is refused with "NO_ACTIVE_SPEC" or "UNKNOWN_TOOL"
      And agent A books a ticket from the first movie to the confirmation
      When agent A ends the session
      Then agent A is told that the session has ended
      And the log of agent A's session is complete and in order

    @log @EA-085 @EA-088 @EA-091 @EA-093 @EA-107 @booking @EA-6-02
    Scenario: the log of a session with a reconnection is complete and in order
      Given agent A has a session
      And agent A makes the first call of the booking
      And agent A is told that the call succeeded
      And agent A loses its connection
      And agent A has joined
      And agent A has a session
      And agent A makes the first call of the booking
      And agent A is told that the call succeeded
      When agent A ends the session
      Then agent A is told that the session has ended
      And the log of agent A's session is complete and in order

    @log @EA-010 @EA-085 @EA-086 @EA-088 @EA-107 @booking @EA-6-03
    Scenario: successive sessions have different logs
      Given agent A has a session
      And agent A makes the first call of the booking
      And agent A is told that the call succeeded
      And agent A ends the session
      And agent A is told that the session has ended
      And the log of agent A's session is complete and in order
      And agent A has a session
      And agent A makes the first call of the booking
      And agent A is told that the call succeeded
      When agent A ends the session
      Then agent A is told that the session has ended
      And the log of agent A's session is complete and in order
      And the logs read so far are unchanged

    @EA-066 @EA-6-04
    Scenario: the location of the log is recorded for study ids that contain path traversal
      Given agent A has joined
      When agent A starts a session whose ids contain path traversal
      And the answer to agent A's message is recorded
      And agent A ends the session
      And the answer to agent A's message is recorded
      Then the location of the log of agent A's session is recorded

    @relay @log @EA-066 @EA-6-05
    Scenario: files outside the log folder are recorded for a relay session id that contains path traversal
      When agent A joins a relay session whose id contains path traversal, and works there
      Then whether a file was written outside the log folder is recorded
