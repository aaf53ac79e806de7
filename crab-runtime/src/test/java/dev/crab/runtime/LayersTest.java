package dev.crab.runtime;

import static com.tngtech.archunit.lang.syntax.ArchRuleDefinition.noClasses;
import static com.tngtech.archunit.library.Architectures.layeredArchitecture;
import static com.tngtech.archunit.library.dependencies.SlicesRuleDefinition.slices;

import com.tngtech.archunit.core.importer.ImportOption;
import com.tngtech.archunit.junit.AnalyzeClasses;
import com.tngtech.archunit.junit.ArchTest;
import com.tngtech.archunit.lang.ArchRule;

/** The packages of the runtime point downward only, and native code stays behind its fence. */
@AnalyzeClasses(packages = "dev.crab", importOptions = ImportOption.DoNotIncludeTests.class)
class LayersTest {
    @ArchTest
    static final ArchRule layers = layeredArchitecture()
            .consideringOnlyDependenciesInLayers()
            .withOptionalLayers(true)
            .layer("facade")
            .definedBy("dev.crab.runtime")
            .layer("session")
            .definedBy("dev.crab.runtime.session")
            .layer("engine")
            .definedBy("dev.crab.runtime.engine")
            .layer("inspector")
            .definedBy("dev.crab.runtime.inspector")
            .layer("sandbox")
            .definedBy("dev.crab.runtime.sandbox")
            .layer("snapshot")
            .definedBy("dev.crab.runtime.snapshot")
            .layer("criu")
            .definedBy("dev.crab.runtime.criu")
            .layer("store")
            .definedBy("dev.crab.runtime.store")
            .layer("libbpf")
            .definedBy("dev.crab.runtime.libbpf")
            .layer("os")
            .definedBy("dev.crab.runtime.os")
            .layer("base")
            .definedBy("dev.crab.runtime.error", "dev.crab.runtime.fault")
            .whereLayer("facade")
            .mayOnlyAccessLayers(
                    "session", "engine", "inspector", "sandbox", "snapshot", "criu", "store", "os", "libbpf", "base")
            .whereLayer("session")
            .mayOnlyAccessLayers("engine", "inspector", "sandbox", "snapshot", "store", "base")
            .whereLayer("engine")
            .mayOnlyAccessLayers("inspector", "sandbox", "snapshot", "criu", "store", "os", "base")
            .whereLayer("inspector")
            .mayOnlyAccessLayers("libbpf", "os", "base")
            .whereLayer("sandbox")
            .mayOnlyAccessLayers("snapshot", "os", "base")
            .whereLayer("snapshot")
            .mayOnlyAccessLayers("os", "base")
            .whereLayer("criu")
            .mayOnlyAccessLayers("os", "base")
            .whereLayer("store")
            .mayOnlyAccessLayers("os", "base")
            .whereLayer("libbpf")
            .mayOnlyAccessLayers("base")
            .whereLayer("os")
            .mayOnlyAccessLayers("base")
            .whereLayer("base")
            .mayNotAccessAnyLayer();

    @ArchTest
    static final ArchRule packagesHaveNoCycles =
            slices().matching("dev.crab.runtime.(*)..").should().beFreeOfCycles();

    @ArchTest
    static final ArchRule jnaStaysInItsTwoPackages = noClasses()
            .that()
            .resideOutsideOfPackages("dev.crab.runtime.os", "dev.crab.runtime.libbpf")
            .should()
            .dependOnClassesThat()
            .resideInAPackage("com.sun.jna..");

    @ArchTest
    static final ArchRule protobufStaysInCriu = noClasses()
            .that()
            .resideOutsideOfPackages("dev.crab.runtime.criu")
            .should()
            .dependOnClassesThat()
            .resideInAPackage("com.google.protobuf..");
}
