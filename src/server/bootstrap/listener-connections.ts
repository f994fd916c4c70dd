/**
 * The connections of all listeners of a process, counted together, so that none takes the descriptors that another one
 * needs: each listener has a reserved part, and how many all may hold follows from the limit of open files.
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

/** What a listener for devices tells of itself. */
interface DeviceListener {
  readonly socketCount: number;
}

interface HttpCounts {
  readonly count: number;
  /** Since the start. */
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

  /** The most that the API's listener may have now. */
  apiMax(): number {
    return Math.min(this.#apiMax, this.#census.roomOf('api', httpPoolShareMax));
  }

  /** The most that the ops listener may have now. */
  opsMax(): number {
    return Math.min(this.#opsMax, this.#census.roomOf('ops', httpPoolShareMax));
  }

  /** In place of `api`: threads of their own have them. */
  joinFronts(fronts: HttpCounts): void {
    this.#joinHttp('api', apiConnectionsReserved, () => fronts);
  }

  joinOps(server: BoundedServer): void {
    this.#joinHttp('ops', opsConnectionsReserved, () => {
      const { connectionCount: count, refused, evicted } = server;
      return { count, refused, evicted };
    });
  }

  /** `reserved`: connections that take nothing from what all share; Infinity: other processes hold them. */
  join(name: 'sleep' | 'signal', listener: DeviceListener, reserved = 0): void {
    this.#census.join(name, { reserved, count: () => listener.socketCount });
  }

  /** What the other listeners hold of what all share. */
  othersOf(name: 'sleep' | 'signal'): number {
    return this.#census.othersOf(name);
  }

  /** Open connections by listener, for the metrics. */
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
          log.warn({ listener, count, ...fresh }, 'connections are refused or evicted');
        logged.set(listener, { count, refused, evicted });
      }
    });
  }

  #joinHttp(name: 'api' | 'ops', reserved: number, read: () => HttpCounts): void {
    this.#census.join(name, { reserved, count: () => read().count });
    this.#http.set(name, read);
  }
}
