/**
 * Writes to the registry by operators and applications, in a process with a control plane: changes are serialized, other members are
 * notified, and each appends its event to the log. Source: cluster.md, Registry.
 */
import { assert } from '../../lib/assert.ts';
import { Provisioner, type ProvisionerDeps } from '../../core/devices/provision-devices.ts';
import { noticesWaitingMax } from '../../storage/lmdb/store-limits.ts';
import { NoticePublisher } from '../../storage/registry/notice-publisher.ts';
import type { RegistryTables } from '../../storage/registry/registry-tables.ts';
import { generateSecret, RegistryWriter } from '../../storage/registry/registry-write.ts';
import type { Member } from '../membership/membership.ts';
import type { ServerContext } from './server-context.ts';

export interface RegistryWritingDeps {
  readonly member: Pick<Member, 'registryWritten'>;
  readonly tables: RegistryTables;
  readonly audit: ProvisionerDeps['audit'];
  /** Called after every change by an application. */
  readonly changed: () => void;
}

export type RegistryWriting = ReturnType<typeof registryWriting>;

export function registryWriting(
  context: ServerContext,
  { member, tables, audit, changed }: RegistryWritingDeps,
) {
  const { clock, log, registry, records } = context;
  const { notices: waiting } = tables;
  assert(waiting !== null, 'a store that is written has notices');
  const notices = new NoticePublisher({ clock, log, notices: waiting, events: records.registryEvents });
  const written = (): void => {
    member.registryWritten();
    notices.poke();
  };
  const writer = new RegistryWriter(tables, registry, written, clock);
  /** Carries out applications' changes of devices. */
  const provisioner = new Provisioner({
    ...context,
    devices: writer,
    audit,
    makeSecret: generateSecret,
    devicesMax: context.settings.limits.devices_max,
    isBehind: () => waiting.length > noticesWaitingMax,
    changed,
  });
  /** `notices` publishes pending and future changes as events. Start it after `prepare` of the member. */
  return { writer, provisioner, notices };
}
