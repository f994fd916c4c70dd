/**
 * Paces outgoing video packets so that a network does not drop them: one access unit at a time, preceded by packets that are sent again.
 */
import { assert } from '../../lib/assert.ts';
import { fullBucket, spendTokens, waitForToken } from '../../lib/token-bucket.ts';
import { rtcPaceRate, rtcPacketsKept } from '../../model/media/rtc-limits.ts';

export class VideoPacer {
  readonly #send: (packet: Buffer) => void;
  readonly #bucket;
  #waiting: Buffer[] = [];
  #again: Buffer[] = [];
  /** Callback of the waiting access unit; null: none waits. */
  #sent: (() => void) | null = null;

  constructor(send: (packet: Buffer) => void, nowMs: number) {
    this.#send = send;
    this.#bucket = fullBucket(rtcPaceRate, nowMs);
  }

  /** `sent`: called when the last packet was sent. */
  push(packets: readonly Buffer[], sent: () => void, nowMs: number): void {
    assert(this.#sent === null, 'an access unit is sent after the previous one');
    this.#waiting = [...packets];
    this.#sent = sent;
    this.tick(nowMs);
  }

  /** Drops packets beyond the number that is kept. */
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
