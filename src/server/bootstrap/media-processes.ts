/**
 * The media processes of the server, whoever started them: each has a number, its link (media-connection.ts) and an address
 * for devices and people. A call is asked for at the one where it is. Source: calls-and-media.md, The media process.
 */
import type { SessionId } from '../../model/ids.ts';
import type { MediaCapacity } from '../../model/media/media-capacity.ts';
import type { BridgePool } from '../../core/calls/bridge-pool.ts';
import type { MediaPlacement } from '../../core/calls/media-placement.ts';
import type { MediaAddress, MediaView } from '../../protocol/media-link/media-values.ts';
import { mediaOrigin, mediaUrl } from '../config/derived-settings.ts';
import type { Settings } from '../config/settings-schema.ts';
import { MediaConnection, type MediaConnectionDeps } from './media-connection.ts';

export interface MediaProcessesDeps extends Omit<MediaConnectionDeps, 'process' | 'elsewhere' | 'owner'> {
  readonly settings: Pick<Settings, 'media'>;
  readonly placement: Pick<MediaPlacement, 'find' | 'placeOf' | 'placeOfLeg' | 'loadReported'>;
  /** What they cannot carry waits there. */
  readonly pool: Pick<BridgePool, 'offerAgain' | 'processLost'>;
}

export class MediaProcesses {
  /** By their numbers, linked or not. */
  readonly connections: readonly MediaConnection[];
  readonly #deps: MediaProcessesDeps;

  constructor(deps: MediaProcessesDeps) {
    this.#deps = deps;
    const { processes } = deps.settings.media;
    this.connections = Array.from({ length: processes }, (_, process) => this.#connectionOf(process));
  }

  /** Of one that takes legs; null: none does. */
  get address(): MediaAddress | null {
    return this.connections.find(({ address }) => address !== null)?.address ?? null;
  }

  /** Of each that takes legs, as of a second ago. */
  capacity(): readonly MediaCapacity[] {
    return this.connections.flatMap((connection) => connection.capacity() ?? []);
  }

  /** `ws://…` by which devices reach the one where the call is placed by now; null: of any. Null: none has said where it is. */
  urlOf(sessionId: SessionId | null): string | null {
    const place = sessionId === null ? null : this.#deps.placement.placeOf(sessionId);
    return mediaUrl(this.#deps.settings, this.#connectionAt(place)?.lastReach ?? null);
  }

  /** `http://…` by which people reach the one where the call is. */
  originOf(sessionId: SessionId): string {
    const { settings, placement } = this.#deps;
    const nowhere = { process: 0, address: settings.media.listen, advertise: null };
    return mediaOrigin(settings, this.#connectionAt(placement.find(sessionId))?.lastReach ?? nowhere);
  }

  /** Those of all that have said where they are. */
  origins(): readonly string[] {
    return this.connections.flatMap(({ lastReach }) =>
      lastReach === null ? [] : mediaOrigin(this.#deps.settings, lastReach),
    );
  }

  /** Null: no leg of it is connected, or its media process does not answer. */
  view(sessionId: SessionId): Promise<MediaView | null> {
    const place = this.#deps.placement.find(sessionId);
    return this.#connectionAt(place)?.view(sessionId) ?? Promise.resolve(null);
  }

  keysChanged(): void {
    for (const connection of this.connections) connection.keysChanged();
  }

  /** Resolves to why some keep the certificates that they have; null: none does. */
  async reloadTls(): Promise<string | null> {
    const reloaded = await Promise.all(this.connections.map((connection) => connection.reloadTls()));
    const problems = new Set(reloaded.filter((problem) => problem !== null));
    return problems.size === 0 ? null : [...problems].join('; ');
  }

  #connectionOf(process: number): MediaConnection {
    const { placement, pool } = this.#deps;
    return new MediaConnection({
      ...this.#deps,
      process,
      elsewhere: (sessionId) => {
        const place = placement.placeOfLeg(sessionId, process);
        const reach = place === process ? null : (this.connections[place]?.lastReach ?? null);
        return reach === null ? null : mediaUrl(this.#deps.settings, reach);
      },
      owner: {
        came: (instance) => this.#replace(instance, process),
        loadReported: () => {
          placement.loadReported(process);
          pool.offerAgain(process);
        },
        gone: () => pool.processLost(process),
      },
    });
  }

  /** One that comes again by another link has lost the one it had, which its server may not know yet. */
  #replace(instance: string, process: number): void {
    for (const [number, connection] of this.connections.entries())
      if (number !== process && connection.instance === instance) connection.close();
  }

  /** `place` null: one that takes legs, or took some last. */
  #connectionAt(place: number | null): MediaConnection | undefined {
    if (place !== null) return this.connections[place];
    return this.connections.find(({ address }) => address !== null) ?? this.connections[0];
  }
}
