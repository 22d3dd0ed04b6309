@session-chat @server
Feature: 1 The flow of a chat
  A chat → its agent_id → the existing SDK client, or a new one → the query → streamed messages —
  前端发送chat消息 → 提取agent_id → 获取现有SDK client，或创建 → 执行query操作 → 流式返回消息

  Rule: The server extracts the agent_id — 提取agent_id

    @SC-005 @SC-029 @preflight-2 @SC-1-01
    Scenario: a chat starts a session
      When client A chats with "red"
      Then client A receives the answer of "red"

    @SC-005 @SC-006 @model @SC-1-02
    Scenario Outline: the agent_id alone selects the session, whichever connection sends the chat
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

  Rule: An existing session continues with its SDK client — 存在 → 获取现有SDK client

    @SC-006 @model @SC-1-04
    Scenario: a session answers three chats
      Given client A has chatted with "red"
      When client A chats with "red"
      Then client A is answered by "red"
      And "red" is the same session as before
      And the model was sent the earlier turns of "red"
      When client A chats with "red"
      Then client A is answered by "red"
      And "red" is the same session as before
      And the model was sent the earlier turns of "red"

    @SC-006 @model @SC-1-05
    Scenario: a session continues after its model has failed
      Given client A has chatted with "red"
      When client A chats with "red" and the model fails
      Then the turn of "red" ends in any way
      And client A can chat with "red" again
      And "red" is the same session as before
      And the model was sent the earlier turns of "red"

  Rule: Without history the server creates a new SDK client — 无历史记录 → 创建新SDK client

    @SC-009 @model @SC-1-06
    Scenario: an unused agent_id gets a new session
      Given client A has chatted with "red"
      When client A chats with "blue"
      Then client A is answered by "blue"
      And "blue" is a new session
      And the model was sent no turn of another session for "blue"

  Rule: The server streams the messages — 流式返回消息

    @SC-005 @SC-012 @preflight-3 @SC-1-07
    Scenario: the turn of a chat ends
      When client A chats with "red"
      Then client A is answered by "red"

    @SC-012 @model @SC-1-08
    Scenario: a turn sends messages while it runs
      When client A chats with "red" in a turn that is held
      Then client A receives a message of the turn of "red" while it runs
      When the turn of "red" is released
      Then client A is answered by "red"

  Rule: The history is that of the conversation — 获取现有SDK client

    @SC-006 @model @SC-1-09
    Scenario: the model is sent every earlier turn unchanged
      When client A chats with "red" with a text of emoji
      Then client A is answered by "red"
      When client A chats with "red" with a text of line breaks
      Then client A is answered by "red"
      When client A chats with "red" with a text of several hundred letters
      Then client A is answered by "red"
      When client A chats with "red"
      Then client A is answered by "red"
      And the model was sent the earlier turns of "red"
