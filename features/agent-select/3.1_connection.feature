@agent-select @server @connect
Feature: 3.1 Connecting
  服务端推送 agent_list 事件，包含内置和用户自定义主代理

  Rule: 客户端: GET /events

    @preflight-1 @interop @AS-008 @AS-016 @AS-030 @AS-033 @AS-083 @AS-105
    Scenario: connected, then the agents
      When client A connects
      Then client A is told its connection first
      And client A is told the agents next

    @AS-029 @sse
    Scenario: the endpoint is an event stream
      When client A connects
      Then client A is given an event stream

    @AS-105
    Scenario Outline: nothing comes between, connection after connection: <client>
      When client <client> connects
      Then client <client> is told its connection first
      And client <client> is told the agents next

      Examples:
        | client |
        | A      |
        | B      |
        | C      |

  Rule: 服务端推送 connected 事件: { connectionId: "conn_xxx" }

    @AS-031 @AS-032
    Scenario: the connection has an id
      When client A connects
      Then client A is told the id of its connection

    @AS-031 @two-clients
    Scenario: two connections have different ids
      When client A connects
      And client B connects
      Then client A is told the id of its connection
      And client B is told the id of its connection
      And the ids of the connections differ

  Rule: The list joins built-in and custom agents

    @AS-034 @AS-117 @AS-038 @AS-039
    Scenario: custom agents stand in the same list
      Given the target has a custom agent
      When client A connects
      Then client A is offered the built-in agents
      And client A is offered the custom agent
      And the order and the example values of the list of client A are observed

    @AS-129
    Scenario: the three built-in agents are there, whatever else is
      When client A connects
      Then client A is offered the built-in agents

    @AS-035 @AS-036 @AS-037
    Scenario: names and descriptions of the example
      When client A connects
      Then the order and the example values of the list of client A are observed

  Rule: currentAgentId: "general"

    @AS-040 @AS-118 @AS-123
    Scenario: the current agent is told
      When client A connects
      Then client A is told a current agent or null

  Rule: Every connection gets the list anew

    @AC-110
    Scenario: a reconnection gets a fresh list
      Given client A is connected
      When client A reconnects
      Then client A is told its connection first
      And client A is told the agents next
