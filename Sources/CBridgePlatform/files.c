#define _GNU_SOURCE

#include "CBridgePlatform.h"

#include <fcntl.h>
#include <stdbool.h>
#include <string.h>
#include <unistd.h>

#ifdef __linux__
#include <sys/vfs.h>
#else
#include <sys/mount.h>
#include <sys/param.h>
#endif

#if defined(__x86_64__)
#include <cpuid.h>
#include <nmmintrin.h>
#elif defined(__aarch64__)
#include <arm_acle.h>
#ifdef __linux__
#include <sys/auxv.h>
#endif
#endif

// MARK: File systems

// The numbers are from linux/magic.h, or from the source of a file system that is not listed there.
enum cbp_file_system cbp_file_system_of_type(uint64_t type) {
    switch (type) {
    case 0xEF53:     // ext2, ext3, ext4
    case 0x01021994: // tmpfs
        return cbp_file_system_in_place;
    case 0x6969:     // nfs
    case 0x517B:     // smb
    case 0xFF534D42: // cifs
    case 0xFE534D42: // smb2
    case 0x564C:     // ncp
    case 0x5346414F: // afs
    case 0x6B414653: // kafs
    case 0x73757245: // coda
    case 0x00C36400: // ceph
    case 0x01021997: // 9p
    case 0x01161970: // gfs2
    case 0x7461636F: // ocfs2
    case 0x0BD00BD0: // lustre
    case 0x47504653: // gpfs
    case 0x19830326: // beegfs
    case 0xBACBACBC: // folders of a VMware host
    case 0x786F4256: // folders of a VirtualBox host
    case 0x65735546: // fuse: a program that may ask another machine
        return cbp_file_system_remote;
    default: return cbp_file_system_local;
    }
}

enum cbp_file_system cbp_file_system_of(int descriptor) {
    struct statfs status;
    if (fstatfs(descriptor, &status) != 0) return cbp_file_system_remote;
#ifdef __linux__
    return cbp_file_system_of_type((uint64_t)status.f_type & 0xFFFFFFFF);
#else
    return status.f_flags & MNT_LOCAL ? cbp_file_system_local : cbp_file_system_remote;
#endif
}

int cbp_file_synchronize(int descriptor) {
#ifdef __linux__
    return fdatasync(descriptor);
#else
    // On Darwin fsync leaves the data in the drive's memory.
    return fcntl(descriptor, F_FULLFSYNC);
#endif
}

int cbp_directory_synchronize(int descriptor) {
#ifdef __linux__
    return fsync(descriptor);
#else
    return fcntl(descriptor, F_FULLFSYNC);
#endif
}

// MARK: Zeros

size_t cbp_leading_zeros(const void *bytes, size_t count) {
    const uint8_t *next = bytes;
    size_t zeros = 0;
    uint64_t word = 0;
    while (zeros + sizeof word <= count) {
        memcpy(&word, next + zeros, sizeof word);
        if (word != 0) break;
        zeros += sizeof word;
    }
    while (zeros < count && next[zeros] == 0) zeros++;
    return zeros;
}

// MARK: CRC-32C

// The reflected polynomial of Castagnoli.
#define POLYNOMIAL 0x82F63B78u

static uint32_t tables[8][256];

__attribute__((constructor)) static void fill_tables(void) {
    for (uint32_t byte = 0; byte < 256; byte++) {
        uint32_t value = byte;
        for (int bit = 0; bit < 8; bit++) value = value & 1 ? value >> 1 ^ POLYNOMIAL : value >> 1;
        tables[0][byte] = value;
    }
    for (uint32_t byte = 0; byte < 256; byte++) {
        for (int row = 1; row < 8; row++) {
            uint32_t before = tables[row - 1][byte];
            tables[row][byte] = before >> 8 ^ tables[0][before & 0xFF];
        }
    }
}

uint32_t cbp_crc32c_by_table(uint32_t before, const void *bytes, size_t count) {
    const uint8_t *next = bytes;
    uint32_t value = ~before;
    for (; count >= 8; count -= 8, next += 8) {
        uint32_t low = value ^ ((uint32_t)next[0] | (uint32_t)next[1] << 8 | (uint32_t)next[2] << 16
                                | (uint32_t)next[3] << 24);
        value = tables[7][low & 0xFF] ^ tables[6][low >> 8 & 0xFF] ^ tables[5][low >> 16 & 0xFF] ^ tables[4][low >> 24]
            ^ tables[3][next[4]] ^ tables[2][next[5]] ^ tables[1][next[6]] ^ tables[0][next[7]];
    }
    for (; count > 0; count--, next++) value = value >> 8 ^ tables[0][(value ^ *next) & 0xFF];
    return ~value;
}

uint32_t cbp_crc32c_numbered_by_table(uint32_t before, uint64_t first, uint64_t second, const void *bytes,
                                      size_t count) {
    uint8_t numbers[16];
    for (int index = 0; index < 8; index++) {
        numbers[index] = (uint8_t)(first >> 8 * index);
        numbers[8 + index] = (uint8_t)(second >> 8 * index);
    }
    return cbp_crc32c_by_table(cbp_crc32c_by_table(before, numbers, sizeof numbers), bytes, count);
}

#if defined(__x86_64__)

#define WITH_INSTRUCTION __attribute__((target("sse4.2")))

// As wide as the instruction's result, so that the result is not cut off and widened again for each word.
typedef uint64_t crc_value;

static bool find_instruction(void) {
    unsigned a, b, c, d;
    return __get_cpuid(1, &a, &b, &c, &d) != 0 && (c & bit_SSE4_2) != 0;
}

WITH_INSTRUCTION static inline crc_value fold_8(crc_value value, uint64_t word) { return _mm_crc32_u64(value, word); }

WITH_INSTRUCTION static inline crc_value fold_4(crc_value value, uint32_t word) {
    return _mm_crc32_u32((uint32_t)value, word);
}

WITH_INSTRUCTION static inline crc_value fold_1(crc_value value, uint8_t byte) {
    return _mm_crc32_u8((uint32_t)value, byte);
}

#elif defined(__aarch64__)

#define WITH_INSTRUCTION __attribute__((target("crc")))

typedef uint32_t crc_value;

static bool find_instruction(void) {
#ifdef __linux__
    return (getauxval(AT_HWCAP) & 1 << 7) != 0;
#else
    return true;
#endif
}

WITH_INSTRUCTION static inline crc_value fold_8(crc_value value, uint64_t word) { return __crc32cd(value, word); }

WITH_INSTRUCTION static inline crc_value fold_4(crc_value value, uint32_t word) { return __crc32cw(value, word); }

WITH_INSTRUCTION static inline crc_value fold_1(crc_value value, uint8_t byte) { return __crc32cb(value, byte); }

#endif

#ifdef WITH_INSTRUCTION

WITH_INSTRUCTION static inline crc_value fold_word(crc_value value, const uint8_t *bytes) {
    uint64_t word;
    memcpy(&word, bytes, sizeof word);
    return fold_8(value, word);
}

// Most records are short, so the time for the bytes after the last whole word matters, too.
WITH_INSTRUCTION static inline crc_value fold(crc_value value, const uint8_t *next, size_t count) {
    for (; count >= 32; count -= 32, next += 32) {
        value = fold_word(value, next);
        value = fold_word(value, next + 8);
        value = fold_word(value, next + 16);
        value = fold_word(value, next + 24);
    }
    for (; count >= 8; count -= 8, next += 8) value = fold_word(value, next);
    if (count >= 4) {
        uint32_t word;
        memcpy(&word, next, sizeof word);
        value = fold_4(value, word);
        count -= 4;
        next += 4;
    }
    for (; count > 0; count--, next++) value = fold_1(value, *next);
    return value;
}

WITH_INSTRUCTION static uint32_t by_instruction(uint32_t before, const uint8_t *bytes, size_t count) {
    return ~(uint32_t)fold(~before, bytes, count);
}

WITH_INSTRUCTION static uint32_t numbered_by_instruction(uint32_t before, uint64_t first, uint64_t second,
                                                         const uint8_t *bytes, size_t count) {
    return ~(uint32_t)fold(fold_8(fold_8(~before, first), second), bytes, count);
}

#else

static bool find_instruction(void) { return false; }

static uint32_t by_instruction(uint32_t before, const uint8_t *bytes, size_t count) {
    return cbp_crc32c_by_table(before, bytes, count);
}

static uint32_t numbered_by_instruction(uint32_t before, uint64_t first, uint64_t second, const uint8_t *bytes,
                                        size_t count) {
    return cbp_crc32c_numbered_by_table(before, first, second, bytes, count);
}

#endif

static bool has_instruction;

__attribute__((constructor)) static void look_for_instruction(void) { has_instruction = find_instruction(); }

uint32_t cbp_crc32c(uint32_t before, const void *bytes, size_t count) {
    if (!has_instruction) return cbp_crc32c_by_table(before, bytes, count);
    return by_instruction(before, bytes, count);
}

uint32_t cbp_crc32c_numbered(uint32_t before, uint64_t first, uint64_t second, const void *bytes, size_t count) {
    if (!has_instruction) return cbp_crc32c_numbered_by_table(before, first, second, bytes, count);
    return numbered_by_instruction(before, first, second, bytes, count);
}
