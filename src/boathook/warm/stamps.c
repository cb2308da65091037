/* Compares files with their stamps, many in one call: what `is_fresh` in catalog_cache/format.py does, for the resident
   (docs/adr/0038-warm-engine.md). warm/stamps.py packs what it is called with, and tries it before it is used. */
#define _GNU_SOURCE
#define _FILE_OFFSET_BITS 64
#include <fcntl.h>
#include <stdint.h>
#include <sys/stat.h>
#include <unistd.h>

#define SECOND INT64_C(1000000000)
enum { ABSENT, CONTENT, MODE };

/* A stamp of CONTENT is the time of the last change, the size and the number of the file; of MODE it is mode, owner and number.
   `path` and `folder` are where these begin in the texts; `name` is the part of the path below the folder, and 0 if there is
   no folder. */
struct look {
    int64_t stamp[3];
    uint32_t kind, path, folder, name;
};

static int is_same(const struct look *look, int is_there, const struct stat *now) {
    if (!is_there)
        return look->kind == ABSENT;
    if (look->stamp[2] < 0 || (uint64_t)look->stamp[2] != (uint64_t)now->st_ino)
        return 0;
    if (look->kind == MODE)
        return look->stamp[0] == (int64_t)now->st_mode && look->stamp[1] == (int64_t)now->st_uid;
    /* The time is taken apart, because a product could be too large. One before 1970 is never the same. */
    return look->kind == CONTENT && look->stamp[1] == (int64_t)now->st_size &&
           look->stamp[0] / SECOND == (int64_t)now->st_ctim.tv_sec && look->stamp[0] % SECOND == now->st_ctim.tv_nsec;
}

/* Whether all files are as their stamps say. Files in one folder follow each other, because the way to it is walked once.
   More threads do not help: to wake a processor that sleeps takes as long as they save. */
int boathook_are_unchanged(const struct look *looks, uint32_t count, const char *texts) {
    uint32_t folder = 0;
    int handle = -1, result = 1;
    for (const struct look *look = looks; result && look < looks + count; look++) {
        struct stat now;
        if (look->name && look->folder != folder) {
            if (handle >= 0)
                close(handle);
            folder = look->folder;
            handle = open(texts + folder, O_PATH | O_DIRECTORY | O_CLOEXEC);
        }
        /* Without a handle, the whole path says whether the folder is missing, or whether only handles are. */
        int error = look->name && handle >= 0 ? fstatat(handle, texts + look->name, &now, 0)
                                              : stat(texts + look->path, &now);
        result = is_same(look, error == 0, &now);
    }
    if (handle >= 0)
        close(handle);
    return result;
}
