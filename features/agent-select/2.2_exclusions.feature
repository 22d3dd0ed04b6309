@agent-select @server
Feature: 2.2 What the server does not do
  The list of agents comes with the connection and with a failed switch only (主代理列表仅在连接时和切换失败时返回).

  Rule: No URL parameter sets the initial agent (不支持 URL 参数指定初始主代理（通过连接后的消息切换）)

    @AS-021 @AS-022 @AS-2.2-01
    Scenario Outline: a URL parameter does not set the initial agent: <query>
      Given client A has connected with the query "<query>"
      Then the list of client A names the default agent as current, or none
      Given client A has a session
      When client A switches to "requirement_analyzer"
      Then client A is switched from the default agent to "requirement_analyzer"

      Examples:
        | query                    |
        | agentId=debugger         |
        | agent=debugger           |
        | initialAgentId=debugger  |
        | currentAgentId=debugger  |
        | mainAgent=debugger       |
        | agent_id=debugger        |

    @AS-022 @AS-2.2-07
    Scenario: a message sets the agent
      Given client A has a session
      When client A switches to "debugger"
      Then client A is switched from the default agent to "debugger"

  Rule: No client message requests the list (无专门的客户端查询消息类型，主代理列表仅在连接时和切换失败时返回)

    @AS-023 @AS-2.2-08
    Scenario Outline: a message of type <type> does not return the list
      Given client A has switched to "debugger"
      When client A sends a message of type "<type>"
      Then client A receives no "agent_list"

      Examples:
        | type            |
        | agent_list      |
        | get_agents      |
        | list_agents     |
        | get_agent_list  |
        | query_agents    |
        | agents          |

    @AS-024 @AS-2.2-14
    Scenario: the server sends no list when a session is created
      Given client A is connected
      When client A creates a session
      Then client A has its session
      And client A receives no "agent_list"

    @AS-024 @AS-2.2-15
    Scenario: the server sends no list after a successful switch
      Given client A has a session
      When client A switches to "debugger"
      Then client A is switched from the default agent to "debugger"
      And client A receives no "agent_list"

    @AS-024 @AS-2.2-16
    Scenario: the server sends no list when a session is loaded
      Given client A has a session
      And client A has disconnected
      And client B is connected
      When client B loads the session of client A
      Then client B has its session
      And client B receives no "agent_list"

    @AS-024 @model @AS-2.2-17
    Scenario: the server sends no list after a chat
      Given client A has a session
      When client A chats
      Then client A is answered and its turn ends
      And client A receives no "agent_list"

  Rule: Switching does not change the configuration of agents (不涉及主代理配置的修改（仅切换使用）)

    @AS-025 @exclusive @AS-2.2-18
    Scenario: switching does not change the configuration
      Given the configuration of the target is read
      And the target has a custom agent
      And client A has switched to the custom agent
      When client A switches to "debugger"
      Then client A is switched from the custom agent to "debugger"
      And the configuration of the target is unchanged
      Given client A has disconnected
      And client B has a session
      When client B switches to "requirement_analyzer"
      Then client B is switched from the default agent to "requirement_analyzer"

  Rule: A connected client learns of a configuration change only by reconnecting (服务端主代理配置热更新时，已连接的客户端不会自动收到更新通知（需重连获取最新列表）)

    @AS-026 @AS-027 @AS-113 @AS-114 @AS-115 @exclusive @AS-2.2-19
    Scenario: the addition of an agent is not announced to connected clients
      Given client A has switched to "debugger"
      When the agent "parley_added" is added to the configuration
      Then a new client is offered "parley_added"
      And client A receives no "agent_list"

    @AS-026 @AS-027 @exclusive @AS-2.2-20
    Scenario: the renaming of an agent is not announced to connected clients
      Given the agent "parley_renamed" has been added to the configuration
      And client A has switched to "debugger"
      When the agent "parley_renamed" is renamed in the configuration
      Then a new client is offered "parley_renamed" under its new name
      And client A receives no "agent_list"

    @AS-026 @AS-027 @exclusive @AS-2.2-21
    Scenario: the removal of an agent is not announced to connected clients
      Given the agent "parley_removed" has been added to the configuration
      And client A has switched to "debugger"
      When the agent "parley_removed" is removed from the configuration
      Then a new client is not offered "parley_removed"
      And client A receives no "agent_list"

    @AS-027 @exclusive @AS-2.2-22
    Scenario: a client that reconnects receives the latest agents
      Given client A has switched to "debugger"
      When the agent "parley_added" is added to the configuration
      Then a new client is offered "parley_added"
      When client A reconnects
      Then client A is offered "parley_added"
