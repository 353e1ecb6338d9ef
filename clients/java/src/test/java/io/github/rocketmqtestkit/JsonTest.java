package io.github.rocketmqtestkit;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;

import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

class JsonTest {
    @Test
    void valuesAreReadAsTheyWereWritten() {
        Map<String, Object> value = new LinkedHashMap<>();
        value.put("text", "two \"teas\" \\ / \n\t\u0001 茶 \uD83C\uDF75");
        value.put("numbers", List.of(0L, -12L, 9007199254740993L, 2.5));
        value.put("others", Arrays.asList(true, false, null));
        value.put("nested", Map.of("empty list", List.of(), "empty object", Map.of()));
        assertEquals(value, Json.read(Json.write(value)));
    }

    @Test
    void spacesAndEscapesAreRead() {
        assertEquals(Map.of("a", List.of("\u00e9/\b\f", 1L)), Json.read(" { \"a\" : [ \"\\u00e9\\/\\b\\f\" , 1 ] }\r\n"));
    }

    @Test
    void halfOfASurrogatePairIsEscaped() {
        assertEquals("\"\\ud83c\"", Json.write("\uD83C"));
    }

    @ParameterizedTest
    @ValueSource(strings = {"", "{", "[1", "[1 2]", "{\"a\" 1}", "{a: 1}", "\"\\x\"", "\"\\u12\"", "tru", "1 2", "\"open"})
    void otherTextsAreErrors(String text) {
        assertThrows(IllegalArgumentException.class, () -> Json.read(text));
    }
}
