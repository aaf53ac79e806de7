package dev.crab.spring;

import dev.crab.langchain4j.Crab;
import dev.crab.langchain4j.CrabOptions;
import dev.crab.overlap.TurnListener;
import dev.crab.overlap.TurnReport;
import dev.crab.runtime.error.CrabException;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;
import org.springframework.beans.factory.DisposableBean;
import org.springframework.beans.factory.config.BeanFactoryPostProcessor;
import org.springframework.beans.factory.config.ConfigurableListableBeanFactory;
import org.springframework.core.env.Environment;

/**
 * Configures Crab before any bean can use it, and closes it after all that did: a bean factory post-processor is made first, and so
 * destroyed last.
 */
final class CrabConfigurer implements BeanFactoryPostProcessor, DisposableBean {
    private final Map<String, String> settings;

    CrabConfigurer(Environment environment) {
        settings = CrabProperties.read(environment);
    }

    Map<String, String> settings() {
        return settings;
    }

    @Override
    public void postProcessBeanFactory(ConfigurableListableBeanFactory beans) {
        CrabOptions.Builder options = CrabOptions.builder();
        settings.forEach(options::set);
        options.listener(new Listeners(beans));
        beans.getBeanProvider(CrabOptionsCustomizer.class).orderedStream().forEach(one -> one.customize(options));
        Crab.configure(options.build());
    }

    @Override
    public void destroy() {
        Crab.close();
    }

    /** The listeners among the beans, which do not exist yet when Crab is configured. */
    private static final class Listeners implements TurnListener {
        private final ConfigurableListableBeanFactory beans;
        private volatile @Nullable List<TurnListener> found;

        Listeners(ConfigurableListableBeanFactory beans) {
            this.beans = beans;
        }

        private List<TurnListener> all() {
            List<TurnListener> known = found;
            if (known == null) {
                known = beans.getBeanProvider(TurnListener.class)
                        .orderedStream()
                        .toList();
                found = known;
            }
            return known;
        }

        @Override
        public void turnReported(String sessionId, TurnReport report) {
            all().forEach(one -> one.turnReported(sessionId, report));
        }

        @Override
        public void turnUncommitted(String sessionId, long turn, CrabException failure) {
            all().forEach(one -> one.turnUncommitted(sessionId, turn, failure));
        }

        @Override
        public void gateWaited(String sessionId, long nanos) {
            all().forEach(one -> one.gateWaited(sessionId, nanos));
        }
    }
}
