/**
 * The packets of one source of video to whole access units. Packets of one timestamp form one access unit: it ends when
 * another timestamp comes, and the marker is a hint. A unit ends by its marker at once only after the source has shown
 * that it marks nothing but last packets. NAL units without a slice are kept for the picture that follows. After a loss no
 * unit is delivered before the next key frame, which is requested. Source: RFC 6184, 5.1; ITU-T H.264, 7.4.1.2.3.
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
  /** No picture can be shown before the next key frame. Called for each unit that is dropped. */
  pictureLost(): void;
}

interface OpenUnit {
  readonly timestamp: number;
  readonly startedMs: number;
  lastMs: number;
  hasSlices: boolean;
  /** The marker is on its last packet with a slice, or behind it. */
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
  /** The unit that ended before another timestamp came. */
  #ended: Pick<OpenUnit, 'timestamp' | 'isMarked'> | null = null;
  /** Units whose marker was on the last packet; -Infinity: the source has marked another one. */
  #markedUnits = 0;
  /** Packets are missing before the next one. */
  #isBehindGap: boolean;
  #waitsForKey = true;

  /** `isJoinedLate`: packets of the source were dropped before. */
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
    // Padding alone, which a sender probes the network with, has no payload.
    else if (item.payload.length > 0) this.#pushPacket(item, nowMs);
  }

  /** Ends a unit that no packet has continued for too long. Not to be called while packets before the next one are awaited. */
  tick(nowMs: number): void {
    if (this.#unit === null) return;
    const waitMs = this.#isEndMarked(this.#unit) ? rtcUnitMarkedMs : rtcUnitSilenceMs;
    if (nowMs - this.#unit.lastMs >= waitMs) this.close();
  }

  /** Ends the unit that is gathered: nothing follows. */
  close(): void {
    if (this.#unit === null) return;
    const { hasSlices, isMarked } = this.#unit;
    // Its end is lost where all others had a marker.
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

  /** As far as is known of the source. */
  #isEndMarked({ isMarked }: OpenUnit): boolean {
    return isMarked && this.#markedUnits >= 0;
  }

  /** The rest of a picture that was delivered too early, or given up. */
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
