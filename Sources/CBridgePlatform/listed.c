// The way to a path that a box lists. A process in a box can put symbolic links into the directories that its box makes
// writable. If the next box opened its paths by way of such links, the process would choose which rights the next box
// gives. So this file goes through a path name by name, and follows no such link.
//
// This walk gives no access that the kernel would refuse. The kernel opens the whole path as well, by its own rules,
// and both must find the same file.

#define _GNU_SOURCE

#include "launch.h"

#include <errno.h>

#ifdef __linux__

#include <fcntl.h>
#include <limits.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/// How many links the kernel follows in one path.
enum { most_links = 40 };

static const int as_place = O_PATH | O_NOFOLLOW | O_CLOEXEC;

static bool is_same(const struct stat *one, const struct stat *other) {
    return one->st_dev == other->st_dev && one->st_ino == other->st_ino;
}

/// Closes what the descriptor names, without changing errno.
static void leave(int place) {
    int error = errno;
    close(place);
    errno = error;
}

/// Replaces `*place` by its parent directory. Returns 1, 0 if `*place` is the root, or -1 on error.
static int go_up(int *place) {
    struct stat before, after, root;
    int above = openat(*place, "..", as_place);
    if (above < 0) return -1;
    if (fstat(*place, &before) != 0 || fstat(above, &after) != 0) {
        leave(above);
        return -1;
    }
    close(*place);
    *place = above;
    if (!is_same(&before, &after)) return 1;
    if (stat("/", &root) != 0) return -1;
    if (is_same(&after, &root)) return 0;
    // `..` led to the same directory, which is not the root: it is mounted below itself, so its parent cannot be found.
    errno = EACCES;
    return -1;
}

/// Whether a directory is `root`, or lies below it; -1 if that cannot be found out.
static int lies_below(int directory, const struct stat *root) {
    int place = openat(directory, ".", as_place);
    if (place < 0) return -1;
    int found;
    do {
        struct stat status;
        found = fstat(place, &status);
        if (found == 0 && is_same(&status, root)) {
            close(place);
            return 1;
        }
        if (found == 0) found = go_up(&place);
    } while (found == 1);
    leave(place);
    return found;
}

/// Whether a process in a box may put names into a directory; -1 if that cannot be found out.
static int is_writable(const cbp_box *box, int directory) {
    for (size_t index = 0; index < box->path_count; index++) {
        struct stat root;
        // No process can write below a path that does not exist. If this box lists the path, its own opening reports
        // that.
        if (box->paths[index].kind == cbp_path_read_only || stat(box->paths[index].path, &root) != 0) continue;
        int found = lies_below(directory, &root);
        if (found != 0) return found;
    }
    return 0;
}

struct walk {
    const cbp_box *box;
    /// The file or directory reached so far, as a descriptor.
    int place;
    /// What is left of the path, within `text`.
    char *left;
    char text[PATH_MAX];
    int links;
    /// Whether a process in a box could have led the walk astray.
    bool is_astray;
};

/// Puts what a link says before what is left of the path, and returns to the root if the link says so.
static bool follow(struct walk *walk, int link) {
    char target[PATH_MAX];
    ssize_t length = readlinkat(link, "", target, sizeof target);
    if (length < 0) return false;
    size_t rest = strlen(walk->left);
    if (++walk->links > most_links || (size_t)length + 1 + rest >= sizeof walk->text) {
        errno = walk->links > most_links ? ELOOP : ENAMETOOLONG;
        return false;
    }
    memmove(walk->text + length + 1, walk->left, rest + 1);
    memcpy(walk->text, target, (size_t)length);
    walk->text[length] = '/';
    walk->left = walk->text;
    if (walk->text[0] != '/') return true;
    int root = open("/", as_place);
    if (root < 0) return false;
    close(walk->place);
    walk->place = root;
    return true;
}

/// Goes on to the next name of the path; returns whether there was one, or -1.
static int step(struct walk *walk) {
    char *name = walk->left + strspn(walk->left, "/");
    if (*name == '\0') return 0;
    char *end = name + strcspn(name, "/");
    walk->left = *end == '\0' ? end : end + 1;
    *end = '\0';
    int next = openat(walk->place, name, as_place);
    if (next < 0) return -1;
    struct stat status;
    int error = fstat(next, &status);
    bool is_link = error == 0 && S_ISLNK(status.st_mode);
    // A process that moves a directory changes where `..` leads, just as a link would.
    if (error == 0 && (is_link || strcmp(name, "..") == 0)) {
        error = is_writable(walk->box, is_link ? walk->place : next);
        if (error == 1) {
            walk->is_astray = true;
            errno = EACCES;
        }
    }
    if (error != 0 || (is_link && !follow(walk, next))) {
        leave(next);
        return -1;
    }
    if (is_link) {
        close(next);
    } else {
        close(walk->place);
        walk->place = next;
    }
    return 1;
}

/// Walks to the end of the path; returns whether it came there.
static bool go(struct walk *walk, const char *path) {
    if (strlen(path) >= sizeof walk->text) {
        errno = ENAMETOOLONG;
        return false;
    }
    strcpy(walk->text, path);
    walk->left = walk->text;
    walk->place = open(*path == '/' ? "/" : ".", as_place);
    if (walk->place < 0) return false;
    int found;
    do found = step(walk);
    while (found == 1);
    if (found == 0) return true;
    leave(walk->place);
    return false;
}

cbp_spawn_report cbp_open_listed(const struct launch *launch, size_t index, int *opened) {
    const cbp_box *box = launch->request->box;
    const char *path = box->paths[index].path;
    // Opening the whole path applies the kernel's own rules for links (fs.protected_symlinks), and triggers automounts.
    int plain = open(path, O_PATH | O_CLOEXEC);
    if (plain < 0) return cbp_failed(cbp_stage_path, errno, (int)index);
    struct walk walk = {.box = box};
    struct stat found, expected;
    if (!go(&walk, path)) {
        leave(plain);
        return cbp_failed(walk.is_astray ? cbp_stage_link : cbp_stage_path, errno, (int)index);
    }
    int error = fstat(plain, &expected) != 0 || fstat(walk.place, &found) != 0 ? errno : 0;
    // The path changed between the two openings. A later start may succeed.
    if (error == 0 && !is_same(&found, &expected)) error = EAGAIN;
    close(plain);
    if (error != 0) {
        close(walk.place);
        return cbp_failed(cbp_stage_path, error, (int)index);
    }
    *opened = walk.place;
    return cbp_succeeded();
}

#endif
