/** The leg service of a scene behind a link, with both ends of the link on the scene's clock. */
import type { Duplex } from 'node:stream';
import { setImmediate } from 'node:timers/promises';
import type { MediaProcessCounts } from '../../src/protocol/media-link/media-values.ts';
import { MediaEnd, type MediaProcess } from '../../src/media/link/media-end.ts';
import { ServerEnd, type ServerEndDeps } from '../../src/media/link/server-end.ts';
import { LoopProgress } from '../../src/lib/loop-progress.ts';
import type { LegServiceScene } from './leg-service-scene.ts';
import { DuplexPair, type DuplexPairOptions } from './duplex-pair.ts';
import { FakeLog, FakeTelemetry } from './fakes.ts';

export const mediaCounts: MediaProcessCounts = {
  legs: 3,
  sockets: 4,
  sessions: 1,
  workers: [
    { busy: 0.25, taken: 0.3, room: 2 },
    { busy: 0.5, taken: 0.5, room: 1 },
  ],
  engine: '8.0',
  soundEncoders: ['alaw', 'pcm'],
  certificate: null,
};

export class FakeMediaProcess implements MediaProcess {
  readonly advertise = null;
  readonly asked: string[] = [];
  view: MediaProcess['view'] = () => null;
  drained: () => void = () => undefined;
  busyLegs = mediaCounts.legs;

  tlsProblem: string | null = null;

  reloadTls(): string | null {
    this.asked.push('reload TLS');
    return this.tlsProblem;
  }

  drain(): Promise<void> {
    this.asked.push('drain');
    return new Promise((resolve) => (this.drained = resolve));
  }

  counts(): MediaProcessCounts {
    return { ...mediaCounts, legs: this.busyLegs };
  }
}

/** The server's end of a link for the leg service of a scene; `change` overrides its parts. */
export function openServerEnd(
  stream: Duplex,
  { clock, service, keys }: Pick<LegServiceScene, 'clock' | 'service' | 'keys'>,
  change: Partial<ServerEndDeps> & Pick<ServerEndDeps, 'onEnd'>,
): ServerEnd {
  return new ServerEnd(stream, {
    process: 0,
    elsewhere: () => null,
    onHello: () => undefined,
    onCounts: () => undefined,
    clock,
    service,
    telemetry: new FakeTelemetry(),
    progress: new LoopProgress(change.clock ?? clock),
    log: new FakeLog(),
    keys,
    ...change,
  });
}

export class LinkedLegService {
  readonly pair: DuplexPair;
  readonly server: ServerEnd;
  readonly media: MediaEnd;
  readonly process = new FakeMediaProcess();
  readonly telemetry = new FakeTelemetry();
  readonly log = new FakeLog();
  /** Error with which each end of the link closed; null: none. */
  readonly serverEnds: (string | null)[] = [];
  readonly mediaEnds: (string | null)[] = [];
  readonly #scene: LegServiceScene;

  constructor(scene: LegServiceScene, options: DuplexPairOptions = {}) {
    this.#scene = scene;
    this.pair = new DuplexPair(options);
    const { telemetry, log } = this;
    const onEnd = (fault: string | null): void => void this.serverEnds.push(fault);
    this.server = openServerEnd(this.pair.here, scene, { telemetry, log, onEnd });
    this.media = new MediaEnd({
      clock: scene.clock,
      onEnd: (fault) => this.mediaEnds.push(fault),
    });
    this.media.attach(this.pair.there);
  }

  /** Resolves when both ends have exchanged hello and the media process listens. */
  async ready(): Promise<this> {
    await this.untilIdle();
    this.media.ready({ host: '127.0.0.1', port: 8083 }, this.process);
    await this.untilIdle();
    return this;
  }

  /** Resolves when all messages and their answers have arrived. */
  async untilIdle(): Promise<void> {
    for (let turn = 0; turn < 3; turn += 1) await setImmediate();
  }

  /** Advances the clock one second at a time, so that heartbeats arrive. */
  async pass(ms: number): Promise<void> {
    for (let leftMs = ms; leftMs > 0; leftMs -= 1000) {
      this.#scene.clock.advance(Math.min(leftMs, 1000));
      await this.untilIdle();
    }
  }
}
