/* The sleep protocol: session key, login line, answer, wake packets, heartbeat intervals and reconnect backoff. */
#include "reveille.h"

#include <string.h>

static const uint8_t wake_pattern[6] = {0x98, 0x3b, 0x16, 0xf8, 0xf3, 0x9c};
static const char *const wake_words[] = {"fixed", "custom", "none"};

void rvl_sleep_start(struct rvl_sleep *sleep, const struct rvl_device *device) {
  memset(sleep, 0, sizeof *sleep);
  sleep->device = device;
  sleep->state = RVL_AWAIT_KEY;
}

static size_t decimal(char *text, uint16_t number) {
  char digits[5];
  size_t size = 0;
  do digits[size++] = (char)('0' + number % 10);
  while ((number = (uint16_t)(number / 10)) > 0);
  for (size_t i = 0; i < size; i++) text[i] = digits[size - 1 - i];
  text[size] = '\0';
  return size;
}

/* Appends a field to the login line, after a space, and to the text that the mac covers, after a line feed. */
static void add_field(struct rvl_sleep *sleep, struct rvl_hmac *mac, const char *field) {
  size_t size = strlen(field);
  sleep->line[sleep->line_size++] = ' ';
  memcpy(sleep->line + sleep->line_size, field, size);
  sleep->line_size = (uint16_t)(sleep->line_size + size);
  if (mac != NULL) {
    rvl_hmac_add(mac, "\n", 1);
    rvl_hmac_add(mac, field, size);
  }
}

/* Replaces the session key in `line` by the login line. */
static void write_login(struct rvl_sleep *sleep) {
  const struct rvl_device *device = sleep->device;
  char text[RVL_ID_TEXT_MAX];
  struct rvl_hmac mac;
  rvl_hmac_start(&mac, device->secret, strlen(device->secret));
  rvl_hmac_add(&mac, "RVL1\n", 5);
  rvl_hmac_add(&mac, sleep->line, RVL_SESSION_KEY_BYTES);
  memcpy(sleep->line, "RVL1", 4);
  sleep->line_size = 4;
  rvl_base64(text, (const uint8_t *)device->id, strlen(device->id), true);
  add_field(sleep, &mac, text);
  add_field(sleep, &mac, wake_words[device->wake]);
  decimal(text, device->heartbeat_s);
  add_field(sleep, &mac, text);
  add_field(sleep, &mac, device->reply ? "1" : "0");
  rvl_hmac_end(&mac, text);
  add_field(sleep, NULL, text);
  sleep->line[sleep->line_size++] = '\n';
}

static bool is_key_byte(uint8_t byte) {
  return (byte >= 'A' && byte <= 'Z') || (byte >= 'a' && byte <= 'z') || (byte >= '0' && byte <= '9') || byte == '_' ||
         byte == '-';
}

static enum rvl_sleep_event end(struct rvl_sleep *sleep, enum rvl_sleep_event event) {
  sleep->state = RVL_OVER;
  return event;
}

static enum rvl_sleep_event take_key_byte(struct rvl_sleep *sleep, uint8_t byte) {
  if (!is_key_byte(byte)) return end(sleep, RVL_BROKEN);
  sleep->line[sleep->received++] = (char)byte;
  if (sleep->received < RVL_SESSION_KEY_BYTES) return RVL_NOTHING;
  write_login(sleep);
  sleep->received = 0;
  sleep->state = sleep->device->reply ? RVL_AWAIT_REPLY : RVL_ASLEEP;
  return RVL_SEND_LOGIN;
}

static enum rvl_sleep_event take_reply_byte(struct rvl_sleep *sleep, uint8_t byte) {
  if (byte != '\n') {
    if (sleep->received == RVL_REPLY_LINE_MAX) return end(sleep, RVL_BROKEN);
    sleep->line[sleep->received++] = (char)byte;
    return RVL_NOTHING;
  }
  sleep->line[sleep->received] = '\0';
  sleep->received = 0;
  if (strcmp(sleep->line, "OK") == 0) {
    sleep->state = RVL_ASLEEP;
    return RVL_LOGGED_IN;
  }
  if (strncmp(sleep->line, "ERR ", 4) != 0) return end(sleep, RVL_BROKEN);
  memmove(sleep->line, sleep->line + 4, strlen(sleep->line + 4) + 1);
  return end(sleep, RVL_REFUSED);
}

/* The first byte of the pattern is unique in it, so after a mismatch only that byte can start a match. */
static enum rvl_sleep_event take_wake_byte(struct rvl_sleep *sleep, uint8_t byte) {
  if (sleep->received < sizeof wake_pattern) {
    if (byte == wake_pattern[sleep->received]) sleep->received++;
    else sleep->received = byte == wake_pattern[0] ? 1 : 0;
    return RVL_NOTHING;
  }
  sleep->custom[sleep->received++ - sizeof wake_pattern] = byte;
  if (sleep->received < sizeof wake_pattern + sizeof sleep->custom) return RVL_NOTHING;
  sleep->received = 0;
  return RVL_WOKEN;
}

enum rvl_sleep_event rvl_sleep_byte(struct rvl_sleep *sleep, uint8_t byte) {
  switch (sleep->state) {
  case RVL_AWAIT_KEY: return take_key_byte(sleep, byte);
  case RVL_AWAIT_REPLY: return take_reply_byte(sleep, byte);
  case RVL_ASLEEP: return take_wake_byte(sleep, byte);
  case RVL_OVER: break;
  }
  return RVL_NOTHING;
}

uint32_t rvl_heartbeat_wait_ms(const struct rvl_device *device, uint32_t random) {
  uint32_t whole = device->heartbeat_s * 1000u;
  return whole - random % (whole / 10 + 1);
}

void rvl_backoff_reset(struct rvl_backoff *backoff, uint32_t min_s, uint32_t max_s) {
  backoff->min_ms = backoff->next_ms = min_s * 1000;
  backoff->max_ms = max_s * 1000;
}

uint32_t rvl_backoff_wait_ms(struct rvl_backoff *backoff, uint32_t random) {
  uint32_t wait = backoff->next_ms;
  backoff->next_ms = wait > backoff->max_ms / 2 ? backoff->max_ms : wait * 2;
  return wait - wait / 2 + random % (wait + 1);
}
