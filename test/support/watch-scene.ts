/** One call from the point of view of a page that shows it: requests to the server and their answers. */
import type { CallSession } from '../../src/model/call.ts';
import type { SessionId } from '../../src/model/ids.ts';
import { mediaFrameResults } from '../../src/model/media/picture.ts';
import type { MediaView } from '../../src/protocol/media-link/media-values.ts';
import { ViewerTickets, WatchKeys } from '../../src/core/calls/viewers.ts';
import type { CallMediaDeps } from '../../src/gateways/admin/call-routes.ts';
import type { CallPageDeps } from '../../src/gateways/console/call-page.ts';
import { callSession } from './call-scene.ts';
import { DrivenClock } from './driven-clock.ts';

const noFrames = Object.fromEntries(
  mediaFrameResults.map((result) => [result, 0]),
) as unknown as MediaView['frames'];

export const mediaView: MediaView = {
  mode: 'fit_screen',
  hasDevice: true,
  hasBridge: true,
  viewers: 2,
  source: { format: 'h264', size: null, framesPerSecond: 15, bytesPerSecond: 40_000 },
  output: {
    format: 'mjpeg',
    size: { width: 132, height: 100 },
    framesPerSecond: 14.5,
    bytesPerSecond: 30_000,
  },
  camera: null,
  frames: { ...noFrames, encoded: 90, undecodable: 2 },
  rebuilds: 4,
  keyFramesAsked: 1,
  frameMs: { p50: 4, p99: 9.5 },
  workMs: null,
};

export class WatchScene implements CallMediaDeps, CallPageDeps {
  readonly clock = new DrivenClock(1_800_000_000_000);
  readonly live = new Map<SessionId, CallSession>();
  readonly tickets = new ViewerTickets(this.clock, 6);
  readonly pageTickets = new ViewerTickets(this.clock, 4);
  readonly keys = new WatchKeys(this.clock);
  /** View that the media process reports; null: none. */
  view: MediaView | null = mediaView;

  readonly refused: string[] = [];
  readonly refusals = { record: (credential: string) => void this.refused.push(credential) };
  readonly files: CallPageDeps['files'] = { send: async (name, reply) => reply.send(name) };

  readonly calls: CallPageDeps['calls'] = {
    find: (id) => this.live.get(id) ?? null,
    hasDevice: () => true,
    hasBridge: () => false,
  };

  readonly bridges = { waitsFor: () => null };

  /** `address` null: no media process. */
  readonly media = {
    address: { host: '127.0.0.1', port: 8083 } as CallPageDeps['media']['address'],
    view: () => Promise.resolve(this.view),
  };

  opsOrigin(): string {
    return 'http://127.0.0.1:8090';
  }

  mediaOrigin(): string {
    return 'https://media.example:8083';
  }

  mediaOrigins(): readonly string[] {
    return ['https://media.example:8083', 'https://media.example:8084'];
  }

  add(change: Partial<CallSession> = {}): SessionId {
    const session = callSession(change);
    this.live.set(session.sessionId, session);
    return session.sessionId;
  }
}
