/**
 * A media process within the test's own: everything but the process, the link included. It makes no pictures: tests of
 * those start a real one.
 */
import type { Clock } from '../../src/lib/clock.ts';
import { fail, succeed } from '../../src/lib/result.ts';
import type { FrameResult } from '../../src/model/media/picture.ts';
import { startMediaServer, type RunningMediaServer } from '../../src/media/process/media-server.ts';
import { MediaEnd } from '../../src/media/link/media-end.ts';
import type { Transcoders } from '../../src/core/ports/transcoders.ts';
import type { MediaCarrier } from '../../src/server/supervisor/media-child.ts';
import { DuplexPair } from './duplex-pair.ts';

/** To them no frame can be decoded. */
const blindTranscoders: Transcoders = {
  engine: null,
  open: () =>
    succeed({ hasTimeToSpare: true, take: () => Promise.resolve(undecodable), close: () => undefined }),
  soundEncoders: [],
  openSound: () => fail('engine'),
  refusalOf: () => null,
  workers: () => [],
  close: () => Promise.resolve(),
};
const undecodable: FrameResult = {
  source: null,
  pictures: [],
  drop: 'undecodable',
  keyFrameWanted: true,
  rebuilds: 0,
  workMs: 0,
};

export function startMediaInside(clock: Clock): MediaCarrier {
  const { here: link, there: mediaSide } = new DuplexPair();
  let server: RunningMediaServer | null = null;
  const linkEnd = new Promise<void>((resolve) => {
    const end = new MediaEnd(mediaSide, { clock, onEnd: () => resolve() });
    void serve(clock, end, (running) => (server = running));
  });
  const ended = linkEnd.then(async () => {
    await server?.close();
    return 'the link ended';
  });
  return { link, pid: null, ended, kill: () => void mediaSide.destroy() };
}

async function serve(
  clock: Clock,
  end: MediaEnd,
  running: (server: RunningMediaServer) => void,
): Promise<void> {
  try {
    const settings = await end.started();
    if (settings === null) throw new Error('the server sent no settings');
    const openTranscoders = (): Promise<Transcoders> => Promise.resolve(blindTranscoders);
    running(await startMediaServer(settings, { clock, log: end.log, end, openTranscoders }));
  } catch (error) {
    end.failed(error instanceof Error ? error.message : String(error));
    await end.end();
  }
}
