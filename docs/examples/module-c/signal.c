/* The signal protocol: the WebSocket upgrade and its frames (RFC 6455), the login, and as much JSON as that takes. */
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

/* What the server must answer to these random bytes: base64 of the SHA-1 of their base64 and a fixed text, 60 bytes. */
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

/* Adds `part` behind the text; false when it does not fit with its NUL. */
static bool add(char *text, size_t *size, size_t room, const char *part) {
  size_t more = strlen(part);
  if (*size + more >= room) return false;
  memcpy(text + *size, part, more + 1);
  *size += more;
  return true;
}

size_t rvl_upgrade_request(char text[RVL_UPGRADE_MAX], const char *host, const uint8_t random[16]) {
  size_t size = 0;
  char key[25];
  rvl_base64(key, random, 16, false);
  bool whole = add(text, &size, RVL_UPGRADE_MAX, "GET /v1/signal HTTP/1.1\r\nHost: ") &&
               add(text, &size, RVL_UPGRADE_MAX, host) &&
               add(text, &size, RVL_UPGRADE_MAX,
                   "\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Version: 13\r\n"
                   "Sec-WebSocket-Protocol: reveille.signal.v1\r\nSec-WebSocket-Key: ") &&
               add(text, &size, RVL_UPGRADE_MAX, key) && add(text, &size, RVL_UPGRADE_MAX, "\r\n\r\n");
  return whole ? size : 0;
}

static char lower(char byte) { return byte >= 'A' && byte <= 'Z' ? (char)(byte + 32) : byte; }

/* The value of a header (its name in lower case, with the colon), or NULL. */
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
  /* Whole frames without a mask: the server sends no others, and nothing above 64 KiB. */
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

/* Adds a JSON string: quotes, backslashes and control characters escaped, UTF-8 as it is. */
static bool add_string(char *text, size_t *size, size_t room, const char *value) {
  static const char digits[] = "0123456789abcdef";
  bool whole = add(text, size, room, "\"");
  for (; whole && *value != '\0'; value++) {
    unsigned char byte = (unsigned char)*value;
    char escape[7] = {(char)byte, '\0'};
    if (byte == '"' || byte == '\\') {
      escape[0] = '\\';
      escape[1] = (char)byte;
    } else if (byte < 0x20) {
      memcpy(escape, "\\u00", 4);
      escape[4] = digits[byte >> 4];
      escape[5] = digits[byte & 15];
    }
    whole = add(text, size, room, escape);
  }
  return whole && add(text, size, room, "\"");
}

size_t rvl_signal_login(char *text, size_t room, const struct rvl_device *device, const char *session_key) {
  size_t size = 0;
  char id[RVL_ID_TEXT_MAX], proof[RVL_MAC_TEXT];
  struct rvl_hmac mac;
  rvl_base64(id, (const uint8_t *)device->id, strlen(device->id), true);
  rvl_hmac_start(&mac, device->secret, strlen(device->secret));
  rvl_hmac_add(&mac, "RVS1\n", 5);
  rvl_hmac_add(&mac, session_key, strlen(session_key));
  rvl_hmac_add(&mac, "\n", 1);
  rvl_hmac_add(&mac, id, strlen(id));
  rvl_hmac_end(&mac, proof);
  bool whole = add(text, &size, room, "{\"type\":\"login\",\"device_id\":") && add_string(text, &size, room, device->id) &&
               add(text, &size, room, ",\"mac\":\"") && add(text, &size, room, proof) && add(text, &size, room, "\"}");
  return whole ? size : 0;
}

size_t rvl_call_reject(char *text, size_t room, const char *session, bool busy) {
  size_t size = 0;
  bool whole = add(text, &size, room, "{\"type\":\"call_reject\",\"session\":") && add_string(text, &size, room, session) &&
               add(text, &size, room, busy ? ",\"reason\":\"busy\"}" : ",\"reason\":\"rejected\"}");
  return whole ? size : 0;
}

/* The byte behind a JSON string whose opening quote is at `at`; `size` when it does not end. */
static size_t string_end(const char *json, size_t size, size_t at) {
  for (at++; at < size && json[at] != '"'; at++)
    if (json[at] == '\\') at++;
  return at < size ? at + 1 : size;
}

static size_t blank_end(const char *json, size_t size, size_t at) {
  while (at < size && (json[at] == ' ' || json[at] == '\t' || json[at] == '\r' || json[at] == '\n')) at++;
  return at;
}

/* The byte behind the value that begins at `at`: the comma or brace of the object it stands in. */
static size_t value_end(const char *json, size_t size, size_t at) {
  unsigned depth = 0;
  while (at < size) {
    char byte = json[at];
    if (byte == '"') {
      at = string_end(json, size, at);
      continue;
    }
    if (depth == 0 && (byte == ',' || byte == '}')) return at;
    if (byte == '{' || byte == '[') depth++;
    if (byte == '}' || byte == ']') depth--;
    at++;
  }
  return size;
}

bool rvl_json_member(const char *json, size_t size, const char *name, char *value, size_t value_size) {
  size_t at = blank_end(json, size, 0), name_size = strlen(name);
  if (at == size || json[at] != '{') return false;
  while (at < size && json[at] != '}') {
    size_t key = blank_end(json, size, at + 1);
    if (key >= size || json[key] != '"') return false;
    size_t key_end = string_end(json, size, key);
    size_t from = blank_end(json, size, key_end);
    if (from >= size || json[from] != ':') return false;
    from = blank_end(json, size, from + 1);
    at = value_end(json, size, from);
    if (key_end - key != name_size + 2 || memcmp(json + key + 1, name, name_size) != 0) continue;
    size_t to = at;
    while (to > from && (json[to - 1] == ' ' || json[to - 1] == '\n' || json[to - 1] == '\r' || json[to - 1] == '\t')) to--;
    if (json[from] == '"' && to - from >= 2) {
      from++;
      to--;
    }
    if (to - from >= value_size) return false;
    memcpy(value, json + from, to - from);
    value[to - from] = '\0';
    return true;
  }
  return false;
}
