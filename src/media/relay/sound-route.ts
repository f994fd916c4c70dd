/**
 * The sound of one direction of a call: passes packets to the receivers of their format, and transcodes them for the others, one at a
 * time and in order. The transcoder is opened for the first packet that needs it. Source: calls-and-media.md, Legs.
 */
import type { Clock } from '../../lib/clock.ts';
import {
  fullBucket,
  spendTokens,
  waitForToken,
  type Rate,
  type TokenBucket,
} from '../../lib/token-bucket.ts';
import type { Transcoders } from '../transcoding/transcoder-pool.ts';
import type { SoundTranscoder } from '../transcoding/transcoder-session.ts';
import { audioBytesWaitingMax } from '../../model/limits.ts';
import { soundBurstMs, soundRetryMsMin, soundShareMax } from '../../model/media/sound-limits.ts';
import type { MediaFrameResult } from '../../model/media/picture.ts';
import {
  encodingOf,
  isSameShape,
  isSameSound,
  type MadeSound,
  type SampleShape,
  type SoundPacket,
  type SoundResult,
  type SoundShape,
} from '../../model/media/sound.ts';
import { encodeFrameHeader } from '../../protocol/media/frame-header.ts';
import { describeSound, type SoundSource } from '../sound/sound-source.ts';
import { AudioQueue } from './media-queues.ts';
import type { OverdueReports } from './overdue-frames.ts';
import type { MediaUnavailable, SendQueue } from './send-queue.ts';
import type { FrameTally } from './session-stats.ts';

export interface SoundReceiver {
  readonly sound: SoundShape | 'any';
  readonly sendQueue: SendQueue;
  readonly mediaUnavailable?: MediaUnavailable | undefined;
}

/** Milliseconds of worker time. */
const work: Rate = { perSecond: soundShareMax * 1000, burst: soundBurstMs };

interface WaitingSound extends SoundPacket {
  /** Its own shape if it describes itself. */
  readonly assumed: SampleShape;
  /** Its result here is the result of the packet. */
  readonly isCounted: boolean;
}

export interface SoundRouteDeps {
  readonly clock: Clock;
  readonly transcoders: Pick<Transcoders, 'openSound' | 'soundEncoders'>;
  readonly tally: FrameTally;
  readonly overdue: OverdueReports;
  /** Current receivers; the result for the first one is the result of a packet. */
  readonly receivers: () => readonly SoundReceiver[];
}

export class SoundRoute {
  readonly #deps: SoundRouteDeps;
  readonly #waiting: AudioQueue<WaitingSound>;
  /** The last AMR source, whose band the next packet likely has. */
  #amr: SoundSource | null = null;
  #transcoder: SoundTranscoder | null = null;
  #refusal: 'load' | 'unsupported' = 'load';
  #refusedAtMs = Number.NEGATIVE_INFINITY;
  #stage: 'free' | 'working' | 'closed' = 'free';
  readonly #work: TokenBucket;

  constructor(deps: SoundRouteDeps) {
    this.#deps = deps;
    this.#work = fullBucket(work, deps.clock.monotonicMs());
    this.#waiting = new AudioQueue((packet) => this.#lost(packet, 'slow_leg'));
  }

  /**
   * `headerBytes`: sent with packets that pass. `otherwise`: the shape if the packet does not describe itself. False: there is no
   * receiver, and it is not counted.
   */
  receive(packet: SoundPacket, headerBytes: Uint8Array, otherwise: SampleShape): boolean {
    const receivers = this.#deps.receivers();
    if (receivers.length === 0) return false;
    const assumed = this.#shapeOf(packet, otherwise);
    const passing = receivers.filter(({ sound }) => passes(packet, assumed, sound));
    for (const receiver of passing)
      receiver.sendQueue.offerAudio({
        timestampMs: packet.timestampMs,
        payload: packet.payload,
        header: headerBytes,
        done: 'audio',
        isCounted: receiver === receivers[0],
      });
    if (passing.length < receivers.length)
      this.#convert({ ...packet, assumed, isCounted: passing[0] !== receivers[0] });
    return true;
  }

  close(): void {
    this.#stage = 'closed';
    for (let packet = this.#waiting.shift(); packet !== undefined; packet = this.#waiting.shift())
      this.#lost(packet, 'no_receiver');
    this.#transcoder?.close();
    this.#transcoder = null;
  }

  /** Unreadable AMR has the assumed shape. */
  #shapeOf(packet: SoundPacket, assumed: SampleShape): SampleShape {
    const described = packet.format === 'amr' ? describeSound(packet, assumed, this.#amr) : null;
    this.#amr = described ?? this.#amr;
    return described ?? assumed;
  }

  #convert(packet: WaitingSound): void {
    if (this.#deps.overdue.isRefused()) return this.#lost(packet, 'overdue');
    if (packet.payload.length > audioBytesWaitingMax) return this.#lost(packet, 'too_large');
    this.#waiting.push(packet);
    this.#processNext();
  }

  #processNext(): void {
    while (this.#stage === 'free') {
      const packet = this.#waiting.shift();
      if (packet === undefined) return;
      const receivers = this.#deps.receivers();
      const targets = this.#targetsOf(packet, receivers);
      const transcoder = targets.length === 0 ? noneFor(receivers) : this.#transcoderNow();
      if (typeof transcoder === 'string') this.#loseFor(receivers, packet, transcoder);
      else void this.#transcode(transcoder, packet, targets);
    }
  }

  async #transcode(
    transcoder: SoundTranscoder,
    packet: WaitingSound,
    targets: readonly SoundShape[],
  ): Promise<void> {
    this.#stage = 'working';
    const { format, timestampMs, payload } = packet;
    const result = await transcoder.transcode({ format, timestampMs, payload }, packet.assumed, targets);
    if (result.drop === 'overdue') this.#deps.overdue.add();
    if (this.#isClosed) return this.#lost(packet, 'no_receiver');
    this.#stage = 'free';
    spendTokens(this.#work, result.workMs);
    this.#deps.tally.rebuilt(result.rebuilds);
    this.#deliver(packet, targets, result);
    this.#processNext();
  }

  #deliver(packet: WaitingSound, targets: readonly SoundShape[], { packets, drop }: SoundResult): void {
    const receivers = this.#deps.receivers();
    if (receivers.length === 0) this.#lost(packet, 'no_receiver');
    for (const [place, { sound: shape, sendQueue }] of receivers.entries()) {
      const isCounted = packet.isCounted && place === 0;
      const at = targets.findIndex((target) => shape !== 'any' && isSameSound(target, shape));
      const made = packets[at]?.filter(({ timestampMs }) => !sendQueue.hasPassed(timestampMs)) ?? [];
      // The result of the first packet made is the result of the source packet.
      for (const [n, sound] of made.entries())
        if (shape !== 'any') sendQueue.offerAudio(outgoing(shape, sound, isCounted && n === 0));
      if (made.length > 0 || !isCounted) continue;
      this.#deps.tally.frame(drop ?? (at === -1 ? 'unsupported' : 'transcoded'));
    }
  }

  /** Formats to make from the packet, without duplicates. */
  #targetsOf(packet: WaitingSound, receivers: readonly SoundReceiver[]): readonly SoundShape[] {
    const targets: SoundShape[] = [];
    for (const { sound: shape, mediaUnavailable } of receivers) {
      if (shape === 'any' || passes(packet, packet.assumed, shape)) continue;
      const canBeMade = this.#deps.transcoders.soundEncoders.includes(encodingOf(shape));
      if (!canBeMade) mediaUnavailable?.('audio', 'unsupported');
      else if (!targets.some((target) => isSameSound(target, shape))) targets.push(shape);
    }
    return targets;
  }

  /** After a refusal, waits before it asks again. */
  #transcoderNow(): SoundTranscoder | 'load' | 'unsupported' {
    const nowMs = this.#deps.clock.monotonicMs();
    if (waitForToken(this.#work, work, nowMs) > 0) return 'load';
    if (this.#transcoder !== null) return this.#transcoder;
    if (nowMs - this.#refusedAtMs < soundRetryMsMin) return this.#refusal;
    const opened = this.#deps.transcoders.openSound();
    if (opened.ok) return (this.#transcoder = opened.value);
    this.#refusedAtMs = nowMs;
    this.#refusal = opened.error === 'load' ? 'load' : 'unsupported';
    return this.#refusal;
  }

  #loseFor(
    receivers: readonly SoundReceiver[],
    packet: WaitingSound,
    why: 'load' | 'unsupported' | 'no_receiver',
  ): void {
    this.#lost(packet, why);
    if (why === 'no_receiver') return;
    for (const { sound, mediaUnavailable } of receivers)
      if (!passes(packet, packet.assumed, sound)) mediaUnavailable?.('audio', why);
  }

  #lost({ isCounted }: WaitingSound, why: MediaFrameResult): void {
    if (isCounted) this.#deps.tally.frame(why);
  }

  get #isClosed(): boolean {
    return this.#stage === 'closed';
  }
}

function noneFor(receivers: readonly SoundReceiver[]): 'no_receiver' | 'unsupported' {
  return receivers.length === 0 ? 'no_receiver' : 'unsupported';
}

function passes({ format }: SoundPacket, assumed: SampleShape, shape: SoundShape | 'any'): boolean {
  if (shape === 'any') return true;
  if (format !== shape.format) return false;
  if (format === 'amr') return assumed.rate === shape.rate;
  return format === 'opus' || isSameShape(assumed, shape);
}

function outgoing({ format }: SoundShape, { timestampMs, payload }: MadeSound, isCounted: boolean) {
  const header = encodeFrameHeader({ kind: 'audio', format, timestampMs });
  return { timestampMs, payload, header, done: 'transcoded', isCounted } as const;
}
