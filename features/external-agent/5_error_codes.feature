@external-agent
Feature: 5 Error codes
  INVALID_MESSAGE, SESSION_NOT_ACTIVE, UNKNOWN_TOOL, INVALID_PARAMS, NO_ACTIVE_SPEC, TOOL_EXECUTION_FAILED

  Rule: INVALID_MESSAGE answers a message that is not a valid envelope

    @host @relay @EA-078 @EA-084 @EA-5-01
    Scenario: a message that cannot be parsed is refused with INVALID_MESSAGE
      Given agent A has a session
      When agent A sends malformed JSON
      Then agent A's message is refused as invalid

  Rule: SESSION_NOT_ACTIVE answers a call outside an active session

    @host @EA-079 @booking @EA-5-02
    Scenario: every call after the end of a session is refused
      Given agent A has a session
      And agent A makes the first call of the booking
      And agent A is told that the call succeeded
      When agent A ends the session
      Then agent A is told that the session has ended
      And agent A makes every call of the booking, and each is refused with "SESSION_NOT_ACTIVE"
      Given agent A has a session
      When agent A ends the session
      Then agent A is told that the session has ended
      And agent A makes every call of the booking, and each is refused with "SESSION_NOT_ACTIVE"

    @host @EA-079 @EA-5-03
    Scenario: a call before the start of a session is refused
      Given the target has a host in every relay session
      And agent A has a session
      When agent B joins the relay session "fresh"
      And agent B is told that it has joined
      And agent B makes a call
      Then agent B is refused with "SESSION_NOT_ACTIVE"

    @host @EA-079 @EA-5-04
    Scenario: requests are accepted again after a new session has started
      Given agent A has a session
      And agent A ends the session
      And agent A is told that the session has ended
      When agent A makes a call
      Then agent A is refused with "SESSION_NOT_ACTIVE"
      Given agent A has a session
      When agent A asks for a snapshot
      Then agent A gets a snapshot

    @relay @EA-079a @EA-5-05
    Scenario: a call is refused after the host has left
      Given agent A has a session
      When the host leaves
      And agent A makes a call
      Then agent A is refused with "SESSION_NOT_ACTIVE" or "INVALID_MESSAGE"

    @relay @EA-079a @EA-5-06
    Scenario: a call is refused in a relay session that no host has joined
      Given agent B has a session
      And no host is present
      And agent A joins the relay session "empty"
      And agent A is told that it has joined
      When agent A makes a call
      Then agent A is refused with "SESSION_NOT_ACTIVE" or "INVALID_MESSAGE"

  Rule: UNKNOWN_TOOL answers a call of a tool that is not announced

    @host @EA-080 @EA-5-07
    Scenario: a call of a tool that does not exist is refused
      Given agent A has a session
      When agent A calls a tool that does not exist
      Then agent A is refused with "UNKNOWN_TOOL"

    @host @EA-074 @EA-080 @EA-096 @booking @EA-5-08
    Scenario: a call of a tool that only another stage announces is refused
      Given agent A has a session
      And agent A knows what the host changes on its own
      Then agent A calls the tools of other stages at every stage of the booking, and each call is refused

    @host @EA-080 @EA-5-09
    Scenario Outline: a call with <fault> is refused
      Given agent A has a session
      When agent A sends a tool.call with <fault>
      Then agent A is refused with "INVALID_MESSAGE" or "INVALID_PARAMS" or "UNKNOWN_TOOL"

      Examples:
        | fault                       |
        | no toolName                 |
        | a toolName that is a number |

  Rule: INVALID_PARAMS answers a call whose params break the announced schema

    @host @EA-072 @EA-073 @EA-074 @EA-081 @booking @EA-5-11
    Scenario Outline: params that break the announced schema are refused: <wrong>
      Given agent A has a session
      And agent A knows what the host changes on its own
      Then agent A calls every announced tool with a param <wrong>, and each call is refused

      Examples:
        | wrong                   |
        | missing                 |
        | of another type         |
        | that is null            |
        | that is not in the enum |
        | below the minimum       |
        | above the maximum       |
        | that is a fraction      |
        | that is unknown         |

    @host @EA-071 @EA-074 @EA-081 @booking @EA-5-19
    Scenario: a negative quantity is refused
      Given agent A has a session
      And agent A knows what the host changes on its own
      Then agent A calls every announced tool with a param that is negative, and each call is refused

    @host @EA-081 @booking @EA-5-20
    Scenario: params that are not an object are refused
      Given agent A has a session
      Then agent A calls a tool with params that are missing, null, a list, a string and a number, and each call is refused

  Rule: NO_ACTIVE_SPEC answers a call while no uiSpec is active

    @host @EA-082 @booking @EA-5-21
    Scenario: a call is refused while no uiSpec is active
      Given agent A has a session
      When agent A makes the calls after which no uiSpec is active
      Then agent A is refused with "NO_ACTIVE_SPEC"
      And agent A makes every call of the booking, and each is refused with "NO_ACTIVE_SPEC"

    @host @EA-082 @booking @EA-5-22
    Scenario: a call is refused whenever no uiSpec is active, even briefly
      Given agent A has a session
      Then agent A calls a tool whenever no uiSpec is active during the booking, and each call is refused

  Rule: TOOL_EXECUTION_FAILED answers a call of a tool that fails at run time

    @host @EA-083 @EA-5-23
    Scenario: a call of a tool that fails at run time is refused
      Given agent A has a session
      When agent A makes the calls that make a tool fail at run time
      Then agent A is refused with "TOOL_EXECUTION_FAILED"

    @host @EA-083 @booking @EA-5-24
    Scenario: a call that fails at run time is refused under its own id, whatever succeeded before
      Given agent A has a session
      Then agent A makes 2 calls of the booking, and a call that fails at run time then is refused

  Rule: A tool that an earlier toolSchema announced is not defined once it is no longer announced

    @host @EA-080 @EA-096 @booking @EA-5-25
    Scenario: a call of a tool of the screen that was left is refused
      Given agent A has a session
      When agent A books up to the first call of "next"
      Then agent A is told that the call succeeded
      When agent A calls "prev"
      Then agent A is told that the call succeeded
      When agent A calls a tool that is no longer announced
      Then agent A is refused with "UNKNOWN_TOOL"
