/**
 * The media processes of a server, by its settings: its children, those of its supervisor, some elsewhere that connect to the
 * gate, or none. Source: calls-and-media.md, The media process.
 */
import { assert } from '../../lib/assert.ts';
import type { Clock } from '../../lib/clock.ts';
import type { Log } from '../../lib/log.ts';
import type { MediaConnection } from '../bootstrap/media-connection.ts';
import { MediaGate, type MediaGateDeps } from './media-gate.ts';
import type { Settings } from '../config/settings-schema.ts';
import { SiteMedia, type MediaSite } from '../site/site-media.ts';
import { MediaChildren } from './media-children.ts';
import type { MediaCarrier } from './media-child.ts';

export interface MediaSupply {
  /** Resolves when calls that are taken up have the legs that media processes bring; absent: none brings any. */
  whenBrought?(): Promise<void>;
  /** Resolves when there is a media process, or one may connect; rejects, with a sentence for the operator, when none can. */
  start(): Promise<void>;
  /** Once the legs have been told to go: resolves when it is gone. */
  stop(): Promise<void>;
  /** At once, whatever it does. */
  close(): void;
}

export interface MediaSupplyDeps extends MediaGateDeps {
  readonly clock: Clock;
  readonly log: Log;
  /** Throws when the machine has no process to give. */
  readonly startMedia: () => MediaCarrier;
  /** Media processes that the supervisor of this core starts; null: this server is no core of a site. */
  readonly mediaSite: MediaSite | null;
}

export function mediaSupply(settings: Settings, deps: MediaSupplyDeps): MediaSupply {
  const { process, link_listen: address, link_key_file: keyFile } = settings.media;
  if (process === 'child')
    return deps.mediaSite === null
      ? new LinkedChildren(settings, deps)
      : new SiteMedia(settings, deps.mediaSite, deps);
  if (process === 'none') return nothing;
  assert(address !== null && keyFile !== null, 'the schema wants both of who waits for a media process');
  return new MediaGate({ address, keyFile }, deps);
}

/** Without a media process calls are issued, and nobody can be let in to them. */
const nothing: MediaSupply = {
  start: () => Promise.resolve(),
  stop: () => Promise.resolve(),
  close: () => undefined,
};

/** Each with the link of its legs at a descriptor of its own. Its legs are gone with its link. */
class LinkedChildren implements MediaSupply {
  readonly #connections: readonly MediaConnection[];
  readonly #children: MediaChildren<MediaCarrier>;
  /** Settled when legs can come to the present lives. */
  readonly #linked: Promise<unknown>[] = [];

  constructor(settings: Settings, { clock, log, connections, startMedia: launch }: MediaSupplyDeps) {
    this.#connections = connections;
    this.#children = new MediaChildren(settings, {
      clock,
      log,
      launch,
      task: (process, own, life) => {
        // It may hang in native code; without its link it is nothing.
        const linked = connections[process]?.attach(life.fork.link, own, (fault) => life.kill(fault));
        linked?.catch(() => undefined);
        this.#linked[process] = linked ?? Promise.resolve();
        return { ...own, corePath: null };
      },
    });
  }

  async start(): Promise<void> {
    await this.#children.start();
    await Promise.all(this.#linked);
  }

  stop(): Promise<void> {
    return this.#children.stop(async (process) => this.#connections[process]?.drain());
  }

  close(): void {
    this.#children.close();
  }
}
