/**
 * One call of the soak: its bridge plays films of changing sizes, its device checks every picture, both exchange audio if its
 * kind has any, and either may lose its connection and reconnect.
 */
import { BridgeLeg } from '../../../src/tools/simulator/media-leg.ts';
import type { CallMedia, Size } from '../../../src/model/call.ts';
import { jpegSize } from '../../../src/media/geometry/jpeg.ts';
import { planPicture } from '../../../src/media/geometry/picture-plan.ts';
import { describeFrame } from '../../../src/media/geometry/source-frame.ts';
import type { FrameHeader } from '../../../src/protocol/media/frame-header.ts';
import type { Chance } from '../../support/seeded-random.ts';
import { bridgeKey } from './call-server.ts';
import { connectByWebSocket, connectByWhip, type SoakDevice } from './device.ts';
import { Ear } from './ear.ts';
import { filmSizes, type Film, type FilmLibraries } from './films.ts';
import type { CallKind } from './kinds.ts';
import { packetsPerSecond, type Sounds } from './sounds.ts';

export const framesPerSecond = 15;

export interface CallAccess {
  readonly url: string;
  readonly session: string;
  readonly token: string;
  readonly mode: CallMedia['resolution'];
  readonly screen: Size;
}

export interface SoakCallDeps {
  readonly kind: CallKind;
  readonly films: FilmLibraries;
  readonly sounds: Sounds;
  readonly chance: Chance;
  issue(): Promise<CallAccess>;
}

const timestampOffset = 8;
/** Kinds of change, weighted by repetition. */
const changes = ['device', 'device', 'bridge', 'bridge', 'bridge', 'restart', 'end'] as const;

export class SoakCall {
  /** Correct pictures; `complaints` has the others. */
  readonly pictures = { down: 0, up: 0 };
  readonly complaints: string[] = [];
  readonly kind: CallKind;
  /** The device's and the bridge's; empty: a call without audio. */
  readonly ears: readonly Ear[];
  readonly #deps: SoakCallDeps;
  #access: CallAccess | null = null;
  #sizes: ReadonlySet<string> = new Set();
  #device: SoakDevice | null = null;
  /** Number of the current device; audio of earlier ones is ignored, because each has its own timestamps. */
  #deviceTurn = 0;
  #bridge: BridgeLeg | null = null;
  #film: Film = [];
  #shown = 0;
  #sent = 0;
  #packetsSent = 0;

  constructor(deps: SoakCallDeps) {
    const { device, sound } = deps.kind;
    this.#deps = deps;
    const [downs, ups] = [sound?.rtc ?? sound?.device, sound?.bridgeTakes];
    const name = (leg: string): string => `a ${leg} of a ${device} call`;
    this.kind = deps.kind;
    this.ears =
      downs === undefined || ups === undefined
        ? []
        : [new Ear(name('device'), downs), new Ear(name('bridge'), ups)];
  }

  get packetsSent(): number {
    return this.#packetsSent;
  }

  async begin(): Promise<void> {
    this.#access = await this.#deps.issue();
    const { mode, screen } = this.#access;
    const outputs = filmSizes.map((size) => planPicture(size, { mode, screen })?.output);
    this.#sizes = new Set(outputs.map(inWords));
    await this.#connectDevice();
    await this.#connectBridge();
  }

  /** Reconnects a leg, or restarts the call. */
  async change(): Promise<void> {
    switch (changes[this.#deps.chance.below(changes.length)]) {
      case 'device':
        return this.#connectDevice();
      case 'bridge':
        return this.#connectBridge();
      case 'restart': {
        const wrong = (await this.#device?.restart()) ?? null;
        if (wrong !== null) this.complaints.push(wrong);
        return;
      }
      default:
        await this.hangUp();
        return this.begin();
    }
  }

  /** Sends frames and audio in real time until the returned function is called. */
  play(): () => void {
    const timers = [
      setInterval(() => this.playFrame(), 1000 / framesPerSecond),
      setInterval(() => this.playSound(), 1000 / packetsPerSecond),
    ];
    return () => timers.forEach((timer) => clearInterval(timer));
  }

  playFrame(): void {
    const { upVideo } = this.kind;
    this.#sent += 1;
    const timestampMs = Math.round((this.#sent * 1000) / framesPerSecond);
    if (this.#shown >= this.#film.length) this.#beginFilm();
    const down = stamped(this.#film[this.#shown], timestampMs);
    this.#shown += 1;
    if (down !== null) this.#bridge?.frame(down);
    if (upVideo === null) return;
    const [film = []] = this.#deps.films[upVideo].slice(-1);
    const up = stamped(film[this.#sent % film.length], timestampMs);
    if (up !== null) this.#device?.sendFrame(up, timestampMs);
  }

  playSound(): void {
    const { sound } = this.kind;
    if (sound === null) return;
    this.#packetsSent += 1;
    const { sounds } = this.#deps;
    this.#bridge?.frame(sounds.messageAt(sound.bridgeSends, this.#packetsSent));
    this.#device?.sendSound(
      sounds.messageAt(sound.rtc ?? sound.device, this.#packetsSent),
      this.#packetsSent,
    );
  }

  async hangUp(): Promise<void> {
    const [device, bridge] = [this.#device, this.#bridge];
    this.#device = null;
    await Promise.all([device?.hangUp(), bridge?.closed]);
    this.#bridge = null;
  }

  async #connectDevice(): Promise<void> {
    const access = this.#accessNow;
    const isRtc = this.kind.device === 'webrtc';
    const [deviceEar, bridgeEar] = this.ears;
    const turn = (this.#deviceTurn += 1);
    const former = this.#device;
    this.#device = null;
    if (isRtc) deviceEar?.beginStretch();
    // The new device replaces a connected one, or follows a disconnected one.
    const isReplaced = this.#deps.chance.below(2) === 0;
    if (!isReplaced) await former?.leave();
    const senses = {
      picture: (format: 'mjpeg' | 'h264', bytes: Uint8Array<ArrayBuffer>) =>
        this.#checkPicture(format, bytes),
      sound: (...packet: Parameters<Ear['receive']>) => {
        if (this.#deviceTurn === turn) deviceEar?.receive(...packet);
      },
    };
    const device = await (isRtc ? connectByWhip : connectByWebSocket)(access, senses);
    if (isRtc) bridgeEar?.beginStretch();
    this.#device = device;
    if (isReplaced) await former?.leave();
  }

  async #connectBridge(): Promise<void> {
    const { url, session } = this.#accessNow;
    const { sound, upVideo } = this.kind;
    await this.#bridge?.terminate();
    this.#bridge = null;
    // Until the uplink is requested, the bridge receives the device's own formats.
    let isAskedFor = false;
    const bridge = await BridgeLeg.connect({
      url,
      key: bridgeKey,
      session,
      onKeyFrameWanted: () => this.#beginFilm(),
      onFrame: (header, payload) => {
        if (isAskedFor) this.#receive(header, payload);
      },
    });
    await bridge.next('start');
    bridge.report('connected');
    bridge.requestUplink({ audio: sound?.bridgeTakes ?? null, video: upVideo === null ? null : 'h264' });
    await bridge.ping();
    isAskedFor = true;
    this.#beginFilm();
    this.#bridge = bridge;
  }

  get #accessNow(): CallAccess {
    if (this.#access === null) throw new Error('the call has not begun');
    return this.#access;
  }

  #beginFilm(): void {
    const { films, chance } = this.#deps;
    const choices = films[this.kind.film];
    this.#film = choices[chance.below(choices.length)] ?? [];
    this.#shown = 0;
  }

  #checkPicture(format: 'mjpeg' | 'h264', bytes: Uint8Array<ArrayBuffer>): void {
    const { downVideo } = this.kind;
    const size = format === 'mjpeg' ? jpegSize(bytes) : sizeOfH264(bytes);
    const isRight = size === 'between' || this.#sizes.has(inWords(size));
    if (format === downVideo && isRight) this.pictures.down += 1;
    else this.complaints.push(`${downVideo} came as ${format} of ${inWords(size)}`);
  }

  #receive(header: FrameHeader, payload: Uint8Array): void {
    if (header.kind === 'audio') return this.ears[1]?.receive(header.format, header.timestampMs, payload);
    const size = header.format === 'h264' ? sizeOfH264(new Uint8Array(payload)) : null;
    if (size === 'between' || inWords(size) === inWords(filmSizes.at(-1))) this.pictures.up += 1;
    else this.complaints.push(`H.264 of the device came as ${header.format} of ${inWords(size)}`);
  }
}

function stamped(message: Buffer | undefined, timestampMs: number): Buffer | null {
  message?.writeUInt32BE(timestampMs, timestampOffset);
  return message ?? null;
}

/** Reads the size of a key frame; `between`: another frame. */
function sizeOfH264(payload: Uint8Array<ArrayBuffer>): Size | 'between' | null {
  const frame = { format: 'h264', isKeyFrame: false, width: 0, height: 0, payload } as const;
  const { size, isKey } = describeFrame(frame);
  return isKey ? size : 'between';
}

function inWords(size: Size | 'between' | null | undefined): string {
  if (size === 'between') return size;
  return size === null || size === undefined ? 'no size' : `${size.width}x${size.height}`;
}
