package dev.crab.langchain4j;

import static org.assertj.core.api.Assertions.assertThat;

import dev.crab.runtime.error.CrabException;
import dev.crab.runtime.error.ErrorCode;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

class SupervisionTest {
    /** A program that uses Crab and ends with that refusal, wrapped as frameworks do it. */
    static final class Program {
        private Program() {}

        public static void main(String[] arguments) {
            Crab.configure(CrabOptions.builder().build());
            CrabException refusal = CrabException.of(ErrorCode.valueOf(arguments[0]), "what", "why", "cure");
            throw new IllegalStateException("wrapped", new CrabError(refusal));
        }
    }

    @ParameterizedTest
    @CsvSource({"true, IMAGE_NOT_FOUND, 78", "true, NOT_ROOT, 78", "true, SANDBOX_LOST, 1", "false, IMAGE_NOT_FOUND, 1"
    })
    void programThatEndsWithARefusal_saysWhetherARestartMendsIt(boolean supervised, ErrorCode code, int status)
            throws Exception {
        List<String> command = new ArrayList<>(
                List.of(ProcessHandle.current().info().command().orElse("java"), "-XX:TieredStopAtLevel=1"));
        if (supervised) {
            command.add("-D" + Supervision.PROPERTY + "=true");
        }
        command.addAll(List.of("-cp", System.getProperty("java.class.path"), Program.class.getName(), code.name()));
        Process program = new ProcessBuilder(command).redirectErrorStream(true).start();
        String said = new String(program.getInputStream().readAllBytes(), java.nio.charset.StandardCharsets.UTF_8);
        assertThat(program.waitFor()).as(said).isEqualTo(status);
        assertThat(said).contains("Exception in thread \"main\"", code.name());
    }
}
