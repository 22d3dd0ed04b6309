@session-runtime @server
Feature: 4E An invitation
  用户控制：邀请智能体进入 (INVITE_AGENT)

  Rule: The agent is requested from SessionManager, and registered after the receipt — 向 SessionManager 发创建/装配请求, 等回执成功后，注册进本地 agents

    @RT-010 @RT-017 @RT-020 @RT-025 @RT-033 @RT-043 @RT-046 @RT-119 @RT-120 @RT-121 @RT-124 @RT-125 @RT-126 @RT-127 @RT-163 @RT-172
    @RT-4E-01
    Scenario: an invited agent is added
      Given a session of agents "a", "b" and "c" where agent "a" is active
      When the user invites agent "d"
      Then SessionManager is asked to add agent "d"
      And no AGENT_ADDED is published
      When SessionManager says that agent "d" is added
      Then the frontend is told that agent "d" is added
      And everything is handled

    @RT-049 @RT-122 @RT-092 @RT-4E-02
    Scenario: an added agent can be mentioned
      Given a session of agents "a", "b" and "c" where agent "a" is active
      When the user invites agent "d"
      Then SessionManager is asked to add agent "d"
      When SessionManager says that agent "d" is added
      Then the frontend is told that agent "d" is added
      When the user mentions agent "d" in "t1" by its payload
      Then "t1" reaches agent "d"
      And "t1" is accepted

    @RT-015 @RT-069 @RT-123 @RT-4E-03
    Scenario: a new agent becomes active only if a switch is announced
      Given a session of agents "a", "b" and "c" where agent "a" is active
      When the user invites agent "d"
      Then SessionManager is asked to add agent "d"
      When SessionManager says that agent "d" is added
      Then the frontend is told that agent "d" is added
      And everything is handled
      When the user says "t1"
      Then everything is handled

    @RT-049 @RT-032 @RT-123 @RT-4E-04
    Scenario: the user can switch to an added agent
      Given a session of agents "a", "b" and "c" where agent "a" is active
      When the user invites agent "d"
      Then SessionManager is asked to add agent "d"
      When SessionManager says that agent "d" is added
      Then the frontend is told that agent "d" is added
      And everything is handled
      When the user switches to agent "d"
      Then the next input reaches agent "d"

    @RT-087 @RT-122 @RT-4E-05
    Scenario: an invited agent is not in the session before the receipt
      Given a session of agents "a", "b" and "c" where agent "a" is active
      When the user invites agent "d"
      Then SessionManager is asked to add agent "d"
      When the user mentions agent "d" in "t1" by its payload
      Then "t1" reaches no agent
      When SessionManager says that agent "d" is added
      Then everything is handled

    @RT-043 @RT-046 @RT-126 @RT-127 @RT-163 @RT-4E-06
    Scenario: a failed invitation is reported to the frontend
      Given a session of agents "a", "b" and "c" where agent "a" is active
      When the user invites agent "d"
      Then SessionManager is asked to add agent "d"
      When SessionManager says that agent "d" could not be added
      Then the frontend is told that agent "d" could not be added
      And no AGENT_ADDED is published

    @RT-086 @RT-087 @RT-122 @RT-4E-07
    Scenario: an agent that could not be added stays outside the session
      Given a session of agents "a", "b" and "c" where agent "a" is active
      When the user invites agent "d"
      Then SessionManager is asked to add agent "d"
      When SessionManager says that agent "d" could not be added
      Then everything is handled
      When the user mentions agent "d" in "t1" by its payload
      Then "t1" reaches no agent
      When the user invites agent "e"
      Then SessionManager is asked to add agent "e"
      When SessionManager says that agent "e" is added
      Then the frontend is told that agent "e" is added

    @RT-116 @RT-127 @RT-049 @RT-4E-08
    Scenario: an agent is added, removed and added again
      Given a session of agents "a", "b" and "c" where agent "a" is active
      When the user removes agent "b"
      Then SessionManager is asked to remove agent "b"
      When SessionManager says that agent "b" is removed
      Then the frontend is told that agent "b" is removed
      When the user invites agent "b"
      Then SessionManager is asked to add agent "b"
      When SessionManager says that agent "b" is added
      Then the frontend is told that agent "b" is added
      When the user mentions agent "b" in "t1" by its payload
      Then "t1" reaches agent "b"

    @RT-002 @RT-119 @RT-160 @RT-4E-09
    Scenario: an invitation does not disturb a speaking agent
      Given a session of agents "a", "b" and "c" where agent "a" is active
      And agent "a" is speaking in "t1"
      When the user invites agent "d"
      Then SessionManager is asked to add agent "d"
      When agent "a" sends a chunk of "t1"
      Then the frontend receives the output of "t1"
      When SessionManager says that agent "d" is added
      Then the frontend is told that agent "d" is added
      When agent "a" ends "t1"

    @RT-126 @RT-127 @RT-4E-10
    Scenario: a receipt for another agent does not complete an invitation
      Given a session of agents "a", "b" and "c" where agent "a" is active
      When the user invites agent "d"
      Then SessionManager is asked to add agent "d"
      When SessionManager says that agent "e" is added
      Then everything is handled
      When SessionManager says that agent "d" is added
      Then the frontend is told that agent "d" is added
