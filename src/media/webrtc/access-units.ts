/**
 * Assembles the packets of one video source into access units. Packets with one timestamp form a unit, which ends with the next
 * timestamp; the marker is only a hint. A marker ends a unit at once only after the source has shown that it marks only last packets.
 * NAL units without a slice are kept for the next picture. After a loss no unit is delivered before the next key frame, which is
 * requested. Source: RFC 6184, 5.1; ITU-T H.264, 7.4.1.2.3.
 */
import { mediaMessageBytesMax } from '../../model/limits.ts';
import {
  rtcMarkedUnitsMin,
  rtcUnitMarkedMs,
  rtcUnitMsMax,
  rtcUnitSilenceMs,
} from '../../model/media/rtc-limits.ts';
import {
  H264Assembler,
  hasSlice,
  isKeySlice,
  isParameterSet,
  isSlice,
  isTrailing,
  joinAnnexB,
} from '../../protocol/rtp/h264-payload.ts';
import type { RtpPacket } from '../../protocol/rtp/rtp-packet.ts';
import type { PacketSink } from './incoming-stream.ts';
import { LeadingUnits } from './leading-units.ts';
import { StreamClock } from './reception.ts';
import type { InOrder } from './reorder-window.ts';

export interface AccessUnitsOwner {
  video(accessUnit: Uint8Array<ArrayBuffer>, isKey: boolean, timestampMs: number): void;
  /** No picture can be shown before the next key frame. Called for each dropped unit. */
  pictureLost(): void;
}

interface OpenUnit {
  readonly timestamp: number;
  readonly startedMs: number;
  lastMs: number;
  hasSlices: boolean;
  /** The marker was on its last packet with a slice, or after it. */
  isMarked: boolean;
  isBroken: boolean;
}

export class AccessUnits implements PacketSink {
  readonly clock: StreamClock;
  readonly #owner: AccessUnitsOwner;
  readonly #assembler = new H264Assembler(mediaMessageBytesMax);
  #unit: OpenUnit | null = null;
  /** NAL units that precede the next picture. */
  readonly #leading = new LeadingUnits();
  /** The unit that ended before another timestamp arrived. */
  #ended: Pick<OpenUnit, 'timestamp' | 'isMarked'> | null = null;
  /** Units whose marker was on the last packet; -Infinity: the source has set a marker elsewhere. */
  #markedUnits = 0;
  /** Packets are missing before the next one. */
  #isBehindGap: boolean;
  #waitsForKey = true;

  /** `isJoinedLate`: earlier packets of the source were dropped. */
  constructor(clockRate: number, owner: AccessUnitsOwner, isJoinedLate: boolean) {
    this.clock = new StreamClock(clockRate);
    this.#owner = owner;
    this.#isBehindGap = isJoinedLate;
  }

  push(item: InOrder, nowMs: number): void {
    if (item === 'lost') {
      this.#isBehindGap = true;
      this.#owner.pictureLost();
    }
    // A packet of padding only, sent to probe the network, has no payload.
    else if (item.payload.length > 0) this.#pushPacket(item, nowMs);
  }

  /** Ends a unit that has received no packet for too long. Must not be called while missing packets are awaited. */
  tick(nowMs: number): void {
    if (this.#unit === null) return;
    const waitMs = this.#isEndMarked(this.#unit) ? rtcUnitMarkedMs : rtcUnitSilenceMs;
    if (nowMs - this.#unit.lastMs >= waitMs) this.close();
  }

  close(): void {
    if (this.#unit === null) return;
    const { hasSlices, isMarked } = this.#unit;
    // If all other units had a marker, the end of this one was lost.
    if (hasSlices && !isMarked && this.#markedUnits >= rtcMarkedUnitsMin) this.#unit.isBroken = true;
    if (hasSlices) this.#ended = this.#unit;
    this.#end();
  }

  #pushPacket({ timestamp, marker, payload }: RtpPacket, nowMs: number): void {
    if (this.#unit !== null && this.#unit.timestamp !== timestamp) {
      if (this.#isBehindGap && !this.#isEndMarked(this.#unit)) this.#unit.isBroken = true;
      this.#end();
    }
    if (this.#unit === null && this.#ended?.timestamp !== timestamp) this.#ended = null;
    const carriesSlice = hasSlice(payload);
    if (carriesSlice && this.#ended !== null) return this.#rejectLate(this.#ended);
    const unit = (this.#unit ??= begin(timestamp, nowMs));
    if (this.#isBehindGap) {
      unit.isBroken = true;
      this.#isBehindGap = false;
      this.#requireKey();
    }
    this.#assembler.push(payload);
    if (carriesSlice && unit.isMarked) this.#markedUnits = -Infinity;
    unit.hasSlices ||= carriesSlice;
    unit.isMarked = unit.hasSlices && (marker || (unit.isMarked && !carriesSlice));
    unit.lastMs = nowMs;
    if (nowMs - unit.startedMs > rtcUnitMsMax) unit.isBroken = true;
    else if (!unit.isMarked || this.#markedUnits < rtcMarkedUnitsMin) return;
    this.close();
  }

  /** The unit's end is marked, as far as the source is known to mark ends. */
  #isEndMarked({ isMarked }: OpenUnit): boolean {
    return isMarked && this.#markedUnits >= 0;
  }

  /** The rest of a picture that was delivered or abandoned too early. */
  #rejectLate({ isMarked }: Pick<OpenUnit, 'isMarked'>): void {
    if (isMarked) this.#markedUnits = -Infinity;
    this.#isBehindGap = false;
    this.#requireKey();
  }

  #end(): void {
    const unit = this.#unit;
    if (unit === null) return;
    this.#unit = null;
    const units = this.#assembler.end();
    if (unit.isMarked && !unit.isBroken) this.#markedUnits += 1;
    if (units === null || unit.isBroken) return this.#drop(units ?? []);
    const slicesEnd = units.findLastIndex(isSlice) + 1;
    if (slicesEnd === 0) return this.#leading.add(units);
    const isKey = isKeySlice(units.find(isSlice) ?? new Uint8Array());
    if (!isKey && this.#waitsForKey) return this.#drop(units);
    this.#waitsForKey = false;
    const next = units.findIndex((nal, index) => index >= slicesEnd && !isTrailing(nal));
    const own = next === -1 ? units : units.slice(0, next);
    const accessUnit = joinAnnexB([...this.#leading.empty(), ...own]);
    this.#leading.add(units.slice(own.length));
    this.#owner.video(accessUnit, isKey, this.clock.toMs(unit.timestamp, unit.lastMs));
  }

  #drop(units: readonly Uint8Array[]): void {
    this.#leading.add(units.filter(isParameterSet));
    this.#requireKey();
  }

  #requireKey(): void {
    this.#waitsForKey = true;
    this.#owner.pictureLost();
  }
}

function begin(timestamp: number, nowMs: number): OpenUnit {
  return { timestamp, startedMs: nowMs, lastMs: nowMs, hasSlices: false, isMarked: false, isBroken: false };
}
