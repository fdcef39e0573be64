// The command line: options that each have one value, in any order and each at most once. A new option is a new row of
// the table.

#include "guard.h"

#include <stdint.h>
#include <stdio.h>
#include <string.h>

/// Reads a decimal number and nothing else; -1 for any other text, and for a number above INT32_MAX.
static int32_t number(const char *text) {
    int32_t value = 0;
    if (*text == '\0') return -1;
    for (; *text != '\0'; text++) {
        if (*text < '0' || *text > '9') return -1;
        int digit = *text - '0';
        if (value > (INT32_MAX - digit) / 10) return -1;
        value = value * 10 + digit;
    }
    return value;
}

static bool take_process(const char *text, struct order *order) {
    order->parent = (pid_t)number(text);
    return order->parent > 0;
}

static bool take_connection(const char *text, struct order *order) {
    order->connection = number(text);
    return order->connection > 2;
}

static bool take_mark(const char *text, struct order *order) {
    order->mark = text;
    // A shorter beginning might fit the variables of other processes.
    return strlen(text) >= 16 && strchr(text, '=') != NULL;
}

static const struct {
    const char *name;
    const char *value;
    bool (*take)(const char *text, struct order *order);
} options[] = {
    {"--parent", "the number of the process that has started this one", take_process},
    {"--connection", "the number of a descriptor behind the standard streams", take_connection},
    {"--mark", "the beginning of a variable, 16 bytes at least, with its \"=\"", take_mark},
};

enum { option_count = sizeof options / sizeof options[0] };

static bool refuse(const char *word, const char *found, const char *expected) {
    fprintf(stderr, "bridge-guard: %s: found %s, expected %s\n", word, found, expected);
    return false;
}

static int find(const char *name) {
    for (int index = 0; index < option_count; index++) {
        if (strcmp(options[index].name, name) == 0) return index;
    }
    return -1;
}

bool parse_command_line(int count, char **words, struct order *order) {
    bool seen[option_count] = {false};
    for (int index = 1; index < count; index += 2) {
        int option = find(words[index]);
        // A person may have started this program; the sentence says what it is.
        if (option < 0) return refuse("only a bridge starts this program", words[index], "an option");
        if (seen[option]) return refuse(words[index], "it twice", "it once");
        seen[option] = true;
        const char *value = index + 1 < count ? words[index + 1] : "";
        if (!options[option].take(value, order)) return refuse(words[index], value, options[option].value);
    }
    if (order->parent < 0) return refuse("--parent", "nothing", "it always");
    return order->connection >= 0 || refuse("--connection", "nothing", "it always");
}
