/**
 * Puts the packets of one stream in order, within a window: an early packet is held until the packets before it arrive or time out.
 * Duplicates and late packets are dropped. Missing packets are listed, so that they can be requested again.
 */
import { acquireTokens, fullBucket } from '../../lib/token-bucket.ts';
import {
  rtcMissingRateMax,
  rtcNackMsMin,
  rtcNacksMax,
  rtcReorderPacketsMax,
} from '../../model/media/rtc-limits.ts';
import { sequenceDistance, type RtpPacket } from '../../protocol/rtp/rtp-packet.ts';

/** `lost`: packets before the next one are missing for good. */
export type InOrder = RtpPacket | 'lost';

interface Missing {
  readonly sinceMs: number;
  askedMs: number;
  asks: number;
}

/** Grace for packets that are merely out of order, before they are requested. */
const patienceMs = 20;

export class ReorderWindow {
  readonly #waitMsMax: number;
  #next: number | null = null;
  /** One above the highest sequence number received. */
  #end = 0;
  readonly #held = new Map<number, RtpPacket>();
  readonly #missing = new Map<number, Missing>();
  readonly #mayMiss = fullBucket(rtcMissingRateMax, 0);
  /** The latest packet, far from all others. */
  #jumped: RtpPacket | null = null;

  constructor(waitMsMax: number) {
    this.#waitMsMax = waitMsMax;
  }

  get isWaiting(): boolean {
    return this.#held.size > 0;
  }

  push(packet: RtpPacket, nowMs: number): InOrder[] {
    if (this.#next === null) return this.#restart(packet);
    const ahead = sequenceDistance(this.#next, packet.sequence);
    const isFar = Math.abs(ahead) >= rtcReorderPacketsMax;
    if (!isFar && (ahead < 0 || this.#held.has(packet.sequence))) return [];
    if (isFar) return this.#jump(packet);
    this.#jumped = null;
    if (!this.#acquireGap(packet.sequence, nowMs)) return [...this.#giveUp(), ...this.#restart(packet)];
    this.#missing.delete(packet.sequence);
    this.#held.set(packet.sequence, packet);
    this.#recordMissing(packet.sequence, nowMs);
    return this.#release();
  }

  tick(nowMs: number): InOrder[] {
    const released: InOrder[] = [];
    for (;;) {
      const oldest = this.#next === null ? undefined : this.#missing.get(this.#next);
      if (oldest === undefined || nowMs - oldest.sinceMs < this.#waitMsMax) return released;
      released.push('lost', ...this.#skip());
    }
  }

  /** Sequence numbers to request now, ascending; each is listed a few times at most. */
  ask(nowMs: number): number[] {
    const sequences: number[] = [];
    for (const [sequence, missing] of this.#missing) {
      const isDue = nowMs - missing.sinceMs >= patienceMs && nowMs - missing.askedMs >= rtcNackMsMin;
      if (!isDue || missing.asks === rtcNacksMax) continue;
      missing.askedMs = nowMs;
      missing.asks += 1;
      sequences.push(sequence);
    }
    return sequences;
  }

  /** A single packet far off is ignored; if the next one follows it, the stream restarts there. Source: RFC 3550, A.1. */
  #jump(packet: RtpPacket): InOrder[] {
    const first = this.#jumped;
    this.#jumped = packet;
    if (first === null || sequenceDistance(first.sequence, packet.sequence) !== 1) return [];
    this.#jumped = null;
    return [...this.#giveUp(), ...this.#restart(first), ...this.#restart(packet)];
  }

  /** False: more packets are missing than may be awaited. */
  #acquireGap(sequence: number, nowMs: number): boolean {
    const gap = Math.max(0, sequenceDistance(this.#end, sequence));
    return acquireTokens(this.#mayMiss, rtcMissingRateMax, nowMs, gap) === 0;
  }

  /** Records the packets that a new highest one has skipped. Newest last, by the map's order. */
  #recordMissing(highest: number, nowMs: number): void {
    if (sequenceDistance(this.#end, highest) < 0) return;
    for (; this.#end !== highest; this.#end = (this.#end + 1) & 0xffff)
      this.#missing.set(this.#end, { sinceMs: nowMs, askedMs: -Infinity, asks: 0 });
    this.#end = (highest + 1) & 0xffff;
  }

  #release(): RtpPacket[] {
    const released: RtpPacket[] = [];
    while (this.#next !== null) {
      const packet = this.#held.get(this.#next);
      if (packet === undefined) break;
      this.#held.delete(this.#next);
      this.#next = (this.#next + 1) & 0xffff;
      released.push(packet);
    }
    return released;
  }

  #skip(): RtpPacket[] {
    while (this.#next !== null && this.#missing.delete(this.#next)) this.#next = (this.#next + 1) & 0xffff;
    return this.#release();
  }

  #giveUp(): InOrder[] {
    const released: InOrder[] = ['lost'];
    while (this.#held.size > 0) released.push(...this.#skip(), 'lost');
    return released;
  }

  #restart(packet: RtpPacket): RtpPacket[] {
    this.#missing.clear();
    this.#end = (packet.sequence + 1) & 0xffff;
    this.#next = this.#end;
    return [packet];
  }
}
