@session-chat @server
Feature: 4.2 Messages of the server
  All messages have `agent_id` and `session_id` — 所有消息都包含`agent_id`和`session_id`

  Monitors judge every message of a session, in these scenarios and in all others.

  Rule: A message has all its members — agent_id, session_id, message_type, message, timestamp

    @SC-038 @SC-039 @SC-040 @SC-043 @SC-044 @SC-056 @SC-4.2-01
    Scenario: the messages of two turns have all members
      When client A chats with "red"
      Then client A is answered by "red"
      And every message of "red" has its session_id
      When client A chats with "red"
      Then client A is answered by "red"

    @SC-038 @SC-039 @SC-040 @SC-041 @SC-042 @SC-043 @SC-044 @model @SC-4.2-02
    Scenario: the messages of an interrupted turn have all members
      Given client A has chatted with "red"
      And client A chats with "red" in a turn that is held
      When client A interrupts "red"
      Then the turn of "red" is interrupted

    @SC-038 @SC-039 @SC-040 @SC-043 @SC-044 @model @SC-4.2-03
    Scenario: the messages of a failed turn have all members
      Given client A has chatted with "red"
      When client A chats with "red" and the model fails
      Then the turn of "red" ends in any way
      And every error of the turn of "red" has its ids

  Rule: agent_id is the client's, and session_id is the session's — agent_id, session_id

    @SC-041 @SC-042 @SC-056 @SC-4.2-04
    Scenario: three turns have the same agent_id and session_id
      When client A chats with "red"
      Then client A is answered by "red"
      When client A chats with "red"
      Then client A is answered by "red"
      And "red" is the same session as before
      When client A chats with "red"
      Then client A is answered by "red"
      And "red" is the same session as before

    @SC-042 @model @SC-4.2-05
    Scenario Outline: the refusal of a chat without its <field> does not use the agent_id as session_id
      Given client A has chatted with "red"
      When client A sends "red" a chat without its <field>
      Then the answer to client A is recorded
      When client A chats with "red"
      Then client A is answered by "red"
      And "red" is the same session as before

      Examples:
        | field    |
        | content  |
        | agent_id |

    @SC-042 @model @SC-4.2-07
    Scenario: the messages of a failed turn do not use the agent_id as session_id
      Given client A has chatted with "red"
      When client A chats with "red" and the model fails
      Then the turn of "red" ends in any way
      And client A can chat with "red" again
      And "red" is the same session as before

    @SC-038 @SC-039 @SC-042 @model @SC-4.2-08
    Scenario: the errors of a failed turn have the session_id of its session after a turn of another session
      Given client A has chatted with "red"
      And client A has chatted with "blue"
      When client A chats with "red" and the model fails
      Then the turn of "red" ends in any way
      And every error of the turn of "red" has its ids

    @SC-042 @model @SC-4.2-09
    Scenario: the errors of a failed turn have the session_id of its session during a turn of another session
      Given client A has chatted with "red"
      When client A chats with "red" and the model fails in a turn that is held
      And client B chats with "blue" in a turn that is held
      And the turn of "red" is released
      Then the turn of "red" ends in any way
      And every error of the turn of "red" has its ids
