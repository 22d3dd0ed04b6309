@session-chat @server
Feature: 1 The flow of a chat
  前端发送chat消息 → 提取agent_id → 获取现有SDK client，或创建 → 执行query操作 → 流式返回消息

  Rule: 提取agent_id

    @SC-005 @SC-029 @preflight-2
    Scenario: a chat starts a session
      When client A chats with "red"
      Then client A is told the answer of "red"

    @SC-005 @SC-006 @model
    Scenario Outline: the agent_id alone says which session is meant, whichever connection asks
      When client A chats with "red"
      Then client A is answered by "red"
      When client <other> chats with "red"
      Then client <other> is answered by "red"
      And "red" is the same session as before
      And the model was sent the earlier turns of "red"
      And client A can chat with "red" again
      And the model was sent the earlier turns of "red"

      Examples:
        | other |
        | A     |
        | B     |

  Rule: 存在 → 获取现有SDK client

    @SC-006 @model
    Scenario: three chats of one session
      Given client A has chatted with "red"
      When client A chats with "red"
      Then client A is answered by "red"
      And "red" is the same session as before
      And the model was sent the earlier turns of "red"
      When client A chats with "red"
      Then client A is answered by "red"
      And "red" is the same session as before
      And the model was sent the earlier turns of "red"

    @SC-006 @model
    Scenario: a session whose model has failed goes on
      Given client A has chatted with "red"
      When client A chats with "red" and the model fails
      Then the turn of "red" comes to some end
      And client A can chat with "red" again
      And "red" is the same session as before
      And the model was sent the earlier turns of "red"

  Rule: 无历史记录 → 创建新SDK client

    @SC-009 @model
    Scenario: an agent_id that nobody has used
      Given client A has chatted with "red"
      When client A chats with "blue"
      Then client A is answered by "blue"
      And "blue" is a new session
      And the model was sent no turn of another session for "blue"

  Rule: 流式返回消息

    @SC-005 @SC-012 @preflight-3
    Scenario: a turn ends
      When client A chats with "red"
      Then client A is answered by "red"

    @SC-012 @model
    Scenario: a turn is told while it runs
      When client A chats with "red" in a turn that is held
      Then client A hears of the turn of "red" while it runs
      When the turn of "red" is let go on
      Then client A is answered by "red"
