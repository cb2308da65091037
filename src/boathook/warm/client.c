/* The client of the warm engine (docs/adr/0038-warm-engine.md). Its arguments are the cold command:
   PYTHON -I -S .../entry/hook_entry.py ARGUMENTS. It asks the resident to answer, and becomes the cold command if nobody
   accepts; until then it reads nothing of the input. entry/surroundings.py and entry/warm_client.py do the same in Python. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/personality.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <unistd.h>

#ifndef ACCEPT_MS
#define ACCEPT_MS 50
#endif
/* How long it may take until the resident shows that it lives. */
#ifndef LIFE_MS
#define LIFE_MS 10000
#endif
#ifndef SO_PEERPIDFD
#define SO_PEERPIDFD 77
#endif
#ifndef SYS_keyctl
#error the session keyring cannot be found on this machine
#endif
#ifndef SYS_pidfd_send_signal
#define SYS_pidfd_send_signal 424
#endif
#define PROTOCOL "boathook warm 2"
#define ASK_STATUS PROTOCOL " status"
#define KEY_LINK "fd/9"
#define KEY_PREFIX "/memfd:boathook-"
#define KEY_CHARS 32
#define ENTRY_END "entry/hook_entry.py"

struct text {
    size_t size;
    int failed;
    char data[1 << 16];
};

static void add(struct text *text, const char *data, size_t size) {
    if (size > sizeof text->data - text->size) {
        text->failed = 1;
        return;
    }
    memcpy(text->data + text->size, data, size);
    text->size += size;
}

static void add_format(struct text *text, const char *format, ...) {
    char line[8192];
    va_list values;
    va_start(values, format);
    int size = vsnprintf(line, sizeof line, format, values);
    va_end(values);
    if (size < 0 || (size_t)size >= sizeof line)
        text->failed = 1;
    else
        add(text, line, size);
}

/* Read a whole file into a buffer that it must not fill; return its size, or -1. */
static ssize_t read_file(int folder, const char *name, char *buffer, size_t size) {
    int handle = openat(folder, name, O_RDONLY | O_CLOEXEC);
    if (handle < 0) return -1;
    size_t used = 0;
    ssize_t count;
    while ((count = read(handle, buffer + used, size - used)) > 0) used += count;
    int error = errno;
    close(handle);
    errno = count < 0 ? error : EINVAL;
    return count < 0 || used == size ? -1 : (ssize_t)used;
}

static void add_file(struct text *text, int folder, const char *name) {
    char buffer[1 << 14];
    ssize_t size = read_file(folder, name, buffer, sizeof buffer);
    if (size < 0)
        text->failed = 1;
    else
        add(text, buffer, size);
}

static void add_status(struct text *text, int process) {
    static const char *const names[] = {"Uid:", "Gid:", "Groups:", "CapInh:", "CapPrm:", "CapEff:", "CapBnd:", "CapAmb:",
                                        "NoNewPrivs:", "Seccomp:", "Seccomp_filters:", "Cpus_allowed:", "Mems_allowed:"};
    char buffer[1 << 14];
    ssize_t size = read_file(process, "status", buffer, sizeof buffer);
    if (size < 0) {
        text->failed = 1;
        return;
    }
    buffer[size] = 0;
    for (char *line = buffer, *end; (end = strchr(line, '\n')); line = end + 1) {
        /* Two filters cannot be compared. */
        if (!strncmp(line, "Seccomp:\t2", strlen("Seccomp:\t2"))) text->failed = 1;
        for (size_t i = 0; i < sizeof names / sizeof *names; i++)
            if (!strncmp(line, names[i], strlen(names[i]))) add(text, line, end + 1 - line);
    }
}

static void add_scheduling(struct text *text, int process) {
    char buffer[1 << 14];
    ssize_t size = read_file(process, "stat", buffer, sizeof buffer);
    char *fields = NULL;
    if (size >= 0) {
        buffer[size] = 0;
        fields = strrchr(buffer, ')');
    }
    if (!fields) {
        text->failed = 1;
        return;
    }
    fields++;
    for (int at = 0; *(fields += *fields == ' '); at++) {
        size_t size = strcspn(fields, " \n");
        if (at == 16 || at == 37 || at == 38) add_format(text, "%.*s\n", (int)size, fields);
        fields += size;
        if (*fields == '\n') break;
    }
}

/* The root folder and its mount: the same folder may be mounted twice. */
static void add_root(struct text *text, int process) {
    char path[64], buffer[4096] = "";
    struct stat root;
    int handle = openat(process, "root", O_PATH | O_DIRECTORY | O_CLOEXEC);
    snprintf(path, sizeof path, "/proc/self/fdinfo/%d", handle);
    ssize_t size = handle < 0 || fstat(handle, &root) ? -1 : read_file(AT_FDCWD, path, buffer, sizeof buffer - 1);
    char *mount = size < 0 ? NULL : strstr(buffer, "mnt_id:");
    close(handle);
    if (!mount) {
        text->failed = 1;
        return;
    }
    add_format(text, "root=%llu:%llu %.*s\n", (unsigned long long)root.st_dev, (unsigned long long)root.st_ino,
               (int)strcspn(mount, "\n"), mount);
}

/* Everything that a fork cannot take over: see read_surroundings in entry/surroundings.py. */
static void add_surroundings(struct text *text, int process) {
    static const char *const names[] = {"cgroup", "ipc", "mnt", "net", "pid", "pid_for_children", "time",
                                        "time_for_children", "user", "uts"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        char path[64], link[128];
        snprintf(path, sizeof path, "ns/%s", names[i]);
        ssize_t size = readlinkat(process, path, link, sizeof link);
        if (size < 0 || size == sizeof link) {
            text->failed = 1;
            return;
        }
        add_format(text, "%s=%.*s\n", names[i], (int)size, link);
    }
    add_root(text, process);
    add_file(text, process, "cgroup");
    add_file(text, process, "oom_score_adj");
    char label[1 << 14];
    ssize_t size = read_file(process, "attr/current", label, sizeof label);
    /* No module of this kernel labels processes. */
    if (size < 0 && errno != EINVAL) text->failed = 1;
    if (size > 0) add(text, label, size);
    add(text, "\n", 1);
    add_status(text, process);
    add_scheduling(text, process);
}

static void add_stamp(struct text *text, const char *path) {
    struct stat found;
    if (stat(path, &found)) {
        text->failed = 1;
        return;
    }
    long long changed = found.st_ctim.tv_sec * 1000000000LL + found.st_ctim.tv_nsec;
    add_format(text, "%s %llu %lld %lld\n", path, (unsigned long long)found.st_ino, (long long)found.st_size, changed);
}

static int name_socket(char *name, size_t size, char **cold, const struct text *own) {
    static struct text text;
    char version[4096];
    size_t length = strlen(cold[3]), end = strlen(ENTRY_END);
    if (length < end || strcmp(cold[3] + length - end, ENTRY_END)) return -1;
    if (snprintf(version, sizeof version, "%.*sversion.py", (int)(length - end), cold[3]) >= (int)sizeof version) return -1;
    add_format(&text, PROTOCOL "\n");
    size_t boot = text.size;
    add_file(&text, AT_FDCWD, "/proc/sys/kernel/random/boot_id");
    if (text.size < boot + 8) return -1;
    add_stamp(&text, cold[0]);
    add_stamp(&text, cold[3]);
    add_stamp(&text, version);
    add(&text, own->data, own->size);
    /* The session keyring, which the kernel shows only to the process itself: 0 is KEYCTL_GET_KEYRING_ID. */
    add_format(&text, "keyring=%d\n", (int)syscall(SYS_keyctl, 0, -3, 0));
    unsigned long long number = 0xcbf29ce484222325ULL;
    for (size_t i = 0; i < text.size; i++) number = (number ^ (unsigned char)text.data[i]) * 0x100000001b3ULL;
    snprintf(name, size, "%.8s-%016llx.socket", text.data + boot, number);
    return text.failed ? -1 : 0;
}

static int open_process(int pid) {
    char path[32];
    snprintf(path, sizeof path, "/proc/%d", pid);
    return open(path, O_PATH | O_DIRECTORY | O_CLOEXEC);
}

/* Open our own /proc, unless it is another namespace's, in which our number is another process's. A personality (setarch) is
   shown only to oneself, so it means the cold path, too: see open_own_process in entry/surroundings.py. */
static int open_own_process(void) {
    char number[32] = "", own[32];
    snprintf(own, sizeof own, "%d", (int)getpid());
    if (personality(0xffffffff) || readlink("/proc/self", number, sizeof number - 1) < 0 || strcmp(number, own)) return -1;
    return open_process(getpid());
}

/* Whether the resident at the other end is this user's and in our own surroundings; its key comes with the answer. */
static int examine_resident(int connection, const struct text *own, char *key) {
    static struct text text;
    struct ucred peer;
    int pidfd = -1;
    socklen_t size = sizeof peer;
    if (getsockopt(connection, SOL_SOCKET, SO_PEERCRED, &peer, &size) || peer.uid != geteuid() || peer.pid <= 0) return -1;
    size = sizeof pidfd;
    if (getsockopt(connection, SOL_SOCKET, SO_PEERPIDFD, &pidfd, &size)) return -1;
    int process = open_process(peer.pid);
    /* The number was the resident's when /proc was opened, because the resident is still there. */
    struct pollfd ended = {pidfd, POLLIN, 0};
    if (process < 0 || poll(&ended, 1, 0)) return -1;
    add_surroundings(&text, process);
    if (text.failed || text.size != own->size || memcmp(text.data, own->data, own->size)) return -1;
    char link[128] = "";
    ssize_t count = readlinkat(process, KEY_LINK, link, sizeof link - 1);
    if (count < (ssize_t)(strlen(KEY_PREFIX) + KEY_CHARS) || strncmp(link, KEY_PREFIX, strlen(KEY_PREFIX))) return -1;
    memcpy(key, link + strlen(KEY_PREFIX), KEY_CHARS);
    close(process);
    close(pidfd);
    return 0;
}

static int send_key(int connection, const char *key) {
    char message[sizeof PROTOCOL + KEY_CHARS];
    memcpy(message, PROTOCOL " ", sizeof PROTOCOL);
    memcpy(message + sizeof PROTOCOL, key, KEY_CHARS);
    return send(connection, message, sizeof message, MSG_NOSIGNAL) == (ssize_t)sizeof message ? 0 : -1;
}

/* Accept the offer. The streams go with it and not before: they must not wait in a process that hangs. */
static int send_streams(int connection) {
    int streams[3] = {0, 1, 2};
    union {
        struct cmsghdr header;
        char space[CMSG_SPACE(sizeof streams)];
    } control;
    memset(&control, 0, sizeof control);
    struct iovec part = {"G", 1};
    struct msghdr all = {.msg_iov = &part, .msg_iovlen = 1, .msg_control = &control, .msg_controllen = sizeof control};
    struct cmsghdr *header = CMSG_FIRSTHDR(&all);
    header->cmsg_level = SOL_SOCKET;
    header->cmsg_type = SCM_RIGHTS;
    header->cmsg_len = CMSG_LEN(sizeof streams);
    memcpy(CMSG_DATA(header), streams, sizeof streams);
    return sendmsg(connection, &all, MSG_NOSIGNAL) == 1 ? 0 : -1;
}

static const char *find_option(char **words, const char *name, const char *missing) {
    for (; *words; words++)
        if (!strcmp(*words, name) && words[1]) return words[1];
    return missing;
}

/* Count the sockets in a folder, and note the name of the last one: without any, nothing else is to be looked at. */
static int count_sockets(int folder, char *name, size_t size) {
    /* As the kernel writes it: number, place of the next one, size of this one, kind, name. */
    struct entry {
        unsigned long long number, next;
        unsigned short size;
        unsigned char kind;
        char name[];
    };
    _Alignas(struct entry) char buffer[1 << 14];
    int handle = openat(folder, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC), count = 0;
    long read;
    while (handle >= 0 && (read = syscall(SYS_getdents64, handle, buffer, sizeof buffer)) > 0)
        for (long at = 0; at < read; at += ((struct entry *)(buffer + at))->size) {
            const char *found = ((struct entry *)(buffer + at))->name;
            if (strstr(found, ".socket") && snprintf(name, size, "%s", found) < (int)size) count++;
        }
    if (handle >= 0) close(handle);
    return count;
}

/* Return a connection to a socket, or -1. The path goes through a handle, because that of a socket may not be long. */
static int connect_socket(int folder, const char *name) {
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    int size = snprintf(address.sun_path, sizeof address.sun_path, "/proc/self/fd/%d/%s", folder, name);
    if (size >= (int)sizeof address.sun_path) return -1;
    int connection = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (connection >= 0 && connect(connection, (struct sockaddr *)&address, sizeof address)) {
        close(connection);
        return -1;
    }
    return connection;
}

/* Return a connection over which the resident has offered to answer, or -1. */
static int ask_resident(char **cold) {
    static struct text own;
    char name[64], only[64] = "", key[KEY_CHARS];
    const char *state = find_option(cold, "--state", "");
    struct stat found;
    /* With a folder as a stream Python does not even start. */
    for (int handle = 0; handle < 3; handle++)
        if (fstat(handle, &found) || S_ISDIR(found.st_mode)) return -1;
    if (state[0] != '/' || strlen(state) > 4000 || isatty(0)) return -1;
    char folder_path[4096];
    snprintf(folder_path, sizeof folder_path, "%s/warm", state);
    int folder = open(folder_path, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (folder < 0 || fstat(folder, &found) || found.st_uid != geteuid() || found.st_mode & 077) return -1;
    int count = count_sockets(folder, only, sizeof only), self = count ? open_own_process() : -1;
    if (self < 0) return -1;
    /* If only one listens, it wakes up and looks at us meanwhile. Whether it is the right one is known after that. */
    int connection = count == 1 ? connect_socket(folder, only) : -1;
    add_surroundings(&own, self);
    int is_named = !own.failed && !name_socket(name, sizeof name, cold, &own);
    if (connection >= 0 && (!is_named || strcmp(name, only))) {
        close(connection);
        connection = -1;
    }
    if (is_named && connection < 0) connection = connect_socket(folder, name);
    if (connection < 0) return -1;
    struct pollfd offered = {connection, POLLIN, 0};
    char answer[16];
    if (examine_resident(connection, &own, key) ||
        send_key(connection, key) || poll(&offered, 1, ACCEPT_MS) != 1 ||
        recv(connection, answer, sizeof answer, 0) != 1 || answer[0] != 'O') {
        close(connection);
        return -1;
    }
    close(self);
    /* The folder stays open: the path of the socket goes through its handle. */
    return connection;
}

static _Noreturn void die(int number) {
    sigset_t set;
    signal(number, SIG_DFL);
    sigemptyset(&set);
    sigaddset(&set, number);
    kill(getpid(), number);
    sigprocmask(SIG_UNBLOCK, &set, NULL);
    _exit(128 + number);
}

static void add_json(struct text *text, const char *reason) {
    add(text, "\"", 1);
    for (; *reason; reason++) {
        if (*reason == '"' || *reason == '\\') add(text, "\\", 1);
        if ((unsigned char)*reason < ' ')
            add_format(text, "\\u%04x", *reason);
        else
            add(text, reason, 1);
    }
    add(text, "\"", 1);
}

/* Write a text; return 0 if all of it was written. */
static int write_text(int handle, const struct text *text) {
    size_t used = 0;
    while (used < text->size) {
        ssize_t count = write(handle, text->data + used, text->size - used);
        if (count < 0 && errno != EINTR) return -1;
        if (count > 0) used += count;
    }
    return text->failed;
}

/* Answer as entry/hook_entry.py does if the engine is broken: the command has the form of the answer. */
static _Noreturn void answer_broken(char **cold, const char *cause) {
    char reason[4096];
    /* Who reads may be gone: an end by a signal is approval to some agents. */
    signal(SIGPIPE, SIG_IGN);
    const char *answer = find_option(cold, "--broken", "2");
    const char *fix = find_option(cold, "--repair", "install boathook again");
    int refuses = !strcmp(answer, "2") || strstr(answer, "\"deny\"") || strstr(answer, "\"cancel\"");
    snprintf(reason, sizeof reason, "boathook cannot answer (%s), so no hook decided. Fix: %s", cause, fix);
    static struct text message, printed;
    const char *place = strstr(answer, "\"REASON\"");
    if (!place) {
        add_format(&message, "%s\n", reason);
        write_text(2, &message);
    }
    if (*answer && strcmp(answer, "2")) {
        const char *rest = answer;
        for (; place; place = strstr(rest, "\"REASON\"")) {
            add(&printed, rest, place - rest);
            add_json(&printed, reason);
            rest = place + strlen("\"REASON\"");
        }
        add(&printed, rest, strlen(rest));
        add(&printed, "\n", 1);
        if (write_text(1, &printed)) _exit(refuses ? 2 : 0);
    }
    _exit(strcmp(answer, "2") ? 0 : 2);
}

/* Read one message of the process that answers; return its size, 0 at the end. A handle on that process may come with it. */
static ssize_t receive(int connection, char *message, size_t size, int *answering) {
    union {
        struct cmsghdr header;
        char space[CMSG_SPACE(sizeof(int))];
    } control;
    struct iovec part = {message, size};
    struct msghdr all = {.msg_iov = &part, .msg_iovlen = 1, .msg_control = &control, .msg_controllen = sizeof control};
    ssize_t count = recvmsg(connection, &all, MSG_CMSG_CLOEXEC);
    struct cmsghdr *header = count > 0 ? CMSG_FIRSTHDR(&all) : NULL;
    if (header && header->cmsg_level == SOL_SOCKET && header->cmsg_type == SCM_RIGHTS)
        memcpy(answering, CMSG_DATA(header), sizeof(int));
    return count;
}

/* Pass a signal on to the process that answers, and note it. */
static void forward(int signals, int answering, const sigset_t *ignored, sigset_t *forwarded) {
    struct signalfd_siginfo info;
    if (read(signals, &info, sizeof info) != sizeof info) return;
    int number = (int)info.ssi_signo;
    if (answering >= 0) {
        sigaddset(forwarded, number);
        syscall(SYS_pidfd_send_signal, answering, number, NULL, 0);
    } else if (number == SIGINT)
        _exit(130); /* as the cold path ends while it reads */
    else if (!sigismember(ignored, number))
        die(number);
}

/* Whether an exit code is that of an engine which a signal ended, although none was sent to us. */
static int was_ended_apart(int code, const sigset_t *forwarded) {
    int number = code - 128;
    return (number == SIGTERM || number == SIGHUP || number == SIGINT) && !sigismember(forwarded, number);
}

/* Whether the resident does not even say how it is, over a connection of its own. One that takes no connections any more is
   about to end, and answers those that it has accepted. */
static int is_silent(int connection) {
    struct sockaddr_un address;
    socklen_t size = sizeof address;
    int other = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    struct pollfd answered = {other, POLLIN, 0};
    int result = other >= 0 && !getpeername(connection, (struct sockaddr *)&address, &size) &&
                 !connect(other, (struct sockaddr *)&address, size) &&
                 send(other, ASK_STATUS, strlen(ASK_STATUS), MSG_NOSIGNAL) > 0 && !poll(&answered, 1, LIFE_MS);
    if (other >= 0) close(other);
    return result;
}

/* Wait until the event is answered, and end as it ends. */
static _Noreturn void wait_for_end(int connection, int signals, const sigset_t *ignored, char **cold) {
    static const char *const cause = "the warm engine ended before it answered";
    sigset_t forwarded;
    sigemptyset(&forwarded);
    int answering = -1;
    struct pollfd waiting[2] = {{connection, POLLIN, 0}, {signals, POLLIN, 0}};
    for (;;) {
        /* Before a process answers, the input may be slow, or the resident may hang. */
        int ready = poll(waiting, 2, answering < 0 ? LIFE_MS : -1);
        if (!ready && is_silent(connection)) answer_broken(cold, "the warm engine hangs");
        if (ready <= 0) continue;
        if (waiting[1].revents & POLLIN) forward(signals, answering, ignored, &forwarded);
        if (!waiting[0].revents) continue;
        char message[16] = "";
        ssize_t count = receive(connection, message, sizeof message, &answering);
        if (count < 0 && (errno == EAGAIN || errno == EINTR)) continue;
        int number = (unsigned char)message[1];
        if (count == 2 && message[0] == 'E' && !was_ended_apart(number, &forwarded)) _exit(number);
        /* Only a signal that was sent to us is one that we may end by: many agents take such an end for approval. */
        if (count == 2 && message[0] == 'K' && sigismember(&forwarded, number) == 1) die(number);
        if (count != 1 || message[0] != 'S') answer_broken(cold, cause);
    }
}

/* Take the signals that the answering process should get: they come out of a handle. */
static int take_signals(sigset_t *ignored, sigset_t *before) {
    static const int numbers[] = {SIGTERM, SIGHUP, SIGINT};
    sigset_t wanted;
    sigprocmask(SIG_SETMASK, NULL, before);
    sigemptyset(&wanted);
    sigemptyset(ignored);
    for (int i = 0; i < 3; i++) {
        struct sigaction action;
        sigaction(numbers[i], NULL, &action);
        if (action.sa_handler == SIG_IGN) sigaddset(ignored, numbers[i]);
        /* The engine heeds the other two even if the caller ignores them. */
        if (sigismember(before, numbers[i]) || (numbers[i] == SIGINT && sigismember(ignored, SIGINT))) continue;
        sigaddset(&wanted, numbers[i]);
    }
    sigprocmask(SIG_BLOCK, &wanted, NULL);
    return signalfd(-1, &wanted, SFD_CLOEXEC | SFD_NONBLOCK);
}

int main(int argc, char **argv) {
    static struct text version;
    if (argc == 2 && !strcmp(argv[1], "--version")) {
        add_format(&version, PROTOCOL "\n");
        return !!write_text(1, &version);
    }
    if (argc < 5) return 2;
    char **cold = argv + 1;
    int connection = ask_resident(cold);
    if (connection >= 0) {
        sigset_t ignored, before;
        int signals = take_signals(&ignored, &before);
        if (signals >= 0 && !send_streams(connection)) wait_for_end(connection, signals, &ignored, cold);
        sigprocmask(SIG_SETMASK, &before, NULL);
        close(connection);
        close(signals);
    }
    /* The same command, but Python must not ask again. */
    for (char **word = cold; *word; word++)
        if (!strcmp(*word, "--engine") && word[1]) word[1] = "cold";
    execv(cold[0], cold);
    answer_broken(cold, "its interpreter cannot be started");
}
