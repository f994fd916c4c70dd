/* SHA-256 (FIPS 180-4), HMAC (RFC 2104) and base64 (RFC 4648). */
#include "reveille.h"

#include <string.h>

static const uint32_t round_constants[64] = {
    0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1, 0x923f82a4, 0xab1c5ed5, 0xd807aa98, 0x12835b01,
    0x243185be, 0x550c7dc3, 0x72be5d74, 0x80deb1fe, 0x9bdc06a7, 0xc19bf174, 0xe49b69c1, 0xefbe4786, 0x0fc19dc6, 0x240ca1cc,
    0x2de92c6f, 0x4a7484aa, 0x5cb0a9dc, 0x76f988da, 0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7, 0xc6e00bf3, 0xd5a79147,
    0x06ca6351, 0x14292967, 0x27b70a85, 0x2e1b2138, 0x4d2c6dfc, 0x53380d13, 0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85,
    0xa2bfe8a1, 0xa81a664b, 0xc24b8b70, 0xc76c51a3, 0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070, 0x19a4c116, 0x1e376c08,
    0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a, 0x5b9cca4f, 0x682e6ff3, 0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208,
    0x90befffa, 0xa4506ceb, 0xbef9a3f7, 0xc67178f2};

static uint32_t rotate(uint32_t word, unsigned bits) { return word >> bits | word << (32 - bits); }

static void compress(uint32_t state[8], const uint8_t block[64]) {
  uint32_t words[64], v[8];
  for (unsigned i = 0; i < 16; i++)
    words[i] = (uint32_t)block[4 * i] << 24 | (uint32_t)block[4 * i + 1] << 16 | (uint32_t)block[4 * i + 2] << 8 |
               block[4 * i + 3];
  for (unsigned i = 16; i < 64; i++) {
    uint32_t a = words[i - 15], b = words[i - 2];
    words[i] = words[i - 16] + (rotate(a, 7) ^ rotate(a, 18) ^ a >> 3) + words[i - 7] +
               (rotate(b, 17) ^ rotate(b, 19) ^ b >> 10);
  }
  memcpy(v, state, sizeof v);
  for (unsigned i = 0; i < 64; i++) {
    uint32_t choice = (v[4] & v[5]) ^ (~v[4] & v[6]);
    uint32_t majority = (v[0] & v[1]) ^ (v[0] & v[2]) ^ (v[1] & v[2]);
    uint32_t first = v[7] + (rotate(v[4], 6) ^ rotate(v[4], 11) ^ rotate(v[4], 25)) + choice + round_constants[i] + words[i];
    uint32_t second = (rotate(v[0], 2) ^ rotate(v[0], 13) ^ rotate(v[0], 22)) + majority;
    memmove(v + 1, v, 7 * sizeof v[0]);
    v[4] += first;
    v[0] = first + second;
  }
  for (unsigned i = 0; i < 8; i++) state[i] += v[i];
}

void rvl_sha256_start(struct rvl_sha256 *hash) {
  static const uint32_t initial[8] = {0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a,
                                      0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19};
  memcpy(hash->state, initial, sizeof initial);
  hash->bytes = 0;
}

void rvl_sha256_add(struct rvl_sha256 *hash, const void *bytes, size_t size) {
  const uint8_t *from = bytes;
  for (size_t i = 0; i < size; i++) {
    hash->block[hash->bytes++ % 64] = from[i];
    if (hash->bytes % 64 == 0) compress(hash->state, hash->block);
  }
}

void rvl_sha256_end(struct rvl_sha256 *hash, uint8_t digest[32]) {
  uint64_t bits = hash->bytes * 8;
  uint8_t length[8];
  for (unsigned i = 0; i < 8; i++) length[i] = (uint8_t)(bits >> (56 - 8 * i));
  rvl_sha256_add(hash, "\x80", 1);
  while (hash->bytes % 64 != 56) rvl_sha256_add(hash, "", 1);
  rvl_sha256_add(hash, length, 8);
  for (unsigned i = 0; i < 32; i++) digest[i] = (uint8_t)(hash->state[i / 4] >> (24 - 8 * (i % 4)));
}

void rvl_hmac_start(struct rvl_hmac *mac, const void *key, size_t size) {
  uint8_t pad[64] = {0};
  rvl_sha256_start(&mac->inner);
  if (size > sizeof pad) {
    rvl_sha256_add(&mac->inner, key, size);
    rvl_sha256_end(&mac->inner, pad);
    rvl_sha256_start(&mac->inner);
  } else {
    memcpy(pad, key, size);
  }
  for (unsigned i = 0; i < sizeof pad; i++) {
    mac->outer_pad[i] = pad[i] ^ 0x5c;
    pad[i] ^= 0x36;
  }
  rvl_sha256_add(&mac->inner, pad, sizeof pad);
}

void rvl_hmac_add(struct rvl_hmac *mac, const void *bytes, size_t size) { rvl_sha256_add(&mac->inner, bytes, size); }

void rvl_hmac_end(struct rvl_hmac *mac, char text[RVL_MAC_TEXT]) {
  static const char digits[] = "0123456789abcdef";
  uint8_t digest[32];
  rvl_sha256_end(&mac->inner, digest);
  rvl_sha256_start(&mac->inner);
  rvl_sha256_add(&mac->inner, mac->outer_pad, sizeof mac->outer_pad);
  rvl_sha256_add(&mac->inner, digest, sizeof digest);
  rvl_sha256_end(&mac->inner, digest);
  for (unsigned i = 0; i < sizeof digest; i++) {
    text[2 * i] = digits[digest[i] >> 4];
    text[2 * i + 1] = digits[digest[i] & 15];
  }
  text[64] = '\0';
}

size_t rvl_base64(char *text, const uint8_t *bytes, size_t size, bool url) {
  static const char common[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789";
  size_t written = 0;
  for (size_t i = 0; i < size; i += 3) {
    uint32_t group = (uint32_t)bytes[i] << 16;
    if (i + 1 < size) group |= (uint32_t)bytes[i + 1] << 8;
    if (i + 2 < size) group |= bytes[i + 2];
    for (unsigned place = 0; place < 4; place++) {
      unsigned six = group >> (18 - 6 * place) & 63;
      if (i + place > size) {
        if (!url) text[written++] = '=';
      } else {
        text[written++] = six < 62 ? common[six] : six == 62 ? (url ? '-' : '+') : (url ? '_' : '/');
      }
    }
  }
  text[written] = '\0';
  return written;
}
