@session-runtime @server
Feature: 4B A mention
  用户输入指定 @某 agent 回答 (或 GUI 选定 agent)

  Rule: A mention switches the active agent and routes the input to it — 切 active (本地 + 总线), 路由输入给该 agent

    @RT-030 @RT-048 @RT-049 @RT-063 @RT-065 @RT-066 @RT-083 @RT-174 @RT-088 @RT-089 @RT-090 @RT-091 @RT-092 @RT-093
    @RT-4B-01
    Scenario: a mention by subtype activates the agent and reaches it
      Given a session of agents "a", "b" and "c" where agent "a" is active
      When the user mentions agent "b" in "t1" by its subtype
      Then a switch from agent "a" to agent "b" is announced
      And "t1" reaches agent "b"
      And "t1" is accepted

    @RT-030 @RT-063 @RT-084 @RT-088 @RT-089 @RT-090 @RT-092 @RT-093 @RT-4B-02
    Scenario: a mention by payload activates the agent and reaches it
      Given a session of agents "a", "b" and "c" where agent "a" is active
      When the user mentions agent "c" in "t1" by its payload
      Then a switch from agent "a" to agent "c" is announced
      And "t1" reaches agent "c"
      And "t1" is accepted

    @RT-030 @RT-085 @RT-088 @RT-089 @RT-090 @RT-092 @RT-093 @RT-4B-03
    Scenario: a mention by a choice in the interface activates the agent and reaches it
      Given a session of agents "a", "b" and "c" where agent "a" is active
      When the user mentions agent "b" in "t1" by a choice in the interface
      Then a switch from agent "a" to agent "b" is announced
      And "t1" reaches agent "b"
      And "t1" is accepted

    @RT-064 @RT-088 @RT-4B-04
    Scenario Outline: later plain inputs go to the agent that was mentioned
      Given a session of agents "a", "b" and "c" where agent "a" is active
      When the user mentions agent "b" in "t1" by <form>
      Then "t1" runs at agent "b"
      When agent "b" sends a final without chunks of "t1"
      Then the frontend receives the output of "t1"
      And the next input reaches agent "b"

      Examples:
        | form                      |
        | its subtype               |
        | its payload               |
        | a choice in the interface |

    @RT-068 @RT-092 @RT-4B-07
    Scenario: a mention of the active agent reaches it
      Given a session of agents "a", "b" and "c" where agent "a" is active
      When the user mentions agent "a" in "t1" by its payload
      Then "t1" reaches agent "a"
      And "t1" is accepted

    @RT-042 @RT-089 @RT-4B-08
    Scenario: a mention that two subscriptions deliver is executed once
      Given a session of agents "a", "b" and "c" where agent "a" is active
      When the user mentions agent "b" in "t1" by its payload
      And "t1" is delivered by a second subscription
      Then "t1" runs at agent "b"
      And everything is handled

  Rule: A mention has the subtype MENTION, or mentioned_agent_id in its payload — metadata.subtype=MENTION, 或 payload 结构含 mentioned_agent_id

    @RT-030 @RT-084 @RT-088 @RT-092 @RT-4B-09
    Scenario Outline: a name that is only in the text does not break routing
      Given a session of agents "a", "b" and "c" where agent "a" is active
      When the user says "t1" with @ and the name of agent "<agent>" only in the text
      Then the agent that gets "t1" answers it
      When the user mentions agent "c" in "t2" by its payload
      Then "t2" reaches agent "c"
      And "t2" is accepted

      Examples:
        | agent |
        | b     |
        | x     |

  Rule: The mentioned agent must be in the session — 校验 agent 是否在会话

    @RT-049 @RT-086 @RT-087 @RT-4B-11
    Scenario Outline: a mention of an agent outside the session reaches no agent
      Given a session of agents "a", "b" and "c" where agent "a" is active
      When the user mentions agent "x" in "t1" by <form>
      Then SessionManager is asked for agent "x", or the frontend is told of an error
      And "t1" reaches no agent

      Examples:
        | form                      |
        | its subtype               |
        | its payload               |
        | a choice in the interface |

    @RT-049 @RT-086 @RT-4B-14
    Scenario: a mention after a refused one reaches its agent
      Given a session of agents "a" and "b" where agent "a" is active
      When the user mentions agent "c" in "t1" by its payload
      Then SessionManager is asked for agent "c", or the frontend is told of an error
      When the user mentions agent "b" in "t2" by its payload
      Then "t2" runs at agent "b"
      And everything is handled

    @RT-048 @RT-049 @RT-086 @RT-4B-15
    Scenario Outline: a mention of an agent outside the session does not activate it
      Given a session of agents "a", "b" and "c" where agent "a" is active
      When the user mentions agent "x" in "t1" by <form>
      Then SessionManager is asked for agent "x", or the frontend is told of an error
      And the next input reaches agent "a"

      Examples:
        | form        |
        | its subtype |
        | its payload |

  Rule: INPUT_ACK is awaited as for a plain input — 等 INPUT_ACK (同 A)

    @RT-078 @RT-094 @RT-4B-17
    Scenario: a mention that no agent acknowledges times out
      Given a short limit for acknowledgements of inputs
      And a session of agents "a", "b" and "c" where agent "a" is active
      When the user mentions agent "b" in "t1" by its payload
      Then "t1" reaches agent "b"
      And the frontend is told that "t1" has timed out
      And everything is handled

    @RT-094 @RT-077 @RT-4B-18
    Scenario: an acknowledgement of the previously active agent does not prevent the time-out
      Given agent "a" acknowledges the mention "t1" of agent "b" within the limit
      Then the frontend is told that "t1" has timed out

  Rule: Each mention makes its agent the active one — context.active_agent_id = mentioned_agent_id

    @RT-064 @RT-088 @RT-4B-19
    Scenario: a plain input after two mentions goes to the agent that was mentioned last
      Given a session of agents "a", "b" and "c" where agent "a" is active
      When the user mentions agent "b" in "t1" by its subtype
      Then "t1" runs at agent "b"
      When agent "b" sends a final without chunks of "t1"
      Then the frontend receives the output of "t1"
      When the user mentions agent "c" in "t2" by its subtype
      Then "t2" runs at agent "c"
      When agent "c" sends a final without chunks of "t2"
      Then the frontend receives the output of "t2"
      And the next input reaches agent "c"

  Rule: The mentioned agent is the one with that very id — target=AGENT target_id=mentioned_agent_id

    @RT-083 @RT-084 @RT-085 @RT-088 @RT-092 @RT-4B-20
    Scenario Outline: of two agents whose ids differ only behind <where>, the mentioned one gets the input
      Given a session of agents "a", "b" and "c" where agent "a" is active
      And agents "d" and "e" whose ids differ only behind <where>
      When the user invites agent "d"
      Then SessionManager is asked to add agent "d"
      When SessionManager says that agent "d" is added
      And the user invites agent "e"
      Then SessionManager is asked to add agent "e"
      When SessionManager says that agent "e" is added
      And the user mentions agent "e" in "t1" by <form>
      Then "t1" runs at agent "e"
      When agent "e" sends a final without chunks of "t1"
      And the user mentions agent "d" in "t2" by <form>
      Then "t2" runs at agent "d"
      When agent "d" sends a final without chunks of "t2"
      Then the next input reaches agent "d"

      Examples:
        | where                | form                      |
        | a dot                | its subtype               |
        | a dot                | its payload               |
        | a dot                | a choice in the interface |
        | their 50th character | its subtype               |
        | their 50th character | its payload               |
        | their 50th character | a choice in the interface |

    @RT-083 @RT-084 @RT-092 @RT-4B-26
    Scenario Outline: an agent whose id has upper-case and decomposed letters is mentioned
      Given a session of agents "a", "b" and "c" where agent "a" is active
      And agent "d" whose id has upper-case and decomposed letters
      When the user invites agent "d"
      Then SessionManager is asked to add agent "d"
      When SessionManager says that agent "d" is added
      And the user mentions agent "d" in "t1" by <form>
      Then "t1" reaches agent "d"

      Examples:
        | form        |
        | its subtype |
        | its payload |
