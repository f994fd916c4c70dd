/**
 * The calls of the story, by both of their legs: a phone has opened a room, a bridge stands in it for the device and plays
 * what the phone shows. One call for each way of scaling, from the same pictures. What a backend does is what any backend does; the
 * phone is played by its bridge. Source: calls-and-media.md; running.md, Two commands.
 */
import type { CallCredentialsData } from '../../client/reveille-client.ts';
import { openEngine, type Engine } from '../../media/codec/engine.ts';
import { type ShowPlan, beginShow } from '../bridge/bridge-show.ts';
import type { DemoBackend } from './demo-backend.ts';
import { type DemoStage, DemoFailure, within } from './demo-stage.ts';
import type { Timeline } from './timeline.ts';
import { sessionOf, simulatedRoom, type RoomMedia } from '../simulator/simulated-room.ts';
import type { DemoDevice } from './demo-device.ts';
import { DemoPhone, ReceivedPictures, savePictures, type PicturesTold } from './demo-pictures.ts';
import {
  BridgeLeg,
  requestInWords,
  type StartText,
  DeviceLeg,
  type LegText,
  type MediaLeg,
} from '../simulator/media-leg.ts';
import { deviceScreen, pictureSheet, type NamedPicture } from './picture-sheet.ts';
import { noPlaybackTally, type BridgePlayback } from '../bridge/bridge-playback.ts';

/** By which a device is given what it joins a call with. */
const messageName = 'msga_join_voip_room';
const screen = { screen_width: deviceScreen.width, screen_height: deviceScreen.height };
const scalings = { fit_screen: 'the whole picture on the screen', fill_screen: 'the screen filled' } as const;

interface Actors {
  readonly device: DemoDevice;
  readonly backend: DemoBackend;
}

export async function playCalls(
  stage: DemoStage,
  timeline: Timeline,
  { picturesDirectory, ...actors }: Actors & { readonly picturesDirectory: string },
): Promise<void> {
  const engine = await openEngine();
  if (!engine.ok) {
    await timeline.chapter('A call, of sound only');
    timeline.notify('demo', `the call carries no pictures: ${engine.error}`);
    await playCall(stage, timeline, actors, { no_video: true }, () => Promise.resolve());
    return;
  }
  const phone = new DemoPhone(engine.value);
  const pictures: NamedPicture[] = [];
  for (const mode of ['fit_screen', 'fill_screen'] as const) {
    const video = { down_video_mt: 'mjpeg', video_res_mode: mode, ...screen } as const;
    await timeline.chapter(`A call with video, ${scalings[mode]} (${mode})`);
    await playCall(stage, timeline, actors, video, async (legs) => {
      const { text, last } = await legs.showPictures(engine.value, phone.plan);
      pictures.push({ name: mode, ...last });
      timeline.result(`a call with ${mode}`, text);
    });
  }
  const shown = pictureSheet(engine.value, phone.lastPicture(), pictures);
  await savePictures(engine.value, shown, picturesDirectory, timeline);
}

/** `converse`: what happens while it is connected. */
async function playCall(
  stage: DemoStage,
  timeline: Timeline,
  { device, backend }: Actors,
  video: RoomMedia,
  converse: (legs: DemoLegs) => Promise<void>,
): Promise<void> {
  const legs = new DemoLegs(stage, timeline);
  try {
    await legs.standBridge(device.mediaUrl);
    await backend.expectCallStatus('before the call', false);
    const issued = await backend.issueCredentials(simulatedRoom('demo', video));
    await legs.takeCall(sessionOf(issued.peer_id));
    const [credentials] = await Promise.all([
      device.takeCredentials(messageName),
      backend.sendMessage(messageName, issued),
    ]);
    await legs.connectDevice(credentials);
    await backend.expectCallStatus('device and bridge are there', true);
    await legs.accept();
    await legs.answer();
    await converse(legs);
    await legs.hangUp();
    await backend.expectCallStatus('after the call', false);
  } finally {
    await legs.close();
  }
}

/** About a second of it. */
const picturesWanted = 15;

class DemoLegs {
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
  async standBridge(url: string): Promise<void> {
    const { bridge, tls } = this.#stage;
    const onKeyFrameWanted = (): void => this.#playback?.wantKeyFrame();
    const connecting = BridgeLeg.connect({
      url,
      key: bridge.key,
      tls: tls.media ?? undefined,
      onKeyFrameWanted,
    });
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

  async connectDevice({ token, media_url: url }: CallCredentialsData): Promise<void> {
    if (url === undefined) throw new DemoFailure('credentials that name the media listener', 'none');
    const tls = this.#stage.tls.media ?? undefined;
    const connecting = DeviceLeg.connect({ url, token, tls, onFrame: this.#pictures.take });
    this.#device = await within(this.#stage.clock, 'a device leg that is let in', connecting);
    this.#timeline.notify('device leg', `connected to ${url} with the token of the message`);
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

  /** What the phone shows reaches the device: resolves when it has had some pictures. */
  async showPictures(engine: Engine, plan: ShowPlan): Promise<PicturesTold> {
    const { clock } = this.#stage;
    const logger = {
      notify: (_event: string, json: object, text: string) =>
        this.#timeline.notify('bridge', text, { playing: json }),
      trouble: (reason: string) => this.#timeline.notify('bridge', reason),
    };
    const deps = { clock, engine, tally: noPlaybackTally(), logger };
    this.#playback = beginShow(deps, plan, connected(this.#start), connected(this.#bridge));
    const coming = this.#pictures.whenThere();
    const told = await within(clock, `${picturesWanted} pictures at the device`, coming);
    this.#timeline.notify('device leg', told.text, { pictures: told.json });
    return told;
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
