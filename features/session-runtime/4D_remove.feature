@session-runtime @server
Feature: 4D A removal
  用户控制：踢出智能体 (REMOVE_AGENT)

  Rule: SessionManager is asked to remove the agent — 向 SessionManager 发移除请求

    @RT-008 @RT-010 @RT-018 @RT-020 @RT-034 @RT-044 @RT-046 @RT-100 @RT-108 @RT-110 @RT-113 @RT-114 @RT-115 @RT-116 @RT-164 @RT-171 @RT-172
    @RT-4D-01
    Scenario: an idle agent is removed
      Given a session of agents "a", "b" and "c" where agent "a" is active
      When the user removes agent "b"
      Then SessionManager is asked to remove agent "b"
      And no AGENT_REMOVED is published
      When SessionManager says that agent "b" is removed
      Then the frontend is told that agent "b" is removed
      And everything is handled
      And the next input reaches agent "a"

    @RT-044 @RT-046 @RT-115 @RT-117 @RT-118 @RT-164 @RT-4D-02
    Scenario: a failed removal is reported to the frontend
      Given a session of agents "a", "b" and "c" where agent "a" is active
      When the user removes agent "b"
      Then SessionManager is asked to remove agent "b"
      When SessionManager says that agent "b" could not be removed
      Then the frontend is told that agent "b" could not be removed
      And no AGENT_REMOVED is published

  Rule: If the agent is active, the orchestrator switches to a fallback — 若 active 指向它: 切换到 fallback, 并 publish SWITCH_AGENT

    @RT-006 @RT-063 @RT-064 @RT-065 @RT-066 @RT-091 @RT-111 @RT-112 @RT-116 @RT-4D-03
    Scenario: a fallback replaces an active agent that is removed
      Given a session of agents "a", "b" and "c" where agent "a" is active
      When the user removes agent "a"
      Then SessionManager is asked to remove agent "a"
      When SessionManager says that agent "a" is removed
      Then the frontend is told that agent "a" is removed
      And a switch from agent "a" to one of the others is announced
      And the next input reaches the fallback

    @RT-112 @RT-064 @RT-4D-04
    Scenario: the only other agent becomes the fallback
      Given a session of agents "a" and "b" where agent "b" is active
      When the user removes agent "b"
      Then SessionManager is asked to remove agent "b"
      When SessionManager says that agent "b" is removed
      Then the frontend is told that agent "b" is removed
      And a switch from agent "b" to one of the others is announced
      And the next input reaches agent "a"

    @RT-116 @RT-110 @RT-4D-05
    Scenario: the last agent is removed
      Given a session of agent "a" where agent "a" is active
      When the user removes agent "a"
      Then SessionManager is asked to remove agent "a"
      When SessionManager says that agent "a" is removed
      Then the frontend is told that agent "a" is removed
      And everything is handled

    @RT-049 @RT-086 @RT-087 @RT-111 @RT-4D-06
    Scenario: a removed agent is no longer in the session
      Given a session of agents "a", "b" and "c" where agent "a" is active
      When the user removes agent "b"
      Then SessionManager is asked to remove agent "b"
      When SessionManager says that agent "b" is removed
      Then the frontend is told that agent "b" is removed
      When the user mentions agent "b" in "t1" by its payload
      Then SessionManager is asked for agent "b", or the frontend is told of an error
      And "t1" reaches no agent

    @RT-034 @RT-4D-07
    Scenario: a removal of an agent outside the session does not block the next one
      Given a session of agents "a", "b" and "c" where agent "a" is active
      When the user removes agent "x"
      Then everything is handled
      When the user removes agent "b"
      Then SessionManager is asked to remove agent "b"

  Rule: A speaking agent is cancelled before it is removed — 若在说话先打断，等打断成功再踢出

    @RT-004 @RT-050 @RT-060 @RT-100 @RT-105 @RT-106 @RT-109 @RT-116 @RT-160 @RT-4D-08
    Scenario: a speaking agent is removed after it has confirmed its cancel
      Given a session of agents "a", "b" and "c" where agent "a" is active
      And agent "a" is speaking in "t1"
      When the user removes agent "a"
      Then agent "a" is asked to stop "t1"
      And no REQUEST_REMOVE_AGENT is published
      When agent "a" confirms the cancel of "t1"
      Then the frontend is told that "t1" is cancelled
      And SessionManager is asked to remove agent "a"
      When SessionManager says that agent "a" is removed
      Then the frontend is told that agent "a" is removed
      And everything is handled

    @RT-060 @RT-102 @RT-106 @RT-4D-09
    Scenario: a speaking agent is removed after it has stopped its stream
      Given a session of agents "a", "b" and "c" where agent "a" is active
      When the user removes agent "b"
      Then SessionManager is asked to remove agent "b"
      Given agent "a" is speaking in "t1"
      When the user removes agent "a"
      Then agent "a" is asked to stop "t1"
      When agent "a" has stopped the stream of "t1"
      Then the frontend is told that "t1" is cancelled
      And SessionManager is asked to remove agent "a"

    @RT-106 @RT-100 @RT-4D-10
    Scenario: a speaking agent that never confirms is not removed
      Given a short limit for confirmations of cancels
      And a session of agents "a", "b" and "c" where agent "a" is active
      And agent "a" is speaking in "t1"
      When the user removes agent "a"
      Then agent "a" is asked to stop "t1"
      When the limit for confirming a cancel expires
      Then no REQUEST_REMOVE_AGENT is published

    @RT-106 @RT-109 @RT-4D-11
    Scenario: a speaking agent that is no longer active is cancelled, then removed
      Given a session of agents "a", "b" and "c" where agent "a" is active
      And agent "a" is speaking in "t1"
      When the user switches to agent "b"
      Then a switch from agent "a" to agent "b" is announced
      And everything is handled
      When the user removes agent "a"
      Then agent "a" is asked to stop "t1"
      When agent "a" confirms the cancel of "t1"
      Then SessionManager is asked to remove agent "a"

    @RT-106 @RT-060 @RT-4D-12
    Scenario: an agent that the user has already cancelled is removed after its confirmation
      Given a session of agents "a", "b" and "c" where agent "a" is active
      When the user removes agent "b"
      Then SessionManager is asked to remove agent "b"
      Given agent "a" is speaking in "t1"
      When the user cancels
      Then agent "a" is asked to stop "t1"
      When the user removes agent "a"
      Then no REQUEST_REMOVE_AGENT is published
      When agent "a" confirms the cancel of "t1"
      Then the frontend is told that "t1" is cancelled
      And SessionManager is asked to remove agent "a"

    @RT-106 @RT-152 @RT-4D-13
    Scenario: a removal and a close wait for the same confirmation
      Given a session of agents "a", "b" and "c" where agent "a" is active
      And agent "a" is speaking in "t1"
      When the user removes agent "a"
      Then agent "a" is asked to stop "t1"
      When the user closes the session
      And agent "a" confirms the cancel of "t1"
      Then the frontend is told that "t1" is cancelled
      And SessionManager is asked to remove agent "a"
      And SessionManager is asked to close the session

    @RT-106 @RT-4D-14
    Scenario: an idle agent is removed while another one is speaking
      Given a session of agents "a", "b" and "c" where agent "a" is active
      And agent "a" is speaking in "t1"
      When the user removes agent "b"
      Then SessionManager is asked to remove agent "b"
      And no CANCEL is published
      When agent "a" ends "t1"

    @RT-104 @RT-141 @RT-4D-15
    Scenario: further output of a removed agent is not forwarded
      Given a session of agents "a", "b" and "c" where agent "a" is active
      And agent "a" is speaking in "t1"
      When the user removes agent "a"
      Then agent "a" is asked to stop "t1"
      When agent "a" confirms the cancel of "t1"
      Then SessionManager is asked to remove agent "a"
      When SessionManager says that agent "a" is removed
      Then the frontend is told that agent "a" is removed
      When agent "a" sends a chunk of "t1"
      Then the frontend does not receive the output of "t1"

    @RT-109 @RT-4D-16
    Scenario: an agent that has finished speaking is removed without a cancel
      Given a session of agents "a", "b" and "c" where agent "a" is active
      And agent "a" is speaking in "t1"
      When agent "a" ends "t1"
      And the user removes agent "a"
      Then SessionManager is asked to remove agent "a"
      And no CANCEL is published

    @RT-064 @RT-112 @RT-4D-17
    Scenario: an agent that was removed earlier is not the fallback
      Given a session of agents "a", "b" and "c" where agent "a" is active
      When the user removes agent "b"
      Then SessionManager is asked to remove agent "b"
      When SessionManager says that agent "b" is removed
      Then the frontend is told that agent "b" is removed
      When the user removes agent "a"
      Then SessionManager is asked to remove agent "a"
      When SessionManager says that agent "a" is removed
      Then the frontend is told that agent "a" is removed
      And a switch from agent "a" to one of the others is announced
      And the next input reaches agent "c"

    @RT-006 @RT-065 @RT-112 @RT-4D-18
    Scenario: the initial agent is not the fallback after it was removed
      Given a session of agents "a", "b" and "c" where agent "a" is active
      When the user switches to agent "b"
      Then a switch from agent "a" to agent "b" is announced
      When the user removes agent "a"
      Then SessionManager is asked to remove agent "a"
      When SessionManager says that agent "a" is removed
      Then the frontend is told that agent "a" is removed
      When the user removes agent "b"
      Then SessionManager is asked to remove agent "b"
      When SessionManager says that agent "b" is removed
      Then the frontend is told that agent "b" is removed
      And a switch from agent "b" to one of the others is announced
      And the next input reaches agent "c"

    @RT-060 @RT-106 @RT-110 @RT-4D-19
    Scenario Outline: a removal goes on although <what> comes before the confirmation of the cancel
      Given a session of agents "a", "b" and "c" where agent "a" is active
      And agent "a" is speaking in "t1"
      When the user removes agent "a"
      Then agent "a" is asked to stop "t1"
      When <act>
      And agent "a" confirms the cancel of "t1"
      Then SessionManager is asked to remove agent "a"
      When SessionManager says that agent "a" is removed
      Then the frontend is told that agent "a" is removed

      Examples:
        | what             | act                                  |
        | the final        | agent "a" sends the final of "t1"    |
        | an error         | agent "a" reports an error in "t1"   |
        | a cancel         | the user cancels                     |
        | a second removal | the user removes agent "a"           |

    @RT-018 @RT-110 @RT-116 @RT-4D-23
    Scenario: an agent that was removed and added again is removed again
      Given a session of agents "a", "b" and "c" where agent "a" is active
      When the user removes agent "b"
      Then SessionManager is asked to remove agent "b"
      When SessionManager says that agent "b" is removed
      Then the frontend is told that agent "b" is removed
      When the user invites agent "b"
      Then SessionManager is asked to add agent "b"
      When SessionManager says that agent "b" is added
      Then the frontend is told that agent "b" is added
      When the user removes agent "b"
      Then SessionManager is asked to remove agent "b"
      When SessionManager says that agent "b" is removed
      Then the frontend is told that agent "b" is removed

    @RT-115 @RT-116 @RT-4D-24
    Scenario: a receipt for another agent does not complete a removal
      Given a session of agents "a", "b" and "c" where agent "a" is active
      When the user removes agent "b"
      Then SessionManager is asked to remove agent "b"
      When SessionManager says that agent "c" is removed
      Then everything is handled
      When SessionManager says that agent "b" is removed
      Then the frontend is told that agent "b" is removed
