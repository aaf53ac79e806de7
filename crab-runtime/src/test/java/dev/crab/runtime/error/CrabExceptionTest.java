package dev.crab.runtime.error;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.catchThrowableOfType;

import java.io.IOException;
import java.nio.file.AccessDeniedException;
import java.nio.file.FileSystemException;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import org.junit.jupiter.api.Test;

class CrabExceptionTest {
    @Test
    void aReasonIsNeverAPathAloneAndNeverNull() {
        assertThat(CrabException.reason(new NoSuchFileException("/a/b"))).isEqualTo("NoSuchFileException: /a/b");
        assertThat(CrabException.reason(new AccessDeniedException("/a/b"))).isEqualTo("AccessDeniedException: /a/b");
        assertThat(CrabException.reason(new FileSystemException("/a/b", null, "Device or resource busy")))
                .isEqualTo("/a/b: Device or resource busy");
        assertThat(CrabException.reason(new IOException())).isEqualTo("IOException");
        assertThat(CrabException.reason(new IllegalStateException("it is closed")))
                .isEqualTo("it is closed");
    }

    @Test
    void whatTheFileSystemSaysIsPartOfTheError() {
        IOException missing = catchThrowableOfType(IOException.class, () -> Files.size(Path.of("/nowhere/at/all")));

        CrabException error = CrabException.io("the size cannot be told", missing);

        assertThat(error.why()).isEqualTo("NoSuchFileException: /nowhere/at/all");
        assertThat(error.code()).isEqualTo(ErrorCode.IO_FAILED);
    }
}
