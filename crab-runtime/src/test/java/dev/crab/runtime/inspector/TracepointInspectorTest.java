package dev.crab.runtime.inspector;

class TracepointInspectorTest extends TurnInspectorSuite {
    @Override
    TurnInspector open() {
        return new TracepointInspector();
    }
}
