/* The controller's WebSocket (RFC 6455): the upgrade, its proof, and the frames. */
#include "reveille.h"

#include <string.h>

static uint32_t rotate(uint32_t word, unsigned bits) { return word << bits | word >> (32 - bits); }

static void sha1_block(uint32_t state[5], const uint8_t block[64]) {
  uint32_t words[80], a = state[0], b = state[1], c = state[2], d = state[3], e = state[4];
  for (unsigned i = 0; i < 16; i++)
    words[i] = (uint32_t)block[4 * i] << 24 | (uint32_t)block[4 * i + 1] << 16 | (uint32_t)block[4 * i + 2] << 8 |
               block[4 * i + 3];
  for (unsigned i = 16; i < 80; i++) words[i] = rotate(words[i - 3] ^ words[i - 8] ^ words[i - 14] ^ words[i - 16], 1);
  for (unsigned i = 0; i < 80; i++) {
    uint32_t mixed = i < 20   ? ((b & c) | (~b & d)) + 0x5a827999
                     : i < 40 ? (b ^ c ^ d) + 0x6ed9eba1
                     : i < 60 ? ((b & c) | (b & d) | (c & d)) + 0x8f1bbcdc
                              : (b ^ c ^ d) + 0xca62c1d6;
    uint32_t next = rotate(a, 5) + mixed + e + words[i];
    e = d;
    d = c;
    c = rotate(b, 30);
    b = a;
    a = next;
  }
  state[0] += a;
  state[1] += b;
  state[2] += c;
  state[3] += d;
  state[4] += e;
}

/* The expected Sec-WebSocket-Accept of these random bytes: base64 of the SHA-1 of their base64 and a fixed text, 60 bytes. */
static void accept_text(char text[29], const uint8_t random[16]) {
  static const char fixed[] = "258EAFA5-E914-47DA-95CA-C5AB0DC85B11";
  uint32_t state[5] = {0x67452301, 0xefcdab89, 0x98badcfe, 0x10325476, 0xc3d2e1f0};
  uint8_t blocks[128] = {0}, digest[20];
  char key[25];
  rvl_base64(key, random, 16, false);
  memcpy(blocks, key, 24);
  memcpy(blocks + 24, fixed, 36);
  blocks[60] = 0x80;
  blocks[126] = (60 * 8) >> 8;
  blocks[127] = (60 * 8) & 255;
  sha1_block(state, blocks);
  sha1_block(state, blocks + 64);
  for (unsigned i = 0; i < sizeof digest; i++) digest[i] = (uint8_t)(state[i / 4] >> (24 - 8 * (i % 4)));
  rvl_base64(text, digest, sizeof digest, false);
}

size_t rvl_upgrade_request(char text[RVL_UPGRADE_MAX], const char *host, const uint8_t random[16]) {
  char key[25];
  if (strlen(host) > RVL_HOST_MAX) return 0;
  rvl_base64(key, random, 16, false);
  strcpy(text, "GET /v1/signal HTTP/1.1\r\nHost: ");
  strcat(text, host);
  strcat(text, "\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Version: 13\r\n"
               "Sec-WebSocket-Protocol: reveille.signal.v1\r\nSec-WebSocket-Key: ");
  strcat(text, key);
  strcat(text, "\r\n\r\n");
  return strlen(text);
}

static char lower(char byte) { return byte >= 'A' && byte <= 'Z' ? (char)(byte + 32) : byte; }

/* Finds the value of a header (name in lower case, with the colon), or NULL. */
static const char *header(const char *head, const char *name) {
  for (const char *line = strchr(head, '\n'); line != NULL; line = strchr(line, '\n')) {
    size_t i = 0;
    line++;
    while (name[i] != '\0' && lower(line[i]) == name[i]) i++;
    if (name[i] == '\0') return line + i + strspn(line + i, " ");
  }
  return NULL;
}

bool rvl_upgrade_accepted(const char *head, const uint8_t random[16]) {
  char expected[29];
  const char *given = header(head, "sec-websocket-accept:");
  accept_text(expected, random);
  return strncmp(head, "HTTP/1.1 101 ", 13) == 0 && given != NULL && strncmp(given, expected, 28) == 0;
}

size_t rvl_frame_head(uint8_t head[RVL_FRAME_HEAD_MAX], enum rvl_opcode opcode, uint8_t *payload, size_t size,
                      uint32_t mask) {
  size_t at = 0;
  uint8_t key[4] = {(uint8_t)(mask >> 24), (uint8_t)(mask >> 16), (uint8_t)(mask >> 8), (uint8_t)mask};
  head[at++] = (uint8_t)(0x80 | opcode);
  if (size < 126) {
    head[at++] = (uint8_t)(0x80 | size);
  } else {
    head[at++] = 0x80 | 126;
    head[at++] = (uint8_t)(size >> 8);
    head[at++] = (uint8_t)size;
  }
  memcpy(head + at, key, sizeof key);
  for (size_t i = 0; i < size; i++) payload[i] ^= key[i % 4];
  return at + sizeof key;
}

size_t rvl_frame_read(const uint8_t *bytes, size_t size, enum rvl_opcode *opcode, const uint8_t **payload,
                      size_t *payload_size) {
  size_t head = 2;
  if (size < 2) return 0;
  /* The server sends only unfragmented, unmasked frames of at most 64 KiB. */
  if ((bytes[0] & 0xf0) != 0x80 || bytes[1] > 126) return SIZE_MAX;
  *opcode = (enum rvl_opcode)(bytes[0] & 15);
  *payload_size = bytes[1];
  if (bytes[1] == 126) {
    head = 4;
    if (size < head) return 0;
    *payload_size = (size_t)bytes[2] << 8 | bytes[3];
  }
  *payload = bytes + head;
  return size < head + *payload_size ? 0 : head + *payload_size;
}
