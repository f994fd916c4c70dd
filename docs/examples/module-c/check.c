/* Tests of the kit with known answers and edge cases, without a server: `make check` prints failures, and exits 1. */
#include "reveille.h"

#include <stdio.h>
#include <string.h>

static int failures;

static void expect(bool holds, const char *what) {
  if (holds) return;
  failures++;
  printf("FAILED: %s\n", what);
}

static void proofs(void) {
  struct rvl_hmac mac;
  char text[RVL_MAC_TEXT];
  uint8_t long_key[131];
  memset(long_key, 0xaa, sizeof long_key);
  rvl_hmac_start(&mac, "Jefe", 4);
  rvl_hmac_add(&mac, "what do ya want for nothing?", 28);
  rvl_hmac_end(&mac, text);
  expect(strcmp(text, "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843") == 0, "RFC 4231, case 2");
  rvl_hmac_start(&mac, long_key, sizeof long_key);
  rvl_hmac_add(&mac, "Test Using Larger Than Block-Size Key - Hash Key First", 54);
  rvl_hmac_end(&mac, text);
  expect(strcmp(text, "60e431591ee0b67f0d8a26aacbf5b77f8e0bc6213728c5140546040f0ee37f54") == 0, "RFC 4231, case 6");
}

static const char *const session_key = "ABCDEFGHIJKLMNOPQRSTUVWXYZ012345";
static const struct rvl_device device = {"TESTDEVICE01", "device-secret", RVL_WAKE_CUSTOM, 50, true};

static enum rvl_sleep_event feed(struct rvl_sleep *sleep, const void *bytes, size_t size) {
  enum rvl_sleep_event last = RVL_NOTHING;
  for (size_t i = 0; i < size && last == RVL_NOTHING; i++) last = rvl_sleep_byte(sleep, ((const uint8_t *)bytes)[i]);
  return last;
}

static void login(void) {
  static const char line[] = "RVL1 VEVTVERFVklDRTAx custom 50 1 3dc10a6a8b72ce8817a7b9e760a377e5504ee1a4c705c0f478298640c14550fe\n";
  struct rvl_sleep sleep;
  rvl_sleep_start(&sleep, &device);
  expect(feed(&sleep, session_key, 32) == RVL_SEND_LOGIN, "the session key asks for the login");
  expect(sleep.line_size == strlen(line) && memcmp(sleep.line, line, sleep.line_size) == 0, "the login line of the docs");
  expect(feed(&sleep, "OK\n", 3) == RVL_LOGGED_IN, "OK is a login");
  rvl_sleep_start(&sleep, &device);
  feed(&sleep, session_key, 32);
  expect(feed(&sleep, "ERR denied\n", 11) == RVL_REFUSED && strcmp(sleep.line, "denied") == 0, "ERR says why");
  rvl_sleep_start(&sleep, &device);
  expect(feed(&sleep, "HTTP/1.1 400", 12) == RVL_BROKEN, "another server is told from ours");
}

static void wakes(void) {
  static const uint8_t stream[] = {0x98, 0x3b, 0x16, 0x98, 0x3b, 0x16, 0xf8, 0xf3, 0x9c, 0x12, 0xab};
  struct rvl_sleep sleep;
  rvl_sleep_start(&sleep, &device);
  feed(&sleep, session_key, 32);
  feed(&sleep, "OK\n", 3);
  for (unsigned round = 0; round < 2; round++) {
    expect(feed(&sleep, stream, sizeof stream) == RVL_WOKEN, "a packet behind a broken one wakes, and the next again");
    expect(sleep.custom[0] == 0x12 && sleep.custom[1] == 0xab, "its two bytes are handed on");
  }
}

static void waits(void) {
  struct rvl_backoff backoff;
  uint32_t base = 2000;
  rvl_backoff_reset(&backoff, 2, 300);
  for (unsigned i = 0; i < 12; i++) {
    uint32_t wait = rvl_backoff_wait_ms(&backoff, 2654435761u * i);
    expect(wait >= base / 2 && wait <= base + base / 2, "a wait is its base, give or take a half");
    base = base * 2 > 300000 ? 300000 : base * 2;
  }
  for (uint32_t i = 0; i < 100; i++) {
    uint32_t wait = rvl_heartbeat_wait_ms(&device, 2654435761u * i);
    expect(wait >= 45000 && wait <= 50000, "a heartbeat is never late");
  }
}

static void signaling(void) {
  static const char message[] = "{\"type\":\"message\",\"payload\":{\"id\":\"no, this\",\"a\":[1,{\"b\":\"}\"}]}, \"id\" : \"m-1\"}";
  char text[512], head[256], value[16];
  uint8_t random[16], bytes[16] = "Hello", frame_head[RVL_FRAME_HEAD_MAX];
  memcpy(random, "the sample nonce", 16);
  expect(rvl_signal_login(text, sizeof text, &device, session_key) > 0 &&
             strstr(text, "e13ab86e2340b86a9e58158b6b4deb830cc3814c6ffb4d04f9b5bc408b9414d6") != NULL,
         "the signal login of the docs");
  expect(rvl_call_reject(text, sizeof text, "session-1", true) == strlen(text) &&
             strcmp(text, "{\"type\":\"call_reject\",\"session\":\"session-1\",\"reason\":\"busy\"}") == 0,
         "the rejection of the docs");
  expect(rvl_call_reject(text, 40, "session-1", false) == 0, "a rejection that does not fit is none");
  /* RFC 6455, 1.3. */
  strcpy(head, "HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nSec-WebSocket-Accept: s3pPLMBiTxaQ9kYGzzhZRbK+xOo=");
  expect(rvl_upgrade_accepted(head, random), "the proof of RFC 6455");
  random[0]++;
  expect(!rvl_upgrade_accepted(head, random), "another proof is refused");
  expect(rvl_json_member(message, strlen(message), "id", value, sizeof value) && strcmp(value, "m-1") == 0,
         "the member of the message, not of its payload");
  for (size_t size = 0; size < strlen(message); size++)
    expect(!rvl_json_member(message, size, "absent", value, sizeof value), "a cut message ends");
  expect(rvl_frame_head(frame_head, RVL_TEXT, bytes, 5, 0x37fa213d) == 6 && memcmp(bytes, "\x7f\x9f\x4d\x51\x58", 5) == 0,
         "the masked Hello of RFC 6455");
}

/* Arbitrary input terminates and stays within its buffers: run with -fsanitize=address,undefined to verify. */
static void noise(void) {
  static const char seed_text[] = "{\"type\":\"message\",\"id\":\"m\\\"1\",\"payload\":{\"a\":[1,{}]}}";
  uint32_t random = 1;
  for (unsigned round = 0; round < 20000; round++) {
    char json[sizeof seed_text], value[8];
    const uint8_t *payload;
    size_t payload_size, size = sizeof seed_text - 1;
    enum rvl_opcode opcode;
    struct rvl_sleep sleep;
    memcpy(json, seed_text, sizeof seed_text);
    for (unsigned change = 0; change < 3; change++) {
      random = random * 1664525 + 1013904223;
      json[(random >> 8) % size] = (char)(random >> 24);
    }
    rvl_json_member(json, size, "id", value, sizeof value);
    size = rvl_frame_read((const uint8_t *)json, size, &opcode, &payload, &payload_size);
    expect(size == 0 || size == SIZE_MAX || size <= sizeof seed_text, "a frame stays within what came");
    rvl_sleep_start(&sleep, &device);
    if (round % 2 == 0) feed(&sleep, session_key, 32);
    for (size_t i = 0; i < sizeof json; i++) rvl_sleep_byte(&sleep, (uint8_t)json[i]);
  }
}

int main(void) {
  proofs();
  login();
  wakes();
  waits();
  signaling();
  noise();
  if (failures == 0) printf("all checks passed\n");
  return failures == 0 ? 0 : 1;
}
