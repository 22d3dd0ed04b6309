@agent-select @server @connect
Feature: 3.1 Connecting
  The server sends agent_list, with the built-in and the custom agents
  (服务端推送 agent_list 事件，包含内置和用户自定义主代理).

  Rule: The client opens the stream by GET /events (客户端: GET /events)

    @preflight-1 @interop @AS-008 @AS-016 @AS-030 @AS-033 @AS-083 @AS-105 @AS-3.1-01
    Scenario: connected is the first event, and agent_list the second
      When client A connects
      Then the first event of client A is "connected"
      And the next event of client A is "agent_list"

    @AS-029 @sse @AS-3.1-02
    Scenario: the endpoint returns an event stream
      When client A connects
      Then client A receives an event stream

    @AS-105 @AS-3.1-03
    Scenario Outline: no event comes between connected and agent_list on connection <client>
      When client <client> connects
      Then the first event of client <client> is "connected"
      And the next event of client <client> is "agent_list"

      Examples:
        | client |
        | A      |
        | B      |
        | C      |

  Rule: The server sends connected, with the id of the connection (服务端推送 connected 事件: { connectionId: "conn_xxx" })

    @AS-031 @AS-032 @AS-3.1-06
    Scenario: connected has the id of the connection
      When client A connects
      Then client A receives the id of its connection

    @AS-031 @two-clients @AS-3.1-07
    Scenario: two connections have different ids
      When client A connects
      And client B connects
      Then client A receives the id of its connection
      And client B receives the id of its connection

  Rule: One list contains the built-in and the custom agents (包含内置和用户自定义主代理)

    @AS-034 @AS-117 @AS-038 @AS-039 @AS-3.1-08
    Scenario: custom agents are in the same list as the built-in ones
      Given the target has a custom agent
      When client A connects
      Then client A is offered the built-in agents
      And client A is offered the custom agent
      And the order and the example values of the list of client A are recorded

    @AS-129 @AS-3.1-09
    Scenario: the three built-in agents are in the list
      When client A connects
      Then client A is offered the built-in agents

    @AS-035 @AS-036 @AS-037 @AS-3.1-10
    Scenario: differences from the list of the example are recorded
      When client A connects
      Then the order and the example values of the list of client A are recorded

  Rule: The list names the current agent (currentAgentId: "general")

    @AS-040 @AS-118 @AS-123 @AS-3.1-11
    Scenario: the list names the current agent, or null
      When client A connects
      Then the list of client A names its current agent, or null

  Rule: The server sends the list to every connection (SSE 连接建立时，服务端自动向客户端推送可用主代理列表)

    @AC-110 @AS-3.1-12
    Scenario: a client that reconnects receives the list again
      Given client A is connected
      When client A reconnects
      Then the first event of client A is "connected"
      And the next event of client A is "agent_list"
