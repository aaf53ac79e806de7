package dev.crab.langchain4j;

import dev.crab.runtime.error.CrabException;
import dev.crab.runtime.error.ErrorCode;
import java.io.IOException;
import java.io.InputStream;
import java.lang.reflect.Method;
import java.util.Properties;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.Flow;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Which LangChain4j this is. Names nothing of it that an unsupported version might lack, so that it can say so before anything fails to
 * link. docs/compatibility.md says what was tried.
 */
final class Framework {
    private static final Logger LOG = LoggerFactory.getLogger(Framework.class);
    private static final String ARTIFACT = "META-INF/maven/dev.langchain4j/langchain4j/pom.properties";
    private static final Pattern NUMBERS = Pattern.compile("(\\d{1,6})\\.(\\d{1,6}).*");

    /** Minor releases of LangChain4j 1 for which all tests pass. */
    static final int OLDEST_MINOR = 17;

    static final int NEWEST_MINOR = 19;

    private static final @Nullable CrabException REFUSAL;
    private static final boolean NEWER;

    static {
        String version = version();
        REFUSAL = refusal(version);
        NEWER = isNewer(version);
        if (NEWER) {
            LOG.warn(
                    "LangChain4j {} is newer than what Crab was tested with (1.{}); asynchronous AI services are refused",
                    version,
                    NEWEST_MINOR);
        }
    }

    private Framework() {}

    /**
     * Refuses a LangChain4j that cannot be protected.
     *
     * @throws CrabException FRAMEWORK_UNSUPPORTED
     */
    static void ensureSupported() {
        if (REFUSAL != null) {
            throw CrabException.of(REFUSAL.code(), REFUSAL.what(), REFUSAL.why(), REFUSAL.cure());
        }
    }

    /**
     * Refuses an asynchronous AI service when it is built. Of the versions known, every call is seen when it is made, and refused then at the
     * latest; of a newer one it is not known whether asynchronous calls are.
     *
     * @param why it is refused with a version that is known; null if nothing is known to speak against it
     * @throws CrabException FRAMEWORK_UNSUPPORTED
     */
    static void ensureCovered(Class<?> aiService, @Nullable String why) {
        if (!NEWER && why == null) {
            return;
        }
        for (Method method : aiService.getMethods()) {
            if (isAsynchronous(method.getReturnType())) {
                throw CrabException.of(
                        ErrorCode.FRAMEWORK_UNSUPPORTED,
                        aiService.getName() + "." + method.getName() + " cannot be protected",
                        "it returns " + method.getReturnType().getName() + " before the work is done, and "
                                + (why != null
                                        ? why
                                        : "with this LangChain4j it is not known whether Crab sees its calls"),
                        "let it return the answer itself or a TokenStream, "
                                + (why != null
                                        ? "build and call it outside the session"
                                        : "use LangChain4j 1." + NEWEST_MINOR)
                                + ", or set crab.enabled=false");
            }
        }
    }

    /** Whether a method that returns this is done before its work is. */
    static boolean isAsynchronous(@Nullable Class<?> type) {
        if (type == null) {
            return false;
        }
        if (CompletionStage.class.isAssignableFrom(type) || Flow.Publisher.class.isAssignableFrom(type)) {
            return true;
        }
        String name = type.getName();
        if (name.equals("org.reactivestreams.Publisher")
                || name.startsWith("reactor.core.")
                || name.startsWith("kotlinx.coroutines.flow.")
                || name.startsWith("io.smallrye.mutiny.")) {
            return true;
        }
        for (Class<?> face : type.getInterfaces()) {
            if (isAsynchronous(face)) {
                return true;
            }
        }
        return isAsynchronous(type.getSuperclass());
    }

    static @Nullable CrabException refusal(@Nullable String version) {
        int[] numbers = numbers(version);
        boolean tooOld = numbers != null && (numbers[0] < 1 || (numbers[0] == 1 && numbers[1] < OLDEST_MINOR));
        if (!tooOld) {
            return null;
        }
        return CrabException.of(
                ErrorCode.FRAMEWORK_UNSUPPORTED,
                "AI services would not be protected",
                "LangChain4j " + version + " lacks what Crab needs",
                "use LangChain4j 1." + OLDEST_MINOR + " or newer (tested up to 1." + NEWEST_MINOR
                        + "), or set crab.enabled=false");
    }

    static boolean isNewer(@Nullable String version) {
        int[] numbers = numbers(version);
        return numbers != null && (numbers[0] > 1 || (numbers[0] == 1 && numbers[1] > NEWEST_MINOR));
    }

    private static int @Nullable [] numbers(@Nullable String version) {
        Matcher matcher = NUMBERS.matcher(version == null ? "" : version);
        return matcher.matches()
                ? new int[] {Integer.parseInt(matcher.group(1)), Integer.parseInt(matcher.group(2))}
                : null;
    }

    /** From the jar that holds LangChain4j's AI services; null if it does not say (it was repackaged). */
    private static @Nullable String version() {
        ClassLoader loader = dev.langchain4j.service.AiServices.class.getClassLoader();
        try (InputStream in = loader == null
                ? ClassLoader.getSystemResourceAsStream(ARTIFACT)
                : loader.getResourceAsStream(ARTIFACT)) {
            if (in == null) {
                return null;
            }
            Properties properties = new Properties();
            properties.load(in);
            return properties.getProperty("version");
        } catch (IOException e) {
            return null;
        }
    }
}
