@session-chat @server
Feature: 4.1.1 Interrupting a turn
  type: "interrupt", agent_id: string

  Rule: An interrupt ends the running turn of its agent_id — 中断消息

    @SC-035 @SC-036 @SC-055 @model @SC-4.1.1-01
    Scenario: an interrupt ends a turn while the model is answering
      Given client A has chatted with "red"
      And client A chats with "red" in a turn that is held
      And client A receives a message of the turn of "red" while it runs
      When client A interrupts "red"
      Then the turn of "red" is interrupted
      When client A chats with "red"
      Then client A is answered by "red"
      And "red" is the same session as before
      And the model was sent the earlier turns of "red"

    @SC-035 @SC-036 @running-turn @SC-4.1.1-02
    Scenario: an interrupt ends the first turn of a session
      Given client A chats with "red" in a turn that is held
      When client A interrupts "red"
      Then the turn of "red" is interrupted
      When client A chats with "red"
      Then client A is answered by "red"

    @SC-036 @running-turn @SC-4.1.1-03
    Scenario: two interrupts in a row end one turn
      Given client A chats with "red" in a turn that is held
      When client A interrupts "red"
      And client A interrupts "red"
      Then the turn of "red" is interrupted
      When client A chats with "red"
      Then client A is answered by "red"

    @SC-036 @running-turn @SC-4.1.1-04
    Scenario: each of two turns is interrupted
      Given client A chats with "red" in a turn that is held
      When client A interrupts "red"
      Then the turn of "red" is interrupted
      Given client A chats with "red" in a turn that is held
      When client A interrupts "red"
      Then the turn of "red" is interrupted
      When client A chats with "red"
      Then client A is answered by "red"

    @SC-036 @model @race @SC-4.1.1-05
    Scenario: a session works after an interrupt immediately after a later chat
      Given client A has chatted with "red"
      When client A starts a turn of "red" that is held
      And client A interrupts "red"
      Then the turn of "red" has ended
      When client A chats with "red"
      Then client A is answered by "red"
      And "red" is the same session as before
      And the model was sent the earlier turns of "red"

    @SC-036 @model @race @SC-4.1.1-06
    Scenario: a session works after an interrupt immediately after the first chat
      When client A starts a turn of "red" that is held
      And client A interrupts "red"
      Then the turn of "red" has ended
      When client A chats with "red"
      Then client A is answered by "red"

    @SC-036 @model @race @SC-4.1.1-07
    Scenario Outline: a session works after an interrupt of a stream of <n> pieces
      Given client A has chatted with "red"
      When client A chats with "red" in a turn of <n> pieces
      And client A interrupts "red"
      Then the turn of "red" has ended
      When client A chats with "red"
      Then client A is answered by "red"
      And "red" is the same session as before

      Examples:
        | n   |
        | 1   |
        | 300 |

  Rule: An interrupt ends no other turn — agent_id: string

    @SC-036 @model @SC-4.1.1-09
    Scenario: an interrupt does not end the turn of another session on the same connection
      Given client A starts a turn of "red" that is held
      And client A starts a turn of "blue" that is held
      And the turns of "red" and "blue" run at the same time
      When client A interrupts "red"
      Then the turn of "red" is interrupted
      And the turn of "blue" still runs
      When the turn of "blue" is released
      Then client A is answered by "blue"

    @SC-036 @model @SC-4.1.1-10
    Scenario: an interrupt does not end a turn on another connection
      Given client A chats with "red" in a turn that is held
      And client B chats with "blue" in a turn that is held
      When client B interrupts "blue"
      Then the turn of "blue" is interrupted
      And the turn of "red" still runs
      When the turn of "red" is released
      Then client A is answered by "red"

    @SC-036 @model @SC-4.1.1-11
    Scenario: an interrupt of an idle session ends nothing
      Given client A has chatted with "red"
      And client A chats with "blue" in a turn that is held
      When client A interrupts "red"
      Then the turn of "blue" still runs
      When the turn of "blue" is released
      Then client A is answered by "blue"
      When client A chats with "red"
      Then client A is answered by "red"
      And "red" is the same session as before
      And the model was sent the earlier turns of "red"

    @SC-036 @model @SC-4.1.1-12
    Scenario: an interrupt of an unused agent_id ends nothing
      Given client A chats with "blue" in a turn that is held
      When client A interrupts "red"
      Then the turn of "blue" still runs
      When the turn of "blue" is released
      Then client A is answered by "blue"

    @SC-036 @model @SC-4.1.1-13
    Scenario: an interrupt after the end of a turn does not end the next turn
      Given client A has chatted with "red"
      When client A interrupts "red"
      And the target has handled every message of client A
      And client A chats with "red" in a turn that is held
      Then the turn of "red" still runs
      When the turn of "red" is released
      Then client A is answered by "red"

  Rule: The end of an interrupted turn is its last message, and its session stays usable — 中断消息

    @SC-020 @SC-036 @model @SC-4.1.1-14
    Scenario: a turn that is interrupted while it streams says nothing after its end
      Given client A has chatted with "red"
      And client A chats with "red" in a turn of 3 pieces that is held
      When client A interrupts "red"
      Then the turn of "red" is interrupted
      And the target has handled every message of client A
      When client A chats with "red"
      Then client A is answered by "red"
      And the model was sent the earlier turns of "red"

    @SC-036 @SC-054 @SC-059 @SC-016a @model @SC-4.1.1-15
    Scenario: an interrupted session continues over another connection
      Given client A has chatted with "red"
      And client A chats with "red" in a turn that is held
      When client A interrupts "red"
      Then the turn of "red" is interrupted
      When client A disconnects
      And client A chats with "red"
      Then client A is answered by "red"
      And "red" is the same session as before
      And the model was sent the earlier turns of "red"

    @SC-036 @model @SC-4.1.1-16
    Scenario: an interrupt ends no turn of a session whose agent_id differs only in case
      Given client A chats with "red" under an agent_id of capitals
      And client A is answered by "red"
      And client A chats with "blue" under the agent_id of "red" with its case folded
      And client A is answered by "blue"
      And client A chats with "red" in a turn that is held
      When client A interrupts "blue"
      Then the turn of "red" still runs
      When the turn of "red" is released
      Then client A is answered by "red"

  Rule: An interrupt names its session by agent_id alone — agent_id: string

    @SC-036 @model @SC-4.1.1-17
    Scenario: an interrupt on another connection ends the turn
      Given client A chats with "red" in a turn that is held
      And client B has chatted with "blue"
      When client B interrupts "red"
      Then the turn of "red" is interrupted
      When client A chats with "red"
      Then client A is answered by "red"
