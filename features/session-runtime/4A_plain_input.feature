@session-runtime @server
Feature: 4A A plain input
  用户普通输入 (不指定 @agent)

  Rule: payload 可能是 str 或结构化 dict

    @RT-001 @RT-015 @RT-030 @RT-067 @RT-068 @RT-069 @RT-075
    Scenario: a text
      Given a session of agents "a", "b" and "c" where agent "a" is active
      When the user says "t1"
      Then "t1" reaches agent "a"
      And "t1" is accepted

    @RT-030 @RT-068
    Scenario: a structured payload
      Given a session of agents "a", "b" and "c" where agent "b" is active
      When the user says "t1" with a structured payload
      Then "t1" reaches agent "b"
      And "t1" is accepted

    @RT-030 @RT-068
    Scenario: a choice in the interface
      Given a session of agents "a", "b" and "c" where agent "c" is active
      When the user picks "t1" in the interface
      Then "t1" reaches agent "c"
      And "t1" is accepted

    @RT-068
    Scenario: deep and odd values
      Given a session of agents "a", "b" and "c" where agent "a" is active
      When the user says "t1" with deep and odd values
      Then "t1" reaches agent "a"

    @RT-068
    Scenario: metadata of the sender's own
      Given a session of agents "a", "b" and "c" where agent "a" is active
      When the user says "t1" with metadata of its own
      Then "t1" reaches agent "a"

  Rule: 生成/补齐 trace_id/turn_id

    @RT-053 @RT-072 @RT-075 @RT-076
    Scenario Outline: ids
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

  Rule: 立即通知前端: 本轮已受理

    @RT-009 @RT-055 @RT-074 @RT-076 @RT-093 @RT-170
    Scenario: accepted before anybody has acknowledged
      Given a session of agents "a", "b" and "c" where agent "a" is active
      When the user says "t1"
      Then "t1" is accepted
      And "t1" reaches agent "a"
      And everything is handled
      When agent "a" acknowledges "t1"
      Then everything is handled

    @RT-076 @RT-055
    Scenario: accepted for the agent that is active by now
      Given a session of agents "a", "b" and "c" where agent "a" is active
      When the user switches to agent "c"
      Then a switch from agent "a" to agent "c" is announced
      When the user says "t1"
      Then "t1" reaches agent "c"
      And "t1" is accepted

  Rule: 若为空: 走默认策略, 或向 SessionManager 请求分配

    @RT-070 @RT-071
    Scenario: nobody is active
      Given a session of agents "a", "b" and "c" where nobody is active
      When the user says "t1"
      Then "t1" reaches one of the agents, or SessionManager is asked for one

  Rule: 等待 agent 的 CONTROL:INPUT_ACK

    @RT-059 @RT-073 @RT-077 @RT-078 @RT-082
    Scenario: nobody acknowledges
      Given acknowledgements of inputs are awaited for a short time
      And a session of agents "a", "b" and "c" where agent "a" is active
      When the user says "t1"
      Then "t1" reaches agent "a"
      And the frontend hears that "t1" has timed out
      And everything is handled

    @RT-079 @RT-141
    Scenario: an acknowledgement that comes too late
      Given acknowledgements of inputs are awaited for a short time
      And a session of agents "a", "b" and "c" where agent "a" is active
      When the user says "t1"
      Then "t1" reaches agent "a"
      And the frontend hears that "t1" has timed out
      When agent "a" acknowledges "t1"
      And agent "a" sends a chunk of "t1"
      Then the frontend does not get what was sent of "t1"

    @RT-079
    Scenario: the next turn after a time-out
      Given acknowledgements of inputs are awaited for a short time
      And a session of agents "a", "b" and "c" where agent "a" is active
      When the user says "t1"
      Then "t1" reaches agent "a"
      And the frontend hears that "t1" has timed out
      When the user cancels
      Then no CANCEL is published
      And the next input reaches agent "a"

    @RT-003 @RT-077 @RT-080 @RT-161
    Scenario: an acknowledgement in time
      Given an input "t1" that agent "a" has acknowledged in time
      When the time for acknowledging an input is over
      Then no ROUTE_TIMEOUT is published
      When agent "a" sends a chunk of "t1"
      Then the frontend gets what was sent of "t1"
      When agent "a" ends "t1"

    @RT-077 @RT-078
    Scenario: an acknowledgement of another agent does not count
      Given acknowledgements of inputs are awaited for a short time
      And a session of agents "a", "b" and "c" where agent "a" is active
      When the user says "t1"
      Then "t1" reaches agent "a"
      When agent "b" acknowledges "t1"
      Then the frontend hears that "t1" has timed out
      And everything is handled

    @RT-077 @RT-078 @RT-141
    Scenario: output of another agent is no acknowledgement
      Given acknowledgements of inputs are awaited for a short time
      And a session of agents "a", "b" and "c" where agent "a" is active
      When the user says "t1"
      Then "t1" reaches agent "a"
      When agent "b" sends a chunk of "t1"
      Then the frontend hears that "t1" has timed out
      And the frontend does not get what was sent of "t1"

    @RT-078
    Scenario: two turns time out, each once
      Given acknowledgements of inputs are awaited for a short time
      And a session of agents "a", "b" and "c" where agent "a" is active
      When the user says "t1"
      Then "t1" reaches agent "a"
      And the frontend hears that "t1" has timed out
      When the user says "t2"
      Then "t2" reaches agent "a"
      And the frontend hears that "t2" has timed out
      When the time for acknowledging an input is over
      Then everything is handled

    @RT-077
    Scenario: the limit is waited for
      Given a session of agents "a", "b" and "c" where agent "a" is active
      When the user says "t1"
      Then "t1" reaches agent "a"
      And no ROUTE_TIMEOUT is published

  Rule: 收到 ACK: inflight → RUNNING

    @RT-081 @RT-146
    Scenario: a turn that runs
      Given a session of agents "a", "b" and "c" where agent "a" is active
      When the user says "t1"
      Then "t1" runs at agent "a"
      And everything is handled
      When agent "a" sends a final alone of "t1"
      Then the frontend gets what was sent of "t1"

    @RT-143
    Scenario: a first chunk without an acknowledgement
      Given a session of agents "a", "b" and "c" where agent "a" is active
      When the user says "t1"
      Then "t1" reaches agent "a"
      When agent "a" sends a chunk of "t1"
      Then everything is handled

    @RT-169
    Scenario: a first chunk, and then no acknowledgement for longer than the limit
      Given agent "a" has begun in time to speak in "t1", which it has not acknowledged
      When the time for acknowledging an input is over
      Then everything is handled

    @RT-052 @RT-053 @RT-073 @RT-078
    Scenario: two turns time out side by side
      Given acknowledgements of inputs are awaited for a short time
      And a session of agents "a", "b" and "c" where agent "a" is active
      When the user says "t1"
      Then "t1" reaches agent "a"
      When the user mentions agent "b" in "t2" by its payload
      Then "t2" reaches agent "b"
      And the frontend hears that "t1" and "t2" have timed out, each by its turn_id

    @RT-059 @RT-078
    Scenario: the confirmation of a cancel is no acknowledgement
      Given acknowledgements of inputs are awaited for a short time
      And a session of agents "a", "b" and "c" where agent "a" is active
      When the user says "t0"
      Then "t0" reaches agent "a"
      And the frontend hears that "t0" has timed out
      When the user says "t1"
      Then "t1" reaches agent "a"
      When agent "a" confirms the cancel of "t1"
      Then everything is handled
      And the frontend hears that "t1" has timed out

    @RT-077 @RT-080
    Scenario: an acknowledgement of an agent that is not active any more
      Given an input "t1" that agent "a" has acknowledged in time after a switch to agent "b"
      When the time for acknowledging an input is over
      Then no ROUTE_TIMEOUT is published

    @RT-064
    Scenario: an input behind a switch goes to the new agent while the old one is speaking
      Given a session of agents "a", "b" and "c" where agent "a" is active
      And agent "a" is speaking in "t1"
      When the user switches to agent "b"
      And agent "a" ends "t1"
      And the user says "t2"
      Then "t2" reaches agent "b"
