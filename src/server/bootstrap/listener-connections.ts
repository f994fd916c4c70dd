/**
 * The connections of all listeners of a process, counted together, so that none takes the descriptors that another one
 * needs: each listener has a reserved part, and how many all may hold follows from the limit of open files.
 */
import type { Cancel, Clock } from '../../lib/clock.ts';
import { HttpConnections, httpConnectionsTickMs } from '../../lib/connections/http-connections.ts';
import { boundSessions, ConnectionCensus, readOpenFilesLimit } from '../../lib/open-files-limit.ts';
import {
  addressesCountedMax,
  apiConnectionsReserved,
  httpPoolShareMax,
  descriptorsReserved,
  opsConnectionsReserved,
} from '../../model/limits.ts';
import type { Log } from '../../core/ports/log.ts';
import type { Settings } from '../config/settings-schema.ts';

type Counted = 'api' | 'ops' | 'sleep' | 'signal';

/** What a listener for devices tells of itself. */
interface DeviceListener {
  readonly socketCount: number;
}

export class ListenerConnections {
  readonly api: HttpConnections;
  readonly ops: HttpConnections;
  readonly #census = new ConnectionCensus<Counted>(
    boundSessions(Infinity, readOpenFilesLimit(), descriptorsReserved),
  );

  constructor({ api, ops }: Settings) {
    this.api = this.#ofHttp('api', apiConnectionsReserved, api);
    this.ops = this.#ofHttp('ops', opsConnectionsReserved, ops);
  }

  /** All of its connections come from what all share. */
  join(name: 'sleep' | 'signal', listener: DeviceListener): void {
    this.#census.join(name, { reserved: 0, count: () => listener.socketCount });
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
    const logged = { api: { refused: 0, evicted: 0 }, ops: { refused: 0, evicted: 0 } };
    return clock.every(httpConnectionsTickMs, () => {
      for (const listener of ['api', 'ops'] as const) {
        const { count, refused, evicted } = this[listener];
        this[listener].turn();
        const fresh = {
          refused: refused - logged[listener].refused,
          evicted: evicted - logged[listener].evicted,
        };
        if (fresh.refused + fresh.evicted > 0)
          log.warn({ listener, count, ...fresh }, 'connections are refused or evicted');
        logged[listener] = { refused, evicted };
      }
    });
  }

  #ofHttp(
    name: 'api' | 'ops',
    reserved: number,
    settings: { readonly connections_max: number; readonly connections_per_address_max: number },
  ): HttpConnections {
    const { connections_max: max, connections_per_address_max: perAddressMax } = settings;
    const connections: HttpConnections = new HttpConnections(
      { max: () => Math.min(max, this.#census.roomOf(name, httpPoolShareMax)), perAddressMax },
      addressesCountedMax,
    );
    this.#census.join(name, { reserved, count: () => connections.count });
    return connections;
  }
}
