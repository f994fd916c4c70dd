/** Both legs of a call of the demo: its bridge, which plays the phone too, and its device; and their pictures side by side. */
import { writeFile } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import type { Engine } from '../../media/codec/engine.ts';
import {
  BridgeLeg,
  requestInWords,
  type StartText,
  DeviceLeg,
  type MediaLeg,
} from '../simulator/media-leg.ts';
import { noPlaybackTally, type BridgePlayback } from '../bridge/bridge-playback.ts';
import { beginShow, type ShowPlan } from '../bridge/bridge-show.ts';
import { DemoFailure, within, type DemoStage } from './demo-stage.ts';
import type { LegText } from '../simulator/awaited-texts.ts';
import { ReceivedPictures, type ReceivedPicture } from '../simulator/received-pictures.ts';
import type { Timeline } from '../bridge/timeline.ts';
import { decodeJpeg, encodePng, type RgbPicture } from '../../media/codec/picture-file.ts';
import { sizeInWords } from '../bridge/picture-sizes.ts';

/** About a second of it. */
const picturesWanted = 15;

export class DemoLegs {
  readonly #stage: DemoStage;
  readonly #timeline: Timeline;
  readonly #pictures: ReceivedPictures;
  #bridge: BridgeLeg | null = null;
  #device: DeviceLeg | null = null;
  #start: StartText | null = null;
  #playback: BridgePlayback | null = null;

  constructor(stage: DemoStage, timeline: Timeline) {
    this.#stage = stage;
    this.#timeline = timeline;
    this.#pictures = new ReceivedPictures(stage.clock, picturesWanted);
  }

  /** Before a call is issued: an idle bridge is asked at once. */
  async standBridge(): Promise<void> {
    const { mediaUrl: url, bridge } = this.#stage;
    const onKeyFrameWanted = (): void => this.#playback?.wantKeyFrame();
    const connecting = BridgeLeg.connect({ url, key: bridge.key, onKeyFrameWanted });
    this.#bridge = await within(this.#stage.clock, 'a bridge that is let in', connecting);
    this.#timeline.notify('bridge', `connected as ${bridge.bridgeId}, and idle`);
  }

  /** Calls of others are refused: the application may have real ones. */
  async takeCall(session: string): Promise<void> {
    const accepting = connected(this.#bridge).acceptAssignment(session);
    const { assign, start } = await within(this.#stage.clock, `an assignment of ${session}`, accepting);
    this.#timeline.notify('bridge', `assigned ${assign.session}, and accepts`, { assign });
    this.#start = start;
    const { request, audio } = start;
    this.#timeline.notify('bridge', `told what to ask the phone for: ${requestInWords(start)}`, {
      start: { request, audio, room: { room_id: start.room.room_id } },
    });
  }

  async connectDevice(token: string): Promise<void> {
    const onFrame = this.#pictures.take;
    const connecting = DeviceLeg.connect({ url: this.#stage.mediaUrl, token, onFrame });
    this.#device = await within(this.#stage.clock, 'a device leg that is let in', connecting);
    this.#timeline.notify('device leg', 'connected with the token of the message');
  }

  async accept(): Promise<void> {
    connected(this.#device).accept();
    this.#timeline.notify('device leg', 'accepts the call');
    await this.#expectState('bridge', 'attempting');
  }

  /** The phone has joined. */
  async answer(): Promise<void> {
    connected(this.#bridge).report('connected');
    this.#timeline.notify('bridge', 'reports: connected');
    await this.#expectState('device leg', 'connected');
  }

  /** What the phone shows reaches the device: resolves to its last picture, when it has had some. */
  async showPictures(engine: Engine, plan: ShowPlan): Promise<ReceivedPicture> {
    const { clock } = this.#stage;
    const logger = {
      notify: (_event: string, json: object, text: string) =>
        this.#timeline.notify('bridge', text, { playing: json }),
      trouble: (reason: string) => this.#timeline.notify('bridge', reason),
    };
    const deps = { clock, engine, tally: noPlaybackTally(), logger };
    this.#playback = beginShow(deps, plan, connected(this.#start), connected(this.#bridge));
    const coming = this.#pictures.whenThere();
    const { text, json, last } = await within(clock, `${picturesWanted} pictures at the device`, coming);
    this.#timeline.notify('device leg', text, { pictures: json });
    return last;
  }

  /** The phone, on the bridge's word. */
  async hangUp(): Promise<void> {
    this.#endShow();
    connected(this.#bridge).report('ended', 'hangup_phone');
    this.#timeline.notify('bridge', 'reports: the phone has hung up');
    await this.#expectState('device leg', 'ended');
    const { code, reason } = await within(
      this.#stage.clock,
      'the end of the device leg',
      connected(this.#device).closed,
    );
    if (code !== 1000) throw new DemoFailure('close code 1000', code);
    this.#timeline.notify('device leg', `closed with ${code} ${reason}`, { close: { code, reason } });
  }

  /** Leaves nothing open, whatever the call came to. */
  async close(): Promise<void> {
    this.#endShow();
    await Promise.all([this.#bridge?.terminate(), this.#device?.terminate()]);
  }

  #endShow(): void {
    this.#playback?.stop();
    this.#playback = null;
  }

  async #expectState(who: 'bridge' | 'device leg', expected: string): Promise<void> {
    const leg: MediaLeg = connected(who === 'bridge' ? this.#bridge : this.#device);
    const coming = leg.until(({ type, state }) => type === 'state' && state === expected);
    const { state, reason } = (await within(this.#stage.clock, `the state ${expected}`, coming)) as StateText;
    const why = reason === null ? '' : `, ${reason}`;
    this.#timeline.notify(who, `told: the call is ${state}${why}`, { state, reason });
  }
}

interface StateText extends LegText {
  readonly state: string;
  readonly reason: string | null;
}

function connected<Part>(part: Part | null): Part {
  if (part === null) throw new DemoFailure('a leg that is connected', 'none');
  return part;
}

const fileName = 'reveille-demo-pictures.png';
const gap = 8;
/** Of what is between and below them. */
const grey = 40;

export interface NamedPicture extends ReceivedPicture {
  readonly name: string;
}

/** Says where it is; what cannot be written is said, too, and spoils no story. */
export async function savePictures(
  engine: Engine,
  pictures: readonly NamedPicture[],
  directory: string,
  timeline: Timeline,
): Promise<void> {
  const path = join(resolve(directory), fileName);
  const { size, rgb } = sideBySide(pictures.map(({ jpeg }) => decodeJpeg(engine, jpeg)));
  const names = pictures.map((picture) => `${picture.name} ${sizeInWords(picture.size)}`).join(' | ');
  try {
    await writeFile(path, encodePng(engine, size, rgb));
    timeline.notify('demo', `pictures saved: ${path}`, { saved: path }, [`  ${names}`]);
  } catch (error) {
    timeline.notify(
      'demo',
      `pictures not saved: ${(error as Error).message}; name a directory with --pictures`,
    );
  }
}

/** From left to right, their upper edges in line. */
export function sideBySide(pictures: readonly RgbPicture[]): RgbPicture {
  const width = pictures.reduce((sum, { size }) => sum + size.width, gap * Math.max(0, pictures.length - 1));
  const height = Math.max(0, ...pictures.map(({ size }) => size.height));
  const rgb = new Uint8Array(width * height * 3).fill(grey);
  let left = 0;
  for (const { size, rgb: pixels } of pictures) {
    for (let row = 0; row < size.height; row += 1) {
      const line = pixels.subarray(row * size.width * 3, (row + 1) * size.width * 3);
      rgb.set(line, (row * width + left) * 3);
    }
    left += size.width + gap;
  }
  return { size: { width, height }, rgb };
}
