/*
 * Reveille's firmware kit: the sleep protocol of a low-power module and the signal login of its controller.
 *
 * C99, no heap, no dependency, no I/O, no clock: bytes in, bytes out, milliseconds and random numbers as arguments. It runs
 * unchanged under an RTOS; posix.c, controller.c and device.c complete it to a test device. The protocols:
 * docs/sleep-protocol.md and docs/signal-protocol.md.
 */
#ifndef REVEILLE_H
#define REVEILLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define RVL_SESSION_KEY_BYTES 32
#define RVL_DEVICE_ID_BYTES_MAX 255
/* 255 bytes are 340 of base64url. */
#define RVL_ID_TEXT_MAX 341
#define RVL_MAC_TEXT 65
#define RVL_LOGIN_LINE_MAX 512
#define RVL_REPLY_LINE_MAX 32
#define RVL_HEARTBEAT_BYTES 64
/* A session ends after this many heartbeat intervals without data. */
#define RVL_HEARTBEATS_MISSED_MAX 3

/* ---- Proofs (mac.c) ---- */

struct rvl_sha256 {
  uint32_t state[8];
  uint64_t bytes;
  uint8_t block[64];
};

void rvl_sha256_start(struct rvl_sha256 *hash);
void rvl_sha256_add(struct rvl_sha256 *hash, const void *bytes, size_t size);
void rvl_sha256_end(struct rvl_sha256 *hash, uint8_t digest[32]);

struct rvl_hmac {
  struct rvl_sha256 inner;
  uint8_t outer_pad[64];
};

void rvl_hmac_start(struct rvl_hmac *mac, const void *key, size_t size);
void rvl_hmac_add(struct rvl_hmac *mac, const void *bytes, size_t size);
/* Writes the mac as 64 lowercase hex digits and a NUL. */
void rvl_hmac_end(struct rvl_hmac *mac, char text[RVL_MAC_TEXT]);

/* Encodes `size` bytes as base64 with a final NUL: the url alphabet without padding, or the standard one with it. */
size_t rvl_base64(char *text, const uint8_t *bytes, size_t size, bool url);

/* ---- Sleep (sleep.c) ---- */

enum rvl_wake { RVL_WAKE_FIXED, RVL_WAKE_CUSTOM, RVL_WAKE_NONE };

struct rvl_device {
  const char *id; /* UTF-8, 1-255 bytes */
  const char *secret;
  enum rvl_wake wake;
  uint16_t heartbeat_s; /* 5-3600 */
  bool reply;           /* the server answers OK or ERR; false for firmware that cannot read */
};

enum rvl_sleep_event {
  RVL_NOTHING,
  RVL_SEND_LOGIN, /* session key received: send sleep->line now */
  RVL_LOGGED_IN,  /* OK received; never without `reply`: then the login is done with RVL_SEND_LOGIN */
  RVL_REFUSED,    /* sleep->line has the reason: timeout, malformed, denied or busy */
  RVL_WOKEN,      /* sleep->custom has the two bytes, 00 00 in the fixed packet */
  RVL_BROKEN      /* neither a session key nor an answer: close, and back off */
};

/* One connection to a sleep server. */
struct rvl_sleep {
  const struct rvl_device *device;
  enum { RVL_AWAIT_KEY, RVL_AWAIT_REPLY, RVL_ASLEEP, RVL_OVER } state;
  uint16_t received; /* bytes received of the current key, reply or wake packet */
  uint16_t line_size;
  char line[RVL_LOGIN_LINE_MAX];
  uint8_t custom[2];
};

void rvl_sleep_start(struct rvl_sleep *sleep, const struct rvl_device *device);
/* Processes one received byte. TCP may split the stream anywhere, so wake packets are parsed byte by byte. */
enum rvl_sleep_event rvl_sleep_byte(struct rvl_sleep *sleep, uint8_t byte);

/* The wait before the next heartbeat: the declared interval less up to a tenth, so that a fleet spreads. */
uint32_t rvl_heartbeat_wait_ms(const struct rvl_device *device, uint32_t random);

/* The backoff between attempts, as advised by `retry` of the welcome: doubling, with jitter of up to half. */
struct rvl_backoff {
  uint32_t min_ms;
  uint32_t max_ms;
  uint32_t next_ms;
};

void rvl_backoff_reset(struct rvl_backoff *backoff, uint32_t min_s, uint32_t max_s);
uint32_t rvl_backoff_wait_ms(struct rvl_backoff *backoff, uint32_t random);

/* ---- WebSocket (websocket.c) ---- */

/* A name of 253 bytes, a colon and a port. */
#define RVL_HOST_MAX 259
#define RVL_UPGRADE_MAX 512
#define RVL_FRAME_HEAD_MAX 8

enum rvl_opcode { RVL_TEXT = 1, RVL_CLOSE = 8, RVL_PING = 9, RVL_PONG = 10 };

/* Writes the HTTP upgrade to /v1/signal; 0 when `host` is longer than RVL_HOST_MAX. `random`: 16 fresh bytes, kept for the response. */
size_t rvl_upgrade_request(char text[RVL_UPGRADE_MAX], const char *host, const uint8_t random[16]);
/* True for a valid response head (with a final NUL): 101 and the proof of these random bytes. */
bool rvl_upgrade_accepted(const char *head, const uint8_t random[16]);

/* Writes the head of a client's frame and masks `payload` in place; returns the size of the head. */
size_t rvl_frame_head(uint8_t head[RVL_FRAME_HEAD_MAX], enum rvl_opcode opcode, uint8_t *payload, size_t size,
                      uint32_t mask);

/* Parses a server's frame at the start of `bytes`; returns its size, 0 when incomplete, SIZE_MAX when invalid. */
size_t rvl_frame_read(const uint8_t *bytes, size_t size, enum rvl_opcode *opcode, const uint8_t **payload,
                      size_t *payload_size);

/* ---- Signal (signal.c) ---- */

#define RVL_MESSAGE_MAX 16384

/* Writes the JSON of a login that answers the challenge; 0 when it does not fit. */
size_t rvl_signal_login(char *text, size_t size, const struct rvl_device *device, const char *session_key);

/* Writes the JSON that rejects a call, `session` from x_session of its peer_id; 0 when it does not fit. */
size_t rvl_call_reject(char *text, size_t size, const char *session, bool busy);

/*
 * Copies the value of a member of a JSON object, strings without their quotes, with escapes unchanged; false when it is
 * missing or does not fit. Members of nested objects are ignored.
 */
bool rvl_json_member(const char *json, size_t size, const char *name, char *value, size_t value_size);

#endif
