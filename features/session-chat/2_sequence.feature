@session-chat @server
Feature: 2 The sequence of a chat
  The WebSocket forwards messages with the agent_id — WebSocket-->>Frontend: 转发消息（带agent_id）

  Rule: A chat has a type, an agent_id and a content — {type: "chat", agent_id: "xxx", content: "你好"}

    @SC-013 @SC-2-01
    Scenario: the example of the document is answered
      When client A says 你好 to "red"
      Then client A is answered by "red"

  Rule: Without history the SDK client is created without resume — ClaudeSDKClient()

    @SC-017 @model @SC-2-02
    Scenario: a session without history resumes nothing
      When client A chats with "red"
      Then client A is answered by "red"
      And "red" is a new session
      And the model was sent no turn of another session for "red"

  Rule: The model is queried with the content — client.query(content)

    @SC-019 @SC-020 @model @SC-2-03
    Scenario Outline: the text of a chat and the text of the model are passed on unchanged: <text>
      When client A chats with "red" with a text of <text>
      Then client A is answered by "red"
      And the model was sent the text of "red" unchanged
      And client A receives the text of the model for "red" unchanged

      Examples:
        | text                     |
        | Chinese                  |
        | emoji                    |
        | accented letters         |
        | a NUL                    |
        | a line break at its end  |
        | combining marks          |
        | other scripts            |
        | astral characters        |
        | JSON                     |
        | quotes and backslashes   |
        | line breaks              |
        | white space at its edges |
        | markup                   |
        | control characters       |
        | an SQL fragment          |
        | format verbs             |
        | great length             |

    @SC-019 @model @SC-2-20
    Scenario: the text of a later chat is passed on unchanged
      Given client A has chatted with "red"
      When client A chats with "red" with a text of line breaks
      Then client A is answered by "red"
      And the model was sent the text of "red" unchanged

  Rule: Messages of the model are forwarded in order and with the agent_id — 转发消息（带agent_id）

    @SC-020 @SC-021 @model @SC-2-21
    Scenario Outline: an answer of <n> pieces arrives in order
      When client A chats with "red" in a turn of <n> pieces
      Then client A is answered by "red"
      And the pieces of "red" come in order

      Examples:
        | n   |
        | 2   |
        | 300 |

    @SC-020 @SC-021 @model @SC-2-23
    Scenario: the pieces of three sessions at once arrive in order
      When client A chats with "red" in a turn of 100 pieces
      And client A chats with "blue" in a turn of 100 pieces
      And client A chats with "green" in a turn of 100 pieces
      Then client A is answered by "red"
      And client A is answered by "blue"
      And client A is answered by "green"
      And the pieces of "red" come in order
      And the pieces of "blue" come in order
      And the pieces of "green" come in order

    @SC-020 @model @SC-2-24
    Scenario: each of three turns ends exactly once
      Given client A has chatted with "red"
      And client A has chatted with "red"
      When client A chats with "red"
      Then client A is answered by "red"
      And the target has handled every message of client A

    @SC-020 @model @SC-2-25
    Scenario: an interrupted turn ends exactly once
      Given client A chats with "red" in a turn that is held
      When client A interrupts "red"
      Then the turn of "red" is interrupted
      And the target has handled every message of client A
      When client A chats with "red"
      Then client A is answered by "red"

    @SC-021 @SC-041 @model @SC-2-26
    Scenario: a running turn keeps its agent_id while another session gets a chat
      Given client A chats with "red" in a turn that is held
      When client A chats with "blue"
      And the turn of "red" is released
      Then client A is answered by "red"
      And client A is answered by "blue"

  Rule: Every chat is a query with its content, whatever it looks like — client.query(content)

    @SC-019 @SC-020 @model @SC-2-27
    Scenario: a text that begins like a command is passed on unchanged
      When client A chats with "red" with a text of a path at its beginning
      Then client A is answered by "red"
      And the model was sent the text of "red" unchanged
      And client A receives the text of the model for "red" unchanged

    @SC-019 @SC-050 @model @SC-2-28
    Scenario: the same text again is another chat
      Given client A has chatted with "red"
      When client A chats with "red" with the same text again
      Then client A is answered by "red"
      And the model was asked again for "red"
      When client A chats with "red"
      Then client A is answered by "red"
      And the model was sent the earlier turns of "red"
