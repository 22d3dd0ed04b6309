@agent-select @server
Feature: 4.2 Server events and error codes

  Rule: agent_list is sent when the connection opens, with agents and currentAgentId (agent_list: 连接建立后自动推送, `agents: AgentInfo[], currentAgentId: string`)

    @AS-083 @connect @AS-4.2-01
    Scenario: agent_list has its fields
      When client A connects
      Then client A receives the list of agents

  Rule: agent_switched has previousAgentId, currentAgentId and agentName (agent_switched: 主代理切换成功, `previousAgentId, currentAgentId, agentName`)

    @AS-084 @AS-4.2-02
    Scenario: agent_switched has its fields
      Given client A has a session
      When client A switches to "debugger"
      Then client A is switched from the default agent to "debugger"

  Rule: error has errorCode, message and, where it lists agents, availableAgents (error: 切换失败, `errorCode, message, availableAgents?`)

    @AS-085 @AS-086 @AS-124 @AS-4.2-03
    Scenario Outline: error has its fields: <id>
      Given client A has switched to "debugger"
      When client A switches to the agent id "<id>"
      Then client A is refused with "<code>"
      And the agents in the refusal of client A, if any, are those that it was offered

      Examples:
        | id     | code                    |
        |        | invalid_agent_id        |
        | A@     | invalid_agent_id_format |
        | hacker | agent_not_found         |

    @AS-087 @AS-092 @AS-4.2-06
    Scenario: an empty id is refused with invalid_agent_id
      Given client A has switched to "debugger"
      When client A switches to the agent id ""
      Then client A is refused with "invalid_agent_id"

    @AS-088 @AS-092 @AS-4.2-07
    Scenario: an illegal id is refused with invalid_agent_id_format
      Given client A has switched to "debugger"
      When client A switches to the agent id "a b"
      Then client A is refused with "invalid_agent_id_format"

    @AS-089 @AS-092 @AS-124 @AS-4.2-08
    Scenario: an unknown agent is refused with agent_not_found
      Given client A has switched to "debugger"
      When client A switches to "hacker"
      Then client A is refused with "agent_not_found"
      And the refusal of client A lists the agents that it was offered

    @AS-090 @AS-092 @model @AS-4.2-09
    Scenario: a switch during a turn is refused with agent_busy
      Given client A has switched to "debugger"
      And client A has a turn running
      When client A switches to "general"
      Then client A is refused with "agent_busy"

    @AS-091 @AS-092 @AS-127 @AS-4.2-10
    Scenario Outline: an unknown session is refused with session_not_found: <session>
      Given client A has switched to "debugger"
      When client A switches the session <session> to "general"
      Then client A is refused with "session_not_found"
      And client A receives no "agent_switched"
      When client A switches to "general"
      Then client A is switched from "debugger" to "general"

      Examples:
        | session                              |
        | "parley-no-such-session"             |
        | "sess_00000000000000000000000000"    |
        | "../../etc/passwd"                   |

    @AS-091 @AS-092 @AS-127 @sse @AS-4.2-13
    Scenario: a deleted session is refused with session_not_found
      Given the target declares "session-delete"
      And client A has switched to "debugger"
      When client A deletes its session
      And client A switches its deleted session to "general"
      Then client A is refused with "session_not_found"
      And client A receives no "agent_switched"
      Given client A has a session
      When client A switches to "debugger"
      Then client A is switched from the default agent to "debugger"

    @AS-092 @AS-4.2-14
    Scenario: a switch with two faults is refused with the code of either fault
      Given client A has switched to "debugger"
      When client A switches the session "parley-no-such-session" to "A@"
      Then client A is refused with one of "invalid_agent_id_format, session_not_found"
      When client A switches the session "parley-no-such-session" to "hacker"
      Then client A is refused with one of "agent_not_found, session_not_found"

    @AS-092 @AS-4.2-15
    Scenario: an illegal id on a connection without a session is refused with the code of either fault
      Given client B has switched to "debugger"
      And client B has disconnected
      And client A is connected
      When client A switches to the agent id "A@"
      Then client A is refused with one of "invalid_agent_id_format, session_not_found"

    @AS-092 @model @AS-4.2-16
    Scenario: an unknown agent while busy is refused with the code of either fault
      Given client A has switched to "debugger"
      And client A has a turn running
      When client A switches to "hacker"
      Then client A is refused with one of "agent_not_found, agent_busy"

    @AS-091 @AS-092 @AS-127 @AS-4.2-17
    Scenario Outline: a session id that is written differently is refused with session_not_found: <how>
      Given client A has switched to "debugger"
      When client A switches its session <how> to "general"
      Then client A is refused with "session_not_found"
      And client A receives no "agent_switched"
      When client A switches its session to "general"
      Then client A is switched from "debugger" to "general"

      Examples:
        | how                      |
        | in another case          |
        | with a blank before it   |
        | with a blank behind it   |
