/**
 * The media processes of a server, as configured: its own children, children of its supervisor, processes elsewhere that connect, or
 * none. Source: calls-and-media.md, The media process.
 */
import { assert } from '../../lib/assert.ts';
import { MediaGate, SiteMedia, type MediaLinksDeps, type MediaSite } from './media-links.ts';
import type { Settings } from '../config/settings-schema.ts';
import { MediaChildren } from './media-children.ts';
import type { MediaCarrier } from './media-child.ts';

export interface MediaSupply {
  /** Resolves when media processes have sent their legs, which resumed calls need. Absent: they have no legs at a start. */
  whenBrought?(): Promise<void>;
  /** Resolves when a media process runs, or may connect; rejects with a sentence for the operator when that fails. */
  start(): Promise<void>;
  /** Call after the legs were closed. Resolves when the media processes have ended. */
  stop(): Promise<void>;
  /** Ends them at once. */
  close(): void;
}

export interface MediaSupplyDeps extends MediaLinksDeps {
  /** Throws when the process could not be created. */
  readonly startMedia: () => MediaCarrier;
  /** Media processes started by the supervisor of this core; null: the server has no supervisor. */
  readonly mediaSite: MediaSite | null;
}

export function mediaSupply(settings: Settings, deps: MediaSupplyDeps): MediaSupply {
  const { process, link_listen: address, link_key_file: keyFile } = settings.media;
  if (process === 'child')
    return deps.mediaSite === null
      ? linkedChildren(settings, deps)
      : new SiteMedia(settings, deps.mediaSite, deps);
  if (process === 'none') return nothing;
  assert(
    address !== null && keyFile !== null,
    'the schema requires address and key for media processes elsewhere',
  );
  return new MediaGate({ address, keyFile }, deps);
}

/** Without a media process, calls are issued but admit no legs. */
const nothing: MediaSupply = {
  start: () => Promise.resolve(),
  stop: () => Promise.resolve(),
  close: () => undefined,
};

/** Children, each with a link at its own descriptor. Legs end with the link. */
function linkedChildren(
  settings: Settings,
  { clock, log, connections, startMedia: launch }: MediaSupplyDeps,
): MediaSupply {
  /** Pending until the running processes accept legs. */
  const linked: Promise<unknown>[] = [];
  const children = new MediaChildren(settings, {
    clock,
    log,
    launch,
    task: (process, own, life) => {
      // A process without its link is useless, and may hang in native code.
      const link = connections[process]?.attach(life.fork.link, own, (fault) => life.kill(fault));
      link?.catch(() => undefined);
      linked[process] = link ?? Promise.resolve();
      return { ...own, corePath: null };
    },
  });
  return {
    start: async () => {
      await children.start();
      await Promise.all(linked);
    },
    stop: () => children.stop(async (process) => connections[process]?.drain()),
    close: () => children.close(),
  };
}
