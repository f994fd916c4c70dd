/**
 * The media processes of a server, by its settings: its children, those of its supervisor, some elsewhere that connect to the
 * gate, or none. Source: calls-and-media.md, The media process.
 */
import { assert } from '../../lib/assert.ts';
import { MediaGate, SiteMedia, type MediaLinksDeps, type MediaSite } from './media-links.ts';
import type { Settings } from '../config/settings-schema.ts';
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

export interface MediaSupplyDeps extends MediaLinksDeps {
  /** Throws when the machine has no process to give. */
  readonly startMedia: () => MediaCarrier;
  /** Media processes that the supervisor of this core starts; null: this server is no core of a site. */
  readonly mediaSite: MediaSite | null;
}

export function mediaSupply(settings: Settings, deps: MediaSupplyDeps): MediaSupply {
  const { process, link_listen: address, link_key_file: keyFile } = settings.media;
  if (process === 'child')
    return deps.mediaSite === null
      ? linkedChildren(settings, deps)
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
function linkedChildren(
  settings: Settings,
  { clock, log, connections, startMedia: launch }: MediaSupplyDeps,
): MediaSupply {
  /** Settled when legs can come to the present lives. */
  const linked: Promise<unknown>[] = [];
  const children = new MediaChildren(settings, {
    clock,
    log,
    launch,
    task: (process, own, life) => {
      // It may hang in native code; without its link it is nothing.
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
