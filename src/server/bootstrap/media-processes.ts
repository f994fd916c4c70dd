/**
 * The server's media processes, started here or elsewhere: each has a number, a link (media-connection.ts) and an address for devices
 * and people. Requests about a call go to the process that has it. Source: calls-and-media.md, The media process.
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
  /** Holds the calls that no process can carry now. */
  readonly pool: Pick<BridgePool, 'offerAgain' | 'processLost'>;
}

export class MediaProcesses {
  /** Indexed by their numbers, linked or not. */
  readonly connections: readonly MediaConnection[];
  readonly #deps: MediaProcessesDeps;

  constructor(deps: MediaProcessesDeps) {
    this.#deps = deps;
    const { processes } = deps.settings.media;
    this.connections = Array.from({ length: processes }, (_, process) => this.#connectionOf(process));
  }

  /** Address of a process that accepts legs; null: none does. */
  get address(): MediaAddress | null {
    return this.connections.find(({ address }) => address !== null)?.address ?? null;
  }

  /** One for each process that accepts legs, up to a second old. */
  capacity(): readonly MediaCapacity[] {
    return this.connections.flatMap((connection) => connection.capacity() ?? []);
  }

  /** `ws://…` of the process where the call is placed; `sessionId` null: of any. Null: no address is known. */
  urlOf(sessionId: SessionId | null): string | null {
    const place = sessionId === null ? null : this.#deps.placement.placeOf(sessionId);
    return mediaUrl(this.#deps.settings, this.#connectionAt(place)?.lastReach ?? null);
  }

  /** `http://…` of the process that has the call. */
  originOf(sessionId: SessionId): string {
    const { settings, placement } = this.#deps;
    const nowhere = { process: 0, address: settings.media.listen, advertise: null };
    return mediaOrigin(settings, this.#connectionAt(placement.find(sessionId))?.lastReach ?? nowhere);
  }

  /** Origins of all processes with a known address. */
  origins(): readonly string[] {
    return this.connections.flatMap(({ lastReach }) =>
      lastReach === null ? [] : mediaOrigin(this.#deps.settings, lastReach),
    );
  }

  /** Null: no leg is connected, or no answer. */
  view(sessionId: SessionId): Promise<MediaView | null> {
    const place = this.#deps.placement.find(sessionId);
    return this.#connectionAt(place)?.view(sessionId) ?? Promise.resolve(null);
  }

  keysChanged(): void {
    for (const connection of this.connections) connection.keysChanged();
  }

  /** Resolves with the reasons why old certificates stay; null: all reloaded. */
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
        processConnected: (instance) => this.#replace(instance, process),
        loadReported: () => {
          placement.loadReported(process);
          pool.offerAgain(process);
        },
        processDisconnected: () => pool.processLost(process),
      },
    });
  }

  /** Closes the old connection of a process that reconnects under another number. */
  #replace(instance: string, process: number): void {
    for (const [number, connection] of this.connections.entries())
      if (number !== process && connection.instance === instance) connection.close();
  }

  /** `place` null: a process that accepts legs, otherwise the first. */
  #connectionAt(place: number | null): MediaConnection | undefined {
    if (place !== null) return this.connections[place];
    return this.connections.find(({ address }) => address !== null) ?? this.connections[0];
  }
}
