/**
 * Planted bugs, each injected at an interface and none in the code itself. `npm run simulate:faults -- --canaries` must find
 * each of them.
 */
import type { DeviceEvents } from '../../src/cluster/events/device-events.ts';
import type { KvStore } from '../../src/cluster/nats/kv-store.ts';
import { generateEventId } from '../../src/model/ids.ts';
import { neverShared } from '../../src/model/state/shared-connection.ts';
import { decodeDeviceRow, encodeDeviceRow } from '../../src/protocol/cluster/stored-values.ts';
import type { ServerContext } from '../../src/server/bootstrap/server-context.ts';
import type { VisibilityWatch } from '../../src/storage/lmdb/environment.ts';
import type { SimulatedTransport } from './nats-transport.ts';
import type { Life, Site, Topology } from './site.ts';

export interface Canary {
  readonly name: string;
  /** Topology in which the bug can show. Default: any. */
  readonly topology?: Topology;
  readonly store?: (store: Life['store'], site: Site) => void;
  readonly context?: (context: ServerContext, site: Site) => void;
  /** The server's closing of legs is ignored. */
  readonly keepsLegs?: boolean;
  /** A receiver's success counts as a failure at random. */
  readonly mistakesAnswers?: boolean;
  readonly transport?: (transport: SimulatedTransport, site: Site) => void;
  /** Writes to a module's socket succeed without sending. */
  readonly swallowsWakes?: boolean;
  readonly keepsReplaced?: boolean;
}

const nowhere = { sleep: neverShared, signal: neverShared };

/** Probability of an occasional fault. */
const nowAndThen = 0.1;

export const canaries: readonly Canary[] = [
  {
    name: 'a commit is acknowledged before it is durable',
    store: ({ state: { environment } }) => {
      const commit = environment.transaction.bind(environment);
      environment.transaction = <Result>(
        act: () => Result,
        watch?: VisibilityWatch | null,
      ): Promise<Result> =>
        new Promise((resolve, reject) => {
          const acknowledged = (): Result => {
            const result = act();
            queueMicrotask(() => {
              watch?.onVisible();
              resolve(result);
            });
            return result;
          };
          commit(acknowledged).catch(reject);
        });
    },
  },
  {
    name: 'an event is published to the stream twice',
    topology: 'nodes',
    transport: (transport, site) =>
      putsOtherwise(transport, async (events, event, last) => {
        const put = await events.put(event, last);
        if (put.kind !== 'stored' || site.chance.next() > nowAndThen) return put;
        const again = { ...event, id: generateEventId(event.draft.atMs, put.sequence), seq: event.seq + 1 };
        return events.put(again, put.sequence);
      }),
  },
  {
    name: 'an event is mistaken for a duplicate',
    topology: 'nodes',
    transport: (transport, site) =>
      putsOtherwise(transport, async (events, event, last) =>
        site.chance.next() < nowAndThen ? { kind: 'duplicate' } : events.put(event, last),
      ),
  },
  {
    name: 'a row is written without comparing',
    topology: 'nodes',
    transport: (transport) =>
      wraps(transport, 'rows', (rows) => ({ compareAndSet: (key, value) => rows.put(key, value) })),
  },
  {
    name: 'a replaced sleep session keeps its slot, as a fourth',
    topology: 'nodes',
    transport: (transport) => wraps(transport, 'rows', keepsReplacedSlots),
  },
  {
    name: 'a member is reported lost before its lease expires',
    topology: 'nodes',
    transport: (transport) =>
      wraps(transport, 'members', (members) => ({
        // Passes on one renewal by another node, and no later one.
        watch: (onChange) => {
          const seen = new Map<string, number>();
          return members.watch((change) => {
            const times = (seen.get(change.key) ?? 0) + 1;
            seen.set(change.key, times);
            if (times < 2 || change.isRemoved || isOwn(change.value, transport)) onChange(change);
          });
        },
        compareAndSet: (key, value) => members.put(key, value),
      })),
  },
  {
    name: 'sessions are not registered again after an outage',
    topology: 'nodes',
    transport: (transport) => {
      const follow = transport.onChange.bind(transport);
      transport.onChange = (notify) => follow((isUnavailable) => isUnavailable && notify(isUnavailable));
    },
  },
  {
    name: 'sessions that no edge has reported are not ended',
    topology: 'edges',
    context: ({ unclaimed }) => {
      unclaimed.begin = () => undefined;
    },
  },
  {
    name: 'a core does not wait for its edges',
    topology: 'edges',
    context: ({ unclaimed }) => {
      const begin = unclaimed.begin.bind(unclaimed);
      unclaimed.begin = (...args) => {
        begin(...args);
        unclaimed.end();
      };
    },
  },
  {
    name: 'the core opens new sessions for those that edges report',
    topology: 'edges',
    context: ({ unclaimed }) => {
      const claiming = unclaimed.claiming.bind(unclaimed);
      unclaimed.claiming = (sessions) => ({ ...claiming(sessions), adopt: () => null });
    },
  },
  {
    name: 'a replaced controller is not closed',
    keepsReplaced: true,
  },
  {
    name: 'a wakeup is answered 202 without a write',
    swallowsWakes: true,
  },
  {
    name: 'a repeated signature wakes the device again',
    context: ({ memory }) => {
      memory.repeated = () => null;
    },
  },
  {
    name: 'a call is ended twice',
    context: ({ records: { calls } }) => {
      const write = calls.write.bind(calls);
      calls.write = (deviceId, sessions, event) => {
        write(deviceId, sessions, event);
        if (event?.type === 'call.ended') write(deviceId, sessions, event);
      };
    },
  },
  {
    name: 'a reader of the log skips an event',
    context: ({ records: { events } }, site) => {
      const read = events.read.bind(events);
      events.read = (after, limit) => {
        const found = read(after, limit);
        return found.length > 1 && site.chance.next() < nowAndThen ? found.slice(1) : found;
      };
    },
  },
  {
    name: 'wakeups that a crash left pending are not watched again',
    context: ({ watch }) => {
      watch.resume = () => 0;
    },
  },
  {
    name: 'a device without permission stays connected',
    context: ({ deviceReview }) => {
      deviceReview.begin = () => undefined;
    },
  },
  {
    name: 'a disabled device logs in',
    context: ({ registry }) => {
      const peek = registry.peekDevice.bind(registry);
      registry.peekDevice = (deviceId) => {
        const device = peek(deviceId);
        return device && { ...device, disabled: false };
      };
    },
  },
  {
    name: 'a change of the registry published before a crash is published again',
    context: ({ records: { registryEvents } }) =>
      Object.defineProperty(registryEvents, 'newestPlace', { get: () => 0 }),
  },
  {
    name: 'a kick ends the sessions of one node',
    topology: 'nodes',
    context: ({ cluster }) =>
      cluster !== null && Object.assign(cluster, { locator: { find: () => nowhere } }),
  },
  {
    name: 'failed events of a webhook are not replicated to the next deliverer',
    topology: 'nodes',
    transport: (transport) =>
      wraps(transport, 'hooks', (hooks) => ({
        put: (key, value) => (key.startsWith('kept.') ? hooks.position() : hooks.put(key, value)),
      })),
  },
  {
    name: 'a successful delivery is retried',
    mistakesAnswers: true,
  },
  {
    name: 'a change of the deliverer restarts a webhook at the head of the log',
    topology: 'nodes',
    transport: (transport) =>
      wraps(transport, 'hooks', (hooks) => ({
        all: async function* () {
          for await (const entry of hooks.all()) if (!entry.key.startsWith('hook.')) yield entry;
        },
      })),
  },
  {
    name: 'an ended call leaves its legs open',
    keepsLegs: true,
  },
  {
    name: 'deadlines follow the wall clock',
    context: ({ clock }) => {
      clock.monotonicMs = () => clock.wallMs();
    },
  },
  {
    name: 'a timer outlives its server',
    context: ({ clock }) => void clock.every(1000, () => undefined),
  },
];

type Put = (
  events: DeviceEvents,
  ...args: Parameters<DeviceEvents['put']>
) => ReturnType<DeviceEvents['put']>;

function putsOtherwise(transport: SimulatedTransport, put: Put): void {
  const events = transport.deviceEvents;
  transport.deviceEvents = {
    last: (deviceId) => events.last(deviceId),
    next: (deviceId, sequence) => events.next(deviceId, sequence),
    put: (event, last) => put(events, event, last),
  };
}

/** Replaces methods of one bucket. */
function wraps(
  transport: SimulatedTransport,
  bucket: string,
  change: (store: KvStore) => Partial<KvStore>,
): void {
  transport.wrap = (name, store) =>
    name === bucket ? Object.assign(store, change(boundCopy(store))) : store;
}

function boundCopy(store: KvStore): KvStore {
  return {
    find: store.find.bind(store),
    put: store.put.bind(store),
    compareAndSet: store.compareAndSet.bind(store),
    remove: store.remove.bind(store),
    eraseAll: store.eraseAll.bind(store),
    erase: store.erase.bind(store),
    position: store.position.bind(store),
    since: store.since.bind(store),
    all: store.all.bind(store),
    watch: store.watch.bind(store),
  };
}

function keepsReplacedSlots(rows: KvStore): Partial<KvStore> {
  return {
    async compareAndSet(key, value, revision) {
      const kept = await rows.find(key);
      const [before, after] = [kept && decodeDeviceRow(kept.value), decodeDeviceRow(value)];
      if (before?.ok !== true || !after.ok) return rows.compareAndSet(key, value, revision);
      const { deviceId, row } = after.value;
      const slots = row.sleep.slots;
      const left = before.value.row.sleep.slots.filter(
        ({ session }) => !slots.some((slot) => slot.session === session),
      );
      const isLogin = row.sleep.epoch > before.value.row.sleep.epoch;
      const sleep = { ...row.sleep, slots: [...slots, ...(isLogin ? left : [])] };
      return rows.compareAndSet(key, encodeDeviceRow(deviceId, { ...row, sleep }), revision);
    },
  };
}

/** True: a lease of the transport's own node. */
function isOwn(value: Uint8Array, transport: SimulatedTransport): boolean {
  return Buffer.from(value).includes(transport.node);
}
