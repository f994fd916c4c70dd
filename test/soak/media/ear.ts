/**
 * The reception of one leg of the soak: how many packets came, whether they fell behind or ran ahead of the clock of whoever
 * sent them, and whether the tone is in the last of them.
 */
import { soundBlockMs } from '../../../src/model/media/sound-limits.ts';
import type { AudioFrameFormat, SoundShape } from '../../../src/model/media/sound.ts';
import { packetsPerSecond, type HeardPacket, type Sounds } from './sounds.ts';

/**
 * Between the first third of a stretch and the last. Where these are short, a busy machine may have kept every packet
 * waiting: sound only must not fall ever further behind.
 */
const driftMsMax = { long: 40, short: 1000 };
const thirdSecondsMin = { long: 10, short: 3 };
const packetsKept = 15 * packetsPerSecond;
const packetsJudged = packetsPerSecond / 2;
/** The least share of the packets sent: legs that come again miss some, and more on a busy machine. */
const heardShareMin = 0.7;
const heardShareMax = 1.02;

export class Ear {
  readonly shape: SoundShape;
  readonly complaints: string[] = [];
  packets = 0;
  readonly #whose: string;
  #kept: HeardPacket[] = [];
  /** By second of the stretch: how late the most punctual packet was, against an instant of no meaning. */
  #latenessMs: number[] = [];
  #stretchMs = performance.now();
  readonly #driftMs = { long: 0, short: 0 };

  constructor(whose: string, shape: SoundShape) {
    this.#whose = whose;
    this.shape = shape;
  }

  /** The greatest of all stretches that are long enough; of those that are not. */
  get driftMs(): Readonly<Record<'long' | 'short', number>> {
    return this.#driftMs;
  }

  /** From here on timestamps may count from elsewhere. */
  beginStretch(): void {
    this.#judgeDrift();
    this.#latenessMs = [];
    this.#kept = [];
    this.#stretchMs = performance.now();
  }

  take(format: AudioFrameFormat, timestampMs: number, payload: Uint8Array): void {
    if (format !== this.shape.format) this.complaints.push(`${this.#whose} heard ${format}`);
    const last = this.#kept.at(-1)?.timestampMs ?? timestampMs - soundBlockMs;
    if (timestampMs <= last) this.complaints.push(`${this.#whose} heard ${timestampMs} ms behind ${last} ms`);
    this.packets += 1;
    this.#kept.push({ timestampMs, payload: new Uint8Array(payload) });
    if (this.#kept.length > packetsKept) this.#kept.shift();
    const atMs = performance.now() - this.#stretchMs;
    const second = Math.floor(atMs / 1000);
    this.#latenessMs[second] = Math.min(this.#latenessMs[second] ?? Infinity, atMs - timestampMs);
  }

  /** The complaints about its reception while `sent` packets were sent. */
  judge(sent: number, sounds: Sounds): readonly string[] {
    this.#judgeDrift();
    const share = this.packets / sent;
    const said = this.complaints.slice(0, 1);
    if (!(share >= heardShareMin && share <= heardShareMax))
      said.push(`${this.#whose} heard ${this.packets} packets of ${sent}`);
    for (const length of ['long', 'short'] as const)
      if (this.#driftMs[length] > driftMsMax[length])
        said.push(`the sound of ${this.#whose} drifted by ${this.#driftMs[length]} ms`);
    if (!this.#hearsTone(sounds)) said.push(`${this.#whose} did not hear the tone`);
    return said;
  }

  #judgeDrift(): void {
    // The first second has what waited, the last one is no whole one.
    const lateness = this.#latenessMs.slice(1, -1).filter(Number.isFinite);
    const third = Math.floor(lateness.length / 3);
    if (third < thirdSecondsMin.short) return;
    const length = third < thirdSecondsMin.long ? 'short' : 'long';
    const driftMs = Math.min(...lateness.slice(-third)) - Math.min(...lateness.slice(0, third));
    this.#driftMs[length] = Math.max(this.#driftMs[length], Math.round(Math.abs(driftMs)));
  }

  /** In any stretch of the last packets, none of which is missing: a machine may be busy. */
  #hearsTone(sounds: Sounds): boolean {
    for (let to = this.#kept.length; to >= packetsJudged; to -= packetsJudged) {
      const some = this.#kept.slice(to - packetsJudged, to);
      if (isWhole(some) && sounds.hasTone(this.shape, some)) return true;
    }
    return false;
  }
}

function isWhole(packets: readonly HeardPacket[]): boolean {
  const slackMs = 1;
  const [first, last] = [packets[0]?.timestampMs ?? 0, packets.at(-1)?.timestampMs ?? 0];
  return Math.abs(last - first - (packets.length - 1) * soundBlockMs) <= slackMs;
}
