/* What client.c uses of a C library, and how a program starts without one. The libraries of systems prepare themselves for more
   than this client needs, and ask the processor many questions, each of which a virtual machine has to answer: that took longer
   than all that the client does. `hatch_build.py` links this instead where it can, and the library of the system elsewhere. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/personality.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

/* As the kernel has it: a set of signals is 64 bits, and only the first of the sets that <signal.h> has room for. */
#define SET_BYTES 8
struct kernel_action {
    void (*handler)(int);
    unsigned long flags;
    void (*restorer)(void);
    unsigned long mask;
};

static int error_number;
static char **variables;

int *__errno_location(void) { return &error_number; }

#if defined __x86_64__
static long call_kernel(long number, long a, long b, long c, long d, long e, long f) {
    register long fourth __asm__("r10") = d, fifth __asm__("r8") = e, sixth __asm__("r9") = f;
    long result;
    __asm__ volatile("syscall"
                     : "=a"(result)
                     : "a"(number), "D"(a), "S"(b), "d"(c), "r"(fourth), "r"(fifth), "r"(sixth)
                     : "rcx", "r11", "memory");
    return result;
}
__asm__(".text\n.globl _start\n_start:\n xor %ebp, %ebp\n mov %rsp, %rdi\n and $-16, %rsp\n call begin_program\n");
#elif defined __aarch64__
static long call_kernel(long number, long a, long b, long c, long d, long e, long f) {
    register long which __asm__("x8") = number, first __asm__("x0") = a, second __asm__("x1") = b, third __asm__("x2") = c;
    register long fourth __asm__("x3") = d, fifth __asm__("x4") = e, sixth __asm__("x5") = f;
    __asm__ volatile("svc 0"
                     : "+r"(first)
                     : "r"(which), "r"(second), "r"(third), "r"(fourth), "r"(fifth), "r"(sixth)
                     : "memory");
    return first;
}
__asm__(".text\n.globl _start\n_start:\n mov x29, xzr\n mov x30, xzr\n mov x0, sp\n bl begin_program\n");
#else
#error how this machine calls its kernel is not known here
#endif

int main(int count, char **words);

__attribute__((used, noreturn)) void begin_program(long *stack) {
    char **words = (char **)(stack + 1);
    variables = words + stack[0] + 1;
    _exit(main((int)stack[0], words));
}

long syscall(long number, ...) {
    va_list values;
    long given[6];
    va_start(values, number);
    for (int at = 0; at < 6; at++) given[at] = va_arg(values, long);
    va_end(values);
    long result = call_kernel(number, given[0], given[1], given[2], given[3], given[4], given[5]);
    if (result >= 0 || result < -4095) return result;
    error_number = (int)-result;
    return -1;
}

/* Processes and signals. */

void _exit(int code) {
    for (;;) call_kernel(SYS_exit_group, code, 0, 0, 0, 0, 0);
}

int execv(const char *path, char *const *words) { return (int)syscall(SYS_execve, path, words, variables); }
pid_t getpid(void) { return (pid_t)syscall(SYS_getpid); }
uid_t geteuid(void) { return (uid_t)syscall(SYS_geteuid); }
int kill(pid_t pid, int number) { return (int)syscall(SYS_kill, (long)pid, (long)number); }
int personality(unsigned long persona) { return (int)syscall(SYS_personality, persona); }

int sigemptyset(sigset_t *set) {
    memset(set, 0, sizeof *set);
    return 0;
}

int sigaddset(sigset_t *set, int number) {
    *(unsigned long *)set |= 1UL << (number - 1);
    return 0;
}

int sigismember(const sigset_t *set, int number) {
    return number > 0 && number <= 64 && *(const unsigned long *)set >> (number - 1) & 1;
}

int sigprocmask(int how, const sigset_t *set, sigset_t *before) {
    if (before) sigemptyset(before);
    return (int)syscall(SYS_rt_sigprocmask, (long)how, set, before, (long)SET_BYTES);
}

/* It only says what is done about a signal: what is done is set by `signal`. */
int sigaction(int number, const struct sigaction *action, struct sigaction *before) {
    struct kernel_action found;
    if (action || syscall(SYS_rt_sigaction, (long)number, NULL, &found, (long)SET_BYTES)) return -1;
    memset(before, 0, sizeof *before);
    before->sa_handler = found.handler;
    return 0;
}

/* For SIG_DFL and SIG_IGN: a function would need a way back. */
void (*signal(int number, void (*handler)(int)))(int) {
    struct kernel_action action = {.handler = handler};
    return syscall(SYS_rt_sigaction, (long)number, &action, NULL, (long)SET_BYTES) ? SIG_ERR : SIG_DFL;
}

int signalfd(int handle, const sigset_t *set, int flags) {
    return (int)syscall(SYS_signalfd4, (long)handle, set, (long)SET_BYTES, (long)flags);
}

/* Files. */

int openat(int folder, const char *path, int flags, ...) { return (int)syscall(SYS_openat, (long)folder, path, (long)flags, 0L); }
int open(const char *path, int flags, ...) { return openat(AT_FDCWD, path, flags); }
int close(int handle) { return (int)syscall(SYS_close, (long)handle); }
ssize_t read(int handle, void *data, size_t size) { return syscall(SYS_read, (long)handle, data, size); }
ssize_t write(int handle, const void *data, size_t size) { return syscall(SYS_write, (long)handle, data, size); }
int fstat(int handle, struct stat *found) { return (int)syscall(SYS_fstat, (long)handle, found); }
int stat(const char *path, struct stat *found) { return (int)syscall(SYS_newfstatat, (long)AT_FDCWD, path, found, 0L); }

ssize_t readlinkat(int folder, const char *path, char *target, size_t size) {
    return syscall(SYS_readlinkat, (long)folder, path, target, size);
}

ssize_t readlink(const char *path, char *target, size_t size) { return readlinkat(AT_FDCWD, path, target, size); }

int isatty(int handle) {
    /* More than any description of a terminal has. */
    char settings[256];
    return !syscall(SYS_ioctl, (long)handle, (long)TCGETS, settings);
}

/* Sockets. */

int socket(int family, int type, int protocol) {
    return (int)syscall(SYS_socket, (long)family, (long)type, (long)protocol);
}

int connect(int handle, const struct sockaddr *address, socklen_t size) {
    return (int)syscall(SYS_connect, (long)handle, address, (long)size);
}

int getpeername(int handle, struct sockaddr *address, socklen_t *size) {
    return (int)syscall(SYS_getpeername, (long)handle, address, size);
}

int getsockopt(int handle, int level, int name, void *value, socklen_t *size) {
    return (int)syscall(SYS_getsockopt, (long)handle, (long)level, (long)name, value, size);
}

ssize_t send(int handle, const void *data, size_t size, int flags) {
    return syscall(SYS_sendto, (long)handle, data, size, (long)flags, NULL, 0L);
}

ssize_t recv(int handle, void *data, size_t size, int flags) {
    return syscall(SYS_recvfrom, (long)handle, data, size, (long)flags, NULL, NULL);
}

ssize_t sendmsg(int handle, const struct msghdr *message, int flags) {
    return syscall(SYS_sendmsg, (long)handle, message, (long)flags);
}

ssize_t recvmsg(int handle, struct msghdr *message, int flags) {
    return syscall(SYS_recvmsg, (long)handle, message, (long)flags);
}

int shutdown(int handle, int how) { return (int)syscall(SYS_shutdown, (long)handle, (long)how); }

int poll(struct pollfd *waiting, nfds_t count, int milliseconds) {
    struct timespec time = {milliseconds / 1000, milliseconds % 1000 * 1000000L};
    return (int)syscall(SYS_ppoll, waiting, count, milliseconds < 0 ? NULL : &time, NULL, (long)SET_BYTES);
}

/* Memory and text. The empty lines of assembly keep the compiler from making these functions of themselves. */

void *memcpy(void *restrict target, const void *restrict source, size_t size) {
    char *to = target;
    for (const char *from = source; size; size--) {
        *to++ = *from++;
        __asm__("");
    }
    return target;
}

void *memset(void *target, int value, size_t size) {
    for (char *to = target; size; size--) {
        *to++ = (char)value;
        __asm__("");
    }
    return target;
}

int memcmp(const void *one, const void *other, size_t size) {
    const unsigned char *first = one, *second = other;
    for (; size; first++, second++, size--)
        if (*first != *second) return *first - *second;
    return 0;
}

size_t strlen(const char *text) {
    size_t size = 0;
    for (; text[size]; size++) __asm__("");
    return size;
}

int strncmp(const char *one, const char *other, size_t size) {
    for (; size && *one && *one == *other; one++, other++, size--) __asm__("");
    return size ? (unsigned char)*one - (unsigned char)*other : 0;
}

int strcmp(const char *one, const char *other) { return strncmp(one, other, SIZE_MAX); }

char *strchr(const char *text, int sign) {
    for (; *text != (char)sign; text++)
        if (!*text) return NULL;
    return (char *)text;
}

char *strrchr(const char *text, int sign) {
    const char *found = NULL;
    do {
        if (*text == (char)sign) found = text;
    } while (*text++);
    return (char *)found;
}

char *strstr(const char *text, const char *part) {
    size_t size = strlen(part);
    for (; strncmp(text, part, size); text++)
        if (!*text) return NULL;
    return (char *)text;
}

size_t strcspn(const char *text, const char *signs) {
    size_t size = 0;
    while (text[size] && !strchr(signs, text[size])) size++;
    return size;
}

/* A number, or a text, of a format: %s, %d, %u and %x, with 0, a width, a precision for texts, and ll. */
int vsnprintf(char *restrict line, size_t size, const char *restrict format, va_list values) {
    size_t used = 0;
    for (; *format; format++) {
        char digits[32], sign = *format;
        const char *part = format;
        size_t width = 0, count = 1, zeros = 0;
        if (sign == '%') {
            size_t most = SIZE_MAX;
            int is_long = 0;
            for (format++; *format >= '0' && *format <= '9'; format++) width = width * 10 + (size_t)(*format - '0');
            if (*format == '.' && *++format == '*') {
                most = (size_t)va_arg(values, int);
                format++;
            } else if (format[-1] == '.')
                for (most = 0; *format >= '0' && *format <= '9'; format++) most = most * 10 + (size_t)(*format - '0');
            for (; *format == 'l'; format++) is_long = 1;
            if (*format == 's') {
                part = va_arg(values, const char *);
                for (count = 0; count < most && part[count];) count++;
            } else {
                unsigned base = *format == 'x' ? 16 : 10;
                long long given = is_long ? va_arg(values, long long) : *format == 'd' ? va_arg(values, int) : (long long)va_arg(values, unsigned);
                int is_negative = *format == 'd' && given < 0;
                unsigned long long number = is_negative ? 0 - (unsigned long long)given : (unsigned long long)given;
                char *at = digits + sizeof digits;
                do *--at = "0123456789abcdef"[number % base];
                while (number /= base);
                if (is_negative) *--at = '-';
                part = at;
                count = (size_t)(digits + sizeof digits - at);
                zeros = width > count ? width - count : 0;
            }
        }
        for (; zeros; zeros--, used++)
            if (used + 1 < size) line[used] = '0';
        for (size_t at = 0; at < count; at++, used++)
            if (used + 1 < size) line[used] = part[at];
    }
    if (size) line[used < size ? used : size - 1] = 0;
    return (int)used;
}

int snprintf(char *restrict line, size_t size, const char *restrict format, ...) {
    va_list values;
    va_start(values, format);
    int used = vsnprintf(line, size, format, values);
    va_end(values);
    return used;
}
