@agent-select @server
Feature: 3.6 Switching to an empty or illegal id
  The agentId of a switch is empty, or has characters that are not allowed
  (客户端发送 `switch_agent` 消息时 `agentId` 为空字符串或包含非法字符).

  Background:
    Given client A has switched to "debugger"

  Rule: agentId cannot be empty

    @AS-070 @AS-071 @AS-072 @AS-3.6-01
    Scenario: an empty id is refused
      When client A switches to the agent id ""
      Then client A is refused with "invalid_agent_id"
      And the refusal of client A says "agentId cannot be empty"
      And the agents in the refusal of client A, if any, are those that it was offered

  Rule: agentId contains invalid characters. Allowed: [a-z0-9_-]

    @AS-073 @AS-074 @AS-075 @AS-076 @AS-3.6-02
    Scenario: the illegal id of the example is refused
      When client A switches to the agent id "Agent@123"
      Then client A is refused with "invalid_agent_id_format"
      And the refusal of client A says "agentId contains invalid characters. Allowed: [a-z0-9_-]"
      And the agents in the refusal of client A, if any, are those that it was offered

    @AS-076 @AS-3.6-03
    Scenario: the form of an id is checked before its existence
      When client A switches to the agent id "no such agent!"
      Then client A is refused with "invalid_agent_id_format"

    @AS-053 @AS-054 @AS-3.6-04
    Scenario: the session keeps its agent
      When client A switches to the agent id "Agent@123"
      Then client A is refused
      And client A receives no "agent_switched"
      When client A switches to "general"
      Then client A is switched from "debugger" to "general"
