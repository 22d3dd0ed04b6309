@session-chat @server
Feature: 4.1.1 Interrupting a turn
  type: "interrupt", agent_id: string

  Rule: An interrupt ends the running turn of its agent_id

    @SC-035 @SC-036 @SC-055 @model
    Scenario: while the model speaks
      Given client A has chatted with "red"
      And client A chats with "red" in a turn that is held
      And client A hears of the turn of "red" while it runs
      When client A interrupts "red"
      Then the turn of "red" is interrupted
      When client A chats with "red"
      Then client A is answered by "red"
      And "red" is the same session as before
      And the model was sent the earlier turns of "red"

    @SC-035 @SC-036 @running-turn
    Scenario: in the first turn of a session
      Given client A chats with "red" in a turn that is held
      When client A interrupts "red"
      Then the turn of "red" is interrupted
      When client A chats with "red"
      Then client A is answered by "red"

    @SC-036 @running-turn
    Scenario: twice in a row
      Given client A chats with "red" in a turn that is held
      When client A interrupts "red"
      And client A interrupts "red"
      Then the turn of "red" is interrupted
      When client A chats with "red"
      Then client A is answered by "red"

    @SC-036 @running-turn
    Scenario: several turns, each interrupted
      Given client A chats with "red" in a turn that is held
      When client A interrupts "red"
      Then the turn of "red" is interrupted
      Given client A chats with "red" in a turn that is held
      When client A interrupts "red"
      Then the turn of "red" is interrupted
      When client A chats with "red"
      Then client A is answered by "red"

    @SC-036 @model @race
    Scenario: at once behind the chat
      Given client A has chatted with "red"
      When client A starts a turn of "red" that is held
      And client A interrupts "red"
      Then the turn of "red" has come to its end
      When client A chats with "red"
      Then client A is answered by "red"
      And "red" is the same session as before
      And the model was sent the earlier turns of "red"

    @SC-036 @model @race
    Scenario: at once behind the first chat
      When client A starts a turn of "red" that is held
      And client A interrupts "red"
      Then the turn of "red" has come to its end
      When client A chats with "red"
      Then client A is answered by "red"

    @SC-036 @model @race
    Scenario Outline: in a stream of <n> pieces
      Given client A has chatted with "red"
      When client A chats with "red" in a turn of <n> pieces
      And client A interrupts "red"
      Then the turn of "red" has come to its end
      When client A chats with "red"
      Then client A is answered by "red"
      And "red" is the same session as before

      Examples:
        | n    |
        | 1    |
        | 1000 |

  Rule: It ends no other turn

    @SC-036 @model
    Scenario: the other session on the same connection runs on
      Given client A starts a turn of "red" that is held
      And client A starts a turn of "blue" that is held
      And the turns of "red" and "blue" run at the same time
      When client A interrupts "red"
      Then the turn of "red" is interrupted
      And the turn of "blue" still runs
      When the turn of "blue" is let go on
      Then client A is answered by "blue"

    @SC-036 @model
    Scenario: the session of another connection runs on
      Given client A chats with "red" in a turn that is held
      And client B chats with "blue" in a turn that is held
      When client B interrupts "blue"
      Then the turn of "blue" is interrupted
      And the turn of "red" still runs
      When the turn of "red" is let go on
      Then client A is answered by "red"

    @SC-036 @model
    Scenario: an interrupt of a session that rests ends nothing
      Given client A has chatted with "red"
      And client A chats with "blue" in a turn that is held
      When client A interrupts "red"
      Then the turn of "blue" still runs
      When the turn of "blue" is let go on
      Then client A is answered by "blue"
      When client A chats with "red"
      Then client A is answered by "red"
      And "red" is the same session as before
      And the model was sent the earlier turns of "red"

    @SC-036 @model
    Scenario: an interrupt of an agent_id that nobody has used ends nothing
      Given client A chats with "blue" in a turn that is held
      When client A interrupts "red"
      Then the turn of "blue" still runs
      When the turn of "blue" is let go on
      Then client A is answered by "blue"

    @SC-036 @model
    Scenario: an interrupt that came too late does not end the next turn
      Given client A has chatted with "red"
      When client A interrupts "red"
      And what client A has sent is dealt with
      And client A chats with "red" in a turn that is held
      Then the turn of "red" still runs
      When the turn of "red" is let go on
      Then client A is answered by "red"
