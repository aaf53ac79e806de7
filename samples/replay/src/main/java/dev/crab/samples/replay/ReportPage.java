package dev.crab.samples.replay;

import com.fasterxml.jackson.databind.JsonNode;

final class ReportPage {
    private ReportPage() {}

    static String of(JsonNode found) {
        return "";
    }
}
