// The command line: options that each have one value, in any order and each at most once (except for paths). Then come
// "--" and the program's arguments, its name first. A new option is a new row of the table.

#include "launcher.h"

#include <stdio.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

/// Reads a decimal number and nothing else; -1 for any other text, and for a number above `greatest`.
static int64_t number(const char *text, int64_t greatest) {
    int64_t value = 0;
    if (*text == '\0') return -1;
    for (; *text != '\0'; text++) {
        if (*text < '0' || *text > '9') return -1;
        int digit = *text - '0';
        if (value > (greatest - digit) / 10) return -1;
        value = value * 10 + digit;
    }
    return value;
}

static bool take_process(const char *text, struct plan *plan) {
    plan->parent = (pid_t)number(text, INT32_MAX);
    return plan->parent > 0;
}

/// Reads the number of a descriptor; -1 for the standard streams, which are the program's own.
static int descriptor(const char *text) {
    int value = (int)number(text, INT32_MAX);
    return value > 2 ? value : -1;
}

static bool take_status(const char *text, struct plan *plan) { return (plan->status = descriptor(text)) >= 0; }

static bool take_guard(const char *text, struct plan *plan) { return (plan->guard = descriptor(text)) >= 0; }

static bool take_mark(const char *text, struct plan *plan) {
    plan->mark = text;
    // A shorter beginning would fit other processes.
    return strlen(text) >= 16 && strchr(text, '=') != NULL;
}

static bool take_program(const char *text, struct plan *plan) {
    plan->program = text;
    return *text != '\0';
}

static bool take_descriptors(const char *text, struct plan *plan) {
    plan->descriptors = number(text, INT64_MAX);
    return plan->descriptors >= 0;
}

static bool take_role(const char *text, struct plan *plan) {
    plan->is_guard = strcmp(text, "guard") == 0;
    return plan->is_guard || strcmp(text, "worker") == 0;
}

static bool take_box(const char *text, struct plan *plan) {
    plan->box.is_set = true;
    plan->box.is_best_effort = strcmp(text, "best-effort") == 0;
    return plan->box.is_best_effort || strcmp(text, "strict") == 0;
}

static bool take_limit(enum box_limit limit, const char *text, struct plan *plan) {
    plan->box.limits[limit] = number(text, INT64_MAX);
    return plan->box.limits[limit] >= 0;
}

static bool take_memory(const char *text, struct plan *plan) { return take_limit(limit_memory, text, plan); }

static bool take_processor_seconds(const char *text, struct plan *plan) {
    return take_limit(limit_processor_seconds, text, plan);
}

static bool take_open_files(const char *text, struct plan *plan) { return take_limit(limit_open_files, text, plan); }

static bool take_processes(const char *text, struct plan *plan) { return take_limit(limit_processes, text, plan); }

static bool take_core(const char *text, struct plan *plan) { return take_limit(limit_core, text, plan); }

static bool take_file_size(const char *text, struct plan *plan) { return take_limit(limit_file_size, text, plan); }

static bool take_mask(const char *text, struct plan *plan) {
    char *end = NULL;
    if (*text < '0' || *text > '7') return false;
    long value = strtol(text, &end, 8);
    plan->box.mask = (int)value;
    return *end == '\0' && value <= 0777;
}

static bool take_files(const char *text, struct plan *plan) {
    plan->box.rules_files = strcmp(text, "listed") == 0;
    return plan->box.rules_files;
}

static bool take_path(const char *text, bool is_writable, struct plan *plan) {
    // There is room for each word of the command line.
    plan->box.paths[plan->box.path_count++] = (struct box_path){.path = text, .is_writable = is_writable};
    return *text != '\0';
}

static bool take_read_only(const char *text, struct plan *plan) { return take_path(text, false, plan); }

static bool take_writable(const char *text, struct plan *plan) { return take_path(text, true, plan); }

static bool take_network(const char *text, struct plan *plan) {
    plan->box.refuses_network = strcmp(text, "none") == 0;
    return plan->box.refuses_network;
}

static bool take_connections(const char *text, struct plan *plan) {
    plan->box.refuses_connections = strcmp(text, "none") == 0;
    return plan->box.refuses_connections;
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
    {"--descriptors", "a number of descriptors", take_descriptors},
    {"--box", "strict or best-effort", take_box},
    {"--memory", "a number of bytes", take_memory},
    {"--processor-seconds", "a number of seconds", take_processor_seconds},
    {"--open-files", "a number of descriptors", take_open_files},
    {"--processes", "a number of processes and threads", take_processes},
    {"--core", "a number of bytes", take_core},
    {"--file-size", "a number of bytes", take_file_size},
    {"--umask", "an octal number up to 777", take_mask},
    {"--files", "listed", take_files},
    {"--read-only", "the path of a file or directory", take_read_only},
    {"--writable", "the path of a file or directory", take_writable},
    {"--network", "none", take_network},
    {"--connections", "none", take_connections},
};

enum { option_count = sizeof options / sizeof options[0] };

static bool repeats(int option) {
    return options[option].take == take_read_only || options[option].take == take_writable;
}

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

/// Whether an option was given that only a box has.
static bool speaks_of_box(const struct box *box) {
    for (int limit = 0; limit < limit_count; limit++) {
        if (box->limits[limit] >= 0) return true;
    }
    return box->mask >= 0 || box->rules_files || box->path_count > 0 || box->refuses_network || box->refuses_connections;
}

static bool is_complete(const struct plan *plan) {
    if (plan->parent < 0) return refuse("--parent", "nothing", "it always");
    if (plan->is_guard) return plan->guard >= 0 || refuse("--guard", "nothing", "it with --as guard");
    if (plan->status < 0) return refuse("--status", "nothing", "it with --as worker");
    if (plan->program == NULL) return refuse("--program", "nothing", "it with --as worker");
    if (plan->arguments == NULL || plan->arguments[0] == NULL) {
        return refuse("--", "nothing behind it", "the program's name and its arguments");
    }
    // A restriction that was asked for and is not carried out is worse than no box.
    if (speaks_of_box(&plan->box) && !plan->box.is_set) return refuse("--box", "nothing", "it with what a box has");
    if (plan->box.path_count > 0 && !plan->box.rules_files) return refuse("--files", "nothing", "it with paths");
    if (plan->box.refuses_connections && !plan->box.refuses_network) {
        return refuse("--network", "nothing", "it with --connections");
    }
    return true;
}

bool parse_command_line(int count, char **words, struct plan *plan) {
    bool seen[option_count] = {false};
    plan->box.paths = calloc((size_t)count, sizeof *plan->box.paths);
    if (plan->box.paths == NULL) return refuse("memory", "none", "room for the paths");
    int index = 1;
    while (index < count && strcmp(words[index], "--") != 0) {
        int option = find(words[index]);
        // A person may have started this program; the sentence says what it is.
        if (option < 0) return refuse("only a bridge starts this program", words[index], "an option or \"--\"");
        if (seen[option] && !repeats(option)) return refuse(words[index], "it twice", "it once");
        seen[option] = true;
        const char *value = index + 1 < count ? words[index + 1] : "";
        if (!options[option].take(value, plan)) return refuse(words[index], value, options[option].value);
        index += 2;
    }
    if (index < count) plan->arguments = &words[index + 1];
    return is_complete(plan);
}
