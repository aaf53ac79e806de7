package dev.crab.spring.boot4;

import dev.crab.spring.SpringBootTest;

/** The starter's tests, with Boot 4 on the class path. */
class Boot4Test extends SpringBootTest {
    @Override
    protected String boot() {
        return "4";
    }
}
