@session-runtime @server
Feature: 4H Opening and closing the session
  Session 开启/关闭 (SessionManager 为主, SessionRuntime 转发/配合)

  Rule: SessionManager is asked to open or close the session — 请求 SessionManager 执行 open/close

    @RT-020 @RT-036 @RT-045 @RT-046 @RT-151 @RT-153 @RT-154 @RT-155 @RT-166 @RT-4H-01
    Scenario: the session is opened
      Given a session of agents "a", "b" and "c" where agent "a" is active
      When the user opens the session
      Then SessionManager is asked to open the session
      When SessionManager says that the session is opened
      Then the frontend is told that the session is opened
      And the next input reaches agent "a"

    @RT-020 @RT-036 @RT-045 @RT-046 @RT-151 @RT-153 @RT-154 @RT-155 @RT-166 @RT-4H-02
    Scenario: the session is closed
      Given a session of agents "a", "b" and "c" where agent "a" is active
      When the user closes the session
      Then SessionManager is asked to close the session
      And no SESSION_CLOSED is published
      When SessionManager says that the session is closed
      Then the frontend is told that the session is closed

    @RT-045 @RT-046 @RT-154 @RT-155 @RT-166 @RT-4H-03
    Scenario Outline: the frontend is told that the session <could not be opened>
      Given a session of agents "a", "b" and "c" where agent "a" is active
      When the user <opens> the session
      Then SessionManager is asked to <open> the session
      When SessionManager says that the session <could not be opened>
      Then the frontend is told that the session <could not be opened>

      Examples:
        | opens  | open  | could not be opened |
        | opens  | open  | could not be opened |
        | closes | close | could not be closed |

  Rule: A speaking agent is cancelled before the session is closed — CLOSE 前若在 speaking: 先 CANCEL 并等 ACK

    @RT-004 @RT-100 @RT-105 @RT-152 @RT-153 @RT-160 @RT-4H-05
    Scenario: the session is closed after a speaking agent has confirmed its cancel
      Given a session of agents "a", "b" and "c" where agent "a" is active
      And agent "a" is speaking in "t1"
      When the user closes the session
      Then agent "a" is asked to stop "t1"
      And no REQUEST_SESSION_CLOSE is published
      When agent "a" confirms the cancel of "t1"
      Then the frontend is told that "t1" is cancelled
      And SessionManager is asked to close the session
      When SessionManager says that the session is closed
      Then the frontend is told that the session is closed

    @RT-100 @RT-152 @RT-4H-06
    Scenario: the session is closed after the confirmation of a cancel that the user sent before
      Given a session of agents "a", "b" and "c" where agent "a" is active
      And agent "a" is speaking in "t1"
      When the user cancels
      Then agent "a" is asked to stop "t1"
      When the user closes the session
      Then no REQUEST_SESSION_CLOSE is published
      When agent "a" confirms the cancel of "t1"
      Then the frontend is told that "t1" is cancelled
      And SessionManager is asked to close the session

    @RT-102 @RT-152 @RT-4H-07
    Scenario: the session is closed after a speaking agent has stopped its stream
      Given a session of agents "a", "b" and "c" where agent "a" is active
      When the user closes the session
      Then SessionManager is asked to close the session
      When SessionManager says that the session could not be closed
      Then the frontend is told that the session could not be closed
      Given agent "a" is speaking in "t1"
      When the user closes the session
      Then agent "a" is asked to stop "t1"
      When agent "a" has stopped the stream of "t1"
      Then SessionManager is asked to close the session

    @RT-152 @RT-100 @RT-4H-08
    Scenario: the session is not closed while a speaking agent does not confirm
      Given a short limit for confirmations of cancels
      And a session of agents "a", "b" and "c" where agent "a" is active
      And agent "a" is speaking in "t1"
      When the user closes the session
      Then agent "a" is asked to stop "t1"
      When the limit for confirming a cancel expires
      Then no REQUEST_SESSION_CLOSE is published

    @RT-152 @RT-4H-09
    Scenario: the session is closed after an agent has finished speaking
      Given a session of agents "a", "b" and "c" where agent "a" is active
      And agent "a" is speaking in "t1"
      When agent "a" ends "t1"
      And the user closes the session
      Then SessionManager is asked to close the session
      And no CANCEL is published

    @RT-048 @RT-4H-10
    Scenario: a failed close leaves the session unchanged
      Given a session of agents "a", "b" and "c" where agent "a" is active
      When the user switches to agent "b"
      Then a switch from agent "a" to agent "b" is announced
      When the user opens the session
      Then SessionManager is asked to open the session
      When SessionManager says that the session is opened
      Then the frontend is told that the session is opened
      When the user closes the session
      Then SessionManager is asked to close the session
      When SessionManager says that the session could not be closed
      Then the frontend is told that the session could not be closed
      And the next input reaches agent "b"

    @RT-152 @RT-4H-11
    Scenario: the session is closed after two speaking agents have confirmed their cancels
      Given a session of agents "a", "b" and "c" where agent "a" is active
      When the user says "t1"
      Then "t1" runs at agent "a"
      When the user mentions agent "b" in "t2" by its payload
      Then "t2" runs at agent "b"
      When agent "a" sends a chunk of "t1"
      Then the frontend receives the output of "t1"
      When agent "b" sends a chunk of "t2"
      Then the frontend receives the output of "t2"
      When the user closes the session
      Then everything is handled
      When agent "b" confirms the cancel of "t2"
      Then everything is handled
      When agent "a" confirms the cancel of "t1"
      Then SessionManager is asked to close the session

    @RT-153 @RT-4H-12
    Scenario: opening the session does not stop a speaking agent
      Given a session of agents "a", "b" and "c" where agent "a" is active
      And agent "a" is speaking in "t1"
      When the user opens the session
      Then SessionManager is asked to open the session
      When agent "a" ends "t1"

  Rule: A request waits for a receipt of its own kind — 等待 SESSION_OPENED/CLOSED/FAILED

    @RT-045 @RT-155 @RT-4H-13
    Scenario: a failed close is reported after a SESSION_OPENED that nobody has asked for
      Given a session of agents "a", "b" and "c" where agent "a" is active
      When the user closes the session
      Then SessionManager is asked to close the session
      When SessionManager says that the session is opened
      Then everything is handled
      When SessionManager says that the session could not be closed
      Then the frontend is told that the session could not be closed

  Rule: A close waits for the confirmation of the cancel, whatever comes before that — CLOSE 前若在 speaking: 先 CANCEL 并等 ACK

    @RT-152 @RT-153 @RT-4H-14
    Scenario Outline: a close goes on although <what> comes before the confirmation of the cancel
      Given a session of agents "a", "b" and "c" where agent "a" is active
      And agent "a" is speaking in "t1"
      When the user closes the session
      Then agent "a" is asked to stop "t1"
      When <act>
      And agent "a" confirms the cancel of "t1"
      Then SessionManager is asked to close the session

      Examples:
        | what      | act                                |
        | the final | agent "a" sends the final of "t1"  |
        | an error  | agent "a" reports an error in "t1" |
        | a cancel  | the user cancels                   |
