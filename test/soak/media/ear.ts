/**
 * Audio reception of one leg of the soak: the number of packets, their drift against the sender's clock, and the presence of
 * the tone in the latest ones.
 */
import { soundBlockMs } from '../../../src/model/media/sound-limits.ts';
import type { AudioFrameFormat, SoundShape } from '../../../src/model/media/sound.ts';
import { packetsPerSecond, type ReceivedPacket, type Sounds } from './sounds.ts';

/**
 * Maximum drift from the first third of a stretch to the last. In a short stretch a busy machine may have delayed every packet,
 * so the limit only catches an unbounded delay.
 */
const driftMsMax = { long: 40, short: 1000 };
const thirdSecondsMin = { long: 10, short: 3 };
const packetsKept = 15 * packetsPerSecond;
const packetsJudged = packetsPerSecond / 2;
/** Accepted share of the packets sent: reconnecting legs miss some, and more on a busy machine. */
const receivedShareMin = 0.7;
const receivedShareMax = 1.02;

export class Ear {
  readonly shape: SoundShape;
  readonly complaints: string[] = [];
  packets = 0;
  readonly #owner: string;
  #kept: ReceivedPacket[] = [];
  /** Minimum lateness of the packets, by second of the stretch, relative to an arbitrary instant. */
  #latenessMs: number[] = [];
  #stretchMs = performance.now();
  readonly #driftMs = { long: 0, short: 0 };

  constructor(owner: string, shape: SoundShape) {
    this.#owner = owner;
    this.shape = shape;
  }

  /** Maximum drift of the long stretches and of the short ones. */
  get driftMs(): Readonly<Record<'long' | 'short', number>> {
    return this.#driftMs;
  }

  /** Starts a stretch with a new origin of timestamps. */
  beginStretch(): void {
    this.#judgeDrift();
    this.#latenessMs = [];
    this.#kept = [];
    this.#stretchMs = performance.now();
  }

  receive(format: AudioFrameFormat, timestampMs: number, payload: Uint8Array): void {
    if (format !== this.shape.format) this.complaints.push(`${this.#owner} received ${format}`);
    const last = this.#kept.at(-1)?.timestampMs ?? timestampMs - soundBlockMs;
    if (timestampMs <= last)
      this.complaints.push(`${this.#owner} received ${timestampMs} ms behind ${last} ms`);
    this.packets += 1;
    this.#kept.push({ timestampMs, payload: new Uint8Array(payload) });
    if (this.#kept.length > packetsKept) this.#kept.shift();
    const atMs = performance.now() - this.#stretchMs;
    const second = Math.floor(atMs / 1000);
    this.#latenessMs[second] = Math.min(this.#latenessMs[second] ?? Infinity, atMs - timestampMs);
  }

  judge(sent: number, sounds: Sounds): readonly string[] {
    this.#judgeDrift();
    const share = this.packets / sent;
    const complaints = this.complaints.slice(0, 1);
    if (!(share >= receivedShareMin && share <= receivedShareMax))
      complaints.push(`${this.#owner} received ${this.packets} packets of ${sent}`);
    for (const length of ['long', 'short'] as const)
      if (this.#driftMs[length] > driftMsMax[length])
        complaints.push(`the audio of ${this.#owner} drifted by ${this.#driftMs[length]} ms`);
    if (!this.#hasTone(sounds)) complaints.push(`${this.#owner} did not receive the tone`);
    return complaints;
  }

  #judgeDrift(): void {
    // The first second has queued packets, and the last one is incomplete.
    const lateness = this.#latenessMs.slice(1, -1).filter(Number.isFinite);
    const third = Math.floor(lateness.length / 3);
    if (third < thirdSecondsMin.short) return;
    const length = third < thirdSecondsMin.long ? 'short' : 'long';
    const driftMs = Math.min(...lateness.slice(-third)) - Math.min(...lateness.slice(0, third));
    this.#driftMs[length] = Math.max(this.#driftMs[length], Math.round(Math.abs(driftMs)));
  }

  /** Searches the latest packets for a gapless run with the tone, because a busy machine may lose some. */
  #hasTone(sounds: Sounds): boolean {
    for (let to = this.#kept.length; to >= packetsJudged; to -= packetsJudged) {
      const some = this.#kept.slice(to - packetsJudged, to);
      if (isWhole(some) && sounds.hasTone(this.shape, some)) return true;
    }
    return false;
  }
}

function isWhole(packets: readonly ReceivedPacket[]): boolean {
  const slackMs = 1;
  const [first, last] = [packets[0]?.timestampMs ?? 0, packets.at(-1)?.timestampMs ?? 0];
  return Math.abs(last - first - (packets.length - 1) * soundBlockMs) <= slackMs;
}
