/**
 * Connection budget of all listeners of a process: each has a reserved part, and the total follows from the open file limit, so that no
 * listener uses up the descriptors that another needs.
 */
import type { Cancel, Clock } from '../../lib/clock.ts';
import type { BoundedServer } from '../../lib/connections/bounded-server.ts';
import { HttpConnections, httpConnectionsTickMs } from '../../lib/connections/http-connections.ts';
import { boundSessions, ConnectionCensus, readOpenFilesLimit } from '../../lib/open-files-limit.ts';
import {
  addressesCountedMax,
  apiConnectionsReserved,
  httpPoolShareMax,
  descriptorsReserved,
  opsConnectionsReserved,
} from '../../model/limits.ts';
import type { Log } from '../../lib/log.ts';
import type { Settings } from '../config/settings-schema.ts';

type Counted = 'api' | 'ops' | 'sleep' | 'signal';

/** Connection counts of a device listener. */
interface DeviceListener {
  readonly socketCount: number;
}

interface HttpCounts {
  readonly count: number;
  readonly refused: number;
  readonly evicted: number;
}

export class ListenerConnections {
  readonly api: HttpConnections;
  readonly #apiMax: number;
  readonly #opsMax: number;
  readonly #http = new Map<'api' | 'ops', () => HttpCounts>();
  readonly #census = new ConnectionCensus<Counted>(
    boundSessions(Infinity, readOpenFilesLimit(), descriptorsReserved),
  );

  constructor({ api, ops }: Settings) {
    this.#opsMax = ops.connections_max;
    const { connections_max: max, connections_per_address_max: perAddressMax } = api;
    this.api = new HttpConnections({ max: () => this.apiMax(), perAddressMax }, addressesCountedMax);
    this.#apiMax = max;
    this.#joinHttp('api', apiConnectionsReserved, () => this.api);
  }

  /** Current maximum of API connections. */
  apiMax(): number {
    return Math.min(this.#apiMax, this.#census.roomOf('api', httpPoolShareMax));
  }

  /** Current maximum of ops connections. */
  opsMax(): number {
    return Math.min(this.#opsMax, this.#census.roomOf('ops', httpPoolShareMax));
  }

  /** Counts of the fronts, which replace those of `api`. */
  joinFronts(fronts: HttpCounts): void {
    this.#joinHttp('api', apiConnectionsReserved, () => fronts);
  }

  joinOps(server: BoundedServer): void {
    this.#joinHttp('ops', opsConnectionsReserved, () => {
      const { connectionCount: count, refused, evicted } = server;
      return { count, refused, evicted };
    });
  }

  /** `reserved`: connections outside the shared budget; Infinity: other processes hold them. */
  join(name: 'sleep' | 'signal', listener: DeviceListener, reserved = 0): void {
    this.#census.join(name, { reserved, count: () => listener.socketCount });
  }

  /** Connections of the other listeners within the shared budget. */
  othersOf(name: 'sleep' | 'signal'): number {
    return this.#census.othersOf(name);
  }

  /** Open connections by listener. */
  counts(): Readonly<Record<string, number>> {
    return this.#census.counts();
  }

  /** Ages the counts, and logs connections that were refused or evicted, at most once a second. */
  start(clock: Clock, log: Log): Cancel {
    const logged = new Map<string, HttpCounts>();
    return clock.every(httpConnectionsTickMs, () => {
      this.api.turn();
      for (const [listener, read] of this.#http) {
        const { count, refused, evicted } = read();
        const before = logged.get(listener);
        const fresh = {
          refused: refused - (before?.refused ?? 0),
          evicted: evicted - (before?.evicted ?? 0),
        };
        if (fresh.refused + fresh.evicted > 0)
          log.warn({ listener, count, ...fresh }, 'listener: connections refused or evicted: too many');
        logged.set(listener, { count, refused, evicted });
      }
    });
  }

  #joinHttp(name: 'api' | 'ops', reserved: number, read: () => HttpCounts): void {
    this.#census.join(name, { reserved, count: () => read().count });
    this.#http.set(name, read);
  }
}
