@session-runtime @server
Feature: 1 What the orchestrator consumes
  订阅目标建议: subscriber_id="session" (SYSTEM 约定) + 可选 broadcast (只用于观测, 不用于业务决策)

  Rule: Broadcast is for observation, not for business decisions — broadcast 只用于观测, 不用于业务决策

    @RT-028 @RT-027 @RT-067 @RT-1-01
    Scenario: an input on BROADCAST is ignored, and one on SYSTEM is routed
      Given a session of agents "a", "b" and "c" where agent "a" is active
      When the user says "t1"
      Then "t1" runs at agent "a"
      When agent "a" sends a final without chunks of "t1"
      Then the frontend receives the output of "t1"
      When the user says "t2" on BROADCAST
      Then "t2" reaches no agent

    @RT-028 @RT-1-02
    Scenario: a cancel on BROADCAST is ignored, and one on SYSTEM is executed
      Given a session of agents "a", "b" and "c" where agent "a" is active
      And agent "a" is speaking in "t1"
      When the user cancels on BROADCAST
      Then no CANCEL is published
      When the user cancels
      Then agent "a" is asked to stop "t1"

    @RT-028 @RT-1-03
    Scenario: a removal on BROADCAST is ignored, and one on SYSTEM is executed
      Given a session of agents "a", "b" and "c" where agent "a" is active
      When the user removes agent "b" on BROADCAST
      Then no REQUEST_REMOVE_AGENT is published
      When the user removes agent "b"
      Then SessionManager is asked to remove agent "b"

    @RT-028 @RT-1-04
    Scenario: an invitation and its receipt on BROADCAST are ignored
      Given a session of agents "a", "b" and "c" where agent "a" is active
      When the user invites agent "d" on BROADCAST
      Then no REQUEST_ADD_AGENT is published
      When the user invites agent "d"
      Then SessionManager is asked to add agent "d"
      When SessionManager says that agent "d" is added on BROADCAST
      Then no AGENT_ADDED is published
      When SessionManager says that agent "d" is added
      Then the frontend is told that agent "d" is added

    @RT-028 @RT-1-05
    Scenario: the receipt of a removal on BROADCAST is ignored
      Given a session of agents "a", "b" and "c" where agent "a" is active
      When the user removes agent "b"
      Then SessionManager is asked to remove agent "b"
      When SessionManager says that agent "b" is removed on BROADCAST
      Then no AGENT_REMOVED is published
      When SessionManager says that agent "b" is removed
      Then the frontend is told that agent "b" is removed

    @RT-028 @RT-1-06
    Scenario: a confirmation of a handover on BROADCAST is ignored
      Given a session of agents "a", "b" and "c" where agent "a" is active
      And agent "a" is speaking in "t1"
      When agent "a" ends "t1"
      And agent "a" asks to hand "t1" over to agent "b"
      Then the user is asked whether agent "b" may take over "t1"
      When the user confirms the handover of "t1" on BROADCAST
      Then no SWITCH_AGENT is published
      And no HANDOVER_CONTEXT is published
      When the user confirms the handover of "t1"
      Then a switch from agent "a" to agent "b" is announced

    @RT-028 @RT-1-07
    Scenario: a close of the session on BROADCAST is ignored
      Given a session of agents "a", "b" and "c" where agent "a" is active
      When the user closes the session on BROADCAST
      Then no REQUEST_SESSION_CLOSE is published
      When the user closes the session
      Then SessionManager is asked to close the session

    @RT-028 @RT-1-08
    Scenario: a switch that the logger repeats on BROADCAST is ignored
      Given a session of agents "a", "b" and "c" where agent "a" is active
      When the logger repeats a switch to agent "b" on BROADCAST
      Then no SWITCH_AGENT is published
      And the next input reaches agent "a"
      When the user switches to agent "b"
      Then a switch from agent "a" to agent "b" is announced

    @RT-028 @RT-1-09
    Scenario: a user's switch on BROADCAST is ignored
      Given a session of agents "a", "b" and "c" where agent "a" is active
      When the user switches to agent "b" on BROADCAST
      Then no SWITCH_AGENT is published
      And the next input reaches agent "a"
      When the user switches to agent "b"
      Then a switch from agent "a" to agent "b" is announced

  Rule: The orchestrator must be able to receive agents' messages — SessionRuntime 必须能收到

    @RT-042 @RT-168 @RT-039 @RT-1-10
    Scenario: agents' acknowledgements and output on BROADCAST are handled
      Given a session of agents "a", "b" and "c" where agent "a" is active
      And agent "a" is speaking in "t0"
      When agent "a" ends "t0"
      And the user says "t1"
      Then "t1" reaches agent "a"
      When agent "a" acknowledges "t1" on BROADCAST
      And agent "a" sends a chunk of "t1" on BROADCAST
      Then the frontend receives the output of "t1"
      When agent "a" sends the final of "t1" on BROADCAST
      Then the frontend receives the output of "t1"

    @RT-042 @RT-168 @RT-102 @RT-1-11
    Scenario: a CANCEL_ACK on BROADCAST is handled
      Given a session of agents "a", "b" and "c" where agent "a" is active
      And agent "a" is speaking in "t0"
      When the user cancels
      Then agent "a" is asked to stop "t0"
      When agent "a" confirms the cancel of "t0"
      Then the frontend is told that "t0" is cancelled
      Given agent "a" is speaking in "t1"
      When the user cancels
      Then agent "a" is asked to stop "t1"
      When agent "a" confirms the cancel of "t1" on BROADCAST
      Then the frontend is told that "t1" is cancelled

    @RT-042 @RT-168 @RT-102 @RT-1-12
    Scenario: a STREAM_STOPPED on BROADCAST is handled
      Given a session of agents "a", "b" and "c" where agent "a" is active
      And agent "a" is speaking in "t0"
      When the user cancels
      Then agent "a" is asked to stop "t0"
      When agent "a" has stopped the stream of "t0"
      Then the frontend is told that "t0" is cancelled
      Given agent "a" is speaking in "t1"
      When the user cancels
      Then agent "a" is asked to stop "t1"
      When agent "a" has stopped the stream of "t1" on BROADCAST
      Then the frontend is told that "t1" is cancelled

    @RT-042 @RT-011 @RT-1-13
    Scenario: an ERROR of an agent on BROADCAST is handled
      Given a session of agents "a", "b" and "c" where agent "a" is active
      And agent "a" is speaking in "t0"
      When agent "a" reports an error in "t0"
      Then the frontend is told of the error
      Given session "two" of agents "a", "b" and "c" where agent "a" is active
      And agent "a" is speaking in "t1"
      When agent "a" reports an error in "t1" on BROADCAST
      Then the frontend is told of the error

    @RT-042 @RT-077 @RT-168 @RT-1-14
    Scenario: an INPUT_ACK on BROADCAST is handled
      Given an input "t0" that agent "a" acknowledges within the limit
      When the limit for acknowledging an input expires
      Then no ROUTE_TIMEOUT is published
      Given an input "t1" that agent "a" acknowledges within the limit on BROADCAST
      When the limit for acknowledging an input expires
      Then no ROUTE_TIMEOUT is published

    @RT-042 @RT-168 @RT-131 @RT-1-15
    Scenario: a HANDOVER_REQUEST on BROADCAST is handled
      Given a session of agents "a", "b" and "c" where agent "a" is active
      And agent "a" is speaking in "t0"
      When agent "a" ends "t0"
      And agent "a" asks to hand "t0" over to agent "b"
      Then the user is asked whether agent "b" may take over "t0"
      When the user rejects the handover of "t0"
      Given agent "a" is speaking in "t1"
      When agent "a" ends "t1"
      And agent "a" asks to hand "t1" over to agent "b" on BROADCAST
      Then the user is asked whether agent "b" may take over "t1"

    @RT-042 @RT-075 @RT-1-16
    Scenario: an input that two subscriptions deliver is routed once
      Given a session of agents "a", "b" and "c" where agent "a" is active
      When the user says "t1"
      And "t1" is delivered by a second subscription
      Then "t1" runs at agent "a"
      And everything is handled

    @RT-042 @RT-1-17
    Scenario: output that two subscriptions deliver is forwarded once
      Given a session of agents "a", "b" and "c" where agent "a" is active
      And agent "a" is speaking in "t1"
      When agent "a" sends a chunk of "t1" on BROADCAST
      And the output of "t1" is delivered by a second subscription
      Then the frontend receives the output of "t1"
      When agent "a" sends the final of "t1"
      And the output of "t1" is delivered by a second subscription
      Then the frontend receives the output of "t1"
      And everything is handled

    @RT-042 @RT-105 @RT-1-18
    Scenario: a CANCEL_ACK that two subscriptions deliver is handled once
      Given a session of agents "a", "b" and "c" where agent "a" is active
      And agent "a" is speaking in "t1"
      When the user cancels
      Then agent "a" is asked to stop "t1"
      When agent "a" confirms the cancel of "t1"
      And the confirmation of "t1" is delivered by a second subscription
      Then the frontend is told that "t1" is cancelled
      And everything is handled

  Rule: The orchestrator handles messages from agents — 来自 agent 的消息

    @RT-039 @RT-042 @RT-1-19
    Scenario: an acknowledgement that two subscriptions deliver is handled once
      Given a session of agents "a", "b" and "c" where agent "a" is active
      When the user says "t1"
      Then "t1" runs at agent "a"
      When agent "a" acknowledges "t1"
      And the acknowledgement of "t1" is delivered by a second subscription
      And agent "a" sends a chunk of "t1"
      Then the frontend receives the output of "t1"
      When agent "a" ends "t1"
      Then the next input reaches agent "a"

    @RT-011 @RT-040 @RT-1-20
    Scenario: an ERROR of an agent reaches the frontend
      Given a session of agents "a", "b" and "c" where agent "a" is active
      And agent "a" is speaking in "t1"
      When agent "a" reports an error in "t1"
      Then the frontend is told of the error

    @RT-011 @RT-1-21
    Scenario: an ERROR of SessionManager reaches the frontend
      Given a session of agents "a", "b" and "c" where agent "a" is active
      When SessionManager reports an error
      Then the frontend is told of the error

    @RT-002 @RT-011 @RT-1-22
    Scenario: an ERROR of another agent does not end the turn
      Given a session of agents "a", "b" and "c" where agent "a" is active
      And agent "a" is speaking in "t1"
      When agent "b" reports an error in "t1"
      Then everything is handled
      When agent "a" sends a chunk of "t1"
      Then the frontend receives the output of "t1"

    @RT-011 @RT-040 @RT-1-23
    Scenario: an ERROR of an agent before its first output reaches the frontend
      Given a session of agents "a", "b" and "c" where agent "a" is active
      When the user says "t1"
      Then "t1" runs at agent "a"
      When agent "a" reports an error in "t1"
      Then the frontend is told of the error

  Rule: The orchestrator does not handle its own messages — SYSTEM 入口: 自己发出的消息不再处理

    @RT-175 @RT-065 @RT-1-24
    Scenario: the orchestrator ignores its own SWITCH_AGENT
      Given a session of agents "a", "b" and "c" where agent "a" is active
      And the orchestrator receives what it publishes on SYSTEM and BROADCAST
      When the user switches to agent "b"
      Then a switch from agent "a" to agent "b" is announced
      And everything is handled
      And the next input reaches agent "b"

    @RT-175 @RT-064 @RT-1-25
    Scenario: the orchestrator ignores its own SWITCH_AGENT that comes back after a later one
      Given a session of agents "a", "b" and "c" where agent "a" is active
      And the orchestrator receives what it publishes on SYSTEM and BROADCAST
      When the user switches to agent "b"
      And the user switches to agent "c"
      Then everything is handled
      And everything is handled
      And the next input reaches agent "c"

    @RT-175 @RT-110 @RT-1-26
    Scenario: the orchestrator ignores its own REQUEST_REMOVE_AGENT
      Given a session of agents "a", "b" and "c" where agent "a" is active
      And the orchestrator receives what it publishes on SYSTEM and BROADCAST
      When the user removes agent "a"
      Then SessionManager is asked to remove agent "a"
      When SessionManager says that agent "a" is removed
      Then the frontend is told that agent "a" is removed
      And everything is handled

    @RT-175 @RT-121 @RT-127 @RT-1-27
    Scenario: the orchestrator ignores its own REQUEST_ADD_AGENT
      Given a session of agents "a", "b" and "c" where agent "a" is active
      And the orchestrator receives what it publishes on SYSTEM and BROADCAST
      When the user invites agent "d"
      Then SessionManager is asked to add agent "d"
      And everything is handled
      When SessionManager says that agent "d" is added
      Then the frontend is told that agent "d" is added
      And everything is handled

    @RT-175 @RT-153 @RT-1-28
    Scenario: the orchestrator ignores its own REQUEST_SESSION_OPEN
      Given a session of agents "a", "b" and "c" where agent "a" is active
      And the orchestrator receives what it publishes on SYSTEM and BROADCAST
      When the user opens the session
      Then SessionManager is asked to open the session
      And everything is handled
      When SessionManager says that the session is opened
      Then the frontend is told that the session is opened
      And everything is handled

    @RT-175 @RT-061 @RT-134 @RT-1-29
    Scenario: the orchestrator ignores its own SWITCH_AGENT of a handover
      Given a session of agents "a", "b" and "c" where agent "a" is active
      And the orchestrator receives what it publishes on SYSTEM and BROADCAST
      And agent "a" is speaking in "t1"
      When agent "a" ends "t1"
      And agent "a" asks to hand "t1" over to agent "b"
      Then the user is asked whether agent "b" may take over "t1"
      When the user confirms the handover of "t1"
      Then a switch from agent "a" to agent "b" is announced
      And agent "b" gets the context of "t1"
      And everything is handled

  Rule: The orchestrator consumes an agent's ERROR whatever the state of its turn — event=ERROR (模型/工具/内部错误)

    @RT-011 @RT-040 @RT-1-30
    Scenario: an ERROR of an agent instead of an acknowledgement reaches the frontend
      Given a session of agents "a", "b" and "c" where agent "a" is active
      When the user says "t1"
      Then "t1" reaches agent "a"
      When agent "a" reports an error in "t1"
      Then the frontend is told of the error
