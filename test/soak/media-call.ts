/**
 * One call of the soak: its bridge plays films of changing sizes, its device looks at every picture, and either may lose its
 * connection and come again.
 */
import { BridgeLeg, DeviceLeg } from '../../src/tools/simulator/media-leg.ts';
import type { CallMedia, Size } from '../../src/model/call.ts';
import { jpegSize } from '../../src/media/geometry/jpeg.ts';
import { planPicture } from '../../src/media/geometry/picture-plan.ts';
import type { Chance } from '../support/seeded-random.ts';
import { filmSizes, type Film } from './media-films.ts';

export const framesPerSecond = 15;

export interface CallAccess {
  readonly url: string;
  readonly bridgeKey: string;
  readonly session: string;
  readonly token: string;
  readonly mode: CallMedia['resolution'];
  readonly screen: Size;
}

/** Where a message has its timestamp. */
const timestampOffset = 8;

export class SoakCall {
  /** All good ones, and what was wrong with others. */
  pictures = 0;
  readonly complaints: string[] = [];
  readonly #access: CallAccess;
  readonly #films: readonly Film[];
  readonly #chance: Chance;
  readonly #sizes: ReadonlySet<string>;
  /** Null: it is coming. */
  #device: DeviceLeg | null = null;
  #bridge: BridgeLeg | null = null;
  #film: Film = [];
  #shown = 0;
  #sent = 0;

  constructor(access: CallAccess, films: readonly Film[], chance: Chance) {
    this.#access = access;
    this.#films = films;
    this.#chance = chance;
    const { mode, screen } = access;
    const outputs = filmSizes.map((size) => planPicture(size, { mode, screen })?.output);
    this.#sizes = new Set(outputs.map(inWords));
  }

  async connectDevice(): Promise<void> {
    const { url, token } = this.#access;
    await this.#device?.terminate();
    this.#device = null;
    this.#device = await DeviceLeg.connect({ url, token, onFrame: (_header, jpeg) => this.#look(jpeg) });
  }

  async connectBridge(): Promise<void> {
    const { url, bridgeKey: key, session } = this.#access;
    await this.#bridge?.terminate();
    this.#bridge = null;
    const bridge = await BridgeLeg.connect({
      url,
      key,
      session,
      onKeyFrameWanted: () => this.#beginFilm(),
    });
    await bridge.next('start');
    bridge.report('connected');
    this.#beginFilm();
    this.#bridge = bridge;
  }

  sendNext(): void {
    const bridge = this.#bridge;
    if (bridge === null) return;
    if (this.#shown >= this.#film.length) this.#beginFilm();
    const message = this.#film[this.#shown];
    this.#shown += 1;
    this.#sent += 1;
    message?.writeUInt32BE(Math.round((this.#sent * 1000) / framesPerSecond), timestampOffset);
    if (message !== undefined) bridge.frame(message);
  }

  async hangUp(): Promise<void> {
    this.#device?.hangup();
    await Promise.all([this.#device?.closed, this.#bridge?.closed]);
  }

  /** Another size as likely as not, from its key frame on. */
  #beginFilm(): void {
    this.#film = this.#films[this.#chance.below(this.#films.length)] ?? [];
    this.#shown = 0;
  }

  #look(jpeg: Uint8Array): void {
    const size = inWords(jpegSize(jpeg));
    if (this.#sizes.has(size)) this.pictures += 1;
    else this.complaints.push(`a picture of ${size} for ${this.#access.mode}`);
  }
}

function inWords(size: Size | null | undefined): string {
  return size === null || size === undefined ? 'no size' : `${size.width}x${size.height}`;
}
