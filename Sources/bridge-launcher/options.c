// The command line: options that each have one value, in any order and each at most once, then "--", then the program's
// arguments with its name first. A new option is a new row of the table.

#include "launcher.h"

#include <stdio.h>
#include <stddef.h>
#include <string.h>

/// A decimal number and nothing else; -1 if it is none, or is greater.
static long number(const char *text, long greatest) {
    long value = 0;
    if (*text == '\0') return -1;
    for (; *text != '\0'; text++) {
        if (*text < '0' || *text > '9') return -1;
        value = value * 10 + (*text - '0');
        if (value > greatest) return -1;
    }
    return value;
}

static bool take_process(const char *text, struct plan *plan) {
    plan->parent = (pid_t)number(text, INT32_MAX);
    return plan->parent > 0;
}

/// The standard streams are the program's own.
static int descriptor(const char *text) {
    int value = (int)number(text, INT32_MAX);
    return value > 2 ? value : -1;
}

static bool take_status(const char *text, struct plan *plan) { return (plan->status = descriptor(text)) >= 0; }

static bool take_guard(const char *text, struct plan *plan) { return (plan->guard = descriptor(text)) >= 0; }

static bool take_mark(const char *text, struct plan *plan) {
    plan->mark = text;
    // Less would fit somebody else.
    return strlen(text) >= 16 && strchr(text, '=') != NULL;
}

static bool take_program(const char *text, struct plan *plan) {
    plan->program = text;
    return *text != '\0';
}

static bool take_role(const char *text, struct plan *plan) {
    plan->is_guard = strcmp(text, "guard") == 0;
    return plan->is_guard || strcmp(text, "worker") == 0;
}

static const struct {
    const char *name;
    const char *value;
    bool (*take)(const char *text, struct plan *plan);
} options[] = {
    {"--as", "worker or guard", take_role},
    {"--parent", "the number of the process that has started this one", take_process},
    {"--status", "the number of a descriptor behind the standard streams", take_status},
    {"--guard", "the number of a descriptor behind the standard streams", take_guard},
    {"--mark", "the beginning of a variable, 16 bytes at least, with its \"=\"", take_mark},
    {"--program", "the path of a program", take_program},
};

enum { option_count = sizeof options / sizeof options[0] };

static bool refuse(const char *word, const char *found, const char *expected) {
    fprintf(stderr, "bridge-launcher: %s: found %s, expected %s\n", word, found, expected);
    return false;
}

static int find(const char *name) {
    for (int index = 0; index < option_count; index++) {
        if (strcmp(options[index].name, name) == 0) return index;
    }
    return -1;
}

static bool is_complete(const struct plan *plan) {
    if (plan->parent < 0) return refuse("--parent", "nothing", "it always");
    if (plan->is_guard) return plan->guard >= 0 || refuse("--guard", "nothing", "it with --as guard");
    if (plan->status < 0) return refuse("--status", "nothing", "it with --as worker");
    if (plan->program == NULL) return refuse("--program", "nothing", "it with --as worker");
    if (plan->arguments == NULL || plan->arguments[0] == NULL) {
        return refuse("--", "nothing behind it", "the program's name and its arguments");
    }
    return true;
}

bool parse_command_line(int count, char **words, struct plan *plan) {
    bool seen[option_count] = {false};
    int index = 1;
    while (index < count && strcmp(words[index], "--") != 0) {
        int option = find(words[index]);
        // A person may have started it, who is told what it is.
        if (option < 0) return refuse("a bridge starts this program, nobody else", words[index], "an option or \"--\"");
        if (seen[option]) return refuse(words[index], "it twice", "it once");
        seen[option] = true;
        const char *value = index + 1 < count ? words[index + 1] : "";
        if (!options[option].take(value, plan)) return refuse(words[index], value, options[option].value);
        index += 2;
    }
    if (index < count) plan->arguments = &words[index + 1];
    return is_complete(plan);
}
