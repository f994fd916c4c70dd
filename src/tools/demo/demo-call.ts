/**
 * The calls of the story: a phone has opened a room, a bridge stands in it for the device and plays what the phone
 * shows. One call for each way of scaling, from the same pictures. What a backend does is what any backend does; the
 * phone is played by its bridge. Source: calls-and-media.md; running.md, Two commands.
 */
import { randomBytes } from 'node:crypto';
import type { CallCredentialsBody } from '../../client/reveille-client.ts';
import { openEngine, type Engine } from '../../media/codec/engine.ts';
import { generateSecret } from '../../storage/registry/generated-secrets.ts';
import type { ShowPlan } from '../bridge/bridge-show.ts';
import type { DemoBackend } from './demo-backend.ts';
import { sessionOf } from './demo-participants.ts';
import type { DemoDevice } from './demo-device.ts';
import { DemoLegs, savePictures, type NamedPicture } from './demo-legs.ts';
import type { DemoStage } from './demo-stage.ts';
import { testFilm, type Film } from '../bridge/test-picture.ts';
import { openFrameCoder } from '../bridge/frame-coder.ts';
import type { ReceivedPicture } from '../simulator/received-pictures.ts';
import type { Timeline } from '../bridge/timeline.ts';

/** By which a device is given what it joins a call with. */
const messageName = 'msga_join_voip_room';
/** A phone that is held upright, whatever it is asked for. */
const phoneSize = { width: 240, height: 320 };
const screen = { screen_width: 160, screen_height: 100 };

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
    timeline.notify('demo', `the call carries no pictures: ${engine.error}`);
    await playCall(stage, timeline, actors, { no_video: true }, () => Promise.resolve());
    return;
  }
  const phone = new DemoPhone(engine.value);
  const pictures: NamedPicture[] = [];
  for (const mode of ['fit_screen', 'fill_screen'] as const) {
    const video = { down_video_mt: 'mjpeg', video_res_mode: mode, ...screen } as const;
    await playCall(stage, timeline, actors, video, async (legs) => {
      const picture = await legs.showPictures(engine.value, phone.plan);
      pictures.push({ name: mode, ...picture });
    });
  }
  const shown = [{ name: 'source', ...phone.lastPicture() }, ...pictures];
  await savePictures(engine.value, shown, picturesDirectory, timeline);
}

type RoomVideo = Partial<CallCredentialsBody>;

/** `converse`: what happens while it is connected. */
async function playCall(
  stage: DemoStage,
  timeline: Timeline,
  { device, backend }: Actors,
  video: RoomVideo,
  converse: (legs: DemoLegs) => Promise<void>,
): Promise<void> {
  const legs = new DemoLegs(stage, timeline);
  try {
    await legs.standBridge();
    await backend.expectCallStatus('before the call', false);
    const issued = await backend.issueCredentials(aRoom(video));
    await legs.takeCall(sessionOf(issued.peer_id));
    const [credentials] = await Promise.all([
      device.takeCredentials(messageName),
      backend.sendMessage(messageName, issued),
    ]);
    await legs.connectDevice(credentials.token);
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

/** What the messaging app told the backend of the room, and what the device can take. */
function aRoom(video: RoomVideo): Omit<CallCredentialsBody, 'device_id'> {
  return {
    msg_session_key: generateSecret(),
    msg_session_token: generateSecret(),
    msg_room_id: `demo-room-${randomBytes(3).toString('hex')}`,
    msg_app_id: 'wx-demo',
    msg_model_id: 'demo-doorbell',
    audio_rate: 8000,
    audio_channels: 1,
    ...video,
  };
}

/** Shows the same film in each call, and remembers what it showed last. */
class DemoPhone {
  readonly plan: ShowPlan = {
    format: 'h264',
    sizes: [phoneSize],
    changeEveryMs: null,
    framesPerSecond: null,
    wantsTone: false,
    openFilm: () => this.#film(),
  };
  readonly #engine: Engine;
  #last: Uint8Array<ArrayBuffer> | null = null;

  constructor(engine: Engine) {
    this.#engine = engine;
  }

  lastPicture(): ReceivedPicture {
    const coder = openFrameCoder(this.#engine, 'mjpeg', 1);
    const coded = this.#last === null ? null : coder.code(this.#last, phoneSize, true);
    coder.close();
    return { size: phoneSize, jpeg: new Uint8Array(coded?.payload ?? []) };
  }

  #film(): Film {
    const film = testFilm();
    return { ...film, pictureAt: (atMs, size) => (this.#last = film.pictureAt(atMs, size)) };
  }
}
