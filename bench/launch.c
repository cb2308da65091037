/* The physical limit: starts a command with vfork+exec, feeds it a file, reads what it prints, waits; says how many nanoseconds that
   took, and how many of a processor. Reads one request per line from standard input: the input file, then the words of the command, separated by tabs. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static long now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return t.tv_sec * 1000000000L + t.tv_nsec;
}

static long nanoseconds(struct timeval t) {
    return t.tv_sec * 1000000000L + t.tv_usec * 1000L;
}

static long run(const char *input, char **argv, int *code, long *processor) {
    char buffer[65536];
    int out[2], err[2], status = 0;
    long start = now();
    int in = open(input, O_RDONLY | O_CLOEXEC);
    if (in < 0 || pipe2(out, O_CLOEXEC) || pipe2(err, O_CLOEXEC)) exit(1);
    pid_t pid = vfork();
    if (pid == 0) {
        dup2(in, 0);
        dup2(out[1], 1);
        dup2(err[1], 2);
        execv(argv[0], argv);
        _exit(127);
    }
    close(in);
    close(out[1]);
    close(err[1]);
    struct pollfd fds[2] = {{out[0], POLLIN, 0}, {err[0], POLLIN, 0}};
    for (int open_fds = 2; open_fds > 0;) {
        if (poll(fds, 2, -1) < 0) exit(1);
        for (int i = 0; i < 2; i++)
            if (fds[i].fd >= 0 && fds[i].revents && read(fds[i].fd, buffer, sizeof buffer) <= 0) {
                fds[i].fd = -1;
                open_fds--;
            }
    }
    struct rusage used;
    wait4(pid, &status, 0, &used);
    long took = now() - start;
    *processor = nanoseconds(used.ru_utime) + nanoseconds(used.ru_stime);
    close(out[0]);
    close(err[0]);
    *code = WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
    return took;
}

int main(void) {
    static char line[65536];
    while (fgets(line, sizeof line, stdin)) {
        char *argv[64];
        int count = 0, code = 0;
        line[strcspn(line, "\n")] = 0;
        char *input = strtok(line, "\t");
        for (char *word; count < 63 && (word = strtok(NULL, "\t"));) argv[count++] = word;
        argv[count] = NULL;
        if (!input || !count) return 1;
        long processor = 0, took = run(input, argv, &code, &processor);
        printf("%ld %ld %d\n", took, processor, code);
        fflush(stdout);
    }
    return 0;
}
