/**
 * Packets of video on their way out, no faster than a network takes them without dropping: one access unit at a time, and
 * ahead of it packets that are sent again.
 */
import { assert } from '../../lib/assert.ts';
import { fullBucket, spendTokens, waitForToken } from '../../lib/token-bucket.ts';
import { rtcPaceRate, rtcPacketsKept } from '../../model/media/rtc-limits.ts';

export class VideoPacer {
  readonly #send: (packet: Buffer) => void;
  readonly #bucket;
  #waiting: Buffer[] = [];
  #again: Buffer[] = [];
  /** Of the access unit that waits; null: none does. */
  #sent: (() => void) | null = null;

  constructor(send: (packet: Buffer) => void, nowMs: number) {
    this.#send = send;
    this.#bucket = fullBucket(rtcPaceRate, nowMs);
  }

  /** `sent`: when the last packet has left. */
  push(packets: readonly Buffer[], sent: () => void, nowMs: number): void {
    assert(this.#sent === null, 'an access unit is sent when the one before it has left');
    this.#waiting = [...packets];
    this.#sent = sent;
    this.tick(nowMs);
  }

  /** Beyond as many as are kept, the rest is left out. */
  pushAgain(packets: readonly Buffer[], nowMs: number): void {
    this.#again.push(...packets.slice(0, rtcPacketsKept - this.#again.length));
    this.tick(nowMs);
  }

  tick(nowMs: number): void {
    while (
      this.#again.length + this.#waiting.length > 0 &&
      waitForToken(this.#bucket, rtcPaceRate, nowMs) === 0
    ) {
      const packet = this.#again.shift() ?? this.#waiting.shift();
      if (packet === undefined) break;
      spendTokens(this.#bucket, packet.length);
      this.#send(packet);
    }
    if (this.#waiting.length === 0) this.#finish();
  }

  /** Nothing leaves any more. */
  close(): void {
    this.#waiting = [];
    this.#again = [];
    this.#finish();
  }

  #finish(): void {
    const sent = this.#sent;
    this.#sent = null;
    sent?.();
  }
}
