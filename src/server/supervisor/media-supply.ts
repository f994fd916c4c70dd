/** Where the media process comes from, by the settings: a child of ours, one elsewhere that comes to a gate, or nowhere. */
import { assert } from '../../lib/assert.ts';
import { MediaGate, type MediaGateDeps } from '../bootstrap/media-gate.ts';
import { MediaSupervisor, type MediaSupervisorDeps } from './media-supervisor.ts';
import type { MediaCarrier } from './media-child.ts';
import { MediaSpare } from './media-spare.ts';
import { mediaProcessSettings } from '../config/gateway-settings.ts';
import type { Settings } from '../config/settings-schema.ts';

export interface MediaSupply {
  /** Resolves when there is a media process, or may come; rejects, with a sentence for the operator, when none can. */
  start(): Promise<void>;
  /** Once the legs have been told to go: resolves when it is gone. */
  stop(): Promise<void>;
  /** At once, whatever it does. */
  close(): void;
}

export interface MediaSupplyDeps
  extends Omit<MediaSupervisorDeps, 'settings' | 'startCarrier' | 'spare'>, MediaGateDeps {
  readonly startMedia: () => MediaCarrier;
}

export function mediaSupply(settings: Settings, deps: MediaSupplyDeps): MediaSupply {
  const { process, spare, link_listen: address, link_key_file: keyFile } = settings.media;
  if (process === 'child') {
    const own = { ...deps, startCarrier: deps.startMedia };
    return new MediaSupervisor({
      ...own,
      settings: mediaProcessSettings(settings),
      spare: spare ? new MediaSpare(own) : null,
    });
  }
  if (process === 'none') return nothing;
  assert(address !== null && keyFile !== null, 'the schema wants both of who waits for a media process');
  return new MediaGate({ address, keyFile }, deps);
}

/** Where nobody carries media, calls are issued and nobody can be let in to them. */
const nothing: MediaSupply = {
  start: () => Promise.resolve(),
  stop: () => Promise.resolve(),
  close: () => undefined,
};
