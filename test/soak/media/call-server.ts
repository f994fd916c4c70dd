/** A real server with the soak's media process, and the issuing of calls. */
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { SystemClock } from '../../../src/lib/system-clock.ts';
import { ReveilleClient } from '../../../src/client/reveille-client.ts';
import { startServer, type RunningServer } from '../../../src/server/bootstrap/server.ts';
import { loadSettings } from '../../../src/server/config/settings.ts';
import { freeListens } from '../../support/server-process.ts';
import { siteCredential, siteDevice, siteRegistry } from '../../support/site-server.ts';
import { temporaryDirectory, type Ending } from '../../support/temporary-store.ts';
import type { CallAccess } from './call.ts';
import { alaw, kindOf } from './kinds.ts';
import type { SoakMedia } from './carrier.ts';

export const bridgeKey = 'key-of-the-bridges-of-the-soak';
const shapes = [
  { mode: 'fit_screen', screen: { width: 160, height: 100 } },
  { mode: 'fill_screen', screen: { width: 160, height: 100 } },
  { mode: 'auto', screen: { width: 640, height: 480 } },
] as const;
const [, , untouched] = shapes;

export class SoakServer {
  readonly #server: RunningServer;
  readonly #client: ReveilleClient;

  static async start(
    t: Ending,
    media: SoakMedia,
    calls: number,
    complain: (line: string) => void,
  ): Promise<SoakServer> {
    const directory = temporaryDirectory(t);
    const file = join(directory, 'registry.json');
    await writeFile(file, JSON.stringify(siteRegistry({ devices: calls })));
    const overrides = [
      `data.dir=${join(directory, 'state')}`,
      `registry.file=${file}`,
      `media.bridge_keys=${bridgeKey}`,
      'media.load_max=1',
    ];
    const settings = loadSettings({ env: {}, overrides: [...freeListens, ...overrides] });
    const ignore = (): void => undefined;
    const log = {
      debug: ignore,
      info: ignore,
      warn: ignore,
      error: (_facts: object, sentence: string) => complain(sentence),
    };
    const server = await startServer(settings, {
      clock: new SystemClock(),
      log,
      startMedia: () => media.start(),
    });
    return new SoakServer(server);
  }

  private constructor(server: RunningServer) {
    this.#server = server;
    const origin = `http://${server.listeners.api}`;
    this.#client = new ReveilleClient({ origin, credential: siteCredential });
  }

  issue(index: number, room: number): Promise<CallAccess> {
    const url = `ws://${this.#server.listeners.media}`;
    return issueCall(this.#client, { url, device: index, index, room: `room-${index}-${room}` });
  }

  async stop(): Promise<void> {
    this.#client.close();
    await this.#server.stop();
  }
}

interface CallPlace {
  readonly url: string;
  /** Number of the device in the registry of the site. */
  readonly device: number;
  /** Determines the kind of the call and the shape of its pictures. */
  readonly index: number;
  readonly room: string;
}

export async function issueCall(client: ReveilleClient, place: CallPlace): Promise<CallAccess> {
  const { url, device, index, room } = place;
  const { downVideo, upVideo, sound } = kindOf(index);
  const { mode, screen } = (downVideo === 'mjpeg' ? shapes[index % shapes.length] : null) ?? untouched;
  const { format, rate, channels } = sound?.device ?? alaw;
  const issued = await client.issueCallCredentials({
    device_id: siteDevice(device),
    msg_session_key: 'a session key',
    msg_room_id: room,
    msg_session_token: 'a server token',
    msg_app_id: 'wx0123456789abcdef',
    msg_model_id: 'model_1',
    down_video_mt: downVideo,
    up_video_mt: upVideo ?? 'none',
    screen_width: screen.width,
    screen_height: screen.height,
    video_res_mode: mode,
    down_audio_mt: format,
    audio_rate: rate,
    audio_channels: channels,
  });
  if (!issued.ok) throw new Error(`no credentials: ${issued.code} ${issued.message}`);
  const session = new URL(issued.data.peer_id).searchParams.get('x_session') ?? '';
  return { url, session, token: issued.data.token, mode, screen };
}
