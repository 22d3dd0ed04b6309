@session-runtime @server
Feature: 4B A mention
  用户输入指定 @某 agent 回答 (或 GUI 选定 agent)

  Rule: 切 active (本地 + 总线), 路由输入给该 agent

    @RT-030 @RT-048 @RT-049 @RT-063 @RT-065 @RT-066 @RT-083 @RT-174 @RT-088 @RT-089 @RT-090 @RT-091 @RT-092 @RT-093
    Scenario: by its subtype
      Given a session of agents "a", "b" and "c" where agent "a" is active
      When the user mentions agent "b" in "t1" by its subtype
      Then a switch from agent "a" to agent "b" is announced
      And "t1" reaches agent "b"
      And "t1" is accepted

    @RT-030 @RT-063 @RT-084 @RT-088 @RT-089 @RT-090 @RT-092 @RT-093
    Scenario: by its payload
      Given a session of agents "a", "b" and "c" where agent "a" is active
      When the user mentions agent "c" in "t1" by its payload
      Then a switch from agent "a" to agent "c" is announced
      And "t1" reaches agent "c"
      And "t1" is accepted

    @RT-030 @RT-085 @RT-088 @RT-089 @RT-090 @RT-092 @RT-093
    Scenario: by a choice in the interface
      Given a session of agents "a", "b" and "c" where agent "a" is active
      When the user mentions agent "b" in "t1" by a choice in the interface
      Then a switch from agent "a" to agent "b" is announced
      And "t1" reaches agent "b"
      And "t1" is accepted

    @RT-064 @RT-088
    Scenario Outline: later plain inputs go to the agent that was mentioned
      Given a session of agents "a", "b" and "c" where agent "a" is active
      When the user mentions agent "b" in "t1" by <form>
      Then "t1" runs at agent "b"
      When agent "b" sends a final alone of "t1"
      Then the frontend gets what was sent of "t1"
      And the next input reaches agent "b"

      Examples:
        | form                      |
        | its subtype               |
        | its payload               |
        | a choice in the interface |

    @RT-068 @RT-092
    Scenario: the agent that is active already
      Given a session of agents "a", "b" and "c" where agent "a" is active
      When the user mentions agent "a" in "t1" by its payload
      Then "t1" reaches agent "a"
      And "t1" is accepted

    @RT-042 @RT-089
    Scenario: a mention that two subscriptions deliver switches once
      Given a session of agents "a", "b" and "c" where agent "a" is active
      When the user mentions agent "b" in "t1" by its payload
      And "t1" is delivered by a second subscription
      Then "t1" runs at agent "b"
      And everything is handled

  Rule: metadata.subtype=MENTION, 或 payload 结构含 mentioned_agent_id

    @RT-030 @RT-084 @RT-088 @RT-092
    Scenario Outline: a name in the text alone is no reason to stop
      Given a session of agents "a", "b" and "c" where agent "a" is active
      When the user says "t1" with the name of agent "<agent>" behind an @, and nothing else
      Then whoever gets "t1" answers it
      When the user mentions agent "c" in "t2" by its payload
      Then "t2" reaches agent "c"
      And "t2" is accepted

      Examples:
        | agent |
        | b     |
        | x     |

  Rule: 校验 agent 是否在会话

    @RT-049 @RT-086 @RT-087
    Scenario Outline: an agent that is not in the session
      Given a session of agents "a", "b" and "c" where agent "a" is active
      When the user mentions agent "x" in "t1" by <form>
      Then SessionManager is asked for agent "x", or the frontend hears of an error
      And "t1" reaches nobody

      Examples:
        | form                      |
        | its subtype               |
        | its payload               |
        | a choice in the interface |

    @RT-049 @RT-086 @RT-064
    Scenario: what is said next goes to the agent that was active
      Given a session of agents "a" and "b" where agent "a" is active
      When the user mentions agent "c" in "t1" by its payload
      Then SessionManager is asked for agent "c", or the frontend hears of an error
      When the user mentions agent "b" in "t2" by its payload
      Then "t2" runs at agent "b"
      And everything is handled

    @RT-048 @RT-049 @RT-086 @RT-111
    Scenario Outline: an agent that is not in the session does not become active
      Given a session of agents "a", "b" and "c" where agent "a" is active
      When the user mentions agent "x" in "t1" by <form>
      Then SessionManager is asked for agent "x", or the frontend hears of an error
      And the next input reaches agent "a"

      Examples:
        | form        |
        | its subtype |
        | its payload |

  Rule: 等 INPUT_ACK (同 A)

    @RT-078 @RT-094
    Scenario: nobody acknowledges
      Given acknowledgements of inputs are awaited for a short time
      And a session of agents "a", "b" and "c" where agent "a" is active
      When the user mentions agent "b" in "t1" by its payload
      Then "t1" reaches agent "b"
      And the frontend hears that "t1" has timed out
      And everything is handled

    @RT-094 @RT-077
    Scenario: the agent that was active before does not acknowledge in its place
      Given acknowledgements of inputs are awaited for a short time
      And a session of agents "a", "b" and "c" where agent "a" is active
      When the user mentions agent "b" in "t1" by its payload
      Then "t1" reaches agent "b"
      When agent "a" acknowledges "t1"
      Then the frontend hears that "t1" has timed out
