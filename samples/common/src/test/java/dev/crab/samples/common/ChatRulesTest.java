package dev.crab.samples.common;

import static org.assertj.core.api.Assertions.assertThat;

import org.junit.jupiter.api.Test;

class ChatRulesTest {
    private static final String TASK = "{'role': 'user', 'content': 'do it'}";
    private static final String CALL = "{'role': 'assistant', 'tool_calls': [{'id': 'a'}, {'id': 'b'}]}";
    private static final String RESULT_A = "{'role': 'tool', 'tool_call_id': 'a', 'content': ''}";
    private static final String RESULT_B = "{'role': 'tool', 'tool_call_id': 'b', 'content': ''}";

    @Test
    void faults_ofACompleteChat_areNone() {
        assertThat(ChatRules.faults(Chats.of(TASK, CALL, RESULT_A, RESULT_B))).isEmpty();
    }

    @Test
    void faults_ofAChatThatWasCutOffInATurn_nameTheDanglingCall() {
        assertThat(ChatRules.faults(Chats.of(TASK, CALL, RESULT_A))).containsExactly("call b has no result");
        assertThat(ChatRules.faults(Chats.of(TASK, CALL, RESULT_A, TASK)))
                .containsExactly("call b has no result", "a user message stands there twice");
    }

    @Test
    void faults_ofDoubledMessages_nameThem() {
        assertThat(ChatRules.faults(Chats.of(TASK, CALL, RESULT_A, RESULT_B, RESULT_B)))
                .containsExactly("result of b stands there twice");
        assertThat(ChatRules.faults(Chats.of(TASK, CALL, RESULT_A, RESULT_B, CALL, RESULT_A, RESULT_B)))
                .containsExactly("call a stands there twice", "call b stands there twice");
    }

    @Test
    void faults_ofAResultWithoutACall_nameIt() {
        assertThat(ChatRules.faults(Chats.of(TASK, RESULT_A))).containsExactly("result of a has no call");
    }
}
