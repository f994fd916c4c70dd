/**
 * Bugs that are put in on purpose, each at a seam of the code and none in it. A run that lets one of them live proves
 * little: `npm run simulate:faults -- --canaries` has each found.
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
  /** Where it can show; left out: anywhere. */
  readonly topology?: Topology;
  /** Changes what a process has of its disk. */
  readonly store?: (store: Life['store'], site: Site) => void;
  /** Changes what a process serves with. */
  readonly context?: (context: ServerContext, site: Site) => void;
  /** Legs that are to be closed stay. */
  readonly keepsLegs?: boolean;
  /** A receiver's answer is taken for a failure, now and then. */
  readonly mistakesAnswers?: boolean;
  /** Changes a node's way to NATS. */
  readonly transport?: (transport: SimulatedTransport, site: Site) => void;
  /** A write to a module's socket is called back, and the kernel has nothing of it. */
  readonly swallowsWakes?: boolean;
  /** A controller whose session another has taken over is left connected. */
  readonly keepsReplaced?: boolean;
}

/** A row without a session. */
const nowhere = { sleep: neverShared, signal: neverShared };

/** Chance of a fault that shows now and then. */
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
    name: 'an event is put into the stream twice',
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
    name: 'an event is taken for one that is there already',
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
    name: 'a sleep session that was replaced keeps its slot, as a fourth',
    topology: 'nodes',
    transport: (transport) => wraps(transport, 'rows', keepsReplacedSlots),
  },
  {
    name: 'a member is called lost while its lease lives',
    topology: 'nodes',
    transport: (transport) =>
      wraps(transport, 'members', (members) => ({
        // It sees one renewal of another, and no later one.
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
      transport.onChange = (told) => follow((isUnavailable) => isUnavailable && told(isUnavailable));
    },
  },
  {
    name: 'sessions that no edge has brought are not ended',
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
    name: 'sessions that edges bring are new ones for the core',
    topology: 'edges',
    context: ({ unclaimed }) => {
      const claiming = unclaimed.claiming.bind(unclaimed);
      unclaimed.claiming = (sessions) => ({ ...claiming(sessions), adopt: () => null });
    },
  },
  {
    name: 'a controller whose session was taken over is not closed',
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
    name: 'wakeups that a crash left open are not watched on',
    context: ({ watch }) => {
      watch.resume = () => 0;
    },
  },
  {
    name: 'a device that may not be here any more is left connected',
    context: ({ deviceReview }) => {
      deviceReview.begin = () => undefined;
    },
  },
  {
    name: 'a device that is disabled logs in',
    context: ({ registry }) => {
      const peek = registry.peekDevice.bind(registry);
      registry.peekDevice = (deviceId) => {
        const device = peek(deviceId);
        return device && { ...device, disabled: false };
      };
    },
  },
  {
    name: 'a change of the registry that was told before a crash is told again',
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
    name: 'events that a webhook has failed to take are not kept for who delivers next',
    topology: 'nodes',
    transport: (transport) =>
      wraps(transport, 'hooks', (hooks) => ({
        put: (key, value) => (key.startsWith('kept.') ? hooks.position() : hooks.put(key, value)),
      })),
  },
  {
    name: 'a delivery that succeeded is tried again',
    mistakesAnswers: true,
  },
  {
    name: 'a webhook begins anew behind a change of who delivers',
    topology: 'nodes',
    transport: (transport) =>
      wraps(transport, 'hooks', (hooks) => ({
        all: async function* () {
          for await (const entry of hooks.all()) if (!entry.key.startsWith('hook.')) yield entry;
        },
      })),
  },
  {
    name: 'a call that is over leaves its legs open',
    keepsLegs: true,
  },
  {
    name: 'deadlines go by the wall clock',
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

/** Methods of one bucket are others. */
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

/** The lease is that of the node whose transport it is. */
function isOwn(value: Uint8Array, transport: SimulatedTransport): boolean {
  return Buffer.from(value).includes(transport.node);
}
