package dev.crab.spring;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.crab.langchain4j.Crab;
import dev.crab.langchain4j.CrabSession;
import dev.crab.langchain4j.SandboxTools;
import dev.crab.overlap.schedule.SchedulerSettings;
import dev.crab.runtime.CrabConfig;
import dev.crab.runtime.CrabRuntime;
import dev.crab.runtime.sandbox.SandboxImage;
import dev.crab.runtime.sandbox.SandboxSpec;
import dev.crab.runtime.snapshot.Snapshotters;
import dev.langchain4j.agent.tool.ToolExecutionRequest;
import dev.langchain4j.data.message.AiMessage;
import dev.langchain4j.data.message.ToolExecutionResultMessage;
import dev.langchain4j.model.chat.ChatModel;
import dev.langchain4j.model.chat.request.ChatRequest;
import dev.langchain4j.model.chat.response.ChatResponse;
import dev.langchain4j.service.AiServices;
import io.micrometer.core.instrument.MeterRegistry;
import java.io.InputStream;
import java.lang.reflect.Field;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Comparator;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.springframework.boot.SpringBootVersion;
import org.springframework.boot.WebApplicationType;
import org.springframework.boot.autoconfigure.EnableAutoConfiguration;
import org.springframework.boot.builder.SpringApplicationBuilder;
import org.springframework.context.ConfigurableApplicationContext;
import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.Configuration;

/** A real application with the starter on its class path, with whatever Spring Boot the class path has. */
public class SpringBootTest {
    private static final String SESSION = "spring";

    interface Coder {
        String chat(String task);
    }

    /** The application. */
    @Configuration(proxyBeanMethods = false)
    @EnableAutoConfiguration
    static class App {
        @Bean
        CrabOptionsCustomizer image() {
            String home = Optional.ofNullable(System.getenv("CRAB_DATA")).orElse("/var/lib/crab");
            SandboxSpec spec =
                    SandboxSpec.defaults().withImage(new SandboxImage.Directory(Path.of(home, "images", "debian")));
            return options -> options.sandbox(spec);
        }

        @Bean
        Coder coder() {
            ChatModel model = new ChatModel() {
                @Override
                public ChatResponse doChat(ChatRequest request) {
                    Object last = request.messages().get(request.messages().size() - 1);
                    AiMessage answer = last instanceof ToolExecutionResultMessage result
                            ? AiMessage.from("it said " + result.text().strip())
                            : AiMessage.from(ToolExecutionRequest.builder()
                                    .id("c1")
                                    .name("bash")
                                    .arguments("{\"command\": \"echo hello | tee greeting\"}")
                                    .build());
                    return ChatResponse.builder().aiMessage(answer).build();
                }
            };
            return AiServices.builder(Coder.class)
                    .chatModel(model)
                    .tools(new SandboxTools(Crab.sandbox(SESSION)))
                    .build();
        }
    }

    private static ConfigurableApplicationContext start(String... properties) {
        List<String> arguments = new ArrayList<>();
        Arrays.stream(properties).map(property -> "--" + property).forEach(arguments::add);
        return new SpringApplicationBuilder(App.class)
                .web(WebApplicationType.NONE)
                .run(arguments.toArray(String[]::new));
    }

    /** By name, since the types lie in another package in each Boot. */
    private static Object health(ConfigurableApplicationContext context, String what) throws Exception {
        Object indicator = context.getBean("crabHealthIndicator");
        var health = indicator.getClass().getMethod("health");
        health.setAccessible(true);
        Object found = health.invoke(indicator);
        return found.getClass().getMethod(what).invoke(found);
    }

    /** The major version that this module is about. */
    protected String boot() {
        return "3";
    }

    @Test
    protected void application_isProtectedMeteredAndHealthy_andItsSandboxEndsWithIt() throws Exception {
        assertThat(SpringBootVersion.getVersion()).startsWith(boot() + ".");
        Path data = Files.createTempDirectory("crab-spring-test");
        try {
            try (ConfigurableApplicationContext context = start("crab.data=" + data)) {
                Coder coder = context.getBean(Coder.class);
                try (CrabSession run = Crab.run(SESSION)) {
                    assertThat(coder.chat("greet")).contains("hello");
                    assertThat(run.sandbox().exec("cat greeting").out()).isEqualTo("hello\n");
                }
                MeterRegistry meters = context.getBean(MeterRegistry.class);
                assertThat(meters.get("crab.turns")
                                .tag("committed", "true")
                                .counter()
                                .count())
                        .isEqualTo(1);
                assertThat(health(context, "getStatus").toString()).isEqualTo("UP");
                try (CrabRuntime runtime =
                        CrabRuntime.builder().dataDirectory(data).build()) {
                    assertThat(runtime.owner(SESSION))
                            .hasValue(ProcessHandle.current().pid());
                }
            }
            try (CrabRuntime runtime = CrabRuntime.builder().dataDirectory(data).build()) {
                assertThat(runtime.owner(SESSION)).isEmpty();
                assertThat(runtime.archive(SESSION).turns()).hasSize(1);
            }
        } finally {
            Snapshotters.release(data);
            try (Stream<Path> files = Files.walk(data)) {
                for (Path file : files.sorted(Comparator.reverseOrder()).toList()) {
                    Files.delete(file);
                }
            }
        }
    }

    @Test
    protected void dataDirectoryThatCannotBe_isDownAndSaysWhatToDo() throws Exception {
        try (ConfigurableApplicationContext context = start("crab.data=/proc/crab")) {
            assertThat(health(context, "getStatus").toString()).isEqualTo("DOWN");
            Object detail = ((Map<?, ?>) health(context, "getDetails")).get("data-directory");
            assertThat(String.valueOf(detail)).contains("DATA_DIRECTORY_UNUSABLE", "cure: set crab.data");
        }
    }

    @Test
    protected void healthSwitchedOff_isNotThere() {
        try (ConfigurableApplicationContext context = start("management.health.crab.enabled=false")) {
            assertThat(context.containsBean("crabHealthIndicator")).isFalse();
        }
    }

    @Test
    protected void settingWithoutMeaning_stopsTheStartByName() {
        assertThatThrownBy(() -> start("crab.on-uncaptured=perhaps").close())
                .hasStackTraceContaining("CONFIG_INVALID")
                .hasStackTraceContaining("crab.on-uncaptured");
    }

    @Test
    protected void everySetting_isReadAndDescribed() throws Exception {
        String described;
        try (InputStream in =
                CrabProperties.class.getResourceAsStream("/META-INF/spring-configuration-metadata.json")) {
            described = new String(in.readAllBytes(), StandardCharsets.UTF_8);
        }
        List<String> names = new ArrayList<>();
        for (Class<?> owner : List.of(CrabConfig.class, SchedulerSettings.class)) {
            for (Field field : owner.getFields()) {
                if (field.getType() == String.class) {
                    names.add((String) field.get(null));
                }
            }
        }
        assertThat(CrabProperties.NAMES).containsExactlyInAnyOrderElementsOf(names);
        assertThat(names).allSatisfy(name -> assertThat(described).contains("\"" + name + "\""));
    }
}
