@session-runtime @server
Feature: 4A A plain input
  用户普通输入 (不指定 @agent)

  Rule: A payload is a string or a structured object — payload 可能是 str 或结构化 dict

    @RT-001 @RT-015 @RT-030 @RT-067 @RT-068 @RT-069 @RT-075 @RT-4A-01
    Scenario: a text reaches the active agent
      Given a session of agents "a", "b" and "c" where agent "a" is active
      When the user says "t1"
      Then "t1" reaches agent "a"
      And "t1" is accepted

    @RT-030 @RT-068 @RT-4A-02
    Scenario: a structured payload is routed unchanged
      Given a session of agents "a", "b" and "c" where agent "b" is active
      When the user says "t1" with a structured payload
      Then "t1" reaches agent "b"
      And "t1" is accepted

    @RT-030 @RT-068 @RT-4A-03
    Scenario: a choice in the interface is routed unchanged
      Given a session of agents "a", "b" and "c" where agent "c" is active
      When the user picks "t1" in the interface
      Then "t1" reaches agent "c"
      And "t1" is accepted

    @RT-068 @RT-4A-04
    Scenario: deep and odd values are routed unchanged
      Given a session of agents "a", "b" and "c" where agent "a" is active
      When the user says "t1" with deep and odd values
      Then "t1" reaches agent "a"

    @RT-068 @RT-4A-05
    Scenario: the sender's own metadata is preserved
      Given a session of agents "a", "b" and "c" where agent "a" is active
      When the user says "t1" with metadata of its own
      Then "t1" reaches agent "a"

  Rule: Missing trace_id and turn_id are generated — 生成/补齐 trace_id/turn_id

    @RT-053 @RT-072 @RT-075 @RT-076 @RT-4A-06
    Scenario Outline: the ids of an input with <ids> of its own are preserved or generated
      Given a session of agents "a", "b" and "c" where agent "a" is active
      When the user says "t1" with <ids> of its own
      Then "t1" reaches agent "a"
      And "t1" is accepted

      Examples:
        | ids        |
        | ids        |
        | a turn_id  |
        | a trace_id |
        | metadata   |

  Rule: The frontend is told at once that the turn is accepted — 立即通知前端: 本轮已受理

    @RT-009 @RT-055 @RT-074 @RT-076 @RT-093 @RT-170 @RT-4A-10
    Scenario: TURN_ACCEPTED comes before the acknowledgement
      Given a session of agents "a", "b" and "c" where agent "a" is active
      When the user says "t1"
      Then "t1" is accepted
      And "t1" reaches agent "a"
      And everything is handled
      When agent "a" acknowledges "t1"
      Then everything is handled

    @RT-076 @RT-055 @RT-4A-11
    Scenario: TURN_ACCEPTED names the currently active agent
      Given a session of agents "a", "b" and "c" where agent "a" is active
      When the user switches to agent "c"
      Then a switch from agent "a" to agent "c" is announced
      When the user says "t1"
      Then "t1" reaches agent "c"
      And "t1" is accepted

  Rule: Without an active agent, the orchestrator uses a default or asks SessionManager — 若为空: 走默认策略, 或向 SessionManager 请求分配

    @RT-070 @RT-071 @RT-4A-12
    Scenario: an input without an active agent is not dropped
      Given a session of agents "a", "b" and "c" where nobody is active
      When the user says "t1"
      Then "t1" reaches an agent, or SessionManager is asked for one

  Rule: The orchestrator waits for the agent's INPUT_ACK — 等待 agent 的 CONTROL:INPUT_ACK

    @RT-059 @RT-073 @RT-077 @RT-078 @RT-082 @RT-4A-13
    Scenario: an input that no agent acknowledges times out
      Given a short limit for acknowledgements of inputs
      And a session of agents "a", "b" and "c" where agent "a" is active
      When the user says "t1"
      Then "t1" reaches agent "a"
      And the frontend is told that "t1" has timed out
      And everything is handled

    @RT-079 @RT-141 @RT-4A-14
    Scenario: an acknowledgement after the time-out is ignored
      Given a short limit for acknowledgements of inputs
      And a session of agents "a", "b" and "c" where agent "a" is active
      When the user says "t1"
      Then "t1" reaches agent "a"
      And the frontend is told that "t1" has timed out
      When agent "a" acknowledges "t1"
      And agent "a" sends a chunk of "t1"
      Then the frontend does not receive the output of "t1"

    @RT-079 @RT-4A-15
    Scenario: the next turn after a time-out is routed
      Given a short limit for acknowledgements of inputs
      And a session of agents "a", "b" and "c" where agent "a" is active
      When the user says "t1"
      Then "t1" reaches agent "a"
      And the frontend is told that "t1" has timed out
      When the user cancels
      Then no CANCEL is published
      And the next input reaches agent "a"

    @RT-003 @RT-077 @RT-080 @RT-161 @RT-4A-16
    Scenario: an acknowledgement within the limit prevents the time-out
      Given an input "t1" that agent "a" acknowledges within the limit
      When the limit for acknowledging an input expires
      Then no ROUTE_TIMEOUT is published
      When agent "a" sends a chunk of "t1"
      Then the frontend receives the output of "t1"
      When agent "a" ends "t1"

    @RT-077 @RT-078 @RT-4A-17
    Scenario: another agent's acknowledgement does not prevent the time-out
      Given agent "b" acknowledges the input "t1" of agent "a" within the limit
      Then the frontend is told that "t1" has timed out
      And everything is handled

    @RT-077 @RT-078 @RT-141 @RT-4A-18
    Scenario: another agent's output does not prevent the time-out
      Given agent "b" sends a chunk of "t1" within the limit, and agent "a" does not acknowledge it
      Then the frontend is told that "t1" has timed out
      And the frontend does not receive the output of "t1"

    @RT-078 @RT-4A-19
    Scenario: each of two successive turns times out once
      Given a short limit for acknowledgements of inputs
      And a session of agents "a", "b" and "c" where agent "a" is active
      When the user says "t1"
      Then "t1" reaches agent "a"
      And the frontend is told that "t1" has timed out
      When the user says "t2"
      Then "t2" reaches agent "a"
      And the frontend is told that "t2" has timed out
      When the limit for acknowledging an input expires
      Then everything is handled

    @RT-077 @RT-4A-20
    Scenario: no time-out is published within the limit
      Given a session of agents "a", "b" and "c" where agent "a" is active
      When the user says "t1"
      Then "t1" reaches agent "a"
      And no ROUTE_TIMEOUT is published

    @RT-077 @RT-078 @RT-4A-21
    Scenario: the time-out does not come before the limit
      Given an input "t1" that agent "a" does not acknowledge within a measurable limit
      Then everything is handled

  Rule: An acknowledged turn is running — 收到 ACK: inflight → RUNNING

    @RT-081 @RT-146 @RT-4A-22
    Scenario: an acknowledged turn runs
      Given a session of agents "a", "b" and "c" where agent "a" is active
      When the user says "t1"
      Then "t1" runs at agent "a"
      And everything is handled
      When agent "a" sends a final without chunks of "t1"
      Then the frontend receives the output of "t1"

    @RT-143 @RT-4A-23
    Scenario: a first chunk without an acknowledgement starts the turn or is not forwarded
      Given a session of agents "a", "b" and "c" where agent "a" is active
      When the user says "t1"
      Then "t1" reaches agent "a"
      When agent "a" sends a chunk of "t1"
      Then everything is handled

    @RT-169 @RT-4A-24
    Scenario: a first chunk that was forwarded prevents the time-out
      Given agent "a" sends a first chunk of "t1" within the limit, and no acknowledgement
      When the limit for acknowledging an input expires
      Then everything is handled

    @RT-052 @RT-053 @RT-073 @RT-078 @RT-4A-25
    Scenario: two concurrent turns both time out
      Given a short limit for acknowledgements of inputs
      And a session of agents "a", "b" and "c" where agent "a" is active
      When the user says "t1"
      Then "t1" reaches agent "a"
      When the user mentions agent "b" in "t2" by its payload
      Then "t2" reaches agent "b"
      And the frontend is told that "t1" and "t2" have timed out, each by its turn_id

    @RT-059 @RT-078 @RT-4A-26
    Scenario: a CANCEL_ACK does not count as an INPUT_ACK
      Given agent "a" confirms the cancel of "t1" within the limit, and agent "a" does not acknowledge it
      Then the frontend is told that "t1" has timed out

    @RT-077 @RT-080 @RT-4A-27
    Scenario: an acknowledgement of an agent that is no longer active prevents the time-out
      Given an input "t1" that agent "a" acknowledges within the limit after a switch to agent "b"
      When the limit for acknowledging an input expires
      Then no ROUTE_TIMEOUT is published

    @RT-064 @RT-4A-28
    Scenario: an input after a switch goes to the new agent while the old one is speaking
      Given a session of agents "a", "b" and "c" where agent "a" is active
      And agent "a" is speaking in "t1"
      When the user switches to agent "b"
      And agent "a" ends "t1"
      And the user says "t2"
      Then "t2" reaches agent "b"

    @RT-077 @RT-078 @RT-4A-29
    Scenario: two inputs that wait for the same agent at once both time out
      Given a short limit for acknowledgements of inputs
      And a session of agents "a", "b" and "c" where agent "a" is active
      When the user says "t1"
      Then "t1" reaches agent "a"
      When the user says "t2"
      Then "t2" reaches agent "a"
      And the frontend is told that "t1" has timed out
      And the frontend is told that "t2" has timed out
      And everything is handled

    @RT-077 @RT-078 @RT-4A-30
    Scenario: an acknowledgement of the later of two inputs does not prevent the time-out of the earlier one
      Given a short limit for acknowledgements of inputs
      And a session of agents "a", "b" and "c" where agent "a" is active
      When the user says "t1"
      Then "t1" reaches agent "a"
      When the user says "t2"
      Then "t2" reaches agent "a"
      When agent "a" acknowledges "t2"
      Then the frontend is told that "t1" has timed out
      And everything is handled

  Rule: Every input is routed — USER_INPUT → target=AGENT

    @RT-001 @RT-015 @RT-072 @RT-075 @RT-4A-31
    Scenario: a text that the user says twice is routed twice
      Given a session of agents "a", "b" and "c" where agent "a" is active
      And agent "a" is speaking in "t1"
      When agent "a" ends "t1"
      And the user says "t2" with the text of "t1"
      Then "t2" reaches agent "a"
      And "t2" is accepted
      And the 2 turns have different turn_ids

  Rule: What the user has sent is not changed — payload 可能是 str 或结构化 dict, 生成/补齐 trace_id/turn_id

    @RT-068 @RT-4A-32
    Scenario: blanks around a text are preserved
      Given a session of agents "a", "b" and "c" where agent "a" is active
      When the user says "t1" with blanks around its text
      Then "t1" reaches agent "a"

    @RT-072 @RT-076 @RT-4A-33
    Scenario: ids of an input with decomposed letters are preserved
      Given a session of agents "a", "b" and "c" where agent "a" is active
      When the user says "t1" with decomposed letters in its ids
      Then "t1" reaches agent "a"
      And "t1" is accepted

  Rule: An acknowledgement is of the turn that it names — 收到 ACK: inflight → RUNNING

    @RT-077 @RT-078 @RT-4A-34
    Scenario: an acknowledgement of the earlier of two inputs does not prevent the time-out of the later one
      Given a short limit for acknowledgements of inputs
      And a session of agents "a", "b" and "c" where agent "a" is active
      When the user says "t1"
      Then "t1" reaches agent "a"
      When the user says "t2"
      Then "t2" reaches agent "a"
      When agent "a" acknowledges "t1"
      Then the frontend is told that "t2" has timed out
      And everything is handled
