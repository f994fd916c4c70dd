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

export class RegistryWriting {
  readonly writer: RegistryWriter;
  /** Carries out applications' changes of devices. */
  readonly provisioner: Provisioner;
  readonly #notices: NoticePublisher;

  constructor(context: ServerContext, { member, tables, audit, changed }: RegistryWritingDeps) {
    const { clock, log, registry, records } = context;
    const { notices } = tables;
    assert(notices !== null, 'a store that is written has notices');
    this.#notices = new NoticePublisher({ clock, log, notices, events: records.registryEvents });
    const written = (): void => {
      member.registryWritten();
      this.#notices.poke();
    };
    this.writer = new RegistryWriter(tables, registry, written, clock);
    this.provisioner = new Provisioner({
      ...context,
      devices: this.writer,
      audit,
      makeSecret: generateSecret,
      devicesMax: context.settings.limits.devices_max,
      isBehind: () => notices.length > noticesWaitingMax,
      changed,
    });
  }

  /** Publishes pending and future changes as events. Call after `prepare` of the member. */
  start(): Promise<void> {
    return this.#notices.start();
  }

  stop(): Promise<void> {
    return this.#notices.stop();
  }
}
