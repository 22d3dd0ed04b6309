@session-runtime @server
Feature: 4F A handover
  智能体请求切换 (HANDOVER_REQUEST)

  Rule: The frontend confirms first; then the orchestrator switches and hands the last output to the new agent — 先让前端确认；确认后再执行切换，并把切换前输出附带给新 agent

    @RT-006 @RT-007 @RT-019 @RT-035 @RT-038 @RT-061 @RT-062 @RT-063 @RT-065 @RT-066 @RT-091 @RT-128 @RT-129 @RT-130 @RT-131 @RT-132 @RT-133 @RT-134 @RT-135 @RT-136 @RT-138 @RT-165 @RT-173
    @RT-4F-01
    Scenario: a handover is confirmed
      Given a session of agents "a", "b" and "c" where agent "a" is active
      And agent "a" is speaking in "t1"
      When agent "a" ends "t1"
      And agent "a" asks to hand "t1" over to agent "b"
      Then the user is asked whether agent "b" may take over "t1"
      And no SWITCH_AGENT is published
      When the user confirms the handover of "t1"
      Then a switch from agent "a" to agent "b" is announced
      And agent "b" gets the context of "t1"
      And everything is handled

    @RT-048 @RT-063 @RT-134 @RT-4F-02
    Scenario: a mention of the new agent after a handover is handled
      Given a session of agents "a", "b" and "c" where agent "a" is active
      And agent "a" is speaking in "t1"
      When agent "a" ends "t1"
      And agent "a" asks to hand "t1" over to agent "c"
      Then the user is asked whether agent "c" may take over "t1"
      When the user confirms the handover of "t1"
      Then a switch from agent "a" to agent "c" is announced
      And agent "c" gets the context of "t1"
      When the user mentions agent "c" in "t2" by its payload
      Then everything is handled

    @RT-035 @RT-133 @RT-137 @RT-165 @RT-4F-03
    Scenario: a handover is rejected
      Given a session of agents "a", "b" and "c" where agent "a" is active
      And agent "a" is speaking in "t1"
      When agent "a" ends "t1"
      And agent "a" asks to hand "t1" over to agent "b"
      Then the user is asked whether agent "b" may take over "t1"
      When the user rejects the handover of "t1"
      Then no SWITCH_AGENT is published
      And no HANDOVER_CONTEXT is published
      And the next input reaches agent "a"
      When agent "a" acknowledges "next"
      And agent "a" sends a final without chunks of "next"
      And agent "a" asks to hand "next" over to agent "b"
      Then the user is asked whether agent "b" may take over "next"
      When the user confirms the handover of "next"
      Then a switch from agent "a" to agent "b" is announced

    @RT-061 @RT-128 @RT-133 @RT-4F-04
    Scenario: a handover waits for the user's answer
      Given a session of agents "a", "b" and "c" where agent "a" is active
      And agent "a" is speaking in "t1"
      When agent "a" ends "t1"
      And agent "a" asks to hand "t1" over to agent "b"
      Then the user is asked whether agent "b" may take over "t1"
      And no SWITCH_AGENT is published
      And no HANDOVER_CONTEXT is published
      When the user confirms the handover of "t1"
      Then a switch from agent "a" to agent "b" is announced

    @RT-133 @RT-137 @RT-4F-05
    Scenario: a confirmation without a request is ignored
      Given a session of agents "a", "b" and "c" where agent "a" is active
      And agent "a" is speaking in "t1"
      When agent "a" ends "t1"
      And the user confirms a handover to agent "b" that no agent has requested
      Then no SWITCH_AGENT is published
      And no HANDOVER_CONTEXT is published
      When agent "a" asks to hand "t1" over to agent "b"
      Then the user is asked whether agent "b" may take over "t1"
      When the user confirms the handover of "t1"
      Then a switch from agent "a" to agent "b" is announced

    @RT-062 @RT-133 @RT-4F-06
    Scenario: a confirmation of another handover is ignored
      Given a session of agents "a", "b" and "c" where agent "a" is active
      And agent "a" is speaking in "t1"
      When agent "a" ends "t1"
      And agent "a" asks to hand "t1" over to agent "b"
      Then the user is asked whether agent "b" may take over "t1"
      When the user confirms a handover to agent "c" that no agent has requested
      Then no SWITCH_AGENT is published
      And no HANDOVER_CONTEXT is published
      When the user confirms the handover of "t1"
      Then a switch from agent "a" to agent "b" is announced

    @RT-065 @RT-135 @RT-061 @RT-4F-07
    Scenario: a second confirmation is ignored
      Given a session of agents "a", "b" and "c" where agent "a" is active
      And agent "a" is speaking in "t1"
      When agent "a" ends "t1"
      And agent "a" asks to hand "t1" over to agent "b"
      Then the user is asked whether agent "b" may take over "t1"
      When the user confirms the handover of "t1"
      Then a switch from agent "a" to agent "b" is announced
      And agent "b" gets the context of "t1"
      When the user confirms the handover of "t1"
      Then no SWITCH_AGENT is published
      And no HANDOVER_CONTEXT is published

    @RT-137 @RT-133 @RT-4F-08
    Scenario: a confirmation after a rejection is ignored
      Given a session of agents "a", "b" and "c" where agent "a" is active
      And agent "a" is speaking in "t1"
      When agent "a" ends "t1"
      And agent "a" asks to hand "t1" over to agent "b"
      Then the user is asked whether agent "b" may take over "t1"
      When the user rejects the handover of "t1"
      Then everything is handled
      When the user confirms the handover of "t1"
      Then no SWITCH_AGENT is published
      And no HANDOVER_CONTEXT is published

    @RT-131 @RT-4F-09
    Scenario: a handover to an agent outside the session does not stop the orchestrator
      Given a session of agents "a", "b" and "c" where agent "a" is active
      And agent "a" is speaking in "t1"
      When agent "a" ends "t1"
      And agent "a" asks to hand "t1" over to agent "x"
      Then everything is handled
      When agent "a" asks to hand "t1" over to agent "b"
      Then everything is handled

    @RT-128 @RT-131 @RT-132 @RT-4F-10
    Scenario: a handover that is requested while the agent is speaking waits for the user's answer
      Given a session of agents "a", "b" and "c" where agent "a" is active
      And agent "a" is speaking in "t1"
      When agent "a" asks to hand "t1" over to agent "b"
      Then the user is asked whether agent "b" may take over "t1"
      And no SWITCH_AGENT is published
      When agent "a" ends "t1"

    @RT-048 @RT-064 @RT-134 @RT-4F-11
    Scenario: a plain input after a handover reaches the new agent
      Given a session of agents "a", "b" and "c" where agent "a" is active
      And agent "a" is speaking in "t1"
      When agent "a" ends "t1"
      And agent "a" asks to hand "t1" over to agent "b"
      Then the user is asked whether agent "b" may take over "t1"
      When the user confirms the handover of "t1"
      Then a switch from agent "a" to agent "b" is announced
      And agent "b" gets the context of "t1"
      And agent "b" answers the handover
      And the next input reaches agent "b"

    @RT-129 @RT-4F-12
    Scenario: the output of the last turn is handed over
      Given a session of agents "a", "b" and "c" where agent "a" is active
      And agent "a" is speaking in "t1"
      When agent "a" ends "t1"
      Given agent "a" is speaking in "t2"
      When agent "a" ends "t2"
      And agent "a" asks to hand "t2" over to agent "b"
      Then the user is asked whether agent "b" may take over "t2"
      When the user confirms the handover of "t2"
      Then a switch from agent "a" to agent "b" is announced
      And agent "b" gets the context of "t2"

    @RT-129 @RT-135 @RT-4F-13
    Scenario: structured output is handed over
      Given a session of agents "a", "b" and "c" where agent "a" is active
      When the user says "t1"
      Then "t1" runs at agent "a"
      When agent "a" sends the final with odd values of "t1"
      Then the frontend receives the output of "t1"
      When agent "a" asks to hand "t1" over to agent "b"
      Then the user is asked whether agent "b" may take over "t1"
      When the user confirms the handover of "t1"
      Then a switch from agent "a" to agent "b" is announced
      And agent "b" gets the context of "t1"

    @RT-129 @RT-135 @RT-4F-14
    Scenario: output in several chunks is handed over
      Given a session of agents "a", "b" and "c" where agent "a" is active
      And agent "a" is speaking in "t1"
      When agent "a" sends a chunk of "t1"
      Then the frontend receives the output of "t1"
      When agent "a" ends "t1"
      And agent "a" asks to hand "t1" over to agent "b"
      Then the user is asked whether agent "b" may take over "t1"
      When the user confirms the handover of "t1"
      Then a switch from agent "a" to agent "b" is announced
      And agent "b" gets the context of "t1"

    @RT-061 @RT-065 @RT-131 @RT-134 @RT-4F-15
    Scenario: the earlier of two open handovers is confirmed
      Given a session of agents "a", "b" and "c" where agent "a" is active
      And agent "a" is speaking in "t1"
      When agent "a" ends "t1"
      And agent "a" asks to hand "t1" over to agent "b"
      Then the user is asked whether agent "b" may take over "t1"
      Given agent "a" is speaking in "t2"
      When agent "a" ends "t2"
      And agent "a" asks to hand "t2" over to agent "c"
      Then the user is asked whether agent "c" may take over "t2"
      When the user confirms the handover of "t1"
      Then a switch from agent "a" to agent "b" is announced
      And the next input reaches agent "b"

    @RT-062 @RT-134 @RT-4F-16
    Scenario: one of two open handovers is rejected, and the other one is confirmed
      Given a session of agents "a", "b" and "c" where agent "a" is active
      And agent "a" is speaking in "t1"
      When agent "a" ends "t1"
      And agent "a" asks to hand "t1" over to agent "b"
      Then the user is asked whether agent "b" may take over "t1"
      Given agent "a" is speaking in "t2"
      When agent "a" ends "t2"
      And agent "a" asks to hand "t2" over to agent "c"
      Then the user is asked whether agent "c" may take over "t2"
      When the user rejects the handover of "t1"
      Then no SWITCH_AGENT is published
      When the user confirms the handover of "t2"
      Then a switch from agent "a" to agent "c" is announced

    @RT-129 @RT-135 @RT-4F-17
    Scenario: the output that is handed over is not that of another agent, which has spoken since
      Given a session of agents "a", "b" and "c" where agent "a" is active
      And agent "a" is speaking in "t1"
      When agent "a" ends "t1"
      And agent "a" asks to hand "t1" over to agent "b"
      Then the user is asked whether agent "b" may take over "t1"
      When the user mentions agent "c" in "t2" by its payload
      Then "t2" runs at agent "c"
      When agent "c" sends a final without chunks of "t2"
      Then the frontend receives the output of "t2"
      When the user confirms the handover of "t1"
      Then a switch from agent "c" to agent "b" is announced
      And agent "b" gets the context of "t1"
