@session-chat-folder @restart @exclusive
Feature: 3 A session after a restart of the target

  Background:
    Given client A is connected

  @SF-008 @SF-016 @SF-016a @SF-023 @SF-048 @SF-049 @SF-058
  Scenario Outline: a session goes on after the target is <how>
    Given client A chats in red
    And client A gets an answer to "chat" with {"agent_id": "blue-${nonce}", "content": "[[stream \ud83d\ude00-${new} 2]]"}
    When the target is <how>
    And client A is connected
    Then client A recalls red
    And client A recalls blue

    Examples:
      | how                      |
      | restarted                |
      | killed and started again |

  @SF-008 @SF-016
  Scenario: twelve turns, and a long one
    Given client A chats four times in red
    And client A chats four times in red
    And client A chats four times in red
    And client A gets an answer to "chat" with {"content": "0123456789 0123456789 0123456789 0123456789 0123456789 0123456789 0123456789 0123456789 0123456789 0123456789 0123456789 0123456789 0123456789 0123456789 0123456789 0123456789 0123456789 0123456789 0123456789 0123456789 0123456789 0123456789 0123456789 0123456789 [[stream ${new} 2]]"}
    When client A returns after a restart
    Then client A recalls red

  @SF-023
  Scenario: the target is killed during a turn
    Given client A chats in red
    And client A holds red
    When the target is killed and started again
    And client A is connected
    Then client A recalls red

  @SF-036
  Scenario: the target is restarted after an interrupt
    Given client A chats in red
    And client A holds red
    And client A ends red
    When client A returns after a restart
    Then client A recalls red

  @SF-008
  Scenario: the target is restarted after a failed turn
    Given client A chats in red
    And client A returns after a restart
    And client A fails in red
    And client A chats in red
    When client A returns after a restart
    Then client A recalls red

  @SF-001 @SF-009 @SF-017 @SF-027
  Scenario: a new session after a restart has no history, and the others have their own
    Given client A chats in red
    And client A chats in blue
    And client A chats in red
    When client A returns after a restart
    Then everything is handled
    And client A recalls green
    And client A recalls blue
    And client A recalls red

  @SF-027 @SF-060
  Scenario: agent_ids that a file name would confuse
    Given client A gets an answer to "chat" with {"agent_id": "Red/${nonce}"}
    And client A gets an answer to "chat" with {"agent_id": "Red_${nonce}"}
    And client A gets an answer to "chat" with {"agent_id": "Red-${nonce}"}
    And client A gets an answer to "chat" with {"agent_id": "Red${nonce}"}
    And client A gets an answer to "chat" with {"agent_id": "red/${nonce}"}
    When client A returns after a restart
    And client A gets an answer to "chat" with {"agent_id": "Red/${nonce}", "content": "[[recall ${new}]]"}
    And client A gets an answer to "chat" with {"agent_id": "Red_${nonce}", "content": "[[recall ${new}]]"}
