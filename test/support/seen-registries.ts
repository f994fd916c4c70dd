/** Registries that are written at one place and read at another, as servers have them. */
import { EventEmitter, once } from 'node:events';
import { SystemClock } from '../../src/lib/system-clock.ts';
import type { ApplicationId } from '../../src/model/ids.ts';
import { NodeRegistry } from '../../src/server/membership/node-registry.ts';
import { RegistryStore } from '../../src/storage/registry/registry-store.ts';
import type { RegistryTables } from '../../src/storage/registry/registry-tables.ts';
import { RegistryWriter } from '../../src/storage/registry/registry-write.ts';
import type { SeenRegistry } from '../conformance/registry.ts';
import { WatchedLog } from './nats-scene.ts';
import { joinNats } from './nats-ground.ts';
import { lastFirst, temporaryStore, type Ending } from './temporary-store.ts';

export async function ownRegistry(t: Ending): Promise<SeenRegistry> {
  const { registry: tables } = temporaryStore(t);
  const reader = new RegistryStore(tables);
  return { ...writtenAt(tables, reader), reader, synced: async () => undefined };
}

interface RegistryNode {
  readonly tables: RegistryTables;
  readonly store: RegistryStore;
  readonly node: NodeRegistry;
  readonly news: EventEmitter;
}

export async function nodesRegistry(t: Ending, url: string): Promise<SeenRegistry> {
  const ending = lastFirst(t);
  const join = joinNats(url);
  const start = async (): Promise<RegistryNode> => {
    const { registry: tables } = temporaryStore(ending);
    const store = new RegistryStore(tables);
    const news = new EventEmitter();
    const applied = (): void => {
      store.purge();
      news.emit('applied');
    };
    const clock = new SystemClock();
    const link = await join(ending);
    const node = new NodeRegistry({ link, clock, log: new WatchedLog(), tables, applied });
    ending.after(() => node.stop());
    await node.start();
    return { tables, store, node, news };
  };
  const [one, other] = [await start(), await start()];
  const written = writtenAt(one.tables, one.store, () => one.node.changed());
  let marks = 0;
  return {
    ...written,
    reader: other.store,
    // Changes arrive in order, so this one arrives last.
    async synced() {
      const appId = `mark-${(marks += 1)}` as ApplicationId;
      await written.writer.put('application', { appId, name: 'the end' });
      while (other.store.find('application', appId) === null) await once(other.news, 'applied');
    },
  };
}

function writtenAt(
  tables: RegistryTables,
  store: RegistryStore,
  changed: () => void = () => undefined,
): Pick<SeenRegistry, 'writer' | 'remove'> {
  return {
    writer: new RegistryWriter(tables, store, changed),
    async remove(kind, id) {
      await tables.environment.transaction(() => {
        if (tables.putRow(kind, id, null) !== 'unchanged' && tables.unshared.isOn)
          tables.unshared.recordChange(kind, id);
      });
      store.purge();
      changed();
    },
  };
}
