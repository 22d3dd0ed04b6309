@external-agent @host
Feature: 6 The log
  按 JSONL 持久化，每行一个事件。必填字段：sessionId, eventIndex, timestamp, direction, type, payload

  Rule: every line has the six fields

    @log @EA-010 @EA-065 @EA-085 @EA-086 @EA-087 @EA-088 @EA-089 @EA-089a @EA-090 @EA-091 @EA-092 @EA-093 @EA-107 @booking
    Scenario: the log of a booking
      Given agent A has a session
      And what the host changes by itself is known to agent A
      And agent A says something
      And the participant speaks to agent A, where that can be had
      And agent A calls a tool that does not exist
      And agent A is refused with "NO_ACTIVE_SPEC" or "UNKNOWN_TOOL"
      And agent A books a ticket from the first movie to the confirmation
      When agent A ends the session
      Then agent A is told that the session has ended
      And the log of agent A's session is complete and in order

    @log @EA-085 @EA-088 @EA-091 @EA-093 @EA-107 @booking
    Scenario: the log of a session in which the agent went and came back
      Given agent A has a session
      And agent A makes the first call of the booking
      And agent A is told that the call went well
      And agent A loses its connection
      And agent A has joined
      And agent A has a session
      And agent A makes the first call of the booking
      And agent A is told that the call went well
      When agent A ends the session
      Then agent A is told that the session has ended
      And the log of agent A's session is complete and in order

    @log @EA-010 @EA-085 @EA-086 @EA-088 @EA-107 @booking
    Scenario: sessions that follow one another have each its own log
      Given agent A has a session
      And agent A makes the first call of the booking
      And agent A is told that the call went well
      And agent A ends the session
      And agent A is told that the session has ended
      And the log of agent A's session is complete and in order
      And agent A has a session
      And agent A makes the first call of the booking
      And agent A is told that the call went well
      When agent A ends the session
      Then agent A is told that the session has ended
      And the log of agent A's session is complete and in order
      And the logs that were read are as they were

    @EA-066
    Scenario: ids that would lead out of a folder
      Given agent A has joined
      When agent A starts a session whose ids would leave a folder
      And what comes of agent A's message is noted
      And agent A ends the session
      And what comes of agent A's message is noted
      Then it is noted where the log of agent A's session lies

    @relay @log @EA-066
    Scenario: a relay session whose id would lead out of a folder
      When agent A joins a relay session whose id would leave a folder, and works there
      Then it is noted whether anything has left the folder of the logs
