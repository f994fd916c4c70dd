/**
 * A media process inside the test's own, complete except for the process; the streams of its link are real. It decodes nothing:
 * tests that need pictures start a real process.
 */
import { ParentEnd } from '../../src/lib/children/parent-end.ts';
import type { Duplex } from 'node:stream';
import type { Clock } from '../../src/lib/clock.ts';
import { LoopProgress } from '../../src/lib/loop-progress.ts';
import { fail, messageOf, succeed } from '../../src/lib/result.ts';
import type { FrameResult } from '../../src/model/media/picture.ts';
import { startMediaServer, type RunningMediaServer } from '../../src/media/process/media-server.ts';
import { MediaEnd } from '../../src/media/link/media-end.ts';
import type { MediaChildKind } from '../../src/protocol/media-link/media-values.ts';
import type { NewTranscoders } from '../../src/media/transcoding/transcoder-pool.ts';
import type { MediaCarrier } from '../../src/server/children/media-child.ts';
import { DuplexPair } from './duplex-pair.ts';

const blindTranscoders: NewTranscoders = {
  start: () => Promise.resolve(),
  engine: null,
  open: () =>
    succeed({ hasTimeToSpare: true, transcode: () => Promise.resolve(undecodable), close: () => undefined }),
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
  const { here: channel, there: childSide } = new DuplexPair();
  let server: RunningMediaServer | null = null;
  const linkEnd = new Promise<void>((resolve) => mediaSide.once('close', resolve));
  const parent: MediaParent = new ParentEnd(childSide, {
    clock,
    release: 'inside',
    progress: new LoopProgress(clock),
    ordered: () => undefined,
    stop: () => undefined,
    orphaned: () => void mediaSide.destroy(),
  });
  void serve(clock, parent, mediaSide).then((running) => (server = running));
  const ended = linkEnd.then(async () => {
    await server?.close();
    // A process that exits closes its streams.
    childSide.destroy();
    return 'the link ended';
  });
  return { link, channel, pid: null, ended, kill: () => void mediaSide.destroy() };
}

type MediaParent = ParentEnd<MediaChildKind>;

async function serve(clock: Clock, parent: MediaParent, link: Duplex): Promise<RunningMediaServer | null> {
  try {
    const settings = await parent.begun;
    const end = new MediaEnd({ clock, onEnd: () => undefined });
    end.attach(link);
    await end.started();
    const newTranscoders = (): NewTranscoders => blindTranscoders;
    const server = await startMediaServer(settings, { clock, log: end.log, end, newTranscoders });
    parent.ready({ port: server.address.port });
    return server;
  } catch (error) {
    await parent.failed(messageOf(error));
    return null;
  }
}
