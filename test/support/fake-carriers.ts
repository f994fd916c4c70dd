/** Fake media processes that a test starts, speaks for and kills; their links are real. */
import type { Clock } from '../../src/lib/clock.ts';
import { MediaEnd, type MediaProcess } from '../../src/media/link/media-end.ts';
import type { MediaChildKind } from '../../src/protocol/media-link/media-values.ts';
import type { MediaCarrier } from '../../src/server/children/media-child.ts';
import { DuplexPair } from './duplex-pair.ts';
import { FakeChild } from './fake-children.ts';
import { mediaCounts } from './linked-leg-service.ts';

export class FakeCarrier extends FakeChild<MediaChildKind> implements MediaCarrier {
  readonly link: MediaCarrier['link'];
  readonly end: MediaEnd;
  readonly #links = new DuplexPair();

  constructor(clock: Clock, pid: number) {
    super(clock, pid);
    this.load();
    this.link = this.#links.here;
    this.end = new MediaEnd({
      clock,
      instance: `media ${pid}`,
      onEnd: () => {
        if (!this.isStuck) this.die('exit code 0');
      },
    });
    this.end.attach(this.#links.there);
    this.end.started().catch(() => undefined);
  }

  listen(port: number, host = '127.0.0.1', advertise: string | null = null): void {
    const process: MediaProcess = {
      advertise,
      reloadTls: () => {
        this.asked.push('reload TLS');
        return null;
      },
      drain: () => {
        this.asked.push('drain');
        return this.isStuck ? new Promise(() => undefined) : Promise.resolve();
      },
      view: () => null,
      counts: () => mediaCounts,
    };
    this.end.ready({ host, port }, process);
    this.parent.ready({ port });
  }

  override die(how: string): void {
    super.die(how);
    this.#links.there.destroy();
  }
}
