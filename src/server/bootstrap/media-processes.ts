/**
 * The media processes of the server, whoever started them: each has a number, its link (media-connection.ts) and an address
 * for devices and people. A call is asked for at the one where it is. Source: calls-and-media.md, The media process.
 */
import type { SessionId } from '../../model/ids.ts';
import type { MediaCapacity } from '../../model/media/media-capacity.ts';
import type { MediaView } from '../../model/media/picture.ts';
import type { BridgePool } from '../../core/calls/bridge-pool.ts';
import type { MediaPlacement } from '../../core/calls/media-placement.ts';
import { PlacedLegService } from '../../core/calls/placed-leg-service.ts';
import type { ViewerTickets } from '../../core/calls/viewers.ts';
import type { LegPlace, LegService, PlacedLeg } from '../../core/ports/leg-service.ts';
import type { MediaAddress } from '../../protocol/media-link/media-values.ts';
import { mediaOrigin, mediaPlace, mediaUrl } from '../config/derived-settings.ts';
import type { Settings } from '../config/settings-schema.ts';
import { MediaConnection, type MediaConnectionDeps } from './media-connection.ts';

export interface MediaProcessesDeps extends Omit<MediaConnectionDeps, 'process' | 'owner'> {
  readonly settings: Pick<Settings, 'media'>;
  readonly service: LegService<PlacedLeg>;
  readonly tickets: Pick<ViewerTickets, 'find'>;
  readonly placement: Pick<MediaPlacement, 'placeOf' | 'loadTold'>;
  /** What they cannot carry waits there. */
  readonly pool: Pick<BridgePool, 'offerAgain' | 'processGone'>;
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

  /** `ws://…` by which devices reach the one where the call is, or is to be; null: of any. Null: none has said where it is. */
  urlOf(sessionId: SessionId | null): string | null {
    const { settings } = this.#deps;
    return mediaUrl(settings, this.#connectionFor(sessionId)?.lastReach ?? null);
  }

  /** `http://…` by which people reach it. */
  originOf(sessionId: SessionId | null): string {
    const { settings } = this.#deps;
    const nowhere = { process: 0, address: settings.media.listen, advertise: null };
    return mediaOrigin(settings, this.#connectionFor(sessionId)?.lastReach ?? nowhere);
  }

  /** Those of all that have said where they are. */
  origins(): readonly string[] {
    return this.connections.flatMap(({ lastReach }) =>
      lastReach === null ? [] : mediaOrigin(this.#deps.settings, lastReach),
    );
  }

  /** Null: no leg of it is connected, or its media process does not answer. */
  view(sessionId: SessionId): Promise<MediaView | null> {
    return this.#connectionFor(sessionId)?.view(sessionId) ?? Promise.resolve(null);
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
    const { service, tickets, placement, pool } = this.#deps;
    const elsewhere = (sessionId: SessionId): LegPlace | null => this.#elsewhere(sessionId, process);
    return new MediaConnection({
      ...this.#deps,
      process,
      service: new PlacedLegService({ service, tickets, elsewhere }),
      owner: {
        came: (instance) => this.#replace(instance, process),
        loadTold: () => {
          placement.loadTold(process);
          pool.offerAgain(process);
        },
        gone: () => pool.processGone(process),
      },
    });
  }

  /** One that comes again by another link has lost the one it had, which its server may not know yet. */
  #replace(instance: string, process: number): void {
    for (const [number, connection] of this.connections.entries())
      if (number !== process && connection.instance === instance) connection.close();
  }

  #elsewhere(sessionId: SessionId, here: number): LegPlace | null {
    const process = this.#deps.placement.placeOf(sessionId, here);
    if (process === null || process === here) return null;
    const connection = this.connections[process];
    const reach = connection?.lastReach ?? null;
    const certificate = connection?.certificate ?? null;
    return reach === null ? null : mediaPlace(this.#deps.settings, reach, certificate);
  }

  /** Of no call: one that takes legs, or took some last. */
  #connectionFor(sessionId: SessionId | null): MediaConnection | undefined {
    const process = sessionId === null ? null : this.#deps.placement.placeOf(sessionId);
    if (process !== null) return this.connections[process];
    return this.connections.find(({ address }) => address !== null) ?? this.connections[0];
  }
}
