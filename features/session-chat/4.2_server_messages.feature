@session-chat @server
Feature: 4.2 Messages of the server
  所有消息都包含`agent_id`和`session_id`

  Every message of a session is judged by monitors, in these scenarios and in all others.

  Rule: The members of a message

    @SC-038 @SC-039 @SC-040 @SC-043 @SC-044 @SC-056
    Scenario: the messages of a session
      When client A chats with "red"
      Then client A is answered by "red"
      And every message of "red" has borne its session_id
      When client A chats with "red"
      Then client A is answered by "red"

    @SC-038 @SC-039 @SC-040 @SC-041 @SC-042 @SC-043 @SC-044 @model
    Scenario: the messages of an interrupted turn
      Given client A has chatted with "red"
      And client A chats with "red" in a turn that is held
      When client A interrupts "red"
      Then the turn of "red" is interrupted

    @SC-038 @SC-039 @SC-040 @SC-043 @SC-044 @model
    Scenario: the messages of a turn whose model fails
      Given client A has chatted with "red"
      When client A chats with "red" and the model fails
      Then the turn of "red" comes to some end

  Rule: session_id is the session's, and agent_id is the client's

    @SC-041 @SC-042 @SC-056
    Scenario: three turns
      When client A chats with "red"
      Then client A is answered by "red"
      When client A chats with "red"
      Then client A is answered by "red"
      And "red" is the same session as before
      When client A chats with "red"
      Then client A is answered by "red"
      And "red" is the same session as before

    @SC-042 @model
    Scenario Outline: what is refused with <field> missing is not told of under an agent_id in the place of the session_id
      Given client A has chatted with "red"
      When client A sends "red" a chat without its <field>
      Then the answer to client A is noted
      When client A chats with "red"
      Then client A is answered by "red"
      And "red" is the same session as before

      Examples:
        | field    |
        | content  |
        | agent_id |

    @SC-042 @model
    Scenario: nor is a failure
      Given client A has chatted with "red"
      When client A chats with "red" and the model fails
      Then the turn of "red" comes to some end
      And client A can chat with "red" again
      And "red" is the same session as before
