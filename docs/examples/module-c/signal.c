/* The signal protocol: the login of a controller, a rejected call, and the JSON that they need. */
#include "reveille.h"

#include <string.h>

/* Appends `part`; false when it does not fit with its NUL. */
static bool add(char *text, size_t *size, size_t room, const char *part) {
  size_t more = strlen(part);
  if (*size + more >= room) return false;
  memcpy(text + *size, part, more + 1);
  *size += more;
  return true;
}

/* Appends a JSON string: quotes, backslashes and control characters are escaped, UTF-8 is unchanged. */
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

/* Returns the position after a JSON string with its opening quote at `at`; `size` when it does not end. */
static size_t string_end(const char *json, size_t size, size_t at) {
  for (at++; at < size && json[at] != '"'; at++)
    if (json[at] == '\\') at++;
  return at < size ? at + 1 : size;
}

static size_t blank_end(const char *json, size_t size, size_t at) {
  while (at < size && (json[at] == ' ' || json[at] == '\t' || json[at] == '\r' || json[at] == '\n')) at++;
  return at;
}

/* Returns the position after the value at `at`: the comma or brace of the enclosing object. */
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
